//===- arithmetic.cpp - Integers, floats and packed pairs -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostFloat.h"
#include "Launch.h"

#include <algorithm>
#include <cfenv>

using namespace kernels;

namespace {

KERNEL_FAMILY(Arithmetic, "arithmetic", "sm_90a", "sm_100a");

using U = uint32_t;
using S = int32_t;

S saturate(int64_t x) { return S(std::clamp<int64_t>(x, INT32_MIN, INT32_MAX)); }
S extend24(U x) { return S(x << 8) >> 8; }

std::vector<U> integers(U a, U b, U c) {
  std::vector<U> r;
  auto s = [](U x) { return int64_t(S(x)); };
  r.push_back(a + b);
  r.push_back(U(saturate(s(a) + s(b))));
  r.push_back(U(saturate(s(a) - s(b))));
  r.push_back(a * b);
  r.push_back(U(uint64_t(s(a) * s(b)) >> 32));
  r.push_back(U(uint64_t(a) * b >> 32));
  r.push_back(a * b + c);
  r.push_back(U(uint64_t(a) * b >> 32) + c);
  r.push_back(U(saturate((s(a) * s(b) >> 32) + s(c))));
  r.push_back(U(int64_t(extend24(a)) * extend24(b)));
  r.push_back(U(uint64_t(a & 0xffffff) * (b & 0xffffff) >> 16));
  r.push_back(c + U(std::abs(s(a) - s(b))));
  r.push_back(U(s(a) / s(b)));
  r.push_back(U(s(a) % s(b)));
  r.push_back(a / b);
  r.push_back(a % b);
  r.push_back(S(a) < 0 ? -a : a);
  r.push_back(U(std::min(S(a), S(b))));
  r.push_back(std::max(a, b));
  r.push_back(U(__builtin_popcount(a)));
  auto leading = [](U x) {
    U n = 0;
    while (n < 32 && !(x >> (31 - n) & 1))
      ++n;
    return n;
  };
  r.push_back(leading(a));
  U positive = S(a) < 0 ? ~a : a;
  r.push_back(positive ? 31 - leading(positive) : ~0u);
  r.push_back(a ? leading(a) : ~0u);
  U reversed = 0;
  for (int i = 0; i < 32; ++i)
    reversed |= (a >> i & 1) << (31 - i);
  r.push_back(reversed);
  // bfe: bit by bit, as the ISA defines it.
  for (bool isSigned : {true, false}) {
    U pos = b & 0xff, len = c & 0xff, d = 0;
    U sbit = !isSigned || len == 0 ? 0 : a >> std::min(pos + len - 1, 31u) & 1;
    for (U i = 0; i < 32; ++i)
      d |= (i < len && pos + i <= 31 ? a >> (pos + i) & 1 : sbit) << i;
    r.push_back(d);
  }
  r.push_back(b > 31 ? 0 : a << b);
  r.push_back(U(S(a) >> std::min(b, 31u)));
  U n = c & 31;
  r.push_back(n ? b << n | a >> (32 - n) : b);
  n = std::min(c, 32u);
  r.push_back(U((uint64_t(b) << 32 | a) >> n));
  U permuted = 0;
  for (int i = 0; i < 4; ++i) {
    U selector = c >> (4 * i) & 15;
    U byte = U((uint64_t(b) << 32 | a) >> (8 * (selector & 7))) & 0xff;
    if (selector & 8)
      byte = byte & 0x80 ? 0xff : 0;
    permuted |= byte << (8 * i);
  }
  r.push_back(permuted);
  U dot = c;
  for (int i = 0; i < 4; ++i)
    dot += U(int(int8_t(a >> (8 * i))) * int(uint8_t(b >> (8 * i))));
  r.push_back(dot);
  // Two halves of a, with the lower two bytes of b, then with the upper two.
  r.push_back(c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff));
  r.push_back(c + U(int(int16_t(a)) * int(b >> 16 & 0xff)) +
              U(int(int16_t(a >> 16)) * int(b >> 24)));
  // A mask of b bits from bit a on, both at most 32.
  U from = std::min(a, 32u), width = std::min(b, 32u);
  r.push_back(U(((uint64_t(1) << width) - 1) << from));
  U size = b & 31;
  r.push_back(size ? U(S(a << (32 - size)) >> (32 - size)) : 0);
  U logic = 0;
  for (int i = 0; i < 32; ++i) {
    U index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
    logic |= U(0xd2 >> index & 1) << i;
  }
  r.push_back(logic);
  // bfi: a's low 9 bits into b at c.
  U inserted = b, pos = c & 0xff;
  for (U i = 0; i < 9 && pos + i < 32; ++i)
    inserted = (inserted & ~(1u << (pos + i))) | (a >> i & 1) << (pos + i);
  r.push_back(inserted);
  uint64_t sum = uint64_t(a) + b;
  r.push_back(U(sum));
  sum = uint64_t(a) + c + (sum >> 32);
  r.push_back(U(sum));
  r.push_back(U(b + c + (sum >> 32)));
  r.push_back(((a & 0xffff) + (b & 0xffff)) % 65536 | ((a >> 16) + (b >> 16)) << 16);
  return r;
}

