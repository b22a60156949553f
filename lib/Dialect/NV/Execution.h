//===- Execution.h - Execution of nv operations -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results of the methods of HardwareOpInterface.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_NV_EXECUTION_H
#define PENSTOCK_DIALECT_NV_EXECUTION_H

#include "mlir/IR/Value.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <optional>

namespace penstock::nv {

class HardwareOpInterface;

/// Threads of the scope that issue an operation.
enum class Issuer : uint8_t {
  EachThread, ///< every thread of the scope, independently
  Warps,      ///< whole warps of the scope, converged
  Warpgroups, ///< whole warpgroups
  Block,      ///< all threads of the block
  OneThread   ///< the elected thread of the scope, for all of them
};

/// Completion of the accesses of an operation.
enum class Completion : uint8_t {
  Immediate, ///< before the operation of the thread that follows, or at its own fence
  OnBarrier, ///< when their bytes have arrived on the operation's mbarrier
  InQueue    ///< when a later commit or group of the queue has been awaited
};

/// Asynchronous operations that are completed together.
enum class Queue : uint8_t {
  Tensor,    ///< tcgen05
  Wgmma,     ///< wgmma
  AsyncCopy, ///< cp.async
  BulkStore  ///< stores by TMA
};

/// Effect of an operation on other threads and engines.
enum class Synchronization : uint8_t {
  None,
  Sync,        ///< waits for all threads of the scope, or of the cluster
  Arrive,      ///< arrives on a barrier
  Wait,        ///< waits for a barrier, or asks whether it has completed
  CloseGroup,  ///< makes the operations of the queue so far a group
  AwaitGroups, ///< waits until few enough groups of the queue are in flight
  Commit       ///< arrives on the mbarrier when the queue has completed what it holds
};

/// Architectures that have an operation. Hopper's tensor core is not part of Blackwell's.
enum class Availability : uint8_t { Sm80AndLater, Sm90AndLater, OnlySm90a, OnlySm100a };

/// One access to a tile or a tensor.
struct HardwareAccess {
  /// The memref as the operation names it: a view, not the allocation.
  mlir::Value memref;
  bool reads = false;
  bool writes = false;
  /// The tile has the swizzled layout of engines.
  bool engineLayout = false;
  /// Offsets of the box, if the memref is a tensor.
  mlir::ValueRange offsets = {};
  /// Reads only if this is true, whatever `reads` says; always if it is null.
  mlir::Value readsIf = {};
};

/// An mbarrier as an operand.
struct BarrierOperand {
  mlir::Value barriers;
  mlir::Value index;
  /// The blocks of the cluster on whose barriers the operation arrives, as bits; null if
  /// only on the block's own.
  mlir::Value multicast = {};
  /// In a pair of blocks, the barrier of the first block stands for both.
  bool firstOfPair = false;
};

/// Reports an operation whose scope does not have the threads that issue it.
llvm::LogicalResult verifyIssuer(HardwareOpInterface op);

} // namespace penstock::nv

#endif // PENSTOCK_DIALECT_NV_EXECUTION_H
