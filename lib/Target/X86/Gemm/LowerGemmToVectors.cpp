//===- LowerGemmToVectors.cpp - Products of tiles as register-blocked loops ===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers hold an accumulator block of a few rows and up to four vectors. If the columns of B
// that it needs stay in the L1 cache, all rows of A use them one after the other. If they do not,
// they stream from the L2 cache in any case: then as many columns as stay there use the same rows
// of A, which are read in their tensor, and a longer K saves most accumulator loads and stores.
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Gemm/VectorOperands.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace penstock;

namespace {

class VectorLowering : VectorOperands {
public:
  VectorLowering(tile::GemmOp gemm, int64_t vectorBits, const GemmCaches &caches)
      : VectorOperands(gemm, vectorBits, caches), caches(caches) {}

  GemmReport run() {
    Surroundings around = surroundingsOf(gemm);
    Iterations iterations = iterationsOf(gemm, around, caches);
    isFirst = iterations.isFirst;
    chooseLeft();
    chooseRight();
    report.instruction = compute.isF64()           ? "vfmadd231pd"
                         : isa<FloatType>(compute) ? "vfmadd231ps"
                                                   : "vpmulld";
    report.rows = rows;
    report.columns = std::min(n, step);
    report.leftLoads = rows;
    report.rightLoads = wide;
    report.products = rows * wide;
    report.leftBytes = m * k * elementBytes;
    report.rightBytes = n * k * elementBytes;
    report.stripBytes = report.columns * k * elementBytes;
    report.byRows = byRows;
    report.chunkColumns = byRows ? std::min(n, std::max(chunk, step)) : 0;
    report.startsAsZero = around.fill || gemm.getOverwrite();
    report.endsInTensor = bool(around.store);
    if (around.store)
      target = endInTensor(around, iterations.isLast).address;
    if (around.fill)
      startWithZero(around);
    multiply();
    return report;
  }

private:
  /// Columns of the same width.
  struct Columns {
    int64_t begin, end, step;
    SmallVector<int64_t, 4> widths; ///< of the vectors of a block
    bool inStrips;                  ///< B is read in strips, where it is packed in them
  };

  void multiply() {
    SmallVector<Columns, 3> parts;
    auto part = [&](int64_t begin, int64_t end, int64_t by, SmallVector<int64_t, 4> widths) {
      if (begin < end)
        parts.push_back({begin, end, by, std::move(widths), strips && begin == 0});
    };
    int64_t vectorEnd = n / lanes * lanes;
    part(0, wideEnd, step, SmallVector<int64_t, 4>(size_t(wide), lanes));
    part(wideEnd, vectorEnd, lanes, {lanes});
    part(vectorEnd, n, n - vectorEnd, {n - vectorEnd});
    auto forEachRow = [&](auto body) {
      int64_t rowsEnd = m / rows * rows;
      loop(0, rowsEnd, rows, [&](Value i) { body(i, rows); });
      if (rowsEnd < m)
        body(index(rowsEnd), m - rowsEnd);
    };
    if (byRows && chunk < wideEnd) {
      loop(0, wideEnd, chunk, [&](Value first) {
        Value end = arith::MinSIOp::create(b, loc, add(first, chunk), index(wideEnd));
        forEachRow([&](Value i, int64_t height) {
          auto op = scf::ForOp::create(b, loc, first, end, index(step));
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(op.getBody());
          block(i, op.getInductionVar(), height, parts.front());
        });
      });
      parts.erase(parts.begin());
    }
    if (byRows)
      return forEachRow([&](Value i, int64_t height) {
        for (const Columns &columns : parts)
          loop(columns.begin, columns.end, columns.step,
               [&](Value j) { block(i, j, height, columns); });
      });
    for (const Columns &columns : parts)
      loop(columns.begin, columns.end, columns.step, [&](Value j) {
        forEachRow([&](Value i, int64_t height) { block(i, j, height, columns); });
      });
  }

  /// Sums before the product.
  SmallVector<Value> start(ArrayRef<Value> rowIndices, ArrayRef<Value> columnIndices,
                           ArrayRef<int64_t> widths) {
    SmallVector<Type> types;
    for (size_t r = 0; r < rowIndices.size(); ++r)
      for (int64_t width : widths)
        types.push_back(vectorOf(width, compute));
    auto zero = [&] {
      return llvm::map_to_vector(types, [&](Type type) -> Value {
        return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
      });
    };
    auto load = [&] {
      SmallVector<Value> sums;
      for (Value row : rowIndices)
        for (auto [column, width] : llvm::zip(columnIndices, widths))
          sums.push_back(vector::LoadOp::create(b, loc, vectorOf(width, compute), gemm.getAcc(),
                                                ValueRange{row, column}));
      return sums;
    };
    if (!isFirst)
      return gemm.getOverwrite() ? SmallVector<Value>(zero()) : load();
    auto branch = scf::IfOp::create(b, loc, types, isFirst, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, zero());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, load());
    return branch.getResults();
  }

