//===- NativeProducts.cpp - Products of narrow types on CPUs --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random matmuls whose operands native code packs, reads in tensors or finds packed, at a random
// level of instructions and for caches of random sizes, which decide the order of its loops. Those
// of f32 have tiles whose rows are padded, because they are 1 KB long, and some are so deep that
// rows of A are read in their tensor and stay in the L1 cache. Packed weights of i8 are converted
// to f16 or bf16 in kernels, from tensors with and without gaps. Elements are small integers, or
// any of i8, so that all sums are exact: results equal those of the interpreter bit by bit. Tensors
// have NaNs between their rows. Some results are matrices of a tensor so large that they are stored
// past the caches, if their rows are at lines.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "Random.h"
#include "penstock/cache.h"
#include "penstock/penstock.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum Counter : int {
  Refused,
  Built,
  Launched,
  WithPacked,
  WithConverted,
  WithUnsigned,
  WithLarge,
  WithOneRow,
  WithSmallCaches,
  OnTiles
};

/// Matrices in the tensor A, and the one of the results that is computed.
constexpr int64_t layers = 2, resultLayer = 1;

/// Operands E, sums S.
template <class E, class S> struct Products {
  uint64_t seed = 0;

  enum class Form { Plain, Transposed, Packed, Converted };

  /// f32 has no packed operands.
  static constexpr bool packs = !std::is_same_v<E, f32>;
  /// Weights of i8 become operands of 16 bits.
  static constexpr bool converts = sizeof(E) == 2;

  static constexpr int64_t groupSize() {
    if constexpr (packs)
      return Packed<E>::group;
    else
      return 1;
  }
  Form form() const {
    if (!packs)
      return Random(seed).of({Form::Plain, Form::Plain, Form::Transposed});
    return Random(seed).of(
        {Form::Plain, Form::Transposed, Form::Packed, converts ? Form::Converted : Form::Packed});
  }
  /// Returns whether a strip of columns of B is larger than the L1 cache, or a product by AMX takes
  /// enough steps to store results meanwhile.
  bool deep() const { return Random(derive(seed, 5)).chance(packs ? 30 : 40); }
  /// Returns whether each block has one row, which native code multiplies differently.
  bool oneRow() const { return Random(derive(seed, 6)).chance(15); }
  bool isPacked() const { return form() == Form::Packed || form() == Form::Converted; }
  /// Returns whether A is a slice of a tensor along its second dimension instead of the first.
  bool middle() const { return Random(derive(seed, 3)).chance(30); }
  static int64_t extent(Random &random) {
    return random.chance(50) ? random.of({16, 32, 48, 64, 128}) : random.between(1, 80);
  }

  void operator()(Block &b, In<E, 3> A, In<E, 2> At, In<E, 2> B, In<E, 2> Bt, In<E, 4> P,
                  In<i8, 4> Q, InOut<S, 2> C, Out<S, 3> D) const {
    Random random(derive(seed, 1));
    constexpr int64_t group = groupSize();
    Form form = this->form();
    int64_t m = extent(random), n = extent(random), k = extent(random);
    if (oneRow())
      m = 1;
    if (!packs && random.chance(50))
      n = 256;
    if (deep())
      k = packs ? random.of({128, 250, 256, 320, 500}) : random.of({160, 192, 250, 580, 640});
    // Sums that go from registers to the tensor D.
    bool ends = deep() && packs && !oneRow() && random.chance(70);
    if (ends)
      m = random.of({32, 40, 64, 96}), n = random.of({32, 48, 64, 96});
    if (isPacked()) {
      n = (n + 15) / 16 * 16;
      k = (k + group - 1) / group * group;
    }
    bool turnedA = random.chance(20), turnedAcc = random.chance(10), second = random.chance(15);
    bool toOut = random.chance(70), startsFromC = random.chance(20), from3 = random.chance(30);
    if (ends)
      turnedAcc = second = startsFromC = from3 = false, toOut = true;
    GemmOptions options;
    options.unsigned_a = std::is_same_v<E, i8> && random.chance(40);
    options.accumulate = !random.chance(15);

    auto [bm, bn] = b.grid(ceil_div(C.size(0), m), ceil_div(C.size(1), n));
    // Offsets that leave the tensors at either end. Tiles of different blocks do not overlap.
    Index m0 = bm * m + (random.chance(15) ? random.between(-5, 5) : 0);
    Index n0 = bn * n + (!isPacked() && random.chance(15) ? random.between(-5, 5) : 0);
    auto As = turnedA ? b.shared<E>(k, m) : b.shared<E>(m, k);
    auto Bs = form == Form::Transposed ? b.shared<E>(n, k) : b.shared<E>(k, n);
    auto Ps = [&] {
      if constexpr (packs)
        return packed_tile<E>(b, std::max(k, group), (n + 15) / 16 * 16);
      else
        return Bs;
    }();
    auto memory = turnedAcc ? b.local<S>(n, m) : b.local<S>(m, n);
    auto acc = turnedAcc ? transposed(memory) : memory;
    auto other = b.local<S>(m, n);
    if (startsFromC)
      b.copy(C.at(m0, n0), acc);
    else
      b.fill(acc, from3 ? 3 : 0);
    if (second)
      b.fill(other, 0);

    Random ofParts(derive(seed, 7));
    int64_t partRows = ofParts.of({16, 32});
    bool inParts = !turnedA && !turnedAcc && m % partRows == 0 && ofParts.chance(30);
    bool changes = !isPacked() && ofParts.chance(30);
    float factor = random.chance(50) ? 1.f : 0.5f;
    bool adds = random.chance(12), reloads = random.chance(12), skips = random.chance(10);
    // Otherwise a pipelined loop has no statement that copies run ahead of.
    if (inParts && changes)
      reloads = false;
    double edge = random.chance(15) ? 1 : 0;
    int64_t layer = Random(derive(seed, 4)).of({0, 1, 1, 1, int(layers)}); // the last is outside
    auto step = [&](const Index &i) {
      Index k0 = i * k;
      auto load = [&] {
        if (turnedA)
          b.copy(At.at(k0, m0), As, {.fill = edge});
        else if (middle())
          b.copy(A.at(m0, layer, k0).dims(0, 2), As, {.fill = edge});
        else
          b.copy(A.at(layer, m0, k0), As, {.fill = edge});
        if constexpr (converts)
          if (form == Form::Converted) {
            auto bytes = packed_tile<i8, E>(b, k, n);
            b.copy(Q.at(bn * (n / 16), i * (k / group), 0, 0), bytes);
            if (factor == 1)
              b.set(Ps, cast<E>(bytes));
            else
              b.set(Ps, cast<E>(cast<f32>(cast<i32>(bytes) & 15) * factor));
            return;
          }
        if constexpr (packs)
          if (form == Form::Packed) {
            b.copy(P.at(bn * (n / 16), i * (k / group), 0, 0), Ps);
            return;
          }
        b.copy(form == Form::Transposed ? B.at(n0, k0) : Bt.at(k0, n0), Bs);
      };
      auto multiply = [&](const Tile<S, 2> &sums, const GemmOptions &how) {
        if (inParts) {
          // B is packed before the loop, unless its elements change there.
          for (Index r : b.range(m / partRows)) {
            auto rows = slice(As, {r * partRows, 0}, {partRows, k});
            auto part = slice(sums, {r * partRows, 0}, {partRows, n});
            if (isPacked())
              b.gemm(rows, Ps, part, how);
            else
              b.gemm(rows, form == Form::Transposed ? transposed(Bs) : Bs, part, how);
            if (changes)
              b.set(Bs, E(0) - Bs);
          }
          return;
        }
        auto a = turnedA ? transposed(As) : As;
        if (isPacked())
          b.gemm(a, Ps, sums, how);
        else
          b.gemm(a, form == Form::Transposed ? transposed(Bs) : Bs, sums, how);
      };
      load();
      if (adds)
        b.set(As, As + E(1));
      if (skips)
        b.when(i % 3 != 1, [&] { multiply(acc, options); });
      else
        multiply(acc, options);
      if (reloads)
        load();
      if (second)
        multiply(other, {.unsigned_a = options.unsigned_a});
    };
    Index depth = ceil_div(A.size(2), k);
    switch (random.below(4)) {
    case 0:
      step(Index(0));
      break;
    case 1:
      for (Index i : b.pipelined(depth, {.num_stages = int(random.between(1, 3))}))
        step(i);
      break;
    default:
      for (Index i : b.range(depth))
        step(i);
    }
    if (random.chance(20) && !ends)
      b.set(acc, acc + S(1));
    if (second)
      b.set(acc, acc + other);
    if (toOut)
      b.copy(acc, D.at(int64_t(resultLayer), m0, n0));
    else
      b.copy(acc, C.at(m0, n0));
  }
};

