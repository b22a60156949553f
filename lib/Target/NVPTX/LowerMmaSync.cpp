//===- LowerMmaSync.cpp - Products by warps and by threads ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync multiplies 16 x 32 bytes by 32 bytes x 8. Its operands are loaded from
// shared memory by ldmatrix, eight rows of 16 bytes at a time, where elements that
// are multiplied with each other lie together or, for 16 bits, across; otherwise
// element by element. What no instruction multiplies, threads do.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Lowering.h"
#include "Target/NVPTX/MmaSync.h"
#include "Target/NVPTX/TileLayouts.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

static Type elementOf(Value memref) { return cast<MemRefType>(memref.getType()).getElementType(); }

namespace {

/// How a fragment of an operand comes from shared memory.
enum class FragmentLoad : uint8_t { Rows, Columns, Elements };

} // namespace

/// \p contiguous: whether k runs along the rows of the tile in memory.
static FragmentLoad fragmentLoad(const View &view, const SharedAllocation &place, bool contiguous,
                                 int64_t bits) {
  int64_t piece = 128 / bits;
  auto offset = getConstantIntValue(view.offsets.back());
  bool aligned = offset && *offset % piece == 0 && place.layout.cols % piece == 0;
  if (!aligned)
    return FragmentLoad::Elements;
  if (contiguous)
    return FragmentLoad::Rows;
  return bits == 16 ? FragmentLoad::Columns : FragmentLoad::Elements;
}

SmallVector<Value> Lowering::loadFragment(Value operand, bool rowsAreFirstDim, Value row,
                                          int64_t rowOffset, int64_t k, int64_t rowBlocks,
                                          int64_t bits) {
  View view = viewOf(operand);
  const SharedAllocation &place = shared.find(view.root)->second;
  size_t rootRank = view.offsets.size();
  // The operand's dimension along which k runs, and whether that is the memory's last.
  size_t kDim = rowsAreFirstDim ? 1 : 0, rowDimension = 1 - kDim;
  bool contiguous = view.dims[kDim] + 1 == rootRank;
  FragmentLoad how = fragmentLoad(view, place, contiguous, bits);
  int64_t piece = 128 / bits, pack = 32 / bits;
  Value lane = andBits(thread, 31);
  Type word = builder.getI32Type();
  auto at = [&](Value rowAt, int64_t rowPlus, Value kAt, int64_t kPlus) {
    SmallVector<Value> index(2);
    SmallVector<int64_t> offset(2);
    index[rowDimension] = rowAt;
    offset[rowDimension] = rowPlus;
    index[kDim] = kAt;
    offset[kDim] = kPlus;
    return sharedElement(view, index, offset);
  };
  // Blocks: of A, (rows, k), (rows + 8, k), (rows, k + 16 bytes), (rows + 8, k + 16
  // bytes); of B, (columns, k), (columns, k + 16 bytes).
  int64_t blocks = rowBlocks * 2;
  if (how != FragmentLoad::Elements) {
    Value block = shiftRight(lane, 3), inBlock = andBits(lane, 7);
    Value blockRow = rowBlocks == 2 ? andBits(block, 1) : i32(0);
    Value blockK = andBits(rowBlocks == 2 ? shiftRight(block, 1) : block, 1);
    Value rowAt = add(row, mul(blockRow, 8)), kAt = mul(blockK, piece);
    if (how == FragmentLoad::Rows)
      rowAt = add(rowAt, inBlock);
    else
      kAt = add(kAt, inBlock);
    Value pointer = at(rowAt, rowOffset, kAt, k);
    Value address = LLVM::PtrToIntOp::create(builder, loc, word, pointer);
    std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(blocks) +
                       (how == FragmentLoad::Columns ? ".trans" : "") + ".shared.b16 {";
    InlinePtx load = inlinePtx();
    for (int64_t i = 0; i < blocks; ++i) {
      text += (i ? ", $" : "$") + std::to_string(i);
      load.output(word);
    }
    text += "}, [$" + std::to_string(blocks) + "];";
    return load.input(address).emit(text, PtxEffects::Memory);
  }
  SmallVector<Value> words;
  Type stored = builder.getIntegerType(unsigned(bits));
  Value group = shiftRight(lane, 2), inGroup = mul(andBits(lane, 3), pack);
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t rowPlus = rowBlocks == 2 ? block % 2 * 8 : 0;
    int64_t kPlus = (rowBlocks == 2 ? block / 2 : block) * piece;
    SmallVector<Value> elements;
    for (int64_t i = 0; i < pack; ++i)
      elements.push_back(LLVM::LoadOp::create(
          builder, loc, stored, at(add(row, group), rowOffset + rowPlus, inGroup, k + kPlus + i)));
    words.push_back(pack == 1 ? elements[0]
                              : LLVM::BitcastOp::create(builder, loc, word, packed(elements)));
  }
  return words;
}

