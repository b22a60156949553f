//===- LowerGemmToTiles.cpp - Products by AMX -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of the accumulator is 2 x 2 tiles of 16 x 16 numbers. The two panels of B that
// it needs are used by all blocks below it and stay in the first-level cache; A streams
// past them.
//
// Tile registers are named here and not allocated by LLVM: all eight are live in the inner
// loop, and no other code of a kernel uses them. A product loads its own configuration and
// releases it, so nothing depends on what a thread did before.
//
//===----------------------------------------------------------------------===//
#include "Transforms/PackedOperands.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;

namespace {

constexpr int64_t tileRows = 16, tileRowBytes = 64;
/// Of the sums of 2 x 2 tiles.
constexpr int64_t blockBytes = 4 * tileRows * tileRowBytes;

/// Part of a dimension that is divided in equal blocks of one or two tiles.
struct Blocks {
  int64_t begin, end, step; ///< in elements
  SmallVector<int64_t, 2> tiles;
};

SmallVector<Blocks, 2> blocksOf(int64_t size) {
  SmallVector<Blocks, 2> blocks;
  int64_t whole = size / (2 * tileRows) * (2 * tileRows), rest = size - whole;
  if (whole)
    blocks.push_back({0, whole, 2 * tileRows, {tileRows, tileRows}});
  if (rest > tileRows)
    blocks.push_back({whole, size, 2 * tileRows, {tileRows, rest - tileRows}});
  else if (rest)
    blocks.push_back({whole, size, 2 * tileRows, {rest}});
  return blocks;
}

/// Operations around a product that can be done in its registers.
struct Surroundings {
  scf::ForOp loop;    ///< the loop whose body has the product; null: none
  tile::FillOp fill;  ///< clears the accumulator before the loop
  tile::CopyOp store; ///< stores the accumulator afterwards, its only other use
};

bool isZero(Value value) {
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

/// Moves a value, with what it is computed from, before an operation of its block. False if
/// it depends on memory.
bool hoist(Value value, Operation *before) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != before->getBlock() || op->isBeforeInBlock(before))
    return true;
  if (op->getNumRegions() || !isMemoryEffectFree(op) ||
      !llvm::all_of(op->getOperands(), [&](Value operand) { return hoist(operand, before); }))
    return false;
  op->moveBefore(before);
  return true;
}

/// Whether a copy is the only operation that accesses its tensor, apart from its sizes.
bool isOnlyAccess(tile::CopyOp copy) {
  return isa<BlockArgument>(copy.getTarget()) &&
         llvm::all_of(copy.getTarget().getUsers(),
                      [&](Operation *user) { return user == copy || isa<memref::DimOp>(user); });
}

Surroundings surroundingsOf(tile::GemmOp gemm) {
  Surroundings found;
  Value acc = gemm.getAcc();
  if (!acc.getDefiningOp<tile::AllocOp>())
    return {};
  found.loop = dyn_cast<scf::ForOp>(gemm->getParentOp());
  Operation *whole = found.loop ? found.loop.getOperation() : gemm.getOperation();
  unsigned behind = 0;
  tile::CopyOp store;
  for (Operation *user : acc.getUsers()) {
    if (user == gemm)
      continue;
    Operation *outside = whole->getBlock()->findAncestorOpInBlock(*user);
    if (!outside || outside == whole)
      return {};
    if (whole->isBeforeInBlock(outside)) {
      ++behind;
      if (auto copy = dyn_cast<tile::CopyOp>(user); copy && copy == outside)
        store = copy;
      continue;
    }
    auto fill = dyn_cast<tile::FillOp>(user);
    if (!fill || found.fill || fill != outside || !isZero(fill.getValue()))
      return {};
    found.fill = fill;
  }
  // Or a loop around all of this may add to what was stored.
  bool startsAnew = found.fill || gemm.getOverwrite() || isa<func::FuncOp>(whole->getParentOp());
  if (!found.loop || gemm.getOverwrite())
    found.fill = {};
  if (startsAnew && behind == 1 && store && store.writesTensor() && !store.readsTensor() &&
      !store.getAsyncAttr() && isPlain(store) && isOnlyAccess(store) &&
      llvm::all_of(store.getTargetOffsets(), [&](Value offset) { return hoist(offset, whole); }))
    found.store = store;
  return found;
}

class TileLowering : PackedOperands {
public:
  explicit TileLowering(tile::GemmOp gemm)
      : PackedOperands(gemm, /*depth=*/tileRows, /*tiles=*/true, /*flipSigns=*/false) {}

