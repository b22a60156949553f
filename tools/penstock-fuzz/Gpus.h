//===- Gpus.h - Random GPUs -------------------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_GPUS_H
#define PENSTOCK_FUZZ_GPUS_H

#include "Random.h"
#include "penstock/compile.h"

namespace penstock::fuzz {

/// A GPU on which mma.sync multiplies; one of them has TMA.
inline Target withMmaSync(Random &random) {
  return random.of({Target::sm_80(), Target::sm_86(), Target::sm_89(), Target::sm_120a()});
}

/// Any GPU; \p blackwell and \p hopper: how often it is one with tcgen05 or wgmma, in percent.
inline Target anyGpu(Random &random, int blackwell = 40, int hopper = 30) {
  int64_t drawn = random.below(100);
  return drawn < blackwell            ? Target::sm_100a()
         : drawn < blackwell + hopper ? Target::sm_90a()
                                      : withMmaSync(random);
}

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_GPUS_H
