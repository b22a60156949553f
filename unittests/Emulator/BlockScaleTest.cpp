//===- BlockScaleTest.cpp - Block-scaled tcgen05.mma ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Float.h"
#include "TestKernel.h"

#include <cmath>

using namespace penstock;
using namespace penstock::emu;

namespace {

/// One instruction of 128 x 16: operands come as core matrices (8 rows x 16
/// bytes), scales as 32 rows of 16 bytes: byte (r % 32) * 16 + (r / 32) * 4 +
/// s. A single warp copies everything, so plain stores and one fence suffice.
std::vector<float> runScaled(const std::string &kind, uint32_t instruction,
                             const std::vector<uint8_t> &a, const std::vector<uint8_t> &b,
                             const std::vector<uint8_t> &scales) {
  std::string body = R"(
.reg .b32 %t, %w, %l, %r<60>; .reg .b64 %x<20>; .reg .pred %p<9>;
.shared .align 1024 .b8 a[4096]; .shared .align 1024 .b8 b[512];
.shared .align 1024 .b8 s[1024]; .shared .align 8 .b64 bar;
.shared .align 4 .b32 base;
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mov.u32 %l, %laneid;
setp.ne.u32 %p0, %t, 0; @!%p0 mbarrier.init.shared.b64 [bar], 1;
setp.ne.u32 %p1, %w, 0; @%p1 bra A;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 64;
A:
ld.param.u64 %x0, [p0]; mad.wide.u32 %x1, %t, 32, %x0;
mov.u32 %r0, a; mad.lo.u32 %r1, %t, 32, %r0;
ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%x1];
st.shared.v4.u32 [%r1], {%r2, %r3, %r4, %r5};
ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%x1+16];
st.shared.v4.u32 [%r1+16], {%r2, %r3, %r4, %r5};
ld.param.u64 %x0, [p1]; mad.wide.u32 %x1, %t, 4, %x0;
mov.u32 %r6, b; mad.lo.u32 %r1, %t, 4, %r6;
ld.global.u32 %r2, [%x1]; st.shared.u32 [%r1], %r2;
ld.param.u64 %x0, [p2]; mad.wide.u32 %x1, %t, 8, %x0;
mov.u32 %r7, s; mad.lo.u32 %r1, %t, 8, %r7;
ld.global.v2.u32 {%r2, %r3}, [%x1]; st.shared.v2.u32 [%r1], {%r2, %r3};
fence.proxy.async.shared::cta;
bar.sync 0;
ld.shared.u32 %r10, [base];
@%p0 bra B;
// No swizzle, 128 bytes between pieces along k, 256 between groups of 8 rows.
shr.u32 %r11, %r0, 4; cvt.u64.u32 %x2, %r11; or.b64 %x2, %x2, 0x0000401000080000;
shr.u32 %r11, %r6, 4; cvt.u64.u32 %x3, %r11; or.b64 %x3, %x3, 0x0000401000080000;
// The scales: groups of 8 rows follow each other after 128 bytes.
shr.u32 %r11, %r7, 4; cvt.u64.u32 %x4, %r11; or.b64 %x4, %x4, 0x0000400800000000;
add.u64 %x5, %x4, 32;
add.u32 %r12, %r10, 32; add.u32 %r13, %r10, 36;
tcgen05.cp.cta_group::1.32x128b.warpx4 [%r12], %x4;
tcgen05.cp.cta_group::1.32x128b.warpx4 [%r13], %x5;
setp.ne.u32 %p2, 0, 0;
mov.u32 %r14, )" + std::to_string(instruction) +
                     R"(;
tcgen05.mma.cta_group::1.)" +
                     kind + R"( [%r10], %x2, %x3, %r14, [%r12], [%r13], %p2;
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
B: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra B;
shl.b32 %r15, %w, 21; add.u32 %r15, %r15, %r10;
tcgen05.ld.sync.aligned.32x32b.x16.b32 {%r20, %r21, %r22, %r23, %r24, %r25, %r26,
  %r27, %r28, %r29, %r30, %r31, %r32, %r33, %r34, %r35}, [%r15];
tcgen05.wait::ld.sync.aligned;
ld.param.u64 %x0, [p3]; mad.wide.u32 %x1, %t, 64, %x0;
st.global.v4.u32 [%x1], {%r20, %r21, %r22, %r23};
st.global.v4.u32 [%x1+16], {%r24, %r25, %r26, %r27};
st.global.v4.u32 [%x1+32], {%r28, %r29, %r30, %r31};
st.global.v4.u32 [%x1+48], {%r32, %r33, %r34, %r35};
bar.sync 0;
@%p1 bra C;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 64;
C: ret;)";
  TestKernel kernel(TestKernel::wrap(body, 4));
  kernel.buffer(a);
  kernel.buffer(b);
  kernel.buffer(scales);
  uint64_t out = kernel.emptyBuffer(128 * 16 * 4);
  Report report = kernel.run(1, 128);
  EXPECT_CLEAN(report);
  return kernel.read<float>(out, 128 * 16);
}

