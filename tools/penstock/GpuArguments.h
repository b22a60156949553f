//===- GpuArguments.h - Arguments on a GPU ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_GPUARGUMENTS_H
#define PENSTOCK_TOOLS_GPUARGUMENTS_H

#include "Session.h"
#include "penstock/gpu.h"

#include <optional>

/// The current GPU, and its target in the options of the session; no value, with
/// diagnostics, if there is none.
std::optional<penstock::gpu::Device> findGpu(Session &session);

/// "GPU 0, NVIDIA H100"; emulated ones are named as such.
std::string describeGpu(const penstock::gpu::Device &device);

/// Copies of arguments in a GPU's memory. Functions throw Error.
class GpuArguments {
public:
  GpuArguments(const penstock::MadeArguments &from, const penstock::gpu::Device &device);
  void download(penstock::MadeArguments &to) const;
  /// Bytes of all tensors.
  double bytes() const;

  std::vector<penstock::detail::Argument> arguments;

private:
  std::vector<penstock::gpu::Memory<char>> memory; ///< of tensors, in order
};

/// Copies the arguments to the GPU, runs the kernel and copies them back.
std::vector<penstock::Diagnostic> launchOnGpu(const penstock::AnyKernel &kernel,
                                              penstock::MadeArguments &arguments,
                                              const penstock::LaunchOptions &options,
                                              const penstock::gpu::Device &device);

#endif // PENSTOCK_TOOLS_GPUARGUMENTS_H
