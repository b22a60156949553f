//===- CompileTest.cpp - compile() through a cache ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hits are compared with what KernelCache::none() compiles.
//
//===----------------------------------------------------------------------===//
#include "ChildProcess.h"
#include "TemporaryDirectory.h"

#include <gtest/gtest.h>
#include <penstock/cache.h>
#include <penstock/inspect.h>
#include <penstock/log.h>
#include <penstock/penstock.h>

#include <fstream>

using namespace penstock;

namespace {

struct Scale {
  int factor = 3, tile = 64;
  static constexpr auto signature = "x[N] -> y[N]";

  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto first = b.grid(ceil_div(x.size(0), tile)) * tile;
    auto t = b.local<f32>(tile);
    b.copy(x.at(first), t);
    b.set(t, t * float(factor));
    b.copy(t, y.at(first));
  }
};

// The same kernel at three positions of a file, as if lines were inserted above it. The
// third has two statements on one line.
namespace before {
#line 100 "kernel.h"
struct Rows {
  int columns = 32;
  static constexpr auto signature = "x[R,C] -> y[R,C]";

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto row = b.grid(x.size(0));
    auto t = b.local<f32>(1, columns);
    b.require(x.size(1) <= columns, "a row is longer than the tile");
    b.copy(x.at(row, 0), t);
    b.copy(t, y.at(row, 0));
  }
};
} // namespace before
namespace after {
#line 200 "kernel.h"
struct Rows {
  int columns = 32;
  static constexpr auto signature = "x[R,C] -> y[R,C]";

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto row = b.grid(x.size(0));
    auto t = b.local<f32>(1, columns);
    b.require(x.size(1) <= columns, "a row is longer than the tile");
    b.copy(x.at(row, 0), t);
    b.copy(t, y.at(row, 0));
  }
};
} // namespace after
namespace joined {
#line 300 "kernel.h"
struct Rows {
  int columns = 32;
  static constexpr auto signature = "x[R,C] -> y[R,C]";

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto row = b.grid(x.size(0));
    auto t = b.local<f32>(1, columns);
    b.require(x.size(1) <= columns, "a row is longer than the tile");
    // clang-format off
    b.copy(x.at(row, 0), t); b.copy(t, y.at(row, 0));
    // clang-format on
  }
};
} // namespace joined
#line 92 "CompileTest.cpp"

struct Broken {
  static constexpr auto signature = "x[N] -> y[N]";
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto t = b.local<f32>(64);
    auto u = b.local<f32>(65);
    b.copy(x.at(b.grid(1)), t);
    b.copy(t, u);
    b.copy(u, y.at(0));
  }
};

class CompileTest : public testing::Test {
protected:
  /// Each is as one of another process: it shares the directory alone.
  KernelCache open() { return KernelCache::open({.directory = folder.path()}); }
  TemporaryDirectory folder;
};

template <class K> void expectScaled(const Kernel<K> &kernel, float factor) {
  std::vector<float> x(1000), y(1000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  LaunchOptions options;
  options.threads = 1;
  kernel.launch(options, view(x, {1000}), view(y, {1000}));
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], factor * x[i]) << i;
}

/// Diagnostics of a launch with rows that are too long.
template <class K> std::string refusal(const Kernel<K> &kernel) {
  std::vector<float> x(2 * 40), y(2 * 40);
  return to_json(kernel.try_launch({}, view(x, {2, 40}), view(y, {2, 40})));
}

TEST_F(CompileTest, AnotherProcessHits) {
  KernelCache one = open(), two = open();
  expectScaled<Scale>(compile(Scale{}, Target::native(), {.cache = &one}), 3);
  EXPECT_EQ(one.statistics().misses, 1u);
  EXPECT_EQ(one.statistics().stored, 1u);
  auto hit = compile(Scale{}, Target::native(), {.cache = &two});
  EXPECT_EQ(two.statistics().hits, 1u);
  EXPECT_EQ(two.statistics().misses, 0u);
  expectScaled<Scale>(hit, 3);
  auto fresh = compile(Scale{}, Target::native(), {.cache = &KernelCache::none()});
  EXPECT_EQ(hit.tile_program(), fresh.tile_program());
  EXPECT_EQ(hit.llvm_ir(), fresh.llvm_ir());
  EXPECT_EQ(hit.assembly(), fresh.assembly());
}

TEST_F(CompileTest, SameProcessHitsInMemory) {
  KernelCache cache = open();
  compile(Scale{}, Target::native(), {.cache = &cache});
  expectScaled<Scale>(compile(Scale{}, Target::native(), {.cache = &cache}), 3);
  EXPECT_EQ(cache.statistics().memory_hits, 1u);
  EXPECT_EQ(cache.statistics().misses, 1u);
}

