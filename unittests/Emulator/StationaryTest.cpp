//===- StationaryTest.cpp - tcgen05.mma.ws --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <functional>

using namespace penstock;
using namespace penstock::emu;

namespace {

const char *const waitForProduct =
    "B: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra B;\n";

/// Two products into one accumulator, which is written to p1 as 128 lanes of 256 columns.
std::string kernelText(uint32_t instruction, unsigned columns, const std::string &mask = "") {
  std::string product = "tcgen05.mma.ws.cta_group::1.kind::f16";
  std::string operands = " [%r10], %x2, %x3, %r14, ";
  return R"(
.reg .b32 %t, %w, %r<60>; .reg .b64 %x<20>; .reg .pred %p<9>;
.shared .align 1024 .b8 tiles[12288]; .shared .align 8 .b64 bar; .shared .align 4 .b32 base;
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5;
setp.ne.u32 %p0, %t, 0; @!%p0 mbarrier.init.shared.b64 [bar], 1;
setp.ne.u32 %p1, %w, 0; @%p1 bra A;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 256;
A: ld.param.u64 %x0, [p0]; mov.u32 %r0, tiles; mov.u32 %r1, %t;
COPY: mad.wide.u32 %x1, %r1, 16, %x0; mad.lo.u32 %r6, %r1, 16, %r0;
ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%x1]; st.shared.v4.u32 [%r6], {%r2, %r3, %r4, %r5};
add.u32 %r1, %r1, 128; setp.lt.u32 %p2, %r1, 768; @%p2 bra COPY;
fence.proxy.async.shared::cta;
bar.sync 0;
ld.shared.u32 %r10, [base];
@%p0 bra B;
// No swizzle, 128 bytes between pieces along k, 256 between groups of 8 rows.
shr.u32 %r11, %r0, 4; cvt.u64.u32 %x2, %r11; or.b64 %x2, %x2, 0x0000401000080000;
add.u64 %x3, %x2, 256;
mov.u32 %r14, )" +
         std::to_string(instruction) + ";\nsetp.ne.u32 %p4, 0, 0; setp.eq.u32 %p5, 0, 0;\n" +
         product + ".collector::b1::fill" + operands + "%p4" + mask + ";\n" + product +
         ".collector::b1::lastuse" + operands + "%p5" + mask + R"(;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
)" + waitForProduct +
         R"(
shl.b32 %r15, %w, 21; add.u32 %r15, %r15, %r10;
ld.param.u64 %x0, [p1]; mad.wide.u32 %x1, %t, 1024, %x0; mov.u32 %r16, 0;
READ: tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r15];
tcgen05.wait::ld.sync.aligned;
st.global.u32 [%x1], %r20;
add.u64 %x1, %x1, 4; add.u32 %r15, %r15, 1; add.u32 %r16, %r16, 1;
setp.lt.u32 %p6, %r16, )" +
         std::to_string(columns) + R"(; @%p6 bra READ;
bar.sync 0;
@%p1 bra C;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 256;
C: ret;)";
}

/// M x N x 16 of f16 with an f32 accumulator.
uint32_t instructionOf(unsigned m, unsigned n) { return 1u << 4 | n / 8 << 17 | m / 16 << 24; }

struct Operands {
  std::vector<int> a, b;      ///< rows of 16
  std::vector<uint8_t> bytes; ///< core matrices: 128 rows of A, 256 of B
  Operands() : a(128 * 16), b(256 * 16), bytes(12288) {
    const uint16_t codes[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000}; // -2 to 2
    uint32_t state = 3;
    auto fill = [&](std::vector<int> &values, size_t start) {
      for (size_t i = 0; i < values.size(); ++i) {
        state = state * 1664525 + 1013904223;
        values[i] = int(state >> 16) % 5 - 2;
        size_t row = i / 16, byte = i % 16 * 2;
        size_t at = start + row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
        bytes[at] = uint8_t(codes[values[i] + 2]);
        bytes[at + 1] = uint8_t(codes[values[i] + 2] >> 8);
      }
    };
    fill(a, 0);
    fill(b, 4096);
  }
};

