//===- StoreMatrix.cpp - Stores of accumulators by stmatrix ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread of an accumulator layout holds pairs of columns, so its own stores have 4 bytes.
// stmatrix.x4 stores 16 x 16 elements of 16 bits as 32 pieces of 16 bytes, at one address per lane.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Matrices/StoreMatrix.h"
#include "Layout/MatrixStore.h"
#include "Target/NVPTX/Threads/Coordinates.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

namespace {

/// The stmatrix instructions of one copy.
class MatrixStore {
public:
  MatrixStore(LoweringContext &c, tile::CopyOp op, RegisterTile &from, const Distribution &pieces,
              const ExecutionScope &by)
      : c(c), from(from), target(elementOf(op.getTarget())), pieces(pieces),
        view(viewOf(c, op.getTarget())), tile(c.shared.tiles.find(view.root)->second.layout),
        base(baseOf(c, pieces, by)) {}

  void emit() {
    int64_t blocks = layout::blocksOfColumns(from.layout);
    for (int64_t first = 0; first < from.registers(); first += blocks * blockRegisters)
      for (int64_t block = 0; block < blocks; block += 2)
        store(first + block * blockRegisters, std::min<int64_t>(2, blocks - block));
  }

private:
  /// Registers of a thread for 16 rows of 8 columns: two matrices, one below the other.
  static constexpr int64_t blockRegisters = 4;

  void store(int64_t reg, int64_t blocks) {
    int64_t matrices = blocks * 2;
    SharedOffset at = addressOf(from.layout.offsetOf(reg));
    SmallVector<Value> operands = {at.bytes};
    for (int64_t i = 0; i < matrices; ++i)
      operands.push_back(word(reg + 2 * i));
    c.ptx("stmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) + ".shared.b16 [$0" +
              (at.constant ? "+" + std::to_string(at.constant) : "") + "], " +
              operandList(1, matrices) + ";",
          operands);
  }

  /// Returns two neighboring elements of a row.
  Value word(int64_t reg) {
    SmallVector<Value> pair;
    for (int64_t i = 0; i < 2; ++i)
      pair.push_back(
          converted(c, fromStored(c, readRegister(c, from, reg + i), from.type), target));
    return LLVM::BitcastOp::create(c.builder, c.loc, c.builder.getI32Type(), c.packed(pair));
  }

  /// Returns whether all threads begin at the first column of a chunk, or 8 columns later. Then
  /// chunks are constants apart, and other columns of a chunk an XOR.
  bool startsAtChunks() const {
    int64_t columns = tile.chunkCols();
    bool samePhase = tile.chunkBytes() % layout::repeatBytes(tile.swizzle) == 0;
    return samePhase && *getConstantIntValue(view.offsets.back()) % columns == 0 &&
           llvm::all_of(ArrayRef(pieces.threadDigits).drop_front(3),
                        [&](const Distribution::Digit &digit) {
                          return digit.dim != 1 || digit.stride % columns == 0;
                        });
  }

  /// Returns the address of the lane's piece: a register and a constant.
  SharedOffset addressOf(ArrayRef<int64_t> offset) {
    int64_t row = offset[0], column = offset[1];
    if (tile.linear) {
      SharedOffset first = laneAt(0);
      return {first.bytes, first.constant + (row * tile.cols + column) * 2};
    }
    int64_t chunk = startsAtChunks() ? column / tile.chunkCols() : 0;
    SharedOffset lane = laneAt(column - chunk * tile.chunkCols());
    // Rows that are multiples of 8 apart have the same swizzle.
    return {lane.bytes,
            lane.constant + row * layout::spanBytes(tile.swizzle) + chunk * tile.chunkBytes()};
  }

  /// Returns the address of the lane's piece in the thread's first rows.
  SharedOffset laneAt(int64_t column) {
    auto [found, added] = lanes.try_emplace(column);
    if (!added)
      return found->second;
    SharedOffset &lane = found->second;
    if (column && startsAtChunks()) {
      lane = laneAt(0);
      lane.bytes = c.builder.createOrFold<arith::XOrIOp>(c.loc, lane.bytes, c.i32(column * 2));
    } else {
      SharedOffset slot = slotStart(c, view), inSlot = offsetInSlot(c, view, base, {0, column});
      lane = {sharedAddress(c, c.add(slot.bytes, inSlot.bytes)), slot.constant + inSlot.constant};
    }
    return lane;
  }

  LoweringContext &c;
  RegisterTile &from;
  Type target;
  const Distribution &pieces;
  View view;
  const layout::SharedTile &tile;
  SmallVector<Value> base;
  std::map<int64_t, SharedOffset> lanes; ///< by column
};

/// Returns whether a view has the rows of its tile, from a multiple of 16 bytes on.
bool hasWholePieces(const View &view) {
  size_t rank = view.offsets.size();
  auto column = view.offsets.empty() ? std::nullopt : getConstantIntValue(view.offsets.back());
  return view.dims.size() == 2 && view.dims[0] + 2 == rank && view.dims[1] + 1 == rank && column &&
         *column % 8 == 0;
}

} // namespace

bool nvptx::storeMatrices(LoweringContext &c, tile::CopyOp op, RegisterTile &from,
                          const ExecutionScope &by) {
  if (!c.architecture.tma) // both require sm_90
    return false;
  View view = viewOf(c, op.getTarget());
  auto found = c.shared.tiles.find(view.root);
  if (found == c.shared.tiles.end() || !hasWholePieces(view))
    return false;
  auto pieces = layout::matrixStorePieces(from.layout, found->second.layout);
  if (!pieces)
    return false;
  MatrixStore(c, op, from, *pieces, by).emit();
  return true;
}
