//===- PipelineTest.cpp - The rings of penstock/pipeline.h ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/pipeline.h"
#include "InjectedBugs.h"

using namespace bugs;

namespace {

/// Some warps write rows of X to a ring, others read them and write them to Y; every
/// thread arrives on its side. Counts of both sides are seen in N.
struct Ring {
  int stages = 3, producers = 128, consumers = 128;
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y, Out<i32, 1> N) const {
    b.grid(1);
    b.threads(256);
    auto slots = b.shared<f32>(stages, 8, 32);
    auto t = b.local<f32>(8, 32);
    auto steps = ceil_div(X.size(0), 8);
    Pipeline pipe(b, stages, producers, consumers);
    b.warps(0, 4, [&] {
      for (Index k : b.range(steps)) {
        pipe.producer_acquire();
        b.copy(X.at(k * 8, 0), slots[pipe.producer.index]);
        pipe.producer_commit();
        pipe.producer_advance();
      }
      b.elect_one([&] { b.store(N.at(0), pipe.producer.count); });
    });
    b.warps(4, 4, [&] {
      for (Index k : b.range(steps)) {
        pipe.consumer_acquire();
        b.copy(slots[pipe.consumer.index], t);
        pipe.consumer_release();
        pipe.consumer_advance();
        b.copy(t, Y.at(k * 8, 0));
      }
      b.elect_one([&] { b.store(N.at(1), pipe.consumer.count); });
    });
  }
};

TEST(Pipeline, CountsTheArrivalsOfBothSides) {
  auto compiled = try_compile(Ring{}, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  for (int64_t steps : {0, 1, 3, 7}) {
    std::vector<float> x(size_t(steps * 8 * 32)), y(x.size(), -1.0f);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i);
    for (Timing timing : timings) {
      std::vector<i32> n(2, -1);
      LaunchOptions options{.completion = timing.completion, .seed = timing.seed};
      auto found = compiled.kernel.try_launch(options, view(x, {steps * 8, 32}),
                                              view(y, {steps * 8, 32}), view(n, {2}));
      EXPECT_TRUE(found.empty()) << to_text(found);
      EXPECT_EQ(x, y);
      EXPECT_EQ(n, (std::vector<i32>{i32(steps), i32(steps)}));
    }
  }
}

/// Too few arrivals make one side wait for ever; too many let it run ahead.
TEST(Pipeline, WrongCountsAreRefused) {
  EXPECT_FALSE(try_compile(Ring{.producers = 256}, Target::sm_90a().emulated()));
  EXPECT_FALSE(try_compile(Ring{.consumers = 256}, Target::sm_90a().emulated()));
  EXPECT_FALSE(try_compile(Ring{.producers = 64}, Target::sm_90a().emulated()));
  EXPECT_FALSE(try_compile(Ring{.consumers = 64}, Target::sm_90a().emulated()));
}

/// A state and its clone count on separately.
struct Clones {
  void operator()(Block &b, Out<i32, 1> N) const {
    b.threads(128);
    PipelineState state(b, 2, 0, 0u);
    for (Index k : b.range(5)) {
      (void)k;
      state.advance();
    }
    PipelineState later = state.clone();
    later.advance();
    b.elect_one([&] {
      b.store(N.at(0), state.count);
      b.store(N.at(1), state.index);
      b.store(N.at(2), cast<i32>(Scalar<unsigned>(state.phase)));
      b.store(N.at(3), later.count);
      b.store(N.at(4), later.index);
      b.store(N.at(5), cast<i32>(Scalar<unsigned>(later.phase)));
    });
  }
};

TEST(Pipeline, StatesCountSlots) {
  auto compiled = try_compile(Clones{}, Target::sm_100a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  std::vector<i32> n(6, -1);
  auto found = compiled.kernel.try_launch({}, view(n, {6}));
  EXPECT_TRUE(found.empty()) << to_text(found);
  // Five of two slots: the second slot of the third round; then the fourth begins.
  EXPECT_EQ(n, (std::vector<i32>{5, 1, 0, 6, 0, 1}));
}

} // namespace
