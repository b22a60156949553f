//===- LegalShapes.h - Shapes that the hardware supports --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limits of the asynchronous instructions, with the broken rule as text, so
// that a front end can say what is wrong before it emits anything.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAYOUT_LEGALSHAPES_H
#define PENSTOCK_LAYOUT_LEGALSHAPES_H

#include "Layout/Descriptor.h"

#include <string>
#include <vector>

namespace penstock::layout {

// Each returns the rule that is broken, as a sentence without a full stop, or
// nothing if the hardware accepts what is asked.

/// One wgmma.mma_async with both operands in shared memory.
std::optional<std::string> refuseWgmma(int m, int n, MmaType a, MmaType b, AccType d, Major aMajor,
                                       Major bMajor);

/// One dense tcgen05.mma with both operands in shared memory. \p m and \p n are
/// those of all \p ctas together.
std::optional<std::string> refuseTcgen05(int ctas, int m, int n, MmaType a, MmaType b, AccType d,
                                         Major aMajor, Major bMajor);

/// One tcgen05.mma of 1 CTA with scales of \p block values, both operands in shared memory.
std::optional<std::string> refuseScaledTcgen05(int m, int n, MmaType a, MmaType b, AccType d,
                                               Major aMajor, Major bMajor, int block);

/// The box of a tiled copy, its fastest dimension first.
std::optional<std::string> refuseTmaBox(int elementBits, const std::vector<int64_t> &box,
                                        Swizzle swizzle);

/// Returns the rows of a tile that one box covers: all of them up to 256, otherwise the largest
/// divisor that consists of whole swizzle patterns. 0: there is none.
int64_t tmaBoxRows(int64_t rows);

/// Returns whether TMA boxes load each chunk of the tile to its address.
std::optional<std::string> refuseTmaTile(const SharedTile &);

/// Checks the number of columns of one tcgen05.alloc.
std::optional<std::string> refuseTensorMemoryColumns(int64_t columns);

} // namespace penstock::layout

#endif // PENSTOCK_LAYOUT_LEGALSHAPES_H
