//===- Im2colMapTest.cpp - cuTensorMapEncodeIm2col ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Shim.h"

#include <functional>
#include <vector>

using namespace penstock;
using namespace penstock::test;

namespace {

/// Arguments for images of 11 pixels with 8 channels each, a filter of 3 and a padding of 1.
struct MapArguments {
  alignas(64) unsigned char bytes[192] = {};
  void *map = bytes;
  int dataType = 2; // CU_TENSOR_MAP_DATA_TYPE_UINT32
  uint32_t rank = 3;
  void *address = nullptr;
  uint64_t dims[3] = {8, 11, 2}, strides[2] = {32, 352};
  int lower[1] = {-1}, upper[1] = {-1};
  uint32_t channels = 4, pixels = 16, elementStrides[3] = {1, 1, 1};

  int encode() {
    return call("cuTensorMapEncodeIm2col", map, dataType, rank, address,
                static_cast<const uint64_t *>(dims), static_cast<const uint64_t *>(strides),
                static_cast<const int *>(lower), static_cast<const int *>(upper), channels, pixels,
                static_cast<const uint32_t *>(elementStrides), 0, 0, 0, 0);
  }
};

/// Loads channels 4 to 7 of 16 pixels at position 2 of the filter, from the first output on.
const char *const loadPixels = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)
{
.reg .b32 %t, %r<9>; .reg .b64 %x<9>; .reg .pred %p<3>;
.shared .align 128 .b8 tile[256]; .shared .align 8 .b64 bar;
mov.u32 %t, %tid.x; setp.ne.u32 %p0, %t, 0;
@!%p0 mbarrier.init.shared.b64 [bar], 1;
bar.warp.sync -1;
mov.b64 %x0, map; cvta.param.u64 %x1, %x0; ld.param.u64 %x2, [out];
@%p0 bra WAIT;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
  [tile], [%x1, {4, -1, 0}], [bar], {2};
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;
mov.u32 %r1, tile; mad.lo.u32 %r1, %t, 8, %r1; mad.wide.u32 %x3, %t, 8, %x2;
ld.shared.u32 %r2, [%r1]; st.global.u32 [%x3], %r2;
ld.shared.u32 %r2, [%r1+4]; st.global.u32 [%x3+4], %r2;
ret;
}
)";

struct DeviceMemory {
  explicit DeviceMemory(size_t bytes) { EXPECT_CUDA(call("cuMemAlloc_v2", &address, bytes)); }
  ~DeviceMemory() { call("cuMemFree_v2", address); }
  DevicePointer address = 0;
};

TEST(Im2colMap, KernelsLoadThePixelsOfAConvolution) {
  OnDevice on(0);
  std::vector<uint32_t> image(8 * 11 * 2), got(64);
  for (uint32_t i = 0; i < image.size(); ++i)
    image[i] = i + 1;
  DeviceMemory from(image.size() * 4), to(got.size() * 4);
  EXPECT_CUDA(call("cuMemcpyHtoD_v2", from.address, static_cast<const void *>(image.data()),
                   image.size() * 4));
  MapArguments arguments;
  arguments.address = reinterpret_cast<void *>(from.address);
  ASSERT_EQ(arguments.encode(), 0);

  void *module = nullptr, *function = nullptr;
  ASSERT_EQ(call("cuModuleLoadData", &module, static_cast<const void *>(loadPixels)), 0);
  ASSERT_EQ(call("cuModuleGetFunction", &function, module, "k"), 0);
  void *parameters[] = {arguments.map, &to.address};
  EXPECT_CUDA(call("cuLaunchKernel", function, 1u, 1u, 1u, 32u, 1u, 1u, 0u,
                   static_cast<void *>(nullptr), static_cast<void **>(parameters),
                   static_cast<void **>(nullptr)));
  EXPECT_CUDA(call("cuMemcpyDtoH_v2", static_cast<void *>(got.data()), to.address, got.size() * 4));
  EXPECT_CUDA(call("cuModuleUnload", module));
  // Output w of image n reads pixel w - padding + 2; there are as many outputs as pixels.
  for (int row = 0; row < 16; ++row)
    for (int channel = 0; channel < 4; ++channel) {
      int n = row / 11, pixel = row % 11 - 1 + 2;
      uint32_t want = pixel < 11 ? image[size_t((n * 11 + pixel) * 8 + 4 + channel)] : 0;
      EXPECT_EQ(got[size_t(row * 4 + channel)], want) << row << " " << channel;
    }
}

TEST(Im2colMap, RulesOfTheDriverAreNamed) {
  OnDevice on(0);
  auto refusal = [](const std::function<void(MapArguments &)> &change) {
    MapArguments arguments;
    arguments.address = reinterpret_cast<void *>(4096);
    change(arguments);
    testing::internal::CaptureStderr();
    int result = arguments.encode();
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(result, text.empty() ? 0 : 1); // CUDA_ERROR_INVALID_VALUE
    return text;
  };
  const std::string begin = "penstock-emu: cuTensorMapEncodeIm2col: ";
  EXPECT_EQ(refusal([](MapArguments &) {}), "");
  EXPECT_EQ(refusal([](MapArguments &a) { a.map = a.bytes + 32; }),
            begin + "the map must be aligned to 64 bytes\n");
  EXPECT_EQ(refusal([](MapArguments &a) { a.map = nullptr; }),
            begin + "the map must be aligned to 64 bytes\n");
  EXPECT_EQ(refusal([](MapArguments &a) { a.rank = 2; }), begin + "the rank must be 3 to 5\n");
  EXPECT_EQ(refusal([](MapArguments &a) { a.rank = 6; }), begin + "the rank must be 3 to 5\n");
  EXPECT_EQ(refusal([](MapArguments &a) { a.pixels = 0; }),
            begin + "the pixels of a column must be 1 to 1024\n");
  for (auto change :
       {+[](MapArguments &a) { a.pixels = 1025; }, +[](MapArguments &a) { a.channels = 257; },
        +[](MapArguments &a) { a.lower[0] = -32769; }, // 3D: 16 bits
        +[](MapArguments &a) { a.upper[0] = -12; },    // an empty box
        +[](MapArguments &a) { a.strides[0] = 24; },
        +[](MapArguments &a) { a.address = reinterpret_cast<void *>(4104); }})
    EXPECT_EQ(refusal(change).substr(0, begin.size()), begin);
}

} // namespace
