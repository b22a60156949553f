//===- CpuProbe.h - Microbenchmarks of one core -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants of lib/Hardware/Cpu.cpp. Each is the least of several short samples that were
// taken between two probes of the same clock, both without another thread on the core. Needs
// AVX-512, and AMX for tiles.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_CPUPROBE_H
#define PENSTOCK_BENCHMARKS_CPUPROBE_H

#include <cstdint>
#include <functional>

namespace bench {

/// Nanoseconds of a multiply-add in a loop of nothing else, from L1: what a busy neighbor on
/// the same core slows.
double coreProbe();

/// State of the core at the moment: its clock changes with the load of the machine.
struct CoreState {
  double ghz = 0; ///< of vector code
  bool alone = false;
  /// Whether a sample between two states can be expressed in cycles.
  bool isLike(const CoreState &after) const {
    return alone && after.alone && ghz < 1.03 * after.ghz && after.ghz < 1.03 * ghz;
  }
};
CoreState coreState();

/// Bytes per cycle that are read from a buffer of \p bytes, read before; rows of \p rowBytes
/// that begin \p stride bytes apart.
double readRate(int64_t bytes, int64_t rowBytes, int64_t stride);
/// The same of stores.
double writeRate(int64_t bytes);
/// The same of copies to a buffer of \p toBytes.
double copyRate(int64_t bytes, int64_t toBytes, int64_t rowBytes, int64_t stride);

/// Cycles of a 2 x 2 block of tiles with \p steps along K, whose left tiles come from a buffer
/// of \p leftBytes. With \p sums, the block is loaded from rows of a matrix and stored in them.
double tileBlock(int64_t steps, int64_t leftBytes, bool sums);

/// Cycles of loading a configuration of tiles and releasing it.
double tileConfiguration();

/// Least cycles per call.
double cyclesOf(const std::function<void()> &run, double calls);

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_CPUPROBE_H
