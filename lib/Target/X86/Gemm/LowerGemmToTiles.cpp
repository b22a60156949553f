//===- LowerGemmToTiles.cpp - Products by AMX -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of the accumulator is 2 x 2 tiles of 16 x 16 numbers. The two panels of B that
// it needs are used by all blocks below it and stay in the first-level cache; A streams
// past them, and the next panels are prefetched meanwhile. Where one iteration has all of
// K, 32 rows of A stay there instead, and B, which is in the L2 cache, streams:
// sums are then stored along rows of their tensor, and A need not be packed.
//
// Rows of a tensor are often a power of two apart, so that the 64 lines of a block displace each
// other in the first-level cache while the tile unit waits. The sums of a block are therefore
// stored in memory of their own, and their lines go to the tensor while the next block is
// multiplied, a few in each step along K. Large results go there past the caches: their lines need
// not be read before.
//
// Tile registers are named here and not allocated by LLVM: all eight are live in the inner
// loop, and no other code of a kernel uses them. A product loads its own configuration and
// releases it, so nothing depends on what a thread did before.
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Gemm/PackedOperands.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;

namespace {

constexpr int64_t tileRows = 16, tileRowBytes = 64;
/// Of the sums of 2 x 2 tiles.
constexpr int64_t blockBytes = 4 * tileRows * tileRowBytes;
/// Rows of such a block, bytes of one, and of a line of the caches.
constexpr int64_t blockRows = 2 * tileRows, blockRowBytes = 2 * tileRowBytes, lineBytes = 64;
/// Results of this size displace operands from the L2 cache.
constexpr int64_t largeResult = 4 << 20;

/// Part of a dimension that is divided in equal blocks of one or two tiles.
struct Blocks {
  int64_t begin, end, step; ///< in elements
  SmallVector<int64_t, 2> tiles;
};

/// First row and column of a block of sums.
struct Corner {
  Value i, j;
};

/// A block of sums and the one that is multiplied before it.
struct Turn {
  Corner block, before;
  Value hasBefore; ///< a condition
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

class TileLowering : PackedOperands {
public:
  TileLowering(tile::GemmOp gemm, const Iterations &iterations)
      : PackedOperands(gemm, /*depth=*/tileRows, /*tiles=*/true, /*flipSigns=*/false,
                       /*readsOnce=*/iterations.isOnly),
        isFirst(iterations.isFirst), isLast(iterations.isLast), byRows(iterations.isOnly) {}

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
    target = acc;
    if (around.store)
      storeInTensor(around);
    if (around.fill) {
      startWithZero(around);
      keepPacked();
    }
    // With less to multiply meanwhile, these would be too many prefetches in a step.
    prefetchesSums = packed && groups / tileRows >= 8;
    bool isLarge = m >= 4 * 2 * tileRows;
    report.prefetches = isLarge && gemm.isPacked() && report.rightInTensor;
    Value configuration = allocate({64}, b.getI8Type());
    for (const Blocks &columns : ofColumns)
      for (const Blocks &rows : ofRows) {
        configure(configuration, rows.tiles, columns.tiles);
        bool isWhole = rows.tiles.back() == tileRows && columns.tiles.back() == panelColumns &&
                       rows.tiles.size() == 2 && columns.tiles.size() == 2;
        storesLater = isWhole && finished;
        Corner last = forEachBlock(columns, rows, [&](const Turn &turn) {
          block(turn, rows.tiles.size(), columns.tiles.size());
        });
        if (storesLater)
          storeLast(last);
      }
    intrinsic("llvm.x86.tilerelease", {});
    return report;
  }

private:
  // The numbers of tile registers.
  static int64_t sum(size_t row, size_t column) { return int64_t(2 * row + column); }
  static int64_t ofA(size_t row) { return int64_t(4 + row); }
  static int64_t ofB(size_t column) { return int64_t(6 + column); }

  /// Panels of B change slowest, or rows of A. Returns the last block.
  Corner forEachBlock(const Blocks &columns, const Blocks &rows,
                      llvm::function_ref<void(const Turn &)> body) {
    auto choose = [&](Value x, Value y) -> Value {
      return byRows ? arith::SelectOp::create(b, loc, byRows, x, y) : y;
    };
    struct Range {
      Value begin, end, step;
    };
    auto chosen = [&](const Blocks &x, const Blocks &y) -> Range {
      return {choose(index(x.begin), index(y.begin)), choose(index(x.end), index(y.end)),
              choose(index(x.step), index(y.step))};
    };
    auto enter = [&](const Range &range) {
      auto op = scf::ForOp::create(b, loc, range.begin, range.end, range.step);
      b.setInsertionPointToStart(op.getBody());
      return op.getInductionVar();
    };
    auto minus = [&](Value x, Value y) -> Value { return arith::SubIOp::create(b, loc, x, y); };
    auto equal = [&](Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
    };
    auto select = [&](Value condition, Value x, Value y) -> Value {
      return arith::SelectOp::create(b, loc, condition, x, y);
    };
    Range outer = chosen(rows, columns), inner = chosen(columns, rows);
    {
      OpBuilder::InsertionGuard guard(b);
      Value slow = enter(outer), fast = enter(inner);
      Turn turn{{choose(slow, fast), choose(fast, slow)}, {}, {}};
      if (storesLater) {
        Value isFirstFast = equal(fast, inner.begin);
        Value before = select(isFirstFast, minus(inner.end, inner.step), minus(fast, inner.step));
        Value outside = select(isFirstFast, minus(slow, outer.step), slow);
        turn.before = {choose(outside, before), choose(before, outside)};
        turn.hasBefore =
            negate(arith::AndIOp::create(b, loc, isFirstFast, equal(slow, outer.begin)));
      }
      body(turn);
    }
    return {index(rows.end - rows.step), index(columns.end - columns.step)};
  }

