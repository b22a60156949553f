//===- AcceptTest.cpp - PTX as other compilers write it -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forms that ptxas accepts and that shipped kernels use, beside those of nvcc.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/TensorMap.h"
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

TEST(Accept, IndexedBranches) {
  // Each lane takes its own target; all meet behind, as the full mask shows.
  std::string body = prologue + std::string(R"(
and.b32 %r1, %t, 3;
T: .branchtargets A, B, C, B;
brx.idx %r1, T;
A: mov.u32 %r0, 10; bra JOIN;
B: mov.u32 %r0, 20; bra JOIN;
C: mov.u32 %r0, 30;
JOIN: activemask.b32 %r2; setp.ne.u32 %p0, %r2, -1; @%p0 mov.u32 %r0, 99;
st.global.u32 [%x1], %r0; ret;)");
  TestKernel kernel(TestKernel::wrap(body, 1));
  uint64_t out = kernel.emptyBuffer(32 * 4);
  Report report = kernel.run(1, 32);
  EXPECT_CLEAN(report);
  auto got = kernel.read<uint32_t>(out, 32);
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(got[t], (std::array<uint32_t, 4>{10, 20, 30, 20}[t % 4])) << t;
}

TEST(Accept, GuardedIndexedBranch) {
  std::string body = prologue + std::string(R"(
T: .branchtargets A, A;
setp.lt.u32 %p0, %t, 8;
mov.u32 %r0, 1; mov.u32 %r1, 0;
@%p0 brx.idx %r1, T;
mov.u32 %r0, 2;
A: st.global.u32 [%x1], %r0; ret;)");
  TestKernel kernel(TestKernel::wrap(body, 1));
  uint64_t out = kernel.emptyBuffer(32 * 4);
  EXPECT_CLEAN(kernel.run(1, 32));
  auto got = kernel.read<uint32_t>(out, 32);
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(got[t], t < 8 ? 1u : 2u) << t;
}

TEST(Accept, IndexOfABranchIsChecked) {
  std::string body = prologue + std::string("T: .branchtargets A, A; brx.idx %t, T; A: ret;");
  TestKernel kernel(TestKernel::wrap(body, 1));
  kernel.emptyBuffer(4);
  EXPECT_FINDING(kernel.run(1, 32), EmuIllegalOperand);
}

/// A product of zeros: what is left is the accumulator, or nothing.
std::vector<float> accumulate(const char *scale) {
  std::string body = prologue + std::string(R"(
.shared .align 1024 .b8 tile[4096];
mov.u32 %r0, tile; mad.lo.u32 %r1, %t, 32, %r0; mov.u32 %r2, 0;
st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2};
st.shared.v4.b32 [%r1+16], {%r2, %r2, %r2, %r2};
fence.proxy.async.shared::cta; bar.sync 0;
mov.f32 %f0, 0f40A00000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
shr.u32 %r3, %r0, 4; cvt.u64.u32 %x2, %r3; or.b64 %x2, %x2, 0x1000080000;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %x2, %x2, )") +
                     scale + R"(, 1, 1, 0, 0;
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
st.global.f32 [%x1], %f3; ret;)";
  TestKernel kernel(TestKernel::wrap(body, 1, "", "sm_90a"));
  uint64_t out = kernel.emptyBuffer(128 * 4);
  EXPECT_CLEAN(kernel.run(1, 128));
  return kernel.read<float>(out, 128);
}

TEST(Accept, ConstantPredicates) {
  for (float value : accumulate("0"))
    EXPECT_EQ(value, 0.f);
  for (float value : accumulate("1"))
    EXPECT_EQ(value, 5.f);
}

