//===- Shim.h - The emulated driver, for tests ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a user's program does with CUDA beside Penstock: contexts, streams, events,
// copies, graphs. GPU 0 is an H100 and GPU 1 a B200.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_GPU_SHIM_H
#define PENSTOCK_UNITTESTS_GPU_SHIM_H

#include "Cuda/DriverTypes.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace penstock::test {

using cuda::DevicePointer;

/// A function of libcuda.so.1, by its symbol.
template <class... A> int call(const char *symbol, A... arguments) {
  static void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto function = reinterpret_cast<int (*)(A...)>(library ? dlsym(library, symbol) : nullptr);
  if (!function) {
    ADD_FAILURE() << symbol << " is missing";
    return -1;
  }
  return function(arguments...);
}

#define EXPECT_CUDA(...) EXPECT_EQ(0, (__VA_ARGS__))

/// The primary context of a GPU.
inline void *contextOf(int device) {
  void *context = nullptr;
  EXPECT_CUDA(call("cuInit", 0u));
  EXPECT_CUDA(call("cuDevicePrimaryCtxRetain", &context, device));
  return context;
}

/// Makes a GPU current in this scope.
struct OnDevice {
  explicit OnDevice(int device) { EXPECT_CUDA(call("cuCtxPushCurrent_v2", contextOf(device))); }
  ~OnDevice() {
    void *context = nullptr;
    EXPECT_CUDA(call("cuCtxPopCurrent_v2", &context));
  }
};

struct Stream {
  explicit Stream(int device, unsigned flags = cuda::StreamNonBlocking) {
    OnDevice on(device);
    EXPECT_CUDA(call("cuStreamCreate", &handle, flags));
  }
  ~Stream() {
    void *current = nullptr;
    call("cuCtxGetCurrent", &current);
    if (!current)
      call("cuCtxSetCurrent", contextOf(0));
    call("cuStreamDestroy_v2", handle);
    if (!current)
      call("cuCtxSetCurrent", current);
  }
  Stream(const Stream &) = delete;
  operator void *() const { return handle; }
  int synchronize() const { return call("cuStreamSynchronize", handle); }
  void *handle = nullptr;
};

struct Event {
  explicit Event(int device) {
    OnDevice on(device);
    EXPECT_CUDA(call("cuEventCreate", &handle, 0u));
  }
  ~Event() { call("cuEventDestroy_v2", handle); }
  Event(const Event &) = delete;
  operator void *() const { return handle; }
  void *handle = nullptr;
};

} // namespace penstock::test

#endif // PENSTOCK_UNITTESTS_GPU_SHIM_H
