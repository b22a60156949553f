//===- RuntimeDevices.cpp - libcudart.so.13: devices ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Runtime.h"

#include <cstring>

using namespace penstock::shim;

namespace {

/// The runtime's device properties, up to the last field that is filled.
struct Properties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luidMask;
  size_t totalGlobal, sharedPerBlock;
  int registersPerBlock, warpSize;
  size_t memoryPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  size_t totalConst;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int multiprocessors, integrated, mapsHostMemory;
  int textures[35];
  size_t surfaceAlignment;
  int concurrentKernels, ecc, pci[3], tcc, asyncEngines, unifiedAddressing;
  int memoryBusWidth, l2Size, persistingL2, maxThreadsPerMultiprocessor;
  int streamPriorities, globalL1, localL1;
  size_t sharedPerMultiprocessor;
  int registersPerMultiprocessor, managed, multiGpu, multiGpuGroup;
  int hostAtomics, pageable, concurrentManaged, preemption, hostPointer;
  int cooperativeLaunch;
  size_t sharedPerBlockOptin;
  int pageTables, directManaged, maxBlocksPerMultiprocessor, accessWindow;
  size_t reservedShared;
  int hostRegister, sparseArrays, hostRegisterReadOnly, timeline, memoryPools;
  int rdma;
  unsigned rdmaFlush;
  int rdmaOrdering;
  unsigned poolHandles;
  int deferredMapping, ipcEvents, clusterLaunch, functionPointers;
  int numa[2], mps, hostNuma;
  unsigned pciIds[2];
  int hostNumaIpc, reserved[56];
};

int attribute(int id, int device) {
  int value = 0;
  cuDeviceGetAttribute(&value, id, device);
  return value;
}

} // namespace

EXPORT int cudaGetDeviceCount(int *count) {
  *count = 0;
  int result = cuInit(0);
  return finish(result ? result : cuDeviceGetCount(count));
}
EXPORT int cudaGetDevice(int *device) {
  return with([&] { return cuCtxGetDevice(device); });
}
EXPORT int cudaSetDevice(int device) {
  void *context = nullptr;
  int result = cuInit(0);
  if (!result)
    result = cuDevicePrimaryCtxRetain(&context, device);
  return finish(result ? result : cuCtxSetCurrent(context));
}
EXPORT int cudaGetDeviceProperties(Properties *p, int device) {
  return with([&] {
    memset(p, 0, sizeof *p);
    if (int result = cuDeviceGetName(p->name, sizeof p->name, device))
      return result;
    cuDeviceTotalMem_v2(&p->totalGlobal, device);
    p->sharedPerBlock = size_t(attribute(MaxSharedPerBlock, device));
    p->registersPerBlock = attribute(MaxRegistersPerBlock, device);
    p->registersPerMultiprocessor = attribute(MaxRegistersPerMultiprocessor, device);
    p->warpSize = 32;
    p->memoryPitch = 0x7fffffff;
    p->maxThreadsPerBlock = attribute(MaxThreadsPerBlock, device);
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConst = 65536;
    p->major = attribute(ComputeCapabilityMajor, device);
    p->minor = attribute(ComputeCapabilityMinor, device);
    p->textureAlignment = 512;
    p->multiprocessors = attribute(MultiprocessorCount, device);
    p->concurrentKernels = p->unifiedAddressing = 1;
    p->l2Size = attribute(L2CacheSize, device);
    p->maxThreadsPerMultiprocessor = attribute(MaxThreadsPerMultiprocessor, device);
    p->sharedPerMultiprocessor = size_t(attribute(MaxSharedPerMultiprocessor, device));
    p->sharedPerBlockOptin = size_t(attribute(MaxSharedPerBlockOptin, device));
    p->maxBlocksPerMultiprocessor = attribute(MaxBlocksPerMultiprocessor, device);
    p->reservedShared = 1024;
    p->cooperativeLaunch = p->clusterLaunch = 1;
    return int(Success);
  });
}
EXPORT int cudaDeviceGetAttribute(int *value, int id, int device) {
  return with([&] { return cuDeviceGetAttribute(value, id, device); });
}
EXPORT int cudaDriverGetVersion(int *version) { return cuDriverGetVersion(version); }
EXPORT int cudaRuntimeGetVersion(int *version) {
  *version = 13000;
  return Success;
}
EXPORT int cudaDeviceSynchronize() {
  return with([&] { return cuCtxSynchronize(); });
}
