//===- CopyOperandsTest.cpp - Operands of cp.async ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forms that ptxas 13.0 accepts and rejects: sizes, sizes of the source,
// ignored sources, prefetch sizes and cache policies.
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <random>

using namespace penstock;
using namespace penstock::emu;

namespace {

const std::string start = R"(
.reg .b32 %t, %r<9>; .reg .b64 %x<9>, %policy; .reg .pred %p<4>;
.shared .align 16 .b8 smem[512];
mov.u32 %t, %tid.x; ld.param.u64 %x0, [p0]; ld.param.u64 %x1, [p1];
mov.u32 %r0, smem; mad.lo.u32 %r1, %t, 16, %r0;
mad.wide.u32 %x2, %t, 16, %x0; mad.wide.u32 %x3, %t, 16, %x1;
st.shared.v4.u32 [%r1], {0xeeeeeeee, 0xeeeeeeee, 0xeeeeeeee, 0xeeeeeeee};
and.b32 %r2, %t, 1; setp.eq.u32 %p0, %r2, 1;
createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;
)";
const std::string end = R"(
cp.async.wait_all;
ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1]; st.global.v4.u32 [%x3], {%r4, %r5, %r6, %r7};
ret;
)";

/// The 512 bytes that 32 threads copy through shared memory, 16 each.
Report run(const std::string &copy, std::vector<uint8_t> *after = nullptr,
           const std::string &before = "") {
  TestKernel kernel(TestKernel::wrap(start + before + copy + end, 2));
  std::vector<uint8_t> in(512);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint8_t(1 + i % 200);
  kernel.buffer(in);
  uint64_t out = kernel.buffer(std::vector<uint8_t>(512));
  Report report = kernel.run(1, 32);
  if (after)
    *after = kernel.read<uint8_t>(out, 512);
  return report;
}

/// Whether a kernel with one copy is rejected, when it is loaded or when it is decoded.
bool rejected(const std::string &copy) {
  Device device;
  std::vector<Diagnostic> diagnostics;
  auto module = device.load(TestKernel::wrap(start + copy + end, 2), "test.ptx", diagnostics);
  if (!module)
    return !diagnostics.empty();
  LaunchConfig config;
  ParamPacker packer;
  for (unsigned i = 0; i < 2; ++i)
    packer.add(device.memory.allocate(512));
  config.params = packer.bytes;
  config.block = {32, 1, 1};
  Report report = device.launch(*module, "k", config, {});
  return report.has(PtxUnsupported);
}

TEST(CopyOperands, EveryFormOfPtxas) {
  std::mt19937 random(7);
  auto pick = [&](size_t n) { return size_t(random() % n); };
  for (unsigned round = 0; round < 200; ++round) {
    bool global = pick(2);
    unsigned size = global ? 16 : 4u << pick(3);
    const char *const prefetches[] = {"", ".L2::64B", ".L2::128B", ".L2::256B"};
    std::string prefetch = prefetches[pick(4)];
    bool hint = pick(2), hintFirst = pick(2);
    const char *const spaces[] = {".shared", ".shared::cta"};
    std::string copy = std::string("cp.async") + (global ? ".cg" : ".ca") + spaces[pick(2)] +
                       ".global" + (hint && hintFirst ? ".L2::cache_hint" : "") + prefetch +
                       (hint && !hintFirst ? ".L2::cache_hint" : "") + " [%r1], [%x2], " +
                       std::to_string(size);
    // Bytes that even and odd threads read.
    unsigned even = size, odd = size;
    std::string before;
    switch (pick(5)) {
    case 0:
      break;
    case 1: { // a constant
      even = odd = unsigned(pick(size + 1));
      copy += ", " + std::to_string(even);
      break;
    }
    case 2: { // a register
      even = unsigned(pick(size + 1));
      odd = unsigned(pick(size + 1));
      before = "selp.u32 %r3, " + std::to_string(odd) + ", " + std::to_string(even) + ", %p0;";
      copy += ", %r3";
      break;
    }
    case 3:
      odd = 0;
      copy += ", %p0";
      break;
    case 4:
      even = 0;
      copy += ", !%p0";
      break;
    }
    if (hint)
      copy += pick(4) ? ", %policy" : ", 0x12f0000000000000";
    copy += ";";
    std::vector<uint8_t> after;
    EXPECT_CLEAN(run(copy, &after, before));
    for (size_t i = 0; i < 512; ++i) {
      unsigned at = i % 16, bytes = i / 16 % 2 ? odd : even;
      ASSERT_EQ(after[i], at >= size   ? 0xee
                          : at < bytes ? 1 + i % 200
                                       : 0)
          << copy << " byte " << i;
    }
  }
}