LogicalResult Lowering::lowerGemm(tile::GemmOp op, const ExecutionScope &by) {
  if (op.isScaled())
    return tile::emitCoded(op, ScaledProduct)
           << "a product with scales in a kernel that says itself what threads do; multiply with "
              "b.tcgen05.mma";
  if (op.getAsyncAttr())
    return refuse(op, "with {.async} is not available in explicit kernels");
  for (Value operand : {op.getA(), op.getB()})
    if (!shared.count(tile::rootOf(operand)))
      return refuse(op, "multiplies tiles in shared memory only");
  auto shape = mmaShapeOf(op);
  auto type = cast<MemRefType>(op.getAcc().getType());
  RegisterTile *acc = registersOf(op.getAcc());
  Distribution layout;
  if (shape)
    layout = mmaLayoutOf(op, by.scope.warps);
  else if (acc)
    layout = acc->layout;
  else
    layout = naturalLayout(type.getShape(), threadsOf(by.scope), 1);
  // An accumulator in shared memory passes through registers.
  RegisterTile sums = acc ? *acc : makeRegisters(layout, type.getElementType());
  SmallVector<Value> base = baseOf(layout, by);
  auto each = [&](llvm::function_ref<void(int64_t, Value)> body) {
    for (int64_t reg = 0; reg < layout.registers(); ++reg) {
      auto offset = layout.offsetOf(reg);
      when(holdsElement(layout, base, offset),
           [&] { body(reg, sharedElement(viewOf(op.getAcc()), base, offset, &layout)); });
    }
  };
  if (op.getOverwrite()) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(sums.element));
    for (int64_t reg = 0; reg < sums.registers(); ++reg)
      writeRegister(sums, reg, zero);
  } else if (!acc) {
    each([&](int64_t reg, Value address) {
      writeRegister(sums, reg, loadShared(address, sums.element, 1)[0]);
    });
  }
  if (shape)
    multiplyByWarps(op, *shape, sums, by);
  else
    multiplyByThreads(op, sums, by);
  if (!acc)
    each([&](int64_t reg, Value address) { storeShared(address, {readRegister(sums, reg)}); });
  return success();
}

