//===- MmaScaleTest.cpp - Block-scaled mma.sync ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against plain loops over the matrices. The registers of lanes follow the figures and
// formulas of the PTX ISA, in units of values. Values have few bits, so that sums are exact
// in any order.
//
//===----------------------------------------------------------------------===//
#include "TestKernel.h"

#include <cmath>

using namespace penstock;
using namespace penstock::emu;

namespace {

struct Random {
  uint32_t state = 11;
  uint32_t below(uint32_t n) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % n;
  }
};

/// A format with a sign, an exponent and a mantissa; bias 2^(e-1) - 1.
struct Format {
  const char *name;
  int exponent, mantissa;
  int shift = 0; ///< position of the value in its byte

  double value(uint32_t code) const {
    int bias = (1 << (exponent - 1)) - 1;
    uint32_t e = code >> mantissa & ((1u << exponent) - 1);
    double m = double(code & ((1u << mantissa) - 1)) / (1 << mantissa);
    double magnitude = e ? std::ldexp(1 + m, int(e) - bias) : std::ldexp(m, 1 - bias);
    return code >> (exponent + mantissa) & 1 ? -magnitude : magnitude;
  }
  /// A code of a value between 1/2 and 4, or of 0.
  uint32_t any(Random &random) const {
    for (;;) {
      uint32_t code = random.below(1u << (1 + exponent + mantissa));
      double magnitude = std::fabs(value(code));
      if (magnitude == 0 || (magnitude >= 0.5 && magnitude <= 4))
        return code;
    }
  }
};

constexpr Format formats[] = {
    {"e4m3", 4, 3}, {"e5m2", 5, 2}, {"e2m3", 2, 3}, {"e3m2", 3, 2}, {"e2m1", 2, 1, 2}};
constexpr Format packedE2m1 = {"e2m1", 2, 1};

struct Selector {
  unsigned byte = 0, thread = 0;
  std::string text() const {
    return "{" + std::to_string(byte) + ", " + std::to_string(thread) + "}";
  }
};

/// One instruction: its name after `mma.sync.aligned`, k, the bits of an element in a register, and
/// the number of scales of a row.
struct Instruction {
  std::string name;
  Format a, b;
  unsigned k, bits, scales;
  bool powers; ///< UE8M0 scales, else UE4M3
  Selector selectA, selectB;
  bool inRegisters = false; ///< the selectors
};

/// Loads registers of each lane from four buffers: 4 of A, 2 of B, 2 of scales and 4 of C.
std::string textOf(const Instruction &i) {
  std::string body = R"(
.reg .b32 %t, %a<4>, %b<2>, %s<2>; .reg .f32 %c<4>, %d<4>; .reg .b16 %h<4>; .reg .b64 %x<9>;
mov.u32 %t, %tid.x;
ld.param.u64 %x0, [p0]; mad.wide.u32 %x1, %t, 16, %x0;
ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%x1];
ld.param.u64 %x0, [p1]; mad.wide.u32 %x1, %t, 8, %x0; ld.global.v2.b32 {%b0, %b1}, [%x1];
ld.param.u64 %x0, [p2]; mad.wide.u32 %x1, %t, 8, %x0; ld.global.v2.b32 {%s0, %s1}, [%x1];
ld.param.u64 %x0, [p3]; mad.wide.u32 %x1, %t, 16, %x0;
ld.global.v4.f32 {%c0, %c1, %c2, %c3}, [%x1];
)";
  std::string a = i.selectA.text(), b = i.selectB.text();
  if (i.inRegisters) {
    unsigned values[] = {i.selectA.byte, i.selectA.thread, i.selectB.byte, i.selectB.thread};
    for (unsigned j = 0; j < 4; ++j)
      body += "mov.b16 %h" + std::to_string(j) + ", " + std::to_string(values[j]) + ";\n";
    a = "{%h0, %h1}";
    b = "{%h2, %h3}";
  }
  return body + "mma.sync.aligned." + i.name +
         " {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3}, %s0, " +
         a + ", {%s1}, " + b + ";\nst.global.v4.f32 [%x1], {%d0, %d1, %d2, %d3}; ret;";
}

std::string kernelOf(const Instruction &i) { return TestKernel::wrap(textOf(i), 4, "", "sm_120a"); }

