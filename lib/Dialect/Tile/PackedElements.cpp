//===- PackedElements.cpp - Bytes of values of fewer bits -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/PackedElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::tile;

int64_t tile::bitsOf(Packing packing) {
  switch (packing) {
  case Packing::F6E2M3:
  case Packing::F6E3M2:
  case Packing::PaddedF6E2M3:
  case Packing::PaddedF6E3M2:
    return 6;
  case Packing::F4E2M1:
  case Packing::I4:
  case Packing::PaddedF4E2M1:
    break;
  }
  return 4;
}

bool tile::isPadded(Packing packing) {
  return packing == Packing::PaddedF4E2M1 || packing == Packing::PaddedF6E2M3 ||
         packing == Packing::PaddedF6E3M2;
}

Packing tile::padded(Packing packing) {
  return packing == Packing::F6E2M3   ? Packing::PaddedF6E2M3
         : packing == Packing::F6E3M2 ? Packing::PaddedF6E3M2
                                      : Packing::PaddedF4E2M1;
}

bool tile::areReadByTensorCores(std::optional<Packing> a, std::optional<Packing> b) {
  auto isByte = [](std::optional<Packing> packing) { return !packing || isPadded(*packing); };
  return (isByte(a) && isByte(b)) || (a == Packing::F4E2M1 && b == a);
}

int64_t tile::valuesIn(Packing packing, int64_t bytes) {
  return isPadded(packing) ? bytes : bytes * 8 / bitsOf(packing);
}

int64_t tile::bytesOf(Packing packing, int64_t values) {
  return isPadded(packing) ? values : values * bitsOf(packing) / 8;
}

int64_t tile::bitOf(Packing packing, int64_t index) {
  if (!isPadded(packing))
    return index * bitsOf(packing);
  return index / paddedGroup * paddedGroup * 8 + index % paddedGroup * bitsOf(packing);
}

static constexpr PackedElement packedElements[] = {
    {"f4e2m1x2", Element::f4e2m1x2, Packing::F4E2M1},
    {"i4x2", Element::i4x2, Packing::I4},
    {"f6e2m3_packed", Element::f6e2m3_packed, Packing::F6E2M3},
    {"f6e3m2_packed", Element::f6e3m2_packed, Packing::F6E3M2}};

const PackedElement *tile::findPacked(StringRef name) {
  const auto *found = llvm::find_if(packedElements, [&](auto &one) { return one.name == name; });
  return found == std::end(packedElements) ? nullptr : found;
}

const PackedElement *tile::findPacked(Element element) {
  const auto *found =
      llvm::find_if(packedElements, [&](auto &one) { return one.element == element; });
  return found == std::end(packedElements) ? nullptr : found;
}

