//===- conversions.cpp - Between all types of numbers ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostFloat.h"
#include "Launch.h"

#include <algorithm>

using namespace kernels;

namespace {

KERNEL_FAMILY(Conversions, "conversions", "sm_90a", "sm_100a");

using U = uint32_t;

/// A value between two codes, in the given direction: -1 down, 1 up, 0 to zero.
U directed(const SmallFloat &type, double x, int direction) {
  U code = type.nearest(x);
  U sign = 1u << (type.bits() - 1);
  double got = type.value(code);
  bool wantBelow = direction < 0 || (direction == 0 && x > 0);
  auto towardZero = [&] { return code - 1; };
  auto away = [&] { return code + 1; };
  if (wantBelow && got > x)
    return code & sign ? away() : (code & ~sign) == 0 ? sign | 1 : towardZero();
  if (!wantBelow && got < x)
    return code & sign ? ((code & ~sign) == 0 ? 1 : towardZero()) : away();
  return code;
}

std::vector<U> fromFloat(float x, float y) {
  auto tf32 = [](float v) { // nearest, ties away from zero: add half and cut
    return (std::bit_cast<U>(v) + 0x1000) & ~0x1fffu;
  };
  auto relu = [](float v) { return v > 0 ? v : 0.0f; };
  return {f16.nearest(x),
          directed(f16, x, 0),
          directed(f16, x, -1),
          directed(f16, x, 1),
          bf16.nearest(x),
          tf32(x),
          f16.nearest(x) << 16 | f16.nearest(y),
          directed(bf16, x, 0) << 16 | directed(bf16, y, 0),
          bf16.nearest(relu(x)) << 16 | bf16.nearest(relu(y)),
          U(int(std::nearbyint(x))),
          U(int(std::trunc(x))),
          U(int(std::floor(x))),
          U(std::max(0.0f, std::ceil(x))),
          U(int(std::clamp(std::trunc(x), -128.0f, 127.0f))),
          std::bit_cast<U>(std::nearbyint(x)),
          std::bit_cast<U>(x > 0 ? std::min(x, 1.0f) : 0.0f),
          f16.nearest(relu(x)),
          bf16.nearest(relu(x))};
}

TEST_P(Conversions, FromFloat) {
  Random random;
  std::vector<float> in;
  for (int i = 0; i < 200; ++i)
    in.push_back(
        i < 40 ? float(i - 20) / 2 + 0.25f * float(i % 3)
               : std::ldexp(float(random.between(-8388607, 8388607)), random.between(-36, -8)));
  for (float &x : in) // signs of zero are compared elsewhere
    if (x == 0)
      x = 0.375f;
  Launch k = launch("fromFloat");
  k.in(in);
  Buffer out = k.out<U>(100 * 18);
  k.value(100);
  k.block = {128, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<U>(out);
    for (size_t i = 0; i < 100; ++i) {
      auto want = fromFloat(in[2 * i], in[2 * i + 1]);
      ASSERT_EQ(want.size(), 18u);
      for (size_t j = 0; j < 18; ++j)
        EXPECT_EQ(got[i * 18 + j], want[j])
            << "result " << j << " of " << in[2 * i] << " " << in[2 * i + 1];
    }
  });
}

