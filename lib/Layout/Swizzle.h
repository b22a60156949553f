//===- Swizzle.h - Swizzles of shared memory --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of tiles in shared memory are permuted in pieces of 16 bytes so that a
// column of eight rows touches all banks. Copies by TMA, matrix instructions and
// plain accesses must agree on it; each has its own number for the same pattern.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_SWIZZLE_H
#define PENSTOCK_LAYOUT_SWIZZLE_H

#include <cstdint>

namespace penstock::layout {

/// Named by the bytes of a row within which pieces of 16 bytes change places.
enum class Swizzle : uint8_t { None, B32, B64, B128 };

/// 16 (None: a row of a core matrix), 32, 64 or 128.
int64_t spanBytes(Swizzle);

/// Bytes after which the pattern repeats; a tile starts at a multiple of them.
/// Without a swizzle: a core matrix, 128.
int64_t repeatBytes(Swizzle);

/// Returns the address of the byte that a linear tile would have at \p byteAddress. It depends on
/// the absolute address in shared memory, and is its own inverse.
uint64_t swizzled(Swizzle, uint64_t byteAddress);

/// CUtensorMapSwizzle of cuTensorMapEncodeTiled.
unsigned tensorMapCode(Swizzle);
/// Bits 62 and 63 of a wgmma descriptor.
unsigned wgmmaCode(Swizzle);
/// Bits 61 to 63 of a tcgen05 descriptor.
unsigned tcgen05Code(Swizzle);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_SWIZZLE_H
