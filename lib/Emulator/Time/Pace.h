//===- Pace.h - Times of a GPU, for runs on a clock -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Timing::Paced executes a kernel on a clock of cycles. The emulator knows which
// instruction occupies which part of an SM; a Pace knows for how long.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TIME_PACE_H
#define PENSTOCK_EMULATOR_TIME_PACE_H

#include <cstdint>

namespace penstock::ptx {
struct Instruction;
} // namespace penstock::ptx

namespace penstock::emu {

/// An asynchronous operation, as far as its time depends on it.
struct AsyncWork {
  enum class Engine : uint8_t {
    None,       ///< arrivals and commits
    Load,       ///< TMA, into shared memory
    ThreadLoad, ///< cp.async
    Store,      ///< TMA, until shared memory has been read
    StoreEnd,   ///< from then on
    Product     ///< of the tensor core
  };
  Engine engine = Engine::None;
  Engine follows = Engine::None; ///< None: whose operations an arrival or commit follows
  // Copies.
  uint64_t bytes = 0;
  uint64_t rows = 0;     ///< of a box, of at most 128 bytes
  uint64_t barrier = 0;  ///< identifies the mbarrier that is signaled; 0: none
  bool repeated = false; ///< the same copy for another receiver
  // Products.
  uint32_t m = 0, n = 0, k = 0; ///< m: rows in each block
  uint32_t elementBytes = 0;
  uint32_t blocks = 1;     ///< 2: of a pair
  double multiplyAdds = 0; ///< in each block
};

/// An arrival or commit behind operations of an engine.
inline AsyncWork signalBehind(AsyncWork::Engine engine) {
  AsyncWork work;
  work.follows = engine;
  return work;
}

/// A product of one instruction. Its operands have 32 bytes along k; packed 4-bit values are
/// multiplied in pairs, in the time of bytes.
inline AsyncWork productWork(uint32_t m, uint32_t n, uint32_t k) {
  AsyncWork work;
  work.engine = AsyncWork::Engine::Product;
  work.m = m;
  work.n = n;
  work.k = k < 32 ? k : 32;
  work.elementBytes = 32 / work.k;
  work.multiplyAdds = double(m) * n * k;
  return work;
}

/// In cycles.
struct AsyncTimes {
  double busy = 0;     ///< of the engine
  double latency = 0;  ///< from its start to its end, without transfer
  double transfer = 0; ///< copies to one barrier transfer one after another
};

/// Parts of an SM that instructions of warps share.
enum class Unit : uint8_t {
  None,
  Fma,     ///< in each quarter of an SM
  Alu,     ///< the same: integers, comparisons, conversions
  Special, ///< the same: exponentials, reciprocals
  Matrix,  ///< the same: mma.sync
  Tensor,  ///< the same: the path to tensor memory
  Shared,  ///< one for all warps: shared memory, shuffles
  Global,  ///< one for all warps: the path to global memory
  Count
};
/// Units of which each quarter has its own.
inline bool isQuartered(Unit unit) { return unit != Unit::Shared && unit != Unit::Global; }

/// In cycles.
struct InstructionTimes {
  double issue = 1; ///< of the quarter's issue slot; 0: not an instruction of the hardware
  Unit unit = Unit::None;
  double busy = 0;    ///< of the unit
  double latency = 0; ///< until a warp that needs the result goes on
  /// The warp goes on after the latency, if it has all that it waits for.
  bool blocking = false;
  /// Of tensor memory: tcgen05.wait waits for the latency.
  bool tensorMemory = false;
};

class Pace {
public:
  virtual ~Pace() = default;
  virtual InstructionTimes times(const ptx::Instruction &) const = 0;
  virtual AsyncTimes times(const AsyncWork &) const = 0;

  double warpIssue = 1;      ///< share of issue slots that one warp reaches
  double barrierCycles = 0;  ///< from the end of a phase until a waiting thread goes on
  double copyIssue = 0;      ///< cycles of the issuing warp for a copy
  double productIssue = 0;   ///< cycles of the issuing warp for a product
  double productQueue = 1e9; ///< products under way before issue blocks
};

/// Cycles that each part of an SM was occupied in a run.
struct PacedTotals {
  double cycles = 0; ///< of the whole run
  double issue = 0;  ///< of the busiest quarter, as are units of quarters
  double units[unsigned(Unit::Count)] = {};
  double tensor = 0, tma = 0;
  double copied = 0;          ///< bytes, by TMA
  double multiplyAdds = 0;    ///< of asynchronous products
  unsigned tensorColumns = 0; ///< of tensor memory, that a block allocates at once
};

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TIME_PACE_H
