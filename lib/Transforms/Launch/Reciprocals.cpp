//===- Reciprocals.cpp - Division by launch constants ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Transforms/Launch/Reciprocals.h"
#include "Transforms/Launch/GridCoordinates.h"

using namespace mlir;
using namespace penstock;
using Predicate = arith::CmpIPredicate;

namespace {

/// Arithmetic on i64.
struct Words {
  OpBuilder &b;
  Location loc;

  Value number(uint64_t value) const {
    return arith::ConstantIntOp::create(b, loc, int64_t(value), 64);
  }
  template <typename Op> Value make(Value x, Value y) const { return Op::create(b, loc, x, y); }
  Value add(Value x, Value y) const { return make<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) const { return make<arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) const { return make<arith::MulIOp>(x, y); }
  Value shl(Value x, Value y) const { return make<arith::ShLIOp>(x, y); }
  Value shr(Value x, Value y) const { return make<arith::ShRUIOp>(x, y); }
  Value is(Predicate predicate, Value x, Value y) const {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) const {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
};

} // namespace

/// Returns a digit of 32 bits of the long division of a number by \p divisor >= 2^63, and the
/// remainder: of \p rest < divisor with 32 ones after it (Knuth, algorithm D).
static std::pair<Value, Value> nextDigit(const Words &w, Value rest, Value divisor) {
  Value bits = w.number(32), low = w.number(0xffffffff), one = w.number(1);
  Value first = w.shr(divisor, bits), second = w.make<arith::AndIOp>(divisor, low);
  Value digit = safeQuotient(w.b, w.loc, rest, first);
  Value left = safeRemainder(w.b, w.loc, rest, first);
  // By the first half of the divisor alone, the digit is too large by at most 2.
  for (int correction = 0; correction < 2; ++correction) {
    Value above =
        w.is(Predicate::ugt, w.mul(digit, second), w.make<arith::OrIOp>(w.shl(left, bits), low));
    above = w.make<arith::OrIOp>(above, w.is(Predicate::ugt, digit, low));
    Value tooLarge = w.make<arith::AndIOp>(above, w.is(Predicate::ule, left, low));
    digit = w.select(tooLarge, w.sub(digit, one), digit);
    left = w.select(tooLarge, w.add(left, first), left);
  }
  Value whole = w.make<arith::OrIOp>(w.shl(rest, bits), low);
  return {digit, w.sub(whole, w.mul(digit, divisor))};
}

Reciprocal penstock::reciprocalOf(OpBuilder &b, Location loc, Value divisor, unsigned bits) {
  Words w{b, loc};
  Value one = w.number(1);
  Value positive;
  if (bits == 32) {
    positive = w.make<arith::MinUIOp>(divisor, w.number(uint64_t(1) << 31));
  } else {
    Value negative = w.is(Predicate::slt, divisor, w.number(0));
    positive = w.select(negative, w.sub(w.number(0), divisor), divisor);
  }
  positive = w.make<arith::MaxUIOp>(positive, one);
  // Shift the divisor until its first bit is set.
  Value shifted = positive, shift = w.number(63);
  for (unsigned step = 32; step; step /= 2) {
    Value small = w.is(Predicate::ult, shifted, w.number(uint64_t(1) << (64 - step)));
    shifted = w.select(small, w.shl(shifted, w.number(step)), shifted);
    shift = w.select(small, w.sub(shift, w.number(step)), shift);
  }
  if (bits == 32) {
    Value power = w.shl(one, w.add(shift, w.number(32)));
    return {safeQuotient(b, loc, w.sub(power, one), positive), shift};
  }
  // (2^(64+k) - 1) / d = (2^127 - 1) / (d * 2^(63-k)), rounded down.
  auto [high, rest] = nextDigit(w, w.number(~uint64_t(0) >> 1), shifted);
  Value low = nextDigit(w, rest, shifted).first;
  return {w.make<arith::OrIOp>(w.shl(high, w.number(32)), low), shift};
}

Value penstock::multiplyInstead(OpBuilder &b, Operation *division, Reciprocal reciprocal) {
  Location loc = division->getLoc();
  Type type = division->getResult(0).getType();
  Type word = type.isIndex() ? b.getI64Type() : type;
  auto cast = [&](Value value, Type to) -> Value {
    if (value.getType() == to)
      return value;
    if (value.getType().isIndex() || to.isIndex())
      return arith::IndexCastOp::create(b, loc, to, value);
    return arith::TruncIOp::create(b, loc, to, value);
  };
  Value dividend = cast(division->getOperand(0), word),
        divisor = cast(division->getOperand(1), word);
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(division);
  Value last; // the bit of the sign
  auto signOf = [&](Value value) -> Value { return arith::ShRSIOp::create(b, loc, value, last); };
  auto negateBy = [&](Value value, Value sign) -> Value {
    return arith::SubIOp::create(b, loc, arith::XOrIOp::create(b, loc, value, sign), sign);
  };
  Value size = dividend;
  if (isSigned) {
    last = arith::ConstantIntOp::create(b, loc, 63, 64);
    size = negateBy(dividend, signOf(dividend));
  }
  Value one = arith::ConstantOp::create(b, loc, b.getIntegerAttr(word, 1));
  Value product = arith::MulUIExtendedOp::create(b, loc, arith::AddIOp::create(b, loc, size, one),
                                                 cast(reciprocal.multiplier, word))
                      .getHigh();
  Value result = arith::ShRUIOp::create(b, loc, product, cast(reciprocal.shift, word));
  if (isSigned)
    result = negateBy(result, signOf(arith::XOrIOp::create(b, loc, dividend, divisor)));
  if (isa<arith::RemSIOp, arith::RemUIOp>(division))
    result =
        arith::SubIOp::create(b, loc, dividend, arith::MulIOp::create(b, loc, result, divisor));
  return cast(result, type);
}
