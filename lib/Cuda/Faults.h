//===- Faults.h - Words in which kernels report faults ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel with checks records the number of the first fault in a word of the GPU's
// memory. The words of a GPU lie in pages, so that one copy reads them all. They keep
// their address, so that graphs can be replayed.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_FAULTS_H
#define PENSTOCK_CUDA_FAULTS_H

#include "Cuda/Devices.h"

namespace penstock::cuda {

/// Allocates a word for a kernel with these faults, zero. Returns 0, with an error, if
/// there is no memory.
DevicePointer addFaultWord(const DriverApi &api, const Destination &to,
                           const std::vector<Diagnostic> &faults,
                           std::vector<Diagnostic> &diagnostics);

/// 256 zero bytes, for maps of tensors without elements. 0 on errors.
DevicePointer zeroBytes(const DriverApi &api, const Destination &to,
                        std::vector<Diagnostic> &diagnostics);

/// Reads the words of a GPU after the work of \p stream, which it waits for, adds the
/// faults to \p diagnostics and clears them. Returns the driver's result.
int collectFaults(const DriverApi &api, const Destination &from, void *stream,
                  std::vector<Diagnostic> &diagnostics);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_FAULTS_H
