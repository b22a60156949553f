//===- DoubleMath.cpp - Functions of f64 by arithmetic --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPUs have no instructions for functions of f64. Each is reduced to an interval
// around zero, where a polynomial approximates it to less than half a ULP. The
// coefficients are those of interpolation at Chebyshev nodes, computed with 60
// digits. docs/reference/numerics.md states the bounds.
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/LLVM/DoubleMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace penstock;

namespace {

/// (sin(r) - r) / r^3 and (cos(r) - 1 + z/2) / z^2, of z = r^2, for |r| < 0.8.
constexpr double sinSeries[] = {
    -0x1.5555555555555p-3,  0x1.1111111111110p-7,  -0x1.a01a01a019741p-13, 0x1.71de3a5424ff7p-19,
    -0x1.ae6453adec513p-26, 0x1.612131259aba7p-33, -0x1.aaeb102efdcaap-41};
constexpr double cosSeries[] = {
    0x1.5555555555555p-5,  -0x1.6c16c16c16c16p-10, 0x1.a01a01a019c2bp-16, -0x1.27e4fb76f8557p-22,
    0x1.1eed8dbebc7bfp-29, -0x1.939474c0d469dp-37, 0x1.ab508876f3723p-45};
/// (tanh(x) - x) / x^3, of x^2, for |x| < 0.55.
constexpr double tanhSeries[] = {
    -0x1.5555555555555p-2,  0x1.1111111111109p-3,  -0x1.ba1ba1ba1a732p-5,  0x1.664f48822e9a5p-6,
    -0x1.226e3539b9272p-7,  0x1.d6d3c60009e9cp-9,  -0x1.7da25da5066b5p-10, 0x1.3547bfaa42508p-11,
    -0x1.f41d11ba745a0p-13, 0x1.8c93b7d5aba25p-14, -0x1.1adede7706052p-15, 0x1.08378067f032ap-17};
/// erf(x) / x, of x^2, for |x| < 1.
constexpr double erfSeries[] = {
    0x1.20dd750429b6dp+0,  -0x1.812746b0379e7p-2,  0x1.ce2f21a042bdep-4,  -0x1.b82ce312889bap-6,
    0x1.565bcd0e6502dp-8,  -0x1.c02db3feeb579p-11, 0x1.f9a326c233146p-14, -0x1.f4d2561aeafd4p-17,
    0x1.b9e6509b9867dp-20, -0x1.5f6d925a0bc7ap-23, 0x1.fc4356498c2d9p-27, -0x1.4e607b41a6416p-30,
    0x1.7f072188e194dp-34, -0x1.29b9f1b3df556p-38};
/// exp(x^2) erfc(x), of (x - 3) / (x + 3), for 1 < x < 6.
constexpr double erfcSeries[] = {
    0x1.6e9827d229d2dp-3,   -0x1.4e102b9cf8513p-2, 0x1.f6ff204105976p-3,  -0x1.336ffbef08b18p-3,
    0x1.258b13b017934p-4,   -0x1.8fa58eb5e1d42p-6, 0x1.17c838eec7b56p-8,  0x1.73101ea1b3803p-11,
    -0x1.39084c8034bb3p-11, 0x1.7ba0ce14ddbbep-15, 0x1.0cac3a11fe28fp-14, -0x1.af7cf3e087bcfp-17,
    -0x1.0bafe44deb848p-17, 0x1.1b86fc353f5b6p-19, 0x1.4e75dccc737abp-20, -0x1.20ffd2643b2abp-22,
    -0x1.b521f5e62b937p-23};

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Arithmetic on f64 and i64, for formulas that read as such.
struct Formula {
  OpBuilder &b;
  Location loc;
  using Compare = arith::CmpFPredicate;

