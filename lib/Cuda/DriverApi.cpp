//===- DriverApi.cpp - libcuda, opened at run time ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/DriverApi.h"
#include "Cuda/Errors.h"
#include "Diagnostics/Codes.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>

using namespace penstock;
using namespace penstock::cuda;

namespace {

using GetProcAddress = int (*)(const char *, void **, int, unsigned long long, int *);

Diagnostic unusable(std::string message, std::string help) {
  Diagnostic d;
  d.code = GpuDriver;
  d.message = std::move(message);
  d.helps.push_back(std::move(help));
  return d;
}

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

constexpr const char *emulate = "compile for a target with .emulated() to run without a GPU";

} // namespace

std::unique_ptr<DriverApi> penstock::cuda::openDriver(const char *library,
                                                      std::vector<Diagnostic> &diagnostics) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    Diagnostic d = unusable("the CUDA driver cannot be loaded: " +
                                std::string(reason ? reason : "dlopen failed"),
                            "install NVIDIA's driver; in a container, start it with the NVIDIA "
                            "container toolkit (`--gpus all`)");
    d.helps.push_back(emulate);
    diagnostics.push_back(std::move(d));
    return nullptr;
  }
  auto api = std::make_unique<DriverApi>();
  auto version = reinterpret_cast<int (*)(int *)>(dlsym(handle, "cuDriverGetVersion"));
  auto find = reinterpret_cast<GetProcAddress>(dlsym(handle, "cuGetProcAddress_v2"));
  if (version)
    version(&api->version);
  if (!find || (api->version && api->version < apiVersion)) {
    diagnostics.push_back(
        unusable("the CUDA driver is too old: it supports CUDA " +
                     (api->version ? versionText(api->version) : "before 12.0") +
                     ", and Penstock needs 12.0 for sm_90a and 12.8 for sm_100a",
                 "install driver 525 or later for Hopper, 570 or later for Blackwell"));
    return nullptr;
  }
  const char *missing = nullptr;
  auto lookUp = [&](const char *name, auto &function) {
    void *address = nullptr;
    int status = 0;
    if (find(name, &address, apiVersion, 0, &status) != Success || !address)
      missing = missing ? missing : name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
#define DRIVER_FUNCTION(MEMBER, NAME, PARAMETERS) lookUp(#NAME, api->MEMBER);
#include "Cuda/DriverFunctions.def"
  // A stub answers every function alike; its first answer says what it is.
  int result = api->init ? api->init(0) : int(Success);
  if (result != Success) {
    diagnostics.push_back(driverError(*api, result, "cuInit"));
    return nullptr;
  }
  if (missing) {
    diagnostics.push_back(unusable("the CUDA driver does not have `" + std::string(missing) + "`",
                                   "install a driver of CUDA 12.0 or later"));
    return nullptr;
  }
  return api;
}

const DriverApi *penstock::cuda::driver(std::vector<Diagnostic> &diagnostics) {
  static std::atomic<const DriverApi *> opened{nullptr};
  if (const DriverApi *api = opened.load(std::memory_order_acquire))
    return api;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (const DriverApi *api = opened.load(std::memory_order_acquire))
    return api;
  // Never closed: kernels in static variables may outlive everything.
  if (auto api = openDriver("libcuda.so.1", diagnostics))
    opened.store(api.release(), std::memory_order_release);
  return opened.load(std::memory_order_acquire);
}
