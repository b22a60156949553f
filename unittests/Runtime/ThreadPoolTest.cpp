//===- ThreadPoolTest.cpp - Every item once, whoever calls ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/ThreadPool.h"
#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <sched.h>
#include <set>
#include <thread>
#include <vector>

using namespace penstock;

namespace {

/// Runs all items and checks that each ran once, on a worker that may exist.
void checkRun(uint64_t count, int threads) {
  std::vector<std::atomic<int>> runs(count);
  int limit = threads > 0 ? threads : defaultThreads();
  std::atomic<int> wrongWorkers{0}, wrongItems{0};
  parallelFor(count, threads, [&](uint64_t item, int worker) {
    if (item >= count)
      ++wrongItems;
    else
      ++runs[item];
    if (worker < 0 || worker >= limit)
      ++wrongWorkers;
  });
  EXPECT_EQ(wrongWorkers, 0);
  EXPECT_EQ(wrongItems, 0);
  for (uint64_t item = 0; item < count; ++item)
    ASSERT_EQ(runs[item], 1) << item << " of " << count << " on " << threads;
}

TEST(ThreadPool, EveryItemOnce) {
  for (int threads : {0, 1, 2, 3, 8})
    for (uint64_t count : {0, 1, 2, 3, 7, 64, 1000})
      checkRun(count, threads);
}

TEST(ThreadPool, MoreAndFewerThreadsThanBefore) {
  for (int threads : {2, 6, 1, 4, 2, 0, 5})
    checkRun(100, threads);
}

TEST(ThreadPool, ManyShortCalls) {
  for (int round = 0; round < 3000; ++round) {
    std::atomic<uint64_t> sum{0};
    uint64_t count = 1 + round % 5;
    parallelFor(count, 3, [&](uint64_t item, int) { sum += item + 1; });
    ASSERT_EQ(sum, count * (count + 1) / 2);
  }
}

// Scratch memory belongs to a worker, so one worker runs one item at a time.
TEST(ThreadPool, AWorkerRunsOneItemAtATime) {
  constexpr int threads = 4;
  std::atomic<int> busy[threads] = {};
  std::atomic<int> clashes{0};
  parallelFor(2000, threads, [&](uint64_t, int worker) {
    if (busy[worker]++)
      ++clashes;
    std::this_thread::yield();
    --busy[worker];
  });
  EXPECT_EQ(clashes, 0);
}

// A core finds in its caches what it read in the previous launch. All threads have begun before one
// goes on, so that none takes the items of another.
TEST(ThreadPool, EachThreadBeginsWithItsOwnItems) {
  constexpr int threads = 3;
  constexpr uint64_t count = 30;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> begun{0};
    std::atomic<uint64_t> first[threads] = {};
    parallelFor(count, threads, [&](uint64_t item, int worker) {
      if (first[worker])
        return;
      first[worker] = item + 1;
      ++begun;
      while (begun < threads)
        std::this_thread::yield();
    });
    for (int worker = 0; worker < threads; ++worker)
      ASSERT_EQ(first[worker], count * uint64_t(worker) / threads + 1) << worker;
  }
}

// A thread takes up to 8 items at once; all others of a busy thread are run by the others.
TEST(ThreadPool, ItemsOfABusyThreadAreTaken) {
  constexpr uint64_t count = 100;
  std::atomic<uint64_t> others{0};
  parallelFor(count, 2, [&](uint64_t item, int) {
    if (item == 0)
      while (others < count - 8)
        std::this_thread::yield();
    else
      ++others;
  });
  EXPECT_EQ(others, count - 1);
}

TEST(ThreadPool, WritesAreSeenAfterwards) {
  std::vector<uint64_t> values(10000); // not atomic: the return orders them
  for (uint64_t round = 1; round <= 20; ++round) {
    parallelFor(values.size(), 4, [&](uint64_t item, int) { values[item] += item * round; });
    uint64_t factor = round * (round + 1) / 2;
    for (uint64_t item = 0; item < values.size(); ++item)
      ASSERT_EQ(values[item], item * factor);
  }
}

TEST(ThreadPool, SeveralCallers) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([] {
      for (int round = 0; round < 100; ++round)
        checkRun(50, 3);
    });
  for (std::thread &caller : callers)
    caller.join();
}

// A kernel's print callback may launch another kernel.
TEST(ThreadPool, NestedCalls) {
  std::atomic<int> inner{0};
  parallelFor(8, 3, [&](uint64_t, int) {
    parallelFor(10, 3, [&](uint64_t, int worker) {
      EXPECT_GE(worker, 0);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 80);
}

// Helpers poll for 50 us and then sleep: 8 that went on would take all of the time that passes.
TEST(ThreadPool, HelpersSleepBetweenCalls) {
  auto processTime = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  checkRun(1000, 9);
  double before = processTime();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  double spent = processTime() - before;
  RecordProperty("microseconds", int(1e6 * spent));
  EXPECT_LT(spent, 0.05);
}

TEST(ThreadPool, AffinityBoundsThreads) {
  int all = allowedProcessors();
  EXPECT_GE(all, 1);
  std::thread([] {
    cpu_set_t given, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof given, &given), 0);
    int first = 0;
    while (!CPU_ISSET(first, &given))
      ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(allowedProcessors(), 1);
  }).join();
  EXPECT_EQ(allowedProcessors(), all);
}

} // namespace