  Value real(double value) { return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value)); }
  Value integer(int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 64); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value copySign(Value x, Value sign) { return math::CopySignOp::create(b, loc, x, sign); }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, b.getI64Type(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, b.getF64Type(), x); }
  Value where(Compare how, Value x, double y, Value a, Value c) {
    Value condition = arith::CmpFOp::create(b, loc, how, x, real(y));
    return arith::SelectOp::create(b, loc, condition, a, c);
  }
  Value addBits(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value shiftLeft(Value x, int64_t by) { return arith::ShLIOp::create(b, loc, x, integer(by)); }
  Value shiftRight(Value x, int64_t by) { return arith::ShRSIOp::create(b, loc, x, integer(by)); }
  Value polynomial(ArrayRef<double> coefficients, Value x) {
    Value sum = real(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, real(c));
    return sum;
  }

  struct Rounded {
    Value real, bits; ///< the low bits of the integer
  };
  /// The nearest integer, for |x| < 2^51. Adding 1.5 * 2^52 leaves it in the low bits.
  Rounded rounded(Value x) {
    Value shifted = add(x, real(0x1.8p52));
    return {sub(shifted, real(0x1.8p52)), bits(shifted)};
  }

  /// x * 2^k, in two steps: 2^k itself may not be a number.
  Value scaled(Value x, Value k) {
    Value low = shiftRight(shiftLeft(k, 32), 32); // beside it are bits of rounded()
    Value half = shiftRight(low, 1);
    Value rest = arith::SubIOp::create(b, loc, low, half);
    auto power = [&](Value n) { return fromBits(shiftLeft(addBits(n, integer(1023)), 52)); };
    return mul(mul(x, power(half)), power(rest));
  }

  /// exp(r) * 2^k for |r| < 0.35, by its series.
  Value expSeries(Value r, Value k) {
    double factorials[12];
    for (int n = 0; n < 12; ++n)
      factorials[n] = 1 / std::tgamma(n + 3); // of 1/2! to 1/13!
    Value tail = mul(mul(r, r), polynomial(factorials, r));
    return scaled(add(add(tail, r), real(1)), k);
  }

  /// Beyond these, results are zero and infinity.
  Value within(Value x, double limit) {
    x = where(Compare::OGT, x, limit, real(limit), x);
    return where(Compare::OLT, x, -limit, real(-limit), x);
  }

  Value exp(Value x) {
    x = within(x, 800);
    Rounded k = rounded(mul(x, real(std::numbers::log2e)));
    Value r = fma(k.real, real(-0x1.62e42fefa39efp-1), x); // ln 2 in two parts
    r = fma(k.real, real(-0x1.abc9e3b39803fp-56), r);
    return expSeries(r, k.bits);
  }

  Value exp2(Value x) {
    x = within(x, 1100);
    Rounded k = rounded(x);
    return expSeries(mul(sub(x, k.real), real(std::numbers::ln2)), k.bits);
  }

  /// log(x) and log2(x): x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and
  /// log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), s = f / (2 + f).
  Value log(Value x, bool base2) {
    Value subnormal = where(Compare::OLT, x, 0x1p-1022, mul(x, real(0x1p54)), x);
    Value all = bits(subnormal);
    Value k = shiftRight(arith::SubIOp::create(b, loc, all, integer(0x3fe6a09e667f3bcd)), 52);
    Value m = fromBits(arith::SubIOp::create(b, loc, all, shiftLeft(k, 52)));
    Value power = arith::SIToFPOp::create(b, loc, b.getF64Type(), k);
    power = where(Compare::OLT, x, 0x1p-1022, sub(power, real(54)), power);
    Value f = sub(m, real(1));
    Value s = div(f, add(f, real(2))), z = mul(s, s);
    double odd[12]; // 2 atanh(s) / s - 2
    for (int n = 0; n < 12; ++n)
      odd[n] = 2.0 / (2 * n + 3);
    Value half = mul(mul(f, real(0.5)), f);
    Value rest = mul(s, add(half, mul(z, polynomial(odd, z))));
    Value result;
    if (base2) {
      Value high = sub(f, half);
      Value low = add(sub(sub(f, high), half), rest);
      Value product = mul(high, real(std::numbers::log2e));
      Value error = fma(high, real(std::numbers::log2e), neg(product));
      error = fma(low, real(std::numbers::log2e), error);
      error = fma(add(high, low), real(0x1.777d0ffda0d24p-56), error);
      Value sum = add(power, product);
      result = add(sum, add(error, add(sub(power, sum), product)));
    } else {
      // ln 2 in two parts, of which the first has 32 bits: its products are exact.
      Value low = fma(power, real(0x1.a39ef35793c76p-33), rest);
      result = fma(power, real(0x1.62e42feep-1), neg(sub(sub(half, low), f)));
    }
    result = where(Compare::OEQ, x, infinity, x, result);
    result = where(Compare::OEQ, x, 0, real(-infinity), result);
    return where(Compare::UGE, x, 0, where(Compare::UNO, x, 0, x, result), real(std::nan("")));
  }

  Value tanh(Value x) {
    Value size = abs(x), z = mul(x, x);
    Value small = fma(mul(size, z), polynomial(tanhSeries, z), size);
    Value power = exp(add(size, size));
    Value large = sub(real(1), div(real(2), add(power, real(1))));
    return copySign(where(Compare::OLT, size, 0.55, small, large), x);
  }

  Value erf(Value x) {
    Value size = abs(x), z = mul(x, x);
    Value small = mul(size, polynomial(erfSeries, z));
    Value far = where(Compare::OGT, size, 6, real(6), size);
    Value t = div(sub(far, real(3)), add(far, real(3)));
    Value large = sub(real(1), mul(exp(neg(mul(far, far))), polynomial(erfcSeries, t)));
    return copySign(where(Compare::OLT, size, 1, small, large), x);
  }

  /// x = q pi/2 + r. The three parts of pi/2 have 159 bits, and the first product is
  /// subtracted without an error, so that r is exact to a ULP up to 2^40.
  Value sinCos(Value x, bool cosine) {
    Rounded q = rounded(mul(x, real(2 * std::numbers::inv_pi)));
    Value r = fma(q.real, real(-0x1.921fb54442d18p+0), x);
    r = fma(q.real, real(-0x1.1a62633145c07p-54), r);
    r = fma(q.real, real(0x1.f1976b7ed8fbcp-110), r);
    Value z = mul(r, r);
    Value sine = fma(mul(r, z), polynomial(sinSeries, z), r);
    Value tail = fma(mul(z, z), polynomial(cosSeries, z), mul(z, real(-0.5)));
    Value other = add(tail, real(1));
    Value quadrant = cosine ? addBits(q.bits, integer(1)) : q.bits;
    auto bit = [&](int64_t mask) -> Value {
      Value masked = arith::AndIOp::create(b, loc, quadrant, integer(mask));
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked, integer(0));
    };
    Value result = arith::SelectOp::create(b, loc, bit(1), other, sine);
    result = arith::SelectOp::create(b, loc, bit(2), neg(result), result);
    // The sign of zero would be lost.
    return cosine ? result : where(Compare::OLT, abs(x), 0x1p-27, x, result);
  }
};

