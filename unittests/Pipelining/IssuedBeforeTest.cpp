//===- IssuedBeforeTest.cpp - Copies that are issued before the loop ------===//
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

/// Each iteration uses what the one before has loaded; the first tile is loaded before
/// the loop.
struct Prefetch {
  PipelineOptions schedule = {.stage = {0, 0, 0, 1}, .order = {0, 1, 2, 3}};

  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto x = b.shared<f32>(width), y = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    b.fill(x, 9);
    b.copy(X.at(0), x, {.async = "load"});
    for (Index k : b.pipelined(n, schedule)) {
      b.wait("load");
      b.copy(x, y);
      b.copy(X.at((k + 1) * width), x, {.async = "load"});
      b.set(acc, acc * 2 + y);
    }
    b.wait("load");
    b.copy(acc, A.at(0));
  }
};

TEST(IssuedBefore, TheFirstWaitOfTheLoopEndsIt) { expectSourceOrder(Prefetch{}, 6); }

/// One wait for what was issued before the loop and in it.
struct Both {
  PipelineOptions schedule = {};

  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto x = b.shared<f32>(width), y = b.shared<f32>(width), t = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    b.fill(x, 9);
    b.copy(X.at(0), x, {.async = "before"});
    for (Index k : b.pipelined(n, schedule)) {
      b.copy(X.at(k * width), y, {.async = "load"});
      b.wait({"before", "load"});
      b.copy(x, t);
      b.set(acc, acc * 2 + y + t);
    }
    b.wait("before");
    b.copy(acc, A.at(0));
  }
};

TEST(IssuedBefore, WhatItFillsStaysBehindTheWait) {
  expectSourceOrder(Both{{.stage = {0, 1, 1, 1}, .order = {0, 1, 2, 3}}}, 6);
  auto moved = try_compile(Both{{.stage = {0, 0, 0, 1}, .order = {0, 2, 1, 3}}}, Target::native());
  ASSERT_FALSE(moved);
  EXPECT_EQ(codeName(moved.diagnostics[0].code), "PS1201") << to_text(moved.diagnostics);
  EXPECT_NE(moved.diagnostics[0].message.find("issued before the loop"), std::string::npos);
}

/// The wait names nothing that the loop issues.
struct OnlyBefore {
  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto x = b.shared<f32>(width), y = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    b.copy(X.at(0), x, {.async = "before"});
    for (Index k : b.pipelined(n, {.num_stages = 2})) {
      b.copy(X.at(k * width), y);
      b.wait("before");
      b.set(acc, acc * 2 + y + x);
    }
    b.wait("before");
    b.copy(acc, A.at(0));
  }
};

TEST(IssuedBefore, AWaitMayEndOnlyWhatWasIssuedBefore) { expectSourceOrder(OnlyBefore{}, 6); }

/// The copy for the next round of the outer loop is under way when the inner one starts.
struct AcrossRounds {
  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto x = b.shared<f32>(width), y = b.shared<f32>(width);
    auto acc = b.local<f32>(width);
    b.fill(acc, 0);
    b.copy(X.at(0), x, {.async = "load"});
    for (Index k : b.range(n)) {
      for (Index j : b.pipelined(2, {.num_stages = 2})) {
        b.copy(X.at(k * width + j), y);
        b.wait("load");
        b.set(acc, acc * 2 + y + x);
      }
      b.copy(X.at((k + 1) * width), x, {.async = "load"});
    }
    b.wait("load");
    b.copy(acc, A.at(0));
  }
};

TEST(IssuedBefore, ByAnEarlierRoundOfALoopAround) { expectSourceOrder(AcrossRounds{}, 5); }

} // namespace
