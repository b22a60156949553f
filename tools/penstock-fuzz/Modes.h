//===- Modes.h - What penstock-fuzz can do ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_MODES_H
#define PENSTOCK_FUZZ_MODES_H

#include "Batches.h"

namespace penstock::fuzz {

/// Each runs its cases, prints what fails and a line of figures, and gives the
/// exit status.
int runMutations(const BatchOptions &options);
int runTexts(const BatchOptions &options, const std::string &corpus);
int runCalls(const BatchOptions &options);
int runDivided(const BatchOptions &options);
int runProducts(const BatchOptions &options);
int runPacked(const BatchOptions &options);
int runBoxed(const BatchOptions &options);
int runChained(const BatchOptions &options);
int runAdded(const BatchOptions &options);
int runAround(const BatchOptions &options);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_MODES_H
