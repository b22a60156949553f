//===- pipeline.h - Rings of slots between roles ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header over the public operations of hardware.h: read it, copy it,
// change it. A ring has two barriers for each slot; where a role stands in the
// ring is a state of its own, so that one role can have several, e.g. one for
// what it reads and one that trails behind for what it gives back.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PIPELINE_H
#define PENSTOCK_PIPELINE_H

#include "penstock/block.h"

namespace penstock {

/// A place in a ring: a slot, and the phase of its barriers.
class PipelineState {
public:
  PipelineState(Block &b, int stages, detail::ScalarArg<int> slot,
                detail::ScalarArg<unsigned> phase)
      : b(b), stages(stages), index(b, slot), phase(b, phase) {}

  /// The same place; the two advance separately from here on.
  PipelineState clone() const { return {b, stages, Scalar<int>(index), Scalar<unsigned>(phase)}; }
  void advance() {
    index = (index + 1) % stages;
    phase ^= index == 0;
  }

  Block &b;
  int stages;
  Var<int> index;
  Var<unsigned> phase;
};

/// Slots that TMA fills and threads read.
class TmaPipeline {
public:
  /// \p bytes arrive for each slot; \p consumers threads give it back.
  TmaPipeline(Block &b, int stages, int64_t bytes, int consumers, Loc at = here())
      : b(b), stages(stages), bytes(bytes), full(b.mbarrier.alloc(stages, 1, at)),
        empty(b.mbarrier.alloc(stages, consumers, at)) {}

  PipelineState producer_state() { return {b, stages, 0, mbarrier::producer_phase}; }
  PipelineState consumer_state() { return {b, stages, 0, mbarrier::consumer_phase}; }

  /// Asks early whether the slot is free; hand the token to producer_acquire.
  Bool producer_try_acquire(const PipelineState &state, Loc at = here()) {
    return b.mbarrier.try_wait(empty[state.index], state.phase, {}, at);
  }
  /// Waits until the slot is free, and announces its bytes.
  void producer_acquire(const PipelineState &state, Loc at = here()) {
    b.mbarrier.wait(empty[state.index], state.phase, {}, at);
    announce(state, at);
  }
  void producer_acquire(const PipelineState &state, const Bool &token, Loc at = here()) {
    b.when(!token, [&] { b.mbarrier.wait(empty[state.index], state.phase, {}, at); }, at);
    announce(state, at);
  }
  /// What copies into the slot arrive on.
  Barrier producer_barrier(const PipelineState &state) { return full[state.index]; }
  /// TMA commits by itself when its bytes arrive; here so that roles read alike.
  void producer_commit(const PipelineState &) {}

  Bool consumer_try_wait(const PipelineState &state, Loc at = here()) {
    return b.mbarrier.try_wait(full[state.index], state.phase, {}, at);
  }
  void consumer_wait(const PipelineState &state, Loc at = here()) {
    b.mbarrier.wait(full[state.index], state.phase, {}, at);
  }
  void consumer_wait(const PipelineState &state, const Bool &token, Loc at = here()) {
    b.when(!token, [&] { b.mbarrier.wait(full[state.index], state.phase, {}, at); }, at);
  }
  /// What a product of the tensor core that reads the slot is committed to.
  Barrier consumer_barrier(const PipelineState &state) { return empty[state.index]; }
  /// Gives the slot back; every thread of the scope does, when it has read it.
  void consumer_release(const PipelineState &state, Loc at = here()) {
    b.mbarrier.arrive(empty[state.index], {}, at);
  }

private:
  void announce(const PipelineState &state, Loc at) {
    b.elect_one([&] { b.mbarrier.arrive_expect(full[state.index], bytes, {}, at); }, at);
  }

  Block &b;
  int stages;
  int64_t bytes;
  Barriers full, empty;
};

} // namespace penstock

#endif // PENSTOCK_PIPELINE_H
