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

/// Elements of one tensor or tile that an operation accesses.
class Footprint {
public:
  /// \p elements are offsets into the memory at \p data.
  Footprint(const uint8_t *data, bool writes, std::vector<int64_t> elements);
  bool contains(const uint8_t *memory, int64_t element) const;
  bool writes;

private:
  const uint8_t *data;
  /// Begin and end of runs of elements, sorted.
  std::vector<std::pair<int64_t, int64_t>> runs;
};

/// The asynchronous operations of a block that are under way: issued, and not
/// awaited yet. Whether one has already taken effect is another matter.
class AsyncQueue {
public:
  AsyncQueue(Completion completion, Random &random) : completion(completion), random(random) {}

  struct Pending {
    mlir::Operation *op;
    mlir::StringAttr name;
    IssueTag tag;
    /// Operations with the same non-null chain complete in issue order.
    const void *chain = nullptr;
    std::vector<Footprint> footprints;
    /// Reads and writes memory as it then is; empty once this has happened.
    std::function<void()> perform;
    bool awaited = false;
  };

  void issue(Pending operation);
  /// Completes what \p names issued, up to \p lag iterations before \p now if
  /// it was issued in the same loop.
  void wait(mlir::ArrayAttr names, int64_t lag, IssueTag now);
  /// Completes everything, because the block ends. Returns what was not awaited.
  std::vector<Pending> finish();

  /// Returns whether accesses must be compared with operations under way. What those access
  /// themselves was compared when they were issued.
  bool busy() const { return !pending.empty() && !performing; }
  /// The operation under way that an access to an element races with, if there
  /// is one; those of \p chain are in order with it.
  const Pending *conflict(const uint8_t *data, int64_t element, bool writes,
                          const void *chain) const;

private:
  void complete(size_t index);
  void completeSome();
  void perform(Pending &operation);

  Completion completion;
  Random &random;
  bool performing = false;
  std::vector<Pending> pending; ///< in issue order
};

} // namespace penstock::interpreter

#endif // PENSTOCK_INTERPRETER_ASYNC_H
