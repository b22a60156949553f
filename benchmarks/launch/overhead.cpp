//===- overhead.cpp - What a launch costs on the host ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// launch/overhead     a launch of a matmul with three tensor maps on a stream, less a
//                     bare call of cuLaunchKernelEx; microseconds, and the limit
// launch/map-miss     what a tensor map costs that is not in the cache, beside encoding;
//                     microseconds, and the limit
// launch/allocations  calls of operator new by a launch; the limit is 0
// launch/native       a launch on the CPU of one block that adds 16 numbers; microseconds,
//                     and the limit
// launch/native-2t    a launch of two blocks of some 10 us on two threads that are awake, less
//                     one block on one thread; microseconds, and the limit
// launch/native-2t-asleep  the same where the second thread sleeps before; the median. It has
//                     no limit, so the reference is that of threads that are awake
//
// The driver is a library whose calls return at once.
//
//===----------------------------------------------------------------------===//
#include "../native/Measure.h"
#include "../native/OtherLoad.h"
#include "Cuda/DriverTypes.h"

#include <penstock/penstock.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

using namespace penstock;

static std::atomic<uint64_t> allocations{0};

void *operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void *memory = malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }

namespace {

struct Matmul {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    auto [M, K] = A.sizes();
    auto N = B.size(0);
    auto [bm, bn] = b.grid(ceil_div(M, 128), ceil_div(N, 128), swizzled(8));
    auto As = b.shared<f16>(128, 64), Bs = b.shared<f16>(128, 64);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    for (Index ko : b.pipelined(ceil_div(K, 64), {.num_stages = 3})) {
      b.copy(A.at(bm * 128, ko * 64), As);
      b.copy(B.at(bn * 128, ko * 64), Bs);
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 128, bn * 128));
  }
};

struct AddNumbers {
  static constexpr auto signature = "A[N], B[N] -> C[N]";

  void operator()(Block &b, In<f32, 1> A, In<f32, 1> B, Out<f32, 1> C) const {
    Index n = b.grid(ceil_div(A.size(0), 16)) * 16;
    auto x = b.local<f32>(16), y = b.local<f32>(16);
    b.copy(A.at(n), x);
    b.copy(B.at(n), y);
    b.set(x, x + y);
    b.copy(x, C.at(n));
  }
};

/// Blocks that take so long that the caller cannot run two before the other thread begins.
struct LongBlocks {
  static constexpr auto signature = "A[N] -> C[N]";

  void operator()(Block &b, In<f32, 1> A, Out<f32, 1> C) const {
    Index n = b.grid(ceil_div(A.size(0), 16)) * 16;
    auto x = b.local<f32>(16), y = b.local<f32>(16);
    b.copy(A.at(n), x);
    b.copy(A.at(n), y);
    for ([[maybe_unused]] Index i : b.range(4000))
      b.set(x, x * y + y);
    b.copy(x, C.at(n));
  }
};

constexpr int calls = 20000;

f16 *memoryAt(uintptr_t address) { return reinterpret_cast<f16 *>(address); }

void onTwoThreads(int argc, char **argv, const char *awake, const char *asleep) {
  constexpr double limit = 3;
  auto native = compile(LongBlocks{}, Target::native());
  std::vector<f32> a(32), c(32);
  // On one thread a single block runs.
  auto launch = [&](int threads) {
    return bench::secondsOf([&] {
      int64_t size = 16 * threads;
      native.launch({.threads = threads}, view(a.data(), {size}), view(c.data(), {size}));
    });
  };
  // Medians, in turns: the clock of a core varies. Of a time in which others leave the cores
  // alone, or the second thread has none.
  bool quiet = false;
  auto overhead = [&](long pauseNanoseconds) {
    std::vector<double> one, two;
    double start = bench::now(CLOCK_MONOTONIC);
    do {
      one.clear();
      two.clear();
      bench::OtherLoad others;
      while (others.seconds() < 2 * bench::OtherLoad::shortestWindow) {
        one.push_back(launch(1));
        launch(2); // wakes the helper
        timespec pause = {.tv_sec = 0, .tv_nsec = pauseNanoseconds};
        if (pauseNanoseconds)
          nanosleep(&pause, nullptr);
        two.push_back(launch(2));
      }
      quiet = others.wasQuiet();
    } while (!quiet &&
             bench::now(CLOCK_MONOTONIC) - start < 5 * bench::setting("PENSTOCK_BENCH_SECONDS", 2));
    auto median = [](std::vector<double> &all) {
      std::nth_element(all.begin(), all.begin() + long(all.size() / 2), all.end());
      return all[all.size() / 2];
    };
    return 1e6 * (median(two) - median(one));
  };
  auto print = [&](const char *name, double each, const char *unit) {
    bench::line(name, each, limit, each / limit,
                (std::string(unit) + (quiet ? "" : ", NOT gated: the machine was busy")).c_str());
  };
  if (bench::wanted(argc, argv, awake)) {
    double each = overhead(0);
    print(awake, each, "us (limit)");
  }
  if (bench::wanted(argc, argv, asleep)) {
    double each = overhead(1000000); // helpers poll for 50 us
    print(asleep, each, "us");
  }
}

} // namespace