TEST(CopyOperands, WhatPtxasRejects) {
  const std::string cg = "cp.async.cg.shared.global", ca = "cp.async.ca.shared.global";
  const std::string hinted = cg + ".L2::cache_hint";
  for (const std::string &copy :
       {cg + " [%r1], [%x2], 8;", cg + " [%r1], [%x2], 0;", ca + " [%r1], [%x2], 32;",
        cg + " [%r1], [%x2], %r2;", cg + " [%r1], [%x2], 16, %policy;",
        cg + " [%r1], [%x2], 16, 8, %policy;", cg + " [%r1], [%x2], 16, %r2, %p0;",
        cg + " [%r1], [%x2], 16, 17;", cg + " [%r1], [%x2], 16, -1;", ca + " [%r1], [%x2], 8, 16;",
        hinted + " [%r1], [%x2], 16;", hinted + " [%r1], [%x2], 16, %r2;",
        hinted + " [%r1], [%x2], 16, %p0;", hinted + " [%r1], [%x2], 16, %r2, %p0;",
        hinted + " [%r1], [%x2], 16, %r2, %p0, %policy;",
        hinted + " [%r1], [%x2], 16, 17, %policy;", cg + ".L2::32B [%r1], [%x2], 16;"})
    EXPECT_TRUE(rejected(copy)) << copy;
  EXPECT_FALSE(rejected(hinted + ".L2::128B [%r1], [%x2], 16, %r2, %policy;"));
}

TEST(CopyOperands, VersionsOfTheOperands) {
  // createpolicy needs PTX 7.4, too: the prologue has it, and so each copy is tested alone.
  auto problems = [](const std::string &operands, const std::string &version) {
    std::string text = ".version " + version +
                       "\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n"
                       ".reg .b64 %x, %policy; .reg .pred %p; .shared .align 16 .b8 smem[16];\n"
                       "ld.param.u64 %x, [p0]; mov.b64 %policy, 0; setp.eq.u64 %p, %x, 0;\n"
                       "cp.async.cg.shared.global" +
                       operands + "; ret;\n}\n";
    Device device;
    std::vector<Diagnostic> diagnostics;
    return device.load(text, "test.ptx", diagnostics) ? "" : render(diagnostics);
  };
  EXPECT_EQ(problems(" [smem], [%x], 16, 8", "7.0"), "");
  EXPECT_NE(problems(".L2::128B [smem], [%x], 16", "7.3").find("needs PTX 7.4"), std::string::npos);
  EXPECT_EQ(problems(".L2::128B [smem], [%x], 16", "7.4"), "");
  EXPECT_NE(problems(".L2::cache_hint [smem], [%x], 16, %policy", "7.3").find("needs PTX 7.4"),
            std::string::npos);
  EXPECT_EQ(problems(".L2::cache_hint [smem], [%x], 16, %policy", "7.4"), "");
  EXPECT_NE(problems(" [smem], [%x], 16, %p", "7.4").find("needs PTX 7.5"), std::string::npos);
  EXPECT_EQ(problems(" [smem], [%x], 16, %p", "7.5"), "");
}

TEST(CopyOperands, AreChecked) {
  const std::string copy = "cp.async.cg.shared.global.L2::cache_hint [%r1], [%x2";
  EXPECT_CLEAN(run(copy + "], 16, %r3, %policy;", nullptr, "mov.u32 %r3, 16;"));
  EXPECT_FINDING(run(copy + "], 16, %r3, %policy;", nullptr, "mov.u32 %r3, 17;"),
                 EmuIllegalOperand);
  EXPECT_FINDING(run(copy + "+4], 16, %policy;"), EmuMisaligned);
  EXPECT_FINDING(run(copy + "+16], 16, %policy;"), EmuOutOfBounds);
  // What is ignored, and bytes after the size of the source, are not read.
  EXPECT_CLEAN(run(copy + "+16], 16, %p0, %policy;"));
  EXPECT_CLEAN(run(copy + "+16], 16, 0, %policy;"));
  EXPECT_FINDING(run(copy + "+16], 16, !%p0, %policy;"), EmuOutOfBounds);
  // The hint changes nothing about the order of accesses.
  std::string early = copy + "], 16, %policy; ld.shared.u32 %r4, [%r1];";
  EXPECT_FINDING(run(early), EmuDataRace);
}

} // namespace
