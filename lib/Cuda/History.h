//===- History.h - The last launches of each GPU ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU reports that a kernel failed later, and not which. The last launches are the
// suspects; their shapes reproduce the error on the emulator, without a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_CUDA_HISTORY_H
#define PENSTOCK_CUDA_HISTORY_H

#include "penstock/diagnostics.h"
#include "penstock/launch.h"

#include <span>

namespace penstock::cuda {

/// Keeps the last 64 launches of a GPU.
void recordLaunch(int device, uint64_t program, std::span<const detail::Argument> arguments);

/// Adds the suspects, latest first, to the error of a GPU that failed.
void addSuspects(int device, Diagnostic &error);

} // namespace penstock::cuda

#endif // PENSTOCK_CUDA_HISTORY_H