namespace {

/// Arithmetic on words.
class Words {
public:
  Words(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  Value number(uint32_t value) { return arith::ConstantIntOp::create(b, loc, int32_t(value), 32); }
  Value both(Value x, uint32_t mask) { return arith::AndIOp::create(b, loc, x, number(mask)); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value shl(Value x, Value y) { return arith::ShLIOp::create(b, loc, x, y); }
  Value shr(Value x, Value y) { return arith::ShRUIOp::create(b, loc, x, y); }

  /// The signed value of four bits that begin at \p shift.
  Value integer(Value word, Value shift) {
    Value top = shl(word, arith::SubIOp::create(b, loc, number(28), shift));
    return arith::ShRSIOp::create(b, loc, top, number(28));
  }

  /// Twice the value of the e2m1 in the low bits, an integer: its magnitude is one of eight digits.
  Value twiceFloat(Value code) {
    constexpr uint32_t twiceMagnitudes = 0xc8643210;
    Value digit = shl(both(code, 7), number(2));
    return withSign(both(shr(number(twiceMagnitudes), digit), 15), both(code, 8));
  }

  /// The 6-bit value in the low bits as a multiple of the smallest one: the significand, moved by
  /// the exponent.
  Value sixBits(Value code, uint32_t mantissaBits) {
    Value exponent = both(shr(code, number(mantissaBits)), 31u >> mantissaBits);
    Value normal = arith::MinUIOp::create(b, loc, exponent, number(1));
    Value significand =
        either(both(code, (1u << mantissaBits) - 1), shl(normal, number(mantissaBits)));
    return withSign(shl(significand, arith::SubIOp::create(b, loc, exponent, normal)),
                    both(code, 32));
  }

  OpBuilder &b;
  Location loc;

  /// The code in the low \p bits of a word as the fields of an f32, whose bias is larger.
  Value fields(Value code, uint32_t bits, uint32_t mantissaBits) {
    uint32_t sign = 1u << (bits - 1);
    Value magnitude = shl(both(code, sign - 1), number(23 - mantissaBits));
    Value all = either(magnitude, shl(both(code, sign), number(32 - bits)));
    return arith::BitcastOp::create(b, loc, b.getF32Type(), all);
  }

private:
  Value withSign(Value magnitude, Value sign) {
    Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, sign, number(0));
    Value minus = arith::SubIOp::create(b, loc, number(0), magnitude);
    return arith::SelectOp::create(b, loc, negative, minus, magnitude);
  }
};

/// Loads a value of 4 bits: the word and the shift.
std::pair<Value, Value> loadHalf(Words &words, Value tile, ArrayRef<Value> index) {
  auto &[b, loc] = words;
  Value two = arith::ConstantIndexOp::create(b, loc, 2);
  SmallVector<Value> at(index);
  at.back() = arith::DivUIOp::create(b, loc, index.back(), two);
  Value byte = LoadOp::create(b, loc, b.getI8Type(), tile, at);
  Value half = arith::RemUIOp::create(b, loc, index.back(), two);
  Value shift =
      words.shl(arith::IndexCastOp::create(b, loc, b.getI32Type(), half), words.number(2));
  return {arith::ExtUIOp::create(b, loc, b.getI32Type(), byte), shift};
}

/// Loads a value of 6 bits into the low bits of a word. The four values of three bytes lie in bytes
/// 0 and 1, or 1 and 2: an even value and the next one are loaded together.
Value loadSixBits(Words &words, Value tile, ArrayRef<Value> index) {
  auto &[b, loc] = words;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value first = arith::MulIOp::create(
      b, loc, arith::DivUIOp::create(b, loc, index.back(), number(4)), number(3));
  Value i = arith::RemUIOp::create(b, loc, index.back(), number(4));
  Value byte = arith::AddIOp::create(b, loc, first, arith::DivUIOp::create(b, loc, i, number(2)));
  auto load = [&](Value byte) -> Value {
    SmallVector<Value> at(index);
    at.back() = byte;
    Value loaded = LoadOp::create(b, loc, b.getI8Type(), tile, at);
    return arith::ExtUIOp::create(b, loc, b.getI32Type(), loaded);
  };
  Value low = load(byte), high = load(arith::AddIOp::create(b, loc, byte, number(1)));
  Value pair = words.either(low, words.shl(high, words.number(8)));
  Value word = arith::IndexCastOp::create(b, loc, b.getI32Type(), i);
  // Bits 0, 6, 4 and 10 of the two bytes.
  Value odd = arith::MulIOp::create(b, loc, words.both(word, 1), words.number(6));
  return words.shr(
      pair, arith::AddIOp::create(b, loc, odd, words.shl(words.both(word, 2), words.number(1))));
}

} // namespace

Value tile::loadPacked(OpBuilder &b, Location loc, Value tile, ArrayRef<Value> index,
                       Packing packing, Type type, Decoding decoding) {
  Words words(b, loc);
  if (packing == Packing::I4) {
    auto [word, shift] = loadHalf(words, tile, index);
    Value value = words.integer(word, shift);
    if (isa<FloatType>(type))
      return arith::SIToFPOp::create(b, loc, type, value);
    return type.isInteger(32) ? value : Value(arith::TruncIOp::create(b, loc, type, value));
  }
  assert(!isPadded(packing) && "only tensor cores read padded values");
  bool e2m1 = packing == Packing::F4E2M1, e2m3 = packing == Packing::F6E2M3;
  Value code;
  if (e2m1) {
    auto [word, shift] = loadHalf(words, tile, index);
    code = words.shr(word, shift);
  } else {
    code = loadSixBits(words, tile, index);
  }
  Value units;
  float unit = 0;
  if (decoding == Decoding::Subnormal) {
    units = words.fields(code, e2m1 ? 4 : 6, e2m1 ? 1 : e2m3 ? 3 : 2);
    unit = e2m1 || e2m3 ? 0x1p126f : 0x1p124f; // the bias of e3m2 is 3
  } else {
    Value multiple = e2m1 ? words.twiceFloat(code) : words.sixBits(code, e2m3 ? 3 : 2);
    units = arith::SIToFPOp::create(b, loc, b.getF32Type(), multiple);
    unit = e2m1 ? 0.5f : e2m3 ? 0.125f : 0.0625f;
  }
  Value value = arith::MulFOp::create(b, loc, units,
                                      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(unit)));
  return type.isF32() ? value : Value(arith::TruncFOp::create(b, loc, type, value));
}
