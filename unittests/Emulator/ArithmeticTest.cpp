//===- ArithmeticTest.cpp - Single instructions against plain C++ ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace penstock;
using namespace penstock::emu;

namespace {

/// Runs one instruction on 32 values of each input; %a %b %c are the inputs, %d
/// the result.
template <class D, class T>
std::vector<D> apply(const std::string &instruction, const std::string &typeD,
                     const std::string &typeT, std::vector<T> a, std::vector<T> b = {},
                     std::vector<T> c = {}) {
  a.resize(32);
  b.resize(32);
  c.resize(32);
  std::string body = ".reg .b64 %x<9>; .reg .b32 %t; .reg ." + typeD + " %d; .reg ." + typeT +
                     " %a, %b, %c; .reg .pred %p;\n";
  body += "mov.u32 %t, %tid.x;\n";
  const char *names[] = {"%a", "%b", "%c"};
  for (int i = 0; i < 3; ++i)
    body += "ld.param.u64 %x0, [p" + std::to_string(i) + "]; mad.wide.u32 %x0, %t, " +
            std::to_string(sizeof(T)) + ", %x0; ld.global." + typeT + " " + names[i] + ", [%x0];\n";
  body += instruction + "\nld.param.u64 %x0, [p3]; mad.wide.u32 %x0, %t, " +
          std::to_string(sizeof(D)) + ", %x0; st.global." + typeD + " [%x0], %d;\nret;\n";
  TestKernel kernel(TestKernel::wrap(body, 4));
  kernel.buffer(a);
  kernel.buffer(b);
  kernel.buffer(c);
  uint64_t out = kernel.emptyBuffer(32 * sizeof(D));
  Report report = kernel.run(1, 32);
  EXPECT_CLEAN(report);
  return kernel.read<D>(out, 32);
}

const std::vector<int32_t> ints = {
    0,  1,  -1, 7, -7, 123456, INT32_MAX, INT32_MIN, 100, -100, 3, 0x12345678, int32_t(0x80000001),
    42, -42};
const std::vector<int32_t> others = {5, -1, 3, -3, 2, 1000, -1, -1, 10, 7, 31, 4, 9, -6, 6};

TEST(Arithmetic, SignedIntegers) {
  auto each = [&](const std::string &op, auto expected) {
    auto got = apply<int32_t, int32_t>(op, "s32", "s32", ints, others);
    for (size_t i = 0; i < ints.size(); ++i)
      EXPECT_EQ(got[i], expected(ints[i], others[i])) << op << " " << i;
  };
  each("add.s32 %d, %a, %b;", [](int64_t a, int64_t b) { return int32_t(uint32_t(a + b)); });
  each("sub.s32 %d, %a, %b;", [](int64_t a, int64_t b) { return int32_t(uint32_t(a - b)); });
  each("mul.lo.s32 %d, %a, %b;", [](int64_t a, int64_t b) { return int32_t(uint32_t(a * b)); });
  each("mul.hi.s32 %d, %a, %b;", [](int64_t a, int64_t b) { return int32_t((a * b) >> 32); });
  each("div.s32 %d, %a, %b;", [](int64_t a, int64_t b) { return int32_t(a / b); });
  each("rem.s32 %d, %a, %b;", [](int64_t a, int64_t b) { return int32_t(a % b); });
  each("min.s32 %d, %a, %b;", [](int64_t a, int64_t b) { return int32_t(a < b ? a : b); });
  // PTX ISA 8.0, "min": with .relu a negative result becomes 0.
  each("min.relu.s32 %d, %a, %b;",
       [](int64_t a, int64_t b) { return int32_t(std::max<int64_t>(std::min(a, b), 0)); });
  each("max.relu.s32 %d, %a, %b;",
       [](int64_t a, int64_t b) { return int32_t(std::max<int64_t>(std::max(a, b), 0)); });
  each("add.sat.s32 %d, %a, %b;", [](int64_t a, int64_t b) {
    return int32_t(std::min<int64_t>(INT32_MAX, std::max<int64_t>(INT32_MIN, a + b)));
  });
  each("shr.s32 %d, %a, 3;", [](int64_t a, int64_t) { return int32_t(a >> 3); });
  each("mad.lo.s32 %d, %a, %b, 17;",
       [](int64_t a, int64_t b) { return int32_t(uint32_t(a * b + 17)); });
}

TEST(Arithmetic, BitOperations) {
  auto each = [&](const std::string &op, auto expected) {
    auto got = apply<int32_t, int32_t>(op, "s32", "s32", ints, others);
    for (size_t i = 0; i < ints.size(); ++i)
      EXPECT_EQ(uint32_t(got[i]), uint32_t(expected(uint32_t(ints[i]), uint32_t(others[i]))))
          << op << " " << i;
  };
  each("popc.b32 %d, %a;", [](uint32_t a, uint32_t) { return __builtin_popcount(a); });
  each("clz.b32 %d, %a;", [](uint32_t a, uint32_t) { return a ? __builtin_clz(a) : 32; });
  each("bfe.u32 %d, %a, 4, 8;", [](uint32_t a, uint32_t) { return a >> 4 & 0xff; });
  each("bfe.s32 %d, %a, 4, 8;",
       [](uint32_t a, uint32_t) { return uint32_t(int32_t(int8_t(a >> 4 & 0xff))); });
  each("bfi.b32 %d, %a, %b, 8, 12;",
       [](uint32_t a, uint32_t b) { return (b & ~0xfff00u) | (a & 0xfff) << 8; });
  each("lop3.b32 %d, %a, %b, 255, 0x96;", [](uint32_t a, uint32_t b) { return a ^ b ^ 255; });
  each("prmt.b32 %d, %a, %b, 0x5410;",
       [](uint32_t a, uint32_t b) { return (a & 0xffff) | b << 16; });
  each("shf.l.wrap.b32 %d, %a, %b, 8;", [](uint32_t a, uint32_t b) { return b << 8 | a >> 24; });
  each("shf.r.clamp.b32 %d, %a, %b, 40;", [](uint32_t, uint32_t b) { return b; });
  each("mad24.lo.u32 %d, %a, %b, 5;", [](uint32_t a, uint32_t b) {
    return uint32_t(uint64_t(a & 0xffffff) * (b & 0xffffff) + 5);
  });
  // The second set bit from bit 4 upwards.
  each("fns.b32 %d, %a, 4, 2;", [](uint32_t a, uint32_t) {
    unsigned seen = 0;
    for (unsigned i = 4; i < 32; ++i)
      if ((a >> i & 1) && ++seen == 2)
        return i;
    return 0xffffffffu;
  });
  each("shl.b32 %d, %a, 33;", [](uint32_t, uint32_t) { return 0u; });
  each("brev.b32 %d, %a;", [](uint32_t a, uint32_t) {
    uint32_t r = 0;
    for (int i = 0; i < 32; ++i)
      r |= (a >> i & 1) << (31 - i);
    return r;
  });
}

TEST(Arithmetic, WideAndCarry) {
  auto got = apply<int64_t, int32_t>("mul.wide.s32 %d, %a, %b;", "s64", "s32", ints, others);
  for (size_t i = 0; i < ints.size(); ++i)
    EXPECT_EQ(got[i], int64_t(ints[i]) * others[i]);
  // A 64-bit sum from 32-bit halves.
  auto sum = apply<uint64_t, uint64_t>(
      ".reg .b32 %l<9>; mov.b64 {%l0, %l1}, %a; mov.b64 {%l2, %l3}, %b;\n"
      "add.cc.u32 %l4, %l0, %l2; addc.u32 %l5, %l1, %l3;\n"
      "mov.b64 %d, {%l4, %l5};",
      "u64", "u64", {0xffffffffull, 0x123456789abcdefull}, {1ull, 0xfedcba9876543210ull});
  EXPECT_EQ(sum[0], 0x100000000ull);
  EXPECT_EQ(sum[1], 0x123456789abcdefull + 0xfedcba9876543210ull);
}

/// The same for any number of elements.
template <class T>
std::vector<T> applyAll(const std::string &instruction, const std::string &type,
                        const std::vector<T> &a, const std::vector<T> &b, const std::vector<T> &c) {
  std::vector<T> all;
  for (size_t i = 0; i < a.size(); i += 32) {
    size_t end = std::min(a.size(), i + 32);
    auto part = [&](const std::vector<T> &of) {
      return std::vector<T>(of.begin() + long(i), of.begin() + long(end));
    };
    std::vector<T> results = apply<T, T>(instruction, type, type, part(a), part(b), part(c));
    all.insert(all.end(), results.begin(), results.begin() + long(end - i));
  }
  return all;
}

/// mad.cc and madc against 128-bit arithmetic, with each carry in and the carry out as a value.
template <class T> void checkMadWithCarry(const std::string &type) {
  constexpr unsigned bits = sizeof(T) * 8;
  using Unsigned = std::make_unsigned_t<T>;
  std::vector<T> edges = {0,
                          1,
                          T(-1),
                          std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::max(),
                          T(0x123456789abcdef0),
                          T(0xfedcba9876543210),
                          T(0x8000000080000001)};
  std::vector<T> a, b, c;
  for (T x : edges)
    for (T y : edges)
      for (T z : {edges[0], edges[2], edges[6]}) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
  uint64_t state = 1; // xorshift
  auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return T(state);
  };
  for (unsigned i = 0; i < 200; ++i) {
    a.push_back(random());
    b.push_back(random());
    c.push_back(random());
  }
  std::string wide = "u" + std::to_string(bits);
  for (std::string name : {"mad", "madc"})
    for (bool high : {false, true})
      for (bool writes : {true, false})
        for (unsigned in : {0u, 1u}) {
          if (name == "mad" && !writes)
            continue;
          std::string op = name + (high ? ".hi" : ".lo") + (writes ? ".cc." : ".") + type;
          // All ones plus `in` sets the carry to `in`.
          std::string text = ".reg .b" + std::to_string(bits) + " %h<4>; mov.b" +
                             std::to_string(bits) + " %h0, -1;\nadd.cc." + wide + " %h1, %h0, " +
                             std::to_string(in) + ";\n" + op + " %h2, %a, %b, %c; addc." + wide +
                             " %h3, 0, 0;\n";
          auto value =
              applyAll<T>(text + "mov.b" + std::to_string(bits) + " %d, %h2;", type, a, b, c);
          auto carry =
              applyAll<T>(text + "mov.b" + std::to_string(bits) + " %d, %h3;", type, a, b, c);
          for (size_t i = 0; i < a.size(); ++i) {
            __int128 product = __int128(a[i]) * b[i];
            if (!std::is_signed_v<T>)
              product = __int128((unsigned __int128)(Unsigned(a[i])) * Unsigned(b[i]));
            Unsigned half = Unsigned(high ? product >> bits : product);
            unsigned __int128 sum =
                (unsigned __int128)(half) + Unsigned(c[i]) + (name == "madc" ? in : 0);
            unsigned carried = writes ? unsigned(sum >> bits) : in;
            EXPECT_EQ(value[i], T(Unsigned(sum))) << op << " " << i << ", carry in " << in;
            EXPECT_EQ(carry[i], T(carried)) << "carry of " << op << " " << i << ", in " << in;
          }
        }
}

