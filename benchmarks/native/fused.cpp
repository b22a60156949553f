//===- fused.cpp - Fused kernels beside oneDNN and torch ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native/fused-linear-gelu-MxNxK      y = gelu(x w + bias) in bf16; GFLOP/s
// native/fused-weights-i8-MxNxK       y = x w in bf16, w of i8 with scales for groups of 128
// native/fused-weights-i8c-MxNxK      the same with one scale for each output
// native/fused-weights-i4-MxNxK       w of 4 bits, groups of 128
// native/fused-attention-bf16-HxMxD   H heads, M queries and keys, D wide
// native/fused-rms-norm-MxN           bf16; GB/s of what is read and written
// native/fused-softmax-MxN            f32; the same
//
// Both sides have two threads. Weights are packed before by each.
//
//===----------------------------------------------------------------------===//
#include "Contest.h"
#include "FusedKernels.h"
#include "Measure.h"
#include "VectorProbe.h"

#include <cstring>
#include <memory>

using namespace penstock;
using bench::FusedKind;

namespace {

constexpr int threads = 2;

std::vector<bf16> randomBf16(int64_t count, uint32_t seed, float scale = 1) {
  std::vector<bf16> result(static_cast<size_t>(count));
  auto from = bench::numbers<float>(result.size(), seed);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = bf16(from[i] * scale);
  return result;
}

/// Runs ours and all peers in turns, compares results and prints the line. \p work is in
/// operations or bytes.
template <class T>
void contest(const std::string &name, const std::function<void()> &ours, std::vector<T> &result,
             bench::FusedProblem problem, double tolerance, double work, const char *unit) {
  std::vector<T> theirs(result.size());
  problem.result = theirs.data();
  problem.threads = threads;
  ours();
  std::vector<bench::Contender> contenders = {{"", ours}};
  std::vector<std::pair<const bench::FusedAnchor *, void *>> prepared;
  for (const bench::FusedAnchor *anchor : bench::openFusedAnchors())
    if (void *state = anchor->prepare(&problem)) {
      prepared.emplace_back(anchor, state);
      anchor->run(state);
      anchor->finish(state);
      bench::expectClose(name + ", " + anchor->name(state), result, theirs, tolerance);
      contenders.push_back({anchor->name(state), [anchor, state] { anchor->run(state); }});
    }
  bench::Result measured = bench::compare(contenders, threads, bench::bestUnit());
  std::string text = std::string(unit) + " (" + measured.text() + ")";
  work *= 1e-9;
  bench::lineOrAlone(name, work / measured.ours, work / measured.others, measured.ratio,
                     text.c_str());
  for (auto [anchor, state] : prepared)
    anchor->release(state);
}

struct Size {
  int64_t m, n, k;
  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }
  double operations() const { return 2 * double(m) * double(n) * double(k); }
};

void linearGelu(const std::string &name, Size size, bench::LinearGelu blocks) {
  auto [m, n, k] = size;
  auto x = randomBf16(m * k, 1), w = randomBf16(k * n, 2, 0.05f), bias = randomBf16(n, 3);
  std::vector<bf16> y(size_t(m * n));
  auto packed = pack(view(std::as_const(w), {k, n}));
  auto kernel = compile(blocks, Target::native());
  contest(
      name,
      [&, m = m, n = n, k = k] {
        kernel.launch({.threads = threads}, view(x, {m, k}), packed.view(), view(bias, {n}),
                      view(y, {m, n}));
      },
      y, {FusedKind::LinearGelu, 1, m, n, k, 0, {x.data(), w.data(), bias.data()}, nullptr, 0},
      0.05, size.operations(), "GFLOP/s");
}

/// Two weights of 4 bits in each byte, as QuantizedLinear takes them.
std::vector<i8> pairs(const std::vector<i8> &w, int64_t k, int64_t n, int64_t group) {
  std::vector<i8> result;
  int64_t half = group / 2;
  for (int64_t row = 0; row < k / 2; ++row) {
    const i8 *low = &w[size_t((row / half * half + row) * n)];
    for (int64_t column = 0; column < n; ++column)
      result.push_back(i8(uint8_t((low[column] + 8) | (low[half * n + column] + 8) << 4)));
  }
  return result;
}

