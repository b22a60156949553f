//===- ControlTest.cpp - Divergence, calls, warp operations ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

std::vector<uint32_t> runBody(const std::string &body, uint32_t block = 64,
                              const std::string &head = "") {
  TestKernel kernel(TestKernel::wrap(prologue + body, 1, head));
  uint64_t out = kernel.emptyBuffer(block * 4);
  Report report = kernel.run(1, block);
  EXPECT_CLEAN(report);
  return kernel.read<uint32_t>(out, block);
}

TEST(Control, LoopsOfDifferentLength) {
  // Sum of 1..tid in a loop; lanes leave one by one and meet after it.
  auto got = runBody(R"(
mov.u32 %r0, 0; mov.u32 %r1, 0;
LOOP: setp.ge.u32 %p0, %r1, %t; @%p0 bra DONE;
add.u32 %r1, %r1, 1; add.u32 %r0, %r0, %r1; bra LOOP;
DONE: activemask.b32 %r2; setp.ne.u32 %p1, %r2, -1; @%p1 mov.u32 %r0, 9999;
st.global.u32 [%x1], %r0; ret;)");
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(got[t], t * (t + 1) / 2);
}

TEST(Control, NestedBranchesReconverge) {
  auto got = runBody(R"(
mov.u32 %r0, 0;
and.b32 %r1, %t, 1; setp.eq.u32 %p0, %r1, 0;
and.b32 %r1, %t, 2; setp.eq.u32 %p1, %r1, 0;
@%p0 bra A;
@%p1 bra B;
mov.u32 %r0, 3; bra JOIN;
B: mov.u32 %r0, 2; bra JOIN;
A: mov.u32 %r0, 1;
JOIN: activemask.b32 %r2; setp.ne.u32 %p2, %r2, -1; @%p2 add.u32 %r0, %r0, 100;
st.global.u32 [%x1], %r0; ret;)");
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(got[t], !(t & 1) ? 1u : !(t & 2) ? 2u : 3u);
}

TEST(Control, LanesThatWaitForEachOther) {
  // Lane 0 spins until lane 1 of the same warp has stored: needs independent
  // progress of diverged lanes.
  auto got = runBody(R"(
.shared .u32 flag;
setp.ne.u32 %p0, %t, 0; @%p0 bra OTHER;
SPIN: ld.volatile.shared.u32 %r1, [flag]; setp.ne.u32 %p1, %r1, 7; @%p1 bra SPIN;
bra END;
OTHER: setp.ne.u32 %p2, %t, 1; @%p2 bra END;
st.volatile.shared.u32 [flag], 7;
END: mov.u32 %r0, %t; st.global.u32 [%x1], %r0; ret;)",
                     32);
  // The spin reads the flag before it is written: report aside, it ends.
  EXPECT_EQ(got[5], 5u);
}

TEST(Control, CallsAreInlined) {
  std::string head = R"(
.func (.param .u32 r) square(.param .u32 a) {
.reg .b32 %v; ld.param.u32 %v, [a]; mul.lo.u32 %v, %v, %v;
st.param.u32 [r], %v; ret; }
)";
  auto got = runBody(R"(
{ .param .u32 a0; .param .u32 r0; st.param.u32 [a0], %t;
call (r0), square, (a0); ld.param.u32 %r0, [r0]; }
st.global.u32 [%x1], %r0; ret;)",
                     64, head);
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(got[t], t * t);
}

TEST(Control, Shuffles) {
  auto got = runBody(R"(
shfl.sync.bfly.b32 %r0, %t, 5, 31, -1;
shfl.sync.up.b32 %r1|%p0, %t, 3, 0, -1;
@!%p0 mov.u32 %r1, 77;
shfl.sync.idx.b32 %r2, %t, 2, 0x181f, -1;
mad.lo.u32 %r0, %r0, 1000, %r1; mad.lo.u32 %r0, %r0, 1000, %r2;
st.global.u32 [%x1], %r0; ret;)",
                     32);
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t up = t >= 3 ? t - 3 : 77, idx = (t & 24) + 2;
    EXPECT_EQ(got[t], ((t ^ 5) * 1000 + up) * 1000 + idx) << t;
  }
}

TEST(Control, VotesElectionsReductions) {
  auto got = runBody(R"(
and.b32 %r1, %t, 3; setp.eq.u32 %p0, %r1, 1;
vote.sync.ballot.b32 %r0, %p0, -1;
redux.sync.add.u32 %r2, %t, -1;
elect.sync %r3|%p1, -1; selp.u32 %r4, 1, 0, %p1;
match.any.sync.b32 %r5, %r1, -1;
xor.b32 %r0, %r0, %r2; xor.b32 %r0, %r0, %r5; add.u32 %r0, %r0, %r4;
st.global.u32 [%x1], %r0; ret;)",
                     32);
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t same = 0x11111111u << (t & 3);
    EXPECT_EQ(got[t], (0x22222222u ^ 496u ^ same) + (t == 0)) << t;
  }
}