TEST(Arithmetic, MadWithCarry) {
  checkMadWithCarry<uint32_t>("u32");
  checkMadWithCarry<int32_t>("s32");
  checkMadWithCarry<uint64_t>("u64");
  checkMadWithCarry<int64_t>("s64");
}

TEST(Arithmetic, MadWithCarryMultipliesLongNumbers) {
  // A product of 128 bits from 32-bit halves, as Payne-Hanek reduction of sin and cos computes it.
  std::vector<uint64_t> a = {~0ull, 0x123456789abcdef0, 0xfedcba9876543210, 1},
                        b = {~0ull, 0xfedcba9876543210, 0x8000000080000001, ~0ull};
  auto high = apply<uint64_t, uint64_t>(
      ".reg .b32 %l<16>; mov.b64 {%l0, %l1}, %a; mov.b64 {%l2, %l3}, %b;\n"
      "mul.lo.u32 %l4, %l0, %l2; mul.hi.u32 %l5, %l0, %l2;\n"
      "mad.lo.cc.u32 %l5, %l1, %l2, %l5; madc.hi.u32 %l6, %l1, %l2, 0;\n"
      "mad.lo.cc.u32 %l5, %l0, %l3, %l5; madc.hi.cc.u32 %l6, %l0, %l3, %l6; addc.u32 %l7, 0, 0;\n"
      "mad.lo.cc.u32 %l6, %l1, %l3, %l6; madc.hi.u32 %l7, %l1, %l3, %l7;\n"
      "mov.b64 %d, {%l6, %l7};",
      "u64", "u64", a, b);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(high[i], uint64_t((unsigned __int128)(a[i]) * b[i] >> 64));
}

