//===- FindingTextTest.cpp - What a user reads of a bug ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One bug is one finding, which names tiles, barriers and warps as the kernel
// does and reads the same in every run.
//
//===----------------------------------------------------------------------===//
#include "InjectedBugs.h"

using namespace bugs;

namespace {

/// C = A^T, through shared memory; the tiles of a block go through two slots.
struct Transpose {
  bool synced = true;
  static constexpr auto signature = "A[M,N] -> C[N,M]";
  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    auto row = b.grid(ceil_div(A.size(0), 64)) * 64;
    b.threads(128);
    auto Cs = b.shared<f32>(2, 64, 64);
    auto mine = b.local<f32>(64, 64);
    for (Index i : b.range(ceil_div(A.size(1), 64))) {
      b.copy(A.at(row, i * 64), Cs[i % 2]); // [write]
      if (synced)
        b.sync();
      b.copy(transposed(Cs[i % 2]), mine); // [read]
      b.copy(mine, C.at(i * 64, row));
    }
  }
};

struct Launched {
  std::vector<Diagnostic> found;
  int64_t wrong = 0;
  std::string text() const { return to_text(found); }
};

Launched transpose(bool synced, LaunchOptions options) {
  const int64_t rows = 512, columns = 192;
  auto kernel =
      compile(Transpose{.synced = synced}, Target::sm_90a().emulated(), {.check_barriers = false});
  std::vector<float> a(rows * columns), c(rows * columns, -1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i % 4096);
  Launched result;
  result.found = kernel.try_launch(options, view(a, {rows, columns}), view(c, {columns, rows}));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result.wrong += a[size_t(i * columns + j)] != c[size_t(j * rows + i)];
  return result;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(FindingText, TheRightTwinIsSilent) {
  for (Timing timing : timings) {
    auto [found, wrong] = transpose(true, {.completion = timing.completion, .seed = timing.seed});
    EXPECT_TRUE(found.empty()) << timing.name << "\n" << to_text(found);
    EXPECT_EQ(wrong, 0) << timing.name;
  }
}

TEST(FindingText, AMissingSyncIsOneFindingOfAFewLines) {
  for (Timing timing : timings) {
    SCOPED_TRACE(timing.name);
    LaunchOptions options{.completion = timing.completion, .seed = timing.seed};
    Launched launched = transpose(false, options);
    std::string text = launched.text();
    ASSERT_EQ(launched.found.size(), 1u) << text;
    expectFinding(launched.found, {2101, "read", "write"}, __FILE__);
    EXPECT_LT(std::ranges::count(text, '\n'), 10) << text;
    EXPECT_TRUE(contains(text, "data race on `Cs[0]` and `Cs[1]`: warps 0 to 3 ")) << text;
    EXPECT_TRUE(contains(text, " times in 8 blocks from (0,0,0) on")) << text;
    EXPECT_FALSE(contains(text, "penstock_shared")) << text;
    EXPECT_FALSE(contains(text, "lane")) << text;
  }
}

TEST(FindingText, IsTheSameInEveryRun) {
  for (Timing timing : timings) {
    LaunchOptions options{.completion = timing.completion, .seed = timing.seed, .threads = 8};
    std::string first = transpose(false, options).text();
    for (int run = 0; run < 3; ++run)
      EXPECT_EQ(transpose(false, options).text(), first) << timing.name;
    options.threads = 1;
    EXPECT_EQ(transpose(false, options).text(), first) << timing.name;
  }
}

TEST(FindingText, ToolsGetTheSameAsData) {
  Launched launched = transpose(false, {});
  ASSERT_EQ(launched.found.size(), 1u) << launched.text();
  std::map<std::string, std::string> facts(launched.found[0].facts.begin(),
                                           launched.found[0].facts.end());
  EXPECT_EQ(facts["memory"], "`Cs[0]` and `Cs[1]`");
  EXPECT_EQ(facts["warps"], "warps 0 to 3");
  EXPECT_EQ(facts["other_warps"], "warps 0 to 3");
  EXPECT_EQ(facts["blocks"], "8");
  EXPECT_EQ(facts["timing"], "eager timing");
  EXPECT_GT(std::stoul(facts["occurrences"]), 1000u);
  std::string json = to_json(launched.found);
  EXPECT_TRUE(contains(json, "\"code\":\"PS2101\"")) << json;
  EXPECT_TRUE(contains(json, "\"memory\":\"`Cs[0]` and `Cs[1]`\"")) << json;
}

/// Four warps wait for a slot that is never given back, one waits at a named barrier; the
/// others wait for those.
struct Stuck {
  static constexpr auto signature = "A[M,N] -> C[M,N]";
  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    b.grid(1);
    b.threads(256);
    auto [started, ended] = b.mbarrier.alloc<2>({1, 1});
    auto empty = b.mbarrier.alloc(2, 1);
    auto ready = b.named_barrier.alloc(64);
    b.warp(0, [&] { b.named_barrier.sync(ready); });      // [ready]
    b.warp(1, [&] { b.mbarrier.wait(ended, 0); });        // [ended]
    b.warps(4, 4, [&] { b.mbarrier.wait(empty[1], 0); }); // [empty]
    b.warp(2, [&] { b.elect_one([&] { b.mbarrier.arrive(started); }); });
    b.sync(); // [sync]
  }
};