  GemmReport run(const Surroundings &around) {
    SmallVector<Blocks, 2> ofRows = blocksOf(m), ofColumns = blocksOf(n);
    report.instruction = multiply().substr(StringRef("llvm.x86.").size());
    report.leftLoads = int64_t(ofRows.front().tiles.size());
    report.rightLoads = int64_t(ofColumns.front().tiles.size());
    report.rows = std::min(m, report.leftLoads * tileRows);
    report.columns = std::min(n, report.rightLoads * panelColumns);
    report.products = report.leftLoads * report.rightLoads;
    report.stripBytes = report.rightLoads * groups * panelRowBytes;
    report.startsAsZero = around.fill || gemm.getOverwrite();
    report.endsInTensor = bool(around.store);
    if (around.loop)
      isLast = lastIteration(around.loop);
    target = acc;
    if (around.store)
      endInTensor(around);
    if (around.fill) {
      startWithZero(around);
      keepPacked();
    }
    Value configuration = allocate({64}, b.getI8Type());
    for (const Blocks &columns : ofColumns)
      for (const Blocks &rows : ofRows) {
        configure(configuration, rows.tiles, columns.tiles);
        // B's panels change slowest.
        loop(columns.begin, columns.end, columns.step, [&](Value j) {
          loop(rows.begin, rows.end, rows.step,
               [&](Value i) { block(i, j, rows.tiles.size(), columns.tiles.size()); });
        });
      }
    intrinsic("llvm.x86.tilerelease", {});
    return report;
  }

private:
  // The numbers of tile registers.
  static int64_t sum(size_t row, size_t column) { return int64_t(2 * row + column); }
  static int64_t ofA(size_t row) { return int64_t(4 + row); }
  static int64_t ofB(size_t column) { return int64_t(6 + column); }

  /// The first iteration clears registers, and memory is only filled if there is none.
  void startWithZero(const Surroundings &around) {
    scf::ForOp loop = around.loop;
    isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, loop.getInductionVar(),
                                    loop.getLowerBound());
    OpBuilder outside(loop);
    Value none = arith::CmpIOp::create(outside, loc, arith::CmpIPredicate::sge,
                                       loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(outside, loc, none, /*withElseRegion=*/false);
    tile::FillOp fill = around.fill;
    fill->moveBefore(branch.thenBlock()->getTerminator());
  }

