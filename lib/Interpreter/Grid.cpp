//===- Grid.cpp - The order in which blocks are numbered ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interpreter/Grid.h"
#include "penstock/limits.h"

#include <algorithm>

namespace penstock::interpreter {

std::optional<int64_t> countBlocks(llvm::ArrayRef<int64_t> extents) {
  int64_t blocks = 1;
  for (int64_t extent : extents) {
    if (extent < 0 || extent > limits::maxBlocks)
      return std::nullopt;
    blocks *= extent; // both factors are below 2^31
    if (blocks > limits::maxBlocks)
      return std::nullopt;
  }
  return blocks;
}

llvm::SmallVector<int64_t, 3> coordinatesOf(int64_t number, llvm::ArrayRef<int64_t> extents,
                                            int64_t swizzle) {
  if (swizzle) {
    int64_t height = extents[0];
    int64_t group = number / (height * swizzle);
    int64_t within = number % (height * swizzle);
    int64_t first = group * swizzle;
    int64_t width = std::min(swizzle, extents[1] - first);
    return {within / width, first + within % width};
  }
  llvm::SmallVector<int64_t, 3> coordinates;
  for (int64_t extent : extents) {
    coordinates.push_back(number % extent);
    number /= extent;
  }
  return coordinates;
}

} // namespace penstock::interpreter
