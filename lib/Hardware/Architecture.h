//===- Architecture.h - Limits and costs of each target ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything the compiler knows about a chip, in one place: what fits, which
// engines there are, and how long they take. Costs are for one SM, or one core,
// that does nothing else; they are good enough to compare schedules, not to
// predict a benchmark.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_HARDWARE_ARCHITECTURE_H
#define PENSTOCK_HARDWARE_ARCHITECTURE_H

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::hw {

/// 0 means that the architecture has no such thing.
struct Limits {
  int64_t sharedBytesPerBlock = 0;
  int64_t tensorColumns = 0; ///< of 128 lanes x 32 bits
  int64_t registersPerBlock = 0;
  int64_t threadsPerBlock = 0;
  int64_t clusterBlocks = 0; ///< portable cluster size
  int64_t l1Bytes = 0;       ///< CPU: data cache that a tile should fit
  int64_t l2Bytes = 0;
  int64_t tileBytes = 0; ///< CPU: what all tiles of a block may take together
  int64_t multiprocessors = 0;
};

/// An engine that executes statements, one at a time.
struct Engine {
  std::string name;
  std::string description;
};

/// Cycles that a statement occupies its engine, and latency of its result.
struct Cost {
  int64_t busy = 0;
  int64_t latency = 0;
  friend bool operator==(const Cost &, const Cost &) = default;
};

/// The instructions that a matrix product consists of.
struct Products {
  int64_t count = 0;
  double busy = 0; ///< cycles of the tensor core, all of them
  double tail = 0; ///< cycles from the end of the last until its result is seen
  double interval() const { return count ? busy / double(count) : 0; }
};

/// Instruction that multiplies with block scales.
enum class BlockScales { None, Tcgen05Mma, MmaSync };

struct Architecture {
  /// Ampere stands for all GPUs whose tensor cores are reached by mma.sync alone.
  enum class Family { Hopper, Blackwell, Ampere, X86 };
  std::string name;
  Family family = Family::Hopper;
  Limits limits;
  std::vector<Engine> engines;
  bool tma = false; ///< copies boxes of tensors by itself
  BlockScales scales = BlockScales::None;
  int64_t tensorFlopPerCycle = 0; ///< Ampere: per multiprocessor, operands of 16 bits

  /// A tile of \p bytes whose rows have \p rowBytes, from global memory.
  Cost load(int64_t bytes, int64_t rowBytes) const;
  /// m x n x k with both operands in shared memory (or in caches).
  Cost gemm(int64_t m, int64_t n, int64_t k, int64_t elementBytes) const;
  /// The same as instructions. \p blocks is 2 for products that a pair of blocks
  /// computes: \p m rows per block, each holding half of the columns.
  Products products(int64_t m, int64_t n, int64_t k, int64_t elementBytes,
                    int64_t blocks = 1) const;
  /// \p count operations of one multiply-add each on the general cores.
  Cost elementwise(int64_t count) const;
  /// \p count exponentials.
  Cost exponentials(int64_t count) const;
  /// From the last arrival on a barrier until a waiting thread goes on.
  int64_t barrierLatency() const;

  const Engine *findEngine(const std::string &name) const;
};

/// All architectures.
const std::vector<Architecture> &architectures();
/// "sm_90a", "sm_100a" or "x86"; null if there is none of that name.
const Architecture *findArchitecture(const std::string &name);

} // namespace penstock::hw

#endif // PENSTOCK_HARDWARE_ARCHITECTURE_H
