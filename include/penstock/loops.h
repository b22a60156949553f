//===- loops.h - Loops of a kernel, and their options -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options of `b.range(..)`, `b.pipelined(..)`, `b.statement(..)` and `b.wait(..)`, and the range
// that a range-for over a tile loop uses.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LOOPS_H
#define PENSTOCK_LOOPS_H

#include "penstock/scalar.h"

#include <climits>
#include <string>
#include <vector>

namespace penstock {

struct RangeOptions {
  /// Unroll factor. 1 disables unrolling, 0 unrolls fully, -1 leaves it to the compiler.
  int unroll = -1;
};
/// Form of a pipelined loop on GPUs.
enum class Form {
  /// Warp-specialized if possible and the schedule is inferred, otherwise skewed.
  Automatic,
  /// All warps execute all statements; copies and MMAs of several iterations are in flight.
  Skewed,
  /// Separate warps load and, on GPUs with tensor memory, issue MMAs.
  WarpSpecialized
};
/// Origin of stages and order if they are not stated.
enum class Schedule {
  /// Copies are prefetched num_stages ahead; the rest stays in source order.
  Inferred,
  /// Minimal interval in the target's timing model, found by an exact solver. num_stages is then
  /// an optional upper bound of the versions of a tile.
  Optimal
};
/// Largest `num_stages`, up to 8, whose tiles fit in the memory of the target. Differs from -1,
/// a likely result of a miscomputed depth.
inline constexpr int Auto = INT_MIN;
struct PipelineOptions {
  /// Pipeline depth, or Auto; stages and order are inferred from it.
  int num_stages = 0;
  /// Explicit schedule: stage and order of each statement, in source order. Entries
  /// for named scalars (bind) are accepted and ignored.
  std::vector<int> stage = {};
  std::vector<int> order = {};
  /// Only with stage and order. Copies from tensors in these stages are asynchronous;
  /// async_producers marks single statements by 1, one entry per statement.
  std::vector<int> async_stages = {};
  std::vector<int> async_producers = {};
  /// Wait group of each statement: copies with the same number are awaited together;
  /// -1: no group.
  std::vector<int> async_producer_groups = {};
  /// Form on GPUs; other targets ignore it.
  Form form = Form::Automatic;
  Schedule schedule = Schedule::Inferred;
  /// Time limit of Schedule::Optimal. Exceeding it is an error.
  int solver_seconds = 10;
};
struct StatementOptions {
  /// Warp role that executes the statement in a pipelined loop; empty: the compiler chooses.
  /// Only GPUs use it.
  std::string_view role = {};
};
struct WaitOptions {
  /// Iterations between the issue of an operation and this wait.
  int lag = 0;
};

namespace detail {

/// Range of a tile loop. Its iterator opens and closes the loop's body. The destructor
/// detects a body that exits by break or return.
class LoopRange {
public:
  LoopRange(LoopArguments loop, PipelineOptions pipeline, Loc where)
      : arguments(loop), options(std::move(pipeline)), at(where) {}
  LoopRange(const LoopRange &) = delete;
  ~LoopRange() {
    if (opened && !closed)
      abandon(scope);
  }

  struct End {};
  struct Iterator {
    LoopRange &range;
    Index operator*() const { return Index(range.index); }
    Iterator &operator++() {
      detail::close(range.scope);
      range.closed = true;
      return *this;
    }
    bool operator!=(End) const { return !range.closed; }
  };
  Iterator begin() {
    arguments.stage = options.stage;
    arguments.order = options.order;
    arguments.asyncStages = options.async_stages;
    arguments.asyncProducers = options.async_producers;
    arguments.asyncProducerGroups = options.async_producer_groups;
    scope = openLoop(arguments, index, at);
    opened = true;
    return {*this};
  }
  End end() const { return {}; }

private:
  LoopArguments arguments;
  PipelineOptions options;
  Loc at;
  Scope scope;
  Ref index;
  bool opened = false, closed = false;
};

} // namespace detail

} // namespace penstock

#endif // PENSTOCK_LOOPS_H
