//===- Runtime.cpp - libcudart.so.13 on the emulator ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry points that programs built with `nvcc -cudart shared` ask for.
// Streams are in order and every call completes before it returns, which is a
// legal behavior of the runtime. Types are declared here as far as the binary
// interface needs them, so that no CUDA header is needed to build this. An
// entry point that is not here is named by the dynamic linker.
//
//===----------------------------------------------------------------------===//
#include "CudaShim/State.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace penstock;
using namespace penstock::cuda;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Lock = std::lock_guard<std::mutex>;

struct CallConfiguration {
  Dim grid, block;
  size_t shared;
  void *stream;
};
thread_local std::vector<CallConfiguration> pushed;

struct Attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    Dim cluster;
  };
};

struct LaunchConfiguration {
  Dim grid, block;
  size_t shared;
  void *stream;
  Attribute *attributes;
  unsigned numAttributes;
};
constexpr int attributeCluster = 4;

struct FunctionAttributes {
  size_t sharedBytes, constBytes, localBytes;
  int maxThreads, registers, ptxVersion, binaryVersion, cacheMode, maxDynamic, carveout,
      clusterMustBeSet, clusterWidth, clusterHeight, clusterDepth, clusterPolicy, nonPortable,
      reserved[16];
};

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

struct Event {
  std::chrono::steady_clock::time_point when;
};

} // namespace

// Registration
// ------------------------------------------------------------------

EXPORT void **__cudaRegisterFatBinary(void *wrapper) {
  State &s = state();
  Lock lock(s.mutex);
  auto module = std::make_unique<RegisteredModule>();
  std::string problem;
  module->images = readFatBinary(wrapper, problem);
  if (module->images.empty()) {
    fprintf(stderr, "penstock-emu: a part of this program cannot run: %s\n", problem.c_str());
    module->failed = true;
  }
  s.modules.push_back(std::move(module));
  return reinterpret_cast<void **>(s.modules.back().get());
}
EXPORT void __cudaRegisterFatBinaryEnd(void **) {}
EXPORT void __cudaUnregisterFatBinary(void **) {}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *, const char *name, int,
                                   void *, void *, void *, void *, int *) {
  State &s = state();
  Lock lock(s.mutex);
  Function &function = s.functions[host];
  function.module = reinterpret_cast<RegisteredModule *>(handle);
  function.name = name;
}
EXPORT void __cudaRegisterVar(void **handle, char *host, char *, const char *name, int, size_t size,
                              int, int) {
  State &s = state();
  Lock lock(s.mutex);
  s.variables[host] = {reinterpret_cast<RegisteredModule *>(handle), name, size};
}

// Launches
// ----------------------------------------------------------------------

