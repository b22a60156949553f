//===- EmulatorBenchmark.cpp - How fast the emulator is -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A 1024^3 f16 GEMM with TMA and tensor cores, with and without checks. The
// reference is the time we promise; below 1 is better. Columns, separated by
// tabs: name, ours, reference, ratio, unit.
//
//===----------------------------------------------------------------------===//
#include "Gemm.h"

#include <cstdio>

using namespace penstock;
using namespace penstock::emu;

int main() {
  std::string text =
      readText(std::string(PENSTOCK_KERNELS) + "/gemm_tcgen05.ptx");
  GemmProblem problem(1024, 1024, 1024);
  bool ok = true;
  for (bool checks : {true, false}) {
    LaunchOptions options;
    options.checks = checks;
    double best = 1e9;
    for (int run = 0; run < 3; ++run) {
      std::vector<uint16_t> out;
      Report report = runBlackwellGemm(text, problem, options, out);
      best = std::min(best, report.stats.seconds);
      bool equal = true;
      for (size_t i = 0; i < out.size(); ++i)
        equal &= out[i] == floatToHalf(problem.c[i]);
      if (!report.ok() || !equal) {
        fprintf(stderr, "the GEMM is wrong\n");
        ok = false;
      }
    }
    double limit = checks ? 5 : 2;
    printf("emulator/gemm-f16-1024-%s\t%.3f\t%.1f\t%.3f\ts\n",
           checks ? "checked" : "unchecked", best, limit, best / limit);
  }
  return ok ? 0 : 1;
}
