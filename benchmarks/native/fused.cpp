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
#include "TileProbe.h"

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
  if (prepared.empty())
    return bench::skipped(name, "no library has it; benchmarks/install-anchors installs them");
  bench::Result measured = bench::compare(contenders, threads);
  std::string text = std::string(unit) + " (" + measured.text() + ")";
  work *= 1e-9;
  bench::line(name, work / measured.ours, work / measured.others, measured.ratio, text.c_str());
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

/// Weights as QuantizedLinear takes them.
template <bool four>
std::vector<i8> arrange(const std::vector<i8> &w, int64_t k, int64_t n,
                        const bench::QuantizedLinear<four> &blocks) {
  std::vector<i8> result;
  int64_t columns = blocks.block_n, half = blocks.group / 2;
  for (int64_t first = 0; first < n; first += columns)
    for (int64_t row = 0; row < (four ? k / 2 : k); ++row) {
      const i8 *low = &w[size_t((four ? row / half * half + row : row) * n + first)];
      for (int64_t column = 0; column < columns; ++column)
        result.push_back(four ? i8(uint8_t((low[column] + 8) | (low[half * n + column] + 8) << 4))
                              : low[column]);
    }
  return result;
}

template <bool four>
void quantized(const std::string &name, Size size, bench::QuantizedLinear<four> blocks,
               bool groups = true) {
  auto [m, n, k] = size;
  auto x = randomBf16(m * k, 1);
  auto numbers = bench::numbers<float>(size_t(k * n), 2);
  std::vector<i8> w(numbers.size());
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = i8(numbers[i] * (four ? 7.99f : 127.f));
  int64_t rows = groups ? k / blocks.group : 1;
  auto scales = randomBf16(rows * n, 3, four ? 0.01f : 0.0005f);
  // Ours has a row of scales for each group.
  std::vector<bf16> spread(size_t(k / blocks.group * n));
  for (size_t i = 0; i < spread.size(); ++i)
    spread[i] = scales[i % scales.size()];
  std::vector<bf16> y(size_t(m * n));
  auto ours = arrange(w, k, n, blocks);
  auto kernel = compile(blocks, Target::native());
  contest(
      name,
      [&, m = m, n = n, k = k] {
        kernel.launch({.threads = threads}, view(x, {m, k}),
                      view(ours, {n / blocks.block_n, four ? k / 2 : k, blocks.block_n}),
                      view(spread, {k / blocks.group, n}), view(y, {m, n}));
      },
      y,
      {four ? FusedKind::WeightsI4 : FusedKind::Weights,
       1,
       m,
       n,
       k,
       k / rows,
       {x.data(), w.data(), scales.data()},
       nullptr,
       0},
      0.05, size.operations(), "GFLOP/s");
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
    if (!bench::hasTiles())
      return bench::skipped(name, "this processor or process has no AMX");
    if (bench::openFusedAnchors().empty())
      return bench::skipped(name, "no anchors; benchmarks/install-anchors installs them");
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
    int rows = int(m), columns = m > 16 ? 512 : 128;
    bool many = m > 16;
    line("native/fused-weights-i8-" + size.text(), [&](const std::string &name) {
      quantized<false>(name, size, {.block_m = rows, .block_n = columns, .scale_weights = many});
    });
    line("native/fused-weights-i8c-" + size.text(), [&](const std::string &name) {
      quantized<false>(name, size, {.block_m = rows, .block_n = columns, .scale_weights = many},
                       /*groups=*/false);
    });
    line("native/fused-weights-i4-" + size.text(), [&](const std::string &name) {
      quantized<true>(name, size, {.block_m = rows, .block_n = columns, .scale_weights = many});
    });
  }
  for (int dim : {128, 64})
    line("native/fused-attention-bf16-16x1024x" + std::to_string(dim),
         [&](const std::string &name) { attention(name, 16, 1024, dim, {.dim = dim}); });
  line("native/fused-rms-norm-1024x4096",
       [&](const std::string &name) { rmsNorm(name, 1024, 4096); });
  line("native/fused-softmax-4096x1024",
       [&](const std::string &name) { softmax(name, 4096, 1024); });
}