TEST(Control, NamedBarriersAndAtomics) {
  auto got = runBody(R"(
.shared .u32 sum;
setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [sum], 0;
bar.sync 0;
atom.shared.add.u32 %r1, [sum], %t;
barrier.sync 3, 128;
ld.shared.u32 %r0, [sum];
st.global.u32 [%x1], %r0; ret;)",
                     128);
  for (uint32_t t = 0; t < 128; ++t)
    EXPECT_EQ(got[t], 127u * 128 / 2);
}

TEST(Control, GridAtomicsAcrossBlocks) {
  TestKernel kernel(TestKernel::wrap(std::string(prologue) + R"(
mov.u32 %r1, %ctaid.x; add.u32 %r1, %r1, 1;
red.global.add.u32 [%x0], %r1; ret;)",
                                     1));
  uint64_t out = kernel.buffer(std::vector<uint32_t>(1, 0));
  Report report = kernel.run(20, 32);
  EXPECT_CLEAN(report);
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 32u * (20 * 21 / 2));
}

TEST(Control, SharedVariablesOfOtherKernelsTakeNoRoom) {
  // 200 KiB each, of 227 KiB; the called function has a variable of its own.
  std::string head = ".visible .entry other() { .shared .b8 a[204800]; ret; }\n"
                     ".func called() { .shared .b32 b; .reg .b32 %r; st.shared.u32 [b], 7;\n"
                     "ld.shared.u32 %r, [b]; ret; }\n";
  TestKernel kernel(TestKernel::wrap(
      "{ .shared .b8 a[204800]; st.shared.u32 [a+204796], 1; call called; ret; }", 0, head));
  EXPECT_CLEAN(kernel.run(1, 1));
}

/// Two functions of one signature and one of another, and a kernel that calls what a register
/// holds.
std::string called(const std::string &choose, const std::string &list) {
  std::string head = ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %v;\n"
                     "ld.param.u32 %v, [a]; shl.b32 %v, %v, 1; st.param.b32 [r], %v; ret; }\n"
                     ".func (.param .b32 r) next(.param .b32 a) { .reg .b32 %v;\n"
                     "ld.param.u32 %v, [a]; add.u32 %v, %v, 1; st.param.b32 [r], %v; ret; }\n"
                     ".func nothing() { ret; }\n"
                     ".global .u64 table[2] = {twice, next};\n";
  return TestKernel::wrap(std::string(prologue) + R"(
.reg .b64 %fn<3>; .reg .b32 %v;
mov.u64 %fn1, nothing;
)" + choose + "\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %t;\n" +
                              list + R"(
call (y), %fn0, (x), list;
ld.param.b32 %v, [y]; }
mad.wide.u32 %x1, %t, 4, %x0; st.global.u32 [%x1], %v; ret;)",
                          1, head);
}

TEST(Control, IndirectCallsDiverge) {
  // Through a prototype or a list; from a constant or from memory.
  for (const char *list : {"list: .callprototype (.param .b32 _) _ (.param .b32 _);",
                           "list: .calltargets next, twice;"})
    for (const char *choose :
         {"mov.u64 %fn0, twice; and.b32 %r0, %t, 1; setp.eq.u32 %p0, %r0, 1; @%p0 mov.u64 %fn0, "
          "next;",
          "and.b32 %r0, %t, 1; mov.u64 %fn2, table; mad.wide.u32 %fn2, %r0, 8, %fn2;\n"
          "ld.global.u64 %fn0, [%fn2];"}) {
      TestKernel kernel(called(choose, list));
      uint64_t out = kernel.emptyBuffer(128);
      EXPECT_CLEAN(kernel.run(1, 32));
      std::vector<uint32_t> got = kernel.read<uint32_t>(out, 32);
      for (uint32_t t = 0; t < 32; ++t)
        EXPECT_EQ(got[t], t & 1 ? t + 1 : 2 * t);
    }
}

TEST(Control, IndirectCallsOfOtherAddressesAreReported) {
  // A function with other parameters, and one that the list does not have.
  for (auto [choose, list] :
       {std::pair("mov.u64 %fn0, nothing;",
                  "list: .callprototype (.param .b32 _) _ (.param .b32 _);"),
        std::pair("mov.u64 %fn0, 4096;", "list: .callprototype (.param .b32 _) _ (.param .b32 _);"),
        std::pair("mov.u64 %fn0, next;", "list: .calltargets twice;")}) {
    TestKernel kernel(called(choose, list));
    kernel.emptyBuffer(128);
    Report report = kernel.run(1, 32);
    EXPECT_TRUE(report.has(EmuIllegalOperand)) << text(report);
    EXPECT_FALSE(report.completed);
  }
}

} // namespace
