//===- amx.cpp - Products beside oneDNN, MKL and OpenBLAS -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native/amx-bf16-SHAPE, native/amx-i8-SHAPE     C = A B, f32 or i32 results; `-1t` on one
//                                                thread, else two. B is packed before. Skipped
//                                                without AMX.
// native/f16-SHAPE, native/f32-SHAPE             the same on any processor; in f32 we pack B in
//                                                each call
// native/decode-bf16-M                           M rows by 32 MB of packed weights, in GB/s
//                                                of weights; the unit has the share of a loop
//                                                that only reads them
//
//===----------------------------------------------------------------------===//
#include "Blocks.h"
#include "Contest.h"
#include "Measure.h"
#include "PackedMatmul.h"
#include "TileProbe.h"
#include "VectorProbe.h"

#include <cstring>
#include <functional>
#include <memory>
#include <penstock/penstock.h>
#include <thread>

using namespace penstock;

namespace {

using bench::Size;

/// f32 has no packed operands.
struct PlainMatmul {
  bench::Blocks block;

  void operator()(Block &b, In<f32, 2> A, In<f32, 2> B, Out<f32, 2> C) const {
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, block.m), ceil_div(C.size(1), block.n));
    auto As = b.shared<f32>(block.m, block.k), Bs = b.shared<f32>(block.k, block.n);
    auto acc = b.local<f32>(block.m, block.n);
    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(K, block.k))) {
      b.copy(A.at(bm * block.m, ko * block.k), As);
      b.copy(B.at(ko * block.k, bn * block.n), Bs);
      b.gemm(As, Bs, acc);
    }
    b.copy(acc, C.at(bm * block.m, bn * block.n));
  }
};

template <class T> constexpr bench::AnchorType anchorType() {
  return std::is_same_v<T, i8>     ? bench::AnchorType::I8
         : std::is_same_v<T, bf16> ? bench::AnchorType::Bf16
         : std::is_same_v<T, f16>  ? bench::AnchorType::F16
                                   : bench::AnchorType::F32;
}

/// Returns the unit that multiplies operands of a type.
template <class T> bench::Unit unitOf() {
  bool tiles = std::is_same_v<T, f32>   ? false
               : std::is_same_v<T, f16> ? bench::hasTilesOfF16()
                                        : bench::hasTiles();
  return tiles ? bench::Unit::Tiles : bench::Unit::Vectors;
}

/// Times that the loop reads everything, so that starting a thread does not count.
constexpr int readPasses = 4;

__attribute__((target_clones("avx512f", "avx2", "default"))) void readOnce(const char *data,
                                                                           size_t bytes) {
  uint64_t sums[32] = {}, values[32];
  for (size_t i = 0; i + sizeof values <= bytes; i += sizeof values) {
    std::memcpy(values, data + i, sizeof values);
    for (int j = 0; j < 32; ++j)
      sums[j] ^= values[j];
  }
  for (uint64_t sum : sums)
    asm volatile("" ::"r"(sum));
}

void readLoop(const void *data, size_t bytes, int threads) {
  auto part = [&](int thread) {
    size_t share = bytes / size_t(threads);
    for (int pass = 0; pass < readPasses; ++pass)
      readOnce(static_cast<const char *>(data) + size_t(thread) * share, share);
  };
  std::vector<std::thread> helpers;
  for (int thread = 1; thread < threads; ++thread)
    helpers.emplace_back(part, thread);
  part(0);
  for (std::thread &helper : helpers)
    helper.join();
}