TEST(Arithmetic, Floats) {
  std::vector<float> a = {1.5f, -2.25f, 1e30f, 3.0f, -0.0f, 1e-40f, 0.1f},
                     b = {2.0f, 3.0f, 1e30f, 0.0f, 0.0f, 1.0f, 0.2f},
                     c = {1.0f, -1.0f, 0.0f, 5.0f, 0.0f, 0.0f, -0.02f};
  auto add = apply<float, float>("add.f32 %d, %a, %b;", "f32", "f32", a, b);
  auto fma = apply<float, float>("fma.rn.f32 %d, %a, %b, %c;", "f32", "f32", a, b, c);
  auto ftz = apply<float, float>("mul.ftz.f32 %d, %a, %b;", "f32", "f32", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(add[i], a[i] + b[i]);
    EXPECT_EQ(fma[i], std::fma(a[i], b[i], c[i]));
  }
  EXPECT_EQ(ftz[5], 0.0f);
  auto down =
      apply<float, float>("add.rm.f32 %d, %a, %b;", "f32", "f32", {1.0f, -1.0f}, {1e-10f, -1e-10f});
  EXPECT_EQ(down[0], 1.0f);
  EXPECT_EQ(down[1], std::nextafter(-1.0f, -2.0f));
  auto sat = apply<float, float>("add.sat.f32 %d, %a, %b;", "f32", "f32", {0.75f, -3.0f, NAN},
                                 {0.5f, 1.0f, 1.0f});
  EXPECT_EQ(sat[0], 1.0f);
  EXPECT_EQ(sat[1], 0.0f);
  EXPECT_EQ(sat[2], 0.0f);
}