Report runStationary(const std::string &body, std::vector<float> &out) {
  TestKernel kernel(TestKernel::wrap(body, 2));
  kernel.buffer(Operands().bytes);
  uint64_t result = kernel.emptyBuffer(128 * 1024);
  Report report = kernel.run(1, 128);
  out = kernel.read<float>(result, 128 * 256);
  return report;
}

/// Compares with the product, twice; \p zero: columns of B that count as zero.
void expectProduct(unsigned m, unsigned n, const std::string &mask,
                   const std::function<bool(unsigned)> &zero) {
  SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n));
  unsigned parts = 128 / m, columns = n / parts;
  Operands operands;
  std::vector<float> got;
  Report report = runStationary(kernelText(instructionOf(m, n), columns, mask), got);
  EXPECT_CLEAN(report);
  for (unsigned row = 0; row < m; ++row)
    for (unsigned col = 0; col < n; ++col) {
      int sum = 0;
      for (unsigned k = 0; k < 16 && !zero(col); ++k)
        sum += operands.a[row * 16 + k] * operands.b[col * 16 + k];
      // 64 rows: the right half of N is in lanes 64 to 127; 32 rows: one quarter in each 32.
      unsigned lane = row + col / columns * m;
      EXPECT_EQ(got[lane * 256 + col % columns], float(2 * sum)) << row << " " << col;
    }
}

TEST(WeightStationary, Layouts) {
  for (unsigned m : {32u, 64u, 128u})
    for (unsigned n : {64u, 128u, 256u})
      expectProduct(m, n, "", [](unsigned) { return false; });
}

/// The examples of the ISA, without their shift of columns: bits from the lowest on.
TEST(WeightStationary, ZeroColumns) {
  auto expectMask = [](unsigned m, uint64_t descriptor, std::vector<std::string> periods) {
    unsigned columns = 256 * m / 128;
    expectProduct(m, 256, ", " + std::to_string(descriptor | uint64_t(2) << 40 | uint64_t(3) << 48),
                  [&](unsigned col) {
                    const std::string &period = periods[col / columns];
                    return period[col % columns % period.size()] == '1';
                  });
  };
  uint64_t generate = uint64_t(1) << 39;
  expectMask(128, 0, {"0"});
  expectMask(128, generate, {"0000111"});
  expectMask(64, generate | uint64_t(1) << 32, {"1110000", "0000111"});
  expectMask(32, generate | uint64_t(3) << 32 | 0x01020100,
             {"1110000", "1100001", "0011100", "0001110"});
}

TEST(WeightStationary, IsAwaited) {
  std::string body = kernelText(instructionOf(64, 64), 32);
  size_t at = body.find(waitForProduct);
  ASSERT_NE(at, std::string::npos);
  body.replace(at, std::string(waitForProduct).size(), "B:\n");
  std::vector<float> got;
  EXPECT_FINDING(runStationary(body, got), EmuDataRace);
}

TEST(WeightStationary, IllegalShapes) {
  std::vector<float> got;
  EXPECT_FINDING(runStationary(kernelText(instructionOf(64, 32), 32), got), EmuIllegalDescriptor);
  EXPECT_FINDING(runStationary(kernelText(instructionOf(256, 64), 32), got), EmuIllegalDescriptor);
  std::string shift = ", " + std::to_string(uint64_t(2) << 56);
  EXPECT_FINDING(runStationary(kernelText(instructionOf(64, 64), 32, shift), got),
                 EmuIllegalDescriptor);
}

TEST(Refused, InstructionsWithAReason) {
  for (auto [line, reason] :
       {std::pair("multimem.red.relaxed.sys.global.add.f32 [%x0], %f0;", "multicast object"),
        std::pair("tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r0], %x0, %x0, [%r1], %r2, %p0;",
                  "layout of its metadata")}) {
    std::vector<Diagnostic> diagnostics;
    Device device;
    auto module =
        device.load(TestKernel::wrap(std::string(prologue) + line, 1), "test.ptx", diagnostics);
    EXPECT_FALSE(module);
    EXPECT_NE(render(diagnostics).find(reason), std::string::npos) << render(diagnostics);
  }
}

} // namespace