  Value lastIteration(scf::ForOp loop) {
    // Unsigned: the distance of two signed numbers may need one bit more.
    Value left = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getInductionVar());
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, left, loop.getStep());
  }

  /// Between iterations sums are in memory of their own, the tiles of a block one after the other:
  /// rows of the accumulator are often a power of two apart, so that the tiles of a block would
  /// displace each other in the first-level cache.
  void keepPacked() {
    int64_t blocksOfRows = llvm::divideCeil(m, 2 * tileRows);
    int64_t blocksOfColumns = llvm::divideCeil(n, 2 * panelColumns);
    packedColumn = blocksOfRows * blockBytes;
    packed = pointerTo(allocate({blocksOfColumns, packedColumn}, b.getI8Type()));
    report.packedSums = true;
  }

  /// The last iteration stores sums in the tensor if all of them are inside; otherwise, and
  /// without an iteration, they are copied.
  void endInTensor(const Surroundings &around) {
    tile::CopyOp store = around.store;
    scf::ForOp loop = around.loop;
    OpBuilder::InsertionGuard guard(b);
    if (loop)
      b.setInsertionPoint(loop);
    Value inside = isInside(store);
    Operand box = boxOf(store);
    Value done = inside;
    if (loop) {
      Value runs = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                         loop.getUpperBound());
      done = arith::AndIOp::create(b, loc, inside, runs);
      b.setInsertionPoint(gemm);
      inside = arith::AndIOp::create(b, loc, inside, isLast);
    }
    Operand memory = operandOf(gemm.getAcc());
    auto select = [&](Value x, Value y) -> Value {
      return arith::SelectOp::create(b, loc, inside, x, y);
    };
    target = {toPointer(select(box.address, memory.address)),
              product(select(box.strides[0], memory.strides[0]), index(4))};
    b.setInsertionPoint(store);
    Value copied = arith::XOrIOp::create(b, loc, done, arith::ConstantIntOp::create(b, loc, 1, 1));
    auto branch = scf::IfOp::create(b, loc, copied, /*withElseRegion=*/false);
    store->moveBefore(branch.thenBlock()->getTerminator());
  }

  /// Loads sums that are in memory, or clears them.
  void start(ArrayRef<SmallVector<Value, 2>> c, Value accRow) {
    auto forEach = [&](auto &&body) {
      for (size_t r = 0; r < c.size(); ++r)
        for (size_t column = 0; column < c[r].size(); ++column)
          body(r, column);
    };
    auto zero = [&] {
      forEach(
          [&](size_t r, size_t column) { intrinsic("llvm.x86.tilezero", {tile(sum(r, column))}); });
    };
    auto load = [&] {
      forEach([&](size_t r, size_t column) {
        intrinsic("llvm.x86.tileloadd64", {tile(sum(r, column)), c[r][column], accRow});
      });
    };
    if (!isFirst)
      return gemm.getOverwrite() ? zero() : load();
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    zero();
    b.setInsertionPointToStart(branch.elseBlock());
    load();
  }

  Value divide(Value x, int64_t y) { return arith::DivUIOp::create(b, loc, x, index(y)); }
  Value tile(int64_t number) { return arith::ConstantIntOp::create(b, loc, number, 8); }

  void configure(Value memory, ArrayRef<int64_t> heights, ArrayRef<int64_t> widths) {
    SmallVector<int8_t, 64> bytes(64, 0);
    bytes[0] = 1; // palette
    auto shape = [&](int64_t tile, int64_t rows, int64_t rowBytes) {
      bytes[16 + 2 * tile] = int8_t(rowBytes);
      bytes[48 + tile] = int8_t(rows);
    };
    for (auto [r, height] : llvm::enumerate(heights)) {
      shape(ofA(r), height, tileRowBytes);
      for (auto [c, width] : llvm::enumerate(widths))
        shape(sum(r, c), height, 4 * width);
    }
    for (auto [c, width] : llvm::enumerate(widths))
      shape(ofB(c), tileRows, 4 * width);
    auto type = VectorType::get(64, b.getI8Type());
    Value constant =
        arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)));
    vector::StoreOp::create(b, loc, constant, memory, ValueRange{index(0)});
    intrinsic("llvm.x86.ldtilecfg", {pointerTo(memory)});
  }

  void block(Value i, Value j, size_t rows, size_t columns) {
    Value accRow = toI64(packed ? index(tileRowBytes) : acc.stride), leftRow = toI64(left.stride);
    Value targetRow = toI64(target.stride), panelRow = toI64(index(panelRowBytes));
    Value inPacked;
    if (packed) {
      targetRow = arith::SelectOp::create(b, loc, isLast, targetRow, accRow);
      Value column = product(divide(j, 2 * panelColumns), index(packedColumn));
      Value row = product(divide(i, 2 * tileRows), index(blockBytes));
      inPacked = bytes(bytes(packed, column), row);
    }
    SmallVector<Value, 2> a, panel;
    SmallVector<SmallVector<Value, 2>, 2> c(rows), to(rows);
    for (size_t r = 0; r < rows; ++r) {
      Value row = add(i, int64_t(r) * tileRows);
      a.push_back(bytes(left.pointer, product(divide(row, tileRows), leftBlock)));
      for (size_t column = 0; column < columns; ++column) {
        Value at = product(add(j, int64_t(column) * panelColumns), index(4));
        Value end = bytes(bytes(target.pointer, product(row, target.stride)), at);
        if (packed) {
          Value kept = bytes(inPacked, index(sum(r, column) * tileRows * tileRowBytes));
          c[r].push_back(kept);
          end = arith::SelectOp::create(b, loc, isLast, end, kept);
        } else {
          c[r].push_back(bytes(bytes(acc.pointer, product(row, acc.stride)), at));
        }
        to[r].push_back(end);
      }
    }
    Value first = divide(j, panelColumns);
    for (size_t column = 0; column < columns; ++column)
      panel.push_back(bytes(right.pointer, product(add(first, int64_t(column)), right.stride)));

    start(c, accRow);
    loop(0, groups / tileRows, 1, [&](Value step) {
      Value inRow = product(step, index(leftStep));
      Value inPanel = product(step, index(tileRows * panelRowBytes));
      auto loadB = [&](size_t column) {
        intrinsic("llvm.x86.tileloadd64",
                  {tile(ofB(column)), bytes(panel[column], inPanel), panelRow});
      };
      for (size_t r = 0; r < rows; ++r) {
        if (r == 0)
          loadB(0);
        // With a hint that A is not needed again soon, so that it does not displace B.
        intrinsic("llvm.x86.tileloaddt164", {tile(ofA(r)), bytes(a[r], inRow), leftRow});
        for (size_t column = 0; column < columns; ++column) {
          if (r == 0 && column > 0)
            loadB(column);
          intrinsic(multiply(), {tile(sum(r, column)), tile(ofA(r)), tile(ofB(column))});
        }
      }
    });
    for (size_t r = 0; r < rows; ++r)
      for (size_t column = 0; column < columns; ++column)
        intrinsic("llvm.x86.tilestored64", {tile(sum(r, column)), to[r][column], targetRow});
  }

  StringRef multiply() {
    if (!isInt)
      return elementTypeOf(gemm.getA()).isF16() ? "llvm.x86.tdpfp16ps" : "llvm.x86.tdpbf16ps";
    return gemm.getUnsignedA() ? "llvm.x86.tdpbusd" : "llvm.x86.tdpbssd";
  }

  Address target;           ///< of the sums: the accumulator, or a slice of a tensor
  Value isFirst;            ///< null: all iterations are alike
  Value isLast;             ///< null: there is no loop
  Value packed;             ///< sums between iterations; null: they are in the accumulator
  int64_t packedColumn = 0; ///< bytes of a column of blocks there
};

} // namespace

GemmReport penstock::lowerGemmToTiles(tile::GemmOp gemm) {
  // While the product is the only use of its accumulator in the loop.
  Surroundings around = surroundingsOf(gemm);
  return TileLowering(gemm).run(around);
}
