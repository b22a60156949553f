//===- OperandFragments.cpp - Operands of mma.sync ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Matrices/OperandFragments.h"
#include "Dialect/Tile/PackedElements.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// Rows of one of ldmatrix's matrices, which is also the period of all swizzles.
static constexpr int64_t matrixRows = 8;

/// Chooses how to load a fragment.
static FragmentLoad fragmentLoad(const View &view, const layout::SharedTile &tile,
                                 OperandFragments::Side side, int64_t bits) {
  // True if k runs along the rows of the tile in memory.
  bool contiguous = view.dims[side == OperandFragments::Left ? 1 : 0] + 1 == view.offsets.size();
  int64_t piece = 128 / bits;
  auto offset = getConstantIntValue(view.offsets.back());
  bool aligned = offset && *offset % piece == 0 && tile.cols % piece == 0 && !tile.linear;
  if (!aligned)
    return FragmentLoad::Elements;
  if (contiguous)
    return FragmentLoad::Rows;
  return bits == 16 ? FragmentLoad::Columns : FragmentLoad::Elements;
}

bool OperandFragments::isReadable(LoweringContext &c, Value operand, Side side,
                                  std::optional<tile::Packing> packing) {
  if (!packing || !tile::isPadded(*packing))
    return true;
  View view = viewOf(c, operand);
  const layout::SharedTile &tile = c.shared.tiles.find(view.root)->second.layout;
  return fragmentLoad(view, tile, side, /*bits=*/8) == FragmentLoad::Rows;
}

OperandFragments::OperandFragments(LoweringContext &c, Value operand, Side side, WarpStart start,
                                   int64_t bits, std::optional<tile::Packing> packing)
    : c(c), side(side), start(std::move(start)), bits(bits), view(viewOf(c, operand)),
      tile(c.shared.tiles.find(view.root)->second.layout) {
  if (packing && tile::isPadded(*packing))
    padding = packing;
  how = fragmentLoad(view, tile, side, bits);
  assert((!padding || how == FragmentLoad::Rows) && "threads do not unpack padded values");
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
  // A row of a matrix has 16 bytes: 8 elements of 16 bits, or 16 padded values.
  bool four = padding && tile::bitsOf(*padding) == 4;
  std::string types = four ? "b8x16.b4x16_p64" : padding ? "b8x16.b6x16_p32" : "b16";
  std::string text = std::string("ldmatrix.sync.aligned.") + (padding ? "m8n16" : "m8n8") + ".x" +
                     std::to_string(matrices) + (how == FragmentLoad::Columns ? ".trans" : "") +
                     ".shared." + types + " " + operandList(0, matrices) + ", [$" +
                     std::to_string(matrices) +
                     (address.immediate ? "+" + std::to_string(address.immediate) : "") + "];";
  InlinePtx load = c.inlinePtx();
  for (int64_t i = 0; i < matrices; ++i)
    load.output(c.builder.getI32Type());
  SmallVector<Value> words = load.input(address.base).emit(text, PtxEffects::Memory);
  // ldmatrix unpacks 4-bit values to bits 0 to 3 of a byte; mma.sync reads bits 2 to 5.
  if (four)
    for (Value &value : words)
      value = c.mul(value, 4);
  return words;
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

ScaleFragments::ScaleFragments(LoweringContext &c, Value scales, const WarpStart &start,
                               int64_t rowsOfWarp, int64_t allRows)
    : c(c), view(viewOf(c, scales)) {
  // The scales of 4 rows, 32 apart, are a piece of 16 bytes, unless a slice divides pieces.
  constexpr int64_t piece = 16;
  auto offset = getConstantIntValue(view.offsets.back());
  const layout::SharedTile &tile = c.shared.tiles.find(view.root)->second.layout;
  whole = offset && *offset % piece == 0 && tile.cols % piece == 0;
  int64_t words = llvm::divideCeil(rowsOfWarp, rowsOfWord);
  auto areNeighbors = [&](int64_t count) {
    return words % count == 0 && llvm::all_of(start.all, [&](int64_t begin) {
             return begin % (rowsOfWord * count) == 0 && begin + words * rowsOfWord <= allRows;
           });
  };
  while (whole && width < 4 && areNeighbors(2 * width))
    width *= 2;
  Value lane = c.andBits(c.thread, 31);
  Value first = c.add(start.at, c.add(c.shiftRight(lane, 2), c.mul(c.andBits(lane, 3), 8)));
  for (int64_t word = 0; word < words; word += width) {
    Value row = c.add(first, word * rowsOfWord);
    // Lanes whose rows belong to no warp load the last row's scales, which no instruction selects.
    if (llvm::any_of(start.all,
                     [&](int64_t begin) { return begin + (word + width) * rowsOfWord > allRows; }))
      row = arith::MinSIOp::create(c.builder, c.loc, row, c.i32(allRows - 1));
    rows.push_back(row);
  }
}

SmallVector<Value> ScaleFragments::load(int64_t group) {
  SmallVector<Value> words;
  for (Value row : rows) {
    // Element [r / 128, group, r mod 32, r / 32 mod 4 * 4].
    Value byte = c.mul(c.andBits(c.shiftRight(row, 5), 3), 4);
    auto load = [&](int64_t from, Type type, int64_t count) {
      return loadShared(c,
                        sharedElement(c, view,
                                      {c.shiftRight(row, 7), c.i32(0), c.andBits(row, 31), byte},
                                      {0, group, 0, from}),
                        type, count);
    };
    if (whole) {
      llvm::append_range(words, load(0, c.builder.getI32Type(), width));
      continue;
    }
    SmallVector<Value> bytes;
    for (int64_t i = 0; i < blocksOfWord; ++i)
      llvm::append_range(bytes, load(i, c.builder.getI8Type(), 1));
    words.push_back(
        LLVM::BitcastOp::create(c.builder, c.loc, c.builder.getI32Type(), c.packed(bytes)));
  }
  return words;
}
