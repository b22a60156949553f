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
// element by element (OperandFragments.h). Threads multiply operands that no instruction supports.
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Matrices/OperandFragments.h"
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

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;
using layout::Distribution;

namespace {

/// Neighboring blocks of 8 columns of a warp that are loaded together.
struct ColumnBlocks {
  int64_t first = 0, count = 1;
};

/// The operands of one step of k: of A for each 16 rows, of B for each 8 columns.
struct Step {
  SmallVector<SmallVector<Value>> left, right;
  SmallVector<Value> leftScales, rightScales; ///< words of ScaleFragments
  int64_t scaleByte = 0;                      ///< the first byte of these words that is used
};

/// The MMAs of each warp for one `tile.gemm`.
class WarpMma {
public:
  WarpMma(LoweringContext &c, tile::GemmOp op, const MmaShape &shape, RegisterTile &sums,
          const ExecutionScope &by);
  void lower();

private:
  WarpStart startOf(size_t dim) const;
  bool holdsColumns(int64_t warpStart, int64_t block) const {
    return warpStart + block * 8 < sums.layout.shape[1];
  }
  SmallVector<ColumnBlocks> columnBlocks() const;
  Step load(int64_t k);
  SmallVector<Value> loadLeft(int64_t rowTile, int64_t k);
  SmallVector<SmallVector<Value>> loadRight(const ColumnBlocks &blocks,
                                            const OperandFragments::Address &address);
  void loadScales(Step &step, int64_t k);
  std::string textOf(const Step &step, int64_t rowTile, int64_t column) const;
  void multiply(const Step &step, int64_t column, ArrayRef<Value> right);

  LoweringContext &c;
  const MmaShape &shape;
  RegisterTile &sums;
  Value warp;
  int64_t depth, rowTiles = 0, colTiles = 0;
  WarpStart columns;
  RegisterTile *leftInRegisters;
  std::optional<OperandFragments> left; ///< in shared memory
  OperandFragments right;
  std::optional<ScaleFragments> leftScales, rightScales;
  SmallVector<Value> leftWords, rightWords; ///< loaded last from them
};

} // namespace

WarpMma::WarpMma(LoweringContext &c, tile::GemmOp op, const MmaShape &shape, RegisterTile &sums,
                 const ExecutionScope &by)
    : c(c), shape(shape), sums(sums), warp(c.shiftRight(threadInScope(c, by), 5)),
      depth(cast<MemRefType>(op.getA().getType()).getDimSize(1)), columns(startOf(1)),
      leftInRegisters(registersOf(c, op.getA())),
      right(c, op.getB(), OperandFragments::Right, columns, shape.elementBits, op.packingOfB()) {
  if (!leftInRegisters)
    left.emplace(c, op.getA(), OperandFragments::Left, startOf(0), shape.elementBits,
                 op.packingOfA());
  for (int64_t reg = 0; reg < sums.layout.registers(); reg += 4) {
    auto offset = sums.layout.offsetOf(reg);
    rowTiles = std::max(rowTiles, offset[0] / 16 + 1);
    colTiles = std::max(colTiles, offset[1] / 8 + 1);
  }
  if (shape.scales) {
    leftScales.emplace(c, op.getScaleA(), startOf(0), rowTiles * 16, sums.layout.shape[0]);
    rightScales.emplace(c, op.getScaleB(), columns, colTiles * 8, sums.layout.shape[1]);
  }
}

/// Returns the first row or column of this warp.
WarpStart WarpMma::startOf(size_t dim) const {
  WarpStart start{c.i32(0), {0}};
  int64_t weight = 1;
  for (const Distribution::Digit &digit : sums.layout.threadDigits) {
    if (weight >= nv::warpSize && digit.dim == int64_t(dim)) {
      start.at = c.add(start.at,
                       c.mul(c.digitOf(warp, weight / nv::warpSize, digit.extent), digit.stride));
      SmallVector<int64_t> all;
      for (int64_t value : start.all)
        for (int64_t i = 0; i < digit.extent; ++i)
          all.push_back(value + i * digit.stride);
      start.all = std::move(all);
    }
    weight *= digit.extent;
  }
  return start;
}

