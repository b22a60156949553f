//===- Gpu.cpp - GPUs of the C interface ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/gpu.h"
#include "CApi/Call.h"

using namespace penstock;

int32_t penstock_gpu_count(void) {
  try {
    return gpu::count();
  } catch (...) {
    return 0;
  }
}

penstock_status penstock_synchronize(void *stream, penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    found = gpu::try_synchronize(gpu::Stream(stream), {});
  });
}

penstock_status penstock_gpu_allocate(int32_t gpu, size_t bytes, void **memory,
                                      penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (memory)
      *memory = gpu::detail::allocate(bytes, gpu, {});
    else
      capi::fail(found, CallArgument, "the argument `memory` is null");
  });
}

void penstock_gpu_release(int32_t gpu, void *memory) {
  try {
    gpu::detail::release(memory, gpu);
  } catch (...) {
    // The memory is lost; the function returns nothing that could say so.
    return;
  }
}

penstock_status penstock_gpu_upload(int32_t gpu, void *to, const void *from, size_t bytes,
                                    penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics,
                    [&](capi::Diagnostics &) { gpu::detail::upload(to, from, bytes, gpu, {}); });
}

penstock_status penstock_gpu_download(int32_t gpu, void *to, const void *from, size_t bytes,
                                      penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics,
                    [&](capi::Diagnostics &) { gpu::detail::download(to, from, bytes, gpu, {}); });
}
