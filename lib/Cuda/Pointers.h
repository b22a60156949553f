//===- Pointers.h - Is a tensor in the GPU's memory? ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passing host memory to a GPU is the most common mistake, and the driver reports it
// late and without a name. Asking takes longer than a launch, so that each thread
// remembers the tensors of its last launches.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_POINTERS_H
#define PENSTOCK_CUDA_POINTERS_H

#include "Cuda/Devices.h"
#include "Runtime/KernelInfo.h"

namespace penstock::cuda {

/// The bytes that this thread has asked for before.
class KnownPointers {
public:
  static KnownPointers &ofThread();

  bool has(uint64_t address, uint64_t bytes, int device) const {
    const Entry &entry = all[indexOf(address)];
    return entry.address == address && entry.bytes >= bytes && entry.device == device;
  }
  void add(uint64_t address, uint64_t bytes, int device) {
    all[indexOf(address)] = {address, bytes, device};
  }

private:
  struct Entry {
    uint64_t address = 0, bytes = 0;
    int device = -1;
  };
  static size_t indexOf(uint64_t address) { return (address >> 4) * 0x9e3779b97f4a7c15 >> 57; }

  Entry all[128];
};

/// Checks with the driver that a kernel on this GPU can access all of the bytes.
void checkPointer(const DriverApi &api, const Destination &to, uint64_t address, uint64_t bytes,
                  const ArgumentInfo &argument, std::vector<Diagnostic> &diagnostics);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_POINTERS_H
