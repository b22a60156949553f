//===- NonNegative.cpp - Values that cannot be negative -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/NonNegative.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;

static bool isNonNegative(Value value, unsigned depth) {
  if (auto constant = getConstantIntValue(value))
    return *constant >= 0;
  if (depth > 32)
    return false;
  auto operand = [&](Value of) { return isNonNegative(of, depth + 1); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // The index of a loop that begins with no negative number.
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && operand(loop.getLowerBound());
  }
  Operation *op = value.getDefiningOp();
  // The iteration of a statement in a later stage: no more is subtracted than the loop begins with.
  if (auto earlier = dyn_cast<arith::SubIOp>(op)) {
    auto index = dyn_cast<BlockArgument>(earlier.getLhs());
    auto loop = index ? dyn_cast<scf::ForOp>(index.getOwner()->getParentOp()) : scf::ForOp();
    auto first = loop && index == loop.getInductionVar() ? getConstantIntValue(loop.getLowerBound())
                                                         : std::nullopt;
    auto distance = getConstantIntValue(earlier.getRhs());
    return first && distance && *first >= *distance;
  }
  if (isa<tile::GridOp, nv::ClcWorkOp, memref::DimOp>(op))
    return true;
  // Narrow integers wrap around.
  bool narrow = !value.getType().isIndex() && value.getType().getIntOrFloatBitWidth() < 64;
  if (narrow && isa<arith::IndexCastOp, arith::AddIOp, arith::MulIOp>(op))
    return false;
  if (isa<tile::BindOp, tile::DivModOp, arith::IndexCastOp, arith::AddIOp, arith::MulIOp,
          arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp, arith::RemSIOp, arith::MinSIOp>(
          op))
    return llvm::all_of(op->getOperands(), operand);
  if (isa<arith::MaxSIOp>(op))
    return llvm::any_of(op->getOperands(), operand);
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    return operand(choice.getTrueValue()) && operand(choice.getFalseValue());
  return false;
}

bool penstock::isNonNegative(Value value) { return ::isNonNegative(value, 0); }
