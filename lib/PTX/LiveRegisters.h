//===- LiveRegisters.h - Registers that hold values -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the registers that hold values between the instructions of a function, in words of 32
// bits. Values that an assembler recomputes where they are read occupy none: constants, kernel
// parameters, special registers, and copies of other registers.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PTX_LIVEREGISTERS_H
#define PENSTOCK_PTX_LIVEREGISTERS_H

#include "PTX/Module.h"

namespace penstock::ptx {

/// At one instruction.
struct LiveRegisters {
  /// Words that are live before the instruction or that it writes.
  uint32_t words = 0;
  /// Those of them that are accumulators of wgmma or mma.sync.
  uint32_t accumulators = 0;
  friend bool operator==(const LiveRegisters &, const LiveRegisters &) = default;
};

/// Returns one entry for each instruction of \p function; instructions that cannot be reached have
/// no live registers.
std::vector<LiveRegisters> liveRegisters(const Function &function);

} // namespace penstock::ptx

#endif // PENSTOCK_PTX_LIVEREGISTERS_H