TEST_P(Arithmetic, Integers) {
  Random random;
  std::vector<U> in;
  static const U edges[] = {0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff, 0x8000, 24};
  for (int i = 0; i < 200; ++i) {
    U triple[3];
    for (U &x : triple)
      x = random.below(2) ? edges[random.below(11)] : random.bits() >> random.below(32);
    if (triple[1] == 0 || (triple[0] == 0x80000000 && triple[1] == 0xffffffff))
      triple[1] = 3; // the quotient is not defined
    in.insert(in.end(), triple, triple + 3);
  }
  Launch k = launch("integers");
  k.in(in);
  Buffer out = k.out<U>(200 * 42);
  k.value(200);
  k.block = {128, 1, 1};
  k.grid = {2, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<U>(out);
    for (size_t i = 0; i < 200; ++i) {
      auto want = integers(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
      ASSERT_EQ(want.size(), 42u);
      for (size_t j = 0; j < 42; ++j)
        EXPECT_EQ(got[i * 42 + j], want[j]) << "result " << j << " of " << in[3 * i] << " "
                                            << in[3 * i + 1] << " " << in[3 * i + 2];
    }
  });
}

// Operations stay between the calls that change the mode of rounding.
#pragma STDC FENV_ACCESS ON

/// The value of \p fn when the host rounds like \p mode.
template <class Fn> auto rounded(int mode, Fn &&fn) {
  std::fesetround(mode);
  auto result = fn();
  std::fesetround(FE_TONEAREST);
  return result;
}
constexpr int RN = FE_TONEAREST, RZ = FE_TOWARDZERO, RM = FE_DOWNWARD, RP = FE_UPWARD;

template <class T> T plus(T a, T b) { return a + b; }
template <class T> T minus(T a, T b) { return a - b; }
template <class T> T times(T a, T b) { return a * b; }
template <class T> T over(T a, T b) { return a / b; }
float root(float a) { return std::sqrt(a); }
float muladd(float a, float b, float c) { return std::fma(a, b, c); }
float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
float clampUnit(float x) { return std::isnan(x) || x < 0 ? 0.0f : std::min(x, 1.0f); }

std::vector<float> floats(float a, float b, float c) {
  float nan = NAN;
  return {rounded(RN, [&] { return plus(a, b); }),
          rounded(RZ, [&] { return plus(a, b); }),
          rounded(RM, [&] { return plus(a, b); }),
          rounded(RP, [&] { return plus(a, b); }),
          rounded(RZ, [&] { return minus(a, b); }),
          rounded(RN, [&] { return times(a, b); }),
          rounded(RM, [&] { return times(a, b); }),
          flush(rounded(RP, [&] { return times(flush(a), flush(b)); })),
          rounded(RN, [&] { return muladd(a, b, c); }),
          rounded(RZ, [&] { return muladd(a, b, c); }),
          rounded(RP, [&] { return muladd(a, b, c); }),
          rounded(RN, [&] { return over(a, b); }),
          rounded(RZ, [&] { return over(a, b); }),
          rounded(RN, [&] { return root(a); }),
          rounded(RP, [&] { return root(a); }),
          rounded(RN, [&] { return over(1.0f, a); }),
          rounded(RM, [&] { return over(1.0f, a); }),
          clampUnit(plus(a, b)),
          clampUnit(muladd(a, b, c)),
          std::fmin(a, b),
          std::isnan(a) || std::isnan(b) ? nan : std::fmax(a, b),
          std::copysign(std::fmax(std::fabs(a), std::fabs(b)),
                        std::signbit(a) != std::signbit(b) ? -1.0f : 1.0f),
          std::copysign(b, a),
          std::fabs(flush(a)),
          flush(plus(flush(a), flush(b))),
          rounded(RZ, [&] { return times(a, b); }),
          rounded(RP, [&] { return over(1.0f, a); }),
          -a};
}

template <class T> bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

