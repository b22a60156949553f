//===- SingleMath.cpp - Functions of f32 by few instructions --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epilogues call these functions for every element of an accumulator, so that their
// length is that of the kernel. Upstream's polynomials divide, which is a call on
// GPUs; these use the two instructions for powers of 2 and for reciprocals. The
// coefficients minimize the largest error; docs/numerics.md states the bounds.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/SingleMath.h"
#include "Target/NVPTX/InlinePtx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace penstock;

namespace {

/// erf(x) / x - 1, of x^2, for |x| < 1.
constexpr float erfNear[] = {0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2d2p-4, -0x1.b7fbb4p-6,
                             0x1.5419f6p-8, -0x1.a485ecp-11, 0x1.4ae4dp-14};
/// -log2(1 - erf(x)) / x - 1, of x, for x > 1. It grows beyond 4, where erf is 1.
constexpr float erfFar[] = {0x1.41b8ap-1,  0x1.d506cap-1,   0x1.3ac2ap-3,  -0x1.1bc3a4p-5,
                            0x1.634358p-8, -0x1.092eacp-11, 0x1.51f2e6p-16};
/// (tanh(x) - x) / x^3, of x^2, for |x| < 0.5625.
constexpr float tanhNear[] = {-0x1.555556p-2, 0x1.111102p-3,  -0x1.ba1314p-5,
                              0x1.6561ecp-6,  -0x1.169ef6p-7, 0x1.46a68p-9};

/// Arithmetic on f32, for formulas that read as such.
struct Formula {
  OpBuilder &b;
  Location loc;

  Value real(float value) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value copySign(Value x, Value sign) { return math::CopySignOp::create(b, loc, x, sign); }
  Value less(Value x, float y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, real(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  /// The one instruction that there is; its error is two ULP.
  Value exp2(Value x) { return approximate("ex2", x); }
  /// Its error is one ULP.
  Value reciprocal(Value x) { return approximate("rcp", x); }
  Value approximate(const char *what, Value x) {
    return nvptx::InlinePtx(b, loc)
        .output(b.getF32Type())
        .input(x)
        .emit(std::string(what) + ".approx.ftz.f32 $0, $1;", nvptx::PtxEffects::None)[0];
  }

  Value exp(Value x) { return exp2(mul(x, real(1.44269504f))); }

  /// Both polynomials are one, whose coefficients depend on x: threads do not diverge.
  Value erf(Value x) {
    Value size = abs(x), near = less(size, 1);
    Value at = select(near, mul(x, x), size);
    auto coefficient = [&](size_t i) { return select(near, real(erfNear[i]), real(erfFar[i])); };
    Value sum = coefficient(std::size(erfNear) - 1);
    for (size_t i = std::size(erfNear) - 1; i-- > 0;)
      sum = fma(sum, at, coefficient(i));
    Value factor = select(near, x, neg(size));
    Value value = fma(sum, factor, factor);
    return select(near, value, copySign(sub(real(1), exp2(value)), x));
  }

  Value tanh(Value x) {
    Value size = abs(x), square = mul(x, x);
    Value sum = real(tanhNear[std::size(tanhNear) - 1]);
    for (size_t i = std::size(tanhNear) - 1; i-- > 0;)
      sum = fma(sum, square, real(tanhNear[i]));
    Value near = fma(mul(sum, square), size, size);
    // 1 - 2 / (exp(2 x) + 1)
    Value power = add(exp2(mul(size, real(2.88539008f))), real(1));
    Value far = fma(reciprocal(power), real(-2), real(1));
    return copySign(select(less(size, 0.5625f), near, far), x);
  }
};

template <class Op, Value (Formula::*Formulated)(Value)> struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Formula formula{rewriter, op.getLoc()};
    rewriter.replaceOp(op, (formula.*Formulated)(op.getOperand()));
    return success();
  }
};

} // namespace

void nvptx::populateSingleMathPatterns(RewritePatternSet &patterns) {
  patterns.add<Expand<math::ExpOp, &Formula::exp>, Expand<math::Exp2Op, &Formula::exp2>,
               Expand<math::ErfOp, &Formula::erf>, Expand<math::TanhOp, &Formula::tanh>>(
      patterns.getContext());
}
