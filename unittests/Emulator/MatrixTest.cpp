//===- MatrixTest.cpp - Fragments and tensor memory shapes ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Float.h"
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

/// Row-major matrices of small integers as f16.
std::vector<uint16_t> halves(size_t count, uint32_t seed) {
  std::vector<uint16_t> out(count);
  for (uint16_t &h : out) {
    seed = seed * 1664525 + 1013904223;
    h = floatToHalf(float(int(seed >> 24) % 9 - 4));
  }
  return out;
}

/// A is 16 x 16 and B is 8 x 16 (n, k), both through ldmatrix as every GEMM
/// does it; the product must be the plain one.
TEST(Matrix, LdmatrixAndMma) {
  std::string body = R"(
.reg .b32 %t, %r<60>; .reg .b64 %x<9>; .reg .f32 %f<9>;
.shared .align 16 .b8 a[512]; .shared .align 16 .b8 b[256];
mov.u32 %t, %tid.x;
ld.param.u64 %x0, [p0]; ld.param.u64 %x1, [p1]; ld.param.u64 %x2, [p2];
mad.wide.u32 %x3, %t, 16, %x0;
ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%x3];
mov.u32 %r4, a; mad.lo.u32 %r4, %t, 16, %r4;
st.shared.v4.u32 [%r4], {%r0, %r1, %r2, %r3};
mad.wide.u32 %x3, %t, 8, %x1;
ld.global.v2.u32 {%r0, %r1}, [%x3];
mov.u32 %r4, b; mad.lo.u32 %r4, %t, 8, %r4;
st.shared.v2.u32 [%r4], {%r0, %r1};
bar.warp.sync -1;
// Rows 0 to 15 twice: k 0 to 7 by lanes 0 to 15, k 8 to 15 by the others.
and.b32 %r10, %t, 15; shr.u32 %r11, %t, 4;
mov.u32 %r12, a; mad.lo.u32 %r12, %r10, 32, %r12; mad.lo.u32 %r12, %r11, 16, %r12;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r12];
and.b32 %r10, %t, 7; shr.u32 %r11, %t, 3; and.b32 %r11, %r11, 1;
mov.u32 %r12, b; mad.lo.u32 %r12, %r10, 32, %r12; mad.lo.u32 %r12, %r11, 16, %r12;
ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r24, %r25}, [%r12];
mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7},
  {%r20, %r21, %r22, %r23}, {%r24, %r25}, {%f0, %f1, %f2, %f3};
// Thread t holds rows t / 4 and t / 4 + 8, columns 2 * (t % 4) and the next.
shr.u32 %r30, %t, 2; and.b32 %r31, %t, 3; shl.b32 %r31, %r31, 1;
mad.lo.u32 %r32, %r30, 8, %r31; mad.wide.u32 %x4, %r32, 4, %x2;
st.global.f32 [%x4], %f4; st.global.f32 [%x4+4], %f5;
st.global.f32 [%x4+256], %f6; st.global.f32 [%x4+260], %f7;
ret;)";
  TestKernel kernel(TestKernel::wrap(body, 3));
  auto a = halves(256, 1), b = halves(128, 2);
  kernel.buffer(a);
  kernel.buffer(b);
  uint64_t out = kernel.emptyBuffer(16 * 8 * 4);
  Report report = kernel.run(1, 32);
  EXPECT_CLEAN(report);
  auto got = kernel.read<float>(out, 128);
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n) {
      float sum = 1;
      for (int k = 0; k < 16; ++k)
        sum +=
            halfToFloat(a[size_t(m) * 16 + size_t(k)]) * halfToFloat(b[size_t(n) * 16 + size_t(k)]);
      EXPECT_EQ(got[size_t(m * 8 + n)], sum) << m << " " << n;
    }
}

