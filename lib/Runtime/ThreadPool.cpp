//===- ThreadPool.cpp - Blocks over the machine's cores -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sched.h>
#endif

namespace penstock {
namespace {

/// Polls for as long as a thread takes to fall asleep and wake up, so that launches in quick
/// succession do not wait for either. Returns whether \p ready has become true.
template <class Ready> bool spin(Ready ready) {
  constexpr auto limit = std::chrono::microseconds(50);
  auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready())
        return true;
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() - start < limit);
  return false;
}

/// Items below a number, in one range for each thread. In every launch of a kernel the same thread
/// then runs the same blocks, as far as they take equally long, and its core finds in its L2 cache
/// what it has read before: otherwise that is in another core's as often as not. A thread with
/// nothing left takes from the other ranges.
class ItemRanges {
public:
  /// Not while a thread takes items.
  void assign(uint64_t items, int threads) {
    count = threads;
    if (count > capacity) {
      capacity = count;
      ranges = std::make_unique<Range[]>(size_t(capacity));
    }
    for (int i = 0; i < count; ++i) {
      ranges[size_t(i)].next.store(items * uint64_t(i) / uint64_t(count),
                                   std::memory_order_relaxed);
      ranges[size_t(i)].end = items * uint64_t(i + 1) / uint64_t(count);
    }
  }

  template <class Body> void take(int thread, const Body &body) {
    for (int i = 0; i < count; ++i)
      ranges[size_t((thread + i) % count)].take(body);
  }

private:
  struct alignas(64) Range {
    /// Takes several items at a time while there are many, because the counter's cache line takes
    /// longer to move between cores than a short block takes; the last ones singly, so that no
    /// thread waits for many.
    template <class Body> void take(const Body &body) {
      constexpr uint64_t most = 8;
      while (true) {
        uint64_t seen = next.load(std::memory_order_relaxed);
        if (seen >= end)
          return;
        uint64_t size = std::clamp<uint64_t>((end - seen) / 8, 1, most);
        uint64_t first = next.fetch_add(size, std::memory_order_relaxed);
        for (uint64_t item = first; item < std::min(first + size, end); ++item)
          body(item);
      }
    }

    std::atomic<uint64_t> next{0};
    uint64_t end = 0;
  };

  std::unique_ptr<Range[]> ranges;
  int count = 0, capacity = 0;
};

class Pool {
public:
  ~Pool() {
    {
      std::lock_guard lock(mutex);
      stop = true;
      published.store(++generation, std::memory_order_release);
    }
    wake.notify_all();
    for (std::thread &thread : helpers)
      thread.join();
  }

  void run(uint64_t count, int threads, const std::function<void(uint64_t, int)> &body) {
    std::unique_lock turn(inUse, std::try_to_lock);
    if (threads <= 1 || count <= 1 || !turn) {
      for (uint64_t item = 0; item < count; ++item)
        body(item, 0);
      return;
    }
    int wanted = static_cast<int>(std::min<uint64_t>(threads, count)) - 1;
    {
      std::lock_guard lock(mutex);
      while (static_cast<int>(helpers.size()) < wanted)
        helpers.emplace_back([this, worker = int(helpers.size()) + 1] { help(worker); });
      job = &body;
      items.assign(count, wanted + 1);
      allowed = wanted;
      published.store(++generation, std::memory_order_release);
    }
    wake.notify_all();
    work(0);
    {
      // A helper that has not begun by now, e.g. because its processor is busy, is not waited for.
      std::lock_guard lock(mutex);
      allowed = 0;
    }
    auto finished = [&] { return running.load(std::memory_order_acquire) == 0; };
    if (!spin(finished)) {
      std::unique_lock lock(mutex);
      done.wait(lock, finished);
    }
  }

private:
  void work(int worker) {
    items.take(worker, [&](uint64_t item) { (*job)(item, worker); });
  }

  void help(int worker) {
    uint64_t seen = 0;
    while (true) {
      spin([&] { return published.load(std::memory_order_acquire) != seen; });
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return stop || (generation != seen && worker <= allowed); });
      if (stop)
        return;
      seen = generation;
      running.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      work(worker);
      lock.lock(); // so that the wait does not begin between its check and this call
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1)
        done.notify_one();
    }
  }

  std::mutex inUse; ///< held by the call that has the helpers
  std::mutex mutex;
  std::condition_variable wake, done;
  std::vector<std::thread> helpers;
  const std::function<void(uint64_t, int)> *job = nullptr;
  uint64_t generation = 0;
  std::atomic<uint64_t> published{0}; ///< the generation, for helpers that poll
  ItemRanges items;
  std::atomic<int> running{0}; ///< helpers that have begun and not ended
  int allowed = 0;             ///< number of helpers that may begin
  bool stop = false;
};

} // namespace

void parallelFor(uint64_t count, int threads, const std::function<void(uint64_t, int)> &body) {
  static Pool pool;
  pool.run(count, threads > 0 ? threads : defaultThreads(), body);
}

void parallelFor(uint64_t count, int threads, const Executor &executor,
                 const std::function<void(uint64_t, int)> &body) {
  int tasks = static_cast<int>(std::min<uint64_t>(threads > 0 ? threads : defaultThreads(), count));
  ItemRanges items;
  items.assign(count, tasks);
  auto work = [&](int worker) { items.take(worker, [&](uint64_t item) { body(item, worker); }); };
  if (tasks > 1)
    executor(tasks, work);
  work(0);
}

int defaultThreads() {
  // The number costs a system call, several times what the rest of a launch does.
  static const int threads = allowedProcessors();
  return threads;
}

int allowedProcessors() {
#ifdef __linux__
  // Threads beyond these would only take turns with the others. The set is too small for machines
  // with more than 1024 processors, where the call fails.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
#endif
  return int(std::max(1u, std::thread::hardware_concurrency()));
}

} // namespace penstock
