//===- RuntimeModules.cpp - libcudart.so.13: kernels and variables --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/FatBinary.h"
#include "CudaShim/Runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

using namespace penstock::shim;

namespace {

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

struct RegisteredModule {
  const void *image = nullptr;
  void *library = nullptr;
  bool failed = false;
};

/// A kernel or variable of the program, by the address that stands for it on the host.
struct Symbol {
  RegisteredModule *module = nullptr;
  std::string name;
  void *kernel = nullptr;
};

struct Program {
  std::mutex mutex;
  std::vector<std::unique_ptr<RegisteredModule>> modules;
  std::map<const void *, Symbol> functions, variables;
};

Program &program() {
  // Never destroyed: programs unregister from destructors of their own.
  static Program *object = new Program;
  return *object;
}

/// The library of a module, loaded when it is first used.
void *libraryOf(RegisteredModule &module) {
  if (!module.library && !module.failed) {
    int result =
        cuLibraryLoadData(&module.library, module.image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    module.failed = result != Success;
    if (module.failed)
      fprintf(stderr, "penstock-emu: a part of this program cannot run: error %d\n", result);
  }
  return module.library;
}

/// The driver's kernel; null if there is none.
void *kernelOf(const void *host) {
  std::lock_guard lock(program().mutex);
  auto found = program().functions.find(host);
  if (found == program().functions.end())
    return nullptr;
  Symbol &symbol = found->second;
  if (!symbol.kernel && libraryOf(*symbol.module))
    cuLibraryGetKernel(&symbol.kernel, symbol.module->library, symbol.name.c_str());
  return symbol.kernel;
}

DevicePointer variableOf(const void *host) {
  std::lock_guard lock(program().mutex);
  auto found = program().variables.find(host);
  DevicePointer at = 0;
  if (found != program().variables.end() && libraryOf(*found->second.module))
    cuLibraryGetGlobal(&at, nullptr, found->second.module->library, found->second.name.c_str());
  return at;
}

struct CallConfiguration {
  Dim grid, block;
  size_t shared;
  void *stream;
};
thread_local std::vector<CallConfiguration> pushed;

struct RuntimeConfiguration {
  Dim grid, block;
  size_t shared;
  void *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

LaunchConfig driverConfig(const RuntimeConfiguration &from) {
  return {{from.grid.x, from.grid.y, from.grid.z},
          {from.block.x, from.block.y, from.block.z},
          unsigned(from.shared),
          from.stream,
          from.attributes,
          from.numAttributes};
}

int launch(const RuntimeConfiguration &config, const void *function, void **arguments) {
  return with([&] {
    void *kernel = kernelOf(function);
    if (!kernel)
      return InvalidDeviceFunction;
    LaunchConfig to = driverConfig(config);
    return cuLaunchKernelEx(&to, kernel, arguments, nullptr);
  });
}

struct FunctionAttributes {
  size_t sharedBytes, constBytes, localBytes;
  int maxThreads, registers, ptxVersion, binaryVersion, cacheMode, maxDynamic, carveout,
      clusterMustBeSet, clusterWidth, clusterHeight, clusterDepth, clusterPolicy, nonPortable,
      reserved[16];
};

} // namespace

// Registration
// ------------------------------------------------------------------

EXPORT void **__cudaRegisterFatBinary(void *wrapper) {
  auto module = std::make_unique<RegisteredModule>();
  module->image = wrapper;
  std::string problem;
  std::vector<PtxImage> images = readFatBinary(wrapper, problem);
  if (images.empty()) {
    fprintf(stderr, "penstock-emu: a part of this program cannot run: %s\n", problem.c_str());
    module->failed = true;
  }
  // The device is the one that the program was compiled for, unless it is named.
  if (std::ranges::any_of(images, [](const PtxImage &image) { return image.arch >= 100; }))
    penstock_emu_suggest_blackwell();
  std::lock_guard lock(program().mutex);
  program().modules.push_back(std::move(module));
  return reinterpret_cast<void **>(program().modules.back().get());
}
EXPORT void __cudaRegisterFatBinaryEnd(void **) {}
EXPORT void __cudaUnregisterFatBinary(void **) {}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *, const char *name, int,
                                   void *, void *, void *, void *, int *) {
  std::lock_guard lock(program().mutex);
  program().functions[host] = {reinterpret_cast<RegisteredModule *>(handle), name};
}
EXPORT void __cudaRegisterVar(void **handle, char *host, char *, const char *name, int, size_t, int,
                              int) {
  std::lock_guard lock(program().mutex);
  program().variables[host] = {reinterpret_cast<RegisteredModule *>(handle), name};
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
                            size_t shared, void *stream) {
  return launch({grid, block, shared, stream, nullptr, 0}, function, arguments);
}
EXPORT int __cudaLaunchKernel(const void *kernel, Dim grid, Dim block, void **arguments,
                              size_t shared, void *stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
EXPORT int cudaLaunchKernelExC(const RuntimeConfiguration *config, const void *function,
                               void **arguments) {
  return launch(*config, function, arguments);
}
EXPORT int cudaFuncSetAttribute(const void *function, int attribute, int value) {
  return with([&] {
    int device = 0;
    void *kernel = kernelOf(function);
    cuCtxGetDevice(&device);
    return kernel ? cuKernelSetAttribute(attribute, value, kernel, device) : InvalidDeviceFunction;
  });
}
EXPORT int cudaFuncGetAttributes(FunctionAttributes *out, const void *function) {
  return with([&] {
    int device = 0;
    void *kernel = kernelOf(function);
    if (!kernel)
      return InvalidDeviceFunction;
    memset(out, 0, sizeof *out);
    cuCtxGetDevice(&device);
    cuKernelGetAttribute(&out->maxThreads, FunctionMaxThreads, kernel, device);
    cuKernelGetAttribute(&out->registers, FunctionRegisters, kernel, device);
    cuKernelGetAttribute(&out->ptxVersion, FunctionPtxVersion, kernel, device);
    cuKernelGetAttribute(&out->binaryVersion, FunctionBinaryVersion, kernel, device);
    return cuKernelGetAttribute(&out->maxDynamic, FunctionMaxDynamicShared, kernel, device);
  });
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
EXPORT int cudaOccupancyMaxActiveClusters(int *clusters, const void *function,
                                          const RuntimeConfiguration *config) {
  return with([&] {
    LaunchConfig to = driverConfig(*config);
    return cuOccupancyMaxActiveClusters(clusters, kernelOf(function), &to);
  });
}

// Variables
// ---------------------------------------------------------------------

EXPORT int cudaGetSymbolAddress(void **pointer, const void *symbol) {
  return with([&] {
    DevicePointer at = variableOf(symbol);
    *pointer = reinterpret_cast<void *>(at);
    return at ? Success : InvalidValue;
  });
}
EXPORT int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                              int) {
  return with([&] {
    DevicePointer at = variableOf(symbol);
    return at ? cuMemcpy(at + offset, address(from), bytes) : int(InvalidValue);
  });
}
EXPORT int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int) {
  return with([&] {
    DevicePointer at = variableOf(symbol);
    return at ? cuMemcpy(address(to), at + offset, bytes) : int(InvalidValue);
  });
}
