//===- CpuProbe.cpp - Microbenchmarks of one core -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CpuProbe.h"
#include "Measure.h"
#include "TileProbe.h"

#include <cstring>
#include <immintrin.h>
#include <memory>
#include <sys/mman.h>

namespace {

constexpr int samples = 12;
/// Seconds until samples of a busy core have to do.
constexpr double patience = 2;
/// Multiplications of integers show the clock of a shared core, too; if it is this much higher
/// than that of multiply-adds, another thread runs on the core.
constexpr double sharedCore = 1.07;
/// Cycles of a product of tiles, 16 if no other thread is on the core.
constexpr double sharedTile = 18;

#define PENSTOCK_WIDE __attribute__((target("avx512f"), noinline))
#define PENSTOCK_TILES __attribute__((target("avx512f,amx-tile,amx-bf16"), noinline))

/// Not processor time, which some virtual machines let stand still for a while; samples that
/// were interrupted are longer than others.
double seconds() { return bench::now(CLOCK_MONOTONIC); }

/// Memory in large pages, filled with numbers.
class Buffer {
public:
  explicit Buffer(int64_t bytes) : bytes(size_t(bytes)) {
    constexpr size_t page = 2 << 20;
    size_t whole = (this->bytes + page - 1) / page * page;
    data = static_cast<char *>(std::aligned_alloc(page, whole));
    madvise(data, whole, MADV_HUGEPAGE);
    auto numbers = bench::numbers<float>(1024, 5);
    for (size_t at = 0; at < whole; at += 4096)
      std::memcpy(data + at, numbers.data(), 4096);
  }
  ~Buffer() { std::free(data); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  char *data;

private:
  size_t bytes;
};

/// GHz by a chain of multiplications, 3 cycles each.
double clockOfChain() {
  double best = 1e9;
  uint64_t x = 3;
  for (int i = 0; i < 3; ++i) {
    double start = seconds();
    for (int k = 0; k < 20; ++k)
      asm volatile(".rept 100\n imul %0, %0\n .endr" : "+r"(x));
    best = std::min(best, seconds() - start);
  }
  return 20 * 100 * 3 / best * 1e-9;
}

/// Twelve chains of multiply-adds with operands from L1: as much as the core can do.
PENSTOCK_WIDE void multiplyAdds(const float *from) {
  for (int i = 0; i < 50; ++i)
    asm volatile(".rept 4\n"
                 "vmovups (%0), %%zmm12\n vmovups 64(%0), %%zmm13\n"
                 "vfmadd231ps %%zmm12, %%zmm13, %%zmm0\n vfmadd231ps %%zmm12, %%zmm13, %%zmm1\n"
                 "vfmadd231ps %%zmm12, %%zmm13, %%zmm2\n vfmadd231ps %%zmm12, %%zmm13, %%zmm3\n"
                 "vfmadd231ps %%zmm12, %%zmm13, %%zmm4\n vfmadd231ps %%zmm12, %%zmm13, %%zmm5\n"
                 "vfmadd231ps %%zmm12, %%zmm13, %%zmm6\n vfmadd231ps %%zmm12, %%zmm13, %%zmm7\n"
                 "vfmadd231ps %%zmm12, %%zmm13, %%zmm8\n vfmadd231ps %%zmm12, %%zmm13, %%zmm9\n"
                 "vfmadd231ps %%zmm12, %%zmm13, %%zmm10\n vfmadd231ps %%zmm12, %%zmm13, %%zmm11\n"
                 ".endr" ::"r"(from)
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                   "xmm10", "xmm11", "xmm12", "xmm13", "memory");
}

PENSTOCK_WIDE void readRows(const char *from, int64_t rows, int64_t rowBytes, int64_t stride) {
  for (int64_t row = 0; row < rows; ++row, from += stride)
    for (int64_t at = 0; at < rowBytes; at += 128) {
      asm volatile("vmovups %0, %%zmm0" ::"m"(*reinterpret_cast<const __m512 *>(from + at))
                   : "xmm0");
      asm volatile("vmovups %0, %%zmm1" ::"m"(*reinterpret_cast<const __m512 *>(from + at + 64))
                   : "xmm1");
    }
}

PENSTOCK_WIDE void writeAll(char *to, int64_t bytes) {
  __m512 x = _mm512_set1_ps(1.5f);
  for (int64_t at = 0; at < bytes; at += 64)
    _mm512_storeu_ps(to + at, x);
}

PENSTOCK_WIDE void copyRows(const char *from, int64_t rows, int64_t rowBytes, int64_t stride,
                            char *to) {
  for (int64_t row = 0; row < rows; ++row, from += stride)
    for (int64_t at = 0; at < rowBytes; at += 64, to += 64)
      _mm512_storeu_ps(to, _mm512_loadu_ps(from + at));
}

struct alignas(64) Configuration {
  Configuration() {
    bytes[0] = 1;
    for (int tile = 0; tile < 8; ++tile) {
      bytes[16 + 2 * tile] = 64;
      bytes[48 + tile] = 16;
    }
  }
  uint8_t bytes[64] = {};
};

PENSTOCK_TILES void tileBlocks(const char *left, int64_t leftBytes, const char *right, char *sums,
                               int64_t steps, bool withSums, int blocks) {
  int64_t at = 0;
  for (int block = 0; block < blocks; ++block) {
    char *corner = sums + (block % 4) * 128;
    if (withSums) {
      _tile_loadd(0, corner, 512);
      _tile_loadd(1, corner + 64, 512);
      _tile_loadd(2, corner + 16 * 512, 512);
      _tile_loadd(3, corner + 16 * 512 + 64, 512);
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    for (int64_t step = 0; step < steps; ++step) {
      const char *a = left + at, *b = right + step * 2048 % 16384;
      at = at + 2048 >= leftBytes ? 0 : at + 2048;
      _tile_loadd(6, b, 64);
      _tile_stream_loadd(4, a, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, b + 1024, 64);
      _tile_dpbf16ps(1, 4, 7);
      _tile_stream_loadd(5, a + 1024, 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    if (withSums) {
      _tile_stored(0, corner, 512);
      _tile_stored(1, corner + 64, 512);
      _tile_stored(2, corner + 16 * 512, 512);
      _tile_stored(3, corner + 16 * 512 + 64, 512);
    }
  }
}

/// Repeats so that a sample takes some 100 us.
int repeatsFor(double bytes) { return int(std::max(1.0, 4e6 / bytes)); }

} // namespace

double bench::coreProbe() {
  static const std::vector<float> numbers = bench::numbers<float>(64, 3);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    double start = seconds();
    for (int repeat = 0; repeat < 10; ++repeat)
      multiplyAdds(numbers.data());
    best = std::min(best, seconds() - start);
  }
  return best * 1e9 / (10 * 50 * 4 * 12);
}

bench::CoreState bench::coreState() {
  static const bool tiles = hasTiles();
  double core = coreProbe(), tile = tiles ? probeTiles(1) : 0;
  // Two multiply-adds in a cycle, if no other thread is on the core.
  double ghz = 1 / (2 * core);
  return {ghz, clockOfChain() <= sharedCore * ghz && tile * ghz <= sharedTile};
}

double bench::cyclesOf(const std::function<void()> &run, double calls) {
  run();
  double best = 1e30, any = 1e30, start = now(CLOCK_MONOTONIC);
  CoreState before = coreState();
  for (int quiet = 0; quiet < samples && now(CLOCK_MONOTONIC) - start < patience;) {
    double from = seconds();
    run();
    double taken = seconds() - from;
    CoreState after = coreState();
    any = std::min(any, taken * before.ghz);
    if (before.isLike(after)) {
      best = std::min(best, taken * before.ghz);
      ++quiet;
    }
    before = after;
  }
  return (best < 1e30 ? best : any) * 1e9 / calls;
}

double bench::readRate(int64_t bytes, int64_t rowBytes, int64_t stride) {
  int64_t rows = bytes / rowBytes;
  Buffer buffer(rows * stride);
  int repeats = repeatsFor(double(bytes));
  return double(bytes) / cyclesOf(
                             [&] {
                               for (int i = 0; i < repeats; ++i)
                                 readRows(buffer.data, rows, rowBytes, stride);
                             },
                             repeats);
}

double bench::writeRate(int64_t bytes) {
  Buffer buffer(bytes);
  int repeats = repeatsFor(double(bytes));
  return double(bytes) / cyclesOf(
                             [&] {
                               for (int i = 0; i < repeats; ++i)
                                 writeAll(buffer.data, bytes);
                             },
                             repeats);
}

double bench::copyRate(int64_t bytes, int64_t toBytes, int64_t rowBytes, int64_t stride) {
  int64_t rows = bytes / rowBytes, group = std::max<int64_t>(1, toBytes / rowBytes);
  Buffer buffer(rows * stride), to(toBytes);
  int repeats = repeatsFor(double(bytes));
  return double(bytes) /
         cyclesOf(
             [&] {
               for (int i = 0; i < repeats; ++i)
                 for (int64_t row = 0; row + group <= rows; row += group)
                   copyRows(buffer.data + row * stride, group, rowBytes, stride, to.data);
             },
             repeats);
}

double bench::tileConfiguration() {
  static const Configuration configuration;
  constexpr int repeats = 200;
  return cyclesOf(
      [&]() PENSTOCK_TILES {
        for (int i = 0; i < repeats; ++i) {
          _tile_loadconfig(&configuration);
          _tile_zero(0);
          _tile_release();
        }
      },
      repeats);
}

double bench::tileBlock(int64_t steps, int64_t leftBytes, bool sums) {
  Buffer left(leftBytes), right(16384), matrix(1 << 16);
  constexpr int blocks = 64;
  static const Configuration configuration;
  return cyclesOf(
      [&]() PENSTOCK_TILES {
        _tile_loadconfig(&configuration);
        tileBlocks(left.data, leftBytes, right.data, matrix.data, steps, sums, blocks);
        _tile_release();
      },
      blocks);
}
