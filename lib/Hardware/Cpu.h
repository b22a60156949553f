//===- Cpu.h - Constants of processors, with their sources ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One core of an x86 processor, as Chip.h describes GPUs. Cycles are those of the core;
// vectors have 512 bits. Constants come from vendors or from microbenchmarks of the
// quantity alone (benchmarks/native/model.cpp); no constant is fitted to a row that the
// tests of lib/Timing validate.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_HARDWARE_CPU_H
#define PENSTOCK_HARDWARE_CPU_H

#include "Hardware/Chip.h"

namespace penstock::hw {

struct Cpu {
  std::string name; ///< "Granite Rapids"
  std::string key;  ///< as LLVM spells it, "graniterapids"

  // Capacities for one core.
  int64_t l1Bytes = 0, l2Bytes = 0;
  /// Share of L3 in which a core finds tensors that it has used before.
  int64_t l3Bytes = 0;

  Measured clock; ///< GHz

  // Instructions on vectors.
  Measured ports;       ///< arithmetic instructions per cycle
  Measured loads;       ///< loads from L1 per cycle
  Measured stores;      ///< stores to L1 per cycle
  Measured fmaLatency;  ///< cycles
  Measured division;    ///< cycles of a division
  Measured maximum;     ///< arithmetic instructions of a maximum that keeps NaN
  Measured exponential; ///< cycles of an exponential of f32
  Measured rowStart;    ///< cycles of an inner loop beyond its instructions
  Measured sumStep;     ///< cycles of one vector in the chain of a row's sum
  Measured sumEnd;      ///< cycles to add up its lanes
  Measured maximumStep; ///< the same of a row's maximum
  Measured maximumEnd;
  Measured transpose;   ///< cycles to transpose 16 x 16 f32, from and to L1
  Measured packTiles;   ///< cycles to pack 64 bytes of a left operand in tiles
  Measured packPairs;   ///< cycles to pack 16 columns of 2 rows of bf16
  Measured packQuads;   ///< cycles to pack 16 columns of 4 rows of i8
  Measured packCall;    ///< cycles of a call that packs, beyond its bytes
  Measured packColumns; ///< cycles to pack 64 bytes of a transposed operand in panels
  Measured scalar;      ///< cycles of an element that is not part of a vector

  // Tile registers.
  Measured tileProduct; ///< cycles
  Measured tileLoad;    ///< cycles of a load from L1
  Measured tileSums;    ///< cycles of loading and storing a block of 2 x 2 tiles of sums
  Measured tileSetup;   ///< cycles of loading a configuration and releasing it

  // Bytes per cycle.
  Measured l2Read, l2Write, l3Read, l3Write, memoryRead, memoryWrite;
  /// Bytes of a row whose beginning costs as much as it: prefetchers start anew.
  Measured rowBytes;

  // Fixed costs, cycles.
  Measured block;  ///< of one block
  Measured launch; ///< of a launch on one thread

  Measured boundExponent; ///< sharpness of the maximum of bounds
  /// Error of absolute predictions on a machine that was never measured (rms).
  Measured machine;
};

struct CpuConstant {
  std::string_view name;
  std::string_view unit;
  Measured Cpu::*member;
};
std::span<const CpuConstant> cpuConstants();

const std::vector<Cpu> &cpus();
/// By the name that LLVM gives it; null if it was never measured.
const Cpu *findCpu(std::string_view key);

} // namespace penstock::hw

#endif // PENSTOCK_HARDWARE_CPU_H
