//===- Devices.h - GPUs and contexts ----------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_DEVICES_H
#define PENSTOCK_CUDA_DEVICES_H

#include "Cuda/DriverApi.h"

#include <optional>
#include <string>

namespace penstock::cuda {

/// More than any machine has.
inline constexpr int maxDevices = 64;

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int clockKilohertz = 0, memoryClockKilohertz = 0, memoryBusBits = 0;
  size_t memoryBytes = 0;
  bool readsPageable = false; ///< kernels can access all host memory
  bool emulated = false;

  /// "sm_90a"; empty if kernels cannot be compiled for it.
  std::string architecture() const;
};

/// Information about a GPU. No value, with an error, if there is none of this number.
std::optional<DeviceInfo> deviceInfo(const DriverApi &api, int ordinal,
                                     std::vector<Diagnostic> &diagnostics);

/// Makes a context current as long as it lives. The caller's context is not changed by
/// anything else.
class ContextScope {
public:
  ContextScope(const DriverApi &api, void *context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  int result = Success;

private:
  const DriverApi &api;
  bool pushed = false;
};

/// While it lives, loading and allocating are possible although a stream of this thread is
/// captured.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const DriverApi &api) : api(api) {
    active = api.exchangeCaptureMode(&mode) == Success;
  }
  ~RelaxedCapture() {
    if (active)
      api.exchangeCaptureMode(&mode);
  }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
  const DriverApi &api;
  int mode = CaptureRelaxed;
  bool active;
};

/// Context and device of a launch.
struct Destination {
  void *context = nullptr;
  int device = 0;
};

/// The context of a stream; of the thread for the default streams; otherwise the primary
/// one of GPU 0. No value, with an error, if there is none.
std::optional<Destination> destinationOf(const DriverApi &api, void *stream,
                                         std::vector<Diagnostic> &diagnostics);

/// The context of a GPU: the current one if it is of that GPU, otherwise the primary one.
void *contextOn(const DriverApi &api, int device, std::vector<Diagnostic> &diagnostics);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_DEVICES_H
