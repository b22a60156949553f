//===- TensorOrderTest.cpp - What orders accesses to tensor memory --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The synchronization patterns of the ISA's chapter on tcgen05, each complete and
// with one part missing.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Tier.h"
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

const std::string store = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r0], {%t};",
                  load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r0];",
                  waitStore = "tcgen05.wait::st.sync.aligned;",
                  waitLoad = "tcgen05.wait::ld.sync.aligned;",
                  before = "tcgen05.fence::before_thread_sync;",
                  after = "tcgen05.fence::after_thread_sync;";

/// Runs \p body on \p block threads between the allocation by warp 0 of 32 columns,
/// whose address is in %r0, and their release.
Report run(const std::string &body, uint32_t block, LaunchOptions options = {}) {
  TestKernel kernel(TestKernel::wrap(R"(
.reg .b32 %t, %w, %r<20>; .reg .b64 %x<3>; .reg .pred %p<9>;
.shared .align 4 .b32 base; .shared .align 8 .b64 bar;
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; ld.param.u64 %x0, [p0];
mad.wide.u32 %x1, %t, 4, %x0;
setp.ne.u32 %p0, %t, 0; @%p0 bra READY;
mbarrier.init.shared::cta.b64 [bar], 32;
READY: setp.ne.u32 %p1, %w, 0; @%p1 bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
ALLOCATED: bar.sync 0; ld.shared.u32 %r0, [base];
)" + body + R"(
bar.sync 0; @%p1 bra END;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;
END: ret;)",
                                     1));
  kernel.emptyBuffer(4096);
  return kernel.run(1, block, options);
}

TEST(TensorOrder, StoresAndLoadsNeedTheirWaits) {
  const std::string use = "st.global.u32 [%x1], %r1;";
  EXPECT_CLEAN(run(store + waitStore + load + waitLoad + use, 32));
  EXPECT_FINDING(run(store + load + waitLoad + use, 32), EmuDataRace);
  // Freeing is what the load races with. Registers that have been used are loaded on hardware.
  Report used = run(store + waitStore + load + use, 32);
  EXPECT_FINDING(used, EmuDataRace);
  EXPECT_EQ(tierOf(used.findings[0]), Tier::Undefined);
  Report unused = run(store + waitStore + load, 32);
  EXPECT_FINDING(unused, EmuDataRace);
  EXPECT_EQ(tierOf(unused.findings[0]), Tier::Wrong);
}

TEST(TensorOrder, RegistersOfALoadWaitByThemselvesUnlessAskedFor) {
  const std::string start = store + waitStore + load, use = "st.global.u32 [%x1], %r1;",
                    overwrite = "mov.u32 %r1, 0;";
  LaunchOptions contract;
  contract.waitBeforeUse = true;
  EXPECT_CLEAN(run(start + use + waitLoad, 32));
  EXPECT_CLEAN(run(start + waitLoad + use, 32, contract));
  EXPECT_FINDING(run(start + use + waitLoad, 32, contract), EmuRegisterInFlight);
  EXPECT_FINDING(run(start + overwrite + waitLoad, 32, contract), EmuRegisterInFlight);
  EXPECT_FINDING(run(start + load + waitLoad, 32, contract), EmuRegisterInFlight);
  // A wait for stores says nothing about loads; what is stored was read at once.
  EXPECT_FINDING(run(start + waitStore + use + waitLoad, 32, contract), EmuRegisterInFlight);
  EXPECT_CLEAN(run(store + "mov.u32 %t, 0;" + waitStore, 32, contract));
}

/// Warp 0 writes, and hands over to warp 4, which reaches the same lanes.
Report handOver(const std::string &publish, const std::string &order, const std::string &take) {
  return run("setp.eq.u32 %p2, %w, 0; @!%p2 bra NOT_FIRST;\n" + store + waitStore + publish +
                 "\nbra DONE;\nNOT_FIRST: setp.eq.u32 %p3, %w, 4; @!%p3 bra DONE;\n" +
                 "SPIN: mbarrier.try_wait.parity" + order +
                 ".shared::cta.b64 %p4, [bar], 0; @!%p4 bra SPIN;\n" + take + load + waitLoad +
                 "\nDONE:",
             160);
}

TEST(TensorOrder, RelaxedHandOverNeedsBothFences) {
  const std::string arrive = "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];",
                    relaxed = ".relaxed.cta";
  EXPECT_CLEAN(handOver(before + arrive, relaxed, after));
  EXPECT_FINDING(handOver(arrive, relaxed, after), EmuDataRace);
  EXPECT_FINDING(handOver(before + arrive, relaxed, ""), EmuDataRace);
  EXPECT_FINDING(handOver(arrive, relaxed, ""), EmuDataRace);
  // The fence must stand before the arrival and after the store.
  EXPECT_FINDING(handOver(arrive + before, relaxed, after), EmuDataRace);
}

TEST(TensorOrder, ReleaseAndAcquireNeedNoFences) {
  const std::string arrive = "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];";
  EXPECT_CLEAN(handOver(arrive, ".acquire.cta", ""));
  EXPECT_FINDING(handOver(arrive, ".relaxed.cta", ""), EmuDataRace);
  // A general fence makes a relaxed wait acquire.
  EXPECT_CLEAN(handOver(arrive, ".relaxed.cta", "fence.acq_rel.cta;"));
}

TEST(TensorOrder, FencesOrderTensorMemoryAlone) {
  auto handOverShared = [](const std::string &arrive, const std::string &order) {
    return run(R"(.shared .align 4 .b8 word[128]; shl.b32 %r2, %t, 2; and.b32 %r2, %r2, 127;
mov.u32 %r3, word; add.u32 %r2, %r2, %r3;
setp.eq.u32 %p2, %w, 0; @!%p2 bra NOT_FIRST;
st.shared.u32 [%r2], %t;
)" + before + arrive +
                   "bra DONE;\nNOT_FIRST: setp.eq.u32 %p3, %w, 4; @!%p3 bra DONE;\n" +
                   "SPIN: mbarrier.try_wait.parity" + order +
                   ".shared::cta.b64 %p4, [bar], 0; @!%p4 bra SPIN;\n" + after +
                   "ld.shared.u32 %r4, [%r2];\nDONE:",
               160);
  };
  EXPECT_CLEAN(
      handOverShared("mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];", ".acquire.cta"));
  EXPECT_FINDING(
      handOverShared("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];", ".relaxed.cta"),
      EmuDataRace);
}

} // namespace