TEST_F(CompileTest, EverythingThatMattersIsInTheKey) {
  KernelCache cache = open();
  compile(Scale{}, Target::native(), {.cache = &cache});
  expectScaled<Scale>(compile(Scale{.factor = 4}, Target::native(), {.cache = &cache}), 4);
  expectScaled<Scale>(compile(Scale{.tile = 32}, Target::native(), {.cache = &cache}), 3);
  compile(Scale{}, Target::native(), {.name = "other", .cache = &cache});
  compile(Scale{}, Target::native(), {.fix = {{"N", 1000}}, .cache = &cache});
  compile(Scale{}, Target::native(), {.late_completion = true, .cache = &cache});
  compile(Scale{}, Target::sm_90a(), {.cache = &cache});
  compile(Scale{}, Target::sm_100a(), {.cache = &cache});
  compile(Scale{}, Target::sm_100a(), {.check_barriers = false, .cache = &cache});
  EXPECT_EQ(cache.statistics().misses, 9u);
  EXPECT_EQ(cache.statistics().hits, 0u);
  EXPECT_EQ(cache.statistics().stored, 9u);
}

TEST_F(CompileTest, NoneStoresNothing) {
  EXPECT_EQ(KernelCache::none().directory(), "");
  compile(Scale{}, Target::native(), {.cache = &KernelCache::none()});
  EXPECT_EQ(KernelCache::none().statistics().misses, 0u);
}

TEST_F(CompileTest, GpuKernelsHit) {
  KernelCache one = open(), two = open();
  compile(Scale{}, Target::sm_90a(), {.cache = &one});
  // The emulator runs the same code.
  auto hit = compile(Scale{}, Target::sm_90a().emulated(), {.cache = &two});
  EXPECT_EQ(two.statistics().hits, 1u);
  expectScaled<Scale>(hit, 3);
}

// The kernel moved by 100 lines; all locations of the hit are those of the new lines.
TEST_F(CompileTest, LocationsAreThoseOfTheRecording) {
  for (Target target : {Target::native(), Target::sm_90a().emulated()}) {
    KernelCache one = open(), two = open();
    auto old = compile(before::Rows{}, target, {.name = "rows", .cache = &one});
    EXPECT_NE(refusal<before::Rows>(old).find("\"line\":107"), std::string::npos)
        << refusal<before::Rows>(old);
    // On one line, because the line of the call is a location, too.
    auto build = [&](KernelCache &cache) {
      return compile(after::Rows{}, target, {.name = "rows", .cache = &cache});
    };
    auto hit = build(two), fresh = build(KernelCache::none());
    EXPECT_EQ(two.statistics().hits, 1u);
    EXPECT_NE(refusal<after::Rows>(hit).find("\"line\":207"), std::string::npos)
        << refusal<after::Rows>(hit);
    EXPECT_EQ(refusal<after::Rows>(hit), refusal<after::Rows>(fresh));
    EXPECT_EQ(hit.ptx(), fresh.ptx());
    EXPECT_EQ(hit.artifact(), fresh.artifact());
  }
}

// Which statements share a line decides what LLVM merges, so it is in the key.
TEST_F(CompileTest, JoinedLinesAreAnotherKernel) {
  KernelCache cache = open();
  compile(before::Rows{}, Target::sm_90a(), {.name = "rows", .cache = &cache});
  compile(joined::Rows{}, Target::sm_90a(), {.name = "rows", .cache = &cache});
  EXPECT_EQ(cache.statistics().misses, 2u);
}

TEST_F(CompileTest, FailuresAreNotStored) {
  KernelCache cache = open();
  for (int i = 0; i < 2; ++i) {
    auto result = try_compile(Broken{}, Target::native(), {.cache = &cache});
    EXPECT_FALSE(result);
    EXPECT_FALSE(result.diagnostics.empty());
  }
  EXPECT_EQ(cache.statistics().stored, 0u);
}

TEST_F(CompileTest, DamagedEntriesAreCompiledAgain) {
  KernelCache one = open();
  compile(Scale{}, Target::native(), {.cache = &one});
  for (const auto &file : std::filesystem::recursive_directory_iterator(folder.path() + "/v1"))
    if (file.is_regular_file() && file.file_size() > 1000) {
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(std::streamoff(file.file_size() / 2));
      bytes.put('\x55');
    }
  KernelCache two = open(), three = open();
  expectScaled<Scale>(compile(Scale{}, Target::native(), {.cache = &two}), 3);
  EXPECT_EQ(two.statistics().damaged, 1u);
  EXPECT_EQ(two.statistics().misses, 1u);
  expectScaled<Scale>(compile(Scale{}, Target::native(), {.cache = &three}), 3);
  EXPECT_EQ(three.statistics().hits, 1u);
}

