//===- ExpandExponentials.cpp - exp, erf and tanh that vectorize ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/ExpandExponentials.h"
#include "Target/SingleFormulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace penstock;

namespace {

/// x = n * step + r with |r| <= step / 2; the result is 2^n times a polynomial
/// in r. The Taylor series up to the seventh power is exact to 2^-27 there.
template <typename Op> struct ExpandExponential : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  static constexpr bool base2 = std::is_same_v<Op, math::Exp2Op>;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    if (!op.getType().isF32())
      return failure();
    Location loc = op.getLoc();
    auto f32 = [&](double value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
    };
    auto i32 = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
    };
    auto fma = [&](Value x, Value y, Value z) -> Value {
      return math::FmaOp::create(b, loc, x, y, z);
    };
    Value x = op.getOperand();
    // Beyond these the result is infinity or zero; NaN passes through minimumf.
    Value high = f32(base2 ? 129.0 : 89.5), low = f32(base2 ? -151.0 : -105.0);
    Value bounded = arith::MinimumFOp::create(b, loc, x, high);
    bounded = arith::MaximumFOp::create(b, loc, bounded, low);
    Value scaled =
        base2 ? bounded : Value(arith::MulFOp::create(b, loc, bounded, f32(1.4426950408889634)));
    Value n = math::RoundEvenOp::create(b, loc, scaled);
    Value r;
    if (base2) {
      r = arith::SubFOp::create(b, loc, bounded, n);
    } else {
      Value minus = arith::NegFOp::create(b, loc, n);
      r = fma(minus, f32(0.693145751953125), bounded);   // upper bits of ln 2
      r = fma(minus, f32(1.42860682030941723212e-6), r); // the rest
    }
    double base = base2 ? 0.69314718055994530942 : 1.0;
    double coefficients[8] = {1};
    for (int i = 1; i < 8; ++i)
      coefficients[i] = coefficients[i - 1] * base / i;
    Value p = f32(coefficients[7]);
    for (int i = 6; i >= 0; --i)
      p = fma(p, r, f32(coefficients[i]));
    // 2^n in two factors, so that subnormal results are rounded only once.
    Value whole = arith::FPToSIOp::create(b, loc, b.getI32Type(), safeForInteger(b, loc, n));
    Value half = arith::ShRSIOp::create(b, loc, whole, i32(1));
    Value rest = arith::SubIOp::create(b, loc, whole, half);
    auto power = [&](Value exponent) -> Value {
      Value biased = arith::AddIOp::create(b, loc, exponent, i32(127));
      Value word = arith::ShLIOp::create(b, loc, biased, i32(23));
      return arith::BitcastOp::create(b, loc, b.getF32Type(), word);
    };
    p = arith::MulFOp::create(b, loc, p, power(half));
    b.replaceOpWithNewOp<arith::MulFOp>(op, p, power(rest));
    return success();
  }

  /// NaN must not reach the conversion to an integer; the polynomial carries it.
  static Value safeForInteger(PatternRewriter &b, Location loc, Value n) {
    Value ordered = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, n, n);
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    return arith::SelectOp::create(b, loc, ordered, n, zero);
  }
};

/// Powers of 2 are expanded afterwards.
struct Formula : SingleFormulas {
  using SingleFormulas::SingleFormulas;
  Value exp2(Value x) override { return math::Exp2Op::create(b, loc, x); }
  Value reciprocal(Value x) override { return arith::DivFOp::create(b, loc, real(1), x); }
};

template <class Op, auto Formulated> struct ExpandSmooth : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Formula formula(rewriter, op.getLoc());
    rewriter.replaceOp(op, (formula.*Formulated)(op.getOperand()));
    return success();
  }
};

} // namespace

void penstock::populateExponentialPatterns(RewritePatternSet &patterns) {
  patterns
      .add<ExpandExponential<math::ExpOp>, ExpandExponential<math::Exp2Op>,
           ExpandSmooth<math::ErfOp, &Formula::erf>, ExpandSmooth<math::TanhOp, &Formula::tanh>>(
          patterns.getContext());
}
