//===- Devices.cpp - GPUs and contexts ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Devices.h"
#include "Cuda/Errors.h"
#include "Diagnostics/Codes.h"

using namespace penstock;
using namespace penstock::cuda;

std::string DeviceInfo::architecture() const {
  if (major == 9 && minor == 0)
    return "sm_90a";
  return major == 10 && minor == 0 ? "sm_100a" : "";
}

std::optional<DeviceInfo> penstock::cuda::deviceInfo(const DriverApi &api, int ordinal,
                                                     std::vector<Diagnostic> &diagnostics) {
  int count = 0;
  int result = api.deviceGetCount(&count);
  if (result != Success) {
    diagnostics.push_back(driverError(api, result, "cuDeviceGetCount"));
    return std::nullopt;
  }
  if (ordinal < 0 || ordinal >= count || ordinal >= maxDevices) {
    Diagnostic d;
    d.code = GpuDevice;
    d.message =
        "there is no GPU " + std::to_string(ordinal) + "; CUDA sees " + std::to_string(count);
    d.helps.push_back("GPUs are counted from 0; check CUDA_VISIBLE_DEVICES");
    diagnostics.push_back(std::move(d));
    return std::nullopt;
  }
  DeviceInfo info;
  info.ordinal = ordinal;
  char name[256] = {};
  result = api.deviceGetName(name, sizeof name, ordinal);
  info.name = name;
  // CUDA's name of a GPU cannot begin like this.
  info.emulated = info.name.starts_with("Penstock emulator");
  int pageable = 0;
  std::pair<int, int *> attributes[] = {{ComputeCapabilityMajor, &info.major},
                                        {ComputeCapabilityMinor, &info.minor},
                                        {MultiprocessorCount, &info.multiprocessors},
                                        {ClockRate, &info.clockKilohertz},
                                        {MemoryClockRate, &info.memoryClockKilohertz},
                                        {MemoryBusWidth, &info.memoryBusBits},
                                        {PageableMemoryAccess, &pageable}};
  for (auto [attribute, value] : attributes)
    if (result == Success)
      result = api.deviceGetAttribute(value, attribute, ordinal);
  info.readsPageable = pageable != 0;
  if (result == Success)
    result = api.deviceTotalMem(&info.memoryBytes, ordinal);
  if (result == Success)
    return info;
  diagnostics.push_back(driverError(api, result, "cuDeviceGetAttribute"));
  return std::nullopt;
}

ContextScope::ContextScope(const DriverApi &api, void *context) : api(api) {
  void *current = nullptr;
  result = api.ctxGetCurrent(&current);
  if (result != Success || current == context)
    return;
  result = api.ctxPushCurrent(context);
  pushed = result == Success;
}

ContextScope::~ContextScope() {
  void *ours = nullptr;
  if (pushed)
    api.ctxPopCurrent(&ours);
}

namespace {

/// The primary context. It is kept: programs use one GPU until their end, and creating a
/// context takes a good part of a second.
int primaryContext(const DriverApi &api, int device, void *&context) {
  return api.primaryCtxRetain(&context, device);
}

} // namespace

std::optional<Destination> penstock::cuda::destinationOf(const DriverApi &api, void *stream,
                                                         std::vector<Diagnostic> &diagnostics) {
  Destination to;
  const char *call = "cuCtxGetCurrent";
  int result;
  if (stream && stream != legacyStream && stream != perThreadStream) {
    call = "cuStreamGetCtx";
    result = api.streamGetCtx(stream, &to.context);
  } else {
    result = api.ctxGetCurrent(&to.context);
    if (result == Success && !to.context) {
      call = "cuDevicePrimaryCtxRetain";
      result = primaryContext(api, 0, to.context);
    }
  }
  if (result == Success) {
    ContextScope scope(api, to.context);
    call = "cuCtxGetDevice";
    result = scope.result == Success ? api.ctxGetDevice(&to.device) : scope.result;
  }
  if (result == Success && to.device >= 0 && to.device < maxDevices)
    return to;
  diagnostics.push_back(driverError(api, result, call));
  return std::nullopt;
}

void *penstock::cuda::contextOn(const DriverApi &api, int device,
                                std::vector<Diagnostic> &diagnostics) {
  void *context = nullptr;
  int current = -1;
  if (api.ctxGetCurrent(&context) == Success && context && api.ctxGetDevice(&current) == Success &&
      current == device)
    return context;
  int result = primaryContext(api, device, context);
  if (result == Success)
    return context;
  diagnostics.push_back(driverError(api, result, "cuDevicePrimaryCtxRetain"));
  return nullptr;
}
