//===- Workers.h - Batches in several processes -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_PIPELINES_WORKERS_H
#define PENSTOCK_FUZZ_PIPELINES_WORKERS_H

#include "../penstock-fuzz/Batches.h"

namespace penstock::fuzz {

/// Divides the seeds among \p jobs processes, each of which runs its batches in
/// children of its own (0: as many as there are cores).
BatchResult runInParallel(const BatchOptions &options, int jobs, const Case &one);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_PIPELINES_WORKERS_H