TEST_P(Arithmetic, Floats) {
  Random random;
  std::vector<float> in;
  static const float edges[] = {0.0f,    -0.0f,    1.0f,     -1.0f,          0x1p-149f,  -0x1p-130f,
                                3.4e38f, -3.4e38f, INFINITY, 0x1.fffffep-1f, 16777217.0f};
  for (int i = 0; i < 300; ++i)
    in.push_back(random.below(3)
                     ? std::ldexp(float(random.between(-9999999, 9999999)), random.between(-40, 10))
                     : edges[random.below(11)]);
  Launch k = launch("floats");
  k.in(in);
  Buffer out = k.out<float>(100 * 28), wide = k.out<double>(100 * 6);
  k.value(100);
  k.block = {128, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<float>(out);
    auto gotWide = results.get<double>(wide);
    for (size_t i = 0; i < 100; ++i) {
      float a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
      auto want = floats(a, b, c);
      ASSERT_EQ(want.size(), 28u);
      for (size_t j = 0; j < 28; ++j)
        EXPECT_TRUE(same(got[i * 28 + j], want[j]))
            << "result " << j << " of " << a << " " << b << " " << c << ": " << got[i * 28 + j]
            << " instead of " << want[j];
      double x = a, y = b;
      double expected[] = {rounded(RZ, [&] { return plus(x, y); }),
                           rounded(RP, [&] { return times(x, y); }),
                           rounded(RN, [&] { return over(x, y); }),
                           rounded(RM, [&] { return minus(x, y); }),
                           std::fmin(x, y),
                           rounded(RM, [&] { return over(x, y); })};
      for (size_t j = 0; j < 6; ++j)
        EXPECT_TRUE(same(gotWide[i * 6 + j], expected[j])) << "f64 result " << j;
    }
  });
}

/// Pairs of 16-bit floats: \p decode and \p encode convert one of them. Every
/// result here is exact in double before it is rounded once.
template <class Decode, class Encode>
void checkPairs(const std::vector<U> &in, const std::vector<U> &got, size_t ops, Decode decode,
                Encode encode,
                const std::vector<std::function<double(double, double, double)>> &want) {
  ASSERT_EQ(want.size(), ops);
  for (size_t i = 0; i < in.size() / 3; ++i)
    for (size_t j = 0; j < ops; ++j)
      for (int half = 0; half < 2; ++half) {
        auto value = [&](size_t n) { return decode(in[3 * i + n] >> (16 * half) & 0xffff); };
        double expected = want[j](value(0), value(1), value(2));
        uint32_t bits = got[i * ops + j] >> (16 * half) & 0xffff;
        if (std::isnan(expected))
          EXPECT_TRUE(std::isnan(decode(bits))) << "result " << j;
        else
          EXPECT_EQ(bits, encode(expected))
              << "result " << j << " of " << value(0) << " " << value(1) << " " << value(2);
      }
}

double relu(double x) { return std::isnan(x) || x > 0 ? x : 0.0; }

TEST_P(Arithmetic, Halves) {
  Random random;
  std::vector<U> in;
  for (int i = 0; i < 300; ++i) {
    auto half = [&] {
      return U(halfBits(std::ldexp(float(random.between(-2047, 2047)), random.between(-14, 0))));
    };
    in.push_back(half() | half() << 16);
  }
  Launch k = launch("halves");
  k.in(in);
  Buffer out = k.out<U>(100 * 10);
  k.value(100);
  k.block = {128, 1, 1};
  k.run([&](const Results &results) {
    checkPairs(
        in, results.get<U>(out), 10, [](U bits) { return f16.value(bits); },
        [](double x) {
          return std::fabs(x) >= 65520 ? (x < 0 ? 0xfc00u : 0x7c00u) : f16.nearest(x);
        },
        {[](double a, double b, double) { return a + b; },
         [](double a, double b, double) { return a - b; },
         [](double a, double b, double) { return a * b; },
         [](double a, double b, double c) { return a * b + c; },
         [](double a, double b, double c) { return relu(a * b + c); },
         [](double a, double b, double) { return std::fmin(a, b); },
         [](double a, double b, double) { return std::fmax(a, b); },
         [](double a, double b, double) { return std::clamp(a + b, 0.0, 1.0); },
         [](double a, double, double) { return -a; },
         [](double a, double, double) { return std::fabs(a); }});
  });
}

TEST_P(Arithmetic, Brains) {
  Random random;
  std::vector<U> in;
  for (int i = 0; i < 300; ++i) {
    auto brain = [&] {
      return U(bf16Bits(std::ldexp(float(random.between(-255, 255)), random.between(-9, 9))));
    };
    in.push_back(brain() | brain() << 16);
  }
  Launch k = launch("brains");
  k.in(in);
  Buffer out = k.out<U>(100 * 6);
  k.value(100);
  k.block = {128, 1, 1};
  k.run([&](const Results &results) {
    checkPairs(
        in, results.get<U>(out), 6, [](U bits) { return bf16.value(bits); },
        [](double x) { return bf16.nearest(x); },
        {[](double a, double b, double) { return a + b; },
         [](double a, double b, double) { return a - b; },
         [](double a, double b, double) { return a * b; },
         [](double a, double b, double c) { return a * b + c; },
         [](double a, double b, double) { return std::fmax(a, b); },
         [](double a, double b, double c) { return relu(a * b + c); }});
  });
}

} // namespace
