//===- DividedMatmuls.cpp - Tile programs that GPUs' roles are made of ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs close to the form that the compiler warp-specializes: each has
// some of the things that the form does not have, or has in another place. What is
// not refused runs on the emulator under a random timing, without a finding, and gives
// what the native program gives, bit by bit: elements are small integers, and all sums
// are exact.
//
//===----------------------------------------------------------------------===//
#include "Gpus.h"
#include "InternalErrors.h"
#include "Modes.h"
#include "Random.h"
#include "penstock/cache.h"
#include "penstock/penstock.h"

#include <algorithm>
#include <cstring>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum Counter : int { Refused, Divided, Launched, Faulted };

struct Sizes {
  int64_t m = 0, n = 0, k = 0;
};

/// Operands E, sums S, results R.
template <class E, class S, class R> struct Matmul {
  uint64_t seed = 0;
  bool blackwell = false;
  bool ofWarps = false; ///< by mma.sync

  void operator()(Block &b, In<E, 2> A, In<E, 2> At, In<E, 3> Aa, In<E, 2> B, In<E, 2> Bt,
                  In<i32, 1> Steps, Out<R, 2> C) const {
    Writer<In<E, 2>, In<E, 3>, Out<R, 2>>{b,     A, At,        Aa,      B,           Bt,
                                          Steps, C, blackwell, ofWarps, Random(seed)}
        .run();
  }

  /// Half of the programs have the form; the others depart from it, mostly once.
  template <class Two, class Three, class Result> struct Writer {
    Block &b;
    const Two &A, &At;
    const Three &Aa;
    const Two &B, &Bt;
    const In<i32, 1> &Steps; ///< which steps of K to multiply
    const Result &C;
    bool blackwell, ofWarps;
    Random random;
    int64_t m = 0, n = 0, k = 0, body = 0;
    bool departs = false, turnedA = false, deepA = false, turnedB = false;

    /// Bodies whose left operand threads compute, the second from the scores of a first product.
    static constexpr int64_t computedOperand = 14, twoProducts = 15;

    bool odd(int percent = 12) { return departs && random.chance(percent); }

    void run() {
      departs = random.chance(60);
      body = odd(35) ? random.between(3, 13) : random.below(3);
      if (random.chance(30))
        body = random.of({computedOperand, twoProducts});
      m = blackwell ? random.of({64, 128, 128, 192, 256}) : random.of({64, 128, 128, 256});
      n = random.of({8, 16, 32, 64, 128});
      k = random.of({32, 32, 64});
      if (ofWarps) { // whose divisions are square or not, with odd numbers of blocks of columns
        m = random.of({16, 32, 48, 64, 128, 192});
        n = random.of({8, 16, 24, 40, 64, 72, 128});
        k = random.of({16, 32, 64, 96});
      }
      if (odd())
        m = random.of({16, 32, 96, 192});
      if (odd())
        n = random.of({4, 24, 96, 7});
      if (odd())
        k = random.of({4, 8, 16, 48, 128});
      bool narrow = sizeof(E) == 1; // which engines read along the sum only
      turnedA = body < computedOperand && (narrow ? odd() : random.chance(20));
      deepA = !turnedA && random.chance(15);
      turnedB = narrow ? !odd() : random.chance(60);
      if (body == twoProducts) {
        turnedB = true;
        n = k;
      }
      Index rows = ceil_div(C.size(0), m), columns = ceil_div(C.size(1), n);
      Index depth = ceil_div(A.size(1), k);
      if (random.chance(60)) {
        auto [bm, bn] = b.grid(rows, columns);
        bool takesOver = random.chance(40); // blocks of others
        if (random.chance(40))              // blocks that load for each other
          b.prefer(
              {.cluster = {random.of({1, 2, 4}), random.of({1, 2})}, .launch_control = takesOver});
        else if (random.chance(50)) // or multiply as one
          b.prefer({.cluster = {random.of({1, 2}), 1}, .pair = true, .launch_control = takesOver});
        else
          b.prefer({.launch_control = takesOver});
        return writeTile(tiles(), bm, bn, depth);
      }
      // A block computes several tiles, of one depth or of several. So does a team of blocks,
      // whose members have rows one below the other, or columns side by side.
      int blocks = int(random.between(1, 3)), members = int(random.of({1, 1, 2, 2, 3, 4}));
      bool uneven = random.chance(40), some = random.chance(20), below = random.chance(70);
      auto [member, block] = b.grid(members, blocks);
      if (random.chance(10)) // mostly refused: blocks have other numbers of tiles
        b.prefer({.cluster = {1, blocks}});
      else if (members != 3 && random.chance(40))
        b.prefer({.cluster = {members, 1}});
      else if (random.chance(70))
        b.prefer({.pair = members == 2});
      Index along = ceil_div(columns, below ? 1 : members);
      Tiles in = tiles();
      for (Index t : b.range(block, ceil_div(rows, below ? members : 1) * along, blocks)) {
        Index bm = below ? t / along * members + member : t / along;
        Index bn = below ? t % along : t % along * members + member;
        Index steps = uneven ? min(depth, t % 4) : depth;
        if (some)
          b.when(t % 3 != 1, [&] { writeTile(in, bm, bn, steps); });
        else
          writeTile(in, bm, bn, steps);
      }
    }

    struct Tiles {
      Tile<E, 2> As, Bs;
      Tile<S, 2> acc;
      Tile<E, 2> computed = {};
      Tile<S, 2> scores = {};
      Tile<S, 1> top = {}, factor = {};
    };
    /// A tile, or some rows of a larger one.
    Tile<E, 2> shared(int64_t rows, int64_t columns) {
      if (!random.chance(12))
        return b.shared<E>(rows, columns);
      int64_t before = random.of({8, 16, 64, 5});
      return slice(b.shared<E>(before + rows + random.of({0, 8, 3}), columns), {before, 0},
                   {rows, columns});
    }
    Tiles tiles() {
      Tiles made{turnedA ? shared(k, m) : shared(m, k), turnedB ? shared(n, k) : shared(k, n),
                 odd() ? b.shared<S>(m, n) : b.local<S>(m, n)};
      if (body >= computedOperand)
        made.computed = random.chance(70) ? b.local<E>(m, k) : b.shared<E>(m, k);
      if (body == twoProducts) {
        made.scores = b.local<S>(m, n);
        made.top = b.local<S>(m);
        made.factor = b.local<S>(m);
      }
      return made;
    }

    void writeTile(const Tiles &in, const Index &bm, const Index &bn, const Index &depth) {
      auto &[As, Bs, acc, computed, scores, top, factor] = in;
      Index m0 = bm * m + (odd() ? random.of({1, -8, 4}) : 0), n0 = bn * n;
      if (odd())
        b.require(A.size(1) < 1000, "small sums");
      if (odd())
        b.copy(turnedB ? B.at(n0, 0) : Bt.at(0, n0), Bs);
      if (body == 4 || body == 5 || body == 9) { // which multiply before they load
        b.fill(As, 1);
        b.fill(Bs, 1);
      }
      b.fill(acc, odd() ? 1 : 0);
      Index tiles = !odd()              ? depth
                    : random.chance(50) ? Index(random.between(0, 4))
                                        : A.size(1) / k;
      bool lookedUp = random.chance(20); // coordinates that are loaded one iteration ahead
      for (Index i : b.pipelined(tiles, options())) {
        Index k0 = lookedUp            ? cast<index_t>(Steps.load(i)) * k
                   : !odd()            ? i * k
                   : random.chance(50) ? i * k + k
                                       : (tiles - 1 - i) * k;
        auto loadA = [&] {
          CopyOptions copying{.fill = odd() ? 1.0 : 0.0};
          if (deepA)
            b.copy(odd(30) ? Aa.at(m0, 1, k0).dims(0, 2) : Aa.at(1, m0, k0), As, copying);
          else if (turnedA)
            b.copy(At.at(k0, m0), As, copying);
          else
            b.copy(A.at(m0, k0), As, copying);
        };
        auto loadB = [&] { b.copy(turnedB ? B.at(n0, k0) : Bt.at(k0, n0), Bs); };
        auto product = [&] {
          auto left = turnedA ? transposed(As) : As;
          auto right = turnedB ? transposed(Bs) : Bs;
          if (odd(6) && m == k)
            left = transposed(left);
          if (odd(6) && k == n)
            right = transposed(right);
          if (random.chance(20))
            return multiplyParts(left, right, acc);
          b.gemm(left, right, acc, {.accumulate = !odd(6)});
        };
        if (body < computedOperand) {
          loop(i, loadA, loadB, product, As, acc);
          continue;
        }
        loadA();
        loadB();
        if (body == computedOperand) {
          b.set(computed, As + E(1));
          if (odd(30))
            b.set(computed, computed + E(1));
          b.gemm(computed, turnedB ? transposed(Bs) : Bs, acc);
          continue;
        }
        b.gemm(As, transposed(Bs), scores, {.accumulate = false});
        // A mask that hides nothing, something or all of a tile, and factors that are 1 in all
        // rows, in some or in none: what the compiler may leave out.
        bool masked = random.chance(40), scaled = random.chance(50);
        int64_t seen = random.of({0, 20, 1000}), most = random.of({-100, 1, 2, 4, 100});
        auto weigh = [&] {
          if (masked)
            b.set(scores, where(col(scores) + k0 < seen, scores, S(0)));
          if (scaled) {
            b.reduce(Max, scores, 1, top);
            b.fill(factor, 1);
            b.set(factor, where(top > S(float(most)), factor * S(-1), factor));
            b.set(acc, acc * broadcast_rows(factor));
          }
          b.set(computed, cast<E>(min(max(scores, S(-2)), S(2))));
        };
        if (random.chance(50))
          b.statement("weigh", weigh);
        else
          weigh();
        b.gemm(computed, Bs, acc);
      }
      if (odd(8))
        b.set(acc, acc + S(1));
      // Tiles of different blocks must not overlap.
      Index column = n0 + (odd() ? random.of({1, 8, -8}) : 0);
      b.copy(acc, C.at(m0, column));
      if (odd(8))
        b.copy(acc, C.at(m0, column));
    }

    /// Multiplies parts of the operands along K one after the other.
    void multiplyParts(const Tile<E, 2> &left, const Tile<E, 2> &right, const Tile<S, 2> &acc) {
      int64_t step = std::max<int64_t>(1, k / random.of({2, 2, 4, 8}));
      for (int64_t first = 0; first < k; first += step) {
        int64_t size = std::min<int64_t>(step, k - first);
        b.gemm(slice(left, {0, first}, {m, size}), slice(right, {first, 0}, {size, n}), acc);
      }
    }

    PipelineOptions options() {
      if (body > 1 || random.chance(60))
        return {.num_stages = random.chance(15) ? Auto : int(random.between(1, 5))};
      int ahead = int(random.between(1, 3));
      return {.stage = {0, 0, ahead}, .order = {0, 1, 2}};
    }

    template <class Load, class Other, class Multiply, class Tile, class Acc>
    void loop(const Index &i, Load loadA, Other loadB, Multiply product, const Tile &As,
              const Acc &acc) {
      switch (body) {
      case 0:
        loadA();
        loadB();
        return product();
      case 1:
        loadB();
        loadA();
        return product();
      case 2:
        b.statement("load", [&] {
          loadA();
          loadB();
        });
        return product();
      case 3:
        return b.statement("all", [&] {
          loadA();
          loadB();
          product();
        });
      case 4:
        product();
        loadA();
        return loadB();
      case 5:
        loadA();
        product();
        return loadB();
      case 6:
        loadA();
        loadA();
        loadB();
        return product();
      case 7:
        loadA();
        loadB();
        product();
        return product();
      case 8:
        loadA();
        loadB();
        return b.when(i > 0, product);
      case 9:
        b.when(i > 0, loadA);
        loadB();
        return product();
      case 10:
        loadA();
        b.fill(As, 1);
        loadB();
        return product();
      case 11: {
        loadA();
        loadB();
        product();
        auto more = b.local<S>(m, n);
        b.copy(acc, more);
        return;
      }
      case 12: {
        loadA();
        loadB();
        auto half = b.shared<E>(m, k);
        b.fill(half, 1);
        b.gemm(half, transposed(half), b.local<S>(m, m));
        return product();
      }
      default:
        b.statement("load", loadA);
        b.statement("load", loadB);
        return b.statement("multiply", product);
      }
    }
  };
};

