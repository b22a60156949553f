//===- Runtime.h - CUDA's runtime on the emulated driver --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libcudart.so.13 has no state but what the program registered and the last error: all
// else belongs to libcuda.so.1. Types are declared as far as the binary interface needs
// them, so that no CUDA header is needed to build this.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDASHIM_RUNTIME_H
#define PENSTOCK_CUDASHIM_RUNTIME_H

#include "Cuda/DriverTypes.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace penstock::shim {

using namespace penstock::cuda;

constexpr int InvalidDeviceFunction = 98;

/// Makes the context of the thread's device current, as every call of the runtime does.
int ensureContext();
/// Keeps the last error of the thread.
int finish(int result);
int &lastError();
/// Calls the driver with a context and keeps its error.
template <class F> int with(F call) {
  int result = ensureContext();
  return finish(result ? result : call());
}

/// A device-side address as the driver takes it.
inline DevicePointer address(const void *pointer) {
  return reinterpret_cast<DevicePointer>(pointer);
}

} // namespace penstock::shim

// Used functions of the driver.
extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int *);
int cuDeviceGetCount(int *);
int cuDeviceGetName(char *, int, int);
int cuDeviceGetAttribute(int *, int, int);
int cuDeviceTotalMem_v2(size_t *, int);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxGetCurrent(void **);
int cuCtxSetCurrent(void *);
int cuCtxGetDevice(int *);
int cuCtxSynchronize();
int cuLibraryLoadData(void **, const void *, int *, void **, unsigned, int *, void **, unsigned);
int cuLibraryGetKernel(void **, void *, const char *);
int cuLibraryGetGlobal(penstock::cuda::DevicePointer *, size_t *, void *, const char *);
int cuKernelSetAttribute(int, int, void *, int);
int cuKernelGetAttribute(int *, int, void *, int);
int cuLaunchKernelEx(const penstock::cuda::LaunchConfig *, void *, void **, void **);
int cuOccupancyMaxActiveClusters(int *, void *, const penstock::cuda::LaunchConfig *);
int cuMemAlloc_v2(penstock::cuda::DevicePointer *, size_t);
int cuMemFree_v2(penstock::cuda::DevicePointer);
int cuMemAllocAsync(penstock::cuda::DevicePointer *, size_t, void *);
int cuMemFreeAsync(penstock::cuda::DevicePointer, void *);
int cuMemHostAlloc(void **, size_t, unsigned);
int cuMemFreeHost(void *);
int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostUnregister(void *);
int cuMemcpy(penstock::cuda::DevicePointer, penstock::cuda::DevicePointer, size_t);
int cuMemcpyAsync(penstock::cuda::DevicePointer, penstock::cuda::DevicePointer, size_t, void *);
int cuMemsetD8_v2(penstock::cuda::DevicePointer, unsigned char, size_t);
int cuMemsetD8Async(penstock::cuda::DevicePointer, unsigned char, size_t, void *);
int cuMemGetInfo_v2(size_t *, size_t *);
int cuPointerGetAttributes(unsigned, int *, void **, penstock::cuda::DevicePointer);
int cuStreamCreate(void **, unsigned);
int cuStreamDestroy_v2(void *);
int cuStreamSynchronize(void *);
int cuStreamQuery(void *);
int cuStreamWaitEvent(void *, void *, unsigned);
int cuStreamBeginCapture_v2(void *, int);
int cuStreamEndCapture(void *, void **);
int cuStreamIsCapturing(void *, int *);
int cuThreadExchangeStreamCaptureMode(int *);
int cuEventCreate(void **, unsigned);
int cuEventDestroy_v2(void *);
int cuEventRecord(void *, void *);
int cuEventQuery(void *);
int cuEventSynchronize(void *);
int cuEventElapsedTime_v2(float *, void *, void *);
int cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cuGraphLaunch(void *, void *);
int cuGraphDestroy(void *);
int cuGraphExecDestroy(void *);
int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);
int cuGetErrorString(int, const char **);
void penstock_emu_suggest_blackwell();
}

#endif // PENSTOCK_CUDASHIM_RUNTIME_H
