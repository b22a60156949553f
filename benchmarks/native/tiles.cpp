//===- tiles.cpp - Where the time of products by AMX goes -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native/tiles-SHAPE-VARIANT: bf16 on one thread, by the instructions that tile-lower-gemm uses,
// with parts left out, and the compiled kernel. Nanoseconds for a product of tiles; the reference
// is a loop of products alone, and the ratio the share of its speed.
//
//   l1           A and B always at the same address, sums neither loaded nor stored
//   a, b         the same with A, or B, at its own address
//   ab           both
//   sums         A and B at the same address, sums loaded and stored
//   all          everything: A packed in tiles before, sums between iterations in blocks of 4 KB
//   later        the same with results that are stored while the next block is multiplied
//   past-caches  the same with stores that do not go through the caches
//   read, past-caches-read  the last two with a loop after it that reads the result
//   no-prefetch  the same without prefetches of the next columns of B
//   other-order  the same with columns of B slowest where rows of A are, or vice versa
//   grouped      the same with all loads of a step before its products
//   kernel       the compiled kernel, which packs A, or reads it in its tensor
//
// Memory has large pages: with small ones, what displaces what in the L2 cache differs from process
// to process. Samples in which the tile unit was slow do not count; see Contest.h. Not part of
// benchmarks/report. PENSTOCK_BENCH_SECONDS (2) is the time for each line.
//
//===----------------------------------------------------------------------===//
#include "Measure.h"
#include "PackedMatmul.h"
#include "TileProbe.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <immintrin.h>
#include <sys/mman.h>

using namespace penstock;

namespace {

#define PENSTOCK_TILES __attribute__((target("amx-tile,amx-bf16,avx512f")))

constexpr int64_t tileRows = 16, rowBytes = 64, tileBytes = tileRows * rowBytes;
/// Elements of K in a tile, and rows and columns of a block of sums.
constexpr int64_t step = 32, block = 32;
/// Elements of K in an iteration.
constexpr int64_t depth = 512;

/// Allocates large pages, at a line of its own in the first one: tensors that begin at the same
/// address modulo 4 KB would displace each other.
template <class T> struct LargePages {
  using value_type = T;
  static constexpr size_t page = 2 << 20;
  LargePages() = default;
  template <class U> LargePages(const LargePages<U> &) {}
  T *allocate(size_t count) {
    static size_t lines = 0;
    size_t offset = (lines += 13) % 64 * size_t(rowBytes);
    size_t bytes = (offset + count * sizeof(T) + page - 1) / page * page;
    char *memory = static_cast<char *>(std::aligned_alloc(page, bytes));
    madvise(memory, bytes, MADV_HUGEPAGE); // slower without, but correct
    return reinterpret_cast<T *>(memory + offset);
  }
  void deallocate(T *memory, size_t) {
    std::free(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(memory) / page * page));
  }
  bool operator==(const LargePages &) const { return true; }
};
template <class T> using Tensor = std::vector<T, LargePages<T>>;

struct Parts {
  bool left = true, right = true; ///< operands have their own addresses
  bool sums = true;               ///< are loaded and stored
  bool byRows = false;            ///< rows of A change slowest, not columns of B, or vice versa
  bool prefetch = true;           ///< the next columns of B
  bool grouped = false;           ///< all loads of a step come before its products
  /// When and how the result of a block is stored.
  enum Stores { Now, Later, PastCaches } stores = Now;
};

/// The sums of a block that are not in the result yet.
struct Finished {
  const float *from = nullptr; ///< 32 rows, one after the other
  float *to = nullptr;
  int64_t stride = 0; ///< of the result
};

