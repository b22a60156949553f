//===- Work.h - Work of a kernel's blocks, for timing -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a grid of tiles. Each tile is a loop, with a prologue and an
// epilogue. The loop is a set of roles that issue operations in order; an operation
// runs on an engine and may wait for operations of other iterations.
//
//   load role:    [load k]     waits for release(k - slots)
//   product role: [multiply k] waits for load(k)
//                 [release k]  waits for multiply(k - lag)
//
// Machine.h runs the loop on one SM, Predict.h the kernel on a chip. Neither knows
// what a matmul is; Matmul.h, Attention.h and Streaming.h build kernels.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TIMING_WORK_H
#define PENSTOCK_TIMING_WORK_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::timing {

/// Resource that executes operations one at a time, in order of arrival.
enum class Engine : uint8_t {
  None,   ///< waits and releases take no time of their own
  Tma,    ///< copies between global and shared memory
  Tensor, ///< matrix products
  Cuda,   ///< general cores: elementwise work and reductions
  Sfu     ///< exponentials
};
inline constexpr unsigned numEngines = 5;

/// Iteration k of an operation starts after iteration k - distance of `op`.
struct Await {
  unsigned op = 0;
  int64_t distance = 0;
  /// Iterations k < from do not wait: the slots are empty at first.
  int64_t from = 0;
  /// Cycles from the end of `op` until the waiting role sees it.
  double delay = 0;
};

/// One operation of an iteration. Which fields count depends on the engine.
struct Op {
  Engine engine = Engine::None;
  unsigned role = 0;
  /// Iterations that it runs ahead of its role's loop: a skewed pipeline.
  int64_t ahead = 0;
  std::vector<Await> awaits;

  // Tma: a copy.
  double bytes = 0;       ///< that arrive in this block's shared memory
  double rows = 0;        ///< box rows
  double rowBytes = 0;    ///< of one box row, at most 128
  double copies = 0;      ///< instructions
  bool byThreads = false; ///< cp.async instead of TMA

  // Tensor: a batch of products.
  double products = 0;      ///< instructions
  double productCycles = 0; ///< cycles of one
  double tail = 0;          ///< cycles from the end of the last to its result

  // Cuda and Sfu; None: cycles until the end.
  double cycles = 0;

  // The issuing role.
  double issueDelay = 0;  ///< cycles before the engine gets it
  double issueCycles = 0; ///< cycles until the role goes on, if nothing blocks
  bool blocking = false;  ///< the role goes on after the end
  double handOver = 0;    ///< cycles after that
  /// Index of a source statement, or a number of the builder's choice.
  int64_t tag = -1;
};

struct Role {
  std::string name;
  int64_t warps = 1;
};

struct Loop {
  std::vector<Role> roles;
  /// In program order of each role. An operation may only wait for operations that
  /// are issued, in their own order, before it: builders see to it.
  std::vector<Op> ops;
  /// The operation whose starts count the iterations.
  unsigned paced = 0;
};

/// SM resources that one block occupies.
struct Resources {
  int64_t sharedBytes = 0; ///< without the kilobyte that the system takes
  int64_t registers = 0;   ///< per thread
  int64_t threads = 0;
  int64_t tensorColumns = 0;
  /// Blocks per SM: 0 if resources decide.
  int64_t fixed = 0;
  int64_t most = 32;
};

/// Tiles and the strips of the operands that they read, in the order of the blocks.
struct Raster {
  int64_t tilesM = 1;
  int64_t tilesN = 1;
  /// Columns of tiles per group of a swizzled order; 0: plain, along n first.
  int64_t group = 0;
  double stripM = 0;     ///< bytes that the tiles of one row of tiles share
  double stripN = 0;     ///< bytes that the tiles of one column share
  double ownBytes = 0;   ///< bytes of one tile that no other reads
  double totalBytes = 0; ///< all operands

  /// Instead of rows and columns of tiles: the strips that each tile reads, `perTile` of
  /// them, as indices of `stripBytes`. Tiles beyond the listed ones continue the pattern.
  std::vector<double> stripBytes;
  std::vector<uint32_t> reads;
  unsigned perTile = 0;
};

struct TimedProtocol;

/// A kernel.
struct Kernel {
  Loop loop;
  /// Instead of the loop: what each role does, step by step (ProtocolTimes.h). Epilogue
  /// cycles are part of it.
  std::shared_ptr<const TimedProtocol> protocol;
  /// Iterations of one tile's loop, on average.
  double trips = 1;
  /// The same of the longest tile if tiles are unequal and come in any order.
  double longestTrips = 0;
  int64_t blocksPerTile = 1; ///< 2: pairs
  Resources needs;
  Raster raster;
  double fabricBytes = 0; ///< asked of L2 per block and iteration
  bool narrow = false;    ///< rows below 128 bytes
  bool persistent = false;
  /// Tiles are unequal and the longest come first: no wave is partial.
  bool balanced = false;
  /// Threads compute beside products: engines of similar load slow each other.
  bool sharesIssue = false;
  /// The epilogue of a tile runs beside the loop of the next.
  bool overlapped = false;
  double epilogueCycles = 0;
  double spillCycles = 0; ///< per iteration
  double flop = 0;
  double storedBytes = 0; ///< written to HBM
  /// Cycles per iteration of the tensor core beside those of operations, which lower the clock.
  double moreTensorCycles = 0;
};

} // namespace penstock::timing

#endif // PENSTOCK_TIMING_WORK_H
