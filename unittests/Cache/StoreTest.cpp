//===- StoreTest.cpp - Bytes by key ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Store.h"
#include "Cache/Entry.h"
#include "TemporaryDirectory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <utime.h>

using namespace penstock;
using namespace penstock::cache;

namespace {

class StoreTest : public testing::Test {
protected:
  std::shared_ptr<Store> open() { return Store::open({.directory = folder.path()}); }
  std::string fileOf(const std::string &key) {
    return Directory(folder.path()).pathOf(hexDigest(key));
  }
  TemporaryDirectory folder;
};

void overwrite(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string contents(const std::string &path) { return readRegularFile(path).value_or("(none)"); }

TEST_F(StoreTest, AnotherStoreFindsWhatWasPublished) {
  std::string bytes("a\0b", 3);
  EXPECT_FALSE(open()->lookup("key"));
  EXPECT_TRUE(open()->publish("key", bytes));
  auto store = open();
  EXPECT_EQ(store->lookup("key"), bytes);
  EXPECT_FALSE(store->lookup("key2"));
  EXPECT_EQ(store->statistics().hits, 1u);
  EXPECT_EQ(store->statistics().misses, 1u);
  EXPECT_TRUE(store->diagnostics().empty());
}

TEST_F(StoreTest, LastPublisherWins) {
  auto store = open();
  store->publish("key", "one");
  store->publish("key", "two");
  EXPECT_EQ(store->lookup("key"), "two");
}

// Each of these files is refused, removed, and replaced by the next publisher.
TEST_F(StoreTest, DamagedFilesAreMissesAndReplaced) {
  open()->publish("key", "bytes of the entry");
  std::string good = contents(fileOf("key"));
  std::vector<std::string> bad = {"", good.substr(0, 1), good.substr(0, good.size() - 1),
                                  good + "x", std::string(1 << 16, 'x')};
  for (size_t bit = 0; bit < good.size() * 8; bit += 37) {
    bad.push_back(good);
    bad.back()[bit / 8] ^= char(1 << bit % 8);
  }
  for (const std::string &bytes : bad) {
    overwrite(fileOf("key"), bytes);
    auto store = open();
    EXPECT_FALSE(store->lookup("key"));
    if (bytes.size() < 12 || bytes.substr(8, 4) == good.substr(8, 4)) {
      EXPECT_EQ(store->statistics().damaged, 1u);
      EXPECT_NE(::access(fileOf("key").c_str(), F_OK), 0) << "it is still there";
      ASSERT_EQ(store->diagnostics().size(), 1u);
      EXPECT_EQ(store->diagnostics()[0].code, 1722u);
    }
    EXPECT_TRUE(store->publish("key", "bytes of the entry"));
    EXPECT_EQ(store->lookup("key"), "bytes of the entry");
  }
}

// A whole and valid entry under the name of another key.
TEST_F(StoreTest, ForeignEntriesAreMisses) {
  open()->publish("key", "bytes");
  open()->publish("other", "wrong bytes");
  overwrite(fileOf("key"), contents(fileOf("other")));
  auto store = open();
  EXPECT_FALSE(store->lookup("key"));
  EXPECT_EQ(store->statistics().damaged, 1u);
  EXPECT_EQ(store->lookup("other"), "wrong bytes");
}

TEST_F(StoreTest, LaterFormatsAreLeftAlone) {
  open()->publish("key", "bytes");
  std::string later = contents(fileOf("key"));
  later[8] = 2;
  overwrite(fileOf("key"), later);
  EXPECT_FALSE(open()->lookup("key"));
  EXPECT_EQ(contents(fileOf("key")), later);
}

TEST_F(StoreTest, PipesAndDirectoriesAreMisses) {
  open()->publish("key", "bytes");
  ASSERT_EQ(::unlink(fileOf("key").c_str()), 0);
  ASSERT_EQ(::mkfifo(fileOf("key").c_str(), 0600), 0);
  EXPECT_FALSE(open()->lookup("key")); // does not block
  EXPECT_TRUE(open()->publish("key", "bytes"));
  ASSERT_EQ(::unlink(fileOf("key").c_str()), 0);
  ASSERT_EQ(::mkdir(fileOf("key").c_str(), 0700), 0);
  auto store = open();
  EXPECT_FALSE(store->lookup("key"));
  EXPECT_FALSE(store->publish("key", "bytes"));
  EXPECT_EQ(store->statistics().failed_writes, 1u);
}

TEST_F(StoreTest, SeedsAreReadAndNeverWritten) {
  TemporaryDirectory other;
  Store::open({.directory = other.path()})->publish("key", "from the seed");
  auto store = Store::open({.directory = folder.path(), .seeds = {other.path(), "/nonexistent"}});
  EXPECT_EQ(store->lookup("key"), "from the seed");
  EXPECT_EQ(store->statistics().seed_hits, 1u);
  ASSERT_EQ(store->diagnostics().size(), 1u);
  EXPECT_EQ(store->diagnostics()[0].code, 1723u);
  store->publish("new", "bytes");
  EXPECT_FALSE(Store::open({.directory = other.path()})->lookup("new"));
}

TEST_F(StoreTest, FailuresAreNotStored) {
  auto store = open();
  int made = 0;
  for (int i = 0; i < 2; ++i) {
    auto result = store->lookupOrMake("key", [&]() -> std::optional<std::string> {
      ++made;
      return std::nullopt;
    });
    EXPECT_FALSE(result.bytes);
    EXPECT_FALSE(result.found);
  }
  EXPECT_EQ(made, 2);
  EXPECT_EQ(store->statistics().stored, 0u);
}

TEST_F(StoreTest, PruningKeepsWhatWasUsedLast) {
  auto store = Store::open({.directory = folder.path(), .max_bytes = 25000});
  int64_t now = ::time(nullptr);
  for (int i = 0; i < 4; ++i) {
    std::string key = "key" + std::to_string(i);
    store->publish(key, std::string(10000, 'x'));
    utimbuf times{now, now - 100000 + i}; // later keys were used later
    ASSERT_EQ(::utime(fileOf(key).c_str(), &times), 0);
  }
  EXPECT_TRUE(store->lookup("key0")); // used now, although it is the oldest
  std::string abandoned = folder.path() + "/v1/tmp/host.1.2", fresh = folder.path() + "/v1/tmp/a";
  overwrite(abandoned, "x");
  overwrite(fresh, "x");
  utimbuf old{now, now - 3700};
  ASSERT_EQ(::utime(abandoned.c_str(), &old), 0);
  store->prune();
  EXPECT_TRUE(store->lookup("key0"));
  EXPECT_FALSE(store->lookup("key1"));
  EXPECT_FALSE(store->lookup("key2"));
  EXPECT_TRUE(store->lookup("key3"));
  EXPECT_EQ(store->statistics().evicted, 2u);
  EXPECT_NE(::access(abandoned.c_str(), F_OK), 0);
  EXPECT_EQ(::access(fresh.c_str(), F_OK), 0);
}

TEST_F(StoreTest, PruningRunsHourly) {
  auto store = Store::open({.directory = folder.path(), .max_bytes = 1});
  store->publish("one", "x"); // the first one prunes
  EXPECT_EQ(store->statistics().evicted, 1u);
  store->publish("two", "x");
  EXPECT_EQ(store->statistics().evicted, 1u);
  int64_t now = ::time(nullptr);
  utimbuf old{now, now - 3700};
  ASSERT_EQ(::utime((folder.path() + "/v1/pruned").c_str(), &old), 0);
  store->publish("three", "x");
  EXPECT_EQ(store->statistics().evicted, 3u);
}

TEST_F(StoreTest, ImportVerifies) {
  auto store = open();
  std::string entry = writeEntry("key", "bytes");
  EXPECT_TRUE(store->import(entry));
  EXPECT_EQ(store->lookup("key"), "bytes");
  entry.back() ^= 1;
  EXPECT_FALSE(store->import(entry));
}

TEST_F(StoreTest, StatisticsAsPrometheusText) {
  auto store = open();
  store->lookup("key");
  std::string text = to_prometheus(store->statistics());
  EXPECT_NE(
      text.find("# TYPE penstock_cache_misses_total counter\npenstock_cache_misses_total 1\n"),
      std::string::npos)
      << text;
}

} // namespace