/// Operands in the order in which tiles are loaded, and the result.
struct Problem {
  Problem(int64_t m, int64_t n, int64_t k)
      : m(m), n(n), k(k), x(numbers(m * k, 1)), w(numbers(k * n, 2)),
        packed(pack(view(std::as_const(w), {k, n}))), left(size_t(m * k)), right(size_t(k * n)),
        kept(size_t(m * n)), c(size_t(m * n)), result(size_t(m * n)) {
    // Iterations along K, 16 rows or columns, steps, tiles.
    for (int64_t i = 0; i < m; ++i)
      for (int64_t kk = 0; kk < k; ++kk)
        left[size_t(leftTile(kk / depth, i / tileRows, kk % depth / step) + i % tileRows * step +
                    kk % step)] = x[size_t(i * k + kk)];
    for (int64_t j = 0; j < n; j += tileRows)
      for (int64_t kk = 0; kk < k; kk += step)
        std::memcpy(&right[size_t(rightTile(kk / depth, j / tileRows, kk % depth / step))],
                    packed.view().data + j / tileRows * k * tileRows + kk * tileRows, tileBytes);
  }
  int64_t leftTile(int64_t iteration, int64_t row, int64_t at) const {
    return (iteration * (m / tileRows) + row) * depth * tileRows + at * step * tileRows;
  }
  int64_t rightTile(int64_t iteration, int64_t column, int64_t at) const {
    return (iteration * (n / tileRows) + column) * depth * tileRows + at * step * tileRows;
  }
  static Tensor<bf16> numbers(int64_t count, uint32_t seed) {
    auto from = bench::numbers<float>(size_t(count), seed);
    return Tensor<bf16>(from.begin(), from.end());
  }
  double products() const { return double(m / tileRows) * double(n / tileRows) * double(k / step); }

  int64_t m, n, k;
  Tensor<bf16> x, w;
  Packed<bf16> packed;
  Tensor<bf16> left, right;
  Tensor<float> kept, c, result;
};

struct alignas(64) Configuration {
  Configuration() {
    bytes[0] = 1;
    for (int tile = 0; tile < 8; ++tile) {
      bytes[16 + 2 * tile] = rowBytes;
      bytes[48 + tile] = tileRows;
    }
  }
  uint8_t bytes[64] = {};
};

/// Loads a tile, with a hint that it is not needed again soon if the operand \p streams.
#define PENSTOCK_LOAD(streams, tile, from)                                                         \
  do {                                                                                             \
    if (streams)                                                                                   \
      _tile_stream_loadd(tile, from, rowBytes);                                                    \
    else                                                                                           \
      _tile_loadd(tile, from, rowBytes);                                                           \
  } while (0)

/// Stores the share of a step in the rows of a block.
template <bool PastCaches> PENSTOCK_TILES void store(const Finished &finished, int64_t s) {
  constexpr int64_t rows = block / (depth / step);
  for (int64_t row = s * rows; row < (s + 1) * rows; ++row)
    for (int64_t column = 0; column < block; column += 16) {
      __m512 line = _mm512_load_ps(finished.from + row * block + column);
      float *to = finished.to + row * finished.stride + column;
      if constexpr (PastCaches)
        _mm512_stream_ps(to, line);
      else
        _mm512_store_ps(to, line);
    }
}

/// Prefetches \p lines lines of the next columns of B in each step, and stores its share of a
/// finished block.
template <bool ByRows, bool Grouped, bool PastCaches>
PENSTOCK_TILES void multiplySteps(const bf16 *a0, const bf16 *a1, const bf16 *b0, const bf16 *b1,
                                  int64_t leftStep, int64_t rightStep, int64_t steps,
                                  const bf16 *next, int64_t lines, const Finished &finished) {
  for (int64_t s = 0; s < steps; ++s) {
    PENSTOCK_LOAD(ByRows, 6, b0);
    if (Grouped) {
      PENSTOCK_LOAD(ByRows, 7, b1);
      PENSTOCK_LOAD(!ByRows, 4, a0);
      PENSTOCK_LOAD(!ByRows, 5, a1);
    } else {
      PENSTOCK_LOAD(!ByRows, 4, a0);
    }
    _tile_dpbf16ps(0, 4, 6);
    if (!ByRows)
      for (int64_t line = 0; line < lines; ++line)
        _mm_prefetch(reinterpret_cast<const char *>(next) + (s * lines + line) * rowBytes,
                     _MM_HINT_T1);
    if (!Grouped)
      PENSTOCK_LOAD(ByRows, 7, b1);
    _tile_dpbf16ps(1, 4, 7);
    if (finished.from)
      store<PastCaches>(finished, s);
    if (!Grouped)
      PENSTOCK_LOAD(!ByRows, 5, a1);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    a0 += leftStep, a1 += leftStep, b0 += rightStep, b1 += rightStep;
  }
}