TEST_P(Conversions, FromInteger) {
  Random random;
  std::vector<int32_t> in = {0,         1,          -1,       127,       128,
                             -129,      255,        256,      65519,     -65519,
                             INT32_MAX, -INT32_MAX, 16777217, -16777219, 33554435};
  while (in.size() < 64)
    in.push_back(int32_t(random.bits()) >> random.below(31));
  Launch k = launch("fromInteger");
  k.in(in);
  Buffer out = k.out<uint64_t>(64 * 10);
  k.value(64);
  k.block = {64, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint64_t>(out);
    for (size_t i = 0; i < 64; ++i) {
      int64_t x = in[i];
      // Into 24 bits, downwards in magnitude and upwards in value.
      auto cut = [](int64_t v, bool up) {
        float f = float(double(v));
        double d = double(f);
        if (up ? d < double(v) : std::fabs(d) > std::fabs(double(v)))
          f = std::nextafter(f, up ? INFINITY : 0.0f);
        return std::bit_cast<U>(f);
      };
      auto sat16 = [](int64_t v) { return U(std::clamp<int64_t>(v, -32768, 32767)) & 0xffff; };
      U half = std::fabs(double(x)) >= 65520 ? (x < 0 ? 0xfc00u : 0x7c00u) : f16.nearest(double(x));
      uint64_t want[] = {std::bit_cast<U>(float(in[i])),
                         cut(int64_t(U(in[i])), false),
                         cut(x, true),
                         std::bit_cast<uint64_t>(double(x)),
                         uint64_t(int64_t(int8_t(in[i]))),
                         uint64_t(uint16_t(in[i])),
                         uint64_t(std::clamp<int64_t>(x, 0, 255)),
                         uint64_t(sat16(x) << 16 | sat16(-x)),
                         half,
                         bf16.nearest(double(x))};
      for (size_t j = 0; j < 10; ++j)
        EXPECT_EQ(got[i * 10 + j], want[j]) << "result " << j << " of " << x;
    }
  });
}

/// The exponent of the power of two at or above (up) or below a value.
U scaleCode(float x, bool up) {
  x = std::fabs(x);
  for (int code = 0; code < 255; ++code)
    if (double limit = std::ldexp(1.0, code - 127); up ? limit >= x : limit * 2 > x)
      return U(code);
  return 254;
}

TEST_P(Conversions, ToNarrow) {
  Random random;
  std::vector<float> in;
  for (int i = 0; i < 400; ++i)
    in.push_back(std::ldexp(float(random.between(-4095, 4095)), random.between(-26, 2)));
  for (float &x : in)
    if (x == 0)
      x = 2.5f;
  Launch k = launch("toNarrow");
  k.in(in);
  Buffer out = k.out<U>(200 * 7);
  k.value(200);
  k.block = {128, 1, 1};
  k.grid = {2, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<U>(out);
    for (size_t i = 0; i < 200; ++i) {
      float x = in[2 * i], y = in[2 * i + 1];
      U want[] = {e4m3.nearest(x) | e4m3.nearest(y) << 8,
                  e5m2.nearest(x) | e5m2.nearest(y) << 8,
                  e2m3.nearest(x) | e2m3.nearest(y) << 8,
                  e3m2.nearest(x) | e3m2.nearest(y) << 8,
                  e2m1.nearest(x) | e2m1.nearest(y) << 4,
                  scaleCode(x, true) | scaleCode(y, true) << 8,
                  scaleCode(x, false) | scaleCode(y, false) << 8};
      for (size_t j = 0; j < 7; ++j)
        EXPECT_EQ(got[i * 7 + j], want[j]) << "result " << j << " of " << x << " " << y;
    }
  });
}

TEST_P(Conversions, FromNarrow) {
  Launch k = launch("fromNarrow");
  Buffer out = k.out<U>(256 * 6);
  k.block = {256, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<U>(out);
    for (U code = 0; code < 256; ++code) {
      U first[] = {code, code, code & 0x3f, code & 0x3f, code & 15, code};
      U other = 255 - code;
      U second[] = {other, other, other & 0x3f, other & 0x3f, code >> 4, other};
      const SmallFloat types[] = {e4m3, e5m2, e2m3, e3m2, e2m1};
      for (size_t j = 0; j < 6; ++j)
        for (int half = 0; half < 2; ++half) {
          U from = half ? second[j] : first[j];
          U bits = got[code * 6 + j] >> (16 * half) & 0xffff;
          double want = j == 5 ? (from == 255 ? NAN : std::ldexp(1.0, int(from) - 127))
                               : types[j].value(from);
          double value = j == 5 ? bf16.value(bits) : f16.value(bits);
          EXPECT_TRUE(std::isnan(want) ? std::isnan(value) : value == want)
              << "type " << j << " code " << from << ": " << value << " instead of " << want;
        }
    }
  });
}

} // namespace
