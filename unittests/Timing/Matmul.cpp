//===- Matmul.cpp - Matmul kernels, for timing ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Matmul.h"

#include <algorithm>

namespace penstock::timing {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Cycles of loop control between a wait and the next issue in one role.
constexpr double loopControl = 30;
/// Cycles from the top of the loop to the issue of its load.
constexpr double loadAfter = 20;
/// Registers per thread beside the accumulators.
constexpr int64_t otherRegisters = 40;
constexpr int64_t mostRegisters = 255;
/// A spilling loop needs these for descriptors and addresses.
constexpr double loopRegisters = 24;
/// Cycles of a spilled product's wait.
constexpr double spillWait = 128;

bool hasTensorMemory(const hw::Chip &chip) { return chip.architecture->limits.tensorColumns > 0; }

Op loadOf(const Matmul &m) {
  Op load;
  load.engine = Engine::Tma;
  int64_t rows = m.tileM + m.tileN / m.pair;
  int64_t boxes = std::max<int64_t>(1, ceilDiv(m.tileK * m.elementBytes, m.rowBytes));
  load.bytes = double(rows * m.tileK * m.elementBytes);
  load.rows = double(rows * boxes);
  load.rowBytes = double(m.rowBytes);
  // A box has at most 256 rows.
  load.copies = double(boxes * (ceilDiv(m.tileM, 256) + ceilDiv(m.tileN / m.pair, 256)));
  load.byThreads = m.threadCopies;
  return load;
}

Op productOf(const Matmul &m, const hw::Chip &chip) {
  hw::Products all = chip.architecture->products(m.tileM, m.tileN, m.tileK, m.elementBytes, m.pair);
  Op product;
  product.engine = Engine::Tensor;
  product.products = double(all.count);
  product.productCycles = all.interval();
  product.tail = all.tail;
  product.issueCycles = double(all.count) * chip.productIssue.value / double(m.consumers);
  product.awaits.push_back({loadOp, 0, 0, 0});
  return product;
}

Loop specialized(const Matmul &m, const hw::Chip &chip, Op load, Op product) {
  Loop loop;
  loop.roles = {{"load", 1}, {"multiply", m.consumers * 4}};
  load.issueCycles = load.copies * chip.copyIssue.value;
  product.role = 1;
  // tcgen05.commit releases a slot by itself; with wgmma the role releases it, after
  // it has awaited the product that `lag` follow.
  bool commits = hasTensorMemory(chip);
  bool trails = !commits && m.lag > 0;
  product.blocking = !commits && !trails;
  load.awaits.push_back(
      {trails ? 2u : productOp, m.stages - (trails ? m.lag : 0), m.stages, chip.barrier.value});
  loop.ops = {load, product};
  if (trails) {
    Op release;
    release.role = 1;
    release.awaits.push_back({productOp, m.lag, m.lag, 0});
    loop.ops.push_back(release);
  }
  return loop;
}

Loop oneRole(const Matmul &m, const hw::Chip &chip, Op load, Op product) {
  Loop loop;
  loop.roles = {{"all", ceilDiv(m.threads, 32)}};
  if (m.form == Matmul::Form::Trailing) {
    load.ahead = std::max<int64_t>(0, m.stages - 2);
    product.awaits.push_back({productOp, 1, 0, chip.barrier.value});
    product.handOver = loopControl;
  } else {
    load.ahead = m.form == Matmul::Form::Skewed ? m.stages - 1 : 0;
    product.blocking = true;
    product.handOver = chip.barrier.value + loopControl;
  }
  if (m.form != Matmul::Form::Serial)
    load.issueDelay = loadAfter;
  loop.ops = {load, product};
  return loop;
}

double epilogueOf(const Matmul &m, const hw::Chip &chip) {
  if (m.epilogue == Matmul::Epilogue::None)
    return 0;
  double elements = double(m.tileM * m.tileN);
  if (!hasTensorMemory(chip)) {
    double cycles = chip.storeCycles.value * elements / double(std::max<int64_t>(1, m.consumers));
    // 500 cycles until the last bulk store has been read.
    return m.epilogue == Matmul::Epilogue::Stores ? cycles : chip.bulkStore.value * cycles + 500;
  }
  double slices = double(ceilDiv(m.tileN, m.epilogueColumns));
  double columns = double(m.epilogueColumns);
  // tcgen05.ld delivers 55 bytes per cycle to each of four warps.
  double load = 30 + columns * 128 * 4 / (55 * 4);
  if (m.epilogue == Matmul::Epilogue::Stores)
    return slices * (load + 60) + elements * double(m.outputBytes) / 32;
  // Conversion, st.shared, fence, two barriers; a bulk store takes 130 cycles and 52 per
  // kilobyte, half of which the next slice hides.
  double kilobytes = double(m.tileM) * columns * double(m.outputBytes) / 1024;
  double store = 130 + 52 * kilobytes * chip.bulkStore.value;
  double slice = load + columns * 2 + 30 + 2 * 30 + store;
  return slices * slice * (m.epilogueWarps > 4 ? 4.0 / double(m.epilogueWarps) : 1);
}

/// Cycles per iteration if a warpgroup's accumulators exceed its registers: all of them
/// move to and from local memory around each k-step.
double spillsOf(const Matmul &m, const hw::Chip &chip) {
  if (hasTensorMemory(chip))
    return 0;
  double accumulators = double(m.tileM * m.tileN) / (128.0 * double(m.consumers));
  if (accumulators + loopRegisters <= double(mostRegisters))
    return 0;
  double bytes = 2 * 4 * 128 * accumulators * double(m.consumers);
  return double(ceilDiv(m.tileK * m.elementBytes, 32)) * (bytes / chip.spillRate.value + spillWait);
}

Resources resourcesOf(const Matmul &m, const hw::Chip &chip, double stageBytes) {
  Resources needs;
  needs.sharedBytes = m.stages * int64_t(stageBytes) + m.extraShared;
  needs.threads = m.threads;
  int64_t held = hasTensorMemory(chip) ? 0 : m.tileM * m.tileN / (128 * m.consumers);
  needs.registers = m.registers ? m.registers : std::min(mostRegisters, otherRegisters + held);
  needs.tensorColumns = m.tileN * m.accumulators * ceilDiv(m.tileM, 128);
  needs.fixed = m.blocksPerSm;
  needs.most = m.maxBlocks;
  return needs;
}

} // namespace

