//===- MemoryTest.cpp - Tensors that a GPU cannot access ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Shim.h"

#include <penstock/dlpack.h>

using namespace penstock;
using namespace penstock::test;

namespace {

std::string only(const std::vector<Diagnostic> &diagnostics) {
  if (diagnostics.size() != 1)
    return std::to_string(diagnostics.size()) + " diagnostics\n" + to_text(diagnostics);
  EXPECT_TRUE(diagnostics[0].location.known());
  EXPECT_FALSE(diagnostics[0].helps.empty());
  return codeName(diagnostics[0].code) + " " + diagnostics[0].message;
}

DLTensor tensorOn(DLDeviceType type, int device, void *data, int64_t *shape) {
  DLTensor tensor = {};
  tensor.data = data;
  tensor.device = {type, device};
  tensor.ndim = 1;
  tensor.dtype = {kDLInt, 32, 1};
  tensor.shape = shape;
  return tensor;
}

TEST(GpuMemory, HostMemoryIsRefusedByName) {
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  gpu::Memory<int32_t> y(16, gpu::Device(0));
  std::vector<int32_t> x(16);
  EXPECT_EQ(only(kernel.try_launch({}, view(x, {16}), 1, view(y, {16}))),
            "PS1701 `x` is in host memory; GPU 0 cannot access it");
}

TEST(GpuMemory, HostMemoryOfTensorMapsIsRefused) {
  auto kernel = compile(Product{}, Target::sm_90a());
  gpu::Memory<f16> a(64 * 64, gpu::Device(0)), c(64 * 64, gpu::Device(0));
  alignas(64) static f16 b[64 * 64];
  EXPECT_EQ(only(kernel.try_launch({}, view(a, {64, 64}), view(b, {64, 64}), view(c, {64, 64}))),
            "PS1701 `B` is in host memory; GPU 0 cannot access it");
}

TEST(GpuMemory, ShortMemoryIsRefused) {
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  gpu::Memory<int32_t> x(16, gpu::Device(0)), y(15, gpu::Device(0));
  EXPECT_EQ(only(kernel.try_launch({}, view(x, {16}), 1, view(y, {16}))),
            "PS1701 `y` needs 64 bytes, but its memory ends after 60");
  // The same address with fewer elements.
  std::vector<int32_t> zeros(16);
  x.upload(zeros.data());
  y.upload(zeros.data());
  EXPECT_TRUE(kernel.try_launch({}, view(x, {15}), 1, view(y, {15})).empty());
  EXPECT_EQ(only(kernel.try_launch({}, view(x, {16}), 1, view(y, {16}))),
            "PS1701 `y` needs 64 bytes, but its memory ends after 60");
}

TEST(GpuMemory, MemoryOfAnotherGpuIsRefused) {
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  gpu::Memory<int32_t> x(16, gpu::Device(1)), y(16, gpu::Device(0));
  EXPECT_EQ(only(kernel.try_launch({}, view(x, {16}), 1, view(y, {16}))),
            "PS1701 `x` is in the memory of GPU 1, and the kernel runs on GPU 0");
}

TEST(GpuMemory, DLPackTensorsOfCudaDevices) {
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  gpu::Memory<int32_t> x(16, gpu::Device(0)), y(16, gpu::Device(0));
  std::vector<int32_t> ones(16, 1), result(16);
  x.upload(ones.data());
  y.upload(ones.data());
  int64_t shape[] = {16};
  DLTensor dlX = tensorOn(kDLCUDA, 0, x.data(), shape), dlY = tensorOn(kDLCUDA, 0, y.data(), shape);
  kernel(view<const int32_t, 1>(dlX), 4, view<int32_t, 1>(dlY));
  y.download(result.data());
  EXPECT_EQ(result[15], 5);
  // On the host: the tensor is known to be on a GPU.
  auto native = compile(Accumulate{}, Target::native());
  EXPECT_EQ(only(native.try_launch({}, view<const int32_t, 1>(dlX), 4, view<int32_t, 1>(dlY))),
            "PS1307 `x` is on a GPU, and `Accumulate` was compiled for the host");
}

TEST(GpuMemory, DLPackTensorsOfTheHostAreRefused) {
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  std::vector<int32_t> x(16), y(16);
  int64_t shape[] = {16};
  DLTensor dlX = tensorOn(kDLCPU, 0, x.data(), shape), dlY = tensorOn(kDLCPU, 0, y.data(), shape);
  auto refused = kernel.try_launch({}, view<const int32_t, 1>(dlX), 4, view<int32_t, 1>(dlY));
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0].message, "`x` is in host memory; GPU 0 cannot access it");
  EXPECT_EQ(refused[1].message, "`y` is in host memory; GPU 0 cannot access it");
  EXPECT_EQ(refused[0].helps[0],
            "copy it to the GPU, e.g. to a gpu::Memory, and pass a view of the copy");
}

TEST(GpuMemory, AllocationsThatAreTooLargeAreDiagnosed) {
  try {
    gpu::Memory<char> memory(size_t(1) << 50, gpu::Device(0));
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(only(error.diagnostics()), "PS1704 the GPU has no memory left (cuMemAlloc returned "
                                         "2, CUDA_ERROR_OUT_OF_MEMORY)");
  }
}

} // namespace
