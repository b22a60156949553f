//===- AroundLoopsTest.cpp - Memory that roles and others access ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles of a warp-specialized loop begin at once and end by themselves, unless they access
// memory that others access in front of the loop or after it. Without the barrier that orders
// both, the emulator reports a race.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include <map>

using namespace penstock;
using namespace programs;

namespace {

constexpr int64_t rows = 16, cols = 32;

/// Warps of their own write a tensor that others read in front of the loop.
struct ReadBeforeRole {
  static constexpr auto signature = "X[M,N] -> T[M,N], Y[M,N]";
  void operator()(Block &b, In<f32, 2> X, InOut<f32, 2> T, Out<f32, 2> Y) const {
    auto m0 = b.grid(ceil_div(X.size(0), rows)) * rows;
    auto S = b.shared<f32>(rows, cols);
    auto x = b.local<f32>(rows, cols);
    b.copy(T.at(m0, 0), x);
    for (Index k : b.pipelined(ceil_div(X.size(1), cols), {.num_stages = 2})) {
      b.copy(X.at(m0, k * cols), S);
      b.statement("write", [&] { b.copy(S, T.at(m0, k * cols)); }, {.role = "write"});
    }
    b.copy(x, Y.at(m0, 0));
  }
};
PENSTOCK_KERNEL(ReadBeforeRole);

/// Others read what warps of their own have written, when the loop has ended.
struct ReadAfterRole {
  static constexpr auto signature = "X[M,N] -> T[M,N], Y[M,N]";
  void operator()(Block &b, In<f32, 2> X, InOut<f32, 2> T, Out<f32, 2> Y) const {
    auto m0 = b.grid(ceil_div(X.size(0), rows)) * rows;
    auto S = b.shared<f32>(rows, cols);
    auto x = b.local<f32>(rows, cols);
    for (Index k : b.pipelined(ceil_div(X.size(1), cols), {.num_stages = 2})) {
      b.copy(X.at(m0, k * cols), S);
      b.statement("write", [&] { b.copy(S, T.at(m0, k * cols)); }, {.role = "write"});
    }
    b.copy(T.at(m0, 0), x);
    b.copy(x, Y.at(m0, 0));
  }
};
PENSTOCK_KERNEL(ReadAfterRole);

/// The tile that is loaded in the loop is used in front of it.
struct LoadsWait {
  static constexpr auto signature = "X[M,N] -> Y[M,N]";
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto m0 = b.grid(ceil_div(X.size(0), rows)) * rows;
    auto S = b.shared<f32>(rows, cols);
    auto t = b.local<f32>(cols, rows);
    auto sum = b.local<f32>(rows, cols);
    b.fill(t, 1);
    b.copy(t, transposed(S));
    b.copy(S, sum);
    for (Index k :
         b.pipelined(ceil_div(X.size(1), cols), {.num_stages = 1, .form = Form::WarpSpecialized})) {
      b.copy(X.at(m0, k * cols), S);
      b.set(sum, sum + S);
    }
    b.copy(sum, Y.at(m0, 0));
  }
};
PENSTOCK_KERNEL(LoadsWait);

/// Another tile is written in front of the loop, and only those that compute read it.
struct LoadsBegin {
  static constexpr auto signature = "X[M,N] -> Y[M,N]";
  void operator()(Block &b, In<f32, 2> X, Out<f32, 2> Y) const {
    auto m0 = b.grid(ceil_div(X.size(0), rows)) * rows;
    auto S = b.shared<f32>(rows, cols), W = b.shared<f32>(rows, cols);
    auto t = b.local<f32>(cols, rows);
    auto sum = b.local<f32>(rows, cols);
    b.fill(t, 1);
    b.copy(t, transposed(W));
    b.fill(sum, 0);
    for (Index k :
         b.pipelined(ceil_div(X.size(1), cols), {.num_stages = 2, .form = Form::WarpSpecialized})) {
      b.copy(X.at(m0, k * cols), S);
      b.set(sum, sum + S * W);
    }
    b.copy(sum, Y.at(m0, 0));
  }
};
PENSTOCK_KERNEL(LoadsBegin);

/// A block has several tiles, and others read between two runs of the loop what a role has written.
struct ReadBetweenRuns {
  static constexpr auto signature = "X[M,N] -> T[M,N], Y[M,N]";
  void operator()(Block &b, In<f32, 2> X, InOut<f32, 2> T, Out<f32, 2> Y) const {
    auto block = b.grid(2);
    auto S = b.shared<f32>(rows, cols);
    auto x = b.local<f32>(rows, cols);
    for (Index m : b.range(block, ceil_div(X.size(0), rows), 2)) {
      for (Index k : b.pipelined(ceil_div(X.size(1), cols), {.num_stages = 2})) {
        b.copy(X.at(m * rows, k * cols), S);
        b.statement("write", [&] { b.copy(S, T.at(m * rows, k * cols)); }, {.role = "write"});
      }
      b.copy(T.at(m * rows, 0), x);
      b.copy(x, Y.at(m * rows, 0));
    }
  }
};
PENSTOCK_KERNEL(ReadBetweenRuns);

const std::vector<std::string> kernels = {"ReadBeforeRole", "ReadAfterRole", "LoadsWait",
                                          "LoadsBegin", "ReadBetweenRuns"};

TEST(AroundLoops, ResultsAreThoseOfTheProgram) {
  for (const std::string &kernel : kernels)
    expectSameEverywhere(kernel, {{{"M", 16}, {"N", 32}},
                                  {{"M", 70}, {"N", 100}},
                                  {{"M", 16}, {"N", 33}},
                                  {{"M", 16}, {"N", 0}}});
}

/// Without the barrier between roles and others, or between those that compute, they race on the
/// memory that it orders.
TEST(AroundLoops, NeedTheirBarriers) {
  const std::map<std::string, std::string> ordered = {{"ReadBeforeRole", "`T`"},
                                                      {"ReadAfterRole", "`T`"},
                                                      {"ReadBetweenRuns", "`T`"},
                                                      {"LoadsWait", "`S`: tensor copy"},
                                                      {"LoadsBegin", "`W`"}};
  for (const Target &target : gpus)
    for (const std::string &kernel : kernels) {
      MutateOptions options;
      options.shapes = {{{"M", kernel == "ReadBetweenRuns" ? 64 : 16}, {"N", 128}}};
      MutateReport report = mutate_registered(kernel, target, options);
      size_t races = 0, survivors = 0;
      for (const Mutant &mutant : report.mutants)
        if (mutant.instruction.find("bar.sync") == 0) {
          survivors += mutant.fate == Mutant::Survived;
          races += mutant.change == "removed" && mutant.fate == Mutant::Killed &&
                   mutant.reason.find("data race on " + ordered.at(kernel)) == 0;
        }
      EXPECT_EQ(survivors, 0u) << to_text(report);
      EXPECT_EQ(races, 1u) << kernel << "\n" << to_text(report);
    }
}

} // namespace
