//===- State.h - What the shim knows of the program -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDASHIM_STATE_H
#define PENSTOCK_CUDASHIM_STATE_H

#include "CudaShim/FatBinary.h"
#include "Emulator/Launch.h"
#include "Hardware/Architecture.h"

#include <map>
#include <mutex>

namespace penstock::cuda {

/// Error numbers of the runtime that are used here.
enum Error : int {
  Success = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InvalidDeviceFunction = 98,
  InvalidDevicePointer = 17,
  LaunchFailure = 719,
  NotSupported = 801,
};

struct RegisteredModule {
  std::vector<PtxImage> images;
  std::shared_ptr<emu::LoadedModule> loaded;
  bool failed = false;
};

struct Function {
  RegisteredModule *module = nullptr;
  std::string name;
  int maxDynamicShared = 49152;
};

struct Variable {
  RegisteredModule *module = nullptr;
  std::string name;
  uint64_t size = 0;
};

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

/// One per process.
struct State {
  std::mutex mutex;
  emu::Device device;
  emu::LaunchOptions options;
  std::string format = "text";
  bool isBlackwell = false, deviceChosen = false;
  std::vector<std::unique_ptr<RegisteredModule>> modules;
  std::map<const void *, Function> functions; ///< by host address
  std::map<const void *, Variable> variables;
  Error last = Success;
  unsigned launches = 0, findings = 0;
  double seconds = 0;

  State();
  ~State();
  unsigned arch() const { return isBlackwell ? 100 : 90; }
  unsigned multiprocessors() const {
    return unsigned(
        hw::findArchitecture(isBlackwell ? "sm_100a" : "sm_90a")->limits.multiprocessors);
  }
  /// Picks the device by what the program was compiled for, unless told.
  void chooseDevice();
  bool load(RegisteredModule &module);
  Error fail(Error error) {
    last = error;
    return error;
  }
  Error launch(const void *function, Dim grid, Dim block, Dim cluster, void **arguments,
               size_t shared);
  Error copy(void *to, const void *from, size_t bytes);
  bool onDevice(const void *pointer) const {
    return device.memory.find(reinterpret_cast<uint64_t>(pointer));
  }
  /// The device address of a registered variable, 0 if there is none.
  uint64_t variableAddress(const void *host);
};

State &state();

} // namespace penstock::cuda

#endif // PENSTOCK_CUDASHIM_STATE_H
