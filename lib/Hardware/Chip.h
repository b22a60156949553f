//===- Chip.h - Constants of whole chips, with their sources ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Architecture.h describes one SM. A chip adds what its SMs share: the fabric from
// L2, L2, HBM and the clock. Every constant is a Measured: a value, the range that
// published figures leave open, and its source. No constant is fitted to a row that
// the tests of lib/Timing validate.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_HARDWARE_CHIP_H
#define PENSTOCK_HARDWARE_CHIP_H

#include "Hardware/Architecture.h"

#include <span>
#include <string_view>

namespace penstock::hw {

/// A constant with the range that its source leaves open.
struct Measured {
  enum class By {
    Vendor,         ///< data sheet, programming guide or device query
    Microbenchmark, ///< published measurement of this quantity alone
    Simulator,      ///< parameter of a published, calibrated simulator
    Fitted,         ///< fitted here to published rows, which are `calibration` rows
    Assumed         ///< no published figure
  };
  double value = 0;
  double low = 0;
  double high = 0;
  By by = By::Assumed;
  std::string_view source;
};

std::string_view describe(Measured::By);

/// Times of instructions of warps, for runs of the exact PTX. Rates are those of one SM.
struct InstructionRates {
  Measured integers;      ///< per cycle: integers, comparisons, minima, conversions
  Measured shuffles;      ///< per cycle
  Measured sharedRate;    ///< bytes/cycle
  Measured sharedLatency; ///< cycles of a load
  Measured globalLatency; ///< ns of a load by threads, L2 hit
  Measured tensorRate;    ///< bytes/cycle from tensor memory to one warp
  Measured tensorLatency; ///< cycles of a load from tensor memory, without its bytes
  Measured meet;          ///< cycles of bar.sync
};

/// A chip. Times of the memory system are nanoseconds, since it has a clock of its own;
/// times within an SM are cycles.
struct Chip {
  std::string name;
  const Architecture *architecture = nullptr;

  /// Shared memory of one SM, of which each block takes 1 KB more than it asks for.
  int64_t sharedBytes = 0;
  int64_t registers = 0;
  int64_t maxBlocks = 32;

  // The clock, GHz.
  Measured clock;      ///< that memory constants were measured at; the first guess
  Measured boost;      ///< highest clock
  Measured powerClock; ///< clock that an idle tensor core would allow under the power limit
  Measured powerSlope; ///< GHz = powerClock / (1 + powerSlope x tensor utilization)

  // The tensor core of one SM.
  Measured productQueue; ///< products outstanding before issue blocks
  Measured productIssue; ///< cycles to issue one product

  Measured syncProducts; ///< rate of mma.sync relative to products from shared memory

  // Loads by TMA.
  Measured loadLatency;    ///< ns from issue to the full barrier, without transfer, L2 hit
  Measured missLatency;    ///< ns more if the line comes from HBM
  Measured loadRate;       ///< bytes/ns at which one load arrives
  Measured streamRate;     ///< bytes/cycle that one SM's TMA streams
  Measured rowCycles;      ///< cycles of TMA per box row of at most 128 bytes
  Measured leastRowBytes;  ///< a shorter row arrives no faster than this many bytes
  Measured copyCycles;     ///< cycles of TMA per instruction
  Measured copyIssue;      ///< cycles of the issuing warp per instruction
  Measured narrowRows;     ///< fabric rate of 64-byte rows, relative to 128
  Measured threadCopyRate; ///< bytes/cycle of cp.async

  // Resources shared by all SMs.
  Measured fabric;        ///< bytes/ns from L2 to all SMs
  Measured coincidence;   ///< share of time in which bursts of the SMs coincide
  Measured hbm;           ///< bytes/ns
  Measured l2Bytes;       ///< capacity
  Measured l2Usable;      ///< share of it that strips of operands may fill
  Measured boundExponent; ///< sharpness of the maximum of bounds

  // General cores of one SM.
  Measured exponentials; ///< per cycle
  Measured lanes;        ///< f32 operations per cycle
  Measured warpIssue;    ///< share of issue slots that dependent code reaches
  InstructionRates rates;

  // Fixed costs.
  Measured barrier;     ///< cycles from an arrival until a waiting thread goes on
  Measured blockStart;  ///< cycles from a free slot to the first load of a block
  Measured launch;      ///< ns of a kernel launch
  Measured storeCycles; ///< cycles per element of an epilogue by plain stores, one warpgroup
  Measured bulkStore;   ///< epilogue through shared memory, relative to plain stores
  Measured spillRate;   ///< bytes/cycle of local memory

  /// Error of absolute predictions on a machine that was never measured (rms).
  Measured machine;

  double ghz() const { return clock.value; }
};

/// A constant's name and member, for tests, reports and draws from the ranges.
struct ChipConstant {
  std::string_view name;
  std::string_view unit;
  Measured Chip::*member;
};
std::span<const ChipConstant> chipConstants();

/// H100 SXM and B200.
const std::vector<Chip> &chips();
/// By its name ("H100") or architecture ("sm_90a"); null if there is none.
const Chip *findChip(std::string_view name);

} // namespace penstock::hw

#endif // PENSTOCK_HARDWARE_CHIP_H