PENSTOCK_TILES void multiply(Problem &p, Parts parts) {
  static const Configuration configuration;
  _tile_loadconfig(&configuration);
  int64_t steps = depth / step, iterations = p.k / depth;
  int64_t rows = p.m / block, columns = p.n / block;
  int64_t tile = tileRows * step, leftStep = parts.left ? tile : 0,
          rightStep = parts.right ? tile : 0;
  // Two panels are 2 * steps * 16 lines; each block of rows prefetches its share.
  int64_t lines = (2 * tileRows + rows - 1) / rows;
  alignas(64) static float sums[block * block];
  Finished finished;
  for (int64_t iteration = 0; iteration < iterations; ++iteration)
    for (int64_t at = 0; at < rows * columns; ++at) {
      int64_t i = parts.byRows ? at / columns : at % rows,
              j = parts.byRows ? at % columns : at / rows;
      const bf16 *a = p.left.data(), *b = p.right.data();
      if (parts.left)
        a += p.leftTile(iteration, 2 * i, 0);
      if (parts.right)
        b += p.rightTile(iteration, 2 * j, 0);
      float *kept = p.kept.data() + at * block * block;
      if (parts.sums && iteration > 0) {
        _tile_loadd(0, kept, rowBytes);
        _tile_loadd(1, kept + 256, rowBytes);
        _tile_loadd(2, kept + 512, rowBytes);
        _tile_loadd(3, kept + 768, rowBytes);
      } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
      }
      const bf16 *a1 = parts.left ? a + steps * tile : a + tile,
                 *b1 = parts.right ? b + steps * tile : b + tile;
      const bf16 *next = b + 2 * steps * tile + i * steps * lines * (rowBytes / 2);
      auto multiplyAll = [&]<bool ByRows, bool Grouped, bool PastCaches>() {
        multiplySteps<ByRows, Grouped, PastCaches>(a, a1, b, b1, leftStep, rightStep, steps, next,
                                                   parts.prefetch && parts.right ? lines : 0,
                                                   finished);
      };
      auto inOrder = [&]<bool ByRows>() {
        if (parts.grouped)
          multiplyAll.operator()<ByRows, true, false>();
        else if (parts.stores == Parts::PastCaches)
          multiplyAll.operator()<ByRows, false, true>();
        else
          multiplyAll.operator()<ByRows, false, false>();
      };
      parts.byRows ? inOrder.operator()<true>() : inOrder.operator()<false>();
      if (!parts.sums)
        continue;
      bool last = iteration + 1 == iterations;
      float *to = last ? p.c.data() + i * block * p.n + j * block : kept;
      int64_t stride = p.n;
      if (last && parts.stores != Parts::Now) {
        finished = {sums, to, p.n};
        to = sums;
        stride = block;
      }
      int64_t right = last ? 16 : 256, down = last ? tileRows * stride : 512;
      size_t row = last ? size_t(stride) * 4 : size_t(rowBytes);
      _tile_stored(0, to, row);
      _tile_stored(1, to + right, row);
      _tile_stored(2, to + down, row);
      _tile_stored(3, to + down + right, row);
    }
  if (finished.from)
    for (int64_t s = 0; s < steps; ++s)
      store<false>(finished, s);
  _mm_sfence();
  _tile_release();
}

PENSTOCK_TILES void readAll(const Tensor<float> &tensor) {
  __m512 sum = _mm512_setzero_ps();
  for (size_t i = 0; i + 16 <= tensor.size(); i += 16)
    sum = _mm512_add_ps(sum, _mm512_load_ps(&tensor[i]));
  asm volatile("" ::"v"(sum));
}

struct Variant {
  std::string name;
  std::function<void()> run;
  std::vector<double> gated, all; ///< nanoseconds for a product of tiles
};

