//===- Architecture.cpp - Limits and costs of each target -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the numbers come from: limits from the vendor's documents and device
// queries; wgmma from parameters that published simulators fitted to H100
// microbenchmarks; tcgen05 and TMA from published B200 sweeps (interval and
// latency laws in N, one box row of at most 128 bytes per cycle); TMA latency
// of Hopper from published H800 logs; AMX measured with an L1-fed 2x2 tile
// loop.
//
//===----------------------------------------------------------------------===//
#include "Hardware/Architecture.h"

#include <algorithm>

namespace penstock::hw {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Shared memory delivers this much to one SM.
constexpr int64_t sharedBytesPerCycle = 128;
/// The widest box row that TMA moves in a cycle.
constexpr int64_t tmaRowBytes = 128;
/// Below this a load does not get faster, however small.
constexpr int64_t tmaLeastCycles = 114;
constexpr int64_t fp32LanesPerCycle = 128;
constexpr int64_t exponentialsPerCycle = 16;
/// From issue to result of an instruction of the general cores.
constexpr int64_t coreLatency = 30;

Products hopperProducts(int64_t m, int64_t n, int64_t k, int64_t elementBytes) {
  // One wgmma is m64 x n x (32 bytes of k); n is at most 256.
  int64_t kStep = 32 / elementBytes;
  int64_t flopPerCycle = 8192 / elementBytes;
  int64_t busy = 0, columns = 0;
  for (int64_t left = n; left > 0; left -= 256, ++columns) {
    int64_t width = std::min<int64_t>(left, 256);
    int64_t compute = ceilDiv(2 * 64 * width * kStep, flopPerCycle);
    int64_t operands = ceilDiv((64 + width) * 32, sharedBytesPerCycle);
    busy += std::max(compute, operands);
  }
  int64_t each = ceilDiv(m, 64) * ceilDiv(k, kStep);
  return {columns * each, double(busy * each), 66};
}

Products blackwellProducts(int64_t m, int64_t n, int64_t k, int64_t elementBytes, int64_t blocks) {
  int64_t kStep = 32 / elementBytes;
  int64_t rows = m == 192 ? 64 : std::min<int64_t>(m, 128); // of one MMA
  int64_t busy = 0, columns = 0;
  for (int64_t left = n; left > 0; left -= 256, ++columns) {
    int64_t width = std::min<int64_t>(left, 256);
    // A pair of 64 rows each uses both tensor cores at full width.
    int64_t compute = ceilDiv(width, blocks == 2 && rows == 64 ? 4 : 2);
    int64_t operands = ceilDiv((rows + width / blocks) * 32, sharedBytesPerCycle);
    busy += std::max(compute, operands);
  }
  int64_t each = ceilDiv(m, rows) * ceilDiv(k, kStep);
  // Issue to observed commit of one MMA is 136 + n/2 for M = 128 (120 for 64),
  // and a batch adds about 12.
  return {columns * each, double(busy * each), double((rows > 64 ? 136 : 120) + 12)};
}

Cost amxGemm(int64_t m, int64_t n, int64_t k, int64_t elementBytes) {
  // 16x16 results from 64 bytes of k per TDP, 16 cycles each.
  int64_t tiles = ceilDiv(m, 16) * ceilDiv(n, 16) * ceilDiv(k * elementBytes, 64);
  return {tiles * 16, tiles * 16 + 52};
}

std::vector<Architecture> build() {
  std::vector<Engine> gpuEngines = {{"tma", "bulk copies between global and shared memory"},
                                    {"tensor", "matrix products"},
                                    {"cuda", "elementwise work and reductions"},
                                    {"sfu", "exponentials and other special functions"}};
  Architecture hopper;
  hopper.name = "sm_90a";
  hopper.family = Architecture::Family::Hopper;
  hopper.limits = {232448, 0, 65536, 1024, 8, 0, 0, 0, 132};
  hopper.engines = gpuEngines;
  hopper.tma = true;
  Architecture blackwell = hopper;
  blackwell.name = "sm_100a";
  blackwell.family = Architecture::Family::Blackwell;
  blackwell.limits.tensorColumns = 512;
  blackwell.limits.multiprocessors = 148;
  blackwell.scales = BlockScales::Tcgen05Mma;
  // Shared memory, registers, threads and cluster of the programming guide; rates are
  // the vendor's peaks for sums in f32, by multiprocessors and clock: A100, RTX 3090,
  // RTX 4090, RTX 5090.
  auto ampere = [&](const char *name, int64_t sharedBytes, int64_t flop, int64_t processors) {
    Architecture gpu;
    gpu.name = name;
    gpu.family = Architecture::Family::Ampere;
    gpu.limits = {sharedBytes, 0, 65536, 1024, 1, 0, 0, 0, processors};
    gpu.engines = gpuEngines;
    gpu.tensorFlopPerCycle = flop;
    return gpu;
  };
  Architecture graphics = ampere("sm_120a", 99 << 10, 512, 170);
  graphics.tma = true;
  graphics.scales = BlockScales::MmaSync;
  Architecture x86;
  x86.name = "x86";
  x86.family = Architecture::Family::X86;
  x86.limits = {0, 0, 0, 0, 0, 48 << 10, 2 << 20, int64_t(2) << 30, 0};
  x86.engines = {{"memory", "loads from the outer caches and memory"},
                 {"amx", "matrix products on tiles"},
                 {"avx512", "vector arithmetic"}};
  return {hopper,
          blackwell,
          ampere("sm_80", 163 << 10, 2048, 108),
          ampere("sm_86", 99 << 10, 512, 82),
          ampere("sm_89", 99 << 10, 512, 128),
          graphics,
          x86};
}

} // namespace