EXPORT unsigned __cudaPushCallConfiguration(Dim grid, Dim block, size_t shared, void *stream) {
  pushed.push_back({grid, block, shared, stream});
  return 0;
}
EXPORT int __cudaPopCallConfiguration(Dim *grid, Dim *block, size_t *shared, void *stream) {
  if (pushed.empty())
    return InvalidValue;
  *grid = pushed.back().grid;
  *block = pushed.back().block;
  *shared = pushed.back().shared;
  *static_cast<void **>(stream) = pushed.back().stream;
  pushed.pop_back();
  return Success;
}
EXPORT int __cudaGetKernel(const void **kernel, const void *host) {
  *kernel = host; // a kernel is known by its host address
  return Success;
}
EXPORT int cudaLaunchKernel(const void *function, Dim grid, Dim block, void **arguments,
                            size_t shared, void *) {
  State &s = state();
  Lock lock(s.mutex);
  return s.launch(function, grid, block, {0, 0, 0}, arguments, shared);
}
EXPORT int __cudaLaunchKernel(const void *kernel, Dim grid, Dim block, void **arguments,
                              size_t shared, void *stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
EXPORT int cudaLaunchKernelExC(const LaunchConfiguration *config, const void *function,
                               void **arguments) {
  State &s = state();
  Lock lock(s.mutex);
  Dim cluster = {0, 0, 0};
  for (unsigned i = 0; i < config->numAttributes; ++i)
    if (config->attributes[i].id == attributeCluster)
      cluster = config->attributes[i].cluster;
  return s.launch(function, config->grid, config->block, cluster, arguments, config->shared);
}
EXPORT int cudaFuncSetAttribute(const void *function, int attribute, int value) {
  State &s = state();
  Lock lock(s.mutex);
  auto found = s.functions.find(function);
  if (found == s.functions.end())
    return s.fail(InvalidDeviceFunction);
  if (attribute == 8) { // the largest dynamic shared memory
    if (value < 0 || uint32_t(value) > s.device.maxShared)
      return s.fail(InvalidValue);
    found->second.maxDynamicShared = value;
  }
  return Success;
}
EXPORT int cudaFuncGetAttributes(FunctionAttributes *out, const void *function) {
  State &s = state();
  Lock lock(s.mutex);
  auto found = s.functions.find(function);
  if (found == s.functions.end())
    return s.fail(InvalidDeviceFunction);
  memset(out, 0, sizeof *out);
  s.chooseDevice();
  out->maxThreads = 1024;
  out->registers = 64;
  out->ptxVersion = out->binaryVersion = int(s.arch());
  out->maxDynamic = found->second.maxDynamicShared;
  return Success;
}
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int,
                                                                  size_t, unsigned) {
  *blocks = 1;
  return Success;
}
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t) {
  *blocks = 1;
  return Success;
}
EXPORT int cudaOccupancyMaxActiveClusters(int *clusters, const void *,
                                          const LaunchConfiguration *config) {
  State &s = state();
  Lock lock(s.mutex);
  s.chooseDevice();
  unsigned size = 1;
  for (unsigned i = 0; i < config->numAttributes; ++i)
    if (config->attributes[i].id == attributeCluster) {
      const Dim &d = config->attributes[i].cluster;
      size = std::max(1u, d.x * d.y * d.z);
    }
  *clusters = int(s.multiprocessors() / size);
  return Success;
}

// Memory
// ------------------------------------------------------------------------

EXPORT int cudaMalloc(void **pointer, size_t size) {
  State &s = state();
  Lock lock(s.mutex);
  uint64_t address = s.device.memory.allocate(size);
  *pointer = reinterpret_cast<void *>(address);
  return address ? Success : s.fail(MemoryAllocation);
}
EXPORT int cudaMallocAsync(void **pointer, size_t size, void *) {
  return cudaMalloc(pointer, size);
}
EXPORT int cudaFree(void *pointer) {
  State &s = state();
  Lock lock(s.mutex);
  if (!pointer)
    return Success;
  return s.device.memory.release(reinterpret_cast<uint64_t>(pointer)) ? Success
                                                                      : s.fail(InvalidValue);
}
EXPORT int cudaFreeAsync(void *pointer, void *) { return cudaFree(pointer); }
EXPORT int cudaMallocHost(void **pointer, size_t size) {
  *pointer = malloc(size ? size : 1);
  return *pointer ? Success : state().fail(MemoryAllocation);
}
EXPORT int cudaHostAlloc(void **pointer, size_t size, unsigned) {
  return cudaMallocHost(pointer, size);
}
EXPORT int cudaFreeHost(void *pointer) {
  free(pointer);
  return Success;
}
EXPORT int cudaMemcpy(void *to, const void *from, size_t bytes, int) {
  State &s = state();
  Lock lock(s.mutex);
  return s.copy(to, from, bytes);
}
EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *) {
  return cudaMemcpy(to, from, bytes, kind);
}
EXPORT int cudaMemset(void *to, int value, size_t bytes) {
  State &s = state();
  Lock lock(s.mutex);
  std::vector<uint8_t> content(bytes, uint8_t(value));
  return s.device.write(reinterpret_cast<uint64_t>(to), content.data(), bytes)
             ? Success
             : s.fail(InvalidValue);
}
EXPORT int cudaMemsetAsync(void *to, int value, size_t bytes, void *) {
  return cudaMemset(to, value, bytes);
}
EXPORT int cudaGetSymbolAddress(void **pointer, const void *symbol) {
  State &s = state();
  Lock lock(s.mutex);
  uint64_t address = s.variableAddress(symbol);
  *pointer = reinterpret_cast<void *>(address);
  return address ? Success : s.fail(InvalidValue);
}
EXPORT int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                              int) {
  State &s = state();
  Lock lock(s.mutex);
  uint64_t address = s.variableAddress(symbol);
  return address && s.device.write(address + offset, from, bytes) ? Success : s.fail(InvalidValue);
}
EXPORT int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int) {
  State &s = state();
  Lock lock(s.mutex);
  uint64_t address = s.variableAddress(symbol);
  return address && s.device.read(address + offset, to, bytes) ? Success : s.fail(InvalidValue);
}
EXPORT int cudaMemGetInfo(size_t *free, size_t *total) {
  State &s = state();
  Lock lock(s.mutex);
  *total = s.device.memory.limit;
  *free = *total - s.device.memory.used();
  return Success;
}