/// A transposing load and a transposing store undo each other; one of them
/// alone transposes.
TEST(Matrix, TransposedAccess) {
  auto run = [](const std::string &load, const std::string &store) {
    std::string body = R"(
.reg .b32 %t, %r<20>; .reg .b64 %x<9>;
.shared .align 16 .b8 a[128]; .shared .align 16 .b8 c[128];
mov.u32 %t, %tid.x; ld.param.u64 %x0, [p0]; ld.param.u64 %x1, [p1];
mad.wide.u32 %x2, %t, 4, %x0; ld.global.u32 %r0, [%x2];
mov.u32 %r1, a; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %r0;
bar.warp.sync -1;
and.b32 %r3, %t, 7; mad.lo.u32 %r4, %r3, 16, %r1;
mov.u32 %r5, c; mad.lo.u32 %r6, %r3, 16, %r5;
)" + load + " {%r7}, [%r4];\n" +
                       store + R"( [%r6], {%r7};
bar.warp.sync -1;
mad.lo.u32 %r8, %t, 4, %r5; ld.shared.u32 %r9, [%r8];
mad.wide.u32 %x2, %t, 4, %x1; st.global.u32 [%x2], %r9; ret;)";
    TestKernel kernel(TestKernel::wrap(body, 2));
    std::vector<uint16_t> in(64);
    for (size_t i = 0; i < 64; ++i)
      in[i] = uint16_t(i);
    kernel.buffer(in);
    uint64_t out = kernel.emptyBuffer(128);
    Report report = kernel.run(1, 32);
    EXPECT_CLEAN(report);
    return kernel.read<uint16_t>(out, 64);
  };
  const std::string ld = "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
                    ldt = "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
                    st = "stmatrix.sync.aligned.m8n8.x1.shared.b16",
                    stt = "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16";
  auto plain = run(ld, st), both = run(ldt, stt), one = run(ldt, st), other = run(ld, stt);
  for (uint16_t r = 0; r < 8; ++r)
    for (uint16_t c = 0; c < 8; ++c) {
      EXPECT_EQ(plain[size_t(r * 8 + c)], r * 8 + c);
      EXPECT_EQ(both[size_t(r * 8 + c)], r * 8 + c);
      EXPECT_EQ(one[size_t(r * 8 + c)], c * 8 + r);
      EXPECT_EQ(other[size_t(r * 8 + c)], c * 8 + r);
    }
}

/// 16 values of 6 or 4 bits at the start of 16 bytes, of which the rest is never written: each
/// becomes the low bits of a byte.
TEST(Matrix, PaddedValuesAreUnpacked) {
  for (unsigned bits : {6u, 4u})
    for (unsigned matrices : {1u, 2u, 4u}) {
      std::string registers = "%r4", store = "st.global.u32 [%x2], %r4;";
      for (unsigned i = 1; i < matrices; ++i) {
        std::string name = "%r" + std::to_string(4 + i);
        registers += ", " + name;
        store += "st.global.u32 [%x2+" + std::to_string(4 * i) + "], " + name + ";";
      }
      // Words of a row with values: 3 of 6 bits, 2 of 4 bits.
      std::string words;
      for (unsigned i = 0; i < bits / 2; ++i)
        words += "ld.global.u32 %r1, [%x2+" + std::to_string(4 * i) + "]; st.shared.u32 [%r2+" +
                 std::to_string(4 * i) + "], %r1;\n";
      std::string body = R"(
.reg .b32 %t, %r<20>; .reg .b64 %x<9>; .shared .align 16 .b8 a[512];
mov.u32 %t, %tid.x; ld.param.u64 %x0, [p0]; ld.param.u64 %x1, [p1];
mad.wide.u32 %x2, %t, 16, %x0; mov.u32 %r0, a; mad.lo.u32 %r2, %t, 16, %r0;
)" + words + "bar.warp.sync -1;\nldmatrix.sync.aligned.m8n16.x" +
                         std::to_string(matrices) + ".shared.b8x16." +
                         (bits == 6 ? "b6x16_p32" : "b4x16_p64") + " {" + registers +
                         "}, [%r2];\nmad.wide.u32 %x2, %t, 16, %x1;\n" + store + "ret;";
      std::vector<uint8_t> in(512), values(512);
      uint32_t seed = bits;
      for (size_t i = 0; i < values.size(); ++i) {
        seed = seed * 1664525 + 1013904223;
        values[i] = uint8_t(seed >> 24 & ((1u << bits) - 1));
        for (unsigned bit = 0; bit < bits; ++bit) {
          size_t at = i % 16 * bits + bit; // in its row
          in[i / 16 * 16 + at / 8] |= uint8_t((values[i] >> bit & 1u) << (at % 8));
        }
      }
      TestKernel kernel(TestKernel::wrap(body, 2));
      kernel.buffer(in);
      uint64_t out = kernel.emptyBuffer(512);
      Report report = kernel.run(1, 32);
      EXPECT_CLEAN(report);
      auto got = kernel.read<uint8_t>(out, 512);
      // Lane t has 4 values of row t / 4 of each matrix.
      for (unsigned t = 0; t < 32; ++t)
        for (unsigned matrix = 0; matrix < matrices; ++matrix)
          for (unsigned i = 0; i < 4; ++i)
            ASSERT_EQ(got[t * 16 + matrix * 4 + i],
                      values[(matrix * 8 + t / 4) * 16 + t % 4 * 4 + i])
                << bits << " bits, lane " << t << " matrix " << matrix << " value " << i;
    }
}

