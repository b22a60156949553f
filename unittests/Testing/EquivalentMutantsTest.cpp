//===- EquivalentMutantsTest.cpp - Which mutants their text explains ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Mutation/EquivalentMutants.h"
#include "PTX/Parser.h"

#include <gtest/gtest.h>

using namespace penstock;

namespace {

/// Returns whether a change of the first instruction with a prefix is explained.
bool isExplained(const std::string &body, const std::string &prefix = "mbarrier.try_wait",
                 Change change = Change::NotAcquired) {
  auto result = ptx::parse(R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry kernel(.param .u64 unused)
{
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  .shared .align 8 .b64 bar;
  mov.u32 %r1, bar;
  mov.u32 %r2, 0;
  setp.eq.u32 %p1, %r1, 0;
)" + body + "\n  ret;\n}\n",
                           "kernel.ptx");
  EXPECT_TRUE(result.module);
  if (!result.module)
    return false;
  const ptx::Function &kernel = *result.module->functions.front();
  for (const auto &instruction : kernel.body)
    if (instruction->opcode.starts_with(prefix))
      return !EquivalentMutants(kernel).reasonIfUnnoticed(*instruction, change).empty();
  ADD_FAILURE() << "no " << prefix;
  return false;
}

const std::string waitFor =
    "{ .reg .pred done; again: mbarrier.try_wait.parity.acquire.cta.shared::"
    "cta.b64 done, [%r1], %r2; @!done bra again; }\n";
const std::string fence = "tcgen05.fence::after_thread_sync;\n";
const std::string load = "ld.shared.u32 %r3, [%r1];\n";

} // namespace

TEST(EquivalentMutants, AFenceOfTensorMemoryOrdersRelaxedWaits) {
  EXPECT_TRUE(isExplained(waitFor + fence));
  EXPECT_FALSE(isExplained(waitFor + load));
  EXPECT_FALSE(isExplained(waitFor + "bar.sync 0;\n" + fence));
}

TEST(EquivalentMutants, TheFenceMayBeElsewhereInTheText) {
  EXPECT_TRUE(isExplained(waitFor + "bra.uni A;\n" + load + "A: " + fence));
  // The branch passes the fence by.
  EXPECT_FALSE(isExplained(waitFor + "bra.uni A;\n" + fence + "A: bar.sync 0;\n"));
}

TEST(EquivalentMutants, TheNextWaitAcquires) {
  EXPECT_TRUE(isExplained(waitFor + waitFor));
  EXPECT_TRUE(isExplained(waitFor + "@%p1 bra A;\n" + waitFor + "A: " + load));
  EXPECT_FALSE(isExplained(waitFor + load + waitFor));
}

TEST(EquivalentMutants, AWaitOfTheWarpCompletesTheStoresOfAllLanes) {
  auto isBarrierExplained = [](const std::string &before) {
    return isExplained(before + "bar.warp.sync 0xffffffff;\n", "bar.warp.sync", Change::Removed);
  };
  const std::string stores = "tcgen05.wait::st.sync.aligned;\n",
                    fenceBefore = "tcgen05.fence::before_thread_sync;\n";
  EXPECT_TRUE(isBarrierExplained(stores));
  EXPECT_TRUE(isBarrierExplained(stores + fenceBefore));
  EXPECT_FALSE(isBarrierExplained(fenceBefore));
  EXPECT_FALSE(isBarrierExplained(stores + "bar.sync 0;\n"));
  EXPECT_FALSE(isExplained(stores + "bar.sync 0;\n", "bar.sync", Change::Removed));
}
