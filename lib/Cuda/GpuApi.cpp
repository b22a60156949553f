//===- GpuApi.cpp - The functions of penstock/gpu.h -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Devices.h"
#include "Cuda/Errors.h"
#include "Cuda/Launch.h"
#include "Diagnostics/Codes.h"
#include "penstock/gpu.h"

#include <mutex>

using namespace penstock;

namespace {

[[noreturn]] void raiseAt(std::vector<Diagnostic> diagnostics, Loc at) {
  cuda::locate(diagnostics, at);
  detail::raise(std::move(diagnostics));
}

const cuda::DriverApi &requireDriver(Loc at) {
  std::vector<Diagnostic> diagnostics;
  if (const cuda::DriverApi *api = cuda::driver(diagnostics))
    return *api;
  raiseAt(std::move(diagnostics), at);
}

cuda::DeviceInfo requireDevice(int ordinal, Loc at) {
  std::vector<Diagnostic> diagnostics;
  if (auto info = cuda::deviceInfo(requireDriver(at), ordinal, diagnostics))
    return *info;
  raiseAt(std::move(diagnostics), at);
}

/// Calls the driver with a context of a GPU.
template <class F> void onDevice(int device, const char *call, Loc at, F function) {
  const cuda::DriverApi &api = requireDriver(at);
  requireDevice(device, at);
  std::vector<Diagnostic> diagnostics;
  void *context = cuda::contextOn(api, device, diagnostics);
  if (context) {
    cuda::ContextScope scope(api, context);
    int result = scope.result == cuda::Success ? function(api) : scope.result;
    if (result == cuda::Success)
      return;
    diagnostics.push_back(cuda::driverError(api, result, call));
  }
  raiseAt(std::move(diagnostics), at);
}

cuda::DevicePointer address(const void *memory) {
  return reinterpret_cast<cuda::DevicePointer>(memory);
}

} // namespace

Target gpu::Device::target(Loc at) const {
  cuda::DeviceInfo info = requireDevice(ordinal, at);
  if (info.architecture() == "sm_90a")
    return Target::sm_90a();
  if (info.architecture() == "sm_100a")
    return Target::sm_100a();
  Diagnostic d;
  d.code = GpuDevice;
  d.message = "GPU " + std::to_string(ordinal) + " (" + info.name + ") has compute capability " +
              std::to_string(info.major) + "." + std::to_string(info.minor) +
              "; Penstock compiles for 9.0 (Hopper) and 10.0 (Blackwell)";
  d.helps.push_back("select another GPU with gpu::Device(number), or compile for Target::native()");
  raiseAt({d}, at);
}

std::string gpu::Device::name(Loc at) const { return requireDevice(ordinal, at).name; }
bool gpu::Device::emulated(Loc at) const { return requireDevice(ordinal, at).emulated; }

double gpu::Device::peak_flops(Loc at) const {
  cuda::DeviceInfo info = requireDevice(ordinal, at);
  // Products and sums of f16 with f32 accumulators that a multiprocessor does in a cycle.
  double each = info.major >= 10 ? 8192 : 4096;
  return each * info.multiprocessors * info.clockKilohertz * 1e3;
}

double gpu::Device::peak_bandwidth(Loc at) const {
  cuda::DeviceInfo info = requireDevice(ordinal, at);
  return 2.0 * info.memoryClockKilohertz * 1e3 * info.memoryBusBits / 8; // double data rate
}

double gpu::elapsed_seconds(Stream stream, const Callback<> &work, Loc at) {
  const cuda::DriverApi &api = requireDriver(at);
  std::vector<Diagnostic> diagnostics;
  auto to = cuda::destinationOf(api, stream.handle(), diagnostics);
  if (!to)
    raiseAt(std::move(diagnostics), at);
  cuda::ContextScope scope(api, to->context);
  void *events[2] = {};
  float milliseconds = 0;
  const char *call = "cuEventCreate";
  int result = scope.result;
  for (void *&event : events)
    if (result == cuda::Success)
      result = api.eventCreate(&event, 0);
  auto record = [&](void *event) {
    call = "cuEventRecord";
    if (result == cuda::Success)
      result = api.eventRecord(event, stream.handle());
  };
  record(events[0]);
  if (result == cuda::Success)
    work();
  record(events[1]);
  if (result == cuda::Success) {
    call = "cuEventSynchronize";
    result = api.eventSynchronize(events[1]);
  }
  if (result == cuda::Success) {
    call = "cuEventElapsedTime";
    result = api.eventElapsedTime(&milliseconds, events[0], events[1]);
  }
  for (void *event : events)
    if (event)
      api.eventDestroy(event);
  if (result == cuda::Success)
    return double(milliseconds) / 1e3;
  diagnostics.push_back(cuda::driverError(api, result, call));
  raiseAt(std::move(diagnostics), at);
}

