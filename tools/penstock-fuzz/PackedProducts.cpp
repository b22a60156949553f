//===- PackedProducts.cpp - Products of packed values and with scales -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random matmuls that unpack packed operands, or multiply with scales: tiles, stages, order
// of statements, what else reads the operands, loops around. Results on a GPU's emulator
// and natively must equal those of plain loops over the numbers, bit by bit: values and
// scales have few bits, and all sums are exact in f32.
//
//===----------------------------------------------------------------------===//
#include "Gpus.h"
#include "InternalErrors.h"
#include "Modes.h"
#include "Random.h"
#include "penstock/cache.h"
#include "penstock/penstock.h"

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum Counter : int { Refused, Built, Launched };

/// A K-major matrix as elements, with its scales, and as numbers.
template <class T, class S, int Group> struct Operand {
  static constexpr int64_t bits = detail::isSixBit<T> ? 6 : detail::isPacked<T> ? 4 : 8;
  static constexpr int64_t bytesOf(int64_t values) { return values * bits / 8; }

  Operand(Random &random, int64_t rows, int64_t k)
      : rows(rows), row(bytesOf(k)), blocks((rows + 127) / 128),
        groups((k + 4 * Group - 1) / (4 * Group)), elements(size_t(rows * row) + alignment),
        scales(size_t(blocks * groups * 512)), numbers(size_t(rows * k)) {
    // TMA pads 6-bit values from multiples of 32 bytes only.
    auto address = reinterpret_cast<uintptr_t>(elements.data());
    data = elements.data() + (alignment - address % alignment) % alignment;
    if (random.chance(15))
      data = elements.data();
    for (S &scale : scales)
      scale = S(std::is_same_v<S, f8e4m3> ? float(random.between(2, 7)) / 4
                                          : float(1 << random.below(3)) / 2);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < k; ++i) {
        float number = value(random);
        set(data + r * row, i, number);
        numbers[size_t(r * k + i)] = double(number) * double(float(scaleOf(r, i)));
      }
  }
  static void set(T *to, int64_t i, float number) {
    if constexpr (bits == 6)
      set_packed_value(to, i, number);
    else if constexpr (std::is_same_v<T, i4x2>)
      to[i / 2] = i % 2 ? T(to[i / 2].low(), int(number)) : T(int(number), 0);
    else if constexpr (bits == 4)
      to[i / 2] = i % 2 ? T(to[i / 2].low(), number) : T(number, 0);
    else
      to[i] = T(number);
  }
  /// Scales lie as cuBLAS wants them.
  const S &scaleOf(int64_t row, int64_t i) const {
    int64_t j = i / Group;
    return scales[size_t(((row / 128 * groups + j / 4) * 32 + row % 32) * 16 + row / 32 % 4 * 4 +
                         j % 4)];
  }
  static float value(Random &random) {
    constexpr float magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    if (std::is_same_v<T, i4x2>)
      return float(random.between(-8, 7));
    if (std::is_same_v<T, f6e2m3_packed>) // eighths below 2
      return float(random.between(-15, 15)) / 8;
    return magnitudes[random.below(8)] * (random.chance(50) ? -1.0f : 1.0f);
  }

  static constexpr size_t alignment = 32;
  int64_t rows, row, blocks, groups; ///< row: bytes
  std::vector<T> elements;
  T *data;
  std::vector<S> scales;
  std::vector<double> numbers;
};

/// With scales. \p seed decides on what does not change the result.
template <class T, class U, class S, int Group> struct ScaledProduct {
  uint64_t seed;
  bool doubled;
  int64_t m, n, k; ///< of a tile; k counts values

  void operator()(Block &b, In<T, 2> A, In<U, 2> B, In<S, 4> scaleA, In<S, 4> scaleB,
                  Out<f32, 2> C) const {
    Random random(seed);
    const int64_t inA = Operand<T, S, Group>::bytesOf(k), inB = Operand<U, S, Group>::bytesOf(k),
                  groups = k / (4 * Group);
    Index rows = ceil_div(C.size(0), m), columns = ceil_div(C.size(1), n);
    Index steps = ceil_div(A.size(1), inA);
    auto As = b.shared<T>(m, inA);
    auto Bs = b.shared<U>(n, inB);
    auto SA = b.shared<S>(m / 128, groups, 32, 16), SB = b.shared<S>(n / 128, groups, 32, 16);
    auto acc = b.local<f32>(m, n);
    int stages = int(random.between(1, 4));
    bool overwrite = random.chance(20), swapped = random.chance(50);
    PipelineOptions pipeline{.num_stages = stages};
    if (random.chance(20))
      pipeline = {.stage = {0, 0, 0, 0, 1}, .order = {0, 1, 2, 3, 4}};
    if (random.chance(20))
      pipeline.form = Form::Skewed;
    auto tile = [&](const Index &bm, const Index &bn) {
      b.fill(acc, 0);
      if (overwrite) { // as a first product that is replaced
        b.copy(A.at(bm * m, 0), As);
        b.copy(B.at(bn * n, 0), Bs);
        b.copy(scaleA.at(bm * (m / 128), 0, 0, 0), SA);
        b.copy(scaleB.at(bn * (n / 128), 0, 0, 0), SB);
        b.gemm(As, transposed(Bs), acc, {.accumulate = false, .scale_a = SA, .scale_b = SB});
        b.fill(acc, 0);
      }
      for (Index s : b.pipelined(steps, pipeline)) {
        if (swapped)
          b.copy(scaleB.at(bn * (n / 128), s * groups, 0, 0), SB);
        b.copy(A.at(bm * m, s * inA), As);
        b.copy(B.at(bn * n, s * inB), Bs);
        b.copy(scaleA.at(bm * (m / 128), s * groups, 0, 0), SA);
        if (!swapped)
          b.copy(scaleB.at(bn * (n / 128), s * groups, 0, 0), SB);
        b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SB});
      }
      if (doubled)
        b.set(acc, acc * 2.0f);
      b.copy(acc, C.at(bm * m, bn * n));
    };
    if (random.chance(60)) {
      auto [bm, bn] = b.grid(rows, columns);
      tile(bm, bn);
    } else {
      auto first = b.grid(2);
      for (Index t : b.range(first, rows * columns, 2))
        tile(t / columns, t % columns);
    }
  }
};

