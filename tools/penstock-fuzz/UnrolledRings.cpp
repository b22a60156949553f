//===- UnrolledRings.cpp - Rings in loops that are unrolled ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Explicit kernels copy boxes through a ring: all threads by cp.async, or a warp by TMA for other
// warps. Slots and phases are variables of loops with random factors, mostly the number of slots,
// for which the compiler makes slots constants. Trip counts are 0 and more, also such that
// iterations are left; rings may begin with any slot, and stay in use in an outer loop or in a
// second loop.
//
//===----------------------------------------------------------------------===//
#include "Gpus.h"
#include "Modes.h"
#include "OnTargets.h"
#include "penstock/pipeline.h"

using namespace penstock;
using namespace penstock::fuzz;

namespace {

constexpr int64_t rows = 8, columns = 16;

struct Form {
  int stages, unroll, first;
  int64_t strips; ///< trips of the outer loop; 0: none
  bool twice;     ///< a second loop goes on with the ring
};

struct RingKernel {
  Form form;

  /// Calls \p body with the number of the first box of each strip.
  template <class Body> void forStrips(Block &b, const Index &trips, Body body) const {
    if (form.strips == 0)
      body(Index(0));
    else
      for (Index strip : b.range(form.strips))
        body(strip * trips);
  }
  template <class Body> void forBoxes(Block &b, const Index &trips, Body body) const {
    Index middle = form.twice ? trips / 2 : trips;
    for (Index i : b.range(0, middle, 1, {.unroll = form.unroll}))
      body(i);
    if (form.twice)
      for (Index i : b.range(middle, trips, 1, {.unroll = form.unroll}))
        body(i);
  }
};

/// Boxes whose phase is not the expected one are missing in Y.
struct ThreadRing : RingKernel {
  void operator()(Block &b, In<float, 2> X, Out<float, 2> Y, Index trips) const {
    b.grid(1);
    b.threads(64);
    int ahead = form.stages - 1;
    auto tiles = b.shared<float>(form.stages, rows, columns);
    auto own = b.local<float>(rows, columns);
    Var<int> slot(b, form.first);
    Var<unsigned> phase(b, 0u);
    auto load = [&](const Index &box, int distance) {
      b.cp_async.load(X.at(box * rows, 0), tiles[(Scalar<int>(slot) + distance) % form.stages]);
    };
    forStrips(b, trips, [&](const Index &start) {
      for (int k = 0; k < ahead; ++k) {
        b.when(trips > k, [&] { load(start + k, k); });
        b.cp_async.commit_group();
      }
      forBoxes(b, trips, [&](const Index &i) {
        b.cp_async.wait_group(ahead - 1);
        b.sync();
        Index turn = (start + i + form.first) / form.stages % 2;
        b.when(Index(Scalar<unsigned>(phase)) == turn, [&] {
          b.copy(tiles[slot], own);
          b.copy(own, Y.at((start + i) * rows, 0));
        });
        b.sync();
        b.when(i + ahead < trips, [&] { load(start + i + ahead, ahead); });
        b.cp_async.commit_group();
        slot = (slot + 1) % form.stages;
        phase ^= slot == 0;
      });
      b.cp_async.wait_group(0);
      b.sync();
    });
  }
};

struct TmaRing : RingKernel {
  void operator()(Block &b, In<float, 2> X, Out<float, 2> Y, Index trips) const {
    b.grid(1);
    b.threads(256);
    auto tiles = b.shared<float>(form.stages, rows, columns);
    auto own = b.local<float>(rows, columns);
    Pipeline pipe(b, form.stages, 1, 128);
    b.warp(0, [&] {
      forStrips(b, trips, [&](const Index &start) {
        forBoxes(b, trips, [&](const Index &i) {
          pipe.producer_acquire();
          b.elect_one([&] { b.mbarrier.arrive_expect(pipe.producer_barrier(), tiles[0].bytes()); });
          b.tma.load(X.at((start + i) * rows, 0), tiles[pipe.producer.index],
                     pipe.producer_barrier());
          pipe.producer_advance();
        });
      });
    });
    b.warps(4, 4, [&] {
      forStrips(b, trips, [&](const Index &start) {
        forBoxes(b, trips, [&](const Index &i) {
          pipe.consumer_acquire();
          b.copy(tiles[pipe.consumer.index], own);
          b.copy(own, Y.at((start + i) * rows, 0));
          b.fence.proxy_async(); // the next load is by another proxy
          pipe.consumer_release();
          pipe.consumer_advance();
        });
      });
    });
  }
};

enum OwnCounter : int { Whole = OwnCounters };

template <class Kernel>
CaseResult compare(const Form &form, const Target &gpu, Random &random, Counters &counters) {
  auto compiled = try_compile(Kernel{{form}}, gpu.emulated(), {.cache = &KernelCache::none()});
  if (!compiled) // no kernel of these is wrong
    return {true, to_text(compiled.diagnostics)};
  ++counters[Built];
  counters[Whole] += form.unroll == form.stages;
  for (int run = 0; run < 3; ++run) {
    int64_t trips = random.between(0, 3 * form.stages + 1);
    int64_t height = trips * std::max<int64_t>(form.strips, 1) * rows;
    std::vector<float> x(size_t(std::max<int64_t>(height, rows) * columns)), y(x.size(), -1);
    for (float &element : x)
      element = float(random.between(0, 1000));
    LaunchOptions timing{.completion =
                             random.of({Completion::Eager, Completion::Latest, Completion::Random}),
                         .seed = random.next()};
    int64_t extent = int64_t(x.size()) / columns;
    auto found = compiled.kernel.try_launch(timing, view(x, {extent, columns}),
                                            view(y, {extent, columns}), trips);
    std::string where = "stages=" + std::to_string(form.stages) +
                        ", unroll=" + std::to_string(form.unroll) +
                        ", trips=" + std::to_string(trips) + ": ";
    if (!found.empty())
      return {true, where + to_text(found) + "\n" + compiled.kernel.ptx()};
    for (size_t i = 0; i < y.size(); ++i)
      if (y[i] != (int64_t(i) < height * columns ? x[i] : -1))
        return {true, where + "element " + std::to_string(i) + " is " + std::to_string(y[i]) +
                          "\n" + compiled.kernel.ptx()};
    ++counters[Launched];
  }
  return {};
}

CaseResult ringOne(uint64_t seed, Counters &counters) {
  Random random(derive(seed, 1));
  Form form;
  form.stages = int(random.between(2, 5));
  form.unroll = int(random.chance(60)   ? form.stages
                    : random.chance(30) ? 2 * form.stages
                                        : random.of({-1, 1, 2, 3, 4, 7}));
  form.first = random.chance(70) ? 0 : int(random.below(form.stages));
  form.strips = random.chance(60) ? 0 : random.between(1, 3);
  form.twice = random.chance(20);
  if (random.chance(50))
    return compare<ThreadRing>(form,
                               random.of({Target::sm_80(), Target::sm_86(), Target::sm_89(),
                                          Target::sm_90a(), Target::sm_100a(), Target::sm_120a()}),
                               random, counters);
  return compare<TmaRing>(form, random.of({Target::sm_90a(), Target::sm_100a(), Target::sm_120a()}),
                          random, counters);
}

} // namespace

int penstock::fuzz::runRings(const BatchOptions &options) {
  BatchResult result = runBatches(options, ringOne);
  Counters &c = result.counters;
  return report(result, "--rings", "kernels",
                {{"compiled", c[Built]}, {"unroll=stages", c[Whole]}, {"launches", c[Launched]}});
}
