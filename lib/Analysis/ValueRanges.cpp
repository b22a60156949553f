//===- ValueRanges.cpp - Whether integer arithmetic can wrap --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Analysis/ValueRanges.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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
