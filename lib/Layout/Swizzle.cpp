//===- Swizzle.cpp - Swizzles of shared memory ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/Swizzle.h"

namespace penstock::layout {

int64_t spanBytes(Swizzle swizzle) { return int64_t(16) << unsigned(swizzle); }

int64_t repeatBytes(Swizzle swizzle) { return 8 * spanBytes(swizzle); }

uint64_t swizzled(Swizzle swizzle, uint64_t byteAddress) {
  // As many bits of the row's number as there are bits of a piece's number.
  uint64_t mask = (uint64_t(1) << unsigned(swizzle)) - 1;
  return byteAddress ^ (((byteAddress >> 7) & mask) << 4);
}

unsigned tensorMapCode(Swizzle swizzle) { return unsigned(swizzle); }

unsigned wgmmaCode(Swizzle swizzle) {
  // Counts down from the widest: 128 bytes is 1, 64 is 2, 32 is 3.
  return swizzle == Swizzle::None ? 0 : 4 - unsigned(swizzle);
}

unsigned tcgen05Code(Swizzle swizzle) {
  // One more bit below, which chooses atoms of 32 bytes; those are not ours.
  return wgmmaCode(swizzle) << 1;
}

} // namespace penstock::layout
