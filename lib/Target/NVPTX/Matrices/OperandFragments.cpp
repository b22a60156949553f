//===- OperandFragments.cpp - Operands of mma.sync ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Matrices/OperandFragments.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Rows of one of ldmatrix's matrices, which is also the period of all swizzles.
static constexpr int64_t matrixRows = 8;

/// Chooses how to load a fragment. \p contiguous: k runs along the rows of the tile in memory.
static FragmentLoad fragmentLoad(const View &view, const layout::SharedTile &tile, bool contiguous,
                                 int64_t bits) {
  int64_t piece = 128 / bits;
  auto offset = getConstantIntValue(view.offsets.back());
  bool aligned = offset && *offset % piece == 0 && tile.cols % piece == 0 && !tile.linear;
  if (!aligned)
    return FragmentLoad::Elements;
  if (contiguous)
    return FragmentLoad::Rows;
  return bits == 16 ? FragmentLoad::Columns : FragmentLoad::Elements;
}

OperandFragments::OperandFragments(LoweringContext &c, Value operand, Side side, WarpStart start,
                                   int64_t bits)
    : c(c), side(side), start(std::move(start)), bits(bits), view(viewOf(c, operand)),
      tile(c.shared.tiles.find(view.root)->second.layout) {
  bool contiguous = view.dims[side == Left ? 1 : 0] + 1 == view.offsets.size();
  how = fragmentLoad(view, tile, contiguous, bits);
  Value lane = c.andBits(c.thread, 31);
  if (how == FragmentLoad::Elements) {
    laneRow = c.add(this->start.at, c.shiftRight(lane, 2));
    laneK = c.mul(c.andBits(lane, 3), 32 / bits);
    return;
  }
  slot = slotStart(c, view);
  Value inner = c.andBits(c.shiftRight(lane, 3), 1), outer = c.andBits(c.shiftRight(lane, 4), 1);
  Value inMatrix = c.andBits(lane, matrixRows - 1);
  laneRow = c.add(this->start.at, c.mul(side == Left ? inner : outer, matrixRows));
  laneK = c.mul(side == Left ? outer : inner, 128 / bits);
  Value &along = how == FragmentLoad::Rows ? laneRow : laneK;
  along = c.add(along, inMatrix);
}

/// Returns whether no lane's first column shares a bit with \p columns, so that an XOR adds them.
bool OperandFragments::isDisjoint(int64_t columns) const {
  int64_t first = *getConstantIntValue(view.offsets.back()), piece = 128 / bits;
  SmallVector<int64_t> starts{0};
  if (how == FragmentLoad::Columns)
    starts = start.all;
  return llvm::all_of(starts, [&](int64_t at) {
    return ((first + at) & columns) == 0 && ((first + at + piece) & columns) == 0;
  });
}

/// Returns the lane's address at constant columns of the tile in memory, without its slot and the
/// immediate. A loop over slots leaves it as it is.
Value OperandFragments::laneAt(int64_t column) {
  Value &lane = lanes[column];
  if (!lane && column > 0 && column < tile.chunkCols() && isDisjoint(column)) {
    lane = c.builder.createOrFold<arith::XOrIOp>(c.loc, laneAt(0), c.i32(column * bits / 8));
  } else if (!lane) {
    bool alongK = how == FragmentLoad::Rows;
    SharedOffset at = offsetInSlot(c, view, ordered(laneRow, laneK),
                                   ordered(alongK ? 0 : column, alongK ? column : 0));
    lane = c.add(sharedAddress(c, at.bytes), at.constant);
  }
  return lane;
}

Value OperandFragments::baseAt(int64_t column) {
  Value &base = bases[column];
  if (!base)
    base = c.add(laneAt(column), slot.bytes);
  return base;
}

OperandFragments::Address OperandFragments::addressOf(int64_t row, int64_t k) {
  if (how == FragmentLoad::Elements)
    return {row, k, {}, 0};
  bool alongK = how == FragmentLoad::Rows;
  int64_t memoryRow = alongK ? row : k, column = alongK ? k : row;
  assert(memoryRow % matrixRows == 0 && "rows keep their swizzle phase");
  // A chunk that begins in the middle of the pattern changes the phase.
  bool samePhase = tile.chunkBytes() % layout::repeatBytes(tile.swizzle) == 0;
  int64_t chunk = samePhase ? column / tile.chunkCols() : 0;
  return {row, k, baseAt(column - chunk * tile.chunkCols()),
          slot.constant + memoryRow * layout::spanBytes(tile.swizzle) + chunk * tile.chunkBytes()};
}

SmallVector<Value> OperandFragments::load(const Address &address, int64_t blocks) {
  if (how == FragmentLoad::Elements)
    return loadElements(address, blocks);
  int64_t matrices = blocks * 2;
  std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) +
                     (how == FragmentLoad::Columns ? ".trans" : "") + ".shared.b16 " +
                     operandList(0, matrices) + ", [$" + std::to_string(matrices) +
                     (address.immediate ? "+" + std::to_string(address.immediate) : "") + "];";
  InlinePtx load = c.inlinePtx();
  for (int64_t i = 0; i < matrices; ++i)
    load.output(c.builder.getI32Type());
  return load.input(address.base).emit(text, PtxEffects::Memory);
}

SmallVector<Value> OperandFragments::loadElements(const Address &address, int64_t blocks) {
  SmallVector<Value> words;
  int64_t piece = 128 / bits, pack = 32 / bits;
  Type stored = c.builder.getIntegerType(unsigned(bits)), word = c.builder.getI32Type();
  for (int64_t matrix = 0; matrix < blocks * 2; ++matrix) {
    int64_t block = side == Left ? matrix % blocks : matrix / 2;
    int64_t ofK = side == Left ? matrix / blocks : matrix % 2;
    SmallVector<Value> elements;
    for (int64_t i = 0; i < pack; ++i) {
      Value element =
          sharedElement(c, view, ordered(laneRow, laneK),
                        ordered(address.row + block * matrixRows, address.k + ofK * piece + i));
      elements.push_back(LLVM::LoadOp::create(c.builder, c.loc, stored, element));
    }
    words.push_back(pack == 1
                        ? elements[0]
                        : LLVM::BitcastOp::create(c.builder, c.loc, word, c.packed(elements)));
  }
  return words;
}
