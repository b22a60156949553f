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
  /// 1 forbids unrolling, 0 unrolls fully, -1 leaves it to the compiler.
  int unroll = -1;
};
/// Division of a pipelined loop among the warps of a GPU.
enum class Form {
  /// Warp-specialized where that is possible and the schedule is inferred.
  Automatic,
  /// One group of warps; copies and products of several iterations are in flight.
  Skewed,
  /// Warps of their own load, and multiply on GPUs with tensor memory.
  WarpSpecialized
};
/// Origin of stages and order, unless they are stated.
enum class Schedule {
  /// Copies run ahead by num_stages; the rest stays in source order.
  Inferred,
  /// The minimal interval of the target's timing model, by an exact solver. Then num_stages is
  /// the largest number of versions of a tile, and may be left out.
  Optimal
};
/// Largest `num_stages`, up to 8, whose tiles fit in the memory of the target. Not -1, which a
/// miscomputed depth may be.
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
  /// On GPUs only.
  Form form = Form::Automatic;
  Schedule schedule = Schedule::Inferred;
  /// Time limit of Schedule::Optimal. Exceeding it is an error.
  int solver_seconds = 10;
};
struct StatementOptions {
  /// Name of the warps that execute the statement in a pipelined loop; empty: the compiler
  /// chooses. On GPUs only.
  std::string_view role = {};
};
struct WaitOptions {
  /// Iterations between the issue of an operation and this wait.
  int lag = 0;
};

namespace detail {

/// Range of a tile loop. Its iterator opens and closes the loop's body. The destructor
/// detects a body that is left by break or return.
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
