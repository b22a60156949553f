//===- DriverModules.cpp - libcuda: libraries, modules and kernels --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/CubinPtx.h"
#include "CudaShim/Driver.h"
#include "Diagnostics/Render.h"
#include "PTX/Parser.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace penstock;
using namespace penstock::shim;

namespace {

/// 8.6 of `.version 8.6` as 86; 0 without one.
int ptxVersion(const std::string &text) {
  size_t at = text.find(".version ");
  int major = 0, minor = 0;
  if (at == std::string::npos || sscanf(text.c_str() + at + 9, "%d.%d", &major, &minor) != 2)
    return 0;
  return major * 10 + minor;
}

/// The newest PTX that drivers of a version of CUDA compile: 9.0 of CUDA 13.0, before
/// that 8.x of CUDA 12.x.
int supportedPtx(int driver) {
  int major = driver / 1000, minor = driver % 1000 / 10;
  if (major >= 13)
    return 90 + minor;
  // CUDA 12.7 was not released with a PTX of its own: 12.8 has 8.7, 12.6 has 8.5.
  return major == 12 ? 80 + (minor >= 8 ? minor - 1 : minor) : 78;
}

constexpr unsigned fatBinaryMagic = 0xba55ed50, wrapperMagic = 0x466243b1;

} // namespace

int Driver::loadImage(const void *image, Library &library) {
  unsigned magic = 0;
  if (!image)
    return InvalidValue;
  memcpy(&magic, image, sizeof magic);
  if (memcmp(image, "\177ELF", 4) == 0) {
    // The emulator runs PTX.
    const char *folders = getenv("PENSTOCK_EMU_PTX");
    std::optional<std::string> text = folders ? ptxOfCubin(image, folders) : std::nullopt;
    if (!text) {
      fprintf(stderr, "penstock-emu: a module is machine code, and %s\n",
              folders ? "no folder of PENSTOCK_EMU_PTX has its PTX beside a copy of it"
                      : "PENSTOCK_EMU_PTX names no folder that has its PTX");
      return NoBinaryForGpu;
    }
    library.images.push_back(ptxImage(std::move(*text)));
    return Success;
  }
  if (magic == fatBinaryMagic || magic == wrapperMagic) {
    struct {
      unsigned magic, version;
      const void *data, *extra;
    } wrapper = {wrapperMagic, 1, image, nullptr};
    std::string problem;
    library.images = readFatBinary(magic == wrapperMagic ? image : &wrapper, problem);
    if (library.images.empty())
      fprintf(stderr, "penstock-emu: a module cannot be loaded: %s\n", problem.c_str());
    return library.images.empty() ? NoBinaryForGpu : Success;
  }
  library.images.push_back(ptxImage(static_cast<const char *>(image)));
  if (ptxVersion(library.images[0].text) > supportedPtx(version))
    return UnsupportedPtxVersion;
  return Success;
}

int Driver::loadOn(Device &device, Library &library, std::shared_ptr<emu::LoadedModule> &module) {
  std::shared_ptr<emu::LoadedModule> &loaded = library.loaded[device.ordinal];
  if (!loaded) {
    const PtxImage *image = chooseImage(library.images, device.arch());
    if (!image)
      return NoBinaryForGpu;
    std::vector<Diagnostic> diagnostics;
    std::shared_ptr<const ptx::Module> &parsed = library.parsed[image];
    if (!parsed) {
      ptx::ParseResult read = ptx::parse(image->text, "program.ptx");
      parsed = read.module;
      diagnostics = read.diagnostics;
    }
    if (parsed)
      loaded = device.gpu.load(parsed, diagnostics);
    fputs(render(diagnostics).c_str(), stderr);
    if (!loaded)
      return InvalidPtx;
  }
  module = loaded;
  return Success;
}

namespace {

/// Adds a library; modules are loaded for the current device at once.
int addLibrary(void **handle, const void *image, penstock::shim::Device *device) {
  Driver &d = driver();
  auto library = std::make_unique<Library>();
  if (int result = d.loadImage(image, *library))
    return result;
  // Refuses images that no device can run; others are refused when they are used.
  bool fits = false;
  std::shared_ptr<emu::LoadedModule> module;
  for (const auto &each : d.devices)
    fits |= chooseImage(library->images, each->arch()) != nullptr;
  if (!fits)
    return NoBinaryForGpu;
  for (const auto &each : d.devices)
    if (device ? each.get() == device : chooseImage(library->images, each->arch()) != nullptr)
      if (int result = d.loadOn(*each, *library, module))
        return result;
  *handle = library.get();
  d.libraries[library.get()] = std::move(library);
  return Success;
}

int kernelOf(Kernel **kernel, void *handle, const char *name) {
  Driver &d = driver();
  auto found = d.libraries.find(handle);
  if (found == d.libraries.end())
    return InvalidHandle;
  Library &library = *found->second;
  const ptx::Function *function = nullptr;
  for (const auto &[image, module] : library.parsed)
    if (module && !function)
      function = module->function(name);
  if (!function)
    return NotFound;
  std::unique_ptr<Kernel> &known = library.kernels[name];
  if (!known) {
    known = std::make_unique<Kernel>();
    known->library = &library;
    known->name = name;
    d.kernels.insert(known.get());
  }
  *kernel = known.get();
  return Success;
}

int unload(void *handle) {
  Driver &d = driver();
  auto found = d.libraries.find(handle);
  if (found == d.libraries.end())
    return InvalidHandle;
  for (Context *context : d.contexts)
    d.waitForContext(*context);
  for (const auto &[name, kernel] : found->second->kernels)
    d.kernels.erase(kernel.get());
  d.libraries.erase(found);
  return Success;
}

int globalOf(DevicePointer *address, size_t *size, void *handle, const char *name) {
  Driver &d = driver();
  auto found = d.libraries.find(handle);
  if (found == d.libraries.end())
    return InvalidHandle;
  std::shared_ptr<emu::LoadedModule> module;
  if (int result = d.loadOn(*currentContext()->device, *found->second, module))
    return result;
  const auto &variables = module->module->variables;
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].name == name) {
      if (address)
        *address = module->globals[i];
      if (size)
        *size = variables[i].size;
      return Success;
    }
  return NotFound;
}

