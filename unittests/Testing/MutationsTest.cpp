//===- MutationsTest.cpp - What can be broken in a text -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Mutation/Mutations.h"
#include "PTX/Parser.h"

#include <gtest/gtest.h>

using namespace penstock;

namespace {

constexpr const char *text = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 unused)
{
  .reg .b32 %r<4>;
  .shared .align 8 .b64 bar;
  mov.u32 %r1, bar;
  mov.u32 %r2, 1;
  mbarrier.init.shared::cta.b64 [%r1], %r2;
  bar.sync 0; bar.sync 1, 64;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r2;
  { .reg .pred done; again: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%r1], %r2; @!done bra again; }
  cp.async.bulk.wait_group.read 0;
  ret;
}
)";

struct Read {
  std::shared_ptr<const ptx::Module> module;
  std::vector<Mutation> mutations;
  Read() {
    auto result = ptx::parse(text, "kernel.ptx");
    module = result.module;
    if (module)
      mutations = mutationsOf(*module, "kernel");
  }
};

TEST(Mutations, EachInstructionInItsWays) {
  Read read;
  ASSERT_TRUE(read.module);
  std::vector<std::pair<uint32_t, Change>> found;
  for (const Mutation &mutation : read.mutations)
    found.emplace_back(mutation.line, mutation.change);
  std::vector<std::pair<uint32_t, Change>> expected = {
      {10, Change::Removed},   {10, Change::OneMore},       {11, Change::Removed},
      {11, Change::Removed},   {11, Change::MoreThreads},   {12, Change::Removed},
      {12, Change::MoreBytes}, {12, Change::FewerBytes},    {12, Change::NotReleased},
      {13, Change::Removed},   {13, Change::OtherPhase},    {13, Change::NotAcquired},
      {14, Change::Removed},   {14, Change::OnePendingMore}};
  EXPECT_EQ(found, expected);
}

TEST(Mutations, TouchNothingElseAndCanBeRead) {
  Read read;
  ASSERT_FALSE(read.mutations.empty());
  for (const Mutation &mutation : read.mutations) {
    const Mutation *one[] = {&mutation};
    std::string changed = applied(text, one);
    EXPECT_NE(changed, text);
    EXPECT_EQ(std::count(changed.begin(), changed.end(), '\n'), 16);
    EXPECT_TRUE(ptx::parse(changed, "mutant.ptx").module) << changed;
    EXPECT_TRUE(ptx::parse(trapped(text, mutation), "trap.ptx").module);
  }
  auto replacement = [&](size_t index) { return read.mutations[index].replacement; };
  EXPECT_EQ(replacement(4), "bar.sync 1, 96;");
  EXPECT_EQ(replacement(9), "setp.eq.u32 done, 0, 0;");
  EXPECT_EQ(replacement(13), "cp.async.bulk.wait_group.read 1;");
}

/// The mutations of a kernel with this body that are harmless, by their lines.
std::vector<uint32_t> equivalentLines(const std::string &body) {
  std::vector<uint32_t> lines;
  auto result = ptx::parse(".version 9.0\n.target sm_100a\n.address_size 64\n"
                           ".visible .entry kernel(.param .u64 unused) {\n"
                           ".reg .b32 %r<4>; .reg .pred %p; .shared .align 8 .b64 bar;\n" +
                               body + "ret; }\n",
                           "kernel.ptx");
  EXPECT_TRUE(result.module) << body;
  if (result.module)
    for (const Mutation &mutation : mutationsOf(*result.module, "kernel"))
      if (!mutation.equivalent.empty())
        lines.push_back(mutation.line);
  return lines;
}

TEST(Mutations, FencesOfTensorMemoryMatterBesideRelaxedSynchronization) {
  const std::string fences =
      "tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;\n";
  using Lines = std::vector<uint32_t>;
  EXPECT_EQ(equivalentLines(fences), (Lines{6, 8}));
  EXPECT_EQ(equivalentLines(fences + "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];\n"),
            (Lines{6, 8}));
  // Before relaxed arrivals the first one matters, and after relaxed waits the second.
  const std::string relaxed = "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];\n";
  const std::string waits =
      ".reg .pred %p<2>;\nmbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p1, [bar], 0;\n";
  EXPECT_EQ(equivalentLines(fences + relaxed), Lines{8});
  EXPECT_EQ(equivalentLines(fences + waits), Lines{6});
  EXPECT_EQ(equivalentLines(fences + relaxed + waits), Lines{});
  const std::string polled = "atom.shared.add.u32 %r1, [bar], 1;\nadd.u32 %r2, %r1, 1;\n";
  EXPECT_EQ(equivalentLines(fences + polled), Lines{});
  EXPECT_EQ(equivalentLines(fences + "red.shared.add.u32 [bar], 1;\n" + polled), Lines{});
}

/// As those that record a fault: no one waits for them.
TEST(Mutations, AtomicsThatNobodyReadsSynchronizeNothing) {
  const std::string fences =
      "tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;\n";
  using Lines = std::vector<uint32_t>;
  EXPECT_EQ(equivalentLines(fences + "atom.shared.add.u32 %r1, [bar], 1;\n"), (Lines{6, 8}));
  EXPECT_EQ(equivalentLines(fences + "red.shared.add.u32 [bar], 1;\n"), (Lines{6, 8}));
}

TEST(Mutations, InitializationsArePublishedByABarrierOfTheOnlyBlock) {
  const std::string fence = "fence.mbarrier_init.release.cluster;\n";
  using Lines = std::vector<uint32_t>;
  EXPECT_EQ(equivalentLines(fence + "mov.u32 %r1, 0;\nbar.sync 0;\n"), Lines{6});
  EXPECT_EQ(equivalentLines(fence + "bar.sync 1, 64;\n"), Lines{});
  EXPECT_EQ(equivalentLines(fence + "bar.warp.sync -1;\nbar.sync 0;\n"), Lines{});
  EXPECT_EQ(equivalentLines(fence), Lines{});
  EXPECT_EQ(equivalentLines(fence + "bar.sync 0;\nbarrier.cluster.arrive.aligned;\n"
                                    "barrier.cluster.wait.aligned;\n"),
            Lines{});
}

TEST(Mutations, TwoAtOnce) {
  Read read;
  ASSERT_GE(read.mutations.size(), 4u);
  const Mutation *both[] = {&read.mutations[2], &read.mutations[3]};
  EXPECT_EQ(applied(text, both).find("bar.sync"), std::string::npos);
}

} // namespace