/// A matrix whose rows have something between them, sometimes so much that native code packs them
/// instead of reading them in the tensor.
template <class T> struct Matrix {
  Matrix(Random &random, int64_t rows, int64_t columns, T between, bool full)
      : rows(rows), columns(columns), stride(columns + random.of({0, 0, 3, 16, 0, 3, 16, 2100})),
        values(size_t(rows * stride + 1), between) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        values[size_t(i * stride + j)] =
            T(full ? int(random.between(-128, 127)) : int(random.between(-6, 6)));
  }
  auto view() { return penstock::view(values.data(), {rows, columns}, {stride, 1}); }
  /// Several matrices of \p each rows, one after the other or row by row.
  auto stack(int64_t each, bool byRows) {
    int64_t many = each ? rows / each : 0;
    return byRows
               ? penstock::view(values.data(), {each, many, columns}, {many * stride, stride, 1})
               : penstock::view(values.data(), {many, each, columns}, {each * stride, stride, 1});
  }
  auto view() const { return penstock::view(values.data(), {rows, columns}, {stride, 1}); }

  int64_t rows, columns, stride;
  std::vector<T> values;
};

/// Results, one matrix after the other, of which some begin at a line and have such rows.
template <class T> struct Results {
  Results(Random &random, int64_t rows, int64_t columns)
      : rows(rows), columns(columns), stride(columns + random.of({0, 0, 3})),
        first(random.of({0, 0, 0, 1})) {
    constexpr int64_t large = 4 << 20;
    int64_t one = std::max<int64_t>(1, rows * stride);
    many = resultLayer + 1;
    if (random.chance(30) && rows * columns)
      many = large / (rows * columns * int64_t(sizeof(T))) + 1 + resultLayer;
    lines.resize(size_t(many * one + first) / inLine + 1);
    for (Line &line : lines)
      std::fill_n(line.values, inLine, T(6));
  }
  auto view() { return penstock::view(data(), {many, rows, columns}, {rows * stride, stride, 1}); }
  T *data() { return lines.data()->values + first; }

  static constexpr size_t inLine = 64 / sizeof(T);
  struct alignas(64) Line {
    T values[inLine];
    bool operator==(const Line &other) const {
      return std::memcmp(values, other.values, sizeof values) == 0;
    }
  };
  int64_t rows, columns, stride, first, many = 0;
  std::vector<Line> lines;
};

