//===- Chip.cpp - Constants of whole chips, with their sources ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Hardware/Chip.h"

#include <cmath>

namespace penstock::hw {
namespace {

using By = Measured::By;

// Sources that several constants share.
constexpr std::string_view flashSim = "FlashGPU-Sim, configuration SM90_H100";
constexpr std::string_view worklog = "pranjalssh, H100 worklog, cycles of one k-step: load 1415, "
                                     "store 4572";
constexpr std::string_view mainloops =
    "SemiAnalysis microbench-blackwell, cutlass_gemm_mainloop: rows N = 16, 64, 256";
constexpr std::string_view tileSight = "TileSight, table 3: L2 bandwidth of H200 and B200";
constexpr std::string_view tilusClocks = "Tilus, clocks of eight kernels against utilization";

Measured around(double value, double tolerance, By by, std::string_view source) {
  return {value, value * (1 - tolerance), value * (1 + tolerance), by, source};
}

/// Constants that both chips share.
Chip common() {
  Chip c;
  c.sharedBytes = 228 << 10;
  c.registers = 65536;
  c.syncProducts = {0.63, 0.6, 0.66, By::Microbenchmark,
                    "Luo et al., arXiv 2402.13499: mma reaches 62 to 63 % of the peak of wgmma"};
  c.rowCycles = around(1, 0, By::Microbenchmark,
                       "microbench-blackwell, cutlass_gemm_mainloop: floor per k-block");
  c.leastRowBytes = around(100, 0.1, By::Fitted, mainloops);
  c.copyCycles = around(57, 0.05, By::Microbenchmark,
                        "microbench-blackwell, cutlass_gemm_mainloop: floor 114 for two copies");
  c.copyIssue = around(8, 0.5, By::Assumed, "a few instructions of one thread");
  c.narrowRows = {1, 0.8, 1, By::Assumed, "no published rate of 64-byte rows"};
  c.threadCopyRate = around(128, 0.1, By::Vendor, "CUDA programming guide: L1 throughput");
  c.coincidence = {0.5, 0.2, 0.8, By::Assumed, "bursts coincide half of the time"};
  c.l2Usable = {0.7, 0.6, 0.8, By::Assumed, "replacement is not ideal"};
  c.boundExponent = {6, 4, 10, By::Assumed, "bounds of similar size slow each other"};
  c.exponentials = around(16, 0, By::Vendor, "CUDA programming guide, arithmetic throughput");
  c.lanes = around(128, 0, By::Vendor, "CUDA programming guide, arithmetic throughput");
  c.warpIssue = {0.8, 0.65, 0.95, By::Assumed, "dependent instructions leave slots empty"};
  c.rates.integers = around(64, 0, By::Vendor, "CUDA programming guide, arithmetic throughput");
  c.rates.shuffles = around(32, 0, By::Vendor, "CUDA programming guide, arithmetic throughput");
  c.rates.sharedRate = around(128, 0, By::Vendor, "CUDA programming guide: 32 banks of 4 bytes");
  c.rates.sharedLatency = around(28.6, 0.05, By::Microbenchmark, "cuda_study: H100; 28 on B300");
  c.rates.globalLatency =
      around(260 / 1.98, 0.15, By::Microbenchmark, "cuda_study: L2 of H100; 300 cycles on B300");
  c.rates.tensorRate =
      around(55, 0.04, By::Microbenchmark, "QuickRunCUDA, 06_tensor_cores: 32x32b.x16 on B300");
  c.rates.tensorLatency = {30, 15, 60, By::Assumed, "like shared memory; no published figure"};
  c.rates.meet = around(30, 0.3, By::Microbenchmark, "QuickRunCUDA: 22 + 2 per warp on B300");
  c.barrier = around(61, 0.15, By::Simulator,
                     "FlashGPU-Sim: arrive visible after 29, poll 32; 54 measured on B300");
  c.blockStart = around(1200, 0.3, By::Simulator, "FlashGPU-Sim, configuration of B200");
  c.launch = around(2000, 0.2, By::Microbenchmark, "QuickRunCUDA: kernels back to back");
  c.storeCycles = around(4572.0 / (128 * 128), 0.2, By::Microbenchmark, worklog);
  c.bulkStore = {0.5, 0.35, 0.7, By::Assumed, "TMA stores overlap with conversion"};
  c.spillRate = around(128, 0.1, By::Vendor, "CUDA programming guide: L1 throughput");
  c.machine = {0.12, 0.12, 0.12, By::Fitted,
               "spread of published runs of one kernel on several machines"};
  return c;
}

std::vector<Chip> build() {
  Chip h = common();
  h.name = "H100";
  h.architecture = findArchitecture("sm_90a");
  h.clock = around(1.755, 0.02, By::Microbenchmark, "clock of published H800 and H100 logs");
  h.boost = around(1.98, 0, By::Microbenchmark, "cuda_study, observed");
  h.powerClock = around(2.35, 0.06, By::Fitted, "cuBLAS at 8192^3, 795 TFLOPS (pranjalssh)");
  h.powerSlope = around(0.448, 0.15, By::Fitted, tilusClocks);
  h.productQueue = {8, 6, 12, By::Simulator, flashSim};
  h.productIssue = around(17, 0.1, By::Simulator, flashSim);
  // 32 KB arrive at 64 bytes per cycle within those 1415 cycles, misses included.
  h.loadLatency = around((1415 - 32768 / 64.0) / 1.755, 0.15, By::Microbenchmark, worklog);
  h.missLatency = {0, 0, 100, By::Microbenchmark, worklog};
  h.loadRate = around(64 * 1.755, 0.1, By::Vendor, "Hopper tuning guide: 64 bytes/cycle per SM");
  h.streamRate = around(64, 0.1, By::Vendor, "Hopper tuning guide: 64 bytes/cycle per SM");
  h.fabric = around(9200, 0.1, By::Microbenchmark, tileSight);
  h.hbm = around(3000, 0.05, By::Microbenchmark, "TileSight, table 3, scaled to 3.35 TB/s");
  h.l2Bytes = around(50e6, 0.1, By::Vendor, "H100 data sheet");

  Chip b = common();
  b.name = "B200";
  b.architecture = findArchitecture("sm_100a");
  b.clock = around(1.965, 0.02, By::Microbenchmark, "microbench-blackwell, clock of the sweeps");
  b.boost = around(1.965, 0, By::Microbenchmark, "microbench-blackwell, clock of the sweeps");
  b.powerClock = around(1.934, 0.06, By::Fitted, tilusClocks);
  b.powerSlope = around(0.448, 0.15, By::Fitted, tilusClocks);
  b.productQueue = {64, 32, 128, By::Assumed, "no limit seen in umma_throughput"};
  b.productIssue = around(4, 0.5, By::Assumed, "one instruction of one thread");
  // The rows ran at 1.3 GHz: 400 and 435 cycles, 100.6 bytes per cycle.
  b.loadLatency = around(400 / 1.3, 0.15, By::Fitted, mainloops);
  b.missLatency = around(435 / 1.3, 0.15, By::Fitted, mainloops);
  b.loadRate = around(100.6 * 1.3, 0.1, By::Fitted, mainloops);
  b.streamRate = around(128, 0.1, By::Microbenchmark,
                        "microbench-blackwell, cutlass_gemm_mainloop: one row per cycle");
  b.fabric = around(20500, 0.1, By::Microbenchmark, tileSight);
  b.hbm = around(7200, 0.03, By::Microbenchmark, "microbench-blackwell, tma2d_throughput, peak");
  b.l2Bytes = around(126.5e6, 0.05, By::Vendor, "device query");
  return {h, b};
}

constexpr ChipConstant constants[] = {
    {"clock", "GHz", &Chip::clock},
    {"boost clock", "GHz", &Chip::boost},
    {"clock under power", "GHz", &Chip::powerClock},
    {"clock slope", "", &Chip::powerSlope},
    {"product queue", "products", &Chip::productQueue},
    {"product issue", "cycles", &Chip::productIssue},
    {"mma.sync", "", &Chip::syncProducts},
    {"load latency", "ns", &Chip::loadLatency},
    {"miss latency", "ns", &Chip::missLatency},
    {"load rate", "bytes/ns", &Chip::loadRate},
    {"stream rate", "bytes/cycle", &Chip::streamRate},
    {"row", "cycles", &Chip::rowCycles},
    {"least row", "bytes", &Chip::leastRowBytes},
    {"copy", "cycles", &Chip::copyCycles},
    {"copy issue", "cycles", &Chip::copyIssue},
    {"narrow rows", "", &Chip::narrowRows},
    {"cp.async", "bytes/cycle", &Chip::threadCopyRate},
    {"fabric", "bytes/ns", &Chip::fabric},
    {"coincidence", "", &Chip::coincidence},
    {"HBM", "bytes/ns", &Chip::hbm},
    {"L2", "bytes", &Chip::l2Bytes},
    {"usable L2", "", &Chip::l2Usable},
    {"bound exponent", "", &Chip::boundExponent},
    {"exponentials", "per cycle", &Chip::exponentials},
    {"f32 lanes", "per cycle", &Chip::lanes},
    {"warp issue", "", &Chip::warpIssue},
    {"barrier", "cycles", &Chip::barrier},
    {"block start", "cycles", &Chip::blockStart},
    {"launch", "ns", &Chip::launch},
    {"plain store", "cycles/element", &Chip::storeCycles},
    {"bulk store", "", &Chip::bulkStore},
    {"spills", "bytes/cycle", &Chip::spillRate},
    {"machine", "", &Chip::machine},
};

} // namespace

std::string_view describe(Measured::By by) {
  switch (by) {
  case By::Vendor:
    return "vendor";
  case By::Microbenchmark:
    return "microbenchmark";
  case By::Simulator:
    return "simulator";
  case By::Fitted:
    return "fitted";
  case By::Assumed:
    return "assumed";
  }
  return "";
}

std::span<const ChipConstant> chipConstants() { return constants; }

const std::vector<Chip> &chips() {
  static const std::vector<Chip> all = build();
  return all;
}

const Chip *findChip(std::string_view name) {
  for (const Chip &c : chips())
    if (c.name == name || c.architecture->name == name)
      return &c;
  return nullptr;
}

} // namespace penstock::hw
