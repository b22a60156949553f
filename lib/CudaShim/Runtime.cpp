//===- Runtime.cpp - libcudart.so.13: memory and errors -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry points that programs built with `nvcc -cudart shared` ask for. An entry
// point that is not here is named by the dynamic linker.
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Runtime.h"

#include <cstdio>

using namespace penstock::shim;

int &penstock::shim::lastError() {
  thread_local int last = Success;
  return last;
}

int penstock::shim::finish(int result) {
  if (result != Success && result != NotReady)
    lastError() = result;
  return result;
}

int penstock::shim::ensureContext() {
  void *context = nullptr;
  if (int result = cuInit(0))
    return result;
  if (int result = cuCtxGetCurrent(&context))
    return result;
  if (context)
    return Success;
  if (int result = cuDevicePrimaryCtxRetain(&context, 0))
    return result;
  return cuCtxSetCurrent(context);
}

// Memory
// ------------------------------------------------------------------------

EXPORT int cudaMalloc(void **pointer, size_t size) {
  return with([&] {
    DevicePointer made = 0;
    // The runtime returns a null pointer for nothing.
    int result = size ? cuMemAlloc_v2(&made, size) : int(Success);
    *pointer = reinterpret_cast<void *>(made);
    return result;
  });
}
EXPORT int cudaMallocAsync(void **pointer, size_t size, void *stream) {
  return with([&] {
    DevicePointer made = 0;
    int result = size ? cuMemAllocAsync(&made, size, stream) : int(Success);
    *pointer = reinterpret_cast<void *>(made);
    return result;
  });
}
EXPORT int cudaFree(void *pointer) {
  return with([&] { return cuMemFree_v2(address(pointer)); });
}
EXPORT int cudaFreeAsync(void *pointer, void *stream) {
  return with([&] { return pointer ? cuMemFreeAsync(address(pointer), stream) : int(Success); });
}
EXPORT int cudaHostAlloc(void **pointer, size_t size, unsigned flags) {
  return with([&] { return cuMemHostAlloc(pointer, size, flags); });
}
EXPORT int cudaMallocHost(void **pointer, size_t size) { return cudaHostAlloc(pointer, size, 0); }
EXPORT int cudaFreeHost(void *pointer) {
  return with([&] { return pointer ? cuMemFreeHost(pointer) : int(Success); });
}
EXPORT int cudaHostRegister(void *pointer, size_t size, unsigned flags) {
  return with([&] { return cuMemHostRegister_v2(pointer, size, flags); });
}
EXPORT int cudaHostUnregister(void *pointer) {
  return with([&] { return cuMemHostUnregister(pointer); });
}
EXPORT int cudaMemcpy(void *to, const void *from, size_t bytes, int) {
  return with([&] { return cuMemcpy(address(to), address(from), bytes); });
}
EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, void *stream) {
  return with([&] { return cuMemcpyAsync(address(to), address(from), bytes, stream); });
}
EXPORT int cudaMemset(void *to, int value, size_t bytes) {
  return with([&] { return cuMemsetD8_v2(address(to), (unsigned char)value, bytes); });
}
EXPORT int cudaMemsetAsync(void *to, int value, size_t bytes, void *stream) {
  return with([&] { return cuMemsetD8Async(address(to), (unsigned char)value, bytes, stream); });
}
EXPORT int cudaMemGetInfo(size_t *free, size_t *total) {
  return with([&] { return cuMemGetInfo_v2(free, total); });
}

struct PointerAttributes {
  int type, device;
  void *devicePointer, *hostPointer;
  long reserved[8];
};
EXPORT int cudaPointerGetAttributes(PointerAttributes *out, const void *pointer) {
  return with([&] {
    unsigned type = 0;
    int device = 0;
    int ids[] = {PointerMemoryType, PointerDeviceOrdinal};
    void *to[] = {&type, &device};
    int result = cuPointerGetAttributes(2, ids, to, address(pointer));
    *out = {int(type),
            type ? device : -2,
            type ? const_cast<void *>(pointer) : nullptr,
            type == DeviceMemoryType ? nullptr : const_cast<void *>(pointer),
            {}};
    return result;
  });
}

// Errors
// --------------------------------------------------------------------------

EXPORT int cudaGetLastError() {
  int last = lastError();
  if (!isSticky(last)) // those stay
    lastError() = Success;
  return last;
}
EXPORT int cudaPeekAtLastError() { return lastError(); }
EXPORT const char *cudaGetErrorName(int error) {
  switch (error) {
  case Success:
    return "cudaSuccess";
  case InvalidValue:
    return "cudaErrorInvalidValue";
  case OutOfMemory:
    return "cudaErrorMemoryAllocation";
  case InvalidDeviceFunction:
    return "cudaErrorInvalidDeviceFunction";
  case NoDevice:
    return "cudaErrorNoDevice";
  case InvalidDevice:
    return "cudaErrorInvalidDevice";
  case NoBinaryForGpu:
    return "cudaErrorNoKernelImageForDevice";
  case InvalidHandle:
    return "cudaErrorInvalidResourceHandle";
  case NotReady:
    return "cudaErrorNotReady";
  case IllegalAddress:
    return "cudaErrorIllegalAddress";
  case LaunchTimeout:
    return "cudaErrorLaunchTimeout";
  case IllegalInstruction:
    return "cudaErrorIllegalInstruction";
  case MisalignedAddress:
    return "cudaErrorMisalignedAddress";
  case LaunchFailed:
    return "cudaErrorLaunchFailure";
  case CaptureUnsupported:
    return "cudaErrorStreamCaptureUnsupported";
  case CaptureInvalidated:
    return "cudaErrorStreamCaptureInvalidated";
  case CaptureImplicit:
    return "cudaErrorStreamCaptureImplicit";
  default:
    return "cudaErrorUnknown";
  }
}
EXPORT const char *cudaGetErrorString(int error) {
  if (isSticky(error))
    return "the emulator reported findings in a kernel";
  if (error == InvalidDeviceFunction)
    return "invalid device function";
  const char *text = nullptr;
  return cuGetErrorString(error, &text) == Success ? text : "unknown error";
}

// The driver, through the runtime
// ----------------------------------------------------

EXPORT int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                            unsigned long long flags, int *status) {
  int found = 0;
  cuGetProcAddress_v2(symbol, function, int(version), flags, &found);
  if (found)
    fprintf(stderr, "penstock-emu: the driver's entry point `%s` is missing\n", symbol);
  if (status)
    *status = found;
  return Success;
}
EXPORT int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                   int *status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 13000, flags, status);
}
