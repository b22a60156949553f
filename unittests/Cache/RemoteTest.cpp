//===- RemoteTest.cpp - Caches on servers, and servers that fail ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cache/Remote.h"
#include "Cache/ActionResult.h"
#include "Cache/Entry.h"
#include "TestServers.h"

#include <gtest/gtest.h>

using namespace penstock;
using namespace penstock::cache;
using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;

class RemoteTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    ::setenv("no_proxy", "127.0.0.1", 1);
    if (Nginx::installed())
      nginx = new Nginx;
  }
  static void TearDownTestSuite() {
    delete nginx;
    nginx = nullptr;
  }
  void SetUp() override {
    if (std::string missing = openCurl(); !missing.empty())
      GTEST_SKIP() << missing;
  }
  /// A store of another machine: it has a directory of its own.
  std::shared_ptr<Store> machine(const std::string &url, bool writes = false,
                                 milliseconds budget = milliseconds(5000)) {
    return Store::open({.directory = folder.path() + "/" + std::to_string(++machines),
                        .remote = url,
                        .remote_writes = writes,
                        .remote_budget = budget});
  }
  void expectWarning(Store &store, const std::string &reason) {
    auto problems = store.diagnostics();
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].code, 1724u);
    EXPECT_NE(problems[0].message.find(reason), std::string::npos) << problems[0].message;
  }
  /// The entry's file on the server.
  static std::string blob(const std::string &key, const std::string &bytes) {
    return nginx->files() + "/cas/" + hexDigest(writeEntry(key, bytes));
  }
  static Nginx *nginx;
  TemporaryDirectory folder;
  int machines = 0;
};
Nginx *RemoteTest::nginx = nullptr;

#define NEED_NGINX()                                                                               \
  if (!nginx)                                                                                      \
  GTEST_SKIP() << "nginx is not installed"

TEST(ActionResult, ComesBack) {
  BlobDigest digest{std::string(64, 'a'), 70000};
  auto read = readActionResult(writeActionResult(digest));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->hash, digest.hash);
  EXPECT_EQ(read->bytes, 70000u);
}

// Encoded by hand after remote_execution.proto: output_files {path: "kernel" digest {hash:
// "aa.." size_bytes: 300}}.
TEST(ActionResult, IsTheMessageOfTheProtocol) {
  std::string hash(64, 'a');
  std::string digest = "\x0a\x40" + hash + "\x10\xac\x02";
  std::string file = "\x0a\x06kernel\x12" + std::string(1, char(digest.size())) + digest;
  EXPECT_EQ(writeActionResult({hash, 300}), "\x12" + std::string(1, char(file.size())) + file);
}

TEST(ActionResult, SkipsFieldsOfOthers) {
  // exit_code, a field of 8 bytes, one of 4 bytes, then the file.
  std::string others = std::string("\x20\x01\x79", 3) + std::string(8, 'x') + "\x7d" + "1234";
  EXPECT_TRUE(readActionResult(others + writeActionResult({std::string(64, '0'), 1})));
}

TEST(ActionResult, RefusesEverythingElse) {
  std::string good = writeActionResult({std::string(64, '0'), 1});
  for (size_t i = 0; i < good.size(); ++i)
    EXPECT_FALSE(readActionResult(good.substr(0, i))) << i;
  EXPECT_FALSE(readActionResult(writeActionResult({"../../etc/passwd", 1})));
  EXPECT_FALSE(readActionResult("<html>not found</html>"));
  EXPECT_FALSE(readActionResult(std::string(20, char(0xff))));
}