/// Operands of a product with quantized weights, as libraries take them.
template <bool Four> struct Quantized {
  /// With \p group rows for each scale.
  Quantized(Size size, int64_t group)
      : size(size), group(group), x(randomBf16(size.m * size.k, 1)), w(size_t(size.k * size.n)),
        scales(randomBf16(size.k / group * size.n, 3, Four ? 0.01f : 0.0005f)),
        y(size_t(size.m * size.n)) {
    auto numbers = bench::numbers<float>(w.size(), 2);
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = i8(numbers[i] * (Four ? 7.99f : 127.f));
  }

  void contest(const std::string &name, const std::function<void()> &ours) {
    ::contest(name, ours, y,
              {Four ? FusedKind::WeightsI4 : FusedKind::Weights,
               1,
               size.m,
               size.n,
               size.k,
               group,
               {x.data(), w.data(), scales.data()},
               nullptr,
               0},
              0.05, size.operations(), "GFLOP/s");
  }

  Size size;
  int64_t group;
  std::vector<bf16> x;
  std::vector<i8> w;
  std::vector<bf16> scales, y;
};

/// A row of scales for each \p group rows, from one for each of the problem's groups.
template <bool Four> std::vector<bf16> scalesOf(const Quantized<Four> &problem, int64_t group) {
  std::vector<bf16> spread(size_t(problem.size.k / group * problem.size.n));
  for (size_t i = 0; i < spread.size(); ++i)
    spread[i] = problem.scales[i % problem.scales.size()];
  return spread;
}

template <bool Four>
void quantized(const std::string &name, Size size, bench::QuantizedLinear<Four> blocks,
               int64_t group) {
  auto [m, n, k] = size;
  Quantized<Four> problem(size, group);
  auto scales = scalesOf(problem, blocks.group);
  auto bytes = Four ? pairs(problem.w, k, n, blocks.group) : problem.w;
  auto packed = pack_for<bf16>(view(std::as_const(bytes), {Four ? k / 2 : k, n}));
  auto kernel = compile(blocks, Target::native());
  problem.contest(name, [&, m = m, n = n, k = k] {
    kernel.launch({.threads = threads}, view(problem.x, {m, k}), packed.view(),
                  view(scales, {k / blocks.group, n}), view(problem.y, {m, n}));
  });
}

template <bool Four> void manyRows(const std::string &name, Size size, int64_t group) {
  auto [m, n, k] = size;
  Quantized<Four> problem(size, group);
  bench::ScaledLinear<Four> blocks{.block_m = int(m)};
  auto scales = scalesOf(problem, blocks.group);
  auto bytes = Four ? pairs(problem.w, k, n, blocks.group) : problem.w;
  std::vector<i8> w;
  int64_t rows = Four ? k / 2 : k;
  for (int64_t first = 0; first < n; first += blocks.block_n)
    for (int64_t row = 0; row < rows; ++row)
      w.insert(w.end(), &bytes[size_t(row * n + first)],
               &bytes[size_t(row * n + first)] + blocks.block_n);
  auto kernel = compile(blocks, Target::native());
  problem.contest(name, [&, m = m, n = n, k = k] {
    kernel.launch({.threads = threads}, view(problem.x, {m, k}),
                  view(w, {n / blocks.block_n, rows, blocks.block_n}),
                  view(scales, {k / blocks.group, n}), view(problem.y, {m, n}));
  });
}

void quantizedRow(const std::string &name, Size size, int64_t group) {
  auto [m, n, k] = size;
  Quantized<false> problem(size, group);
  auto transposed = [n = n](const auto &from) {
    auto to = from;
    size_t rows = from.size() / size_t(n);
    for (size_t i = 0; i < from.size(); ++i)
      to[i % size_t(n) * rows + i / size_t(n)] = from[i];
    return to;
  };
  auto w = transposed(problem.w);
  auto scales = transposed(problem.scales);
  // Multiplications and additions are fused, as those of peers are.
  auto kernel = compile(bench::QuantizedRow{.block = 64, .k = int(k), .group = int(group)},
                        Target::native(), {.contract = true});
  problem.contest(name, [&, n = n, k = k] {
    kernel.launch({.threads = threads}, view(problem.x, {k / group, group}),
                  view(w, {n, k / group, group}), view(scales, {n, k / group}),
                  view(problem.y, {n}));
  });
}

void nibbleRow(const std::string &name, Size size, int64_t group) {
  auto [m, n, k] = size;
  Quantized<true> problem(size, group);
  bench::NibbleRow blocks{.group = int(group)};
  int64_t block = blocks.block, lanes = group / 8, groups = k / group;
  std::vector<int32_t> words(size_t(n * k / 8));
  std::vector<bf16> scales(problem.scales.size());
  for (int64_t column = 0; column < n; ++column)
    for (int64_t g = 0; g < groups; ++g) {
      int64_t at = (column / block * groups + g) * block + column % block;
      scales[size_t(at)] = problem.scales[size_t(g * n + column)];
      for (int64_t lane = 0; lane < lanes; ++lane) {
        uint32_t word = 0;
        for (int64_t i = 0; i < 8; ++i) {
          int weight = problem.w[size_t((g * group + i * lanes + lane) * n + column)];
          word |= (uint32_t(i == 7 ? weight : weight + 8) & 15) << 4 * i;
        }
        words[size_t(at * lanes + lane)] = int32_t(word);
      }
    }
  auto kernel = compile(blocks, Target::native(), {.contract = true});
  problem.contest(name, [&, n = n] {
    kernel.launch({.threads = threads}, view(problem.x, {groups, 8, lanes}),
                  view(words, {n / block, groups, block, lanes}),
                  view(scales, {n / block, groups, block}), view(problem.y, {n}));
  });
}

