//===- GridCoordinates.cpp - From block numbers to coordinates ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Launch/GridCoordinates.h"
#include "Dialect/Tile/Target.h"
#include "Transforms/Launch/KernelAbi.h"

#include <limits>

using namespace mlir;
using namespace penstock;

template <typename Op> static Value safely(OpBuilder &b, Location loc, Value x, Value y) {
  auto op = Op::create(b, loc, x, y);
  op->setAttr(abi::safeAttr, b.getUnitAttr());
  return op;
}

Value penstock::safeQuotient(OpBuilder &b, Location loc, Value x, Value y) {
  return safely<arith::DivUIOp>(b, loc, x, y);
}

Value penstock::safeRemainder(OpBuilder &b, Location loc, Value x, Value y) {
  return safely<arith::RemUIOp>(b, loc, x, y);
}

bool penstock::isForGpu(func::FuncOp kernel) {
  const hw::Architecture *target = tile::targetOf(kernel);
  return target && target->family != hw::Architecture::Family::X86;
}

namespace {

/// Divides numbers of blocks. A GPU launches fewer than 2^31, and divides 32 bits in a few
/// instructions, but calls a function for 64.
class BlockDivision {
public:
  BlockDivision(OpBuilder &b, tile::GridOp grid)
      : b(b), loc(grid.getLoc()),
        narrow(tile::targetOf(grid->getParentOfType<func::FuncOp>()) != nullptr) {}

  struct Result {
    Value quotient, remainder;
  };
  Result operator()(Value block, Value divisor) {
    if (!narrow)
      return {safeQuotient(b, loc, block, divisor), safeRemainder(b, loc, block, divisor)};
    Value most = arith::ConstantIndexOp::create(b, loc, std::numeric_limits<int32_t>::max());
    divisor = word(arith::MinUIOp::create(b, loc, divisor, most));
    block = word(block);
    return {index(safeQuotient(b, loc, block, divisor)),
            index(safeRemainder(b, loc, block, divisor))};
  }

private:
  Value word(Value value) { return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), value); }
  Value index(Value value) { return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), value); }

  OpBuilder &b;
  Location loc;
  bool narrow;
};

} // namespace

/// The row and column of a block in a swizzled grid on a GPU: both divisors are launch constants,
/// or compile-time constants, and `tile.divmod` multiplies by their reciprocals.
static SmallVector<Value> swizzledCoordinates(OpBuilder &b, Location loc, ValueRange extents,
                                              int64_t swizzle, Value block) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  // Blocks that run have positive divisors.
  auto divide = [&](Value number, Value divisor) {
    divisor = arith::MaxSIOp::create(b, loc, divisor, constant(1));
    return tile::DivModOp::create(b, loc, b.getIndexType(), b.getIndexType(), number, divisor);
  };
  Value width = constant(swizzle);
  auto groups = divide(block, arith::MulIOp::create(b, loc, extents[0], width));
  Value group = groups.getQuotient(), inGroup = groups.getRemainder();
  if (swizzle == 1)
    return {inGroup, group};
  Value firstColumn = arith::MulIOp::create(b, loc, group, width);
  Value left = arith::SubIOp::create(b, loc, extents[1], firstColumn);
  // The last group may be narrower.
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, left, width);
  auto whole = tile::DivModOp::create(b, loc, b.getIndexType(), b.getIndexType(), inGroup, width);
  auto last = divide(inGroup, arith::RemSIOp::create(b, loc, extents[1], width));
  auto choose = [&](Value inLast, Value inWhole) -> Value {
    return arith::SelectOp::create(b, loc, isLast, inLast, inWhole);
  };
  Value column = choose(last.getRemainder(), whole.getRemainder());
  return {choose(last.getQuotient(), whole.getQuotient()),
          arith::AddIOp::create(b, loc, firstColumn, column)};
}

/// The same in a grid without clusters.
static SmallVector<Value> coordinatesOf(OpBuilder &b, Location loc, ValueRange extents,
                                        std::optional<int64_t> swizzle, Value block,
                                        BlockDivision divided) {
  SmallVector<Value> coordinates;
  if (!swizzle) {
    for (Value extent : extents.drop_back()) {
      auto [quotient, remainder] = divided(block, extent);
      coordinates.push_back(remainder);
      block = quotient;
    }
    coordinates.push_back(block);
    return coordinates;
  }
  Value rows = extents[0], columns = extents[1];
  Value width = arith::ConstantIndexOp::create(b, loc, *swizzle);
  Value perGroup = arith::MulIOp::create(b, loc, rows, width);
  auto [group, inGroup] = divided(block, perGroup);
  Value firstColumn = arith::MulIOp::create(b, loc, group, width);
  Value left = arith::SubIOp::create(b, loc, columns, firstColumn);
  Value thisWidth = arith::MinSIOp::create(b, loc, width, left);
  auto [row, column] = divided(inGroup, thisWidth);
  coordinates.push_back(row);
  coordinates.push_back(arith::AddIOp::create(b, loc, firstColumn, column));
  return coordinates;
}

SmallVector<Value> penstock::extentsInClusters(OpBuilder &b, tile::GridOp grid) {
  Location loc = grid.getLoc();
  SmallVector<Value> extents;
  for (auto [dim, extent] : llvm::enumerate(grid.getExtents())) {
    int64_t along = grid.clusterAlong(unsigned(dim));
    if (along == 1) {
      extents.push_back(extent);
      continue;
    }
    Value up = arith::ConstantIndexOp::create(b, loc, along - 1);
    extents.push_back(safeQuotient(b, loc, arith::AddIOp::create(b, loc, extent, up),
                                   arith::ConstantIndexOp::create(b, loc, along)));
  }
  return extents;
}

SmallVector<Value> penstock::coordinatesOfBlock(OpBuilder &b, tile::GridOp grid, ValueRange extents,
                                                Value block) {
  Location loc = grid.getLoc();
  auto along = [&](unsigned dim) -> Value {
    return arith::ConstantIndexOp::create(b, loc, grid.clusterAlong(dim));
  };
  SmallVector<Value> inCluster;
  for (unsigned dim = 0; grid.getCluster() && dim < grid.getNumResults(); ++dim) {
    inCluster.push_back(safeRemainder(b, loc, block, along(dim)));
    block = safeQuotient(b, loc, block, along(dim));
  }
  auto swizzle = grid.getSwizzle();
  SmallVector<Value> coordinates =
      swizzle && isForGpu(grid->getParentOfType<func::FuncOp>())
          ? swizzledCoordinates(b, loc, extents, int64_t(*swizzle), block)
          : coordinatesOf(b, loc, extents, swizzle, block, BlockDivision(b, grid));
  for (auto [dim, own] : llvm::enumerate(inCluster)) {
    Value first = arith::MulIOp::create(b, loc, coordinates[dim], along(unsigned(dim)));
    coordinates[dim] = arith::AddIOp::create(b, loc, first, own);
  }
  return coordinates;
}