/// Returns pairs of column blocks, each loaded by one ldmatrix.x4. A block stays single if it is
/// the last of an odd number, or if some warp has no second block because it lies beyond the tile.
SmallVector<ColumnBlocks> WarpMma::columnBlocks() const {
  SmallVector<ColumnBlocks> all;
  for (int64_t n = 0; n < colTiles; n += all.back().count) {
    bool together = n + 1 < colTiles && llvm::all_of(columns.all, [&](int64_t start) {
                      return holdsColumns(start, n) == holdsColumns(start, n + 1);
                    });
    all.push_back({n, together ? 2 : 1});
  }
  return all;
}

SmallVector<SmallVector<Value>> WarpMma::loadRight(const ColumnBlocks &blocks,
                                                   const OperandFragments::Address &address) {
  SmallVector<Value> words = right.load(address, blocks.count);
  SmallVector<SmallVector<Value>> fragments;
  for (int64_t i = 0; i < blocks.count; ++i)
    fragments.push_back({words[size_t(2 * i)], words[size_t(2 * i + 1)]});
  return fragments;
}

/// Loads the left fragment. An operand in registers already has the instruction's layout: four
/// words per thread.
SmallVector<Value> WarpMma::loadLeft(int64_t rowTile, int64_t k) {
  if (left)
    return left->load(left->addressOf(rowTile * 16, k), 2);
  constexpr int64_t taken = 4, ofColumns = 16;
  int64_t first = (rowTile * (depth / ofColumns) + k / ofColumns) * taken;
  SmallVector<Value> words;
  for (int64_t i = 0; i < taken; ++i)
    words.push_back(readWord(c, *leftInRegisters, first + i));
  return words;
}

/// Sets the scales of a step: loads words of scales if the step is the first that uses them.
void WarpMma::loadScales(Step &step, int64_t k) {
  constexpr int64_t blocks = ScaleFragments::blocksOfWord;
  int64_t block = k / shape.k * shape.scales;
  step.scaleByte = block % blocks;
  if (step.scaleByte == 0) {
    leftWords = leftScales->load(block / blocks);
    rightWords = rightScales->load(block / blocks);
  }
  step.leftScales = leftWords;
  step.rightScales = rightWords;
}

/// Loads the operands of one step of a warp that has all of its columns.
Step WarpMma::load(int64_t k) {
  Step step;
  if (shape.scales)
    loadScales(step, k);
  for (int64_t m = 0; m < rowTiles; ++m)
    step.left.push_back(loadLeft(m, k));
  if (sums.layout.isFull())
    for (const ColumnBlocks &blocks : columnBlocks())
      llvm::append_range(step.right, loadRight(blocks, right.addressOf(blocks.first * 8, k)));
  return step;
}

/// Returns an instruction. The selectors of scales name a byte, and lanes of each quad: two of four
/// for 16 rows, one for 8 columns.
std::string WarpMma::textOf(const Step &step, int64_t rowTile, int64_t column) const {
  std::string text = "mma.sync.aligned." + shape.name +
                     " {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13}";
  if (shape.scales) {
    std::string byte = std::to_string(step.scaleByte);
    text += ", $14, {" + byte + ", " + std::to_string(rowTile % 2) + "}, $15, {" + byte + ", " +
            std::to_string(column % 4) + "}";
  }
  return text + ";";
}

