//===- ValueRanges.cpp - Ranges of integers -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/Value/ValueRanges.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;

/// Indices are as wide as i64. Their arithmetic is taken to be exact: coefficients of
/// offsets are bounded (AffineOffsets.cpp), so that it wraps only after more
/// iterations than a kernel can run.
static unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

ValueRanges::ValueRanges(Operation *op)
    : function(isa<func::FuncOp>(op) ? op : op->getParentOfType<func::FuncOp>()) {}

ValueRanges::~ValueRanges() = default;

const ConstantIntRanges *ValueRanges::rangeOf(Value value) {
  if (!solver) {
    solver = std::make_unique<DataFlowSolver>();
    dataflow::loadBaselineAnalyses(*solver);
    solver->load<dataflow::IntegerRangeAnalysis>();
    if (failed(solver->initializeAndRun(function)))
      return nullptr;
  }
  const auto *state = solver->lookupState<dataflow::IntegerValueRangeLattice>(value);
  if (!state || state->getValue().isUninitialized())
    return nullptr;
  return &state->getValue().getValue();
}

bool ValueRanges::fits(Value value, unsigned width) {
  if (widthOf(value.getType()) <= width)
    return true;
  const ConstantIntRanges *range = rangeOf(value);
  return range && range->smin().isSignedIntN(width) && range->smax().isSignedIntN(width);
}

bool ValueRanges::isExact(Operation *op) {
  Type type = op->getResult(0).getType();
  if (!type.isIntOrIndex())
    return false;
  unsigned width = widthOf(type);
  if (isa<arith::ExtSIOp>(op))
    return true;
  if (isa<arith::IndexCastOp, arith::TruncIOp>(op))
    return fits(op->getOperand(0), width);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
    const ConstantIntRanges *range = rangeOf(op->getOperand(0));
    return range && range->smin().isNonNegative() && fits(op->getOperand(0), width);
  }
  if (width >= 64)
    return true;
  const ConstantIntRanges *left = rangeOf(op->getOperand(0)), *right = rangeOf(op->getOperand(1));
  if (!left || !right)
    return false;
  // Twice the bits hold every product, and one more every sum.
  for (const APInt &x : {left->smin(), left->smax()})
    for (const APInt &y : {right->smin(), right->smax()}) {
      APInt a = x.sext(2 * width + 1), b = y.sext(2 * width + 1);
      APInt result = isa<arith::AddIOp>(op) ? a + b : isa<arith::SubIOp>(op) ? a - b : a * b;
      if (!result.isSignedIntN(width))
        return false;
    }
  return true;
}

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