  /// Adds the products of column \p kk of A with row \p kk of B, which is in \p bRows.
  SmallVector<Value> addProducts(ArrayRef<Value> sums, Value kk, ArrayRef<Value> rowIndices,
                                 ArrayRef<Value> leftAt, ArrayRef<Value> bRows,
                                 ArrayRef<int64_t> widths) {
    SmallVector<Value> next;
    for (auto [r, row] : llvm::enumerate(rowIndices)) {
      Value element = leftAt.empty()
                          ? Value(memref::LoadOp::create(b, loc, left, ValueRange{row, kk}))
                          : Value(LLVM::LoadOp::create(
                                b, loc, compute, bytes(leftAt[r], product(kk, index(elementBytes))),
                                /*alignment=*/unsigned(elementBytes)));
      for (auto [bRow, width] : llvm::zip(bRows, widths)) {
        Value spread = vector::BroadcastOp::create(b, loc, vectorOf(width, compute), element);
        Value sum = sums[next.size()];
        if (isa<FloatType>(compute))
          next.push_back(vector::FMAOp::create(b, loc, spread, bRow, sum));
        else
          next.push_back(
              arith::AddIOp::create(b, loc, sum, arith::MulIOp::create(b, loc, spread, bRow)));
      }
    }
    return next;
  }

  void block(Value i, Value j, int64_t height, const Columns &columns) {
    ArrayRef<int64_t> widths = columns.widths;
    SmallVector<Value> rowIndices, columnIndices;
    for (int64_t r = 0; r < height; ++r)
      rowIndices.push_back(add(i, r));
    int64_t offset = 0;
    for (int64_t width : widths) {
      columnIndices.push_back(add(j, offset));
      offset += width;
    }
    SmallVector<Value> sums = start(rowIndices, columnIndices, widths);
    // A loop of single steps along K reached 0.93 of the speed of a loop that only multiplies, and
    // this one 0.98 (docs/results/benchmarks-record.md).
    int64_t unrolled = panels.pointer              ? groupOf(gemm.getB())
                       : height < rows || wide > 4 ? 1
                       : k % 4 == 0                ? 4
                       : k % 2 == 0                ? 2
                                                   : 1;
    auto op = scf::ForOp::create(b, loc, index(0), index(k), index(unrolled), sums);
    {
      // Addresses that do not depend on K.
      OpBuilder::InsertionGuard outside(b);
      b.setInsertionPoint(op);
      SmallVector<Value> leftAt;
      if (leftRows.pointer)
        for (Value row : rowIndices)
          leftAt.push_back(bytes(leftRows.pointer, product(row, leftRows.stride)));
      Value strip =
          columns.inStrips ? Value(arith::DivUIOp::create(b, loc, j, index(step))) : Value();
      b.setInsertionPointToStart(op.getBody());
      SmallVector<Value> current(op.getRegionIterArgs());
      SmallVector<SmallVector<Value>> groupRows;
      if (panels.pointer)
        groupRows = loadGroup(op.getInductionVar(), columnIndices, widths);
      for (int64_t u = 0; u < unrolled; ++u) {
        Value kk = add(op.getInductionVar(), u);
        SmallVector<Value> bRows;
        if (panels.pointer)
          bRows = groupRows[static_cast<size_t>(u)];
        else
          for (auto [w, width] : llvm::enumerate(widths))
            bRows.push_back(loadRight(kk, strip, int64_t(w) * lanes, columnIndices[w], width));
        current = addProducts(current, kk, rowIndices, leftAt, bRows, widths);
      }
      scf::YieldOp::create(b, loc, current);
    }
    unsigned at = 0;
    for (Value row : rowIndices)
      for (Value column : columnIndices) {
        Value sum = op.getResult(at++);
        if (!target.pointer) {
          vector::StoreOp::create(b, loc, sum, gemm.getAcc(), ValueRange{row, column});
          continue;
        }
        Value inRow = bytes(target.pointer, product(row, target.stride));
        LLVM::StoreOp::create(b, loc, sum, bytes(inRow, product(column, index(elementBytes))),
                              /*alignment=*/unsigned(elementBytes));
      }
  }

  GemmCaches caches;
  Value isFirst;  ///< see Iterations
  Address target; ///< of the sums; null: the accumulator
};

} // namespace

GemmReport penstock::lowerGemmToVectors(tile::GemmOp gemm, int64_t vectorBits,
                                        const GemmCaches &caches) {
  return VectorLowering(gemm, vectorBits, caches).run();
}