void measure(const std::string &shape, Problem &problem, bool byRows, bench::Blocks blocks,
             int argc, char **argv) {
  std::vector<Variant> variants;
  auto byHand = [&](const char *name, Parts parts) {
    parts.byRows ^= byRows;
    variants.push_back({name, [&problem, parts] { multiply(problem, parts); }, {}, {}});
  };
  byHand("l1", {.left = false, .right = false, .sums = false});
  byHand("a", {.right = false, .sums = false});
  byHand("b", {.left = false, .sums = false});
  byHand("ab", {.sums = false});
  byHand("sums", {.left = false, .right = false});
  byHand("all", {});
  byHand("later", {.stores = Parts::Later});
  byHand("past-caches", {.stores = Parts::PastCaches});
  for (bool pastCaches : {false, true}) {
    Parts parts{.byRows = byRows, .stores = pastCaches ? Parts::PastCaches : Parts::Later};
    variants.push_back({pastCaches ? "past-caches-read" : "read",
                        [&problem, parts] {
                          multiply(problem, parts);
                          readAll(problem.c);
                        },
                        {},
                        {}});
  }
  if (!byRows)
    byHand("no-prefetch", {.prefetch = false});
  byHand("other-order", {.byRows = true});
  byHand("grouped", {.prefetch = false, .grouped = true});
  auto kernel = compile(bench::PackedMatmul<bf16, f32>{blocks}, Target::native());
  variants.push_back({"kernel",
                      [&] {
                        kernel.launch({.threads = 1}, view(problem.x, {problem.m, problem.k}),
                                      problem.packed.view(),
                                      view(problem.result, {problem.m, problem.n}));
                      },
                      {},
                      {}});
  std::string name = "native/tiles-" + shape + "-";
  std::erase_if(variants,
                [&](const Variant &v) { return !bench::wanted(argc, argv, name + v.name); });
  if (variants.empty())
    return;
  multiply(problem, {.byRows = byRows, .stores = Parts::Later});
  kernel.launch({.threads = 1}, view(problem.x, {problem.m, problem.k}), problem.packed.view(),
                view(problem.result, {problem.m, problem.n}));
  bench::expectClose(name + "kernel", problem.result, problem.c, 1e-3 * double(problem.k));
  std::vector<double> peaks;
  double budget = bench::setting("PENSTOCK_BENCH_SECONDS", 2) * double(variants.size());
  double start = bench::now(CLOCK_MONOTONIC);
  do {
    peaks.push_back(bench::peakOfTiles());
    for (Variant &v : variants) {
      v.run(); // brings its operands back into the caches
      bool fast = bench::tilesAreFast(1);
      double seconds = bench::secondsOf(v.run);
      double nanoseconds = 1e9 * seconds / problem.products();
      v.all.push_back(nanoseconds);
      if (fast && bench::tilesAreFast(1))
        v.gated.push_back(nanoseconds);
    }
  } while (bench::now(CLOCK_MONOTONIC) - start < budget);
  auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  double peak = median(peaks);
  for (const Variant &v : variants) {
    bool gated = v.gated.size() >= 7;
    double time = median(gated ? v.gated : v.all);
    std::string unit = "ns (" + std::to_string(gated ? v.gated.size() : v.all.size()) +
                       (gated ? " samples)" : " samples, NOT gated: the machine was busy)");
    bench::line(name + v.name, time, peak, peak / time, unit.c_str());
  }
}

} // namespace

int main(int argc, char **argv) {
  if (!bench::hasTiles()) {
    bench::skipped("native/tiles", "this processor or process has no AMX");
    return 0;
  }
  Problem small(256, 512, 512);
  measure("256x512x512", small, /*byRows=*/true, {256, 512, 512}, argc, argv);
  Problem middle(512, 512, 512);
  measure("512", middle, /*byRows=*/true, {512, 512, 512}, argc, argv);
  Problem wide(256, 11008, 4096);
  measure("256x11008x4096", wide, /*byRows=*/false, {256, 2752, 512}, argc, argv);
}
