//===- Launch.h - Launches through the driver -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_LAUNCH_H
#define PENSTOCK_CUDA_LAUNCH_H

#include "Cuda/Program.h"
#include "penstock/location.h"

namespace penstock::cuda {

/// Checks the arguments and enqueues the kernel on the stream of \p options; without one,
/// runs it and waits. A valid launch of a prepared kernel calls only cuLaunchKernelEx and
/// does not allocate.
std::vector<Diagnostic> launch(const DriverApi &api, Program &program,
                               std::span<const detail::Argument> arguments,
                               const LaunchOptions &options, Loc at);
/// On the driver of this process.
std::vector<Diagnostic> launch(Program &program, std::span<const detail::Argument> arguments,
                               const LaunchOptions &options, Loc at);

/// Loads all variants on a GPU.
std::vector<Diagnostic> prepare(Program &program, int device, Loc at);

/// Waits for a stream and returns faults and errors of kernels.
std::vector<Diagnostic> synchronize(void *stream, Loc at);

/// Gives errors without a source location the one of the call.
void locate(std::vector<Diagnostic> &diagnostics, Loc at);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_LAUNCH_H