/// Returns whether the variant for rows that TMA does not copy is too large for the GPU: it is
/// compiled when it is first launched.
bool isRefusal(const std::vector<Diagnostic> &found) {
  constexpr unsigned tooLarge = 1010, pipelineMemory = 1218, hardwareMemory = 1603;
  return found.size() == 1 && (found[0].code == tooLarge || found[0].code == pipelineMemory ||
                               found[0].code == hardwareMemory);
}

std::string differs(const std::vector<double> &a, const std::vector<double> &b, double factor,
                    const std::vector<f32> &c, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += a[size_t(i * k + l)] * b[size_t(j * k + l)];
      if (c[size_t(i * n + j)] != float(sum * factor))
        return "M=" + std::to_string(m) + ", N=" + std::to_string(n) + ", K=" + std::to_string(k) +
               ": element " + std::to_string(i * n + j) + " is " +
               std::to_string(c[size_t(i * n + j)]) + " instead of " + std::to_string(sum * factor);
    }
  return "";
}

/// Compiles for a GPU and natively, and compares both with the numbers.
template <class K, class Launch>
CaseResult compare(const K &kernel, Target gpu, Random &random, Counters &counters, Launch launch) {
  for (Target target : {gpu.emulated(), Target::native()}) {
    bool native = target.kind == Target::Kind::Native, late = native && random.chance(40);
    auto compiled =
        try_compile(kernel, target, {.late_completion = late, .cache = &KernelCache::none()});
    if (!compiled && !native) {
      ++counters[Refused];
      if (hasInternalError(compiled.diagnostics))
        return {true, to_text(compiled.diagnostics).substr(0, 2000)};
      continue;
    }
    if (!compiled)
      return {true, "natively it is refused: " + to_text(compiled.diagnostics)};
    ++counters[Built];
    for (int run = 0; run < 2; ++run) {
      LaunchOptions options;
      if (!native || late)
        options.completion = random.of({Completion::Eager, Completion::Latest, Completion::Random});
      options.seed = random.next();
      std::string problem = launch(compiled.kernel, options);
      ++counters[Launched];
      if (!problem.empty())
        return {true, problem + "\n" + compiled.kernel.tile_program()};
    }
  }
  return {};
}

template <class T, class U, class S, int Group>
CaseResult scaled(uint64_t seed, Counters &counters) {
  Random random(derive(seed, 1));
  ScaledProduct<T, U, S, Group> kernel{derive(seed, 2), random.chance(30),
                                       random.of({128, 128, 256}), random.of({128, 128, 256}),
                                       4 * Group * random.of({1, 1, 2})};
  // mma.sync multiplies with scales on sm_120a only.
  Target gpu = random.chance(35) ? Target::sm_120a() : anyGpu(random, 50, 25);
  return compare(kernel, gpu, random, counters,
                 [&](const auto &compiled, const LaunchOptions &options) -> std::string {
                   int64_t m = random.between(1, 40) * 8, n = random.between(1, 40) * 8,
                           k = random.between(0, 20) * 32;
                   if (Operand<T, S, Group>::bits != Operand<U, S, Group>::bits ||
                       (detail::isSixBit<T> && random.chance(70)))
                     k = k / 128 * 128; // rows that TMA pads
                   Operand<T, S, Group> a(random, m, k);
                   Operand<U, S, Group> b(random, n, k);
                   std::vector<f32> c(size_t(m * n), -77);
                   auto found = compiled.try_launch(
                       options, view(a.data, {m, a.row}), view(b.data, {n, b.row}),
                       view(a.scales, {a.blocks, a.groups, 32, 16}),
                       view(b.scales, {b.blocks, b.groups, 32, 16}), view(c, {m, n}));
                   if (isRefusal(found))
                     return "";
                   if (!found.empty())
                     return to_text(found);
                   return differs(a.numbers, b.numbers, kernel.doubled ? 2 : 1, c, m, n, k);
                 });
}

