//===- ThreadPool.h - Blocks over the machine's cores -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_THREADPOOL_H
#define PENSTOCK_RUNTIME_THREADPOOL_H

#include <cstdint>
#include <functional>

namespace penstock {

/// Runs body(item, worker) for every item below \p count on up to \p threads
/// threads, the caller's included, and returns when all have run; worker is
/// below the number of threads used. The helper threads are shared by the whole
/// process and sleep between calls; calls from several threads take turns at
/// them and otherwise run by themselves.
void parallelFor(uint64_t count, int threads,
                 const std::function<void(uint64_t item, int worker)> &body);

/// Threads that parallelFor uses when asked for 0.
int defaultThreads();

} // namespace penstock

#endif // PENSTOCK_RUNTIME_THREADPOOL_H
