//===- PackedElements.cpp - Two 4-bit values in a byte --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/PackedElements.h"
#include "Dialect/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace penstock;

namespace {

/// Arithmetic on words.
class Words {
public:
  Words(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  Value number(uint32_t value) { return arith::ConstantIntOp::create(b, loc, int32_t(value), 32); }
  Value both(Value x, uint32_t mask) { return arith::AndIOp::create(b, loc, x, number(mask)); }
  Value shl(Value x, Value y) { return arith::ShLIOp::create(b, loc, x, y); }
  Value shr(Value x, Value y) { return arith::ShRUIOp::create(b, loc, x, y); }

  /// The signed value of four bits that begin at \p shift.
  Value integer(Value word, Value shift) {
    Value top = shl(word, arith::SubIOp::create(b, loc, number(28), shift));
    return arith::ShRSIOp::create(b, loc, top, number(28));
  }

  /// Twice the value of the e2m1 at \p shift, an integer: its magnitude is one of eight digits.
  Value twiceFloat(Value word, Value shift) {
    constexpr uint32_t twiceMagnitudes = 0xc8643210;
    Value code = shr(word, shift);
    Value digit = shl(both(code, 7), number(2));
    Value magnitude = both(shr(number(twiceMagnitudes), digit), 15);
    Value negative =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, both(code, 8), number(0));
    Value minus = arith::SubIOp::create(b, loc, number(0), magnitude);
    return arith::SelectOp::create(b, loc, negative, minus, magnitude);
  }

  OpBuilder &b;
  Location loc;
};

} // namespace

Value tile::loadPacked(OpBuilder &b, Location loc, Value tile, ArrayRef<Value> index,
                       Packing packing, Type type) {
  Words words(b, loc);
  Value two = arith::ConstantIndexOp::create(b, loc, 2);
  SmallVector<Value> at(index);
  at.back() = arith::DivUIOp::create(b, loc, index.back(), two);
  Value byte = LoadOp::create(b, loc, b.getI8Type(), tile, at);
  Value half = arith::RemUIOp::create(b, loc, index.back(), two);
  Value shift =
      words.shl(arith::IndexCastOp::create(b, loc, b.getI32Type(), half), words.number(2));
  Value word = arith::ExtUIOp::create(b, loc, b.getI32Type(), byte);
  if (packing == Packing::I4) {
    Value value = words.integer(word, shift);
    if (isa<FloatType>(type))
      return arith::SIToFPOp::create(b, loc, type, value);
    return type.isInteger(32) ? value : Value(arith::TruncIOp::create(b, loc, type, value));
  }
  Value twice = arith::SIToFPOp::create(b, loc, b.getF32Type(), words.twiceFloat(word, shift));
  Value oneHalf = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.5f));
  Value value = arith::MulFOp::create(b, loc, twice, oneHalf);
  return type.isF32() ? value : Value(arith::TruncFOp::create(b, loc, type, value));
}
