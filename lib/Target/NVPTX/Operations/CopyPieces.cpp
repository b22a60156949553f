//===- CopyPieces.cpp - Pieces of a copy by threads -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Operations/CopyPieces.h"
#include "Target/NVPTX/Threads/LoweringContext.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

bool CopyPieces::isSame(unsigned dim) const {
  return llvm::all_equal(
      llvm::map_range(pieces, [dim](const CopyPiece &piece) { return piece.inTensor[dim]; }));
}

/// Returns the largest value of a thread's part of a coordinate.
static int64_t largestOfThread(const layout::Distribution &layout, int64_t dim) {
  int64_t largest = 0;
  for (const layout::Distribution::Digit &digit : layout.threadDigits)
    if (digit.dim == dim)
      largest += (digit.extent - 1) * digit.stride;
  return largest;
}

/// Divides the rows of a tile into coordinates along several dimensions of a tensor: a thread's
/// part of each, and constants of each piece. Returns false if a constant carries into the next
/// coordinate for some threads only.
static bool divideRows(LoweringContext &c, ArrayRef<int64_t> extents, Value thread, int64_t largest,
                       SmallVector<int64_t> constants, SmallVector<Value> &threadParts,
                       SmallVector<SmallVector<int64_t>> &constantParts) {
  threadParts.assign(extents.size(), Value());
  constantParts.assign(constants.size(), SmallVector<int64_t>(extents.size()));
  for (size_t i = extents.size(); --i > 0;) {
    int64_t extent = extents[i], largestRest = 0;
    for (auto [constant, parts] : llvm::zip_equal(constants, constantParts)) {
      parts[i] = constant % extent;
      largestRest = std::max(largestRest, parts[i]);
      constant /= extent;
    }
    if (largest + largestRest < extent) {
      threadParts[i] = thread;
      thread = Value();
      largest = 0;
    } else if (largestRest == 0) {
      threadParts[i] = arith::RemUIOp::create(c.builder, c.loc, thread, c.i32(extent));
      thread = arith::DivUIOp::create(c.builder, c.loc, thread, c.i32(extent));
      largest /= extent;
    } else {
      return false;
    }
  }
  threadParts[0] = thread;
  for (auto [constant, parts] : llvm::zip_equal(constants, constantParts))
    parts[0] = constant;
  return true;
}

SmallVector<CopyPieces> nvptx::copyPieces(LoweringContext &c, const layout::Distribution &layout,
                                          ArrayRef<Value> base, int64_t vector,
                                          const CopyBox &box) {
  unsigned rank = box.rank;
  CopyPieces all;
  all.inTensor.resize(rank);
  all.inTensor[rank - 1] = base.back();
  SmallVector<int64_t> rows;
  for (int64_t reg = 0; reg < layout.registers(); reg += vector) {
    std::vector<int64_t> at = layout.offsetOf(reg);
    CopyPiece piece{{at.begin(), at.end()}, SmallVector<int64_t>(rank)};
    piece.inTensor[rank - 1] = at.back();
    all.pieces.push_back(piece);
    rows.push_back(at.front());
  }
  if (layout.rank() == 1)
    return {all};
  int64_t oneExtent[] = {0}; // unused if rows are along one dimension
  ArrayRef<int64_t> extents = box.rows.value_or(ArrayRef<int64_t>(oneExtent));
  auto dimOf = [&](size_t i) { return rowDim(rank, box.dims, extents, i); };
  SmallVector<Value> threadParts;
  SmallVector<SmallVector<int64_t>> constantParts;
  if (divideRows(c, extents, base.front(), largestOfThread(layout, 0), rows, threadParts,
                 constantParts)) {
    for (size_t i = 0; i < extents.size(); ++i) {
      all.inTensor[dimOf(i)] = threadParts[i];
      for (auto [piece, parts] : llvm::zip_equal(all.pieces, constantParts))
        piece.inTensor[dimOf(i)] = parts[i];
    }
    return {all};
  }
  // Otherwise each piece computes its coordinates.
  SmallVector<CopyPieces> result;
  for (auto [piece, row] : llvm::zip_equal(all.pieces, rows)) {
    CopyPieces &one = result.emplace_back(CopyPieces{all.inTensor, {piece}});
    for (auto [i, part] : llvm::enumerate(inRows(c, c.add(base.front(), row), extents)))
      one.inTensor[dimOf(i)] = part;
  }
  return result;
}
