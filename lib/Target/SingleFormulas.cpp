//===- SingleFormulas.cpp - erf and tanh of f32 ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/SingleFormulas.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace penstock;

namespace {

// The coefficients minimize the largest error.

/// erf(x) / x - 1, of x^2, for |x| < 1.
constexpr float erfNear[] = {0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2d2p-4, -0x1.b7fbb4p-6,
                             0x1.5419f6p-8, -0x1.a485ecp-11, 0x1.4ae4dp-14};
/// -log2(1 - erf(x)) / x - 1, of x, for x > 1. It grows beyond 4, where erf is 1.
constexpr float erfFar[] = {0x1.41b8ap-1,  0x1.d506cap-1,   0x1.3ac2ap-3,  -0x1.1bc3a4p-5,
                            0x1.634358p-8, -0x1.092eacp-11, 0x1.51f2e6p-16};
/// (tanh(x) - x) / x^3, of x^2, for |x| < 0.5625.
constexpr float tanhNear[] = {-0x1.555556p-2, 0x1.111102p-3,  -0x1.ba1314p-5,
                              0x1.6561ecp-6,  -0x1.169ef6p-7, 0x1.46a68p-9};

} // namespace

Value SingleFormulas::real(float value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}
Value SingleFormulas::mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
Value SingleFormulas::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, loc, x, y, z);
}
Value SingleFormulas::less(Value x, float y) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, real(y));
}
Value SingleFormulas::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}

/// Both polynomials are one, whose coefficients depend on x: threads do not diverge.
Value SingleFormulas::erf(Value x) {
  Value size = math::AbsFOp::create(b, loc, x), near = less(size, 1);
  Value at = select(near, mul(x, x), size);
  auto coefficient = [&](size_t i) { return select(near, real(erfNear[i]), real(erfFar[i])); };
  Value sum = coefficient(std::size(erfNear) - 1);
  for (size_t i = std::size(erfNear) - 1; i-- > 0;)
    sum = fma(sum, at, coefficient(i));
  Value factor = select(near, x, arith::NegFOp::create(b, loc, size));
  Value value = fma(sum, factor, factor);
  Value rest = arith::SubFOp::create(b, loc, real(1), exp2(value));
  return select(near, value, math::CopySignOp::create(b, loc, rest, x));
}

Value SingleFormulas::tanh(Value x) {
  Value size = math::AbsFOp::create(b, loc, x), square = mul(x, x);
  Value sum = real(tanhNear[std::size(tanhNear) - 1]);
  for (size_t i = std::size(tanhNear) - 1; i-- > 0;)
    sum = fma(sum, square, real(tanhNear[i]));
  Value near = fma(mul(sum, square), size, size);
  // 1 - 2 / (exp(2 x) + 1)
  Value power = exp2(mul(size, real(2.88539008f)));
  Value far = fma(reciprocal(arith::AddFOp::create(b, loc, power, real(1))), real(-2), real(1));
  return math::CopySignOp::create(b, loc, select(less(size, 0.5625f), near, far), x);
}
