//===- limits.h - How large a launch may be on any target -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same on all targets, so that what runs on one is not refused by another
// for its size. A GPU's memory may be smaller still.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LIMITS_H
#define PENSTOCK_LIMITS_H

#include <cstdint>

namespace penstock::limits {

/// Blocks of a launch: what a GPU can number.
inline constexpr int64_t maxBlocks = (int64_t(1) << 31) - 1;

/// Bytes of all tiles of a block: far above what a block has on a GPU, far below
/// what a machine has.
inline constexpr int64_t maxBlockBytes = int64_t(1) << 31;

} // namespace penstock::limits

#endif // PENSTOCK_LIMITS_H
