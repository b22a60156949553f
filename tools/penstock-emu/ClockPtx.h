//===- ClockPtx.h - Runs of PTX on the cycle model of a GPU -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_EMU_CLOCKPTX_H
#define PENSTOCK_TOOLS_EMU_CLOCKPTX_H

#include "Emulator/Races/Tier.h"
#include "LaunchArguments.h"

namespace penstock::emu {

struct ClockOptions {
  std::string chip;
  bool wholeGrid = false; ///< all blocks, not only the first cluster
  bool json = false;
  Tier failOn = Tier::Undefined;
};

/// Names of the chips whose times are known.
std::vector<std::string> clockNames();

/// Runs a kernel of \p text on the cycle model of a chip and prints how busy one SM was. Returns
/// the exit code.
int clockPtx(PtxLaunch &launch, const std::string &text, LaunchOptions options,
             const ClockOptions &wanted, const std::vector<std::pair<size_t, std::string>> &dumps);

} // namespace penstock::emu

#endif // PENSTOCK_TOOLS_EMU_CLOCKPTX_H
