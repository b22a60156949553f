//===- ExpandExponentials.cpp - exp, erf and tanh that vectorize ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/ExpandExponentials.h"
#include "Target/SingleFormulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace penstock;

namespace {

// Polynomials of 2^r for |r| <= 1/2 and of e^r for |r| <= ln(2) / 2, through the Chebyshev nodes
// of (f(r) - 1) / r. Rounded to f32, their largest relative errors are 0.08 and 0.09 ULP.
constexpr float powerOf2[] = {
    1, 0x1.62e43p-1, 0x1.ebfbep-3, 0x1.c6af6cp-5, 0x1.3b2a54p-7, 0x1.5f089p-10, 0x1.44138ap-13};
constexpr float powerOfE[] = {
    1, 1, 0.5, 0x1.55547cp-3, 0x1.5554eap-5, 0x1.123d9p-7, 0x1.6d4324p-10};

/// x = n * step + r with |r| <= step / 2; the result is 2^n times a polynomial in r.
template <typename Op> struct ExpandExponential : OpRewritePattern<Op> {
  ExpandExponential(MLIRContext *context, bool scales)
      : OpRewritePattern<Op>(context), scales(scales) {}
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
    // A sum with this number has no fractional bits, and n in its last ones. NaN gives an n
    // that has no meaning, and a polynomial that is NaN.
    constexpr int32_t shifter = 0x4b400000; // 1.5 * 2^23
    Value shifted = arith::AddFOp::create(b, loc, scaled, f32(0x1.8p23));
    Value n = arith::SubFOp::create(b, loc, shifted, f32(0x1.8p23));
    Value whole = arith::SubIOp::create(
        b, loc, arith::BitcastOp::create(b, loc, b.getI32Type(), shifted), i32(shifter));
    Value r;
    if (base2) {
      r = arith::SubFOp::create(b, loc, bounded, n);
    } else {
      Value minus = arith::NegFOp::create(b, loc, n);
      r = fma(minus, f32(0.693145751953125), bounded);   // upper bits of ln 2
      r = fma(minus, f32(1.42860682030941723212e-6), r); // the rest
    }
    ArrayRef<float> coefficients = base2 ? ArrayRef(powerOf2) : ArrayRef(powerOfE);
    Value p = f32(coefficients.back());
    for (float coefficient : llvm::reverse(coefficients.drop_back()))
      p = fma(p, r, f32(coefficient));
    if (scales) {
      auto name = b.getStringAttr("llvm.ldexp.f32.i32");
      b.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(op, b.getF32Type(), name, ValueRange{p, whole});
      return success();
    }
    // 2^n in two factors, so that subnormal results are rounded only once.
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

  bool scales;
};

/// Powers of 2 are expanded afterwards.
struct Formula : SingleFormulas {
  using SingleFormulas::SingleFormulas;
  Value exp2(Value x) override { return math::Exp2Op::create(b, loc, x); }
  Value reciprocal(Value x) override { return arith::DivFOp::create(b, loc, real(1), x); }
};

template <class Op, auto formula> using Expand = ExpandByFormula<Op, Formula, formula>;

} // namespace

void penstock::populateExponentialPatterns(RewritePatternSet &patterns, bool scales) {
  patterns.add<ExpandExponential<math::ExpOp>, ExpandExponential<math::Exp2Op>>(
      patterns.getContext(), scales);
  patterns.add<Expand<math::ErfOp, &Formula::erf>, Expand<math::TanhOp, &Formula::tanh>>(
      patterns.getContext());
}