template <class E, class S> CaseResult multiply(uint64_t seed, Counters &counters) {
  Random random(derive(seed, 1));
  Products<E, S> kernel{derive(seed, 2)};
  auto reference = try_compile(kernel, Target::interpreter(), {.cache = &KernelCache::none()});
  if (!reference) {
    ++counters[Refused];
    return {true, to_text(reference.diagnostics).substr(0, 2000)};
  }
  std::string program = reference.kernel.tile_program();
  Cpu level = random.of({Cpu::Amx, Cpu::Amx, Cpu::Amx, Cpu::Avx512Fp16, Cpu::Avx512Bf16,
                         Cpu::Avx512Vnni, Cpu::Avx512, Cpu::Avx2});
  // So small that strips of columns take turns in L2, those of a processor, or the defaults.
  std::string caches =
      Random(derive(seed, 9)).of<const char *>({"", "", "4K,32K", "4K,64K", "8K,128K", "32K,1M"});
  setenv("PENSTOCK_CACHES", caches.c_str(), 1);
  CompileOptions options{
      .contract = random.chance(20), .cpu = level, .cache = &KernelCache::none()};
  auto native = try_compile(kernel, Target::native(), options);
  if (!native && native.diagnostics.front().code == 1760) { // the host has no such level
    level = options.cpu = Cpu::Host;
    native = try_compile(kernel, Target::native(), options);
  }
  if (!native)
    return {true, "natively it is refused: " + to_text(native.diagnostics) + "\n" + program};
  ++counters[Built];
  counters[WithSmallCaches] += !caches.empty();
  counters[OnTiles] += level == Cpu::Amx;
  counters[WithPacked] += kernel.form() == Products<E, S>::Form::Packed;
  counters[WithConverted] += kernel.form() == Products<E, S>::Form::Converted;
  counters[WithOneRow] += kernel.oneRow();
  counters[WithUnsigned] += program.find("unsigned_a") != std::string::npos;
  for (int run = 0; run < 2; ++run) {
    int64_t grain = random.chance(50) ? 16 : 1;
    int64_t m = random.between(1, 130 / grain) * grain, n = random.between(1, 130 / grain) * grain,
            k = random.between(0, 160 / grain) * grain;
    if (!Products<E, S>::packs && random.chance(30))
      n = random.of({256, 300, 512});
    if (kernel.deep()) { // less of it, because the interpreter is slow
      k *= 5;
      m = (m + 2) / 3;
    }
    constexpr bool full = std::is_same_v<E, i8>;
    E between = full ? E(77) : E(std::numeric_limits<float>::quiet_NaN());
    Matrix<E> a(random, layers * m, k, between, full), at(random, k, m, between, full),
        b(random, n, k, between, full), bt(random, k, n, between, full);
    const E none[16] = {};
    auto packed = [&] {
      if constexpr (Products<E, S>::packs)
        return random.chance(50) ? pack(std::as_const(bt).view())
                                 : pack(std::as_const(b).view(), {.transposed = true});
      else
        return &none[0];
    }();
    auto packedView = [&] {
      if constexpr (Products<E, S>::packs)
        return packed.view();
      else
        return view(packed, {1, 1, 16, 1});
    }();
    Matrix<i8> q(random, k, n, i8(77), false);
    auto bytes = [&] {
      if constexpr (Products<E, S>::converts)
        return pack_for<E>(std::as_const(q).view());
      else
        return pack(std::as_const(q).view());
    }();
    // With gaps between groups, rows or panels it is read element by element.
    auto bytesView = bytes.view();
    std::vector<i8> apart;
    if (random.chance(40)) {
      auto from = bytesView;
      int64_t gap[3] = {random.of({0, 7}), random.of({0, 5}), random.of({0, 0, 3})};
      for (int dim = 2; dim >= 0; --dim)
        bytesView.strides[dim] = bytesView.strides[dim + 1] * bytesView.sizes[dim + 1] + gap[dim];
      apart.assign(size_t(bytesView.strides[0] * bytesView.sizes[0] + 1), i8(99));
      auto at = [](const auto &tensor, std::initializer_list<int64_t> index) {
        int64_t offset = 0, dim = 0;
        for (int64_t i : index)
          offset += i * tensor.strides[dim++];
        return offset;
      };
      for (int64_t i = 0; i < from.sizes[0]; ++i)
        for (int64_t j = 0; j < from.sizes[1]; ++j)
          for (int64_t l = 0; l < from.sizes[2]; ++l)
            for (int64_t e = 0; e < from.sizes[3]; ++e)
              apart[size_t(at(bytesView, {i, j, l, e}))] = from.data[at(from, {i, j, l, e})];
      bytesView.data = apart.data();
    }
    Matrix<S> c(random, m, n, S(5), false), c2 = c;
    Results<S> d(random, m, n), d2 = d;
    counters[WithLarge] += d.many > resultLayer + 1;
    LaunchOptions launch{.threads = int(random.between(1, 3))};
    if (random.chance(20))
      launch.executor = [](int tasks, const Callback<int> &task) {
        for (int i = tasks; i-- > 0;)
          task(i);
      };
    auto run_on = [&](const auto &built, Matrix<S> &inout, Results<S> &out) {
      return built.try_launch(launch, a.stack(m, kernel.middle()), at.view(), b.view(), bt.view(),
                              packedView, bytesView, inout.view(), out.view());
    };
    auto expected = run_on(reference.kernel, c, d), found = run_on(native.kernel, c2, d2);
    std::string sizes = "M=" + std::to_string(m) + ", N=" + std::to_string(n) +
                        ", K=" + std::to_string(k) + ", level " + std::to_string(int(level)) +
                        (caches.empty() ? "" : ", PENSTOCK_CACHES=" + caches) + ": ";
    if (!expected.empty() || !found.empty())
      return {true, sizes + "interpreter: " + to_text(expected) + "\nnative: " + to_text(found) +
                        "\n" + program};
    ++counters[Launched];
    auto differ = [&](size_t at, S one, S two) {
      return CaseResult{true, sizes + "element " + std::to_string(at) + " is " +
                                  std::to_string(one) + " and natively " + std::to_string(two) +
                                  "\n" + program};
    };
    for (size_t i = 0; i < c.values.size(); ++i)
      if (std::memcmp(&c.values[i], &c2.values[i], sizeof(S)) != 0)
        return differ(i, c.values[i], c2.values[i]);
    auto [one, two] = std::mismatch(d.lines.begin(), d.lines.end(), d2.lines.begin());
    for (size_t e = 0; one != d.lines.end() && e < d.inLine; ++e)
      if (std::memcmp(&one->values[e], &two->values[e], sizeof(S)) != 0)
        return differ(size_t(one - d.lines.begin()) * d.inLine + e - size_t(d.first),
                      one->values[e], two->values[e]);
  }
  return {};
}

