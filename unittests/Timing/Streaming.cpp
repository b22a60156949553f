//===- Streaming.cpp - Memory-bound kernels, for timing -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Streaming.h"

#include <algorithm>
#include <cmath>

namespace penstock::timing {

Kernel streaming(const Streaming &s, const hw::Chip &chip) {
  Op load, compute;
  load.engine = Engine::Tma;
  load.bytes = double(s.rows * s.rowBytes);
  load.rowBytes = double(std::min<int64_t>(s.rowBytes, 128));
  load.rows = double(s.rows) * std::ceil(double(s.rowBytes) / 128);
  load.copies = 1;
  load.issueCycles = chip.copyIssue.value;
  // The latency of a load includes its barrier; the release of a slot has one of its own.
  load.awaits = {{1, s.stages, s.stages, chip.barrier.value}};
  compute.role = 1;
  compute.engine = s.computeCycles > 0 ? Engine::Cuda : Engine::None;
  compute.cycles = s.computeCycles;
  compute.blocking = true;
  compute.awaits = {{0, 0, 0, 0}};

  Kernel kernel;
  kernel.loop.roles = {{"load", 1}, {"compute", 4}};
  kernel.loop.ops = {load, compute};
  kernel.loop.paced = 1;
  kernel.needs.fixed = s.blocksPerSm;
  double blocks = double(chip.architecture->limits.multiprocessors * s.blocksPerSm);
  kernel.raster.tilesM = int64_t(blocks);
  kernel.raster.ownBytes = s.totalBytes / blocks;
  kernel.raster.totalBytes = s.totalBytes;
  kernel.trips = std::max(1.0, s.totalBytes / blocks / load.bytes);
  kernel.fabricBytes = load.bytes;
  kernel.storedBytes = s.storedBytes;
  return kernel;
}

} // namespace penstock::timing