int setAttribute(Kernel *kernel, int attribute, int value, int ordinal) {
  Driver &d = driver();
  if (!d.kernels.count(kernel))
    return InvalidHandle;
  if (ordinal < 0 || size_t(ordinal) >= d.devices.size())
    return InvalidDevice;
  penstock::shim::Device &device = *d.devices[size_t(ordinal)];
  std::shared_ptr<emu::LoadedModule> module;
  if (int result = d.loadOn(device, *kernel->library, module))
    return result;
  if (attribute == FunctionMaxDynamicShared) {
    if (value < 0 || uint32_t(value) > device.gpu.maxShared)
      return InvalidValue;
    kernel->maxDynamicShared[ordinal] = value;
  }
  return Success;
}

int getAttribute(int *value, Kernel *kernel, int attribute, int ordinal) {
  Driver &d = driver();
  if (!d.kernels.count(kernel))
    return InvalidHandle;
  if (ordinal < 0 || size_t(ordinal) >= d.devices.size())
    return InvalidDevice;
  penstock::shim::Device &device = *d.devices[size_t(ordinal)];
  switch (attribute) {
  case FunctionMaxThreads:
    *value = int(device.chip().architecture->limits.threadsPerBlock);
    return Success;
  case FunctionRegisters: // registers are not allocated
    *value = 64;
    return Success;
  case FunctionPtxVersion:
  case FunctionBinaryVersion:
    *value = int(device.arch());
    return Success;
  case FunctionMaxDynamicShared: {
    auto set = kernel->maxDynamicShared.find(ordinal);
    *value = set == kernel->maxDynamicShared.end() ? defaultDynamicShared : set->second;
    return Success;
  }
  default:
    *value = 0;
    return Success;
  }
}

} // namespace

PENSTOCK_DRIVER_ENTRY cuLibraryLoadData(void **library, const void *image, int *, void **, unsigned,
                                        int *, void **, unsigned) {
  Call call("cuLibraryLoadData", Call::Init);
  if (!call)
    return call.result;
  if (Capture *capture = driver().captureThatForbids())
    return driver().refuseInCapture(*capture, CaptureUnsupported);
  return addLibrary(library, image, nullptr);
}
PENSTOCK_DRIVER_ENTRY cuLibraryUnload(void *library) {
  Call call("cuLibraryUnload", Call::Init);
  return call ? unload(library) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuLibraryGetKernel(Kernel **kernel, void *library, const char *name) {
  Call call("cuLibraryGetKernel", Call::Init);
  return call ? kernelOf(kernel, library, name) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuLibraryGetGlobal(DevicePointer *address, size_t *size, void *library,
                                         const char *name) {
  Call call("cuLibraryGetGlobal", Call::CurrentContext);
  return call ? globalOf(address, size, library, name) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuKernelSetAttribute(int attribute, int value, Kernel *kernel, int device) {
  Call call("cuKernelSetAttribute", Call::Init);
  return call ? setAttribute(kernel, attribute, value, device) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuKernelGetAttribute(int *value, int attribute, Kernel *kernel, int device) {
  Call call("cuKernelGetAttribute", Call::Init);
  return call ? getAttribute(value, kernel, attribute, device) : call.result;
}
/// Functions and kernels are the same thing here.
PENSTOCK_DRIVER_ENTRY cuKernelGetFunction(Kernel **function, Kernel *kernel) {
  Call call("cuKernelGetFunction", Call::CurrentContext);
  if (!call)
    return call.result;
  *function = kernel;
  return driver().kernels.count(kernel) ? Success : InvalidHandle;
}

PENSTOCK_DRIVER_ENTRY cuModuleLoadDataEx(void **module, const void *image, unsigned, int *,
                                         void **) {
  Call call("cuModuleLoadDataEx", Call::NoCapture);
  return call ? addLibrary(module, image, currentContext()->device) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuModuleLoadData(void **module, const void *image) {
  Call call("cuModuleLoadData", Call::NoCapture);
  return call ? addLibrary(module, image, currentContext()->device) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuModuleUnload(void *module) {
  Call call("cuModuleUnload", Call::CurrentContext);
  return call ? unload(module) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuModuleGetFunction(Kernel **function, void *module, const char *name) {
  Call call("cuModuleGetFunction", Call::CurrentContext);
  return call ? kernelOf(function, module, name) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuModuleGetGlobal_v2(DevicePointer *address, size_t *size, void *module,
                                           const char *name) {
  Call call("cuModuleGetGlobal", Call::CurrentContext);
  return call ? globalOf(address, size, module, name) : call.result;
}
PENSTOCK_DRIVER_ENTRY cuFuncSetAttribute(Kernel *function, int attribute, int value) {
  Call call("cuFuncSetAttribute", Call::CurrentContext);
  return call ? setAttribute(function, attribute, value, currentContext()->device->ordinal)
              : call.result;
}
PENSTOCK_DRIVER_ENTRY cuFuncGetAttribute(int *value, int attribute, Kernel *function) {
  Call call("cuFuncGetAttribute", Call::CurrentContext);
  return call ? getAttribute(value, function, attribute, currentContext()->device->ordinal)
              : call.result;
}