// Devices, streams, events
// --------------------------------------------------------

EXPORT int cudaGetDeviceCount(int *count) {
  *count = 1;
  return Success;
}
EXPORT int cudaGetDevice(int *device) {
  *device = 0;
  return Success;
}
EXPORT int cudaSetDevice(int device) { return device == 0 ? Success : state().fail(InvalidValue); }
EXPORT int cudaGetDeviceProperties(Properties *p, int device) {
  State &s = state();
  Lock lock(s.mutex);
  if (device)
    return s.fail(InvalidValue);
  s.chooseDevice();
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "Penstock emulator of an NVIDIA %s",
           s.isBlackwell ? "B200" : "H100");
  p->totalGlobal = s.device.memory.limit;
  p->sharedPerBlock = 49152;
  p->registersPerBlock = p->registersPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memoryPitch = 0x7fffffff;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConst = 65536;
  p->major = int(s.arch() / 10);
  p->minor = int(s.arch() % 10);
  p->textureAlignment = 512;
  p->multiprocessors = int(s.multiprocessors());
  p->concurrentKernels = p->unifiedAddressing = 1;
  p->l2Size = 50 << 20;
  p->maxThreadsPerMultiprocessor = 2048;
  p->sharedPerMultiprocessor = 233472;
  p->sharedPerBlockOptin = s.device.maxShared;
  p->maxBlocksPerMultiprocessor = 32;
  p->reservedShared = 1024;
  p->cooperativeLaunch = p->clusterLaunch = 1;
  return Success;
}
EXPORT int cudaDeviceGetAttribute(int *value, int attribute, int) {
  State &s = state();
  Lock lock(s.mutex);
  s.chooseDevice();
  switch (attribute) {
  case 1: // threads in a block
    *value = 1024;
    break;
  case 8: // shared memory of a block
    *value = 49152;
    break;
  case 10: // warp size
    *value = 32;
    break;
  case 12: // registers
  case 82:
    *value = 65536;
    break;
  case 16:
    *value = int(s.multiprocessors());
    break;
  case 38: // L2
    *value = 50 << 20;
    break;
  case 39: // threads of a multiprocessor
    *value = 2048;
    break;
  case 75:
    *value = int(s.arch() / 10);
    break;
  case 76:
    *value = int(s.arch() % 10);
    break;
  case 81: // shared memory of a multiprocessor
    *value = 233472;
    break;
  case 95:  // cooperative launches
  case 120: // clusters
    *value = 1;
    break;
  case 97: // shared memory of a block, on request
    *value = int(s.device.maxShared);
    break;
  case 106: // blocks of a multiprocessor
    *value = 32;
    break;
  default:
    fprintf(stderr, "penstock-emu: device attribute %d is not known\n", attribute);
    return s.fail(InvalidValue);
  }
  return Success;
}
EXPORT int cudaDriverGetVersion(int *version) {
  *version = 13000;
  return Success;
}
EXPORT int cudaRuntimeGetVersion(int *version) {
  *version = 13000;
  return Success;
}
EXPORT int cudaDeviceSynchronize() {
  return state().last == LaunchFailure ? LaunchFailure : Success;
}
EXPORT int cudaStreamSynchronize(void *) { return cudaDeviceSynchronize(); }
EXPORT int cudaStreamCreate(void **stream) {
  *stream = new char;
  return Success;
}
EXPORT int cudaStreamCreateWithFlags(void **stream, unsigned) { return cudaStreamCreate(stream); }
EXPORT int cudaStreamDestroy(void *stream) {
  delete static_cast<char *>(stream);
  return Success;
}
EXPORT int cudaStreamWaitEvent(void *, void *, unsigned) { return Success; }
EXPORT int cudaEventCreate(Event **event) {
  *event = new Event;
  return Success;
}
EXPORT int cudaEventCreateWithFlags(Event **event, unsigned) { return cudaEventCreate(event); }
EXPORT int cudaEventDestroy(Event *event) {
  delete event;
  return Success;
}
EXPORT int cudaEventRecord(Event *event, void *) {
  event->when = std::chrono::steady_clock::now();
  return Success;
}
EXPORT int cudaEventSynchronize(Event *) { return Success; }
EXPORT int cudaEventQuery(Event *) { return Success; }
EXPORT int cudaEventElapsedTime(float *ms, Event *from, Event *to) {
  *ms = std::chrono::duration<float, std::milli>(to->when - from->when).count();
  return Success;
}

