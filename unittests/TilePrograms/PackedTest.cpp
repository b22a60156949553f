//===- PackedTest.cpp - Packed elements and powers of two -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every byte on every target, against tables and searches that share no code with the
// compiler.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <gtest/gtest.h>

#include <cmath>

using namespace penstock;

namespace {

const std::pair<const char *, Target> targets[] = {{"interpreter", Target::interpreter()},
                                                   {"native", Target::native()},
                                                   {"sm_90a", Target::sm_90a().emulated()},
                                                   {"sm_100a", Target::sm_100a().emulated()}};

constexpr float e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
constexpr float int4[] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};

TEST(PackedElements, HostTypesHoldTwoValues) {
  for (unsigned raw = 0; raw < 256; ++raw) {
    f4e2m1x2 f;
    f.raw = uint8_t(raw);
    EXPECT_EQ(f.low(), e2m1[raw & 15]);
    EXPECT_EQ(f.high(), e2m1[raw >> 4]);
    i4x2 i;
    i.raw = uint8_t(raw);
    EXPECT_EQ(float(i.low()), int4[raw & 15]);
    EXPECT_EQ(float(i.high()), int4[raw >> 4]);
    EXPECT_EQ(i4x2(i.low(), i.high()).raw, raw);
  }
}

// The nearest value; of two, the one with an even code.
TEST(PackedElements, FloatsAreRoundedToNearestEven) {
  for (int i = -1600; i <= 1600; ++i) {
    float x = float(i) / 128;
    unsigned best = 0;
    for (unsigned code = 0; code < 8; ++code) {
      float error = std::fabs(std::fabs(x) - e2m1[code]);
      float least = std::fabs(std::fabs(x) - e2m1[best]);
      if (error < least || (error == least && code % 2 == 0))
        best = code;
    }
    unsigned sign = std::signbit(x) ? 8 : 0;
    EXPECT_EQ(unsigned(f4e2m1x2(x, 0).raw), sign | best) << x;
    EXPECT_EQ(unsigned(f4e2m1x2(0, x).raw), (sign | best) << 4) << x;
  }
}

template <class P, class V, bool Shared> struct Unpack {
  int rows = 8;
  void operator()(Block &b, In<P, 2> packed, Out<V, 2> values) const {
    auto first = b.grid(ceil_div(packed.size(0), rows)) * rows;
    auto bytes = Shared ? b.template shared<P>(rows, 16) : b.template local<P>(rows, 16);
    auto out = b.local<V>(rows, 32);
    b.copy(packed.at(first, 0), bytes);
    b.unpack(bytes, out);
    b.copy(out, values.at(first, 0));
  }
};

