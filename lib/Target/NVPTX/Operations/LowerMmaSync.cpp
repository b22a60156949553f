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
#include "Target/NVPTX/Operations/MmaSync.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Placement/TileLayouts.h"
#include "Target/NVPTX/Threads/Coordinates.h"
#include "Target/NVPTX/Threads/Elements.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

namespace {

/// Method to load an operand fragment from shared memory.
enum class FragmentLoad : uint8_t { Rows, Columns, Elements };

} // namespace

/// Chooses how to load a fragment. \p contiguous: k runs along the rows of the tile in memory.
static FragmentLoad fragmentLoad(const View &view, const SharedAllocation &allocation,
                                 bool contiguous, int64_t bits) {
  int64_t piece = 128 / bits;
  auto offset = getConstantIntValue(view.offsets.back());
  bool aligned = offset && *offset % piece == 0 && allocation.layout.cols % piece == 0;
  if (!aligned)
    return FragmentLoad::Elements;
  if (contiguous)
    return FragmentLoad::Rows;
  return bits == 16 ? FragmentLoad::Columns : FragmentLoad::Elements;
}

/// Loads a fragment of 16 (\p rowBlocks 2) or 8 rows of A, or columns of B, and 32 bytes
/// of k, as mma.sync takes it.
static SmallVector<Value> loadFragment(LoweringContext &c, Value operand, bool rowsAreFirstDim,
                                       Value row, int64_t rowOffset, int64_t k, int64_t rowBlocks,
                                       int64_t bits) {
  View view = viewOf(c, operand);
  const SharedAllocation &allocation = c.shared.tiles.find(view.root)->second;
  size_t rootRank = view.offsets.size();
  // The operand's dimension along which k runs, and whether that is the memory's last.
  size_t kDim = rowsAreFirstDim ? 1 : 0, rowDimension = 1 - kDim;
  bool contiguous = view.dims[kDim] + 1 == rootRank;
  FragmentLoad how = fragmentLoad(view, allocation, contiguous, bits);
  int64_t piece = 128 / bits, pack = 32 / bits;
  Value lane = c.andBits(c.thread, 31);
  Type word = c.builder.getI32Type();
  auto at = [&](Value rowAt, int64_t rowPlus, Value kAt, int64_t kPlus) {
    SmallVector<Value> index(2);
    SmallVector<int64_t> offset(2);
    index[rowDimension] = rowAt;
    offset[rowDimension] = rowPlus;
    index[kDim] = kAt;
    offset[kDim] = kPlus;
    return sharedElement(c, view, index, offset);
  };
  // Blocks: of A, (rows, k), (rows + 8, k), (rows, k + 16 bytes), (rows + 8, k + 16
  // bytes); of B, (columns, k), (columns, k + 16 bytes).
  int64_t blocks = rowBlocks * 2;
  if (how != FragmentLoad::Elements) {
    Value block = c.shiftRight(lane, 3), inBlock = c.andBits(lane, 7);
    Value blockRow = rowBlocks == 2 ? c.andBits(block, 1) : c.i32(0);
    Value blockK = c.andBits(rowBlocks == 2 ? c.shiftRight(block, 1) : block, 1);
    Value rowAt = c.add(row, c.mul(blockRow, 8)), kAt = c.mul(blockK, piece);
    if (how == FragmentLoad::Rows)
      rowAt = c.add(rowAt, inBlock);
    else
      kAt = c.add(kAt, inBlock);
    Value pointer = at(rowAt, rowOffset, kAt, k);
    Value address = LLVM::PtrToIntOp::create(c.builder, c.loc, word, pointer);
    std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(blocks) +
                       (how == FragmentLoad::Columns ? ".trans" : "") + ".shared.b16 {";
    InlinePtx load = c.inlinePtx();
    for (int64_t i = 0; i < blocks; ++i) {
      text += (i ? ", $" : "$") + std::to_string(i);
      load.output(word);
    }
    text += "}, [$" + std::to_string(blocks) + "];";
    return load.input(address).emit(text, PtxEffects::Memory);
  }
  SmallVector<Value> words;
  Type stored = c.builder.getIntegerType(unsigned(bits));
  Value group = c.shiftRight(lane, 2), inGroup = c.mul(c.andBits(lane, 3), pack);
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t rowPlus = rowBlocks == 2 ? block % 2 * 8 : 0;
    int64_t kPlus = (rowBlocks == 2 ? block / 2 : block) * piece;
    SmallVector<Value> elements;
    for (int64_t i = 0; i < pack; ++i)
      elements.push_back(
          LLVM::LoadOp::create(c.builder, c.loc, stored,
                               at(c.add(row, group), rowOffset + rowPlus, inGroup, k + kPlus + i)));
    words.push_back(pack == 1
                        ? elements[0]
                        : LLVM::BitcastOp::create(c.builder, c.loc, word, c.packed(elements)));
  }
  return words;
}

