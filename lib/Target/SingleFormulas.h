//===- SingleFormulas.h - erf and tanh of f32 -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epilogues call these functions for every element of an accumulator, so that their
// length is that of the kernel, and a call to libm would keep a loop from being
// vectorized. They need a power of 2 and a reciprocal, which each target has in its own
// way. docs/reference/numerics.md states the bounds of both.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_SINGLEFORMULAS_H
#define PENSTOCK_TARGET_SINGLEFORMULAS_H

#include "mlir/IR/PatternMatch.h"

namespace penstock {

class SingleFormulas {
public:
  SingleFormulas(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  virtual ~SingleFormulas() = default;

  mlir::Value erf(mlir::Value x);
  mlir::Value tanh(mlir::Value x);

protected:
  virtual mlir::Value exp2(mlir::Value x) = 0;
  virtual mlir::Value reciprocal(mlir::Value x) = 0;

  mlir::Value real(float value);
  mlir::Value mul(mlir::Value x, mlir::Value y);

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value less(mlir::Value x, float y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
};

/// Replaces an operation on f32 by a formula, a member function of a target's \p Formulas.
template <class Op, class Formulas, auto formula>
struct ExpandByFormula : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return mlir::failure();
    Formulas formulas(rewriter, op.getLoc());
    rewriter.replaceOp(op, (formulas.*formula)(op.getOperand()));
    return mlir::success();
  }
};

} // namespace penstock

#endif // PENSTOCK_TARGET_SINGLEFORMULAS_H