TEST(RemoteAddress, OfHttpAndS3) {
  std::string reason;
  EXPECT_EQ(parseRemote("https://host/a/", reason)->base, "https://host/a");
  EXPECT_FALSE(parseRemote("ftp://host", reason));
  EXPECT_EQ(reason, "it must begin with http://, https:// or s3://");
  ChildProcess child([] {
    std::string why;
    for (const char *name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION",
                             "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"})
      ::unsetenv(name);
    EXPECT_FALSE(parseRemote("s3://bucket/a", why));
    EXPECT_EQ(why, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set");
    ::setenv("AWS_ACCESS_KEY_ID", "key", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    EXPECT_EQ(parseRemote("s3://bucket/a/b", why)->base,
              "https://bucket.s3.us-east-1.amazonaws.com/a/b");
    ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9/", 1);
    ::setenv("AWS_REGION", "eu-west-1", 1);
    auto address = parseRemote("s3://bucket/a", why);
    EXPECT_EQ(address->base, "http://127.0.0.1:9/bucket/a");
    EXPECT_EQ(address->signature, "aws:amz:eu-west-1:s3");
    EXPECT_FALSE(parseRemote("s3:///a", why));
    return int(testing::Test::HasFailure());
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(RemoteTest, AnotherMachineFindsWhatWasUploaded) {
  NEED_NGINX();
  auto writer = machine(nginx->url(), true);
  writer->publish("key", "bytes");
  writer->flush();
  EXPECT_EQ(writer->statistics().uploads, 1u);
  auto reader = machine(nginx->url());
  EXPECT_EQ(reader->lookup("key"), "bytes");
  EXPECT_EQ(reader->lookup("key"), "bytes"); // now in its own directory
  EXPECT_EQ(reader->statistics().remote_hits, 1u);
  EXPECT_EQ(reader->statistics().hits, 2u);
  EXPECT_FALSE(reader->lookup("other"));
  EXPECT_TRUE(reader->diagnostics().empty());
}

TEST_F(RemoteTest, WritingNeedsPermission) {
  NEED_NGINX();
  auto reader = machine(nginx->url());
  reader->publish("unwritten", "bytes");
  reader->flush();
  EXPECT_EQ(reader->statistics().uploads, 0u);
  EXPECT_FALSE(machine(nginx->url())->lookup("unwritten"));
}

TEST_F(RemoteTest, WrongBytes) {
  NEED_NGINX();
  auto writer = machine(nginx->url(), true);
  writer->publish("changed", "bytes");
  writer->flush();
  std::ofstream(blob("changed", "bytes"), std::ios::app) << "x";
  auto reader = machine(nginx->url());
  EXPECT_FALSE(reader->lookup("changed"));
  EXPECT_EQ(reader->statistics().damaged, 1u);
  EXPECT_FALSE(machine("")->lookup("changed"));
  expectWarning(*reader, "has other bytes");
}

// The right entry of another key: all checksums hold.
TEST_F(RemoteTest, EntryOfAnotherKey) {
  NEED_NGINX();
  auto writer = machine(nginx->url(), true);
  writer->publish("mine", "bytes");
  writer->publish("foreign", "code");
  writer->flush();
  std::filesystem::copy_file(nginx->files() + "/ac/" + hexDigest("foreign"),
                             nginx->files() + "/ac/" + hexDigest("mine"),
                             std::filesystem::copy_options::overwrite_existing);
  auto reader = machine(nginx->url());
  EXPECT_FALSE(reader->lookup("mine"));
  EXPECT_EQ(reader->statistics().damaged, 1u);
}

TEST_F(RemoteTest, ResultWithoutBlob) {
  NEED_NGINX();
  auto writer = machine(nginx->url(), true);
  writer->publish("evicted", "bytes");
  writer->flush();
  ASSERT_TRUE(std::filesystem::remove(blob("evicted", "bytes")));
  auto reader = machine(nginx->url());
  EXPECT_FALSE(reader->lookup("evicted"));
  EXPECT_EQ(reader->statistics().misses, 1u);
  EXPECT_TRUE(reader->diagnostics().empty()); // servers do this
}

TEST_F(RemoteTest, SlowServerIsCutOff) {
  NEED_NGINX();
  std::string large(400000, 'x'); // 50 s
  auto writer = machine(nginx->url(), true);
  writer->publish("large", large);
  writer->flush();
  EXPECT_EQ(machine(nginx->url())->lookup("large"), large);
  auto reader = machine(nginx->slowUrl(), false, milliseconds(500));
  auto begin = Clock::now();
  EXPECT_FALSE(reader->lookup("large"));
  EXPECT_LT(Clock::now() - begin, milliseconds(2500));
  expectWarning(*reader, "imeout");
}

TEST_F(RemoteTest, HangingServerIsCutOff) {
  FixedServer server("");
  auto store = machine(server.url(), false, milliseconds(300));
  auto begin = Clock::now();
  EXPECT_FALSE(store->lookup("key"));
  auto took = Clock::now() - begin;
  EXPECT_GE(took, milliseconds(250));
  EXPECT_LT(took, milliseconds(2300));
  EXPECT_EQ(server.connections(), 1);
  expectWarning(*store, "imeout");
}

// Stopped between two requests of one connection; connections are still accepted for it.
TEST_F(RemoteTest, StoppedNginxIsCutOff) {
  NEED_NGINX();
  Nginx stopped;
  auto writer = machine(stopped.url(), true);
  writer->publish("key", "bytes");
  writer->flush();
  auto store = machine(stopped.url(), false, milliseconds(300));
  EXPECT_FALSE(store->lookup("nothing"));
  stopped.signal(SIGSTOP);
  auto begin = Clock::now();
  auto made = store->lookupOrMake("key", [] { return std::optional<std::string>("made"); });
  EXPECT_LT(Clock::now() - begin, milliseconds(2300));
  EXPECT_EQ(made.bytes, "made");
  expectWarning(*store, "imeout");
  stopped.signal(SIGCONT);
  EXPECT_EQ(machine(stopped.url())->lookup("key"), "bytes");
}

TEST_F(RemoteTest, NginxVanishesBetweenRequests) {
  NEED_NGINX();
  Nginx vanishing;
  auto writer = machine(vanishing.url(), true);
  writer->publish("key", "bytes");
  writer->flush();
  auto store = machine(vanishing.url());
  EXPECT_EQ(store->lookup("key"), "bytes");
  vanishing.signal(SIGKILL);
  auto made = store->lookupOrMake("other", [] { return std::optional<std::string>("made"); });
  EXPECT_EQ(made.bytes, "made");
  // The copy of its own directory.
  EXPECT_EQ(store->lookup("key"), "bytes");
  EXPECT_GE(store->statistics().remote_failures, 1u);
  EXPECT_EQ(store->diagnostics().size(), 1u);
}

TEST_F(RemoteTest, ServerIsGone) {
  auto store = machine("http://127.0.0.1:" + std::to_string(freePort()) + "/cache", true);
  auto result = store->lookupOrMake("key", [] { return std::optional<std::string>("bytes"); });
  EXPECT_EQ(result.bytes, "bytes");
  store->flush();
  EXPECT_EQ(store->statistics().stored, 1u);
  EXPECT_EQ(store->statistics().dropped_uploads, 1u);
  expectWarning(*store, "onnect");
}

// After three failures, 100 more lookups do not ask the server.
TEST_F(RemoteTest, FailingServerIsNotAskedAgain) {
  FixedServer server("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  auto store = machine(server.url());
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(store->lookup("key" + std::to_string(i)));
  EXPECT_EQ(server.connections(), 3);
  EXPECT_EQ(store->statistics().remote_failures, 3u);
  expectWarning(*store, "it answers 503");
}

TEST_F(RemoteTest, RefusedPermissionIsNotAskedAgain) {
  FixedServer server("HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  auto store = machine(server.url());
  EXPECT_FALSE(store->lookup("one"));
  EXPECT_FALSE(store->lookup("two"));
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(RemoteTest, RedirectionsAreNotFollowed) {
  FixedServer target("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  FixedServer server("HTTP/1.1 302 Found\r\nLocation: " + target.url() +
                     "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  auto store = machine(server.url());
  EXPECT_FALSE(store->lookup("key"));
  EXPECT_EQ(target.connections(), 0);
  expectWarning(*store, "302, a redirection, which is not followed");
}

TEST_F(RemoteTest, AnswersThatAreNotActionResults) {
  FixedServer server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n<html");
  auto store = machine(server.url());
  EXPECT_FALSE(store->lookup("key"));
  expectWarning(*store, "is not an action result");
}

TEST_F(RemoteTest, QueueOfUploadsIsBounded) {
  FixedServer server("");
  auto store = machine(server.url(), true, milliseconds(10));
  for (int i = 0; i < 100; ++i)
    store->publish("key" + std::to_string(i), "bytes");
  EXPECT_GE(store->statistics().dropped_uploads, 100u - 66u);
  EXPECT_EQ(store->statistics().stored, 100u);
}

// The process ends although the server takes no bytes.
TEST_F(RemoteTest, ExitWhileUploading) {
  FixedServer server("");
  std::string directory = folder.path() + "/exit";
  ChildProcess child([&] {
    ::setenv("PENSTOCK_CACHE_DIR", directory.c_str(), 1);
    ::setenv("PENSTOCK_CACHE_REMOTE", server.url().c_str(), 1);
    ::setenv("PENSTOCK_CACHE_REMOTE_WRITES", "1", 1);
    KernelCache::process().store()->publish("key", std::string(10000000, 'x'));
    std::this_thread::sleep_for(milliseconds(100));
    std::exit(3); // with everything that runs at exit
    return 0;
  });
  EXPECT_EQ(child.wait(std::chrono::seconds(20)), 3);
  EXPECT_TRUE(Store::open({.directory = directory})->lookup("key"));
}

TEST_F(RemoteTest, ForkAfterUse) {
  NEED_NGINX();
  auto store = machine(nginx->url(), true);
  store->publish("parent", "bytes");
  store->flush();
  EXPECT_FALSE(store->lookup("nothing"));
  for (int i = 0; i < 4; ++i) {
    ChildProcess child([&] {
      std::string key = "child" + std::to_string(i);
      EXPECT_FALSE(store->lookup(key));
      store->publish(key, "of the child");
      store->flush();
      return int(testing::Test::HasFailure());
    });
    EXPECT_FALSE(store->lookup("other" + std::to_string(i)));
    EXPECT_EQ(child.wait(std::chrono::seconds(30)), 0);
    EXPECT_EQ(machine(nginx->url())->lookup("child" + std::to_string(i)), "of the child");
  }
}

// ccache uses the same layout. Both share a server without seeing each other's entries.
TEST_F(RemoteTest, CcacheOnTheSameServer) {
  NEED_NGINX();
  if (std::system("ccache --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "ccache is not installed";
  machine(nginx->url(), true)->publish("key", "bytes");
  std::ofstream(folder.path() + "/a.c") << "int answer(void) { return 42; }\n";
  auto build = [&](const std::string &local) {
    std::string command = "cd " + folder.path() +
                          " && unset CCACHE_DISABLE && CCACHE_DIR=" + folder.path() + "/" + local +
                          " CCACHE_REMOTE_STORAGE='" + nginx->url() +
                          "|layout=bazel' ccache cc -c a.c -o a.o && CCACHE_DIR=" + folder.path() +
                          "/" + local + " ccache --print-stats > stats";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return *readRegularFile(folder.path() + "/stats");
  };
  build("first");
  std::string second = build("second");
  EXPECT_NE(second.find("remote_storage_hit\t1"), std::string::npos) << second;
  EXPECT_EQ(machine(nginx->url())->lookup("key"), "bytes");
}

} // namespace