std::string_view describe(Matmul::Form form) {
  switch (form) {
  case Matmul::Form::Serial:
    return "serial";
  case Matmul::Form::Skewed:
    return "skewed";
  case Matmul::Form::Trailing:
    return "trailing";
  case Matmul::Form::Specialized:
    return "specialized";
  }
  return "";
}

Kernel matmul(const Matmul &m, const hw::Chip &chip) {
  Kernel kernel;
  Op load = loadOf(m), product = productOf(m, chip);
  kernel.needs = resourcesOf(m, chip, load.bytes);
  kernel.narrow = m.rowBytes < 128;
  kernel.loop = m.form == Matmul::Form::Specialized ? specialized(m, chip, load, product)
                                                    : oneRole(m, chip, load, product);
  kernel.loop.paced = productOp;
  kernel.trips = double(ceilDiv(m.k, m.tileK));
  kernel.blocksPerTile = m.pair;
  Raster &raster = kernel.raster;
  raster.tilesM = ceilDiv(m.m, m.tileM * m.pair);
  raster.tilesN = ceilDiv(m.n, m.tileN);
  raster.group = m.group;
  raster.stripM = double(m.tileM * m.pair * m.k * m.elementBytes);
  raster.stripN = double(m.tileN * m.k * m.elementBytes);
  raster.totalBytes = double((m.m + m.n) * m.k * m.elementBytes);
  kernel.fabricBytes = (double(m.tileM) + double(m.tileN) / double(m.pair * m.multicast)) *
                       double(m.tileK * m.elementBytes);
  kernel.persistent = m.persistent;
  kernel.overlapped = m.accumulators > 1;
  kernel.epilogueCycles = epilogueOf(m, chip);
  kernel.spillCycles = spillsOf(m, chip);
  kernel.flop = 2.0 * double(m.m) * double(m.n) * double(m.k);
  return kernel;
}

} // namespace penstock::timing