template <class T> std::vector<T> numbers(Random &random, int64_t count) {
  std::vector<T> values(size_t(std::max<int64_t>(count, 0)));
  for (T &value : values)
    value = T(float(random.between(-2, 2)));
  return values;
}

template <class E, class S, class R> CaseResult divide(uint64_t seed, Counters &counters) {
  Random random(derive(seed, 1));
  bool blackwell = random.chance(50), ofWarps = random.chance(40);
  Matmul<E, S, R> kernel{derive(seed, 2), blackwell, ofWarps};
  Target target = ofWarps ? withMmaSync(random) : blackwell ? Target::sm_100a() : Target::sm_90a();
  auto compiled = try_compile(kernel, target.emulated(), {.cache = &KernelCache::none()});
  if (!compiled) {
    ++counters[Refused];
    return {hasInternalError(compiled.diagnostics), to_text(compiled.diagnostics).substr(0, 2000)};
  }
  ++counters[Divided];
  auto native = try_compile(kernel, Target::native(), {.cache = &KernelCache::none()});
  if (!native)
    return {true, "natively it is refused: " + to_text(native.diagnostics)};
  for (int run = 0; run < 2; ++run) {
    // Rows of whole pieces of 16 bytes or more, also such that end inside of a tile, or of any.
    int64_t grain = random.chance(70) ? random.of({8, 16}) : 1;
    Sizes s{random.between(1, 300 / grain) * grain, random.between(1, 150 / grain) * grain,
            random.between(0, 200 / grain) * grain};
    auto a = numbers<E>(random, s.m * s.k), at = numbers<E>(random, s.m * s.k),
         aa = numbers<E>(random, 2 * s.m * s.k), b = numbers<E>(random, s.n * s.k),
         bt = numbers<E>(random, s.n * s.k);
    std::vector<i32> steps(200); // at least one for each iteration
    for (i32 &step : steps)
      step = i32(random.between(0, 6));
    std::vector<R> ours(size_t(s.m * s.n), R(7)), theirs = ours;
    // Sized so that `Aa.at(m0, 1, k0).dims(0, 2)` has rows to copy as well.
    auto launch = [&](const auto &built, const LaunchOptions &options, std::vector<R> &c) {
      return built.try_launch(options, view(a, {s.m, s.k}), view(at, {s.k, s.m}),
                              view(aa, {2, s.m, s.k}), view(b, {s.n, s.k}), view(bt, {s.k, s.n}),
                              view(steps, {int64_t(steps.size())}), view(c, {s.m, s.n}));
    };
    auto faults = launch(native.kernel, {}, theirs);
    LaunchOptions timing{.completion = random.of({Completion::Eager, Completion::Latest,
                                                  Completion::Random, Completion::Random}),
                         .seed = random.next(),
                         .starved_warp = int(random.between(-1, 3))}; // all have four warps
    auto found = launch(compiled.kernel, timing, ours);
    if (faults.empty() != found.empty())
      return {true, "native: " + to_text(faults) + "\nemulated: " + to_text(found) + "\n" +
                        compiled.kernel.tile_program()};
    ++counters[faults.empty() ? Launched : Faulted];
    if (faults.empty() && std::memcmp(ours.data(), theirs.data(), ours.size() * sizeof(R)) != 0) {
      size_t i = 0;
      while (std::memcmp(&ours[i], &theirs[i], sizeof(R)) == 0)
        ++i;
      return {true, "M=" + std::to_string(s.m) + ", N=" + std::to_string(s.n) +
                        ", K=" + std::to_string(s.k) + ": element " + std::to_string(i) + " is " +
                        std::to_string(float(ours[i])) + " and natively " +
                        std::to_string(float(theirs[i])) + "\n" + compiled.kernel.tile_program()};
    }
  }
  return {};
}

CaseResult divideOne(uint64_t seed, Counters &counters) {
  switch (seed % 5) {
  case 0:
    return divide<bf16, f32, bf16>(seed, counters);
  case 1:
    return divide<f16, f32, f32>(seed, counters);
  case 2:
    return divide<i8, i32, i32>(seed, counters);
  case 3:
    return divide<f8e4m3, f32, f16>(seed, counters);
  default:
    return divide<f16, f32, f16>(seed, counters);
  }
}

} // namespace

int penstock::fuzz::runDivided(const BatchOptions &options) {
  BatchResult result = runBatches(options, divideOne);
  Counters &c = result.counters;
  return report(result, "--divided", "matmuls",
                {{"refused", c[Refused]},
                 {"compiled", c[Divided]},
                 {"launches", c[Launched]},
                 {"faults", c[Faulted]}});
}
