//===- BulkTest.cpp - Stores of many bytes at once ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

const std::string start = R"(
.reg .b32 %t, %r<9>; .reg .b64 %x<9>; .reg .b16 %h; .reg .pred %p<4>;
.shared .align 16 .b8 smem[256];
mov.u32 %t, %tid.x; ld.param.u64 %x0, [p0]; mad.wide.u32 %x1, %t, 4, %x0;
mov.u32 %r0, smem; mad.lo.u32 %r1, %t, 4, %r0; mov.u64 %x2, 64;
setp.eq.u32 %p0, %t, 0;
)";

/// Runs \p body on 32 threads with a buffer of 256 bytes 0x11.
Report run(const std::string &body, std::vector<uint8_t> *after = nullptr) {
  TestKernel kernel(TestKernel::wrap(start + body + " ret;", 1));
  uint64_t buffer = kernel.buffer(std::vector<uint8_t>(256, 0x11));
  Report report = kernel.run(1, 32);
  if (after)
    *after = kernel.read<uint8_t>(buffer, 256);
  return report;
}

TEST(Bulk, StoreOfZeros) {
  const std::string out = "ld.shared.u32 %r2, [%r1]; st.global.u32 [%x1], %r2;";
  std::vector<uint8_t> after;
  // 64 of the 128 bytes that the threads have written become zero.
  EXPECT_CLEAN(run("st.shared.u32 [%r1], 0x22222222; bar.warp.sync -1;"
                   "@%p0 st.bulk.weak.shared::cta [%r0], %x2, 0; bar.warp.sync -1;" +
                       out,
                   &after));
  for (size_t i = 0; i < 256; ++i)
    EXPECT_EQ(after[i], i < 64 ? 0 : i < 128 ? 0x22 : 0x11) << i;
  // By a generic address, with the size as a constant.
  EXPECT_CLEAN(run("cvta.shared.u64 %x3, smem; @%p0 st.bulk [%x3], 128, 0; bar.warp.sync -1;" + out,
                   &after));
  for (size_t i = 0; i < 128; ++i)
    EXPECT_EQ(after[i], 0) << i;
}

TEST(Bulk, StoreOfZerosIsChecked) {
  // It is a store like others: threads that read it must have synchronized.
  EXPECT_FINDING(run("@%p0 st.bulk.shared::cta [%r0], %x2, 0; ld.shared.u32 %r2, [%r1];"),
                 EmuDataRace);
  EXPECT_FINDING(run("@%p0 st.bulk.shared::cta [%r0], 60, 0;"), EmuIllegalOperand);
  EXPECT_FINDING(run("@%p0 st.bulk.shared::cta [%r0+4], 64, 0;"), EmuMisaligned);
  EXPECT_FINDING(run("@%p0 st.bulk.shared::cta [%r0], 264, 0;"), EmuOutOfBounds);
  EXPECT_FINDING(run("@%p0 st.bulk [%x0], 64, 0;"), EmuIllegalOperand);
}

TEST(Bulk, StoreWithAByteMask) {
  auto store = [](const std::string &mask, const std::string &hint) {
    return "st.shared.u32 [%r1], 0x22222222; fence.proxy.async.shared::cta; bar.warp.sync -1;"
           "mov.b16 %h, " +
           mask + "; @!%p0 bra END; cp.async.bulk.global.shared::cta.bulk_group" +
           (hint.empty() ? "" : ".L2::cache_hint") + ".cp_mask [%x0], [%r0], 64, " + hint +
           "%h; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END:";
  };
  std::vector<uint8_t> after;
  EXPECT_CLEAN(run(store("0x8003", ""), &after));
  for (size_t i = 0; i < 256; ++i) {
    bool copied = i < 64 && (i % 16 == 0 || i % 16 == 1 || i % 16 == 15);
    EXPECT_EQ(after[i], copied ? 0x22 : 0x11) << i;
  }
  EXPECT_CLEAN(run(store("0", "%x2, "), &after));
  EXPECT_EQ(after, std::vector<uint8_t>(256, 0x11));
}

TEST(Bulk, BytesOutsideOfTheMaskAreNotTouched) {
  // While the store is under way a thread writes to a byte of its destination.
  auto besides = [](const std::string &at) {
    return "st.shared.u32 [%r1], %t; fence.proxy.async.shared::cta; bar.warp.sync -1;"
           "mov.b16 %h, 0x00ff; @!%p0 bra END;"
           "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%x0], [%r0], 16, %h;"
           "cp.async.bulk.commit_group; st.global.u8 [%x0+" +
           at + "], %t; cp.async.bulk.wait_group 0; END:";
  };
  EXPECT_CLEAN(run(besides("8")));
  EXPECT_FINDING(run(besides("7")), EmuDataRace);
}