void gpu::evict_l2(Stream stream, Loc at) {
  const cuda::DriverApi &api = requireDriver(at);
  std::vector<Diagnostic> diagnostics;
  auto to = cuda::destinationOf(api, stream.handle(), diagnostics);
  if (!to)
    raiseAt(std::move(diagnostics), at);
  struct Buffer {
    std::mutex mutex;
    cuda::DevicePointer address = 0;
    size_t bytes = 0;
  };
  static Buffer *buffers = new Buffer[cuda::maxDevices]; // kept: all samples need one
  Buffer &buffer = buffers[to->device];
  std::lock_guard lock(buffer.mutex);
  cuda::ContextScope scope(api, to->context);
  const char *call = "cuDeviceGetAttribute";
  int result = scope.result, cache = 0;
  if (result == cuda::Success)
    result = api.deviceGetAttribute(&cache, cuda::L2CacheSize, to->device);
  if (result == cuda::Success && !buffer.address && cache > 0) {
    call = "cuMemAlloc";
    buffer.bytes = 2 * size_t(cache);
    result = api.memAlloc(&buffer.address, buffer.bytes);
  }
  if (result == cuda::Success && buffer.address) {
    call = "cuMemsetD8Async";
    result = api.memsetD8Async(buffer.address, 0, buffer.bytes, stream.handle());
  }
  if (result == cuda::Success)
    return;
  diagnostics.push_back(cuda::driverError(api, result, call));
  raiseAt(std::move(diagnostics), at);
}

int gpu::count() {
  std::vector<Diagnostic> ignored;
  int number = 0;
  const cuda::DriverApi *api = cuda::driver(ignored);
  return api && api->deviceGetCount(&number) == cuda::Success ? number : 0;
}

gpu::Device gpu::current(Loc at) {
  const cuda::DriverApi &api = requireDriver(at);
  int device = 0;
  void *context = nullptr;
  if (api.ctxGetCurrent(&context) != cuda::Success || !context ||
      api.ctxGetDevice(&device) != cuda::Success)
    device = 0;
  requireDevice(device, at);
  return gpu::Device(device);
}

std::vector<Diagnostic> gpu::try_synchronize(Stream stream, Loc at) {
  return cuda::synchronize(stream.handle(), at);
}

void gpu::synchronize(Stream stream, Loc at) {
  auto diagnostics = try_synchronize(stream, at);
  if (!diagnostics.empty())
    penstock::detail::raise(std::move(diagnostics));
}

void *gpu::detail::allocate(size_t bytes, int device, Loc at) {
  cuda::DevicePointer made = 0;
  if (bytes)
    onDevice(device, "cuMemAlloc", at,
             [&](const cuda::DriverApi &api) { return api.memAlloc(&made, bytes); });
  return reinterpret_cast<void *>(made);
}

void gpu::detail::release(void *memory, int device) {
  std::vector<Diagnostic> ignored;
  const cuda::DriverApi *api = memory ? cuda::driver(ignored) : nullptr;
  void *context = api ? cuda::contextOn(*api, device, ignored) : nullptr;
  if (!context)
    return;
  cuda::ContextScope scope(*api, context);
  api->memFree(address(memory));
}

void gpu::detail::upload(void *to, const void *from, size_t bytes, int device, Loc at) {
  onDevice(device, "cuMemcpyHtoD", at, [&](const cuda::DriverApi &api) {
    return bytes ? api.memcpyHtoD(address(to), from, bytes) : int(cuda::Success);
  });
}

void gpu::detail::download(void *to, const void *from, size_t bytes, int device, Loc at) {
  onDevice(device, "cuMemcpyDtoH", at, [&](const cuda::DriverApi &api) {
    return bytes ? api.memcpyDtoH(to, address(from), bytes) : int(cuda::Success);
  });
}
