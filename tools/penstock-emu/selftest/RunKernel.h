//===- RunKernel.h - Runs of kernels of the self-test -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_EMU_SELFTEST_RUNKERNEL_H
#define PENSTOCK_TOOLS_EMU_SELFTEST_RUNKERNEL_H

#include "selftest/Builder.h"

namespace penstock::emu::selftest {

struct Run {
  Report report;
  std::vector<uint32_t> result;
  bool correct = false;
};

/// Runs a kernel, or a changed form of it.
Run runKernel(const Kernel &kernel, const std::shared_ptr<const ptx::Module> &module,
              const LaunchOptions &options, uint32_t iterations);
Run runKernel(const Kernel &kernel, const std::string &text, const LaunchOptions &options,
              uint32_t iterations);

/// The timings that kernels are run in: eager, lazy, random, and single late operations.
LaunchOptions timing(unsigned index);
/// A timing that starves a warp.
LaunchOptions starving(uint32_t warp);
/// Warps of a cluster.
uint32_t warpsOf(const LaunchConfig &config);

/// The kernels of all families.
std::vector<Kernel> allKernels();

} // namespace penstock::emu::selftest

#endif // PENSTOCK_TOOLS_EMU_SELFTEST_RUNKERNEL_H
