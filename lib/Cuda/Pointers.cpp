//===- Pointers.cpp - Is a tensor in the GPU's memory? --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Pointers.h"
#include "Cuda/Errors.h"
#include "Diagnostics/Codes.h"

using namespace penstock;
using namespace penstock::cuda;

KnownPointers &KnownPointers::ofThread() {
  thread_local KnownPointers known;
  return known;
}

void penstock::cuda::checkPointer(const DriverApi &api, const Destination &to, uint64_t address,
                                  uint64_t bytes, const ArgumentInfo &argument,
                                  std::vector<Diagnostic> &diagnostics) {
  auto refuse = [&](std::string message, std::string help) {
    Diagnostic d;
    d.code = GpuMemory;
    d.message = "`" + argument.name + "` " + std::move(message);
    d.helps.push_back(std::move(help));
    diagnostics.push_back(std::move(d));
  };
  ContextScope scope(api, to.context);
  unsigned type = 0, managed = 0, access = 0;
  int device = 0;
  uint64_t start = 0;
  size_t size = 0;
  int attributes[] = {PointerMemoryType, PointerIsManaged, PointerDeviceOrdinal,
                      PointerRangeStart, PointerRangeSize, PointerAccessFlags};
  void *values[] = {&type, &managed, &device, &start, &size, &access};
  int result = scope.result == Success ? api.pointerGetAttributes(6, attributes, values, address)
                                       : scope.result;
  if (result != Success) {
    diagnostics.push_back(driverError(api, result, "cuPointerGetAttributes"));
    return;
  }
  if (type == 0) {
    // Memory that CUDA does not know. Some machines let kernels access all of it.
    std::optional<DeviceInfo> info = deviceInfo(api, to.device, diagnostics);
    if (info && !info->readsPageable)
      refuse("is in host memory; GPU " + std::to_string(to.device) + " cannot access it",
             "copy it to the GPU, e.g. to a gpu::Memory, and pass a view of the copy");
    if (!diagnostics.empty())
      return;
  } else if (size && address + bytes > start + size) {
    refuse("needs " + std::to_string(bytes) + " bytes, but its memory ends after " +
               std::to_string(start + size - address),
           "check the sizes and strides of the view");
    return;
  } else if (type == DeviceMemoryType && !managed && device != to.device && access == 0) {
    refuse("is in the memory of GPU " + std::to_string(device) + ", and the kernel runs on GPU " +
               std::to_string(to.device),
           "launch on a stream of GPU " + std::to_string(device) +
               ", copy the tensor, or enable peer access");
    return;
  }
  KnownPointers::ofThread().add(address, bytes, to.device);
}