template <class T, class S>
void run(const std::string &name, Size size, bench::Blocks block, int threads,
         const std::vector<bench::Anchor> &anchors, bool decodes = false) {
  auto [m, n, k] = size;
  const bench::Unit multiplies = unitOf<T>();
  const bool tiles = multiplies == bench::Unit::Tiles;
  if (!bench::vectorBits())
    return bench::skipped(name, "this processor has no AVX2");
  constexpr bool isInt = std::is_same_v<T, i8>;
  auto numbers = [](size_t count, uint32_t seed) {
    bench::Tensor<T> result(count);
    auto from = bench::numbers<float>(count, seed);
    // A from 0 to 127 is the same number with and without a sign.
    for (size_t i = 0; i < count; ++i)
      result[i] = isInt ? T(int(std::abs(from[i]) * 127)) : T(from[i]);
    return result;
  };
  auto a = numbers(size_t(m * k), 1), b = numbers(size_t(k * n), 2);
  bench::Tensor<S> c(size_t(m * n)), theirs(size_t(m * n));
  const void *weights = nullptr;
  constexpr bool packs = !std::is_same_v<T, f32>;
  auto ours = [&] {
    if constexpr (packs) {
      auto packed = std::make_shared<Packed<T>>(pack(view(std::as_const(b), {k, n})));
      auto kernel = compile(bench::PackedMatmul<T, S>{block}, Target::native(), {.name = "matmul"});
      weights = packed->view().data;
      return std::function<void()>([=, &a, &c] {
        kernel.launch({.threads = threads}, view(a, {m, k}), packed->view(), view(c, {m, n}));
      });
    } else {
      auto kernel = compile(PlainMatmul{block}, Target::native(), {.name = "matmul"});
      return std::function<void()>([=, &a, &b, &c] {
        kernel.launch({.threads = threads}, view(a, {m, k}), view(b, {k, n}), view(c, {m, n}));
      });
    }
  }();
  std::vector<bench::Contender> contenders = {{"", ours}};
  contenders[0].run();
  bench::AnchorProblem problem{anchorType<T>(), m,      n, k, a.data(), b.data(),
                               theirs.data(),   threads};
  std::vector<std::pair<const bench::Anchor *, void *>> prepared;
  for (const bench::Anchor &anchor : anchors)
    if (void *state = anchor.prepare(&problem)) {
      prepared.emplace_back(&anchor, state);
      contenders.push_back({anchor.name, [run = anchor.run, state] { run(state); }});
      contenders.back().run();
      bench::expectClose(name + ", " + anchor.name, c, theirs, isInt ? 0 : 1e-3 * double(k));
    }
  bench::Result result = bench::compare(contenders, threads, multiplies);
  char unit[400];
  if (decodes) {
    size_t bytes = size_t(n * k) * sizeof(T);
    bench::Result reading =
        bench::compare({{"", ours}, {"read loop", [&] { readLoop(weights, bytes, threads); }}},
                       threads, multiplies);
    double work = 1e-9 * double(bytes);
    std::snprintf(unit, sizeof unit, "GB/s (%s; %.2f of a read loop's %.1f, %s)",
                  result.text().c_str(), reading.ratio / readPasses,
                  readPasses * work / reading.others, reading.text().c_str());
    bench::lineOrAlone(name, work / result.ours, work / result.others, result.ratio, unit);
  } else {
    double work = 2e-9 * double(m) * double(n) * double(k);
    // One product of tiles is 16 x 16 x 32 x 2 operations; i8 has twice as many. An FMA has 2 for
    // each element of f32.
    double operations = tiles ? (isInt ? 2 : 1) * 16384 : 2 * bench::vectorBits() / 32;
    double peak = threads * operations / result.ofPeak;
    std::snprintf(unit, sizeof unit, "GFLOP/s (%s; ours %.2f of the register peak of %s; %s)",
                  result.text().c_str(), work / result.ours / peak, tiles ? "tiles" : "vectors",
                  result.each().c_str());
    bench::lineOrAlone(name, work / result.ours, work / result.others, result.ratio, unit);
  }
  for (auto [anchor, state] : prepared)
    anchor->release(state);
}

struct Shape {
  const char *name;
  Size size;
  bench::Blocks bf16, i8; ///< for tiles
};

// Blocks for tiles were chosen among a handful, on one thread of Granite Rapids. All of them divide
// their shapes: at edges tiles are copied. One iteration has all of K at 512^3, and at 1024^3 in
// i8. Blocks for vectors depend on the caches.
constexpr Shape shapes[] = {
    {"512", {512, 512, 512}, {256, 512, 512}, {256, 512, 512}},
    {"1024", {1024, 1024, 1024}, {512, 1024, 512}, {512, 1024, 1024}},
    {"2048", {2048, 2048, 2048}, {512, 2048, 512}, {512, 2048, 1024}},
    {"4096", {4096, 4096, 4096}, {512, 2048, 512}, {512, 2048, 1024}},
    {"256x11008x4096", {256, 11008, 4096}, {256, 2752, 512}, {256, 2752, 1024}},
};

} // namespace

int main(int argc, char **argv) {
  std::vector<bench::Anchor> anchors = bench::openAnchors();
  for (const char *type : {"amx-bf16", "amx-i8", "f16", "f32"})
    for (const Shape &shape : shapes)
      for (int threads : {2, 1}) {
        std::string name = std::string("native/") + type + "-" + shape.name;
        if (threads == 1)
          name += "-1t";
        if (!bench::wanted(argc, argv, name))
          continue;
        bench::Blocks forVectors = bench::vectorBlocks(shape.size, threads);
        if (type == std::string("f32"))
          run<f32, f32>(name, shape.size, forVectors, threads, anchors);
        else if (type == std::string("f16"))
          run<f16, f32>(name, shape.size, bench::hasTilesOfF16() ? shape.bf16 : forVectors, threads,
                        anchors);
        else if (!bench::hasTiles())
          bench::skipped(name, "this processor or process has no AMX");
        else if (type == std::string("amx-i8"))
          run<i8, i32>(name, shape.size, shape.i8, threads, anchors);
        else
          run<bf16, f32>(name, shape.size, shape.bf16, threads, anchors);
      }
  for (int rows : {1, 8, 16})
    if (std::string name = "native/decode-bf16-" + std::to_string(rows);
        bench::wanted(argc, argv, name))
      run<bf16, f32>(name, {rows, 4096, 4096}, {rows, 256, 4096}, 2, anchors, /*decodes=*/true);
}
