//===- FailureTest.cpp - Broken disks, killed processes, forks ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever happens to the directory, lookupOrMake returns the right bytes, and a problem is
// one warning.
//
//===----------------------------------------------------------------------===//
#include "Cache/Entry.h"
#include "Cache/Store.h"
#include "ChildProcess.h"
#include "TemporaryDirectory.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <thread>
#include <utime.h>

using namespace penstock;
using namespace penstock::cache;

namespace {

std::string valueOf(const std::string &key, size_t bytes = 20000) {
  std::string value;
  while (value.size() < bytes)
    value += key + ";";
  return value;
}

/// Looks a key up as a compiler would. Returns whether the value was made here.
bool make(Store &store, const std::string &key, std::chrono::milliseconds work = {}) {
  auto result = store.lookupOrMake(key, [&] {
    std::this_thread::sleep_for(work);
    return std::optional(valueOf(key));
  });
  EXPECT_EQ(result.bytes, valueOf(key));
  return !result.found;
}

/// Number of temporary files in a cache.
size_t temporaryFiles(const std::string &directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto &each :
       std::filesystem::directory_iterator(directory + "/v1/tmp"))
    ++count;
  return count;
}

size_t entries(const std::string &directory) {
  size_t count = 0;
  Directory(directory).forEach([&](const Directory::File &) { ++count; });
  return count;
}

void expectOneWarning(const Store &store, unsigned code) {
  auto problems = store.diagnostics();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code, code) << problems[0].message;
  EXPECT_EQ(problems[0].severity, Severity::Warning);
  EXPECT_EQ(problems[0].helps.size(), 1u);
}

TEST(CacheFailures, SixtyFourProcessesMakeTwentyEntriesOnce) {
  TemporaryDirectory folder;
  std::vector<ChildProcess> children;
  for (int p = 0; p < 64; ++p)
    children.emplace_back([&] {
      auto store = Store::open({.directory = folder.path()});
      int made = 0;
      for (int k = 0; k < 20; ++k)
        made += make(*store, "key" + std::to_string(k), std::chrono::milliseconds(5));
      return made;
    });
  int made = 0;
  for (ChildProcess &child : children) {
    int result = child.wait();
    ASSERT_GE(result, 0);
    made += result;
  }
  EXPECT_EQ(made, 20);
}

