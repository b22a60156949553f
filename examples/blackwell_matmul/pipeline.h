//===- pipeline.h - A ring of slots, as a user would write it ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two barriers for each slot and, for each side, the slot and the phase it is
// at. Nothing here is built in: it is a class over the public operations.
//
//===----------------------------------------------------------------------===//
#ifndef EXAMPLES_BLACKWELL_MATMUL_PIPELINE_H
#define EXAMPLES_BLACKWELL_MATMUL_PIPELINE_H

#include <penstock/penstock.h>

namespace blackwell {
using namespace penstock;

struct Pipeline {
  Block &b;
  int stages;
  Barriers full, empty;
  Var<int> fill_stage, drain_stage;
  Var<unsigned> fill_phase, drain_phase;

  Pipeline(Block &b, int stages, int producers = 1, int consumers = 1)
      : b(b), stages(stages), full(b.mbarrier.alloc(stages, producers)),
        empty(b.mbarrier.alloc(stages, consumers)), fill_stage(b, 0), drain_stage(b, 0),
        fill_phase(b, mbarrier::producer_phase), drain_phase(b, mbarrier::consumer_phase) {}

  void producer_acquire(Loc at = here()) { b.mbarrier.wait(empty[fill_stage], fill_phase, {}, at); }
  Barrier producer_barrier() { return full[fill_stage]; }
  void producer_advance() {
    fill_stage = (fill_stage + 1) % stages;
    fill_phase ^= fill_stage == 0;
  }
  void consumer_acquire(Loc at = here()) {
    b.mbarrier.wait(full[drain_stage], drain_phase, {}, at);
  }
  Barrier consumer_barrier() { return empty[drain_stage]; }
  void consumer_advance() {
    drain_stage = (drain_stage + 1) % stages;
    drain_phase ^= drain_stage == 0;
  }
};

} // namespace blackwell

#endif // EXAMPLES_BLACKWELL_MATMUL_PIPELINE_H