template <class P, class V, bool Shared> void expectUnpacked(const float *table) {
  std::vector<P> packed(1024);
  for (size_t i = 0; i < packed.size(); ++i)
    packed[i].raw = uint8_t(i + i / 256); // all bytes at all positions in a word
  for (auto &[name, target] : targets) {
    SCOPED_TRACE(name);
    auto compiled = try_compile(Unpack<P, V, Shared>{}, target, {.name = "unpack"});
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    std::vector<V> values(2048, V(-77));
    auto found = compiled.kernel.try_launch({}, view(packed, {64, 16}), view(values, {64, 32}));
    ASSERT_TRUE(found.empty()) << to_text(found);
    int wrong = 0;
    for (size_t i = 0; i < packed.size(); ++i) {
      unsigned raw = packed[i].raw;
      wrong +=
          float(values[2 * i]) != table[raw & 15] || float(values[2 * i + 1]) != table[raw >> 4];
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(PackedElements, AreUnpackedToEveryType) {
  expectUnpacked<i4x2, i8, true>(int4);
  expectUnpacked<i4x2, i32, false>(int4);
  expectUnpacked<i4x2, f16, true>(int4);
  expectUnpacked<i4x2, bf16, false>(int4);
  expectUnpacked<i4x2, f32, true>(int4);
  expectUnpacked<f4e2m1x2, f16, false>(e2m1);
  expectUnpacked<f4e2m1x2, bf16, true>(e2m1);
  expectUnpacked<f4e2m1x2, f32, false>(e2m1);
}

/// The magnitudes of a format with 6 bits, by its definition: significands of \p mantissa bits, of
/// which those of the first two exponents have the same step.
std::vector<float> sixBitTable(int exponents, int mantissa, float smallest) {
  std::vector<float> table;
  for (int e = 0; e < 1 << exponents; ++e)
    for (int m = 0; m < 1 << mantissa; ++m)
      table.push_back(smallest * std::ldexp(float(e ? m + (1 << mantissa) : m), e ? e - 1 : 0));
  for (size_t i = 0; i < 32; ++i)
    table.push_back(-table[i]);
  return table;
}

// OCP MX formats, E2M3: 0.125 to 7.5, E3M2: 0.0625 to 28.
TEST(SixBitValues, HaveTheValuesOfTheirFormats) {
  auto e2m3 = sixBitTable(2, 3, 0.125f), e3m2 = sixBitTable(3, 2, 0.0625f);
  EXPECT_EQ(e2m3[31], 7.5f);
  EXPECT_EQ(e2m3[8], 1.0f);
  EXPECT_EQ(e3m2[31], 28.0f);
  EXPECT_EQ(e3m2[12], 1.0f);
  for (uint32_t code = 0; code < 64; ++code) {
    EXPECT_EQ(f6e2m3_packed::Format::toFloat(code), e2m3[code]);
    EXPECT_EQ(f6e3m2_packed::Format::toFloat(code), e3m2[code]);
  }
}

template <class P> void expectRounded(const std::vector<float> &table, float step) {
  for (int i = -1000; i <= 1000; ++i) {
    float x = float(i) * step;
    uint32_t best = 0;
    for (uint32_t code = 0; code < 32; ++code) {
      float error = std::fabs(std::fabs(x) - table[code]);
      float least = std::fabs(std::fabs(x) - table[best]);
      if (error < least || (error == least && code % 2 == 0))
        best = code;
    }
    EXPECT_EQ(P::Format::fromFloat(x), (std::signbit(x) ? 32u : 0u) | best) << x;
  }
  EXPECT_EQ(P::Format::fromFloat(INFINITY), 31u);
  EXPECT_EQ(P::Format::fromFloat(-1e30f), 63u);
}

TEST(SixBitValues, AreRoundedToNearestEven) {
  expectRounded<f6e2m3_packed>(sixBitTable(2, 3, 0.125f), 0.125f / 16);
  expectRounded<f6e3m2_packed>(sixBitTable(3, 2, 0.0625f), 0.0625f / 2);
}

// Four values take three bytes, the first one the lowest bits; neighbors keep their values.
TEST(SixBitValues, AreDenselyPacked) {
  std::vector<f6e2m3_packed> row(6);
  for (int i = 0; i < 8; ++i)
    set_packed_value(row.data(), i, -7.5f);
  for (auto &byte : row)
    EXPECT_EQ(byte.raw, 0xff);
  for (int i = 0; i < 8; ++i) {
    set_packed_value(row.data(), i, 1.0f); // code 8: bit 3
    uint64_t expected = ~uint64_t(0) & 0xffffffffffff;
    expected &= ~(uint64_t(63) << 6 * i);
    expected |= uint64_t(8) << 6 * i;
    uint64_t bytes = 0;
    for (int b = 0; b < 6; ++b)
      bytes |= uint64_t(row[size_t(b)].raw) << 8 * b;
    EXPECT_EQ(bytes, expected) << i;
    EXPECT_EQ(packed_value(row.data(), i), 1.0f);
    EXPECT_EQ(packed_value(row.data(), (i + 1) % 8), -7.5f);
    set_packed_value(row.data(), i, -7.5f);
  }
}

template <class P, class V, bool Shared> struct UnpackSixBits {
  void operator()(Block &b, In<P, 2> packed, Out<V, 2> values) const {
    auto first = b.grid(ceil_div(packed.size(0), 8)) * 8;
    auto bytes = Shared ? b.template shared<P>(8, 48) : b.template local<P>(8, 48);
    auto out = b.local<V>(8, 64);
    b.copy(packed.at(first, 0), bytes);
    b.unpack(bytes, out);
    b.copy(out, values.at(first, 0));
  }
};

// Each code at each of the four positions.
template <class P, class V, bool Shared>
void expectSixBitsUnpacked(const std::vector<float> &table) {
  std::vector<uint8_t> packed(16 * 48);
  std::vector<float> expected(16 * 64);
  for (size_t i = 0; i < expected.size(); ++i) {
    size_t code = (i * 7 + i / 64 * 5) % 64;
    expected[i] = table[code];
    for (size_t bit = 0; bit < 6; ++bit)
      packed[(6 * i + bit) / 8] |= uint8_t((code >> bit & 1) << (6 * i + bit) % 8);
  }
  for (auto &[name, target] : targets) {
    SCOPED_TRACE(name);
    auto compiled = try_compile(UnpackSixBits<P, V, Shared>{}, target, {.name = "unpack"});
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    std::vector<V> values(expected.size(), V(-77));
    auto found = compiled.kernel.try_launch(
        {}, view(reinterpret_cast<P *>(packed.data()), {16, 48}), view(values, {16, 64}));
    ASSERT_TRUE(found.empty()) << to_text(found);
    int wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      wrong += float(values[i]) != expected[i];
    EXPECT_EQ(wrong, 0);
  }
}

TEST(SixBitValues, AreUnpackedToEveryType) {
  auto e2m3 = sixBitTable(2, 3, 0.125f), e3m2 = sixBitTable(3, 2, 0.0625f);
  expectSixBitsUnpacked<f6e2m3_packed, f16, true>(e2m3);
  expectSixBitsUnpacked<f6e2m3_packed, f32, false>(e2m3);
  expectSixBitsUnpacked<f6e3m2_packed, bf16, true>(e3m2);
  expectSixBitsUnpacked<f6e3m2_packed, f32, true>(e3m2);
}

/// One tile of A times B^T with scales, 128 values of k.
template <class P> struct ScaledTile {
  static constexpr int bytes = std::is_same_v<P, f4e2m1x2> ? 64 : 96;
  void operator()(Block &b, In<P, 2> A, In<P, 2> B, In<f8e8m0, 4> scales, Out<f32, 2> C) const {
    b.grid(1);
    auto As = b.shared<P>(128, bytes), Bs = b.shared<P>(128, bytes);
    auto S = b.shared<f8e8m0>(1, 1, 32, 16);
    auto acc = b.local<f32>(128, 128);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.copy(scales.at(0, 0, 0, 0), S);
    b.fill(acc, 0);
    b.gemm(As, transposed(Bs), acc, {.scale_a = S, .scale_b = S});
    b.copy(acc, C.at(0, 0));
  }
};

// Each code at each position, times the identity and a scale of 2^5 for both operands.
template <class P> void expectScaled(const std::vector<float> &table, size_t one) {
  size_t bits = table.size() == 64 ? 6 : 4, row = 16 * bits;
  std::vector<uint8_t> a(128 * row), b(128 * row);
  std::vector<float> expected;
  auto set = [&](std::vector<uint8_t> &values, size_t r, size_t k, size_t code) {
    for (size_t bit = 0; bit < bits; ++bit)
      values[r * row + (k * bits + bit) / 8] |= uint8_t((code >> bit & 1) << (k * bits + bit) % 8);
  };
  for (size_t r = 0; r < 128; ++r) {
    set(b, r, r, one);
    for (size_t k = 0; k < 128; ++k) {
      size_t code = (k * 7 + r * 5) % table.size();
      set(a, r, k, code);
      expected.push_back(table[code] * 1024);
    }
  }
  std::vector<f8e8m0> scales(512);
  for (f8e8m0 &scale : scales)
    scale.raw = 127 + 5;
  for (Target target : {Target::sm_80(), Target::sm_90a(), Target::sm_120a()}) {
    SCOPED_TRACE(static_cast<int>(target.kind));
    auto compiled = try_compile(ScaledTile<P>{}, target.emulated());
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    std::vector<float> c(expected.size(), -77);
    auto bytes = static_cast<int64_t>(row);
    auto found = compiled.kernel.try_launch({}, view(reinterpret_cast<P *>(a.data()), {128, bytes}),
                                            view(reinterpret_cast<P *>(b.data()), {128, bytes}),
                                            view(scales, {1, 1, 32, 16}), view(c, {128, 128}));
    ASSERT_TRUE(found.empty()) << to_text(found);
    EXPECT_EQ(c, expected);
  }
}

TEST(PackedElements, AreScaledByThreads) {
  expectScaled<f4e2m1x2>({e2m1, e2m1 + 16}, 2);
  expectScaled<f6e2m3_packed>(sixBitTable(2, 3, 0.125f), 8);
  expectScaled<f6e3m2_packed>(sixBitTable(3, 2, 0.0625f), 12);
}

TEST(PackedElements, DoNotFitOtherShapes) {
  auto refused = try_compile(
      [](Block &b, In<i4x2, 2> A, Out<f32, 2> C) {
        b.grid(1);
        auto packed = b.shared<i4x2>(8, 16);
        auto values = b.local<f32>(8, 16);
        b.copy(A.at(0, 0), packed);
        b.unpack(packed, values);
        b.copy(values, C.at(0, 0));
      },
      Target::native(), {.name = "k"});
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.diagnostics[0].code, 1763u);
  EXPECT_NE(refused.diagnostics[0].message.find("`packed` (8x16 i4x2, shared)"), std::string::npos)
      << refused.diagnostics[0].message;
}

struct Powers {
  void operator()(Block &b, In<f8e8m0, 1> in, Out<f32, 1> wide, In<f32, 1> values,
                  Out<f8e8m0, 1> rounded) const {
    b.grid(1);
    auto bytes = b.local<f8e8m0>(256), results = b.local<f8e8m0>(256);
    auto floats = b.local<f32>(256);
    b.copy(in.at(0), bytes);
    b.set(floats, cast<f32>(bytes));
    b.copy(floats, wide.at(0));
    b.copy(values.at(0), floats);
    b.set(results, cast<f8e8m0>(floats));
    b.copy(results, rounded.at(0));
  }
};

// 2^(x - 127); 255 is NaN.
TEST(PowersOfTwo, AreConvertedOnEveryTarget) {
  std::vector<f8e8m0> in(256);
  std::vector<float> values(256);
  for (size_t i = 0; i < 256; ++i) {
    in[i].raw = uint8_t(i);
    // Between two powers, below, at and above the middle.
    values[i] = std::ldexp(i % 3 == 0 ? 1.25f : i % 3 == 1 ? 1.5f : 1.75f, int(i) - 128);
  }
  values[0] = std::ldexp(1.0f, -127); // itself
  values[1] = std::ldexp(1.5f, -127); // the middle to 2^-126 is above 2^-127
  values[2] = 0;
  values[3] = -8;
  values[4] = INFINITY;
  values[5] = NAN;
  for (auto &[name, target] : targets) {
    SCOPED_TRACE(name);
    auto compiled = try_compile(Powers{}, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    std::vector<float> wide(256, -77);
    std::vector<f8e8m0> rounded(256);
    auto found = compiled.kernel.try_launch({}, view(in, {256}), view(wide, {256}),
                                            view(values, {256}), view(rounded, {256}));
    ASSERT_TRUE(found.empty()) << to_text(found);
    for (int i = 0; i < 255; ++i)
      EXPECT_EQ(wide[size_t(i)], std::ldexp(1.0f, i - 127)) << i;
    EXPECT_TRUE(std::isnan(wide[255]));
    EXPECT_EQ(rounded[0].raw, 0);
    EXPECT_EQ(rounded[1].raw, 1);
    EXPECT_EQ(rounded[2].raw, 0);
    EXPECT_EQ(rounded[3].raw, 130);
    EXPECT_EQ(rounded[4].raw, 255);
    EXPECT_EQ(rounded[5].raw, 255);
    for (int i = 6; i < 256; ++i)
      EXPECT_EQ(int(rounded[size_t(i)].raw), i - 1 + (i % 3 != 0)) << i;
  }
}

// They have neither zero nor a sign: what is computed would not be one.
TEST(PowersOfTwo, AreNotComputedWith) {
  auto refused = try_compile(
      [](Block &b, In<f8e8m0, 1> A, Out<f8e8m0, 1> C) {
        b.grid(1);
        auto x = b.local<f8e8m0>(16);
        b.copy(A.at(0), x);
        b.set(x, x * x);
        b.copy(x, C.at(0));
      },
      Target::native(), {.name = "k"});
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.diagnostics[0].code, 1103u) << refused.diagnostics[0].message;
  EXPECT_EQ(refused.diagnostics[0].message, "an f8e8m0 is computed with");
}

} // namespace
