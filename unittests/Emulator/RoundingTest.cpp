//===- RoundingTest.cpp - Stores of values that differ by rounding --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Rounding.h"
#include "Emulator/Races/Tier.h"
#include "TestKernel.h"

#include <cmath>
#include <random>

using namespace penstock;
using namespace penstock::emu;

namespace {

/// 32 lanes compute %r2 from %f0, a number of their own, and all store it to one word.
Report run(const std::string &compute, const std::string &store = "st.shared.b32 [smem], %r2;",
           uint32_t threads = 32) {
  TestKernel kernel(TestKernel::wrap(R"(
.reg .b32 %t, %r<9>; .reg .f32 %f<9>; .reg .pred %p<4>; .reg .b64 %x<9>;
.shared .align 16 .b8 smem[64];
mov.u32 %t, %tid.x; ld.param.u64 %x0, [p0];
cvt.rn.f32.u32 %f0, %t; fma.rn.f32 %f0, %f0, 0f3DFCD6EA, 0f3F9D70A4;
)" + compute + store + " ret;",
                                     1));
  kernel.buffer(std::vector<uint32_t>(64));
  return kernel.run(1, threads);
}

/// x * x + shfl(x * x), then the other steps of a sum, with and without contraction.
std::string sumOfSquares(bool contracted) {
  std::string text = "mul.rn.f32 %f1, %f0, %f0; mov.b32 %r1, %f1;"
                     "shfl.sync.bfly.b32 %r3, %r1, 16, 31, -1; mov.b32 %f2, %r3;";
  text += contracted ? "fma.rn.f32 %f3, %f0, %f0, %f2;" : "add.rn.f32 %f3, %f1, %f2;";
  for (const char *step : {"8", "4", "2", "1"})
    text += std::string("mov.b32 %r1, %f3; shfl.sync.bfly.b32 %r3, %r1, ") + step +
            ", 31, -1; mov.b32 %f2, %r3; add.rn.f32 %r2, %f3, %f2; mov.b32 %f3, %r2;";
  return text;
}

std::optional<Tier> tierOfRace(const Report &report) {
  std::optional<Tier> tier;
  for (const Diagnostic &finding : report.findings)
    if (finding.code == EmuDataRace)
      tier = std::max(tier.value_or(Tier::Note), tierOf(finding));
  return tier;
}

TEST(Rounding, SumsOfContractedSquares) {
  EXPECT_EQ(tierOfRace(run(sumOfSquares(true))), Tier::Undefined);
  Report exact = run(sumOfSquares(false));
  EXPECT_FINDING(exact, EmuSameValue);
  EXPECT_EQ(tierOfRace(exact), std::nullopt) << text(exact);
}

TEST(Rounding, OtherDifferencesStayWrong) {
  // A lane's value is missing from its sum.
  EXPECT_EQ(tierOfRace(run(sumOfSquares(true) + "setp.eq.u32 %p0, %t, 7; mul.f32 %f4, %f0, %f0;"
                                                "@%p0 sub.rn.f32 %r2, %f3, %f4;")),
            Tier::Wrong);
  // Integers that look like close numbers.
  EXPECT_EQ(tierOfRace(run("add.u32 %r2, %t, 0x3f800000;")), Tier::Wrong);
  // Numbers that no arithmetic has rounded.
  EXPECT_EQ(tierOfRace(run("add.u32 %r2, %t, 0x3f800000;", "st.shared.f32 [smem], %r2;")),
            Tier::Wrong);
  // Two instructions.
  EXPECT_EQ(
      tierOfRace(run(sumOfSquares(true) + "setp.lt.u32 %p0, %t, 16; @%p0 st.shared.b32 [smem], "
                                          "%r2;",
                     "@!%p0 st.shared.b32 [smem], %r2;")),
      Tier::Wrong);
  // Blocks: the stores of another one may come much later.
  TestKernel kernel(TestKernel::wrap(R"(
.reg .b32 %t, %r<9>; .reg .f32 %f<9>; .reg .b64 %x<9>;
mov.u32 %t, %ctaid.x; ld.param.u64 %x0, [p0];
cvt.rn.f32.u32 %f0, %t; fma.rn.f32 %r2, %f0, 0f33800000, 0f3F800000; st.global.b32 [%x0], %r2; ret;)",
                                     1));
  kernel.buffer(std::vector<uint32_t>(64));
  EXPECT_EQ(tierOfRace(kernel.run(3, 1)), Tier::Wrong);
}

TEST(Rounding, OneOfBothTiersDoesNotHideTheOther) {
  // First sums that differ by rounding, then by the instruction of the same line another number.
  EXPECT_EQ(
      tierOfRace(run(sumOfSquares(true) + "setp.ge.u32 %p0, %t, 32; @%p0 add.rn.f32 %r2, %f3, %f3;",
                     "st.shared.b32 [smem], %r2;", 64)),
      Tier::Wrong);
}

TEST(Rounding, UnitsInTheLastPlace) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 2000; ++round) {
    float x = std::ldexp(1 + float(random() % 1000000) / 1e6f, int(random() % 200) - 110);
    if (random() % 2)
      x = -x;
    int steps = int(random() % 81) - 40;
    float y = x;
    for (int i = 0; i < std::abs(steps); ++i)
      y = std::nextafter(y, steps < 0 ? -INFINITY : INFINITY);
    uint8_t a[16], b[16];
    for (int i = 0; i < 4; ++i) {
      memcpy(a + 4 * i, &x, 4);
      memcpy(b + 4 * i, i == 2 ? &y : &x, 4);
    }
    bool close = !steps || (std::abs(steps) <= 32 && std::fabs(x) >= std::ldexp(1.f, -100) &&
                            std::fabs(y) >= std::ldexp(1.f, -100));
    EXPECT_EQ(differByRounding(a, b, 0, 0xffff), close) << x << " " << y;
    EXPECT_TRUE(differByRounding(a, b, 0, 0xf0ff));
    EXPECT_FALSE(differByRounding(a, b, 0, 0x0300));
  }
}

} // namespace