int main(int argc, char **argv) {
  const char *names[] = {"launch/overhead", "launch/map-miss",  "launch/allocations",
                         "launch/native",   "launch/native-2t", "launch/native-2t-asleep"};
  bool any = false;
  for (const char *name : names)
    any |= bench::wanted(argc, argv, name);
  if (!any)
    return 0;
  // The library of this name that is loaded is the one that Penstock finds.
  void *library = dlopen(NULL_DRIVER, RTLD_NOW | RTLD_LOCAL);
  auto find = reinterpret_cast<int (*)(const char *, void **, int, unsigned long long, int *)>(
      library ? dlsym(library, "cuGetProcAddress_v2") : nullptr);
  if (!find) {
    std::fprintf(stderr, "the null driver cannot be loaded: %s\n", dlerror());
    return 1;
  }
  void *address = nullptr;
  int status = 0;
  find("cuLaunchKernelEx", &address, 12000, 0, &status);
  auto bareLaunch =
      reinterpret_cast<int (*)(const cuda::LaunchConfig *, void *, void **, void **)>(address);

  auto matmul = compile(Matmul{}, Target::sm_90a());
  int stream = 0;
  LaunchOptions options{.stream = &stream};
  const int64_t size = 4096;
  auto launch = [&](uintptr_t a) {
    auto problems = matmul.try_launch(options, view(memoryAt(a), {size, size}),
                                      view(memoryAt(0x7f1000000000), {size, size}),
                                      view(memoryAt(0x7f2000000000), {size, size}));
    if (!problems.empty()) {
      std::fprintf(stderr, "%s", to_text(problems).c_str());
      std::exit(1);
    }
  };
  double bare = bench::bestAlone([&] {
    for (int i = 0; i < calls; ++i) {
      cuda::LaunchConfig config = {};
      void *parameters[] = {&config};
      bareLaunch(&config, library, parameters, nullptr);
      asm volatile("" ::: "memory");
    }
  });
  double hits = bench::bestAlone([&] {
    for (int i = 0; i < calls; ++i)
      launch(0x7f0000000000);
  });
  double overhead = (hits - bare) / calls * 1e6;
  if (bench::wanted(argc, argv, names[0]))
    bench::line(names[0], overhead, 0.25, overhead / 0.25, "us (limit)");
  if (bench::wanted(argc, argv, names[1])) {
    uintptr_t next = 0x600000000000;
    double misses = bench::bestAlone([&] {
      for (int i = 0; i < calls; ++i)
        launch(next += 1 << 20);
    });
    double miss = (misses - hits) / calls * 1e6;
    bench::line(names[1], miss, 1, miss, "us (limit)");
  }
  if (bench::wanted(argc, argv, names[2])) {
    uint64_t before = allocations;
    for (int i = 0; i < calls; ++i)
      launch(0x7f0000000000);
    double each = double(allocations - before) / calls;
    bench::line(names[2], each, 0, each, "per launch (limit)");
  }
  if (bench::wanted(argc, argv, names[3])) {
    auto native = compile(AddNumbers{}, Target::native());
    std::vector<f32> a(16), b(16), c(16);
    double launches = bench::bestAlone([&] {
      for (int i = 0; i < calls; ++i)
        native(view(a, {16}), view(b, {16}), view(c, {16}));
    });
    double each = launches / calls * 1e6;
    bench::line(names[3], each, 0.25, each / 0.25, "us (limit)");
  }
  if (bench::wanted(argc, argv, names[4]) || bench::wanted(argc, argv, names[5]))
    onTwoThreads(argc, argv, names[4], names[5]);
}