TEST(CacheFailures, KilledWritersLeaveNoBadEntry) {
  TemporaryDirectory folder;
  auto large = [](int key) { return std::string(3000000, char('0' + key)); };
  for (int round = 0; round < 8; ++round) {
    ChildProcess child([&] {
      auto store = Store::open({.directory = folder.path()});
      for (int i = 0;; ++i)
        store->lookupOrMake("key" + std::to_string(i % 50) + "-" + std::to_string(round),
                            [&] { return std::optional(large(i % 50)); });
      return 0;
    });
    // Once it has written something, it is in the middle of the next entry.
    size_t before = entries(folder.path());
    while (entries(folder.path()) == before)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(700 * round));
    child.kill();
  }
  auto store = Store::open({.directory = folder.path()});
  int found = 0;
  for (int round = 0; round < 8; ++round)
    for (int i = 0; i < 50; ++i)
      if (auto bytes = store->lookup("key" + std::to_string(i) + "-" + std::to_string(round))) {
        EXPECT_EQ(*bytes, large(i));
        ++found;
      }
  EXPECT_GT(found, 0);
  EXPECT_EQ(store->statistics().damaged, 0u);
  // No process holds a lock any more.
  auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(make(*store, "fresh"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  // Their temporary files are swept when they are an hour old.
  std::ofstream(folder.path() + "/v1/tmp/killed") << "half an entry";
  for (const auto &file : std::filesystem::directory_iterator(folder.path() + "/v1/tmp")) {
    utimbuf old{::time(nullptr), ::time(nullptr) - 3700};
    ASSERT_EQ(::utime(file.path().c_str(), &old), 0);
  }
  store->prune();
  EXPECT_EQ(temporaryFiles(folder.path()), 0u);
}

// A limit of the size of files fails in the middle of a write, as a full disk does.
TEST(CacheFailures, FileTooLarge) {
  TemporaryDirectory folder;
  ChildProcess child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{10000, 10000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0)
      return 1;
    auto store = Store::open({.directory = folder.path()});
    make(*store, "one");
    make(*store, "two");
    expectOneWarning(*store, 1721);
    EXPECT_EQ(store->statistics().failed_writes, 2u);
    EXPECT_EQ(temporaryFiles(folder.path()), 0u);
    return int(testing::Test::HasFailure());
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_FALSE(Store::open({.directory = folder.path()})->lookup("one"));
}

TEST(CacheFailures, FullDisk) {
  TemporaryDirectory folder;
  constexpr int skipped = 77;
  ChildProcess child([&] {
    if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k,mode=700") != 0)
      return skipped;
    auto store = Store::open({.directory = folder.path()});
    for (int i = 0; i < 20; ++i)
      make(*store, "key" + std::to_string(i));
    expectOneWarning(*store, 1721);
    EXPECT_GT(store->statistics().failed_writes, 0u);
    EXPECT_GT(store->statistics().stored, 0u);
    EXPECT_EQ(temporaryFiles(folder.path()), 0u);
    return int(testing::Test::HasFailure());
  });
  int result = child.wait();
  if (result == skipped)
    GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_EQ(result, 0);
}

TEST(CacheFailures, ReadOnlyDirectory) {
  TemporaryDirectory folder;
  make(*Store::open({.directory = folder.path()}), "known");
  for (const auto &each : std::filesystem::recursive_directory_iterator(folder.path()))
    ::chmod(each.path().c_str(), each.is_directory() ? 0555 : 0444);
  ::chmod(folder.path().c_str(), 0555);
  ChildProcess child([&] {
    // Permissions do not hold for root.
    if (::geteuid() == 0 && ::setuid(65534) != 0)
      return 1;
    auto store = Store::open({.directory = folder.path()});
    EXPECT_FALSE(make(*store, "known"));
    EXPECT_TRUE(make(*store, "new"));
    EXPECT_TRUE(make(*store, "newer"));
    EXPECT_EQ(store->statistics().stored, 0u);
    expectOneWarning(*store, 1721);
    return int(testing::Test::HasFailure());
  });
  EXPECT_EQ(child.wait(), 0);
  for (const auto &each : std::filesystem::recursive_directory_iterator(folder.path()))
    ::chmod(each.path().c_str(), 0700);
}

TEST(CacheFailures, NoHome) {
  ChildProcess child([&] {
    for (const char *name : {"HOME", "XDG_CACHE_HOME", "PENSTOCK_CACHE_DIR"})
      ::unsetenv(name);
    auto store = Store::open({});
    EXPECT_TRUE(make(*store, "key"));
    expectOneWarning(*store, 1720);
    return int(testing::Test::HasFailure());
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(CacheFailures, DirectoriesOfTheEnvironment) {
  TemporaryDirectory folder;
  ChildProcess child([&] {
    ::unsetenv("PENSTOCK_CACHE_DIR");
    ::setenv("HOME", folder.path().c_str(), 1);
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    EXPECT_EQ(KernelCache::open().directory(), folder.path() + "/.cache/penstock");
    ::setenv("XDG_CACHE_HOME", (folder.path() + "/x").c_str(), 1);
    EXPECT_EQ(KernelCache::open().directory(), folder.path() + "/x/penstock");
    ::setenv("PENSTOCK_CACHE_DIR", (folder.path() + "/p").c_str(), 1);
    EXPECT_EQ(KernelCache::open().directory(), folder.path() + "/p");
    EXPECT_EQ(KernelCache::open({.directory = folder.path() + "/d"}).directory(),
              folder.path() + "/d");
    EXPECT_EQ(KernelCache::none().directory(), "");
    return int(testing::Test::HasFailure());
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(CacheFailures, DirectoryThatEverybodyCanWriteTo) {
  TemporaryDirectory folder;
  Store::open({.directory = folder.path()})->publish("key", "code of somebody else");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  auto store = Store::open({.directory = folder.path()});
  EXPECT_FALSE(store->lookup("key"));
  EXPECT_TRUE(make(*store, "key"));
  expectOneWarning(*store, 1720);
}

TEST(CacheFailures, DirectoryOfAnotherUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a directory away";
  TemporaryDirectory folder;
  Store::open({.directory = folder.path()})->publish("key", "code of somebody else");
  ASSERT_EQ(::chown(folder.path().c_str(), 12345, 12345), 0);
  auto store = Store::open({.directory = folder.path()});
  EXPECT_FALSE(store->lookup("key"));
  EXPECT_TRUE(make(*store, "key"));
  expectOneWarning(*store, 1720);
}

TEST(CacheFailures, DirectoryIsAFile) {
  TemporaryDirectory folder;
  std::ofstream(folder.path() + "/file") << "x";
  auto store = Store::open({.directory = folder.path() + "/file"});
  EXPECT_TRUE(make(*store, "key"));
  expectOneWarning(*store, 1720);
}

TEST(CacheFailures, DirectoryIsRemovedWhileItIsUsed) {
  TemporaryDirectory folder;
  auto store = Store::open({.directory = folder.path() + "/cache"});
  EXPECT_TRUE(make(*store, "key"));
  std::filesystem::remove_all(folder.path() + "/cache");
  EXPECT_TRUE(make(*store, "key"));
  EXPECT_FALSE(make(*store, "key"));
  EXPECT_TRUE(store->diagnostics().empty());
}

// Two builds of the compiler have different keys, whatever else is equal.
TEST(CacheFailures, TwoVersionsInOneDirectory) {
  TemporaryDirectory folder;
  std::string rest = "\ntarget sm_90a\nname k\nprogram 0\n";
  std::string one = "penstock-key 1\ncompiler aaaa" + rest;
  std::string two = "penstock-key 1\ncompiler bbbb" + rest;
  auto store = Store::open({.directory = folder.path()});
  store->publish(one, "of one");
  EXPECT_FALSE(store->lookup(two));
  store->publish(two, "of two");
  EXPECT_EQ(store->lookup(one), "of one");
  EXPECT_EQ(store->lookup(two), "of two");
}

TEST(CacheFailures, ForkWhileThreadsUseIt) {
  TemporaryDirectory folder;
  auto store = Store::open({.directory = folder.path()});
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i)
        make(*store, "thread" + std::to_string(t) + "-" + std::to_string(i % 40));
    });
  for (int i = 0; i < 20; ++i) {
    ChildProcess child([&] {
      for (int k = 0; k < 10; ++k)
        make(*store, "thread0-" + std::to_string(k));
      make(*store, "child" + std::to_string(i));
      return int(testing::Test::HasFailure());
    });
    EXPECT_EQ(child.wait(std::chrono::seconds(60)), 0);
  }
  done = true;
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