/// Scales of \p rows rows in the word of each lane that the selector names; all other bytes are
/// NaN.
std::vector<double> makeScales(Random &random, const Instruction &i, const Selector &select,
                               bool left, std::vector<uint32_t> &words) {
  unsigned rows = left ? 16 : 8;
  std::vector<double> values(rows * i.scales);
  words.assign(32, 0xffffffff);
  for (unsigned row = 0; row < rows; ++row) {
    // A: lanes 0 and 1 of a quad, or 2 and 3, have rows r and r + 8. B: one lane of each quad.
    unsigned lane = left ? row % 8 * 4 + 2 * select.thread + row / 8 : row * 4 + select.thread;
    for (unsigned s = 0; s < i.scales; ++s) {
      uint32_t code;
      double value;
      if (i.powers) {
        code = 126 + random.below(3);
        value = std::ldexp(1.0, int(code) - 127);
      } else {
        code = (6 + random.below(2)) << 3 | random.below(8); // 1/2 to 2
        value = Format{"", 4, 3}.value(code);
        code |= random.below(2) << 7; // the sign is ignored
      }
      values[row * i.scales + s] = value;
      uint32_t shift = 8 * (select.byte + s);
      words[lane] = (words[lane] & ~(0xffu << shift)) | code << shift;
    }
  }
  return values;
}

void expectProduct(const Instruction &i) {
  SCOPED_TRACE(i.name + " " + i.selectA.text() + " " + i.selectB.text());
  Random random;
  unsigned per = 32 / i.bits;
  std::vector<uint32_t> a(16 * i.k), b(8 * i.k);
  for (uint32_t &code : a)
    code = i.a.any(random);
  for (uint32_t &code : b)
    code = i.b.any(random);
  std::vector<uint32_t> wordsA(32 * 4), wordsB(32 * 2), scaleA, scaleB, scales(64);
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned e = 0; e < per; ++e) {
      for (unsigned r = 0; r < 4; ++r) {
        // Registers 0 and 2 have row t / 4, 1 and 3 the row 8 below; 2 and 3 the second half of k.
        unsigned row = t / 4 + r % 2 * 8, k = r / 2 * (i.k / 2) + t % 4 * per + e;
        wordsA[t * 4 + r] |= a[row * i.k + k] << i.a.shift << (i.bits * e);
      }
      for (unsigned r = 0; r < 2; ++r) {
        unsigned k = r * (i.k / 2) + t % 4 * per + e;
        wordsB[t * 2 + r] |= b[t / 4 * i.k + k] << i.b.shift << (i.bits * e);
      }
    }
  std::vector<double> sa = makeScales(random, i, i.selectA, true, scaleA),
                      sb = makeScales(random, i, i.selectB, false, scaleB);
  std::vector<float> c(128);
  for (unsigned t = 0; t < 32; ++t) {
    scales[2 * t] = scaleA[t];
    scales[2 * t + 1] = scaleB[t];
  }
  for (float &value : c)
    value = float(int(random.below(17)) - 8);
  TestKernel kernel(kernelOf(i));
  kernel.buffer(wordsA);
  kernel.buffer(wordsB);
  kernel.buffer(scales);
  uint64_t out = kernel.buffer(c);
  Report report = kernel.run(1, 32);
  EXPECT_CLEAN(report);
  auto got = kernel.read<float>(out, 128);
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned r = 0; r < 4; ++r) {
      unsigned row = t / 4 + r / 2 * 8, column = t % 4 * 2 + r % 2;
      double sum = c[t * 4 + r];
      for (unsigned k = 0; k < i.k; ++k) {
        unsigned block = k / (i.k / i.scales);
        sum += i.a.value(a[row * i.k + k]) * sa[row * i.scales + block] *
               i.b.value(b[column * i.k + k]) * sb[column * i.scales + block];
      }
      ASSERT_EQ(double(got[t * 4 + r]), sum) << "row " << row << " column " << column;
    }
}

Instruction mx8(const Format &a, const Format &b, Selector selectA = {}, Selector selectB = {}) {
  return {std::string("m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.") + a.name +
              "." + b.name + ".f32.ue8m0",
          a,
          b,
          32,
          8,
          1,
          true,
          selectA,
          selectB};
}

Instruction fp4(const std::string &kind, unsigned scales, bool powers, Selector selectA = {},
                Selector selectB = {}) {
  return {"m16n8k64.row.col.kind::" + kind + ".f32.e2m1.e2m1.f32." + (powers ? "ue8m0" : "ue4m3"),
          packedE2m1,
          packedE2m1,
          64,
          4,
          scales,
          powers,
          selectA,
          selectB};
}

TEST(MmaScale, MultipliesAllPairsOfNarrowTypes) {
  for (const Format &a : formats)
    for (const Format &b : formats)
      expectProduct(mx8(a, b));
}

