//===- Calls.cpp - Random sequences of calls, wrong ones among them -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a user's program can do to the public headers: use values of scopes that
// are closed and of other kernels, empty values, impossible shapes, huge and
// negative numbers, odd names; leave scopes by break and by exceptions; build
// expressions that are very deep. Recording must end with a kernel or with
// diagnostics. Half of the sequences are careful, so that what follows recording
// is reached as well: they use only what is in scope, in shapes that fit.
//
//===----------------------------------------------------------------------===//
#include "Expressions.h"
#include "HardwareCalls.h"
#include "InternalErrors.h"
#include "Modes.h"

#include <cstdio>
#include <stdexcept>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum CallCounter { Kernels, Refused, Launched, Hardware, HardwareKernels };

/// Values that a caller may use again; those of careless callers outlive scopes
/// and the kernel that made them.
struct Kept {
  std::vector<Tile<f32, 2>> tiles;
  std::vector<Tile<f32, 1>> rows;
  std::vector<Tile<i32, 1>> ints;
  std::vector<Tile<f16, 2>> halves;
  std::vector<Index> indices;
  std::vector<Scalar<f32>> floats;
  std::vector<Bool> conditions;
  std::vector<Expr<f32>> exprs;

  using Sizes = std::array<size_t, 8>;
  Sizes sizes() const {
    return {tiles.size(),   rows.size(),   ints.size(),       halves.size(),
            indices.size(), floats.size(), conditions.size(), exprs.size()};
  }
  /// Forgets what a scope has defined.
  void restore(const Sizes &to) {
    auto cut = [](auto &list, size_t size) {
      while (list.size() > size)
        list.pop_back();
    };
    cut(tiles, to[0]);
    cut(rows, to[1]);
    cut(ints, to[2]);
    cut(halves, to[3]);
    cut(indices, to[4]);
    cut(floats, to[5]);
    cut(conditions, to[6]);
    cut(exprs, to[7]);
  }
};

class Caller {
public:
  Caller(uint64_t seed, bool careless, Kept &kept) : random(seed), kept(kept), careless(careless) {}

  void operator()(Block &b, In<f32, 2> in, InOut<f32, 2> out, InOut<i32, 1> count, Index n) {
    tensor = in;
    if (!careless && random.chance(40))
      kept.indices.push_back(b.grid(n));
    kept.indices.push_back(n);
    kept.indices.push_back(in.size(static_cast<int>(random.between(0, wrong() ? 3 : 1))));
    kept.tiles.push_back(b.shared<f32>(8, 8));
    kept.floats.push_back(in.load(Index(0), Index(0)));
    kept.rows.push_back(b.local<f32>(8));
    kept.ints.push_back(b.local<i32>(8));
    kept.halves.push_back(b.shared<f16>(8, 8));
    int64_t steps = random.between(1, 25);
    for (int64_t i = 0; i < steps; ++i)
      step(b, in, out, count, 0);
  }

private:
  int64_t odd() {
    return random.of<int64_t>({0, 1, 2, 3, 4, 7, 8, 8, 8, 9, 16, -1, 1 << 13, 1 << 20, 1 << 27,
                               int64_t(1) << 40, INT64_MAX, INT64_MIN});
  }
  int64_t mild() { return wrong() ? odd() : 8; }
  /// Half of the sequences try to be right.
  bool wrong() { return careless && random.chance(15); }
  std::string name() {
    if (!wrong())
      return "name";
    return random.of<std::string>({"a", "a", "copy", "", "\"", "{}", std::string("z\0z", 3),
                                   "\xff\xfe", std::string(5000, 'x'), "%s%n", "a\nb", "é",
                                   "tile.kernel"});
  }
  template <class V> auto any(const std::vector<V> &all) {
    using T = V;
    if (all.empty() || (careless && random.chance(2)))
      return T();
    // Mostly recent ones: older ones belong to other kernels.
    size_t back =
        static_cast<size_t>(careless && random.chance(10) ? random.below(64) : random.below(4));
    return all[all.size() - 1 - std::min(back, all.size() - 1)];
  }
  Index index() {
    if (random.chance(40))
      return Index(wrong() ? odd() : random.between(0, 4));
    return any(kept.indices);
  }
  Index divisor() { return careless ? index() : Index(random.between(1, 5)); }
  Tile<f32, 2> tile() { return any(kept.tiles); }
  /// A tile to write: nothing that is read at the same time.
  Tile<f32, 2> target(Block &b) { return careless ? tile() : b.local<f32>(8, 8); }
  /// A dimension of a tile with so many.
  int dimension(int64_t rank) {
    return int(wrong() ? random.between(-1, rank + 1) : random.below(rank));
  }
  Tile<f32, 1> row() { return any(kept.rows); }
  Bool condition() {
    return kept.conditions.empty() || random.chance(30) ? index() < index() : any(kept.conditions);
  }
  Expr<f32> expr() {
    Expr<f32> start = kept.exprs.empty() || random.chance(60) ? tile() + 1.0f : kept.exprs.back();
    switch (random.below(10)) {
    case 8:
    case 9:
      return start + anyExpression();
    case 0:
      return start * broadcast_rows(row());
    case 1:
      return where(col(tile()) < index(), start, 0.5f);
    case 2:
      return exp(start - broadcast_cols(row()));
    case 3:
      return max(start, any(kept.floats));
    case 4:
      return start + cast<f32>(::penstock::index(tile(), dimension(2)));
    case 5:
      return cast<f32>(cast<i32>(start) / 3);
    case 6: {
      int64_t depth = random.of<int64_t>({3, 30, careless ? 1500 : 100, wrong() ? 20000 : 10});
      for (int64_t i = 0; i < depth; ++i)
        start = Expr<f32>(start + 1.0f);
      return start;
    }
    default:
      return start / tile();
    }
  }

