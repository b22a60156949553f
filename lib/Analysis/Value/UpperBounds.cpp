//===- UpperBounds.cpp - Bounds of integers from 0 upward -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Value/UpperBounds.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace penstock;

using Bound = std::optional<int64_t>;

static unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

Bound UpperBounds::mostOf(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  if (!value.getType().isIntOrIndex() || widthOf(value.getType()) > 64)
    return std::nullopt;
  Bound bound = derive(value);
  return known[value] = bound;
}

Bound UpperBounds::derive(Value value) {
  if (auto constant = getConstantIntValue(value))
    return *constant >= 0 ? Bound(*constant) : std::nullopt;
  unsigned width = widthOf(value.getType());
  int64_t most = width == 64 ? std::numeric_limits<int64_t>::max()
                             : static_cast<int64_t>(llvm::maxUIntN(width - 1));
  auto within = [&](Bound bound) { return bound && *bound <= most ? bound : std::nullopt; };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar() || loop.getUnsignedCmp() ||
        !mostOf(loop.getLowerBound()))
      return std::nullopt;
    int64_t end = mostOf(loop.getUpperBound()).value_or(most);
    return std::max<int64_t>(end - 1, 0); // if the end is not positive, the body never runs
  }
  Operation *op = value.getDefiningOp();
  if (isa<memref::DimOp>(op))
    return mostOfSize;
  if (auto index = dyn_cast<tile::ElementIndexOp>(op)) {
    auto shape = cast<MemRefType>(op->getParentOfType<tile::MapOp>().getTarget().getType());
    return shape.getDimSize(unsigned(index.getDim())) - 1;
  }
  auto operand = [&](unsigned i) { return mostOf(op->getOperand(i)); };
  if (isa<tile::BindOp, arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return within(operand(0));
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
    if (Bound same = operand(0))
      return within(same);
    unsigned from = widthOf(op->getOperand(0).getType());
    return from < width ? Bound(int64_t(llvm::maxUIntN(from))) : std::nullopt;
  }
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    Bound x = operand(1), y = operand(2);
    return x && y ? Bound(std::max(*x, *y)) : std::nullopt;
  }
  if (op->getNumOperands() != 2)
    return std::nullopt;
  Bound x = operand(0), y = operand(1);
  int64_t result;
  if (isa<arith::AddIOp>(op))
    return x && y && !llvm::AddOverflow(*x, *y, result) ? within(result) : std::nullopt;
  if (isa<arith::MulIOp>(op))
    return x && y && !llvm::MulOverflow(*x, *y, result) ? within(result) : std::nullopt;
  if (isa<arith::ShLIOp, arith::ShRUIOp>(op)) {
    if (!x || !y || *y >= int64_t(width) || !getConstantIntValue(op->getOperand(1)))
      return std::nullopt;
    if (isa<arith::ShRUIOp>(op))
      return *x >> *y;
    return *y < 63 && !llvm::MulOverflow(*x, int64_t(1) << *y, result) ? within(result)
                                                                       : std::nullopt;
  }
  if (isa<arith::MinUIOp, arith::AndIOp>(op)) // one bound is enough
    return x && y ? std::min(*x, *y) : x ? x : y;
  if (isa<arith::MaxSIOp>(op))
    return x && y ? Bound(std::max(*x, *y)) : x || y ? Bound(most) : std::nullopt;
  if (!x || !y)
    return std::nullopt;
  int64_t divisor = std::max<int64_t>(getConstantIntValue(op->getOperand(1)).value_or(1), 1);
  auto divides = dyn_cast<tile::DivModOp>(op);
  if (isa<arith::MinSIOp>(op))
    return std::min(*x, *y);
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) ||
      (divides && value == divides.getQuotient()))
    return *x / divisor;
  if (isa<arith::CeilDivSIOp>(op))
    return *x / divisor + (*x % divisor != 0);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op) || divides)
    return *y ? std::min(*x, *y - 1) : *x;
  return std::nullopt;
}
