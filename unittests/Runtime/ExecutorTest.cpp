//===- ExecutorTest.cpp - Launches on a user's threads --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Also built with thread sanitizer. The kernel is written by hand: generated code is not
// instrumented.
//
//===----------------------------------------------------------------------===//
#include "Runtime/NativeLaunch.h"
#include "gtest/gtest.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

using namespace penstock;

namespace {

constexpr int userThreads = 16;
constexpr int64_t blocks = 40, blockSize = 64;

/// x[i] += i * i, by blocks of blockSize elements; squares are first stored in scratch memory.
struct Kernel {
  static void launch(void *memory) {
    auto *slots = static_cast<int64_t *>(memory);
    auto *constants = reinterpret_cast<int64_t *>(slots[5]);
    constants[0] = slots[3] / blockSize;
    constants[1] = constants[2] = 1;
  }
  static void block(void *memory) {
    auto *slots = static_cast<int64_t *>(memory);
    auto *x = reinterpret_cast<int64_t *>(slots[0]);
    auto *scratch = reinterpret_cast<int64_t *>(slots[11]);
    int64_t first = slots[5] * blockSize;
    for (int64_t i = 0; i < blockSize; ++i)
      scratch[i] = (first + i) * (first + i);
    for (int64_t i = 0; i < blockSize; ++i)
      x[first + i] += scratch[i];
  }
};

/// Launches the kernel \p times times on new data, and returns whether all sums are right.
bool launches(int times, const LaunchOptions &options) {
  KernelInfo info;
  info.name = "squares";
  info.scratchBytes = blockSize * sizeof(int64_t);
  std::vector<int64_t> x(blocks * blockSize);
  detail::Argument argument;
  argument.tensor = true;
  argument.element = Element::i64;
  argument.data = x.data();
  argument.sizes = {blocks * blockSize};
  argument.strides = {1};
  for (int i = 0; i < times; ++i)
    if (!launchNative(info, {Kernel::launch, Kernel::block}, {&argument, 1}, options).empty())
      return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != times * int64_t(i * i))
      return false;
  return true;
}

/// A pool as users have them: a thread that waits for tasks runs tasks.
class UserPool {
public:
  explicit UserPool(int count) {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([this] {
        std::unique_lock lock(mutex);
        while (true) {
          wake.wait(lock, [&] { return stop || !queue.empty(); });
          if (!runOne(lock) && stop)
            return;
        }
      });
  }
  ~UserPool() {
    {
      std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  void run(int count, const std::function<void(int)> &task) {
    int left = count; // guarded by the mutex
    std::unique_lock lock(mutex);
    for (int i = 0; i < count; ++i)
      queue.push_back([&, i] {
        task(i);
        std::lock_guard guard(mutex);
        if (--left == 0)
          wake.notify_all();
      });
    wake.notify_all();
    while (left > 0)
      if (!runOne(lock))
        wake.wait(lock, [&] { return left == 0 || !queue.empty(); });
  }

  Executor executor() {
    return [this](int tasks, const Callback<int> &task) { run(tasks, task); };
  }

private:
  bool runOne(std::unique_lock<std::mutex> &lock) {
    if (queue.empty())
      return false;
    auto task = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    task();
    lock.lock();
    return true;
  }

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;
  std::vector<std::thread> threads;
  bool stop = false;
};

TEST(Executor, RunsAllBlocksOnTheUsersThreads) {
  UserPool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> tasks{0};
  LaunchOptions options;
  options.threads = 4;
  options.executor = [&](int count, const Callback<int> &task) {
    EXPECT_EQ(count, 4);
    pool.run(count, [&](int i) {
      ++tasks;
      {
        std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      }
      task(i);
    });
  };
  EXPECT_TRUE(launches(10, options));
  EXPECT_EQ(tasks, 40);
  EXPECT_LE(seen.size(), 4u); // the pool's, and the one that launches
}

// A launch of one block needs no other thread.
TEST(Executor, IsNotAskedForOneThread) {
  LaunchOptions options;
  options.threads = 1;
  options.executor = [](int, const Callback<int> &) { ADD_FAILURE(); };
  EXPECT_TRUE(launches(1, options));
}

TEST(Executor, MayRunTasksInOrderOrNotAtAll) {
  LaunchOptions options;
  options.threads = 5;
  options.executor = [](int count, const Callback<int> &task) {
    for (int i = count; i-- > 0;)
      task(i);
  };
  EXPECT_TRUE(launches(3, options));
  options.executor = [](int, const Callback<int> &) {};
  EXPECT_TRUE(launches(3, options));
}

TEST(Executor, SixteenThreadsLaunchAtOnce) {
  UserPool pool(userThreads);
  std::atomic<int> right{0};
  LaunchOptions options;
  options.threads = 4;
  options.executor = pool.executor();
  std::vector<std::thread> callers;
  for (int i = 0; i < userThreads; ++i)
    callers.emplace_back([&] { right += launches(20, options); });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(right, userThreads);
}

// Launches from tasks of the pool that runs their blocks, too.
TEST(Executor, LaunchesFromItsOwnThreads) {
  UserPool pool(userThreads);
  std::atomic<int> right{0};
  LaunchOptions options;
  options.threads = 3;
  options.executor = pool.executor();
  pool.run(2 * userThreads, [&](int) { right += launches(10, options); });
  EXPECT_EQ(right, 2 * userThreads);
}

TEST(Executor, SixteenThreadsOfAUserWithoutIt) {
  std::atomic<int> right{0};
  LaunchOptions options;
  options.threads = 3;
  std::vector<std::thread> callers;
  for (int i = 0; i < userThreads; ++i)
    callers.emplace_back([&] { right += launches(50, options); });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(right, userThreads);
}

} // namespace
