//===- blocks.cpp - Blocks by counters and by stealing halves -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// launch/blocks-uneven, launch/blocks-uneven-16t   256 blocks of 1 to 64 us, the longest last,
//                                                  on two threads and on 16; microseconds
// launch/blocks-short                              4096 blocks of 0.12 us, on two threads
//
// Ours: each thread has a range of blocks of its own, and takes single ones of another thread's
// when it has none left. The reference takes half of what the other one has left.
//
//===----------------------------------------------------------------------===//
#include "../native/Measure.h"
#include "Runtime/ThreadPool.h"

#include <atomic>
#include <memory>

using namespace penstock;

namespace {

/// A chain of multiplications; nothing else than time.
void work(int64_t units) {
  double x = 1.5;
  for (int64_t i = 0; i < units; ++i)
    x = x * 0.999 + 0.001;
  asm volatile("" ::"x"(x));
}

/// Ranges of blocks, one for each thread, as begin and end in one word.
class Ranges {
public:
  Ranges(uint64_t blocks, int threads)
      : ranges(std::make_unique<Range[]>(size_t(threads))), threads(threads) {
    for (int i = 0; i < threads; ++i)
      ranges[size_t(i)].both = word(blocks * uint64_t(i) / uint64_t(threads),
                                    blocks * uint64_t(i + 1) / uint64_t(threads));
  }

  template <class Body> void run(int thread, const Body &body) {
    std::atomic<uint64_t> &own = ranges[size_t(thread)].both;
    do {
      for (uint64_t now = own; begin(now) < end(now);)
        if (own.compare_exchange_weak(now, word(begin(now) + 1, end(now)))) {
          body(begin(now));
          now = own;
        }
    } while (steal(thread));
  }

private:
  struct alignas(64) Range {
    std::atomic<uint64_t> both = 0;
  };
  static uint64_t word(uint64_t begin, uint64_t end) { return begin << 32 | end; }
  static uint64_t begin(uint64_t both) { return both >> 32; }
  static uint64_t end(uint64_t both) { return both & 0xffffffff; }

  bool steal(int thread) {
    for (int i = 1; i < threads; ++i) {
      std::atomic<uint64_t> &other = ranges[size_t((thread + i) % threads)].both;
      for (uint64_t now = other; begin(now) < end(now);) {
        uint64_t middle = begin(now) + (end(now) - begin(now)) / 2;
        if (other.compare_exchange_weak(now, word(begin(now), middle))) {
          ranges[size_t(thread)].both = word(middle, end(now));
          return true;
        }
      }
    }
    return false;
  }

  std::unique_ptr<Range[]> ranges;
  int threads;
};

template <class Units>
void run(const std::string &name, uint64_t blocks, int threads, Units units) {
  std::vector<std::atomic<int>> times(blocks);
  auto block = [&](uint64_t i) {
    work(units(i));
    times[i].fetch_add(1, std::memory_order_relaxed);
  };
  auto stealing = [&] {
    Ranges ranges(blocks, threads);
    parallelFor(uint64_t(threads), threads,
                [&](uint64_t thread, int) { ranges.run(int(thread), block); });
  };
  auto ours = [&] { parallelFor(blocks, threads, [&](uint64_t i, int) { block(i); }); };
  ours();
  stealing();
  for (uint64_t i = 0; i < blocks; ++i)
    if (times[i] != 2) {
      std::fprintf(stderr, "%s: block %llu ran %d times instead of twice\n", name.c_str(),
                   static_cast<unsigned long long>(i), times[i].load());
      std::exit(1);
    }
  bench::Pair best = bench::best(ours, stealing);
  double alone = bench::bestAlone([&] {
    for (uint64_t i = 0; i < blocks; ++i)
      block(i);
  });
  char unit[120];
  std::snprintf(unit, sizeof unit, "us (stealing halves; on one thread %.0f)", 1e6 * alone);
  bench::line(name, 1e6 * best.ours, 1e6 * best.theirs, best.theirs / best.ours, unit);
}

} // namespace

int main(int argc, char **argv) {
  constexpr int64_t microsecond = 650; // of work, roughly
  auto uneven = [](uint64_t i) { return microsecond * (1 + int64_t(i) / 4); };
  if (auto name = "launch/blocks-uneven"; bench::wanted(argc, argv, name))
    run(name, 256, 2, uneven);
  if (auto name = "launch/blocks-uneven-16t"; bench::wanted(argc, argv, name))
    run(name, 256, 16, uneven);
  if (auto name = "launch/blocks-short"; bench::wanted(argc, argv, name))
    run(name, 4096, 2, [](uint64_t) { return microsecond / 5; });
}
