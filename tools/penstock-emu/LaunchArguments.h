//===- LaunchArguments.h - A launch on the command line ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_EMU_LAUNCHARGUMENTS_H
#define PENSTOCK_TOOLS_EMU_LAUNCHARGUMENTS_H

#include "Commands.h"
#include "Emulator/Tensor/TensorMap.h"

#include <optional>

namespace penstock::emu {

struct Buffer {
  uint64_t size = 0;
  std::vector<uint8_t> content; ///< empty: not initialized
  uint64_t address = 0;
};

struct Argument {
  std::vector<uint8_t> bytes; ///< a scalar
  int buffer = -1;
  std::optional<TensorMap> map; ///< of the buffer, instead of its address
};

/// The kernel of a file, with sizes and arguments.
struct PtxLaunch {
  std::string file, kernel;
  LaunchConfig config;
  std::vector<Argument> arguments;
  std::vector<Buffer> buffers;

  /// Allocates and fills the buffers, and packs the arguments into config.params. Returns the
  /// number of a buffer that there is no memory for, or -1.
  int allocate(Device &device);
  /// Writes buffers to files.
  void dump(Device &device, const std::vector<std::pair<size_t, std::string>> &files) const;
  /// Warps of a cluster.
  uint32_t warps() const;
};

/// Declares the arguments and options that describe \p launch.
cli::Command &addLaunch(cli::Command &command, const std::shared_ptr<PtxLaunch> &launch);

} // namespace penstock::emu

#endif // PENSTOCK_TOOLS_EMU_LAUNCHARGUMENTS_H