/// The same of a left operand in registers, which lies there as the instruction takes it:
/// \p rowTile and \p k choose four words of the thread's.
static SmallVector<Value> fragmentInRegisters(LoweringContext &c, RegisterTile &left,
                                              int64_t rowTile, int64_t k) {
  constexpr int64_t taken = 4, columns = 16;
  int64_t first = (rowTile * (left.layout.shape[1] / columns) + k / columns) * taken;
  SmallVector<Value> words;
  for (int64_t i = 0; i < taken; ++i)
    words.push_back(readWord(c, left, first + i));
  return words;
}

static void multiplyByWarps(LoweringContext &c, tile::GemmOp op, const MmaShape &shape,
                            RegisterTile &sums, const ExecutionScope &by) {
  auto a = cast<MemRefType>(op.getA().getType());
  int64_t depth = a.getDimSize(1);
  // Rows and columns of this warp, without the lane's own.
  const Distribution &layout = sums.layout;
  Value warp = c.shiftRight(threadInScope(c, by), 5);
  SmallVector<Value> first(2, c.i32(0));
  int64_t weight = 1;
  for (const Distribution::Digit &digit : layout.threadDigits) {
    if (weight >= nv::warpSize && digit.dim >= 0)
      first[size_t(digit.dim)] =
          c.add(first[size_t(digit.dim)],
                c.mul(c.digitOf(warp, weight / nv::warpSize, digit.extent), digit.stride));
    weight *= digit.extent;
  }
  int64_t rowTiles = 0, colTiles = 0;
  for (int64_t reg = 0; reg < layout.registers(); reg += 4) {
    auto offset = layout.offsetOf(reg);
    rowTiles = std::max(rowTiles, offset[0] / 16 + 1);
    colTiles = std::max(colTiles, offset[1] / 8 + 1);
  }
  RegisterTile *inRegisters = registersOf(c, op.getA());
  Type sum = sums.element;
  std::string text = "mma.sync.aligned.m16n8k" + std::to_string(shape.k) + ".row.col" +
                     shape.types +
                     " {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
  for (int64_t k = 0; k < depth; k += shape.k) {
    SmallVector<SmallVector<Value>> left;
    for (int64_t m = 0; m < rowTiles; ++m)
      left.push_back(inRegisters ? fragmentInRegisters(c, *inRegisters, m, k)
                                 : loadFragment(c, op.getA(), true, first[0], m * 16, k, 2,
                                                shape.elementBits));
    // Warps whose columns lie beyond the tile have nothing to multiply.
    for (int64_t n = 0; n < colTiles; ++n) {
      OpBuilder::InsertionGuard guard(c.builder);
      if (!layout.isFull()) {
        Value inside =
            c.cmp(arith::CmpIPredicate::ult, c.add(first[1], n * 8), c.i32(layout.shape[1]));
        auto choice = scf::IfOp::create(c.builder, c.loc, TypeRange(), inside, /*withElse=*/false);
        c.builder.setInsertionPointToStart(choice.thenBlock());
      }
      SmallVector<Value> right =
          loadFragment(c, op.getB(), false, first[1], n * 8, k, 1, shape.elementBits);
      for (int64_t m = 0; m < rowTiles; ++m) {
        int64_t reg = (m * colTiles + n) * 4;
        InlinePtx product = c.inlinePtx();
        for (int64_t i = 0; i < 4; ++i)
          product.output(sum);
        product.inputs(left[size_t(m)]).inputs(right);
        for (int64_t i = 0; i < 4; ++i)
          product.input(readRegister(c, sums, reg + i));
        SmallVector<Value> results = product.emit(text, PtxEffects::None);
        for (int64_t i = 0; i < 4; ++i)
          writeRegister(c, sums, reg + i, results[size_t(i)]);
      }
    }
  }
}

