//===- pipeline.cpp - Examples of the C++ reference -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>
#include <penstock/pipeline.h>
using namespace penstock;

// example: Pipeline::Pipeline, Pipeline::producer_acquire, Pipeline::producer_barrier,
// Pipeline::producer_advance, Pipeline::consumer_acquire, Pipeline::consumer_release,
// Pipeline::consumer_advance
auto copied = [](Block &b, In<f16, 2> A, Out<f16, 2> C) {
  b.grid(1);
  b.threads(160);
  auto As = b.shared<f16>(3, 128, 64);
  Pipeline pipe(b, 3, 1, 128); // 3 slots, released by 128 threads
  b.warp(4, [&] {
    for (Index k : b.range(ceil_div(A.size(1), 64))) {
      pipe.producer_acquire();
      b.elect_one([&] {
        b.mbarrier.arrive_expect(pipe.producer_barrier(), As[0].bytes());
        b.tma.load(A.at(0, k * 64), As[pipe.producer.index], pipe.producer_barrier());
      });
      pipe.producer_advance();
    }
  });
  b.warps(0, 4, [&] {
    for (Index k : b.range(ceil_div(A.size(1), 64))) {
      pipe.consumer_acquire();
      b.copy(As[pipe.consumer.index], C.at(0, k * 64));
      pipe.consumer_release();
      pipe.consumer_advance();
    }
  });
};

// example: Pipeline::producer_commit
auto written = [](Block &b, Pipeline &pipe, const Tile<f16, 3> &ring, const Tile<f16, 2> &values) {
  pipe.producer_acquire();
  b.copy(values, ring[pipe.producer.index]);
  pipe.producer_commit(); // of all threads of the scope
  pipe.producer_advance();
};

// example: Pipeline::consumer_barrier
auto multiplied = [](Block &b, Pipeline &pipe, const Tile<f16, 3> &As, const Tile<f16, 3> &Bs,
                     const Tile<f32, 2> &acc) {
  pipe.consumer_acquire();
  b.tcgen05.mma(As[pipe.consumer.index], transposed(Bs[pipe.consumer.index]), acc);
  b.tcgen05.commit(pipe.consumer_barrier()); // releases the slot when the MMA has read it
  pipe.consumer_advance();
};

// example: PipelineState::PipelineState, PipelineState::clone, PipelineState::advance
auto ahead = [](Block &b) {
  PipelineState state(b, 3, 0, mbarrier::consumer_phase);
  PipelineState next = state.clone();
  next.advance(); // state stays
};

// example: TmaPipeline::TmaPipeline, TmaPipeline::producer_state, TmaPipeline::producer_acquire,
// TmaPipeline::producer_barrier, TmaPipeline::producer_commit, TmaPipeline::consumer_state,
// TmaPipeline::consumer_wait, TmaPipeline::consumer_release
auto loaded = [](Block &b, In<f16, 2> A, Out<f16, 2> C) {
  b.grid(1);
  b.threads(160);
  auto As = b.shared<f16>(3, 128, 64);
  TmaPipeline pipe(b, 3, As[0].bytes(), 128);
  b.warp(4, [&] {
    PipelineState state = pipe.producer_state();
    for (Index k : b.range(ceil_div(A.size(1), 64))) {
      pipe.producer_acquire(state);
      b.elect_one(
          [&] { b.tma.load(A.at(0, k * 64), As[state.index], pipe.producer_barrier(state)); });
      pipe.producer_commit(state);
      state.advance();
    }
  });
  b.warps(0, 4, [&] {
    PipelineState state = pipe.consumer_state();
    for (Index k : b.range(ceil_div(A.size(1), 64))) {
      pipe.consumer_wait(state);
      b.copy(As[state.index], C.at(0, k * 64));
      pipe.consumer_release(state);
      state.advance();
    }
  });
};

// example: TmaPipeline::producer_try_acquire
auto early = [](Block &b, TmaPipeline &pipe, PipelineState &state) {
  Bool token = pipe.producer_try_acquire(state); // does not block
  pipe.producer_acquire(state, token);           // waits if it has to
};

// example: TmaPipeline::consumer_try_wait, TmaPipeline::consumer_barrier
auto probed = [](Block &b, TmaPipeline &pipe, PipelineState &state, const Tile<f16, 3> &As,
                 const Tile<f16, 3> &Bs, const Tile<f32, 2> &acc) {
  Bool token = pipe.consumer_try_wait(state);
  pipe.consumer_wait(state, token);
  b.tcgen05.mma(As[state.index], transposed(Bs[state.index]), acc);
  b.tcgen05.commit(pipe.consumer_barrier(state));
};
