//===- BlockRecorderTest.cpp - Which thread ran which block when ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/BlockRecorder.h"
#include "Runtime/NativeLaunch.h"
#include "gtest/gtest.h"

#include <atomic>
#include <map>
#include <thread>

using namespace penstock;

namespace {

constexpr uint64_t blocks = 40;

/// Adds up the numbers of its blocks.
struct Kernel {
  static void launch(void *memory) {
    auto *constants = reinterpret_cast<int64_t *>(static_cast<int64_t *>(memory)[0]);
    constants[0] = blocks;
    constants[1] = constants[2] = 1;
  }
  static void block(void *memory) { sum += static_cast<int64_t *>(memory)[0]; }
  static inline std::atomic<int64_t> sum = 0;
};

void launch(const LaunchOptions &options) {
  KernelInfo info;
  info.name = "blocks";
  EXPECT_TRUE(launchNative(info, {Kernel::launch, Kernel::block}, {}, options).empty());
}

/// Each block once, in order of their beginning, and one after the other on each thread.
void expectComplete(const std::vector<RecordedBlock> &recorded, int threads, int64_t before,
                    int64_t after) {
  ASSERT_EQ(recorded.size(), blocks);
  std::map<uint64_t, int> times;
  std::map<int, int64_t> free;
  int64_t last = before;
  for (const RecordedBlock &each : recorded) {
    ++times[each.block];
    EXPECT_LE(last, each.begin);
    last = each.begin;
    EXPECT_LE(each.begin, each.end);
    EXPECT_LE(each.end, after);
    EXPECT_GE(each.thread, 0);
    EXPECT_LT(each.thread, threads);
    EXPECT_LE(free[each.thread], each.begin) << "thread " << each.thread;
    free[each.thread] = each.end;
  }
  EXPECT_EQ(times.size(), blocks);
  EXPECT_EQ(times.begin()->first, 0u);
  EXPECT_EQ(times.rbegin()->first, blocks - 1);
}

TEST(BlockRecorder, HasAllBlocksOfALaunch) {
  for (int threads : {1, 2, 5}) {
    BlockRecorder recorder;
    int64_t before = recorder.now(), sum = Kernel::sum;
    launch({.threads = threads});
    EXPECT_EQ(Kernel::sum - sum, int64_t(blocks * (blocks - 1) / 2));
    expectComplete(recorder.recorded(), threads, before, recorder.now());
  }
}

TEST(BlockRecorder, HasThoseOfAnExecutor) {
  BlockRecorder recorder;
  int64_t before = recorder.now();
  auto onThreads = [](int tasks, const Callback<int> &task) {
    std::vector<std::thread> pool;
    for (int i = 0; i < tasks; ++i)
      pool.emplace_back([&task, i] { task(i); });
    for (std::thread &thread : pool)
      thread.join();
  };
  launch({.threads = 3, .executor = onThreads});
  expectComplete(recorder.recorded(), 3, before, recorder.now());
}

TEST(BlockRecorder, IsThatOfItsThread) {
  BlockRecorder outer;
  {
    BlockRecorder inner;
    launch({.threads = 2});
    EXPECT_EQ(inner.recorded().size(), blocks);
  }
  EXPECT_TRUE(outer.recorded().empty());
  std::thread([] { launch({.threads = 2}); }).join();
  EXPECT_TRUE(outer.recorded().empty());
  launch({.threads = 2});
  EXPECT_EQ(outer.recorded().size(), blocks);
}

} // namespace