  //===--------------------------------------------------------------------===//
  // Results that are stored while the next block is multiplied
  //===--------------------------------------------------------------------===//

  /// Rows of a finished block that a step along K stores: a power of two, so that it divides them.
  int64_t rowsOfStep() {
    return int64_t(llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(blockRows, groups / tileRows))));
  }

  void storeInTensor(const Surroundings &around) {
    Target end = endInTensor(around, isLast);
    target = end.address;
    // With fewer steps, a step would have more stores than what it multiplies hides.
    constexpr int64_t most = 8;
    if (m < blockRows || n < 2 * panelColumns || rowsOfStep() > most)
      return;
    finished = pointerTo(allocate({blockBytes}, b.getI8Type()));
    report.storesLater = true;
    Value size = index(4);
    Value tensor = tile::CopyOp(around.store).getTarget();
    for (int64_t dim = 0; dim < cast<MemRefType>(tensor.getType()).getRank(); ++dim)
      size = product(size, memref::DimOp::create(b, loc, tensor, dim));
    Value isLarge =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, size, index(largeResult));
    // Such stores need whole lines.
    Value address = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), target.pointer);
    Value both = arith::OrIOp::create(b, loc, address, toI64(target.stride));
    Value inLine = arith::AndIOp::create(b, loc, both,
                                         arith::ConstantIntOp::create(b, loc, lineBytes - 1, 64));
    Value isAligned = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, inLine,
                                            arith::ConstantIntOp::create(b, loc, 0, 64));
    bypasses = arith::AndIOp::create(b, loc, arith::AndIOp::create(b, loc, isLarge, isAligned),
                                     end.inTensor);
  }

  /// Stores \p rows rows of the finished block, from \p row on.
  void storeRows(const Corner &block, Value row, int64_t rows) {
    auto type = VectorType::get(lineBytes / 4, b.getI32Type());
    Value from = bytes(finished, product(row, index(blockRowBytes)));
    Value corner = bytes(target.pointer, product(block.i, target.stride));
    Value to = bytes(bytes(corner, product(block.j, index(4))), product(row, target.stride));
    auto branch = scf::IfOp::create(b, loc, bypasses, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (bool bypass : {true, false}) {
      b.setInsertionPointToStart(bypass ? branch.thenBlock() : branch.elseBlock());
      Value toRow = to;
      for (int64_t r = 0; r < rows; ++r, toRow = bytes(toRow, target.stride))
        for (int64_t line = 0; line < blockRowBytes; line += lineBytes) {
          Value value = LLVM::LoadOp::create(
              b, loc, type, bytes(from, index(r * blockRowBytes + line)), /*alignment=*/4);
          LLVM::StoreOp::create(b, loc, value, bytes(toRow, index(line)),
                                /*alignment=*/bypass ? lineBytes : 4, /*isVolatile=*/false,
                                /*isNonTemporal=*/bypass);
        }
    }
  }

  /// Stores the share of a step in the rows of the finished block.
  void storeShare(const Turn &turn, Value step) {
    int64_t rows = rowsOfStep(), steps = blockRows / rows;
    Value stores = turn.hasBefore;
    if (isLast)
      stores = arith::AndIOp::create(b, loc, stores, isLast);
    if (groups / tileRows > steps)
      stores = arith::AndIOp::create(
          b, loc, stores,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, step, index(steps)));
    auto branch = scf::IfOp::create(b, loc, stores, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    storeRows(turn.before, product(step, index(rows)), rows);
  }

  /// Stores the last block, after which nothing is multiplied.
  void storeLast(const Corner &last) {
    OpBuilder::InsertionGuard guard(b);
    if (isLast)
      b.setInsertionPointToStart(
          scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/false).thenBlock());
    int64_t rows = rowsOfStep();
    loop(0, blockRows, rows, [&](Value row) { storeRows(last, row, rows); });
    // Stores past the caches are not ordered with those that tell other threads of this result.
    auto branch = scf::IfOp::create(b, loc, bypasses, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    intrinsic("llvm.x86.sse.sfence", {});
  }

  Value negate(Value condition) {
    return arith::XOrIOp::create(b, loc, condition, arith::ConstantIntOp::create(b, loc, 1, 1));
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

  /// Returns the panels that are multiplied after those of column \p j: the next ones, or those of
  /// the next iteration of a loop along K, which follow the first ones in the tensor.
  Value panelsAfter(Value j) {
    Value next = add(j, 2 * panelColumns);
    Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, next, index(n));
    Value panel = product(divide(next, panelColumns), right.stride);
    Value offset = arith::SelectOp::create(b, loc, more, panel, index(groups * panelRowBytes));
    return bytes(right.pointer, offset);
  }

  /// Prefetches the next panels of B: while a block of sums is multiplied, its share of them, a few
  /// lines in each step along K.
  void prefetchPanels(Value i, Value j, Value step, size_t columns) {
    int64_t blocksOfRows = llvm::divideCeil(m, 2 * tileRows), steps = groups / tileRows;
    int64_t lines = llvm::divideCeil(tileRows, blocksOfRows);
    Value row = divide(i, 2 * tileRows);
    Value inBlock = arith::AddIOp::create(b, loc, product(row, index(steps)), step);
    Value first = bytes(panelsAfter(j), product(inBlock, index(lines * panelRowBytes)));
    for (size_t column = 0; column < columns; ++column) {
      for (int64_t line = 0; line < lines; ++line)
        prefetchIntoL2(bytes(first, index(line * panelRowBytes)));
      first = bytes(first, right.stride);
    }
  }

  /// Prefetches the next block of sums, also where it is only stored.
  void prefetchSums(Value inPacked, Value step) {
    int64_t share = llvm::divideCeil(blockBytes / lineBytes, groups / tileRows) * lineBytes;
    Value next = bytes(inPacked, add(product(step, index(share)), blockBytes));
    for (int64_t line = 0; line < share; line += lineBytes)
      prefetchIntoL1(bytes(next, index(line)));
  }

  void block(const Turn &turn, size_t rows, size_t columns) {
    auto [i, j] = turn.block;
    Value accRow = toI64(packed ? index(tileRowBytes) : acc.stride), leftRow = toI64(left.stride);
    Value targetRow = toI64(storesLater ? index(blockRowBytes) : target.stride);
    Value panelRow = toI64(index(panelRowBytes)), inPacked;
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
        Value end = storesLater ? bytes(finished, index(int64_t(r) * tileRows * blockRowBytes +
                                                        int64_t(column) * tileRowBytes))
                                : bytes(bytes(target.pointer, product(row, target.stride)), at);
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
    // With a hint that the operand which streams is not needed again soon, so that it does not
    // displace the other one.
    const StringRef load = "llvm.x86.tileloadd64", stream = "llvm.x86.tileloaddt164";
    auto multiplyAll = [&](bool streamsRight) {
      loop(0, groups / tileRows, 1, [&](Value step) {
        Value inRow = product(step, leftStep);
        Value inPanel = product(step, index(tileRows * panelRowBytes));
        auto loadB = [&](size_t column) {
          intrinsic(streamsRight ? stream : load,
                    {tile(ofB(column)), bytes(panel[column], inPanel), panelRow});
        };
        for (size_t r = 0; r < rows; ++r) {
          if (r == 0)
            loadB(0);
          intrinsic(streamsRight ? load : stream, {tile(ofA(r)), bytes(a[r], inRow), leftRow});
          for (size_t column = 0; column < columns; ++column) {
            if (r == 0 && column > 0)
              loadB(column);
            intrinsic(multiply(), {tile(sum(r, column)), tile(ofA(r)), tile(ofB(column))});
            if (r == 0 && column == 0 && !streamsRight) {
              if (report.prefetches)
                prefetchPanels(i, j, step, columns);
              if (prefetchesSums)
                prefetchSums(inPacked, step);
            }
            if (r == 0 && column + 1 == columns && storesLater)
              storeShare(turn, step);
          }
        }
      });
    };
    if (byRows) {
      auto branch = scf::IfOp::create(b, loc, byRows, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      multiplyAll(/*streamsRight=*/true);
      b.setInsertionPointToStart(branch.elseBlock());
      multiplyAll(/*streamsRight=*/false);
    } else {
      multiplyAll(/*streamsRight=*/false);
    }
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
  Value isFirst, isLast;    ///< see Iterations
  Value byRows;             ///< rows of A change slowest, not panels of B; null: never
  Value packed;             ///< sums between iterations; null: they are in the accumulator
  int64_t packedColumn = 0; ///< bytes of a column of blocks there
  bool prefetchesSums = false;
  Value finished; ///< the sums of a block before they are in the target; null: they never are
  Value bypasses; ///< they go past the caches
  bool storesLater = false; ///< the blocks that are being built do so
};

} // namespace

GemmReport penstock::lowerGemmToTiles(tile::GemmOp gemm, const GemmCaches &caches) {
  // While the product is the only use of its accumulator in the loop.
  Surroundings around = surroundingsOf(gemm);
  return TileLowering(gemm, iterationsOf(gemm, around, caches)).run(around);
}