/// Where byte \p k of row \p r lies in the layout of the operands.
size_t dataOffset(unsigned r, unsigned k) {
  return r / 8 * 256 + k / 16 * 128 + r % 8 * 16 + k % 16;
}
size_t scaleOffset(unsigned r, unsigned s) { return r % 32 * 16 + r / 32 * 4 + s; }

struct Random {
  uint32_t state = 7;
  uint32_t next(uint32_t n) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % n;
  }
};

TEST(BlockScale, Mxf8) {
  Random random;
  std::vector<uint8_t> a(4096), b(512), scales(1024);
  std::vector<float> fa(128 * 32), fb(16 * 32), sa(128), sb(16);
  auto fill = [&](std::vector<uint8_t> &bytes, std::vector<float> &values, unsigned rows) {
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned k = 0; k < 32; ++k) {
        float value = float(int(random.next(9)) - 4);
        values[r * 32 + k] = value;
        bytes[dataOffset(r, k)] = uint8_t(encodeFloat(value, formatE4M3, Round::Nearest, true));
      }
  };
  fill(a, fa, 128);
  fill(b, fb, 16);
  for (unsigned r = 0; r < 128; ++r) {
    unsigned e = 126 + random.next(4);
    scales[scaleOffset(r, 0)] = uint8_t(e);
    sa[r] = std::ldexp(1.0f, int(e) - 127);
  }
  for (unsigned r = 0; r < 16; ++r) {
    unsigned e = 125 + random.next(4);
    scales[512 + scaleOffset(r, 0)] = uint8_t(e);
    sb[r] = std::ldexp(1.0f, int(e) - 127);
  }
  // E4M3 both, N 16, M 128, UE8M0.
  uint32_t instruction = 2u << 17 | 1u << 23 | 1u << 27;
  auto got = runScaled("kind::mxf8f6f4.block_scale.scale_vec::1X", instruction, a, b, scales);
  for (unsigned m = 0; m < 128; ++m)
    for (unsigned n = 0; n < 16; ++n) {
      float sum = 0;
      for (unsigned k = 0; k < 32; ++k)
        sum += fa[m * 32 + k] * fb[n * 32 + k];
      EXPECT_EQ(got[m * 16 + n], sum * sa[m] * sb[n]) << m << " " << n;
    }
}

TEST(BlockScale, Nvfp4) {
  Random random;
  std::vector<uint8_t> a(4096), b(512), scales(1024);
  std::vector<float> fa(128 * 64), fb(16 * 64), sa(128 * 4), sb(16 * 4);
  static constexpr float fp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  auto fill = [&](std::vector<uint8_t> &bytes, std::vector<float> &values, unsigned rows) {
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned k = 0; k < 64; ++k) {
        unsigned code = random.next(8), sign = random.next(2);
        values[r * 64 + k] = sign ? -fp4[code] : fp4[code];
        bytes[dataOffset(r, k / 2)] |= uint8_t((sign << 3 | code) << (4 * (k % 2)));
      }
  };
  fill(a, fa, 128);
  fill(b, fb, 16);
  auto scale = [&](unsigned from, std::vector<float> &values, unsigned rows) {
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned s = 0; s < 4; ++s) {
        float value = float(1 + random.next(4));
        values[r * 4 + s] = value;
        scales[from + scaleOffset(r, s)] =
            uint8_t(encodeFloat(value, formatE4M3, Round::Nearest, true));
      }
  };
  scale(0, sa, 128);
  scale(512, sb, 16);
  // E2M1 both (1 at bits 7 and 10), N 16, M 128, UE4M3.
  uint32_t instruction = 1u << 7 | 1u << 10 | 2u << 17 | 1u << 27;
  auto got = runScaled("kind::mxf4nvf4.block_scale.scale_vec::4X", instruction, a, b, scales);
  for (unsigned m = 0; m < 128; ++m)
    for (unsigned n = 0; n < 16; ++n) {
      float sum = 0;
      for (unsigned k = 0; k < 64; ++k)
        sum += fa[m * 64 + k] * sa[m * 4 + k / 16] * fb[n * 64 + k] * sb[n * 4 + k / 16];
      EXPECT_NEAR(got[m * 16 + n], sum, 1e-3f * std::fabs(sum) + 1e-3f) << m << " " << n;
    }
}

} // namespace