TEST(Bulk, OneSidedProxyFences) {
  auto publish = [](const std::string &fence) {
    return "st.shared.u32 [%r1], %t; " + fence +
           " bar.warp.sync -1; @!%p0 bra END;"
           "cp.async.bulk.global.shared::cta.bulk_group [%x0], [%r0], 128;"
           "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END:";
  };
  EXPECT_FINDING(run(publish("")), EmuMissingProxyFence);
  EXPECT_CLEAN(
      run(publish("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;")));
  EXPECT_CLEAN(run("st.shared.u32 [%r1], %t; bar.warp.sync -1; @!%p0 bra END;"
                   "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"
                   "cp.async.bulk.global.shared::cta.bulk_group [%x0], [%r0], 128;"
                   "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END:"));
}

/// Adds 32 words of shared memory, each the thread's number, to the buffer; \p after is executed by
/// the thread that does.
std::string reduction(const std::string &after, const std::string &type = "u32") {
  return "st.shared.u32 [%r1], %t; fence.proxy.async.shared::cta; bar.warp.sync -1;"
         "@!%p0 bra END; cp.reduce.async.bulk.global.shared::cta.bulk_group.add." +
         type + " [%x0], [%r0], 128; cp.async.bulk.commit_group;" + after +
         "END: bar.warp.sync -1;";
}

TEST(Bulk, ReductionsDoNotRaceWithReductions) {
  EXPECT_CLEAN(run(reduction("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%x0], "
                             "[%r0], 128; cp.async.bulk.commit_group;"
                             "cp.async.bulk.wait_group 0;")));
}

/// Atomics of threads are performed via another proxy: they are ordered before reductions of the
/// same memory or after them.
TEST(Bulk, ReductionsAndAtomicsAreOrdered) {
  const std::string wait = "cp.async.bulk.wait_group 0;", atomic = "red.global.add.u32 [%x1], 1;";
  std::vector<uint8_t> after;
  auto expectSum = [&] {
    for (uint32_t i = 0; i < 32; ++i) {
      uint32_t word;
      memcpy(&word, &after[i * 4], 4);
      EXPECT_EQ(word, 0x11111111 + 1 + i) << i;
    }
  };
  EXPECT_CLEAN(run(atomic + reduction(wait), &after));
  expectSum();
  EXPECT_CLEAN(run(reduction(wait) + atomic, &after));
  expectSum();
  // Both at once, one word of the other, or the value of an atomic.
  EXPECT_FINDING(run(reduction("red.global.add.u32 [%x0+124], 1;" + wait)), EmuDataRace);
  EXPECT_FINDING(run(reduction("atom.global.add.u32 %r2, [%x0], 1;" + wait)), EmuDataRace);
  EXPECT_CLEAN(run(reduction("red.global.add.u32 [%x0+128], 1;" + wait)));
  // A wait for its reads is not enough.
  EXPECT_FINDING(run(reduction("cp.async.bulk.wait_group.read 0;") + atomic), EmuDataRace);
  // Ordered, but without the fence between the proxies.
  std::string late = atomic + "bar.warp.sync -1;" + reduction(wait);
  late.erase(late.find("fence.proxy.async.shared::cta;"), 30);
  EXPECT_FINDING(run(late), EmuMissingProxyFence);
}

TEST(Bulk, ReductionsRaceWithPlainAccesses) {
  // Its results are known after a wait for all of it, not for its reads.
  EXPECT_CLEAN(run(reduction("cp.async.bulk.wait_group 0;") + "ld.global.u32 %r2, [%x1];"));
  EXPECT_FINDING(run(reduction("cp.async.bulk.wait_group.read 0;") + "ld.global.u32 %r2, [%x1];"),
                 EmuDataRace);
  EXPECT_FINDING(run(reduction("ld.global.u32 %r2, [%x0]; cp.async.bulk.wait_group 0;")),
                 EmuDataRace);
  EXPECT_FINDING(run(reduction("st.global.u32 [%x0+124], %t; cp.async.bulk.wait_group 0;")),
                 EmuDataRace);
  EXPECT_CLEAN(run(reduction("st.global.u32 [%x0+128], %t; cp.async.bulk.wait_group 0;")));
  // Against a plain bulk store of the same thread.
  EXPECT_FINDING(run(reduction("cp.async.bulk.global.shared::cta.bulk_group [%x0], [%r0], 16;"
                               "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;")),
                 EmuDataRace);
}

TEST(Bulk, SourceOfAReductionIsFreeAfterItsReads) {
  const std::string overwrite = "st.shared.u32 [%r1], 0;";
  EXPECT_CLEAN(run(reduction("cp.async.bulk.wait_group.read 0;") + overwrite));
  EXPECT_FINDING(run(reduction("") + overwrite), EmuDataRace);
  // Without the fence, writes of threads may come too late.
  std::string late = reduction("cp.async.bulk.wait_group 0;");
  late.erase(late.find("fence.proxy.async.shared::cta;"), 30);
  EXPECT_FINDING(run(late), EmuMissingProxyFence);
}

} // namespace