void WarpMma::multiply(const Step &step, int64_t column, ArrayRef<Value> right) {
  for (int64_t m = 0; m < rowTiles; ++m) {
    int64_t reg = (m * colTiles + column) * 4;
    InlinePtx mma = c.inlinePtx();
    for (int64_t i = 0; i < 4; ++i)
      mma.output(sums.element);
    mma.inputs(step.left[size_t(m)]).inputs(right);
    for (int64_t i = 0; i < 4; ++i)
      mma.input(readRegister(c, sums, reg + i));
    if (shape.scales) {
      constexpr int64_t rows = ScaleFragments::rowsOfWord;
      mma.input(step.leftScales[size_t(m * 16 / rows)]);
      mma.input(step.rightScales[size_t(column * 8 / rows)]);
    }
    SmallVector<Value> results = mma.emit(textOf(step, m, column), PtxEffects::None);
    for (int64_t i = 0; i < 4; ++i)
      writeRegister(c, sums, reg + i, results[size_t(i)]);
  }
}

void WarpMma::lower() {
  // The operands of the next step are loaded before this one's are multiplied.
  Step next = load(0);
  for (int64_t k = 0; k < depth; k += shape.k) {
    Step step = std::exchange(next, k + shape.k < depth ? load(k + shape.k) : Step());
    for (auto [n, fragment] : llvm::enumerate(step.right))
      multiply(step, int64_t(n), fragment);
    if (sums.layout.isFull())
      continue;
    // Warps whose columns lie beyond the tile issue no MMA.
    for (const ColumnBlocks &blocks : columnBlocks()) {
      OperandFragments::Address address = right.addressOf(blocks.first * 8, k);
      Value inside = c.cmp(arith::CmpIPredicate::ult, c.add(columns.at, blocks.first * 8),
                           c.i32(sums.layout.shape[1]));
      c.when(inside, [&] {
        for (auto [i, fragment] : llvm::enumerate(loadRight(blocks, address)))
          multiply(step, blocks.first + int64_t(i), fragment);
      });
    }
  }
}

static void multiplyByThreads(LoweringContext &c, tile::GemmOp op, RegisterTile &sums,
                              const ExecutionScope &by) {
  auto a = cast<MemRefType>(op.getA().getType()), b = cast<MemRefType>(op.getB().getType());
  const Distribution &layout = sums.layout;
  SmallVector<Value> base = baseOf(c, layout, by);
  // Rows and columns beyond the tile are clamped to its edge; their accumulators are dropped.
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
  if (op.isScaled() && c.architecture.scales != hw::BlockScales::MmaSync)
    return tile::emitCoded(op, ScaledProduct)
           << "a product with scales in a kernel that says itself what threads do; multiply with "
              "b.tcgen05.mma";
  if (op.isScaled() && !tile::areReadByTensorCores(op.packingOfA(), op.packingOfB()))
    return c.refuse(op, "with scales multiplies operands of f8, or two of f4e2m1x2");
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
  if (op.isScaled() &&
      !(OperandFragments::isReadable(c, op.getA(), OperandFragments::Left, op.packingOfA()) &&
        OperandFragments::isReadable(c, op.getB(), OperandFragments::Right, op.packingOfB())))
    return c.refuse(op, "multiplies padded values only in rows of 16-byte pieces along k");
  for (Value scales : {op.getScaleA(), op.getScaleB()})
    if (scales && !c.shared.tiles.count(tile::rootOf(scales)))
      return c.refuse(op, "takes scales from shared memory only");
  auto type = cast<MemRefType>(op.getAcc().getType());
  RegisterTile *acc = registersOf(c, op.getAcc());
  Distribution layout;
  if (acc)
    layout = acc->layout;
  else if (shape)
    layout = mmaLayoutOf(op, by.scope.warps, /*wholeRows=*/left != nullptr);
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
    WarpMma(c, op, *shape, sums, by).lower();
  else
    multiplyByThreads(c, op, sums, by);
  if (!acc)
    each(
        [&](int64_t reg, Value address) { storeShared(c, address, {readRegister(c, sums, reg)}); });
  return success();
}

void nvptx::addMmaSync(LoweringTable &table) { table.add<lowerGemm>(); }
