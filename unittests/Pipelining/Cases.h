//===- Cases.h - Pipelined loops that are easy to get wrong -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case is a kernel over the same arguments, and either a plain loop that
// computes the same or the code with which the kernel must be refused:
//
//   RUNS_RIGHT(Guide, Inferred, 0, (KERNEL { .. }), plain)
//   REFUSED(Guide, ValueCrossesStages, 1205, (KERNEL { .. }))
//
// A case that runs does so natively and on the interpreter, for trip counts
// from none to well beyond the number of stages and for all ways in which
// copies may complete. The cases are the rows of tables in
// docs/contributing/pipelining-cases.md; CaseTableTest.cpp holds the two together.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_PIPELINING_CASES_H
#define PENSTOCK_UNITTESTS_PIPELINING_CASES_H

#include <penstock/penstock.h>

#include <gtest/gtest.h>

namespace pipelining {

using namespace penstock;

/// Tiles are `side` x `side`; tile k of a tensor is its rows from k * side.
constexpr int side = 4;

/// The tiles of one tensor, as the plain loops see them.
struct Tiles {
  std::vector<float> data;

  float &at(int64_t tile, int row, int column) {
    return data[static_cast<size_t>((tile * side + row) * side + column)];
  }
};

/// What a kernel works on: n tiles of A and B, n numbers of tiles, and two
/// tiles more of C than there are iterations.
struct Data {
  explicit Data(int64_t n);

  int64_t n;
  Tiles A, B, C;
  std::vector<int32_t> ids; ///< each number below n once
};

struct Program {
  void (*body)(Block &b, In<f32, 2> A, In<f32, 2> B, In<i32, 1> ids, Index n, InOut<f32, 2> C);
  void operator()(Block &b, In<f32, 2> A, In<f32, 2> B, In<i32, 1> ids, Index n,
                  InOut<f32, 2> C) const {
    body(b, A, B, ids, n, C);
  }
};
using Plain = void (*)(Data &data);

/// \p warning is the one code that the compiler must warn with, or 0.
void runsRight(Program program, Plain plain, unsigned warning);
void isRefused(Program program, unsigned code);

/// One case as the table must tell it.
struct Case {
  std::string name, outcome;
};
std::vector<Case> &cases();
struct Registration {
  Registration(std::string name, std::string outcome) {
    cases().push_back({std::move(name), std::move(outcome)});
  }
};
inline std::string runsWith(unsigned warning) {
  return warning ? "runs right, warns with PS" + std::to_string(warning) : "runs right";
}

} // namespace pipelining

/// The head of a kernel over the arguments of Program.
#define KERNEL                                                                                     \
  []([[maybe_unused]] Block & b, [[maybe_unused]] In<f32, 2> A, [[maybe_unused]] In<f32, 2> B,     \
     [[maybe_unused]] In<i32, 1> ids, [[maybe_unused]] Index n, [[maybe_unused]] InOut<f32, 2> C)

#define RUNS_RIGHT(SUITE, NAME, WARNING, PROGRAM, PLAIN)                                           \
  static const pipelining::Registration SUITE##NAME(#SUITE "." #NAME,                              \
                                                    pipelining::runsWith(WARNING));                \
  TEST(SUITE, NAME) { pipelining::runsRight({PROGRAM}, PLAIN, WARNING); }

#define REFUSED(SUITE, NAME, CODE, PROGRAM)                                                        \
  static const pipelining::Registration SUITE##NAME(#SUITE "." #NAME, "refused, PS" #CODE);        \
  TEST(SUITE, NAME) { pipelining::isRefused({PROGRAM}, CODE); }

#endif // PENSTOCK_UNITTESTS_PIPELINING_CASES_H