static void multiplyByThreads(LoweringContext &c, tile::GemmOp op, RegisterTile &sums,
                              const ExecutionScope &by) {
  auto a = cast<MemRefType>(op.getA().getType()), b = cast<MemRefType>(op.getB().getType());
  const Distribution &layout = sums.layout;
  SmallVector<Value> base = baseOf(c, layout, by);
  // Rows and columns beyond the tile are those of its edge; their sums are dropped.
  bool full = layout.isFull();
  auto clamped = [&](Value index, int64_t size) -> Value {
    return full ? index
                : arith::MinSIOp::create(c.builder, c.loc, index, c.i32(size - 1)).getResult();
  };
  auto loop = scf::ForOp::create(c.builder, c.loc, c.i32(0), c.i32(a.getDimSize(1)), c.i32(1));
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar();
  std::map<int64_t, Value> rows, cols;
  auto element = [&](Value operand, Value i, Value j) {
    Value value = loadShared(c, sharedElement(c, viewOf(c, operand), {i, j}, {0, 0}),
                             elementOf(operand), 1)[0];
    if (isa<IntegerType>(value.getType()))
      return arith::ExtSIOp::create(c.builder, c.loc, sums.element, value).getResult();
    if (op.getPrecision() == tile::Precision::TF32 && value.getType().isF32()) {
      Value bits = c.builder.createOrFold<arith::BitcastOp>(c.loc, c.builder.getI32Type(), value);
      bits = arith::AndIOp::create(c.builder, c.loc, bits, c.i32(int32_t(0xffffe000)));
      return c.builder.createOrFold<arith::BitcastOp>(c.loc, value.getType(), bits);
    }
    return converted(c, value, sums.element);
  };
  for (int64_t reg = 0; reg < layout.registers(); ++reg) {
    auto offset = layout.offsetOf(reg);
    Value &left = rows[offset[0]], &right = cols[offset[1]];
    if (!left)
      left = element(op.getA(), clamped(c.add(base[0], offset[0]), a.getDimSize(0)), k);
    if (!right)
      right = element(op.getB(), k, clamped(c.add(base[1], offset[1]), b.getDimSize(1)));
    Value old = readRegister(c, sums, reg), result;
    if (isa<FloatType>(sums.element))
      result = math::FmaOp::create(c.builder, c.loc, left, right, old);
    else
      result = arith::AddIOp::create(c.builder, c.loc,
                                     arith::MulIOp::create(c.builder, c.loc, left, right), old);
    writeRegister(c, sums, reg, result);
  }
}

static LogicalResult lowerGemm(LoweringContext &c, tile::GemmOp op, const ExecutionScope &by) {
  if (failed(c.checkReach(op)))
    return failure();
  if (op.isScaled())
    return tile::emitCoded(op, ScaledProduct)
           << "a product with scales in a kernel that says itself what threads do; multiply with "
              "b.tcgen05.mma";
  if (op.getAsyncAttr())
    return c.refuse(op, "with {.async} is not available in explicit kernels");
  auto shape = mmaShapeOf(op);
  RegisterTile *left = registersOf(c, op.getA());
  auto leftLayout = left && shape ? mmaLeftLayoutOf(op, by.scope.warps) : std::nullopt;
  if (left && !(leftLayout && left->layout == *leftLayout))
    return c.refuse(op, "multiplies a left operand in registers only if each warp has whole rows");
  for (Value operand : {op.getA(), op.getB()})
    if (!(left && operand == op.getA()) && !c.shared.tiles.count(tile::rootOf(operand)))
      return c.refuse(op, "multiplies tiles in shared memory only");
  auto type = cast<MemRefType>(op.getAcc().getType());
  RegisterTile *acc = registersOf(c, op.getAcc());
  Distribution layout;
  if (shape)
    layout = mmaLayoutOf(op, by.scope.warps);
  else if (acc)
    layout = acc->layout;
  else
    layout = naturalLayout(type.getShape(), threadsOf(by.scope), 1);
  // An accumulator in shared memory passes through registers.
  RegisterTile sums = acc ? *acc : makeRegisters(c, layout, type.getElementType());
  SmallVector<Value> base = baseOf(c, layout, by);
  auto each = [&](llvm::function_ref<void(int64_t, Value)> body) {
    for (int64_t reg = 0; reg < layout.registers(); ++reg) {
      auto offset = layout.offsetOf(reg);
      c.when(holdsElement(c, layout, base, offset),
             [&] { body(reg, sharedElement(c, viewOf(c, op.getAcc()), base, offset, &layout)); });
    }
  };
  if (op.getOverwrite()) {
    Value zero = arith::ConstantOp::create(c.builder, c.loc, c.builder.getZeroAttr(sums.element));
    for (int64_t reg = 0; reg < sums.registers(); ++reg)
      writeRegister(c, sums, reg, zero);
  } else if (!acc) {
    each([&](int64_t reg, Value address) {
      writeRegister(c, sums, reg, loadShared(c, address, sums.element, 1)[0]);
    });
  }
  if (shape)
    multiplyByWarps(c, op, *shape, sums, by);
  else
    multiplyByThreads(c, op, sums, by);
  if (!acc)
    each(
        [&](int64_t reg, Value address) { storeShared(c, address, {readRegister(c, sums, reg)}); });
  return success();
}

void nvptx::addMmaSync(LoweringTable &table) { table.add<lowerGemm>(); }