  /// Every operation on elements, over what is in scope.
  Expr<f32> anyExpression() {
    Operands from;
    for (int i = 0; i < 2; ++i)
      from.floats.push_back(tile());
    from.halves = {any(kept.halves)};
    from.rows = from.cols = {row()};
    from.indices.push_back(index());
    from.scalars.push_back(any(kept.floats));
    from.matrix = tensor;
    Expressions make(random, from, Expressions::Kinds::All);
    Expr<f32> value = make.value<f32>(3);
    return random.chance(30) ? make.function(value, /*everywhere=*/false) : value;
  }

  void nest(Block &b, In<f32, 2> &in, InOut<f32, 2> &out, InOut<i32, 1> &count, int depth) {
    int64_t steps = random.between(0, 3);
    Kept::Sizes before = kept.sizes();
    for (int64_t i = 0; i < steps; ++i)
      step(b, in, out, count, depth + 1);
    if (!careless)
      kept.restore(before);
  }

  void deep(Block &b, int64_t left) {
    if (left > 0)
      b.when(index() < index(), [&] { deep(b, left - 1); });
  }

  void step(Block &b, In<f32, 2> &in, InOut<f32, 2> &out, InOut<i32, 1> &count, int depth) {
    if (depth > 6)
      return;
    switch (random.below(34)) {
    case 0:
      kept.tiles.push_back(b.shared<f32>(mild(), mild(), {.versions = int(wrong() ? odd() : 0)}));
      return;
    case 1:
      kept.rows.push_back(b.local<f32>(mild()));
      return;
    case 2:
      kept.halves.push_back(b.local<f16>(mild(), mild()));
      return;
    case 3:
      return b.copy(in.at(index(), index()), tile(),
                    {.fill = double(odd()), .async = careless && random.chance(40) ? name() : ""});
    case 4:
      return b.copy(in.at(index(), index()).dims(dimension(2)), row());
    case 5:
      return b.copy(tile(), out.at(index(), index()));
    case 6:
      return b.copy(tile(), any(kept.halves));
    case 7:
      return b.fill(tile(), any(kept.floats));
    case 8:
      return b.gemm(tile(), random.chance(50) ? tile() : transposed(tile()), target(b),
                    {.accumulate = random.chance(50),
                     .tf32 = random.chance(30),
                     .async = careless && random.chance(30) ? name() : ""});
    case 9:
      return b.gemm(any(kept.halves), transposed(any(kept.halves)), target(b));
    case 10:
      return b.reduce(random.of({Sum, Prod, Max, Min}), tile(), dimension(2), row(),
                      {.accumulate = random.chance(50)});
    case 11:
    case 12:
    case 13:
      return b.set(target(b), expr());
    case 14:
      return b.set(row(), row() * 2.0f + any(kept.floats));
    case 15:
      kept.exprs.push_back(expr());
      return;
    case 16:
      kept.indices.push_back(random.chance(50) ? index() * index() + 1 : index() / divisor());
      return;
    case 17:
      kept.floats.push_back(random.chance(50) ? in.load(index(), index()) : b.load(row(), index()));
      return;
    case 18:
      kept.conditions.push_back(index() <= index());
      return;
    case 19:
      kept.tiles.push_back(careless ? slice(tile(), {index(), index()}, {mild(), mild()})
                                    : slice(tile(), {Index(0), Index(0)}, {8, 8}));
      return;
    case 20:
      kept.tiles.push_back(transposed(tile()));
      return;
    case 21:
      return b.print(!wrong() ? "x {}" : name(), {tile()});
    case 22:
      return b.require(condition(), name());
    case 23:
      if (careless)
        return b.wait(name(), {.lag = int(random.between(-1, 3))});
      {
        b.copy(in.at(index(), index()), tile(), {.async = "waited"});
        return b.wait("waited");
      }
    case 24:
      for (Index k :
           b.range(index(), index(), careless ? index() : Index(random.between(1, 3)),
                   {.unroll = int(wrong() ? random.between(-2, 66) : random.between(1, 4))})) {
        kept.indices.push_back(k);
        nest(b, in, out, count, depth);
        if (!careless) // it is unknown after its loop
          kept.indices.pop_back();
        else if (random.chance(5))
          break;
      }
      return;
    case 25:
      if (!careless) {
        for (Index k : b.pipelined(index(), {.num_stages = int(random.between(1, 4))})) {
          b.copy(in.at(k, index()), tile());
          b.set(target(b), expr());
        }
        return;
      }
      for (Index k : b.pipelined(
               index(),
               {.num_stages = int(random.between(-1, 4)),
                .stage = std::vector<int>(size_t(random.below(3)), int(random.between(-1, 2))),
                .order = std::vector<int>(size_t(random.below(3)), 1)})) {
        kept.indices.push_back(k);
        nest(b, in, out, count, depth);
      }
      return;
    case 26:
      return b.when(
          condition(), [&] { nest(b, in, out, count, depth); },
          [&] { nest(b, in, out, count, depth); });
    case 27:
      return b.statement(
          careless ? name() : "group" + std::to_string(random.next()),
          [&] { nest(b, in, out, count, depth); },
          {.role = wrong() ? random.of({"load", "first", "compute", "two words", "0"}) : ""});
    case 28:
      return b.parallel(mild(), [&](Index i) {
        kept.indices.push_back(i);
        b.atomic(random.of({Add, AtomicMax, AtomicMin, Exchange}), count.at(i), 1);
        if (wrong())
          nest(b, in, out, count, depth);
        else if (!careless)
          kept.indices.pop_back();
      });
    case 29:
      if (careless && random.chance(10)) {
        deep(b, random.of<int64_t>({30, 70, 500, 20000}));
        return;
      }
      tile().named(name());
      return;
    case 30:
      if (!careless)
        return;
      if (random.chance(10))
        throw std::runtime_error("thrown by the kernel");
      try {
        b.when(condition(), [&] {
          nest(b, in, out, count, depth);
          if (random.chance(50))
            throw 1;
        });
      } catch (int) {
      }
      return;
    case 31:
      if (!careless)
        return;
      if (random.chance(50))
        b.grid(index());
      else
        b.grid(index(), index(), swizzled(odd()));
      b.prefer({.cluster = {odd(), 1}, .launch_control = random.chance(50)});
      return;
    case 32: {
      Var<i32> sum(b, 0);
      sum += 2;
      for (Index k : b.range(4)) {
        sum = sum * 3;
        if (careless)
          kept.indices.push_back(k);
      }
      auto [q, r] = fast_divmod(index(), divisor());
      kept.indices.push_back(q);
      kept.indices.push_back(r);
      b.store(any(kept.ints), Index(1), sum);
      return;
    }
    default:
      if (wrong()) { // a kernel inside a kernel
        Kept inner;
        (void)try_compile(
            [&](Block &other, Out<f32, 2> o) {
              other.copy(tile(), o.at(0, 0));
              b.fill(tile(), 1.0f);
            },
            Target::interpreter());
      }
      b.store(out.at(index(), index()), any(kept.floats));
      return;
    }
  }

