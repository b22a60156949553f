//===- RoundedMath.cpp - Correctly rounded functions of f32 ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/LLVM/RoundedMath.h"
#include "Target/NVPTX/LLVM/RoundedFormulas.h"
#include "Target/NVPTX/Threads/InlinePtx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;

namespace {

/// Emits the instructions of RoundedFormulas.
struct Emitter {
  using Single = Value;
  using Double = Value;
  using Condition = Value;
  using Compare = arith::CmpFPredicate;

  OpBuilder &b;
  Location loc;

  Value single(float value) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value)); }
  Value wide(double value) { return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value)); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value fmaUp(Value x, Value y, Value z) { return ptx("fma.rp.f32 $0, $1, $2, $3;", {x, y, z}); }
  Value approximateReciprocal(Value x) { return ptx("rcp.approx.ftz.f32 $0, $1;", x); }
  Value approximateReciprocalRoot(Value x) { return ptx("rsqrt.approx.ftz.f32 $0, $1;", x); }
  Value widen(Value x) { return arith::ExtFOp::create(b, loc, b.getF64Type(), x); }
  Value narrow(Value x) { return arith::TruncFOp::create(b, loc, b.getF32Type(), x); }
  Value notLess(Value x, Value y) { return compare(Compare::OGE, x, y); }
  Value equal(Value x, Value y) { return compare(Compare::OEQ, x, y); }
  Value differ(Value x, Value y) { return compare(Compare::ONE, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }

  template <class Rare> Value ifElse(Value common, Value result, Rare rare) {
    auto branch = scf::IfOp::create(b, loc, result.getType(), common, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, result);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, rare());
    return branch.getResult(0);
  }

private:
  Value compare(Compare how, Value x, Value y) { return arith::CmpFOp::create(b, loc, how, x, y); }
  Value ptx(StringRef text, ValueRange inputs) {
    return nvptx::InlinePtx(b, loc)
        .output(b.getF32Type())
        .inputs(SmallVector<Value>(inputs))
        .emit(text, nvptx::PtxEffects::None)[0];
  }
};

using Formulas = nvptx::RoundedFormulas<Emitter>;

/// Returns the constant that \p value is, if it and its reciprocal are normal numbers.
std::optional<float> normalConstant(Value value) {
  APFloat constant(0.0f);
  if (!matchPattern(value, m_ConstantFloat(&constant)))
    return std::nullopt;
  float b = constant.convertToFloat();
  return std::isnormal(b) && std::isnormal(1 / b) ? std::optional(b) : std::nullopt;
}

struct Division : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Value dividend = op.getLhs(), divisor = op.getRhs();
    Emitter emitter{rewriter, op.getLoc()};
    Formulas formulas(emitter);
    if (matchPattern(dividend, m_OneFloat())) {
      rewriter.replaceOp(op, formulas.reciprocal(divisor));
    } else if (std::optional<float> b = normalConstant(divisor)) {
      int exponent = 0;
      Value reciprocal = emitter.single(1 / *b);
      bool exact = std::fabs(std::frexp(*b, &exponent)) == 0.5f;
      rewriter.replaceOp(op, exact ? emitter.mul(dividend, reciprocal)
                                   : formulas.quotient(dividend, divisor, reciprocal));
    } else {
      rewriter.replaceOp(op, formulas.quotient(dividend, divisor));
    }
    return success();
  }
};

struct Root : OpRewritePattern<math::SqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SqrtOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Emitter emitter{rewriter, op.getLoc()};
    rewriter.replaceOp(op, Formulas(emitter).root(op.getOperand()));
    return success();
  }
};

/// Computes functions of f16 in f32. Rounding twice gives the same result, because f32 has more
/// than twice the bits of f16, and two.
template <class Op> struct InSingle : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF16())
      return failure();
    Type single = rewriter.getF32Type();
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
          return arith::ExtFOp::create(rewriter, op.getLoc(), single, operand);
        });
    auto wide = Op::create(rewriter, op.getLoc(), TypeRange{single}, operands);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide->getResult(0));
    return success();
  }
};

} // namespace

void nvptx::populateRoundedMathPatterns(RewritePatternSet &patterns) {
  patterns.add<Division, Root, InSingle<arith::DivFOp>, InSingle<math::SqrtOp>>(
      patterns.getContext());
}