TEST(Arithmetic, Conversions) {
  auto toInt = apply<int32_t, float>("cvt.rzi.s32.f32 %d, %a;", "s32", "f32",
                                     {1.9f, -1.9f, 1e20f, -1e20f, NAN});
  EXPECT_EQ(toInt[0], 1);
  EXPECT_EQ(toInt[1], -1);
  EXPECT_EQ(toInt[2], INT32_MAX);
  EXPECT_EQ(toInt[3], INT32_MIN);
  EXPECT_EQ(toInt[4], 0);
  auto nearest =
      apply<int32_t, float>("cvt.rni.s32.f32 %d, %a;", "s32", "f32", {0.5f, 1.5f, 2.5f, -0.5f});
  EXPECT_EQ(nearest[0], 0);
  EXPECT_EQ(nearest[1], 2);
  EXPECT_EQ(nearest[2], 2);
  EXPECT_EQ(nearest[3], 0);
  auto narrow = apply<int32_t, int32_t>("cvt.s32.s8 %d, %a;", "s32", "s32", {0x7f, 0x80, 0x1ff});
  EXPECT_EQ(narrow[0], 127);
  EXPECT_EQ(narrow[1], -128);
  EXPECT_EQ(narrow[2], -1);
  auto clamp = apply<int32_t, int32_t>("cvt.sat.u8.s32 %d, %a;", "s32", "s32", {-5, 300, 17});
  EXPECT_EQ(clamp[0], 0);
  EXPECT_EQ(clamp[1], 255);
  EXPECT_EQ(clamp[2], 17);
  // 1.0 and 2.0 packed: the first source is the upper half.
  auto packed =
      apply<uint32_t, float>("cvt.rn.bf16x2.f32 %d, %a, %b;", "b32", "f32", {1.0f}, {2.0f});
  EXPECT_EQ(packed[0], 0x3f804000u);
  auto half =
      apply<uint32_t, float>("cvt.rn.f16x2.f32 %d, %a, %b;", "b32", "f32", {1.0f}, {65504.0f});
  EXPECT_EQ(half[0], 0x3c007bffu);
}

