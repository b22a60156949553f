//===- limits.h - Limits of launches on all targets -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits are equal on all targets, so that no target rejects a kernel for a size that
// others accept. The memory of a GPU may be smaller.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LIMITS_H
#define PENSTOCK_LIMITS_H

#include <cstdint>

namespace penstock::limits {

/// Maximum number of blocks of a launch, the limit of a GPU's grid.
inline constexpr int64_t maxBlocks = (int64_t(1) << 31) - 1;

/// Maximum bytes of all tiles of a block.
inline constexpr int64_t maxBlockBytes = int64_t(1) << 31;

} // namespace penstock::limits

#endif // PENSTOCK_LIMITS_H
