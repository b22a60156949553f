//===- MatrixStore.cpp - Layout of stmatrix -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/MatrixStore.h"

namespace penstock::layout {

using Digit = Distribution::Digit;

int64_t blocksOfColumns(const Distribution &registers) {
  const std::vector<Digit> &lanes = registers.threadDigits, &regs = registers.registerDigits;
  if (registers.rank() != 2 || !registers.isFull() || lanes.size() < 2 || regs.size() < 2 ||
      lanes[0] != Digit{4, 1, 2} || lanes[1] != Digit{8, 0, 1} || regs[0] != Digit{2, 1, 1} ||
      regs[1] != Digit{2, 0, 8})
    return 0;
  for (const Digit &digit : lanes)
    if (digit.dim < 0) // threads with copies
      return 0;
  bool more = regs.size() > 2 && regs[2].dim == 1 && regs[2].stride == 8;
  return more ? regs[2].extent : 1;
}

std::optional<Distribution> matrixStorePieces(const Distribution &registers,
                                              const SharedTile &tile) {
  int64_t blocks = blocksOfColumns(registers);
  if (blocks == 0 || tile.elementBits != 16 || tile.cols % 8) // rows of whole pieces
    return std::nullopt;
  Distribution pieces;
  pieces.shape = registers.shape;
  // Lane 8 j + r has row r of matrix j; two matrices are one below the other, two side by side.
  pieces.threadDigits = {{8, 0, 1}, {2, 0, 8}, {2, 1, 8}};
  pieces.threadDigits.insert(pieces.threadDigits.end(), registers.threadDigits.begin() + 2,
                             registers.threadDigits.end());
  pieces.registerDigits = {{8, 1, 1}, {(blocks + 1) / 2, 1, 16}};
  pieces.registerDigits.insert(pieces.registerDigits.end(),
                               registers.registerDigits.begin() + (blocks > 1 ? 3 : 2),
                               registers.registerDigits.end());
  std::erase_if(pieces.registerDigits, [](const Digit &digit) { return digit.extent == 1; });
  return pieces;
}

} // namespace penstock::layout
