//===- GemmBuilder.h - Helpers of all matmul lowerings ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_X86_GEMM_GEMMBUILDER_H
#define PENSTOCK_TARGET_X86_GEMM_GEMMBUILDER_H

#include "Dialect/Tile/TileDialect.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/X86/Gemm/GemmSurroundings.h"
#include "Target/X86/Passes.h"

namespace penstock {

/// Strides of a memref in elements; empty if it has none.
llvm::SmallVector<int64_t> stridesOf(mlir::Value memref);
mlir::Type elementTypeOf(mlir::Value memref);
/// Returns whether rows of an operand are contiguous in its tile and in the tensor that it is
/// copied from. A transposed tile of one row or column has contiguous rows itself; its tensor does
/// not.
bool hasContiguousRows(mlir::Value memref);

/// Way in which an operand of a product is brought into the layout that is multiplied.
enum class GemmPacking : int32_t {
  None,            ///< it is read where it is
  Converted,       ///< its rows, to the type that is computed with
  Transposed,      ///< by PackTransposed.h
  Elements,        ///< element by element
  Rows,            ///< PackPanels.h: rows of groups
  Tiles,           ///< tiles of 16 rows
  Panels,          ///< panels, by rows of the matrix
  TransposedPanels ///< panels, by its columns
};

/// Rows that are farther apart, in bytes, displace each other in the first-level cache.
constexpr int64_t nearRows = 2048;

/// The lowering of a product, for `penstock explain` and predictions. Where a dimension is not a
/// multiple of the block, these are the numbers of blocks from which nothing is cut off.
struct GemmReport {
  llvm::StringRef instruction;                         ///< that multiplies
  int64_t rows = 0, columns = 0;                       ///< of the block of sums that registers hold
  int64_t products = 0, leftLoads = 0, rightLoads = 0; ///< instructions of a step along K
  int64_t leftBytes = 0, rightBytes = 0;               ///< of operands as they are read
  int64_t stripBytes = 0;      ///< of the columns of B that all rows use one after the other
  llvm::StringRef left, right; ///< how operands are read
  GemmPacking leftPacking = GemmPacking::None, rightPacking = GemmPacking::None;
  /// The operand is read in its tensor, without a copy, where the tile is within it.
  bool leftInTensor = false, rightInTensor = false;
  /// True if A is read from its tensor instead of packed, when one iteration has all of K: its rows
  /// must be at most nearRows bytes apart.
  bool leftReadOnce = false;
  bool byRows = false;       ///< rows of A stay in L1 and B streams from L2
  int64_t chunkColumns = 0;  ///< columns of B that stay in L2 for all rows of A, with byRows
  bool startsAsZero = false; ///< no sum is loaded by the first iteration
  bool endsInTensor = false; ///< no sum is stored before the last iteration
  bool packedSums = false;   ///< between iterations, sums are not in their tile
  bool storesLater = false;  ///< the last iteration stores sums while the next ones are multiplied
  bool prefetches = false;   ///< operands of the next steps, where they come from tensors

  /// As attribute `penstock.products` of a function, with \p gemm's shape and location.
  mlir::DictionaryAttr toAttribute(tile::GemmOp gemm) const;
};

/// Returns whether a copy takes dimensions of its tensor in their order, the contiguous one among
/// them, without a conversion.
bool isPlain(tile::CopyOp copy);

/// Builds loops in place of one product.
class GemmBuilder {
public:
  explicit GemmBuilder(tile::GemmOp gemm) : gemm(gemm), b(gemm), loc(gemm.getLoc()) {}

protected:
  /// A matrix in memory: its first byte and the bytes between rows or panels.
  struct Address {
    mlir::Value pointer, stride;
  };
  /// The first element and the strides of a memref, in elements.
  struct Operand {
    mlir::Value address; ///< an index
    llvm::SmallVector<mlir::Value, 4> strides;
  };

  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }
  mlir::Value add(mlir::Value x, int64_t y) {
    return y ? mlir::Value(mlir::arith::AddIOp::create(b, loc, x, index(y))) : x;
  }

  /// `for i in [begin, end) step step`, with the builder inside while body runs.
  template <typename Body> void loop(int64_t begin, int64_t end, int64_t step, Body body) {
    if (begin >= end)
      return;
    auto op = mlir::scf::ForOp::create(b, loc, index(begin), index(end), index(step));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }

  /// Allocates a tile for intermediate results at the start of the function.
  mlir::Value allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element);

  mlir::Value product(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulIOp::create(b, loc, x, y);
  }
  mlir::Value toI64(mlir::Value value) {
    return mlir::arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
  }
  mlir::Value toPointer(mlir::Value address);
  mlir::Value pointerTo(mlir::Value memref);
  mlir::Value bytes(mlir::Value pointer, mlir::Value offset);
  void prefetchIntoL1(mlir::Value pointer) { prefetch(pointer, /*locality=*/3); }
  void prefetchIntoL2(mlir::Value pointer) { prefetch(pointer, /*locality=*/2); }
  mlir::Value intrinsic(llvm::StringRef name, mlir::ValueRange arguments, mlir::Type result = {});

  Operand operandOf(mlir::Value memref);
  Address addressOf(mlir::Value memref, unsigned strideOf);
  /// The box of a copy in its tensor, with the strides of the tile's dimensions.
  Operand boxOf(tile::CopyOp copy);
  /// Returns whether the box of a copy is entirely within its tensor.
  mlir::Value isInside(tile::CopyOp copy);
  /// The copy before the product that makes an operand, if the tile has no other use.
  tile::CopyOp copyBefore(mlir::Value tile);
  /// The copy that makes an operand which can be read in the copy's tensor instead.
  tile::CopyOp forwardedCopy(mlir::Value memref);
  /// Runs \p body with the builder before the outermost loop around the product in which an operand
  /// keeps its elements, so that it is packed once.
  void beforeLoops(mlir::Value operand, llvm::function_ref<void()> body);
  /// Returns where an operand is read: in the tensor that it was copied from, if its tile is
  /// entirely within it and \p suits is true for the tensor's strides, else in its tile.
  Operand locate(mlir::Value memref,
                 llvm::function_ref<mlir::Value(mlir::ValueRange)> suits = nullptr);

  /// Memory that an iteration stores sums in.
  struct Target {
    Address address;
    mlir::Value inTensor; ///< a condition: false if it is the accumulator
  };
  /// Returns the address of sums after the last iteration: in the tensor, if all of them are
  /// inside. Otherwise, and without an iteration, the accumulator is copied.
  Target endInTensor(const Surroundings &around, mlir::Value isLast);

  tile::GemmOp gemm;
  GemmReport report;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Operation *reader = gemm; ///< operands are read here: the product, or a loop around it

private:
  void prefetch(mlir::Value pointer, uint32_t locality);
};

/// Returns whether products of these types have lowerings to instructions of all levels that add up
/// groups.
bool isGrouped(tile::GemmOp gemm);
/// Lowers a grouped product to AVX-512 BF16 or VNNI.
GemmReport lowerGemmToDots(tile::GemmOp gemm);
/// Lowers any product to multiplications of vectors.
GemmReport lowerGemmToVectors(tile::GemmOp gemm, int64_t vectorBits, const GemmCaches &caches);
/// Lowers a grouped product, or one of f16, to AMX.
GemmReport lowerGemmToTiles(tile::GemmOp gemm, const GemmCaches &caches);

} // namespace penstock

#endif // PENSTOCK_TARGET_X86_GEMM_GEMMBUILDER_H
