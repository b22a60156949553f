//===- NestedPipelinesTest.cpp - Pipelined loops in pipelined loops -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AgainstInterpreter.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr int width = 4;

/// Both loops give `y` versions, and so do both together.
struct OneTileInBoth {
  int stages = 2;

  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto y = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    for (Index k : b.pipelined(n, {.num_stages = stages})) {
      b.copy(X.at(k * width), y);
      b.set(acc, acc * 2 + y);
      for (Index j : b.pipelined(3, {.num_stages = 2})) {
        b.copy(X.at(k * width + j * width), y);
        b.set(acc, acc * 2 + y);
      }
    }
    b.copy(acc, A.at(0));
  }
};

TEST(NestedPipelines, ATileMayHaveVersionsInBothLoops) {
  for (int stages : {1, 2, 3})
    expectSourceOrder(OneTileInBoth{stages}, 2 * stages + 2);
}

/// Copies of both loops complete late under one name.
struct OneNameInBoth {
  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto y = b.shared<f32>(width), z = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    for (Index k : b.pipelined(n, {.num_stages = 2})) {
      b.copy(X.at(k * width), z, {.async = "load"});
      b.wait("load");
      for (Index j : b.pipelined(3, {.stage = {0, 1, 1}, .order = {0, 1, 2}})) {
        b.copy(X.at(k * width + j * width), y, {.async = "load"});
        b.wait("load");
        b.set(acc, acc * 2 + y + z);
      }
    }
    b.copy(acc, A.at(0));
  }
};

TEST(NestedPipelines, NamesOfCopiesMayBeShared) { expectSourceOrder(OneNameInBoth{}, 6); }

/// Inner loops under a condition and inside of a group, one after the other.
struct SeveralInnerLoops {
  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto y = b.shared<f32>(width), z = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    auto inner = [&](Index k, int trips, int stages) {
      for (Index j : b.pipelined(trips, {.num_stages = stages})) {
        b.copy(X.at(k * width + j * width), y);
        b.set(acc, acc * 2 + y + z);
      }
    };
    for (Index k : b.pipelined(n, {.num_stages = 3})) {
      b.copy(X.at(k * width), z);
      b.when(k % 2 == 0, [&] { inner(k, 3, 2); });
      b.statement("group", [&] {
        b.copy(z, y);
        inner(k, 2, 3);
      });
    }
    b.copy(acc, A.at(0));
  }
};

TEST(NestedPipelines, InnerLoopsMayStandUnderConditionsAndInGroups) {
  expectSourceOrder(SeveralInnerLoops{}, 8);
}

/// What each loop issues is over when the next one starts.
struct OneAfterTheOther {
  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto y = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    b.fill(y, 0);
    for (int pass = 0; pass < 2; ++pass)
      for (Index k : b.pipelined(n, {.num_stages = 2 + pass})) {
        b.copy(X.at(k * width + pass), y, {.async = "load"});
        b.wait("load");
        b.set(acc, acc * 2 + y);
      }
    b.copy(acc, A.at(0));
    b.copy(y, A.at(width));
  }
};

TEST(NestedPipelines, LoopsMayFollowEachOther) { expectSourceOrder(OneAfterTheOther{}, 8); }

struct Deep {
  int stages = 1000;

  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto x = b.shared<f32>(width), y = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    for (Index k : b.pipelined(n, {.num_stages = stages})) {
      b.copy(X.at(k * 2), x);
      b.copy(X.at(k * 2 + 1), y);
      b.set(acc, acc * 2 + x - y);
    }
    b.copy(acc, A.at(0));
  }
};

TEST(NestedPipelines, CodeDoesNotGrowWithTheNumberOfStages) {
  expectSourceOrder(Deep{12}, 30);
  auto sizeOf = [](int stages) {
    auto kernel = compile(Deep{stages}, Target::native(), {.late_completion = true});
    return kernel.llvm_ir().size();
  };
  EXPECT_LT(sizeOf(1000), 2 * sizeOf(12));
}

} // namespace
