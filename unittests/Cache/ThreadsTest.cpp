//===- ThreadsTest.cpp - One store, many threads --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Also built with thread sanitizer (test/cache).
//
//===----------------------------------------------------------------------===//
#include "Cache/Store.h"
#include "TemporaryDirectory.h"

#include <gtest/gtest.h>

#include <thread>

using namespace penstock;
using namespace penstock::cache;

namespace {

template <class F> void onThreads(int count, F run) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back(run, t);
  for (std::thread &thread : threads)
    thread.join();
}

TEST(CacheThreads, MakeAnEntryOnce) {
  TemporaryDirectory folder;
  auto store = Store::open({.directory = folder.path()});
  std::atomic<int> made = 0;
  onThreads(16, [&](int) {
    auto result = store->lookupOrMake("key", [&] {
      ++made;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return std::optional<std::string>("bytes");
    });
    EXPECT_EQ(result.bytes, "bytes");
  });
  EXPECT_EQ(made, 1);
  EXPECT_EQ(store->statistics().misses, 1u);
  EXPECT_EQ(store->statistics().hits, 15u);
}

TEST(CacheThreads, PruneWhileReading) {
  TemporaryDirectory folder;
  auto store = Store::open({.directory = folder.path(), .max_bytes = 100000});
  onThreads(4, [&](int t) {
    for (int i = 0; i < 100; ++i) {
      int k = (i * 7 + t) % 20;
      std::string value(20000, char('a' + k));
      auto result =
          store->lookupOrMake("key" + std::to_string(k), [&] { return std::optional(value); });
      EXPECT_EQ(result.bytes, value);
      if (i % 10 == 0)
        store->prune();
    }
  });
  EXPECT_GT(store->statistics().evicted, 0u);
  EXPECT_EQ(store->statistics().damaged, 0u);
}

TEST(CacheThreads, RememberWhileRecalling) {
  TemporaryDirectory folder;
  auto store = Store::open({.directory = folder.path()});
  onThreads(4, [&](int t) {
    for (int i = 0; i < 500; ++i) {
      std::string key = "key" + std::to_string((i * 13 + t) % 100);
      if (auto object = std::static_pointer_cast<const std::string>(store->recall(key)))
        EXPECT_EQ(*object, key);
      else
        store->remember(key, std::make_shared<std::string>(key));
    }
  });
}

} // namespace