TEST(FindingText, ADeadlockNamesBarriersAndWarps) {
  auto kernel = compile(Stuck{}, Target::sm_90a().emulated(), {.check_barriers = false});
  std::vector<float> a(64), c(64);
  auto found = kernel.try_launch({}, view(a, {8, 8}), view(c, {8, 8}));
  std::string text = to_text(found);
  ASSERT_EQ(found.size(), 1u) << text;
  expectFinding(found, {2110, "ready", "ended"}, __FILE__);
  expectFinding(found, {2110, "empty"}, __FILE__);
  EXPECT_TRUE(contains(text, "deadlock: warp 0 waits for barrier `ready`")) << text;
  EXPECT_TRUE(contains(text, "warp 1 waits for mbarrier `ended`")) << text;
  EXPECT_TRUE(contains(text, "warps 4 to 7 wait for mbarrier `empty[1]`")) << text;
  EXPECT_TRUE(contains(text, "warps 2 and 3 wait for barrier `b.sync()`: 64 of 256 threads"))
      << text;
}

/// The accumulator is read while the tensor core may still write it.
struct ReadTooEarly {
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    b.grid(1);
    b.threads(128);
    auto As = b.shared<f16>(128, 32), Bs = b.shared<f16>(64, 32);
    auto sums = b.tcgen05.alloc<f32>(128, 64), others = b.tcgen05.alloc<f32>(128, 32);
    auto [loaded, multiplied] = b.mbarrier.alloc<2>({1, 1});
    b.warp(0, [&] {
      b.elect_one([&] { b.mbarrier.arrive_expect(loaded, As.bytes() + Bs.bytes()); });
      b.tma.load(A.at(0, 0), As, loaded);
      b.tma.load(B.at(0, 0), Bs, loaded);
      b.mbarrier.wait(loaded, 0);
      b.tcgen05.mma(As, transposed(Bs), sums, {.accumulate = false}); // [product]
      b.tcgen05.commit(multiplied);
    });
    auto slab = b.tcgen05.load(sums); // [load]
    b.tcgen05.wait_load();
    b.copy(slab, C.at(0, 0));
    b.mbarrier.wait(multiplied, 0);
    b.sync();
    b.tcgen05.dealloc(sums);
    b.tcgen05.dealloc(others);
  }
};

TEST(FindingText, TensorMemoryHasTheNamesOfAccumulators) {
  auto kernel = compile(ReadTooEarly{}, Target::sm_100a().emulated(), {.check_barriers = false});
  Product product(128, 64, 32);
  auto found = product.launch(kernel, timings[0]);
  expectFinding(found, {2101, "load", "product"}, __FILE__);
  EXPECT_TRUE(contains(to_text(found), "data race on `sums`: ")) << to_text(found);
}

} // namespace