/// The exact remainder: multiples of y * 2^k are subtracted, of which each step leaves at
/// most 51 bits to the quotient, so that no product is rounded.
struct Remainder : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;

  static Value exponentOf(Formula &f, Value x) {
    Value small = f.shiftRight(f.bits(f.mul(x, f.real(0x1p54))), 52);
    Value shifted = f.addBits(small, f.integer(-54));
    Value isSmall =
        arith::CmpFOp::create(f.b, f.loc, arith::CmpFPredicate::OLT, x, f.real(0x1p-1022));
    return arith::SelectOp::create(f.b, f.loc, isSmall, shifted, f.shiftRight(f.bits(x), 52));
  }

  static Value reduced(Formula &f, Value rest, Value y) {
    Value distance = arith::SubIOp::create(f.b, f.loc, exponentOf(f, rest), exponentOf(f, y));
    Value k = arith::MaxSIOp::create(f.b, f.loc, f.addBits(distance, f.integer(-50)), f.integer(0));
    Value half = f.shiftRight(k, 1); // k is up to 2047
    Value multiple = f.scaled(f.scaled(y, half), arith::SubIOp::create(f.b, f.loc, k, half));
    Value quotient = math::FloorOp::create(f.b, f.loc, f.div(rest, multiple));
    Value less = f.fma(f.neg(quotient), multiple, rest);
    // The rounded quotient may be one too large.
    return f.where(Formula::Compare::OLT, less, 0, f.add(less, multiple), less);
  }

  LogicalResult matchAndRewrite(arith::RemFOp op, PatternRewriter &b) const override {
    if (!op.getType().isF64())
      return failure();
    Location loc = op.getLoc();
    Formula f{b, loc};
    Value x = op.getLhs(), size = f.abs(x), y = f.abs(op.getRhs());
    auto compare = [&](arith::CmpFPredicate how, Value a, Value c) -> Value {
      return arith::CmpFOp::create(b, loc, how, a, c);
    };
    Value finite = compare(arith::CmpFPredicate::OLT, size, f.real(infinity));
    Value divides = compare(arith::CmpFPredicate::OGT, y, f.real(0));
    Value defined = arith::AndIOp::create(b, loc, finite, divides);
    auto loop = scf::WhileOp::create(
        b, loc, TypeRange{b.getF64Type()}, ValueRange{size},
        [&](OpBuilder &inner, Location at, ValueRange rest) {
          Value larger = arith::CmpFOp::create(inner, at, arith::CmpFPredicate::OGE, rest[0], y);
          Value goesOn = arith::AndIOp::create(inner, at, larger, defined);
          scf::ConditionOp::create(inner, at, goesOn, rest);
        },
        [&](OpBuilder &inner, Location at, ValueRange rest) {
          Formula body{inner, at};
          scf::YieldOp::create(inner, at, reduced(body, rest[0], y));
        });
    Value result = f.copySign(loop.getResult(0), x);
    // NaN is neither finite nor divides.
    b.replaceOpWithNewOp<arith::SelectOp>(op, defined, result, f.real(std::nan("")));
    return success();
  }
};

template <class Op, Value (*Formulated)(Formula &, Value)> struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF64())
      return failure();
    Formula formula{rewriter, op.getLoc()};
    rewriter.replaceOp(op, Formulated(formula, op.getOperand()));
    return success();
  }
};

} // namespace

void nvptx::populateDoubleMathPatterns(RewritePatternSet &patterns) {
  using F = Formula;
  patterns.add<Expand<math::ExpOp, [](F &f, Value x) { return f.exp(x); }>,
               Expand<math::Exp2Op, [](F &f, Value x) { return f.exp2(x); }>,
               Expand<math::LogOp, [](F &f, Value x) { return f.log(x, false); }>,
               Expand<math::Log2Op, [](F &f, Value x) { return f.log(x, true); }>,
               Expand<math::TanhOp, [](F &f, Value x) { return f.tanh(x); }>,
               Expand<math::ErfOp, [](F &f, Value x) { return f.erf(x); }>,
               Expand<math::SinOp, [](F &f, Value x) { return f.sinCos(x, false); }>,
               Expand<math::CosOp, [](F &f, Value x) { return f.sinCos(x, true); }>, Remainder>(
      patterns.getContext());
}