CaseResult multiplyOne(uint64_t seed, Counters &counters) {
  switch (seed % 4) {
  case 0:
    return multiply<f16, f32>(seed, counters);
  case 1:
    return multiply<bf16, f32>(seed, counters);
  case 2:
    return multiply<f32, f32>(seed, counters);
  default:
    return multiply<i8, i32>(seed, counters);
  }
}

} // namespace

int penstock::fuzz::runProducts(const BatchOptions &options) {
  BatchResult result = runBatches(options, multiplyOne);
  for (const FailedCase &failed : result.failures)
    std::printf("%s with --products 1 --seed %llu: %s\n", nameOf(failed.failure),
                static_cast<unsigned long long>(failed.seed), failed.message.c_str());
  Counters &c = result.counters;
  auto count = [&](Counter which) { return static_cast<unsigned long long>(c[which]); };
  std::printf("programs=%llu compiled=%llu launches=%llu packed=%llu converted=%llu unsigned=%llu "
              "large=%llu one-row=%llu small-caches=%llu amx=%llu mismatches=%zu\n",
              static_cast<unsigned long long>(result.cases), count(Built), count(Launched),
              count(WithPacked), count(WithConverted), count(WithUnsigned), count(WithLarge),
              count(WithOneRow), count(WithSmallCaches), count(OnTiles), result.failures.size());
  return result.failures.empty() ? 0 : 1;
}