// Errors
// --------------------------------------------------------------------------

EXPORT int cudaGetLastError() {
  State &s = state();
  cuda::Error last = s.last;
  if (last != LaunchFailure) // that one stays
    s.last = Success;
  return last;
}
EXPORT int cudaPeekAtLastError() { return state().last; }
EXPORT const char *cudaGetErrorName(int error) {
  switch (error) {
  case Success:
    return "cudaSuccess";
  case InvalidValue:
    return "cudaErrorInvalidValue";
  case MemoryAllocation:
    return "cudaErrorMemoryAllocation";
  case InvalidDeviceFunction:
    return "cudaErrorInvalidDeviceFunction";
  case LaunchFailure:
    return "cudaErrorLaunchFailure";
  default:
    return "cudaErrorUnknown";
  }
}
EXPORT const char *cudaGetErrorString(int error) {
  switch (error) {
  case Success:
    return "no error";
  case InvalidValue:
    return "invalid argument";
  case MemoryAllocation:
    return "out of memory";
  case InvalidDeviceFunction:
    return "invalid device function";
  case LaunchFailure:
    return "the emulator reported findings in a kernel";
  default:
    return "unknown error";
  }
}

// The driver, through the runtime
// ----------------------------------------------------

EXPORT int cuTensorMapEncodeTiled(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                                  const uint32_t *, const uint32_t *, int, int, int, int);

EXPORT int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                            unsigned long long, int *status) {
  if (!strcmp(symbol, "cuTensorMapEncodeTiled")) {
    *function = reinterpret_cast<void *>(&cuTensorMapEncodeTiled);
    if (status)
      *status = 0;
    return Success;
  }
  fprintf(stderr, "penstock-emu: the driver's entry point `%s` is missing\n", symbol);
  *function = nullptr;
  if (status)
    *status = 1; // not found
  return Success;
}
EXPORT int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                   int *status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 13000, flags, status);
}
