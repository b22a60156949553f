//===- TensorMapTest.cpp - Tensor maps and tensor copies ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/TensorMap.h"
#include "TestKernel.h"

#include <functional>

using namespace penstock;
using namespace penstock::emu;

namespace {

TensorMap matrix() {
  TensorMap map;
  map.dataType = 2; // u32
  map.rank = 2;
  map.base = 4096;
  map.dims[0] = 100;
  map.dims[1] = 50;
  map.strides[1] = 400;
  map.box[0] = 16;
  map.box[1] = 8;
  return map;
}

TEST(TensorMap, RulesOfTheDriver) {
  EXPECT_EQ(checkTensorMap(matrix()), "");
  auto broken = [](const std::function<void(TensorMap &)> &change) {
    TensorMap map = matrix();
    change(map);
    return !checkTensorMap(map).empty();
  };
  EXPECT_TRUE(broken([](TensorMap &m) { m.dataType = 16; }));
  EXPECT_TRUE(broken([](TensorMap &m) { m.rank = 6; }));
  EXPECT_TRUE(broken([](TensorMap &m) { m.base = 4100; }));
  EXPECT_TRUE(broken([](TensorMap &m) { m.strides[1] = 404; }));
  EXPECT_TRUE(broken([](TensorMap &m) { m.strides[1] = uint64_t(1) << 40; }));
  EXPECT_TRUE(broken([](TensorMap &m) { m.box[1] = 257; }));
  EXPECT_TRUE(broken([](TensorMap &m) { m.box[0] = 3; })); // 12 bytes
  EXPECT_TRUE(broken([](TensorMap &m) { m.elementStrides[0] = 9; }));
  EXPECT_TRUE(broken([](TensorMap &m) { m.dims[0] = 0; }));
  EXPECT_TRUE(broken([](TensorMap &m) { m.fill = 1; }));    // NaN of integers
  EXPECT_TRUE(broken([](TensorMap &m) { m.swizzle = 1; })); // 64 bytes in 32
  EXPECT_FALSE(broken([](TensorMap &m) { m.swizzle = 2; }));
}

TEST(TensorMap, RoundTrip) {
  TensorMap map = matrix(), again;
  map.swizzle = 3;
  map.elementStrides[1] = 2;
  uint8_t bytes[tensorMapBytes];
  encodeTensorMap(map, bytes);
  ASSERT_TRUE(decodeTensorMap(bytes, again));
  EXPECT_EQ(again.dims[1], 50u);
  EXPECT_EQ(again.strides[1], 400u);
  EXPECT_EQ(again.box[0], 16u);
  EXPECT_EQ(again.elementStrides[1], 2u);
  EXPECT_EQ(again.swizzle, 3u);
  uint8_t zero[tensorMapBytes] = {};
  EXPECT_FALSE(decodeTensorMap(zero, again));
}

/// Boxes that hang over the edges are filled with zero; the bytes counted are
/// those of the whole box.
TEST(TensorMap, LoadsFillOutside) {
  for (unsigned swizzle : {0u, 2u}) {
    for (auto [x, y] : {std::pair(0, 0), std::pair(-3, -2), std::pair(90, 46), std::pair(200, 0)}) {
      std::string body = R"(
.reg .b32 %t, %r<20>; .reg .b64 %x<9>; .reg .pred %p<4>;
.shared .align 1024 .b8 tile[512]; .shared .align 8 .b64 bar;
mov.u32 %t, %tid.x; setp.ne.u32 %p0, %t, 0;
@!%p0 mbarrier.init.shared.b64 [bar], 1;
bar.warp.sync -1;
ld.param.u64 %x1, [p0]; ld.param.u64 %x0, [p1];
@%p0 bra WAIT;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
  [tile], [%x1, {)" + std::to_string(x) +
                         ", " + std::to_string(y) + R"(}], [bar];
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
mov.u32 %r1, 0;
LOOP: mad.lo.u32 %r2, %r1, 32, %t; mov.u32 %r3, tile; mad.lo.u32 %r3, %r2, 4, %r3;
ld.shared.u32 %r4, [%r3]; mad.wide.u32 %x2, %r2, 4, %x0; st.global.u32 [%x2], %r4;
add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 4; @%p2 bra LOOP;
ret;)";
      TestKernel kernel(TestKernel::wrap(body, 2));
      std::vector<uint32_t> content(100 * 50);
      for (uint32_t i = 0; i < content.size(); ++i)
        content[i] = i + 1;
      // The map lies in global memory, as cuTensorMapEncodeTiled's result
      // copied there would.
      uint64_t base = kernel.device.memory.allocate(content.size() * 4, "A");
      kernel.device.write(base, content.data(), content.size() * 4);
      TensorMap map = matrix();
      map.base = base;
      map.swizzle = swizzle;
      std::vector<uint8_t> bytes(tensorMapBytes);
      encodeTensorMap(map, bytes.data());
      kernel.buffer(bytes);
      uint64_t out = kernel.emptyBuffer(512);
      Report report = kernel.run(1, 32);
      EXPECT_CLEAN(report);
      auto got = kernel.read<uint32_t>(out, 128);
      for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 16; ++c) {
          int row = y + r, column = x + c;
          uint32_t want = row < 0 || row >= 50 || column < 0 || column >= 100
                              ? 0
                              : uint32_t(row * 100 + column + 1);
          // Pieces of 16 bytes change place with the bits of 128 above them.
          unsigned at = unsigned(r * 64 + c * 4);
          if (swizzle)
            at ^= (at / 128 % 4) * 16;
          EXPECT_EQ(got[at / 4], want) << x << " " << y << " " << r << " " << c;
        }
    }
  }
}

} // namespace
