//===- GemmTest.cpp - Whole GEMMs on the emulator -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Gemm.h"
#include "TestKernel.h"

using namespace penstock;
using namespace penstock::emu;

namespace {

std::string kernelText(const char *name) {
  return readText(std::string(PENSTOCK_KERNELS) + "/" + name);
}

std::vector<LaunchOptions> timings() {
  std::vector<LaunchOptions> list(2);
  list[1].timing = Timing::Lazy;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    LaunchOptions options;
    options.timing = Timing::Random;
    options.seed = seed;
    list.push_back(options);
  }
  for (uint32_t target : {0u, 5u, 17u}) {
    LaunchOptions options;
    options.timing = Timing::Targeted;
    options.target = target;
    list.push_back(options);
  }
  for (int32_t warp = 0; warp < 4; ++warp) {
    LaunchOptions options;
    options.starvedWarp = warp;
    list.push_back(options);
  }
  return list;
}

TEST(Gemm, BlackwellEqualsHostInAllTimings) {
  std::string text = kernelText("gemm_tcgen05.ptx");
  GemmProblem problem(256, 128, 512);
  for (const LaunchOptions &options : timings()) {
    std::vector<uint16_t> out;
    Report report = runBlackwellGemm(text, problem, options, out);
    ASSERT_TRUE(report.findings.empty()) << render(report.findings);
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(halfToFloat(out[i]), problem.c[i]) << i;
  }
}

TEST(Gemm, HopperEqualsHostInAllTimings) {
  std::string text = kernelText("gemm_wgmma.ptx");
  GemmProblem problem(128, 128, 512);
  for (const LaunchOptions &options : timings()) {
    std::vector<float> out;
    Report report = runHopperGemm(text, problem, options, out);
    ASSERT_TRUE(report.findings.empty()) << render(report.findings);
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], problem.c[i]) << i;
  }
}

} // namespace