TEST(Accept, SharedVariablesOfOtherKernelsTakeNoRoom) {
  // Dynamic shared memory begins after the variables that the kernel itself names.
  std::string module = R"(.version 9.0
.target sm_90a
.address_size 64
.shared .align 4 .b8 used[12];
.shared .align 4 .b8 unused[2000];
.extern .shared .align 16 .b8 dynamic[];
.extern .shared .align 1024 .b8 aligned[];
.visible .entry other() { .reg .b32 %r; mov.u32 %r, unused; mov.u32 %r, aligned; ret; }
.visible .entry k(.param .u64 p0) {
.reg .b32 %r<3>; .reg .b64 %x;
ld.param.u64 %x, [p0]; mov.u32 %r0, used; mov.u32 %r1, dynamic; sub.u32 %r2, %r1, %r0;
st.global.u32 [%x], %r2; ret; }
)";
  TestKernel kernel(module);
  uint64_t out = kernel.emptyBuffer(4);
  EXPECT_CLEAN(kernel.run(1, 1));
  EXPECT_EQ(kernel.read<uint32_t>(out, 1)[0], 16u);
}

TEST(Accept, StrideZeroRepeatsTheTensor) {
  TensorMap map;
  map.dataType = 2;
  map.rank = 3;
  map.base = 4096;
  map.dims[0] = 16;
  map.strides[1] = 64;
  map.box[0] = 4;
  EXPECT_EQ(checkTensorMap(map), ""); // a batch of one, stride 0
  map.dims[2] = 4;
  EXPECT_EQ(checkTensorMap(map), "");
}

/// 8 x 4 words of p0, as a map in shared memory that is copied to p1 and loaded through.
std::string mapOfZeros() {
  return prologue + std::string(R"(
.shared .align 128 .b8 map[128]; .shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar;
ld.param.u64 %x2, [p1]; ld.param.u64 %x3, [p2]; mad.wide.u32 %x4, %t, 4, %x3;
mov.u32 %r0, map; mad.lo.u32 %r1, %t, 4, %r0; mov.u32 %r2, 0; st.shared.u32 [%r1], %r2;
bar.warp.sync -1;
setp.ne.u32 %p0, %t, 0; @%p0 bra MADE;
mbarrier.init.shared.b64 [bar], 1;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], %x0;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [map], 1;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 0, 8;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 1, 4;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, 8;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 1, 4;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [map], 0, 32;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 0, 1;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 1, 1;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [map], 2;
tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [map], 0;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map], 0;
tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [map], 0;
MADE: bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
  [%x2], [map], 128;
fence.proxy.tensormap::generic.acquire.gpu [%x2], 128;
@%p0 bra WAIT;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
  [tile], [%x2, {%r2, %r2}], [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
mov.u32 %r3, tile; mad.lo.u32 %r3, %t, 4, %r3; ld.shared.u32 %r4, [%r3];
st.global.u32 [%x4], %r4; ret;)");
}

TEST(Accept, TensorMapsMadeOfZeros) {
  TestKernel kernel(TestKernel::wrap(mapOfZeros(), 3));
  std::vector<uint32_t> content(32);
  for (uint32_t i = 0; i < 32; ++i)
    content[i] = 100 + i;
  kernel.buffer(content);
  kernel.emptyBuffer(128);
  uint64_t out = kernel.emptyBuffer(128);
  EXPECT_CLEAN(kernel.run(1, 32));
  EXPECT_EQ(kernel.read<uint32_t>(out, 32), content);
}

TEST(Accept, ACopiedMapIsEditedBeforeAllLanesCopyIt) {
  // `.sync.aligned` makes the lanes of the warp meet; it does not order their memory.
  std::string body = mapOfZeros();
  std::string barrier = "MADE: bar.warp.sync -1;";
  body.replace(body.find(barrier), barrier.size(), "MADE:");
  TestKernel kernel(TestKernel::wrap(body, 3));
  kernel.buffer(std::vector<uint32_t>(32));
  kernel.emptyBuffer(128);
  kernel.emptyBuffer(128);
  Report report = kernel.run(1, 32);
  EXPECT_TRUE(report.has(EmuDataRace)) << text(report);
}

} // namespace
