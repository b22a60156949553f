//===- EmulatorBenchmark.cpp - How fast the emulator is -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A 1024^3 f16 GEMM with TMA and tensor cores, with and without checks. The
// reference is the time we promise; below 1 is better. Columns, separated by
// tabs: name, ours, reference, ratio, unit. `--only PREFIX` and
// PENSTOCK_BENCH_CPU_TIME are those of benchmarks/report.
//
//===----------------------------------------------------------------------===//
#include "Gemm.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

using namespace penstock;
using namespace penstock::emu;

int main(int argc, char **argv) {
  std::string_view only = argc == 3 && std::string_view(argv[1]) == "--only" ? argv[2] : "";
  bool cpuTime = std::getenv("PENSTOCK_BENCH_CPU_TIME");
  std::string text = readText(std::string(PENSTOCK_KERNELS) + "/gemm_tcgen05.ptx");
  GemmProblem problem(1024, 1024, 1024);
  bool ok = true;
  for (bool checks : {true, false}) {
    std::string name = "emulator/gemm-f16-1024-";
    name += checks ? "checked" : "unchecked";
    if (name.compare(0, only.size(), only) != 0)
      continue;
    LaunchOptions options;
    options.checks = checks;
    options.threads = cpuTime ? 1 : 0;
    double best = 1e9;
    for (int run = 0; run < 3; ++run) {
      std::vector<uint16_t> out;
      std::clock_t begin = std::clock();
      Report report = runBlackwellGemm(text, problem, options, out);
      double processor = double(std::clock() - begin) / CLOCKS_PER_SEC;
      best = std::min(best, cpuTime ? processor : report.stats.seconds);
      bool equal = true;
      for (size_t i = 0; i < out.size(); ++i)
        equal &= out[i] == floatToHalf(problem.c[i]);
      if (!report.ok() || !equal) {
        fprintf(stderr, "the GEMM is wrong\n");
        ok = false;
      }
    }
    double limit = checks ? 5 : 2;
    printf("%s\t%.3f\t%.1f\t%.3f\ts\n", name.c_str(), best, limit, best / limit);
  }
  return ok ? 0 : 1;
}
