//===- ThreadPool.cpp - Blocks over the machine's cores -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock {
namespace {

class Pool {
public:
  ~Pool() {
    {
      std::lock_guard lock(mutex);
      stop = true;
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
      total = count;
      next.store(0, std::memory_order_relaxed);
      allowed = wanted;
      running = wanted;
      ++generation;
    }
    wake.notify_all();
    work(0);
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return running == 0; });
    job = nullptr;
  }

private:
  void work(int worker) {
    for (uint64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < total;)
      (*job)(item, worker);
  }

  void help(int worker) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return stop || (generation != seen && worker <= allowed); });
      if (stop)
        return;
      seen = generation;
      lock.unlock();
      work(worker);
      lock.lock();
      if (--running == 0)
        done.notify_one();
    }
  }

  std::mutex inUse; ///< held by the call that has the helpers
  std::mutex mutex;
  std::condition_variable wake, done;
  std::vector<std::thread> helpers;
  const std::function<void(uint64_t, int)> *job = nullptr;
  uint64_t total = 0, generation = 0;
  std::atomic<uint64_t> next{0};
  int allowed = 0, running = 0;
  bool stop = false;
};

} // namespace

void parallelFor(uint64_t count, int threads, const std::function<void(uint64_t, int)> &body) {
  static Pool pool;
  pool.run(count, threads > 0 ? threads : defaultThreads(), body);
}

int defaultThreads() { return std::max(1u, std::thread::hardware_concurrency()); }

} // namespace penstock