TEST_F(CompileTest, UnusableDirectoryStillCompiles) {
  KernelCache cache = KernelCache::open({.directory = "/dev/null/cache"});
  expectScaled<Scale>(compile(Scale{}, Target::native(), {.cache = &cache}), 3);
  ASSERT_EQ(cache.diagnostics().size(), 1u);
  EXPECT_EQ(cache.diagnostics()[0].code, 1720u);
}

// Every kernel of the examples can be an entry, and comes back as it was compiled.
TEST_F(CompileTest, ExamplesComeBack) {
  ASSERT_TRUE(load_library(EXAMPLE_KERNELS).empty());
  int count = 0;
  for (const KernelDescription &kernel : registered_kernels()) {
    InspectOptions options;
    std::vector<Diagnostic> diagnostics;
    std::string architecture = architecture_of_registered(kernel.name, options, diagnostics);
    options.target = *find_gpu(architecture.empty() ? "sm_90a" : architecture);
    options.compile.check_barriers = false;
    KernelCache one = open(), two = open();
    options.compile.cache = &one;
    AnyKernel fresh = compile_registered(kernel.name, options, diagnostics);
    options.compile.cache = &two;
    AnyKernel hit = compile_registered(kernel.name, options, diagnostics);
    ASSERT_TRUE(fresh) << to_text(diagnostics);
    EXPECT_EQ(one.statistics().not_stored, 0u) << kernel.name;
    EXPECT_EQ(two.statistics().hits, 1u) << kernel.name;
    EXPECT_EQ(hit.ptx(), fresh.ptx()) << kernel.name;
    ++count;
  }
  EXPECT_GE(count, 10);
}

TEST_F(CompileTest, EventsOfMissesAndHits) {
  KernelCache one = open(), two = open();
  std::string names;
  set_log(LogLevel::Debug, [&](const Event &event) {
    EXPECT_EQ(event.subject, "Scale");
    names += std::string(event.name) + (event.microseconds > 0 ? "; " : ", ");
  });
  compile(Scale{}, Target::native(), {.cache = &one});
  EXPECT_EQ(names, "record; cache miss, compile; ");
  names = "";
  compile(Scale{}, Target::native(), {.cache = &two});
  EXPECT_EQ(names, "record; cache hit, load; ");
  names = "";
  set_log(LogLevel::Info, [&](const Event &event) { names += event.name; });
  compile(Scale{}, Target::native(), {.cache = &two});
  EXPECT_EQ(names, "");
  set_log(LogLevel::Off, {});
}

TEST_F(CompileTest, WarningsAreEvents) {
  std::string text;
  set_log(LogLevel::Warning, [&](const Event &event) { text += event.subject; });
  KernelCache cache = KernelCache::open({.directory = "/dev/null/cache"});
  set_log(LogLevel::Off, {});
  EXPECT_EQ(text.find("PS1720: the cache in `/dev/null/cache` cannot be used"), 0u) << text;
}

TEST_F(CompileTest, TraceForPerfetto) {
  std::string file = folder.path() + "/trace.json";
  // The variable is read once, so another process has to.
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  ASSERT_EQ(std::system(("PENSTOCK_TRACE=" + file + " " + self +
                         " --gtest_filter=CompileTest.AnotherProcessHits > /dev/null")
                            .c_str()),
            0);
  std::ifstream stream(file);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  EXPECT_EQ(text.find("{\"traceEvents\":["), 0u) << text;
  for (const char *name : {"record", "cache miss", "compile", "cache hit"})
    EXPECT_NE(text.find("{\"name\":\"" + std::string(name) + "\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"args\":{\"subject\":\"Scale\"}"), std::string::npos) << text;
}

// Nothing is compiled before the fork, so each child is a cold process.
TEST_F(CompileTest, SixtyFourProcessesCompileTwentyKernelsOnce) {
  std::vector<ChildProcess> children;
  for (int p = 0; p < 64; ++p)
    children.emplace_back([&] {
      KernelCache cache = open();
      for (int k = 0; k < 20; ++k)
        expectScaled<Scale>(compile(Scale{.factor = k}, Target::native(), {.cache = &cache}),
                            float(k));
      return testing::Test::HasFailure() ? 100 : int(cache.statistics().misses);
    });
  int compiled = 0;
  for (ChildProcess &child : children) {
    int result = child.wait(std::chrono::seconds(500));
    ASSERT_GE(result, 0);
    ASSERT_LE(result, 20);
    compiled += result;
  }
  EXPECT_EQ(compiled, 20);
}

} // namespace