/// Every word of tensor memory holds its own place; each shape must bring the
/// places that the ISA's tables name.
TEST(Matrix, TensorMemoryShapes) {
  struct Shape {
    const char *name;
    unsigned registers;
    unsigned (*lane)(unsigned t, unsigned r);
    unsigned (*column)(unsigned t, unsigned r);
  };
  const Shape shapes[] = {
      {".32x32b.x4", 4, [](unsigned t, unsigned) { return t; },
       [](unsigned, unsigned r) { return r; }},
      {".16x64b.x4", 4, [](unsigned t, unsigned) { return t / 4 + 8 * (t % 2); },
       [](unsigned t, unsigned r) { return 2 * r + t / 2 % 2; }},
      {".16x128b.x2", 4, [](unsigned t, unsigned r) { return t / 4 + 8 * (r % 2); },
       [](unsigned t, unsigned r) { return 4 * (r / 2) + t % 4; }},
      {".16x256b.x1", 4, [](unsigned t, unsigned r) { return t / 4 + 8 * (r / 2); },
       [](unsigned t, unsigned r) { return 2 * (t % 4) + r % 2; }},
  };
  for (const Shape &shape : shapes) {
    std::string body = R"(
.reg .b32 %t, %l, %r<20>; .reg .b64 %x<9>; .shared .align 4 .b32 base;
mov.u32 %t, %tid.x; mov.u32 %l, %laneid; ld.param.u64 %x0, [p0];
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
bar.warp.sync -1;
ld.shared.u32 %r0, [base];
shl.b32 %r1, %l, 8; add.u32 %r2, %r1, 1; add.u32 %r3, %r1, 2;
add.u32 %r4, %r1, 3; add.u32 %r5, %r1, 4; add.u32 %r6, %r1, 5;
add.u32 %r7, %r1, 6; add.u32 %r8, %r1, 7;
tcgen05.st.sync.aligned.32x32b.x8.b32 [%r0],
  {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8};
tcgen05.wait::st.sync.aligned;
tcgen05.ld.sync.aligned)" +
                       std::string(shape.name) + R"(.b32
  {%r10, %r11, %r12, %r13}, [%r0];
tcgen05.wait::ld.sync.aligned;
mad.wide.u32 %x1, %t, 16, %x0;
st.global.v4.u32 [%x1], {%r10, %r11, %r12, %r13};
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32; ret;)";
    TestKernel kernel(TestKernel::wrap(body, 1));
    uint64_t out = kernel.emptyBuffer(512);
    Report report = kernel.run(1, 32);
    EXPECT_CLEAN(report);
    auto got = kernel.read<uint32_t>(out, 128);
    for (unsigned t = 0; t < 32; ++t)
      for (unsigned r = 0; r < shape.registers; ++r)
        EXPECT_EQ(got[t * 4 + r], shape.lane(t, r) << 8 | shape.column(t, r))
            << shape.name << " thread " << t << " register " << r;
  }
}

TEST(Matrix, TensorMemoryMisuse) {
  auto run = [](const std::string &rest, uint32_t block = 32) {
    TestKernel kernel(TestKernel::wrap(R"(
.reg .b32 %r<9>; .shared .align 4 .b32 base;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
bar.warp.sync -1; ld.shared.u32 %r0, [base];
)" + rest + "\nret;",
                                       1));
    kernel.emptyBuffer(16);
    return kernel.run(1, block);
  };
  const std::string free = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;";
  EXPECT_CLEAN(run(free));
  EXPECT_FINDING(run(""), EmuTensorMemoryMisuse);
  EXPECT_FINDING(run(free + free), EmuTensorMemoryMisuse);
  EXPECT_FINDING(run("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 64;"),
                 EmuTensorMemoryMisuse);
  // Lanes of another warp, columns that are not ours, nothing written yet.
  EXPECT_FINDING(run("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, "
                     "[%r0+2097152];" +
                     free),
                 EmuTensorMemoryMisuse);
  EXPECT_FINDING(run("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r0+32];" + free),
                 EmuTensorMemoryMisuse);
  EXPECT_FINDING(run("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r0];"
                     "tcgen05.wait::ld.sync.aligned;" +
                     free),
                 EmuUninitialized);
}

} // namespace
