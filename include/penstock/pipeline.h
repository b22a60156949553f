//===- pipeline.h - Multi-buffered producer/consumer pipelines --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An extra header over the public operations of hardware.h: read it, copy it, change
// it. A ring has a full and an empty barrier per slot. PipelineState is the position of
// a role in the ring; a role may have several, e.g. one for reads and a later one for
// releases.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_PIPELINE_H
#define PENSTOCK_PIPELINE_H

#include "penstock/block.h"

namespace penstock {

/// Position of a role in a ring: slot, phase of its barriers, and number of slots passed.
class PipelineState {
public:
  /// A position in a ring of \p slots slots; \p first: slot, \p before: slots passed.
  PipelineState(Block &block, int slots, detail::ScalarArg<int> first,
                detail::ScalarArg<unsigned> firstPhase, detail::ScalarArg<int> before = 0)
      : b(block), stages(slots), index(block, first), phase(block, firstPhase),
        count(block, before) {}

  /// Copies the state; both copies advance independently.
  PipelineState clone() const {
    return {b, stages, Scalar<int>(index), Scalar<unsigned>(phase), Scalar<int>(count)};
  }
  /// Moves to the next slot, and to the other phase after the last one.
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

/// Ring between one producer role and one consumer role. A slot is full after \p producers
/// arrivals and empty after \p consumers arrivals: of threads, TMA copies, or tensor core
/// commits.
class Pipeline {
public:
  /// Allocates the barriers of a ring of \p stages slots.
  Pipeline(Block &block, int stages, int producers = 1, int consumers = 1, Loc at = here())
      : producer(block, stages, 0, mbarrier::producer_phase),
        consumer(block, stages, 0, mbarrier::consumer_phase), b(block),
        full(block.mbarrier.alloc(stages, producers, at, "full")),
        empty(block.mbarrier.alloc(stages, consumers, at, "empty")) {}

  /// Waits until the producer's slot is empty.
  void producer_acquire(Loc at = here()) {
    b.mbarrier.wait(empty[producer.index], producer.phase, {.scope = scope}, at);
  }
  /// Barrier for the copies and MMAs that fill the slot.
  Barrier producer_barrier() { return full[producer.index]; }
  /// Arrives for every thread of the scope, after it has written its part of the slot.
  void producer_commit(Loc at = here()) { b.mbarrier.arrive(full[producer.index], {}, at); }
  /// Moves the producer to the next slot.
  void producer_advance() { producer.advance(); }

  /// Waits until the consumer's slot is full.
  void consumer_acquire(Loc at = here()) {
    b.mbarrier.wait(full[consumer.index], consumer.phase, {.scope = scope}, at);
  }
  /// Barrier for commits of products that read the slot.
  Barrier consumer_barrier() { return empty[consumer.index]; }
  /// Arrives for every thread of the scope, after it has read its part of the slot.
  void consumer_release(Loc at = here()) { b.mbarrier.arrive(empty[consumer.index], {}, at); }
  /// Moves the consumer to the next slot.
  void consumer_advance() { consumer.advance(); }

  PipelineState producer, consumer;
  /// Scope of the waits: Cluster if threads of other blocks arrive.
  ThreadScope scope = Cta;

private:
  Block &b;
  Barriers full, empty;
};

/// Ring that TMA fills and threads read.
class TmaPipeline {
public:
  /// Each slot receives \p bytesOfSlot bytes and is released by \p consumers threads.
  TmaPipeline(Block &block, int slots, int64_t bytesOfSlot, int consumers, Loc at = here())
      : b(block), stages(slots), bytes(bytesOfSlot),
        full(block.mbarrier.alloc(slots, 1, at, "full")),
        empty(block.mbarrier.alloc(slots, consumers, at, "empty")) {}

  /// Returns the producer's first slot.
  PipelineState producer_state() { return {b, stages, 0, mbarrier::producer_phase}; }
  /// Returns the consumer's first slot.
  PipelineState consumer_state() { return {b, stages, 0, mbarrier::consumer_phase}; }

  /// Non-blocking test for an empty slot; pass the token to producer_acquire.
  Bool producer_try_acquire(const PipelineState &state, Loc at = here()) {
    return b.mbarrier.try_wait(empty[state.index], state.phase, {}, at);
  }
  /// Waits until the slot is empty and expects its bytes.
  void producer_acquire(const PipelineState &state, Loc at = here()) {
    b.mbarrier.wait(empty[state.index], state.phase, {}, at);
    announce(state, at);
  }
  void producer_acquire(const PipelineState &state, const Bool &token, Loc at = here()) {
    b.when(!token, [&] { b.mbarrier.wait(empty[state.index], state.phase, {}, at); }, at);
    announce(state, at);
  }
  /// Barrier for copies into the slot.
  Barrier producer_barrier(const PipelineState &state) { return full[state.index]; }
  /// No operation: TMA arrives by itself. For symmetry with other pipelines.
  void producer_commit(const PipelineState &) {}

  /// Non-blocking test for a full slot; pass the token to consumer_wait.
  Bool consumer_try_wait(const PipelineState &state, Loc at = here()) {
    return b.mbarrier.try_wait(full[state.index], state.phase, {}, at);
  }
  /// Waits until the slot is full.
  void consumer_wait(const PipelineState &state, Loc at = here()) {
    b.mbarrier.wait(full[state.index], state.phase, {}, at);
  }
  void consumer_wait(const PipelineState &state, const Bool &token, Loc at = here()) {
    b.when(!token, [&] { b.mbarrier.wait(full[state.index], state.phase, {}, at); }, at);
  }
  /// Barrier for commits of products that read the slot.
  Barrier consumer_barrier(const PipelineState &state) { return empty[state.index]; }
  /// Releases the slot for every thread of the scope, after it has read it.
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
