//===- ThreadPool.h - Blocks over the machine's cores -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_THREADPOOL_H
#define PENSTOCK_RUNTIME_THREADPOOL_H

#include "penstock/launch.h"

#include <cstdint>
#include <functional>

namespace penstock {

/// Runs body(item, worker) for every item below \p count on up to \p threads
/// threads, the caller's included, and returns when all have run; worker is
/// below the number of threads used. The helper threads are shared by the whole
/// process: they poll for 50 us after a call, then sleep. Calls from several threads
/// take turns at them and otherwise run by themselves.
void parallelFor(uint64_t count, int threads,
                 const std::function<void(uint64_t item, int worker)> &body);

/// The same on threads of \p executor. What its tasks have left when it returns runs on the
/// calling thread.
void parallelFor(uint64_t count, int threads, const Executor &executor,
                 const std::function<void(uint64_t item, int worker)> &body);

/// Threads that parallelFor uses when asked for 0: allowedProcessors() of the first call.
int defaultThreads();

/// Number of processors that the calling thread may run on.
int allowedProcessors();

} // namespace penstock

#endif // PENSTOCK_RUNTIME_THREADPOOL_H