void attention(const std::string &name, int64_t heads, int64_t m, int64_t dim,
               bench::Attention blocks) {
  int64_t count = heads * m * dim;
  auto q = randomBf16(count, 1, 2), k = randomBf16(count, 2, 2), v = randomBf16(count, 3);
  std::vector<bf16> y(static_cast<size_t>(count));
  float scale = 1.4426950408889634f / std::sqrt(float(dim));
  auto kernel = compile(blocks, Target::native());
  contest(
      name,
      [&] {
        kernel.launch({.threads = threads}, view(q, {heads, m, dim}), view(k, {heads, m, dim}),
                      view(v, {heads, m, dim}), scale, view(y, {heads, m, dim}));
      },
      y, {FusedKind::Attention, heads, m, m, dim, 0, {q.data(), k.data(), v.data()}, nullptr, 0},
      0.02, 4 * double(count) * double(m), "GFLOP/s");
}

void rmsNorm(const std::string &name, int64_t m, int64_t n) {
  auto x = randomBf16(m * n, 1, 3), weight = randomBf16(n, 2);
  std::vector<bf16> y(x.size());
  auto kernel = compile(bench::RmsNorm{.columns = int(n)}, Target::native());
  contest(
      name,
      [&] {
        kernel.launch({.threads = threads}, view(x, {m, n}), view(weight, {n}), 1e-5f,
                      view(y, {m, n}));
      },
      y, {FusedKind::RmsNorm, 1, m, n, 0, 0, {x.data(), weight.data(), nullptr}, nullptr, 0}, 0.02,
      4 * double(m) * double(n), "GB/s");
}

void softmax(const std::string &name, int64_t m, int64_t n) {
  auto x = bench::numbers<float>(size_t(m * n), 1);
  std::vector<float> y(x.size());
  auto kernel = compile(bench::Softmax{.columns = int(n)}, Target::native());
  contest(
      name, [&] { kernel.launch({.threads = threads}, view(x, {m, n}), view(y, {m, n})); }, y,
      {FusedKind::Softmax, 1, m, n, 0, 0, {x.data(), nullptr, nullptr}, nullptr, 0}, 1e-5,
      8 * double(m) * double(n), "GB/s");
}

} // namespace

int main(int argc, char **argv) {
  auto line = [&](const std::string &name, auto &&run) {
    if (!bench::wanted(argc, argv, name))
      return;
    if (!bench::vectorBits())
      return bench::skipped(name, "this processor has no AVX2");
    run(name);
  };
  struct Linear {
    Size size;
    bench::LinearGelu blocks;
  };
  for (auto [size, blocks] :
       {Linear{{512, 4096, 4096}, {256, 512, 512}}, Linear{{16, 4096, 4096}, {16, 256, 4096}},
        Linear{{1, 4096, 4096}, {1, 256, 4096}}})
    line("native/fused-linear-gelu-" + size.text(),
         [&](const std::string &name) { linearGelu(name, size, blocks); });
  for (int64_t m : {1, 16, 256}) {
    Size size{m, 4096, 4096};
    auto weights = [&]<bool Four>(const std::string &name, int64_t group) {
      line("native/fused-weights-" + name + "-" + size.text(), [&](const std::string &full) {
        if (m == 1 && Four)
          nibbleRow(full, size, group);
        else if (m == 1)
          quantizedRow(full, size, group);
        else if (m > 16)
          manyRows<Four>(full, size, group);
        else
          quantized<Four>(full, size, {.block_m = int(m), .block_n = 128}, group);
      });
    };
    weights.operator()<false>("i8", 128);
    weights.operator()<false>("i8c", size.k);
    weights.operator()<true>("i4", 128);
  }
  for (int dim : {128, 64})
    line("native/fused-attention-bf16-16x1024x" + std::to_string(dim),
         [&](const std::string &name) { attention(name, 16, 1024, dim, {.dim = dim}); });
  line("native/fused-rms-norm-1024x4096",
       [&](const std::string &name) { rmsNorm(name, 1024, 4096); });
  line("native/fused-softmax-4096x1024",
       [&](const std::string &name) { softmax(name, 4096, 1024); });
}
