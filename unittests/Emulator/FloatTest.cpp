//===- FloatTest.cpp - Narrow number formats ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Float.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace penstock::emu;

namespace {

TEST(Float, HalfRoundTripAndHostAgree) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(uint16_t(bits));
    // The compiler's own half type is an independent witness.
    _Float16 host = std::bit_cast<_Float16>(uint16_t(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float(host)));
      continue;
    }
    ASSERT_EQ(value, float(host)) << bits;
    ASSERT_EQ(floatToHalf(value), bits);
    ASSERT_EQ(encodeFloat(value, formatF16, Round::Nearest, false), bits);
  }
  uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525 + 1013904223;
    float value = std::bit_cast<float>(state);
    if (std::isnan(value))
      continue;
    _Float16 host = _Float16(value);
    ASSERT_EQ(floatToHalf(value), std::bit_cast<uint16_t>(host)) << value;
    ASSERT_EQ(encodeFloat(value, formatF16, Round::Nearest, false), std::bit_cast<uint16_t>(host));
    ASSERT_EQ(encodeFloat(value, formatBF16, Round::Nearest, false), floatToBf16(value));
  }
}

TEST(Float, NarrowFormats) {
  EXPECT_EQ(decodeFloat(0x7e, formatE4M3), 448.0f); // largest finite
  EXPECT_TRUE(std::isnan(decodeFloat(0x7f, formatE4M3)));
  EXPECT_EQ(decodeFloat(0x01, formatE4M3), 0x1p-9f);
  EXPECT_EQ(decodeFloat(0x7b, formatE5M2), 57344.0f);
  EXPECT_TRUE(std::isinf(decodeFloat(0x7c, formatE5M2)));
  EXPECT_EQ(decodeFloat(0x7, formatE2M1), 6.0f);
  EXPECT_EQ(decodeFloat(0x1, formatE2M1), 0.5f);
  EXPECT_EQ(decodeFloat(0x1f, formatE2M3), 7.5f);
  EXPECT_EQ(decodeFloat(0x1f, formatE3M2), 28.0f);
  EXPECT_EQ(encodeFloat(1000, formatE4M3, Round::Nearest, true), 0x7eu);
  EXPECT_EQ(encodeFloat(-1000, formatE2M1, Round::Nearest, true), 0xfu);
  EXPECT_EQ(encodeFloat(2.5, formatE2M1, Round::Nearest, true),
            0x4u); // to even
  EXPECT_EQ(decodeUE8M0(127), 1.0f);
  EXPECT_EQ(encodeUE8M0(3.0f, true), 129);
  EXPECT_EQ(encodeUE8M0(3.0f, false), 128);
  for (const FloatFormat &format : {formatE4M3, formatE5M2, formatE2M1, formatE2M3, formatE3M2})
    for (uint32_t bits = 0; bits < 1u << (1 + format.exponentBits + format.mantissaBits); ++bits) {
      float value = decodeFloat(bits, format);
      if (!std::isnan(value))
        EXPECT_EQ(encodeFloat(value, format, Round::Nearest, false), bits);
    }
}

TEST(Float, DirectedRounding) {
  EXPECT_EQ(addRounded(1.0f, 1e-10f, Round::Up), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(addRounded(1.0f, 1e-10f, Round::Zero), 1.0f);
  EXPECT_EQ(mulRounded(0.1, 0.1, Round::Down),
            std::nextafter(mulRounded(0.1, 0.1, Round::Up), 0.0));
  EXPECT_EQ(encodeFloat(1.0 + 0x1p-11, formatF16, Round::Up, false), 0x3c01u);
  EXPECT_EQ(encodeFloat(-1.0 - 0x1p-11, formatF16, Round::Up, false), 0xbc00u);
  EXPECT_EQ(encodeFloat(1e6, formatF16, Round::Zero, false), 0x7bffu);
}

} // namespace