TEST(Arithmetic, HalfPrecision) {
  // 1 + 2^-11 is a tie in f16 and goes to even; fma sees the exact product.
  auto sum = apply<uint16_t, uint16_t>("add.f16 %d, %a, %b;", "b16", "b16", {0x3c00, 0x3c01},
                                       {0x1000, 0x1000});
  EXPECT_EQ(sum[0], 0x3c00);
  EXPECT_EQ(sum[1], 0x3c02);
  auto bf = apply<uint16_t, uint16_t>("fma.rn.bf16 %d, %a, %b, %c;", "b16", "b16", {0x3f80},
                                      {0x4000}, {0x3f80});
  EXPECT_EQ(bf[0], 0x4040); // 1 * 2 + 1
}

TEST(Arithmetic, PredicatesAndSelection) {
  auto got = apply<int32_t, int32_t>("setp.lt.s32 %p, %a, %b; selp.s32 %d, 1, 2, %p;", "s32", "s32",
                                     ints, others);
  auto unsignedLess = apply<int32_t, int32_t>("setp.lo.s32 %p, %a, %b; selp.s32 %d, 1, 2, %p;",
                                              "s32", "s32", ints, others);
  for (size_t i = 0; i < ints.size(); ++i) {
    EXPECT_EQ(got[i], ints[i] < others[i] ? 1 : 2);
    EXPECT_EQ(unsignedLess[i], uint32_t(ints[i]) < uint32_t(others[i]) ? 1 : 2);
  }
  auto nan = apply<int32_t, float>("setp.ltu.f32 %p, %a, %b; selp.s32 %d, 1, 0, %p;", "s32", "f32",
                                   {NAN, 1.0f, 2.0f}, {1.0f, 2.0f, 1.0f});
  EXPECT_EQ(nan[0], 1);
  EXPECT_EQ(nan[1], 1);
  EXPECT_EQ(nan[2], 0);
}

/// f32 arithmetic with operands of 16 bits, which sm_100 has.
TEST(Arithmetic, MixedPrecision) {
  // 1.5, -2.25, 65504 and the smallest subnormal number, in both formats' bits.
  const std::vector<uint32_t> halves = {0x3e00, 0xc080, 0x7bff, 0x0001};
  const std::vector<uint32_t> bfloats = {0x3fc0, 0xc010, 0x4780, 0x0001};
  const std::vector<float> addends = {0.25f, 0x1p-20f, -1.0f, 1.0f};
  const std::vector<float> fromHalf = {1.5f, -2.25f, 65504.0f, 0x1p-24f};
  const std::vector<float> fromBfloat = {1.5f, -2.25f, 65536.0f, 0x1p-133f};
  std::vector<uint32_t> c;
  for (float value : addends)
    c.push_back(std::bit_cast<uint32_t>(value));
  auto each = [&](const std::string &type, const std::vector<uint32_t> &a,
                  const std::vector<float> &x) {
    auto run = [&](const std::string &op) {
      return apply<float, uint32_t>("{ .reg .b16 h; cvt.u16.u32 h, %a; " + op + " }", "f32", "b32",
                                    a, {}, c);
    };
    auto add = run("add.f32" + type + " %d, h, %c;"),
         sub = run("sub.rn.f32" + type + " %d, h, %c;");
    auto fma = run("fma.rn.f32" + type + " %d, h, h, %c;");
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(add[i], x[i] + addends[i]) << type << i;
      EXPECT_EQ(sub[i], x[i] - addends[i]) << type << i;
      EXPECT_EQ(fma[i], std::fma(x[i], x[i], addends[i])) << type << i;
    }
  };
  each(".f16", halves, fromHalf);
  each(".bf16", bfloats, fromBfloat);
}

} // namespace
