//===- Prints.h - Lines that kernels print on GPUs --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each launch of a kernel that prints has a buffer in the GPU's memory. It is read when
// its stream is synchronized, because the host cannot know earlier that the kernel has
// ended.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_PRINTS_H
#define PENSTOCK_CUDA_PRINTS_H

#include "Cuda/Devices.h"
#include "Runtime/PrintRecords.h"
#include "penstock/launch.h"

namespace penstock::cuda {

/// Launches of one stream whose lines are not read; the next launch waits for the stream.
inline constexpr size_t maxUnreadPrints = 32;

/// Allocates a buffer for a launch on \p stream. Its lines go to \p options. Returns 0, with an
/// error, if there is no memory or the stream is captured: a graph would reuse the buffer.
DevicePointer addPrintBuffer(const DriverApi &api, const Destination &to, void *stream,
                             const std::string &kernel, std::span<const PrintStatement> statements,
                             const LaunchOptions &options, std::vector<Diagnostic> &diagnostics);

/// Frees the buffer of a launch that failed.
void dropPrintBuffer(const DriverApi &api, const Destination &to, DevicePointer buffer);

/// Prints the lines of all launches on \p stream, which is idle, in the order of the launches.
/// Returns the driver's result.
int collectPrints(const DriverApi &api, const Destination &from, void *stream);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_PRINTS_H
