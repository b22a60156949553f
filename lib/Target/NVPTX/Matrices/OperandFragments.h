//===- OperandFragments.h - Operands of mma.sync ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the operands of mma.sync from shared memory, 16 x 32 bytes at a time by one
// ldmatrix.x4: 16 rows of A, or two neighboring blocks of 8 columns of B. It also unpacks padded
// values of 4 and 6 bits to a byte each.
//
// An address is the lane's address in the ring slot, computed once, XORed with a constant for each
// step within a swizzle span, plus an immediate: rows that differ by a multiple of 8 have the same
// swizzle phase, and so have all chunks. The XOR follows the addition of the slot: otherwise one
// register per step would be live in the whole loop. It is exact, because slots are aligned.
//
// The block scales of a row and of four blocks of k are one word, in the layout of tile.gemm. An
// instruction reads the scales of A from two lanes of each quad and the scales of B from one;
// selectors name the lanes, and the bytes of their words. So one word in each lane serves 32 rows
// and four blocks of k.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_MATRICES_OPERANDFRAGMENTS_H
#define PENSTOCK_TARGET_NVPTX_MATRICES_OPERANDFRAGMENTS_H

#include "Dialect/Tile/TileDialect.h"
#include "Layout/SharedTile.h"
#include "Target/NVPTX/Threads/Views.h"

#include <map>

namespace penstock::nvptx {

/// The first row or column of a warp: the value at run time, and its values over all warps.
struct WarpStart {
  mlir::Value at;
  llvm::SmallVector<int64_t> all;
};

/// Method to load an operand fragment from shared memory.
enum class FragmentLoad : uint8_t {
  Rows,    ///< ldmatrix: k runs along rows of the tile in memory
  Columns, ///< ldmatrix.trans: k runs across them
  Elements ///< element by element
};

/// An operand of one `tile.gemm`: A, or B, whose columns are called rows here.
class OperandFragments {
public:
  enum Side : uint8_t { Left, Right };
  /// Returns whether fragments of an operand can be loaded: of padded values, only by ldmatrix.
  static bool isReadable(LoweringContext &c, mlir::Value operand, Side side,
                         std::optional<tile::Packing> packing);
  /// \p packing: of padded values, which are unpacked.
  OperandFragments(LoweringContext &c, mlir::Value operand, Side side, WarpStart start,
                   int64_t bits, std::optional<tile::Packing> packing);

  /// A fragment, at a constant number of rows after the warp's first one.
  struct Address {
    int64_t row = 0, k = 0;
    mlir::Value base; ///< 32-bit address of ldmatrix
    int64_t immediate = 0;
  };
  /// Emits the address at the builder's position, which must dominate the load.
  Address addressOf(int64_t row, int64_t k);

  /// Loads 8 (\p blocks 1) or 16 rows and 32 bytes of k. Returns the words in the order of
  /// mma.sync: rows before k for A, k before rows for B, so that each 8 columns have two adjacent
  /// words.
  llvm::SmallVector<mlir::Value> load(const Address &address, int64_t blocks);

private:
  /// Coordinates of the operand in the order of its dimensions.
  template <class T> llvm::SmallVector<T> ordered(T row, T k) const {
    return side == Left ? llvm::SmallVector<T>{row, k} : llvm::SmallVector<T>{k, row};
  }
  bool isDisjoint(int64_t columns) const;
  mlir::Value laneAt(int64_t column);
  mlir::Value baseAt(int64_t column);
  llvm::SmallVector<mlir::Value> loadElements(const Address &address, int64_t blocks);

  LoweringContext &c;
  Side side;
  WarpStart start;
  int64_t bits;
  std::optional<tile::Packing> padding;
  View view;
  layout::SharedTile tile;
  FragmentLoad how = FragmentLoad::Elements;
  mlir::Value laneRow, laneK; ///< of the row of a matrix that the lane addresses
  SharedOffset slot;
  /// By constant columns of the tile in memory: without the slot, and with it.
  std::map<int64_t, mlir::Value> lanes, bases;
};

/// The scales of one operand: of rows of A, or of columns of B, which are called rows here.
class ScaleFragments {
public:
  /// Rows of the operand whose scales are in one register, and values that a byte of it scales.
  static constexpr int64_t rowsOfWord = 32, blocksOfWord = 4;

  /// \p rows: rows of each warp, from its start on. \p allRows: rows of the operand.
  ScaleFragments(LoweringContext &c, mlir::Value scales, const WarpStart &start, int64_t rows,
                 int64_t allRows);

  /// Loads the scales of four blocks of k, from block 4 * \p group on. Lane t of word i has those
  /// of row 32 * i + t / 4 + t % 4 * 8 of the warp.
  llvm::SmallVector<mlir::Value> load(int64_t group);

private:
  LoweringContext &c;
  View view;
  bool whole = true;                   ///< words are aligned
  int64_t width = 1;                   ///< words of an access
  llvm::SmallVector<mlir::Value> rows; ///< of this lane, one for each access
};

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_MATRICES_OPERANDFRAGMENTS_H
