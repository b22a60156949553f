//===- EmulatorBenchmark.cpp - How fast the emulator is -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 GEMMs with TMA and tensor cores, with and without checks, and a kernel whose threads all
// read the same memory. The reference is the time we promise; below 1 is better. Columns,
// separated by tabs: name, ours, reference, ratio, unit. `emulator/shared-readers` compares the
// time with checks to that without. `--only PREFIX` and PENSTOCK_BENCH_CPU_TIME are those of
// benchmarks/report.
//
//===----------------------------------------------------------------------===//
#include "Gemm.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string_view>

using namespace penstock;
using namespace penstock::emu;

namespace {

/// Each thread sums the same `count` floats.
const char *const readers = R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry readers(.param .u64 in, .param .u64 out, .param .u32 count) {
.reg .b32 %r<6>; .reg .b64 %x<4>; .reg .f32 %f<3>; .reg .pred %p;
ld.param.u64 %x0, [in]; ld.param.u64 %x1, [out]; ld.param.u32 %r0, [count];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
mad.lo.u32 %r3, %r1, %r2, %r3; mad.wide.u32 %x1, %r3, 4, %x1;
mov.f32 %f0, 0f00000000; mov.u32 %r4, 0;
LOOP: mad.wide.u32 %x2, %r4, 4, %x0; ld.global.f32 %f1, [%x2]; add.f32 %f0, %f0, %f1;
add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, %r0; @%p bra LOOP;
st.global.f32 [%x1], %f0; ret; }
)";

struct Bench {
  std::string_view only;
  bool cpuTime = false, ok = true;

  bool selected(const std::string &name) const { return name.compare(0, only.size(), only) == 0; }
  /// The best time of \p runs; \p run returns a report, and whether the results are right.
  double best(int runs, bool checks,
              const std::function<Report(const LaunchOptions &, bool &)> &run) {
    LaunchOptions options;
    options.checks = checks;
    options.threads = cpuTime ? 1 : 0;
    double least = 1e9;
    for (int i = 0; i < runs; ++i) {
      bool right = true;
      std::clock_t begin = std::clock();
      Report report = run(options, right);
      double processor = double(std::clock() - begin) / CLOCKS_PER_SEC;
      least = std::min(least, cpuTime ? processor : report.stats.seconds);
      if (!report.ok() || !report.completed || !right) {
        fprintf(stderr, "a result is wrong\n");
        ok = false;
      }
    }
    return least;
  }
  static void print(const std::string &name, double ours, double reference, const char *unit) {
    printf("%s\t%.3f\t%.3f\t%.3f\t%s\n", name.c_str(), ours, reference, ours / reference, unit);
    fflush(stdout);
  }
};

void gemm(Bench &bench, const std::string &name, int size, bool blackwell, bool checks, int runs,
          double limit) {
  if (!bench.selected(name))
    return;
  GemmProblem problem(size, size, size, size > 1024 ? 64 : 1);
  std::string text = readText(std::string(PENSTOCK_KERNELS) +
                              (blackwell ? "/gemm_tcgen05.ptx" : "/gemm_wgmma.ptx"));
  double seconds = bench.best(runs, checks, [&](const LaunchOptions &options, bool &right) {
    Report report;
    std::vector<uint16_t> halves;
    std::vector<float> floats;
    report = blackwell ? runBlackwellGemm(text, problem, options, halves)
                       : runHopperGemm(text, problem, options, floats);
    for (size_t i = 0; i < problem.c.size(); ++i)
      if (i / size_t(size) % size_t(problem.step) == 0)
        right &= blackwell ? halves[i] == floatToHalf(problem.c[i]) : floats[i] == problem.c[i];
    return report;
  });
  Bench::print(name, seconds, limit, "s");
}

void sharedReaders(Bench &bench) {
  if (!bench.selected("emulator/shared-readers"))
    return;
  auto run = [&](const LaunchOptions &options, bool &right) {
    Device device;
    Report report;
    auto module = device.load(readers, "readers.ptx", report.findings);
    std::vector<float> ones(1024, 1), sums(256 * 256);
    uint64_t in = device.memory.allocate(4096, "in"), out = device.memory.allocate(1 << 18, "out");
    device.write(in, ones.data(), 4096);
    ParamPacker params;
    params.add(in).add(out).add(uint32_t(64));
    LaunchConfig config;
    config.grid = config.block = {256, 1, 1};
    config.params = params.bytes;
    report = device.launch(*module, "readers", config, options);
    device.read(out, sums.data(), 1 << 18);
    for (float sum : sums)
      right &= sum == 64;
    return report;
  };
  double checked = bench.best(3, true, run), unchecked = bench.best(3, false, run);
  Bench::print("emulator/shared-readers", checked, unchecked, "s");
}

} // namespace

int main(int argc, char **argv) {
  Bench bench;
  bench.only = argc == 3 && std::string_view(argv[1]) == "--only" ? argv[2] : "";
  bench.cpuTime = std::getenv("PENSTOCK_BENCH_CPU_TIME");
  gemm(bench, "emulator/gemm-f16-1024-checked", 1024, true, true, 3, 5);
  gemm(bench, "emulator/gemm-f16-1024-unchecked", 1024, true, false, 3, 2);
  // These take a minute, which a test of the report does not have.
  const char *seconds = std::getenv("PENSTOCK_BENCH_SECONDS");
  if (seconds && std::string_view(seconds) == "0") {
    std::fprintf(stderr, "emulator/gemm-f16-2048-*: skipped, PENSTOCK_BENCH_SECONDS is 0\n");
  } else {
    gemm(bench, "emulator/gemm-f16-2048-sm_100a", 2048, true, true, 2, 2);
    gemm(bench, "emulator/gemm-f16-2048-sm_90a", 2048, false, true, 2, 4);
  }
  sharedReaders(bench);
  return bench.ok ? 0 : 1;
}
