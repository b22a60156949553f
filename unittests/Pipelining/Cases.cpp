//===- Cases.cpp - Pipelined loops that are easy to get wrong -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

using namespace penstock;

namespace pipelining {

/// Small whole numbers: all results are exact, whatever the order of a sum.
static std::vector<float> numbers(int64_t count, int64_t first) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 7 + static_cast<size_t>(first) * 3 + i / 5) % 9) - 4;
  return values;
}

Data::Data(int64_t n)
    : n(n), A{numbers(n * side * side, 1)}, B{numbers(n * side * side, 2)},
      C{numbers((n + 2) * side * side, 3)} {
  // Backwards, so that no iteration but a middle one has its own number.
  for (int64_t k = 0; k < n; ++k)
    ids.push_back(static_cast<int32_t>(n - 1 - k));
}

std::vector<Case> &cases() {
  static std::vector<Case> all;
  return all;
}

static CompileOptions options(bool late) {
  CompileOptions result;
  result.name = "pipelined";
  result.late_completion = late;
  return result;
}

void runsRight(Program program, Plain plain, unsigned warning) {
  for (bool native : {true, false}) {
    SCOPED_TRACE(native ? "native" : "interpreter");
    auto result = native ? try_compile(program, Target::native(), options(true))
                         : try_compile(program, Target::interpreter(), options(false));
    ASSERT_TRUE(result) << to_text(result.diagnostics);
    ASSERT_EQ(result.diagnostics.size(), warning ? 1u : 0u) << to_text(result.diagnostics);
    if (warning)
      EXPECT_EQ(result.diagnostics[0].code, warning) << to_text(result.diagnostics);
    for (int64_t n : {0, 1, 2, 3, 4, 5, 9}) {
      Data expected(n);
      plain(expected);
      for (auto completion : {Completion::Eager, Completion::Latest, Completion::Random})
        for (uint64_t seed = 0; seed < (completion == Completion::Random ? 4 : 1); ++seed) {
          Data data(n);
          auto wrong = result.kernel.try_launch(
              {.completion = completion, .seed = seed}, view(data.A.data, {n * side, side}),
              view(data.B.data, {n * side, side}), view(data.ids, {n}), n,
              view(data.C.data, {(n + 2) * side, side}));
          ASSERT_TRUE(wrong.empty()) << to_text(wrong);
          ASSERT_EQ(data.C.data, expected.C.data)
              << "n = " << n << ", completion " << int(completion) << ", seed " << seed;
        }
    }
  }
}

void isRefused(Program program, unsigned code) {
  for (auto target : {Target::native(), Target::interpreter()}) {
    auto result = try_compile(program, target, options(false));
    ASSERT_FALSE(result);
    ASSERT_FALSE(result.diagnostics.empty());
    for (const Diagnostic &one : result.diagnostics) {
      EXPECT_EQ(one.code, code) << to_text(result.diagnostics);
      EXPECT_NE(one.location.line, 0u) << to_text(result.diagnostics);
    }
  }
}

} // namespace pipelining
