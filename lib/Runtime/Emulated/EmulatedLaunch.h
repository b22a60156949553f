//===- EmulatedLaunch.h - Runs a GPU kernel on the emulator -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_EMULATED_EMULATEDLAUNCH_H
#define PENSTOCK_RUNTIME_EMULATED_EMULATEDLAUNCH_H

#include "Emulator/Launch.h"
#include "Runtime/DeviceKernel.h"
#include "Runtime/KernelInfo.h"

namespace penstock {

/// A kernel whose PTX has been read.
struct EmulatedKernel {
  DeviceKernel kernel;
  std::shared_ptr<const ptx::Module> module;
  /// Decoded once for all launches; null if the module has variables in global
  /// memory, which each device allocates itself.
  std::shared_ptr<emu::LoadedModule> loaded;
};

/// Reads the kernel's PTX; null, with the reasons, if that fails.
std::shared_ptr<EmulatedKernel> readForEmulation(DeviceKernel kernel,
                                                 std::vector<Diagnostic> &diagnostics);

/// The variant that a launch with these arguments runs.
const EmulatedKernel &variantFor(std::span<const std::shared_ptr<EmulatedKernel>> variants,
                                 std::span<const detail::Argument> arguments);

/// Copies the arguments to a device's memory, runs the grid and copies what the
/// kernel writes back. The arguments have been checked. `options.print` receives the lines
/// that the kernel prints, in a buffer of \p printBytes on the device.
emu::Report launchEmulated(const EmulatedKernel &kernel, const KernelInfo &info,
                           std::span<const detail::Argument> arguments,
                           const emu::LaunchOptions &options,
                           uint64_t printBytes = defaultPrintBytes);

} // namespace penstock

#endif // PENSTOCK_RUNTIME_EMULATED_EMULATEDLAUNCH_H
