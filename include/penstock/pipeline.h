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

/// Where a role stands in a ring: a slot, the phase of its barriers, and how many slots came
/// before it.
class PipelineState {
public:
  PipelineState(Block &block, int slots, detail::ScalarArg<int> first,
                detail::ScalarArg<unsigned> firstPhase, detail::ScalarArg<int> before = 0)
      : b(block), stages(slots), index(block, first), phase(block, firstPhase),
        count(block, before) {}

  /// The same slot; the two advance separately from here on.
  PipelineState clone() const {
    return {b, stages, Scalar<int>(index), Scalar<unsigned>(phase), Scalar<int>(count)};
  }
  void advance() {
    index = (index + 1) % stages;
    phase ^= index == 0;
    count += 1;
  }

  Block &b;
  int stages;
  Var<int> index;
  Var<unsigned> phase;
  Var<int> count;
};

/// Slots that one side fills and the other drains, each by one role that has one state. A slot
/// is full after as many arrivals as there are \p producers, and empty again after as many as
/// there are \p consumers: threads that arrive, copies by TMA, or commits of the tensor core.
class Pipeline {
public:
  Pipeline(Block &block, int stages, int producers = 1, int consumers = 1, Loc at = here())
      : producer(block, stages, 0, mbarrier::producer_phase),
        consumer(block, stages, 0, mbarrier::consumer_phase), b(block),
        full(block.mbarrier.alloc(stages, producers, at)),
        empty(block.mbarrier.alloc(stages, consumers, at)) {}

  /// Waits until the producer's slot is empty.
  void producer_acquire(Loc at = here()) {
    b.mbarrier.wait(empty[producer.index], producer.phase, {}, at);
  }
  /// What copies and products that fill the slot arrive on.
  Barrier producer_barrier() { return full[producer.index]; }
  /// Arrives for every thread of the scope, when it has written its part of the slot.
  void producer_commit(Loc at = here()) { b.mbarrier.arrive(full[producer.index], {}, at); }
  void producer_advance() { producer.advance(); }

  /// Waits until the consumer's slot is full.
  void consumer_acquire(Loc at = here()) {
    b.mbarrier.wait(full[consumer.index], consumer.phase, {}, at);
  }
  /// What products that read the slot are committed to.
  Barrier consumer_barrier() { return empty[consumer.index]; }
  /// Arrives for every thread of the scope, when it has read its part of the slot.
  void consumer_release(Loc at = here()) { b.mbarrier.arrive(empty[consumer.index], {}, at); }
  void consumer_advance() { consumer.advance(); }

  PipelineState producer, consumer;

private:
  Block &b;
  Barriers full, empty;
};

/// Slots that TMA fills and threads read.
class TmaPipeline {
public:
  /// \p bytesOfSlot arrive for each slot; \p consumers threads give it back.
  TmaPipeline(Block &block, int slots, int64_t bytesOfSlot, int consumers, Loc at = here())
      : b(block), stages(slots), bytes(bytesOfSlot), full(block.mbarrier.alloc(slots, 1, at)),
        empty(block.mbarrier.alloc(slots, consumers, at)) {}

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