  Random random;
  Kept &kept;
  bool careless;
  std::optional<Tensor<f32, 2, Access::In>> tensor;
};

/// Only what the parser of signatures and the names of kernels see.
struct Signed {
  static thread_local std::string signature;
  void operator()(Block &b, In<f32, 2>, Out<f32, 1>) const { (void)b; }
};
thread_local std::string Signed::signature;

CaseResult callOne(uint64_t seed, Counters &counters) {
  Random random(derive(seed, 8));
  if (random.chance(35)) {
    HardwareResult result = callHardware(derive(seed, 10));
    ++counters[Hardware];
    counters[HardwareKernels] += result.compiled;
    return std::move(result.result);
  }
  Target target = random.chance(50) ? Target::native() : Target::interpreter();
  if (random.chance(15))
    target = random.of({Target::sm_90a(), Target::sm_100a()});
  bool careless = random.chance(50);
  CompileOptions options;
  options.name = !careless || random.chance(95) ? "calls" : std::string("c\x01\"");
  if (careless && random.chance(5))
    options.fix = {{"N", -1}};
  Kept kept;
  auto record = [&](uint64_t part, const Target &to) {
    return try_compile([caller = Caller(derive(seed, part), careless, kept)](
                           Block &b, In<f32, 2> in, InOut<f32, 2> out, InOut<i32, 1> count,
                           Index n) mutable { caller(b, in, out, count, n); },
                       to, options);
  };
  if (careless) // values of another kernel
    (void)record(11, Target::interpreter());
  auto compiled = record(9, target);
  (void)to_text(compiled.diagnostics);
  (void)to_json(compiled.diagnostics);
  if (hasInternalError(compiled.diagnostics))
    return {true, to_text(compiled.diagnostics).substr(0, 4000)};
  ++counters[compiled ? Kernels : Refused];
  static const char *signatures[] = {"A[M,N] -> B[M]",
                                     "A[M,N], B[M]",
                                     "A[",
                                     "->",
                                     "A[M,N] -> B[M] ->",
                                     "A[1,99999999999999999999] -> B[-1]",
                                     "A[M,,N] -> B[]",
                                     ""};
  Signed::signature = signatures[random.below(8)];
  if (random.chance(20))
    for (int i = 0; i < 3; ++i)
      Signed::signature.insert(size_t(random.below(int64_t(Signed::signature.size()) + 1)), 1,
                               static_cast<char>(random.below(256)));
  auto second = try_compile(Signed(), Target::interpreter(), {.fix = {{"N", 4}}});
  if (second) {
    float a[8] = {}, b[2] = {};
    int64_t bad = random.of<int64_t>({2, 0, -1, INT64_MAX, 3});
    auto faults = second.kernel.try_launch({}, view(a, {bad, 4}), view(b, {2}));
    (void)to_text(faults);
    ++counters[Launched];
  }
  return {};
}

} // namespace

int penstock::fuzz::runCalls(const BatchOptions &options) {
  BatchResult result = runBatches(options, callOne);
  for (const FailedCase &failed : result.failures)
    std::printf("%s with --api 1 --seed %llu: %s\n", nameOf(failed.failure),
                static_cast<unsigned long long>(failed.seed), failed.message.c_str());
  Counters &c = result.counters;
  std::printf(
      "sequences=%llu kernels=%llu refused=%llu hardware=%llu hardware-kernels=%llu "
      "signatures-launched=%llu failures=%zu\n",
      static_cast<unsigned long long>(result.cases), static_cast<unsigned long long>(c[Kernels]),
      static_cast<unsigned long long>(c[Refused]), static_cast<unsigned long long>(c[Hardware]),
      static_cast<unsigned long long>(c[HardwareKernels]),
      static_cast<unsigned long long>(c[Launched]), result.failures.size());
  return result.failures.empty() ? 0 : 1;
}
