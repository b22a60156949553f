//===- Async.h - Operations that complete later -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_INTERPRETER_ASYNC_H
#define PENSTOCK_INTERPRETER_ASYNC_H

#include "mlir/IR/Operation.h"
#include "penstock/launch.h"

#include <functional>
#include <vector>

namespace penstock::interpreter {

/// A random sequence that is the same on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// Less than \p bound, which is not zero.
  uint64_t below(uint64_t bound) { return next() % bound; }

private:
  uint64_t state;
};

/// When an operation was issued, as waits count it: in which loop, and in which
/// iteration since the block began. Iterations are counted on when a loop runs
/// again, so that a lag reaches back into its last run, as it does in hardware
/// that counts groups.
struct IssueTag {
  mlir::Operation *loop = nullptr; ///< the innermost; null outside of loops
  int64_t iteration = 0;
};

/// The asynchronous operations of a block that are under way.
class AsyncQueue {
public:
  AsyncQueue(Completion completion, Random &random) : completion(completion), random(random) {}

  struct Pending {
    mlir::StringAttr name;
    IssueTag tag;
    /// Operations with the same non-null chain complete in issue order.
    const void *chain = nullptr;
    /// Reads and writes memory as it then is.
    std::function<void()> perform;
  };

  void issue(Pending operation);
  /// Completes what \p names issued, up to \p lag iterations before \p now if
  /// it was issued in the same loop.
  void wait(mlir::ArrayAttr names, int64_t lag, IssueTag now);
  /// Completes everything: the block ends.
  void finish();

private:
  void complete(size_t index);
  void completeSome();

  Completion completion;
  Random &random;
  std::vector<Pending> pending; ///< in issue order
};

} // namespace penstock::interpreter

#endif // PENSTOCK_INTERPRETER_ASYNC_H