void Lowering::multiplyByWarps(tile::GemmOp op, const MmaShape &shape, RegisterTile &sums,
                               const ExecutionScope &by) {
  auto a = cast<MemRefType>(op.getA().getType());
  int64_t depth = a.getDimSize(1);
  // Rows and columns of this warp, without the lane's own.
  const Distribution &layout = sums.layout;
  Value warp = shiftRight(threadInScope(by), 5);
  SmallVector<Value> first(2, i32(0));
  int64_t weight = 1;
  for (const Distribution::Digit &digit : layout.threadDigits) {
    if (weight >= nv::warpSize && digit.dim >= 0)
      first[size_t(digit.dim)] =
          add(first[size_t(digit.dim)],
              mul(digitOf(warp, weight / nv::warpSize, digit.extent), digit.stride));
    weight *= digit.extent;
  }
  int64_t rowTiles = 0, colTiles = 0;
  for (int64_t reg = 0; reg < layout.registers(); reg += 4) {
    auto offset = layout.offsetOf(reg);
    rowTiles = std::max(rowTiles, offset[0] / 16 + 1);
    colTiles = std::max(colTiles, offset[1] / 8 + 1);
  }
  Type sum = sums.element;
  std::string text = "mma.sync.aligned.m16n8k" + std::to_string(shape.k) + ".row.col" +
                     shape.types +
                     " {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
  for (int64_t k = 0; k < depth; k += shape.k) {
    SmallVector<SmallVector<Value>> left;
    for (int64_t m = 0; m < rowTiles; ++m)
      left.push_back(loadFragment(op.getA(), true, first[0], m * 16, k, 2, shape.elementBits));
    // Warps whose columns lie beyond the tile have nothing to multiply.
    for (int64_t n = 0; n < colTiles; ++n) {
      OpBuilder::InsertionGuard guard(builder);
      if (!layout.isFull()) {
        Value inside = cmp(arith::CmpIPredicate::ult, add(first[1], n * 8), i32(layout.shape[1]));
        auto choice = scf::IfOp::create(builder, loc, TypeRange(), inside, /*withElse=*/false);
        builder.setInsertionPointToStart(choice.thenBlock());
      }
      SmallVector<Value> right =
          loadFragment(op.getB(), false, first[1], n * 8, k, 1, shape.elementBits);
      for (int64_t m = 0; m < rowTiles; ++m) {
        int64_t reg = (m * colTiles + n) * 4;
        InlinePtx product = inlinePtx();
        for (int64_t i = 0; i < 4; ++i)
          product.output(sum);
        product.inputs(left[size_t(m)]).inputs(right);
        for (int64_t i = 0; i < 4; ++i)
          product.input(readRegister(sums, reg + i));
        SmallVector<Value> results = product.emit(text, PtxEffects::None);
        for (int64_t i = 0; i < 4; ++i)
          writeRegister(sums, reg + i, results[size_t(i)]);
      }
    }
  }
}

void Lowering::multiplyByThreads(tile::GemmOp op, RegisterTile &sums, const ExecutionScope &by) {
  auto a = cast<MemRefType>(op.getA().getType()), b = cast<MemRefType>(op.getB().getType());
  const Distribution &layout = sums.layout;
  SmallVector<Value> base = baseOf(layout, by);
  // Rows and columns beyond the tile are those of its edge; their sums go nowhere.
  bool full = layout.isFull();
  auto clamped = [&](Value index, int64_t size) -> Value {
    return full ? index : arith::MinSIOp::create(builder, loc, index, i32(size - 1)).getResult();
  };
  auto loop = scf::ForOp::create(builder, loc, i32(0), i32(a.getDimSize(1)), i32(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar();
  std::map<int64_t, Value> rows, cols;
  auto element = [&](Value operand, Value i, Value j) {
    Value value =
        loadShared(sharedElement(viewOf(operand), {i, j}, {0, 0}), elementOf(operand), 1)[0];
    if (isa<IntegerType>(value.getType()))
      return arith::ExtSIOp::create(builder, loc, sums.element, value).getResult();
    if (op.getPrecision() == tile::Precision::TF32 && value.getType().isF32()) {
      Value bits = builder.createOrFold<arith::BitcastOp>(loc, builder.getI32Type(), value);
      bits = arith::AndIOp::create(builder, loc, bits, i32(int32_t(0xffffe000)));
      return builder.createOrFold<arith::BitcastOp>(loc, value.getType(), bits);
    }
    return converted(value, sums.element);
  };
  for (int64_t reg = 0; reg < layout.registers(); ++reg) {
    auto offset = layout.offsetOf(reg);
    Value &left = rows[offset[0]], &right = cols[offset[1]];
    if (!left)
      left = element(op.getA(), clamped(add(base[0], offset[0]), a.getDimSize(0)), k);
    if (!right)
      right = element(op.getB(), k, clamped(add(base[1], offset[1]), b.getDimSize(1)));
    Value old = readRegister(sums, reg), result;
    if (isa<FloatType>(sums.element))
      result = math::FmaOp::create(builder, loc, left, right, old);
    else
      result = arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, left, right),
                                     old);
    writeRegister(sums, reg, result);
  }
}