/// Packed operands that are unpacked before they are multiplied.
template <class P, class V> struct UnpackedProduct {
  uint64_t seed;
  int64_t m, n, k;

  void operator()(Block &b, In<P, 2> A, In<V, 2> B, Out<f32, 2> C) const {
    Random random(seed);
    auto [bm, bn] = b.grid(ceil_div(C.size(0), m), ceil_div(C.size(1), n));
    const int64_t bytes = Operand<P, f8e8m0, 32>::bytesOf(k);
    auto packed = random.chance(70) ? b.shared<P>(m, bytes) : b.local<P>(m, bytes);
    auto values = random.chance(70) ? b.local<V>(m, k) : b.shared<V>(m, k);
    auto Bs = b.shared<V>(n, k);
    auto acc = b.local<f32>(m, n);
    bool right = random.chance(40), statement = random.chance(50);
    b.fill(acc, 0);
    auto other = right ? b.local<f32>(n, m) : acc;
    if (right)
      b.fill(other, 0);
    for (Index s : b.pipelined(ceil_div(B.size(1), k), {.num_stages = int(random.between(1, 4))})) {
      b.copy(A.at(bm * m, s * bytes), packed);
      b.copy(B.at(bn * n, s * k), Bs);
      if (statement)
        b.statement("unpack", [&] { b.unpack(packed, values); });
      else
        b.unpack(packed, values);
      if (right)
        b.gemm(Bs, transposed(values), other);
      else
        b.gemm(values, transposed(Bs), acc);
    }
    if (right) {
      auto staged = b.shared<f32>(n, m);
      b.copy(other, staged);
      b.copy(transposed(staged), C.at(bm * m, bn * n));
    } else {
      b.copy(acc, C.at(bm * m, bn * n));
    }
  }
};

template <class P, class V> CaseResult unpacked(uint64_t seed, Counters &counters) {
  Random random(derive(seed, 1));
  UnpackedProduct<P, V> kernel{derive(seed, 2), random.of({16, 64, 128, 128, 256}),
                               random.of({8, 16, 64, 128}), random.of({32, 64, 64, 128})};
  return compare(kernel, anyGpu(random), random, counters,
                 [&](const auto &compiled, const LaunchOptions &options) -> std::string {
                   int64_t grain = random.chance(70) ? 32 : detail::isSixBit<P> ? 4 : 2;
                   int64_t m = random.between(1, 200), n = random.between(1, 200),
                           k = random.between(0, 200 / grain) * grain;
                   Operand<P, f8e8m0, 32> a(random, m, k);
                   for (int64_t i = 0; i < m * k; ++i)
                     a.numbers[size_t(i)] /= double(float(a.scaleOf(i / k, i % k)));
                   std::vector<V> b(size_t(n * k));
                   std::vector<double> numbers;
                   for (V &value : b) {
                     value = V(float(random.between(-2, 2)));
                     numbers.push_back(double(float(value)));
                   }
                   std::vector<f32> c(size_t(m * n), -77);
                   auto found = compiled.try_launch(options, view(a.data, {m, a.row}),
                                                    view(b, {n, k}), view(c, {m, n}));
                   if (!found.empty())
                     return to_text(found);
                   return differs(a.numbers, numbers, 1, c, m, n, k);
                 });
}

CaseResult packedOne(uint64_t seed, Counters &counters) {
  switch (seed % 12) {
  case 0:
    return scaled<f8e4m3, f8e4m3, f8e8m0, 32>(seed, counters);
  case 1:
    return scaled<f8e5m2, f8e5m2, f8e8m0, 32>(seed, counters);
  case 2:
    return scaled<f4e2m1x2, f4e2m1x2, f8e8m0, 32>(seed, counters);
  case 3:
    return scaled<f4e2m1x2, f4e2m1x2, f8e4m3, 16>(seed, counters);
  case 4:
    return unpacked<i4x2, f16>(seed, counters);
  case 5:
    return unpacked<f4e2m1x2, bf16>(seed, counters);
  case 6:
    return scaled<f6e2m3_packed, f6e3m2_packed, f8e8m0, 32>(seed, counters);
  case 7:
    return scaled<f8e4m3, f6e3m2_packed, f8e8m0, 32>(seed, counters);
  case 8:
    return scaled<f6e2m3_packed, f4e2m1x2, f8e8m0, 32>(seed, counters);
  case 9:
    return scaled<f4e2m1x2, f8e5m2, f8e8m0, 32>(seed, counters);
  case 10:
    return unpacked<f6e3m2_packed, f16>(seed, counters);
  default:
    return unpacked<i4x2, bf16>(seed, counters);
  }
}

} // namespace

int penstock::fuzz::runPacked(const BatchOptions &options) {
  BatchResult result = runBatches(options, packedOne);
  Counters &c = result.counters;
  return report(result, "--packed", "products",
                {{"refused", c[Refused]}, {"compiled", c[Built]}, {"launches", c[Launched]}});
}