TEST(MmaScale, SelectorsNameBytesAndLanes) {
  for (unsigned threadA = 0; threadA < 2; ++threadA)
    for (unsigned threadB = 0; threadB < 4; ++threadB)
      for (unsigned byteA = 0; byteA < 4; ++byteA) {
        unsigned byteB = 3 - byteA;
        expectProduct(mx8(formats[0], formats[1], {byteA, threadA}, {byteB, threadB}));
        if (byteA % 2 == 0) {
          byteB = 2 - byteA;
          expectProduct(
              fp4("mxf4.block_scale.scale_vec::2X", 2, true, {byteA, threadA}, {byteB, threadB}));
          expectProduct(fp4("mxf4nvf4.block_scale.scale_vec::2X", 2, true, {byteA, threadA},
                            {byteB, threadB}));
        }
        if (byteA == 0)
          expectProduct(
              fp4("mxf4nvf4.block_scale.scale_vec::4X", 4, false, {0, threadA}, {0, threadB}));
      }
}

TEST(MmaScale, HasDefaultsAndSelectorsInRegisters) {
  Instruction eight = mx8(formats[2], formats[4], {3, 1}, {2, 3});
  eight.name = "kind::mxf8f6f4.block_scale.m16n8k32.row.col.f32.e2m3.e2m1.f32.ue8m0";
  eight.inRegisters = true;
  expectProduct(eight);
  Instruction four = fp4("mxf4.block_scale", 2, true, {2, 1}, {0, 2});
  four.inRegisters = true;
  expectProduct(four);
}

/// Runs with arbitrary operands.
Report runAny(const std::string &text) {
  TestKernel kernel(TestKernel::wrap(text, 4, "", "sm_120a"));
  for (size_t words : {4, 2, 2, 4})
    kernel.buffer(std::vector<uint32_t>(32 * words, 0x7f7f7f7f));
  return kernel.run(1, 32);
}

TEST(MmaScale, RejectsIllegalSelectors) {
  auto run = [](Instruction i) {
    i.inRegisters = true;
    return runAny(textOf(i));
  };
  const std::string two = "mxf4.block_scale.scale_vec::2X",
                    four = "mxf4nvf4.block_scale.scale_vec::4X";
  EXPECT_CLEAN(run(mx8(formats[0], formats[0], {3, 1}, {3, 3})));
  EXPECT_FINDING(run(mx8(formats[0], formats[0], {4, 0})), EmuIllegalOperand);
  EXPECT_FINDING(run(mx8(formats[0], formats[0], {0, 2})), EmuIllegalOperand);
  EXPECT_FINDING(run(mx8(formats[0], formats[0], {}, {0, 4})), EmuIllegalOperand);
  EXPECT_FINDING(run(fp4(two, 2, true, {1, 0})), EmuIllegalOperand);
  EXPECT_FINDING(run(fp4(two, 2, true, {}, {3, 0})), EmuIllegalOperand);
  EXPECT_FINDING(run(fp4(four, 4, false, {2, 0})), EmuIllegalOperand);
  EXPECT_FINDING(run(fp4(four, 4, false, {}, {1, 0})), EmuIllegalOperand);
  // Of half of the lanes only.
  Instruction i = mx8(formats[0], formats[0]);
  i.inRegisters = true;
  std::string body = textOf(i), constant = "mov.b16 %h1, 0;";
  size_t at = body.find(constant);
  ASSERT_NE(at, std::string::npos);
  body.replace(at, constant.size(), "{ .reg .b32 %o; shr.u32 %o, %t, 4; cvt.u16.u32 %h1, %o; }");
  EXPECT_FINDING(runAny(body), EmuIllegalOperand);
}

TEST(MmaScale, NeedsTheArchitectureAndItsTypes) {
  auto codes = [](const std::string &text) {
    Device device;
    std::vector<Diagnostic> diagnostics;
    EXPECT_FALSE(device.load(text, "test.ptx", diagnostics));
    return diagnostics.empty() ? 0u : unsigned(diagnostics[0].code);
  };
  Instruction i = mx8(formats[0], formats[0]);
  for (const char *target : {"sm_90a", "sm_100a", "sm_120"})
    EXPECT_EQ(codes(TestKernel::wrap(textOf(i), 4, "", target)), unsigned(PtxTarget)) << target;
  auto with = [&](const char *name) {
    Instruction other = i;
    other.name = name;
    return codes(kernelOf(other));
  };
  // The combinations that ptxas rejects, too.
  EXPECT_EQ(with("m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue4m3"),
            unsigned(PtxUnsupportedModifier));
  EXPECT_EQ(with("m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0"),
            unsigned(PtxUnsupportedModifier));
  EXPECT_EQ(with("m16n8k64.row.col.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"),
            unsigned(PtxUnsupportedModifier));
  EXPECT_EQ(with("m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32."
                 "ue4m3"),
            unsigned(PtxUnsupportedModifier));
}

} // namespace
