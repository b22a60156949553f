//===- NativeLaunch.h - Runs native code over a grid ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_NATIVELAUNCH_H
#define PENSTOCK_RUNTIME_NATIVELAUNCH_H

#include "Runtime/KernelInfo.h"

namespace penstock {

/// The two entries of a native kernel; each takes its arguments from an array
/// of 8-byte slots.
struct NativeEntries {
  void (*launch)(void *slots) = nullptr;
  void (*block)(void *slots) = nullptr;
};

/// Runs all blocks of a launch whose arguments have been checked. Gives the
/// faults that the kernel reported.
std::vector<Diagnostic> launchNative(const KernelInfo &info, const NativeEntries &entries,
                                     std::span<const detail::Argument> arguments,
                                     const LaunchOptions &options);

} // namespace penstock

#endif // PENSTOCK_RUNTIME_NATIVELAUNCH_H
