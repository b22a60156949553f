//===- Operands.h - Matrices as tensor cores read them ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's own reading of the canonical layouts: where an element of an
// operand lies in shared memory, and the descriptor that says so. A piece is 16
// bytes; without a swizzle eight pieces make a core matrix.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TEST_EMULATOR_KERNELS_OPERANDS_H
#define PENSTOCK_TEST_EMULATOR_KERNELS_OPERANDS_H

#include "HostFloat.h"
#include "Launch.h"

namespace kernels {

/// How elements of a type are packed and what they mean.
struct Number {
  uint32_t code;     ///< in an instruction descriptor
  unsigned bits;     ///< of the value
  unsigned perPiece; ///< elements in 16 bytes of shared memory
  unsigned inByte;   ///< where a value begins in its container in tensor memory
  std::function<uint32_t(int)> encode;
};

inline Number floatNumber(uint32_t code, SmallFloat type, unsigned perPiece, unsigned inByte = 0) {
  return {code, unsigned(type.bits()), perPiece, inByte, [type](int x) { return type.nearest(x); }};
}
inline Number f16Number() { return floatNumber(0, f16, 8); }
inline Number bf16Number() { return floatNumber(1, bf16, 8); }
inline Number e4m3Number() { return floatNumber(0, e4m3, 16); }
inline Number e5m2Number() { return floatNumber(1, e5m2, 16); }
inline Number e2m3Number() { return floatNumber(3, e2m3, 16); }
inline Number e3m2Number() { return floatNumber(4, e3m2, 16); }
inline Number e2m1Number() { return floatNumber(5, e2m1, 16, 2); }
/// Two to a byte, as the kinds of 4-bit operands want them.
inline Number packedE2m1Number() { return floatNumber(1, e2m1, 32); }
inline Number tf32Number() {
  return {2, 32, 4, 0, [](int x) { return std::bit_cast<uint32_t>(float(x)); }};
}
inline Number u8Number() {
  return {0, 8, 16, 0, [](int x) { return uint32_t(x < 0 ? -x : x); }};
}
inline Number s8Number() {
  return {1, 8, 16, 0, [](int x) { return uint32_t(x) & 0xff; }};
}

/// Values that all types hold exactly; their products sum up exactly, too.
inline int smallValue(Random &random) {
  static constexpr int values[] = {0, 1, -1, 2, -2, 3, -3, 4, -4, 6, -6};
  return values[random.below(11)];
}

struct OperandLayout {
  bool mnMajor = false;
  unsigned swizzle = 0; ///< bytes: 0, 32, 64, 128; 129: 128 in atoms of 32
  unsigned skip = 0;    ///< K-major: bytes of a row before the operand

  unsigned span() const { return swizzle == 129 ? 128 : swizzle; }
  unsigned repeat() const { return swizzle == 129 ? 4 : 8; } ///< lines of k in a group
  // Distances that keep the parts of an operand of up to 256 rows apart, and are
  // not what the other one would be.
  unsigned leading() const {
    if (!mnMajor)
      return swizzle ? 16 : 4096 + 128;
    return swizzle ? 8192 : 2048;
  }
  unsigned stride() const {
    if (!mnMajor)
      return swizzle ? 8 * span() : 128;
    return swizzle ? repeat() * span() : 128;
  }
  /// The first byte of piece \p piece of line \p line, lines being rows
  /// (K-major) or values of k (MN-major).
  unsigned offset(unsigned line, unsigned piece) const {
    unsigned at;
    if (!mnMajor)
      at = swizzle ? line % 8 * span() + line / 8 * stride() + piece * 16 + skip
                   : line % 8 * 16 + line / 8 * stride() + piece * leading();
    else if (!swizzle)
      at = piece * stride() + line % 8 * 16 + line / 8 * leading();
    else
      at = piece % (span() / 16) * 16 + piece / (span() / 16) * leading() +
           line % repeat() * span() + line / repeat() * stride();
    switch (swizzle) {
    case 32:
      return at ^ (at >> 7 & 1) << 4;
    case 64:
      return at ^ (at >> 7 & 3) << 4;
    case 128:
      return at ^ (at >> 7 & 7) << 4;
    case 129:
      return at ^ (at >> 7 & 3) << 5;
    default:
      return at;
    }
  }
  /// The descriptor but for the address of the operand's memory.
  uint64_t descriptor(bool blackwell) const {
    uint64_t mode = swizzle == 0     ? 0
                    : swizzle == 129 ? 1
                    : swizzle == 128 ? 2
                    : swizzle == 64  ? 4
                                     : 6;
    return uint64_t(skip >> 4) | uint64_t(leading() >> 4) << 16 | uint64_t(stride() >> 4) << 32 |
           (blackwell ? uint64_t(1) << 46 : 0) | mode << 61;
  }
};

/// An operand of \p rows x \p depth small numbers and its image in memory.
struct Operand {
  unsigned rows, depth;
  std::vector<int> values;
  std::vector<uint8_t> image;

  Operand(Random &random, unsigned rows, unsigned depth, const Number &number,
          const OperandLayout &layout, size_t bytes, bool noSign = false)
      : rows(rows), depth(depth), values(rows * depth), image(bytes) {
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned k = 0; k < depth; ++k) {
        int value = smallValue(random);
        if (noSign)
          value = std::abs(value);
        values[row * depth + k] = value;
        unsigned line = layout.mnMajor ? k : row, along = layout.mnMajor ? row : k;
        unsigned at = 8 * layout.offset(line, along / number.perPiece) +
                      along % number.perPiece * number.bits;
        uint32_t code = number.encode(value);
        for (unsigned bit = 0; bit < number.bits; ++bit, ++at) {
          EXPECT_LT(at / 8, bytes);
          image[at / 8] = uint8_t(image[at / 8] | (code >> bit & 1) << (at % 8));
        }
      }
  }
  int at(size_t row, size_t k) const { return values[row * depth + k]; }
};

} // namespace kernels

#endif // PENSTOCK_TEST_EMULATOR_KERNELS_OPERANDS_H
