//===- DLPackTest.cpp - Tensors of other frameworks as views --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/dlpack.h>

#include <gtest/gtest.h>

using namespace penstock;

namespace {

struct HostTensor {
  float values[24] = {};
  int64_t shape[3] = {2, 3, 4};
  int64_t strides[3] = {12, 4, 1};
  DLTensor tensor = {};

  HostTensor() {
    tensor.data = values;
    tensor.device.device_type = kDLCPU;
    tensor.ndim = 3;
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = shape;
  }
};

TEST(DLPack, TensorsWithoutStridesAreDense) {
  HostTensor host;
  auto seen = view<float, 3>(host.tensor);
  EXPECT_EQ(seen.data, host.values);
  EXPECT_EQ(seen.sizes, (std::array<int64_t, 3>{2, 3, 4}));
  EXPECT_EQ(seen.strides, (std::array<int64_t, 3>{12, 4, 1}));
}

TEST(DLPack, StridesAndOffsetsAreKept) {
  HostTensor host;
  host.strides[0] = 8;
  host.tensor.strides = host.strides;
  host.tensor.byte_offset = 16;
  auto seen = view<const float, 3>(host.tensor);
  EXPECT_EQ(seen.data, host.values + 4);
  EXPECT_EQ(seen.strides, (std::array<int64_t, 3>{8, 4, 1}));
}

TEST(DLPack, NothingIsReinterpreted) {
  auto refusal = [](DLDataType type, auto wanted) {
    HostTensor host;
    host.tensor.dtype = type;
    TensorView<decltype(wanted), 3> seen;
    auto diagnostics = try_view(host.tensor, seen);
    return diagnostics.empty() ? std::string() : diagnostics[0].message;
  };
  EXPECT_EQ(refusal({kDLFloat, 16, 1}, f16()), "");
  EXPECT_EQ(refusal({kDLBfloat, 16, 1}, bf16()), "");
  EXPECT_EQ(refusal({kDLUInt, 32, 1}, i32()), "");
  EXPECT_EQ(refusal({10, 8, 1}, f8e4m3()), "");
  EXPECT_EQ(refusal({14, 8, 1}, f8e8m0()), "");
  EXPECT_EQ(refusal({17, 4, 2}, f4e2m1x2()), "");
  EXPECT_EQ(refusal({kDLUInt, 8, 1}, f4e2m1x2()), "");
  EXPECT_EQ(refusal({kDLInt, 4, 2}, i4x2()), "");
  EXPECT_EQ(refusal({kDLInt, 8, 1}, i4x2()), "");
  EXPECT_EQ(refusal({kDLUInt, 8, 1}, f6e2m3_packed()), "");
  // Values of 6 bits may lie densely or in a byte each.
  EXPECT_EQ(refusal({15, 6, 1}, f6e2m3_packed()),
            "this DLPack tensor holds float6_e2m3fn 6, the view f6e2m3_packed");
  EXPECT_EQ(refusal({16, 6, 4}, f6e3m2_packed()),
            "this DLPack tensor holds float6_e3m2fn 6 x 4, the view f6e3m2_packed");
  EXPECT_EQ(refusal({kDLInt, 4, 2}, f4e2m1x2()),
            "this DLPack tensor holds int4 x 2, the view f4e2m1x2");
  EXPECT_EQ(refusal({17, 4, 2}, i8()), "this DLPack tensor holds float4_e2m1fn 4 x 2, the view i8");
  EXPECT_EQ(refusal({kDLFloat, 4, 2}, f16()), "this DLPack tensor holds float4 x 2, the view f16");
  EXPECT_EQ(refusal({kDLBfloat, 16, 1}, f16()), "this DLPack tensor holds bfloat16, the view f16");
  EXPECT_EQ(refusal({kDLInt, 64, 1}, i32()), "this DLPack tensor holds int64, the view i32");
  EXPECT_EQ(refusal({kDLFloat, 32, 4}, 1.0f), "this DLPack tensor holds float32 x 4, the view f32");
}

TEST(DLPack, RankAndDeviceAreChecked) {
  HostTensor host;
  host.tensor.device.device_type = kDLROCM;
  TensorView<float, 2> seen;
  auto diagnostics = try_view(host.tensor, seen);
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(codeName(diagnostics[0].code), "PS1307");
  EXPECT_EQ(codeName(diagnostics[1].code), "PS1301");
  EXPECT_EQ(seen.data, nullptr);
}

TEST(DLPack, TensorsOfCudaDevicesAreMarked) {
  HostTensor host;
  TensorView<float, 3> seen;
  ASSERT_TRUE(try_view(host.tensor, seen).empty());
  EXPECT_FALSE(seen.on_gpu);
  host.tensor.device.device_type = kDLCUDA;
  ASSERT_TRUE(try_view(host.tensor, seen).empty());
  EXPECT_TRUE(seen.on_gpu);
  EXPECT_TRUE((TensorView<const float, 3>(seen).on_gpu));
}

} // namespace
