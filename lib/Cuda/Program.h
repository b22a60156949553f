//===- Program.h - A kernel, loaded on GPUs ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Libraries of the driver do not depend on contexts: a variant is loaded once for all
// GPUs, and its attributes are set on each GPU that launches it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_PROGRAM_H
#define PENSTOCK_CUDA_PROGRAM_H

#include "Artifact/Artifact.h"
#include "Cuda/Devices.h"
#include "Cuda/MachineCode.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace penstock::cuda {

class Program {
public:
  explicit Program(Artifact artifact);
  Program(Artifact artifact, LoadPolicy policy);
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  /// Never used again, also not by a later program.
  uint64_t id() const { return number; }
  const Artifact &artifact() const { return content; }
  const KernelInfo &info() const { return content.info; }
  std::span<const DeviceKernel *const> variants() const { return pointers; }

  /// Loads a variant and makes it ready for launches on a GPU. False, with errors, if the
  /// GPU cannot run it.
  bool prepare(const DriverApi &api, size_t variant, const Destination &to,
               std::vector<Diagnostic> &diagnostics);
  bool isPrepared(size_t variant, int device) const {
    return loaded[variant].ready[size_t(device)].load(std::memory_order_acquire);
  }

  /// Of a prepared variant: the driver's kernel, and the word for faults (0: none).
  void *function(size_t variant) const { return loaded[variant].function; }
  DevicePointer faultWord(size_t variant, int device) const {
    return loaded[variant].faultWords[size_t(device)];
  }
  /// DeviceKernel::waitsForPrevious, which launches do not search for.
  bool waitsForPrevious(size_t variant) const { return loaded[variant].waits; }
  CodeSource source(size_t variant) const { return loaded[variant].source; }
  /// Why no better source was taken; empty if there is nothing to say.
  std::string sourceReason(size_t variant) const;

private:
  struct Loaded {
    void *library = nullptr, *function = nullptr;
    CodeSource source = CodeSource::None;
    std::string reason;
    bool waits = false;
    std::array<std::atomic<bool>, maxDevices> ready = {};
    std::array<DevicePointer, maxDevices> faultWords = {};
  };
  int load(const DriverApi &api, size_t variant, const DeviceInfo &device,
           std::vector<Diagnostic> &diagnostics);
  int loadLibrary(const DriverApi &api, Loaded &to, const std::string &code, CodeSource source);

  const uint64_t number;
  const Artifact content;
  const LoadPolicy policy;
  std::vector<const DeviceKernel *> pointers;
  std::unique_ptr<Loaded[]> loaded;
  mutable std::mutex mutex;
};

/// The living program of a number; null if there is none. For messages.
std::shared_ptr<const KernelInfo> infoOfProgram(uint64_t number);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_PROGRAM_H