const std::vector<Architecture> &architectures() {
  static const std::vector<Architecture> all = build();
  return all;
}

const Architecture *findArchitecture(const std::string &name) {
  for (const Architecture &a : architectures())
    if (a.name == name)
      return &a;
  return nullptr;
}

const Engine *Architecture::findEngine(const std::string &name) const {
  for (const Engine &e : engines)
    if (e.name == name)
      return &e;
  return nullptr;
}

Cost Architecture::load(int64_t bytes, int64_t rowBytes) const {
  if (family == Family::X86)
    // 64 bytes per line; about 8 cycles each from the outer caches.
    return {ceilDiv(bytes, 64) * 8, ceilDiv(bytes, 64) * 8 + 70};
  if (family == Family::Ampere) // cp.async from L2, and the latency of global memory
    return {ceilDiv(bytes, 64), 500 + ceilDiv(bytes, 64)};
  int64_t row = std::max<int64_t>(1, std::min(rowBytes, tmaRowBytes));
  int64_t busy = std::max(tmaLeastCycles, ceilDiv(bytes, row));
  int64_t first = family == Family::Hopper ? 703 : 664;
  return {busy, first + bytes / 113};
}

Products Architecture::products(int64_t m, int64_t n, int64_t k, int64_t elementBytes,
                                int64_t blocks) const {
  switch (family) {
  case Family::Hopper:
    return hopperProducts(m, n, k, elementBytes);
  case Family::Blackwell:
    return blackwellProducts(m, n, k, elementBytes, blocks);
  case Family::Ampere: {
    int64_t busy = ceilDiv(2 * m * n * k * elementBytes, 2 * tensorFlopPerCycle);
    int64_t count = ceilDiv(m, 16) * ceilDiv(n, 8) * ceilDiv(k * elementBytes, 32);
    return {count, double(busy), 33}; // the latency of one m16n8k16
  }
  case Family::X86:
    break;
  }
  return {};
}

Cost Architecture::gemm(int64_t m, int64_t n, int64_t k, int64_t elementBytes) const {
  if (family == Family::X86)
    return amxGemm(m, n, k, elementBytes);
  Products all = products(m, n, k, elementBytes);
  int64_t busy = int64_t(all.busy);
  // A wgmma starts 17 cycles after its issue; the tail of tcgen05 includes that.
  return {busy, busy + int64_t(all.tail) + (family == Family::Hopper ? 17 : 0)};
}

Cost Architecture::elementwise(int64_t count) const {
  int64_t lanes = family == Family::X86 ? 32 : fp32LanesPerCycle;
  int64_t busy = std::max<int64_t>(1, ceilDiv(count, lanes));
  return {busy, busy + coreLatency};
}

Cost Architecture::exponentials(int64_t count) const {
  if (family == Family::X86)
    return elementwise(count * 12);
  int64_t busy = std::max<int64_t>(1, ceilDiv(count, exponentialsPerCycle));
  return {busy, busy + coreLatency};
}

int64_t Architecture::barrierLatency() const { return family == Family::X86 ? 0 : 29 + 32; }

} // namespace penstock::hw
