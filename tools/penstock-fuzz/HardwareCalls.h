//===- HardwareCalls.h - Random calls of the GPU's operations ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_HARDWARECALLS_H
#define PENSTOCK_FUZZ_HARDWARECALLS_H

#include "Batches.h"

namespace penstock::fuzz {

struct HardwareResult {
  CaseResult result;
  bool compiled = false;
};

/// Records one random sequence of calls of hardware.h and compiles it for a GPU
/// (rarely for a CPU, which must refuse it).
HardwareResult callHardware(uint64_t seed);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_HARDWARECALLS_H
