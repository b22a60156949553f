//===- ChipPace.h - The emulator's clock by the timing model ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies and products take the times that lib/Timing gives them in predictions, so
// that pictures of runs and predictions follow from the same constants. Instructions
// of warps take issue slots and units at the rates of the programming guide.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TIMING_EMULATED_CHIPPACE_H
#define PENSTOCK_TIMING_EMULATED_CHIPPACE_H

#include "Emulator/Time/Pace.h"
#include "Hardware/Chip.h"
#include "Timing/Machine.h"

#include <string>

namespace penstock {

class ChipPace : public emu::Pace {
public:
  explicit ChipPace(const hw::Chip &chip);

  emu::InstructionTimes times(const ptx::Instruction &) const override;
  emu::AsyncTimes times(const emu::AsyncWork &) const override;

private:
  const hw::Chip &chip;
  timing::Conditions conditions;
};

/// The chip of a GPU, or H100 for those without one in the tables.
const hw::Chip &chipForRuns(const std::string &architecture);

} // namespace penstock

#endif // PENSTOCK_TIMING_EMULATED_CHIPPACE_H
