//===- OutputOrderTest.cpp - What users see stays in order ----------------===//
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

struct Prints {
  PipelineOptions schedule = {};

  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto y = b.shared<f32>(width);
    for (Index k : b.pipelined(n, schedule)) {
      b.print("first {}", {k});
      b.copy(X.at(k * width), y);
      b.print("second {}", {k});
      b.copy(y, A.at(k * width));
    }
  }
};

TEST(OutputOrder, PrintsAreNotExchanged) {
  auto text = [](PipelineOptions schedule) {
    auto kernel = compile(Prints{schedule}, Target::native(), {.late_completion = true});
    auto x = smallNumbers(64);
    std::vector<float> a(64);
    std::string printed;
    kernel.launch({.print = [&](std::string_view line) { printed += line; }}, view(x, {64}), 3,
                  view(a, {64}));
    return printed;
  };
  std::string expected = "first 0\nsecond 0\nfirst 1\nsecond 1\nfirst 2\nsecond 2\n";
  EXPECT_EQ(text({.stage = {1, 0, 1, 1}, .order = {1, 0, 2, 3}}), expected);
  for (const PipelineOptions &wrong :
       {PipelineOptions{.stage = {0, 0, 0, 1}, .order = {2, 1, 0, 3}},
        PipelineOptions{.stage = {0, 0, 1, 1}, .order = {0, 1, 2, 3}}}) {
    auto refused = try_compile(Prints{wrong}, Target::native());
    ASSERT_FALSE(refused);
    EXPECT_EQ(codeName(refused.diagnostics[0].code), "PS1202") << to_text(refused.diagnostics);
  }
}

struct Requires {
  PipelineOptions schedule = {};

  void operator()(Block &b, In<f32, 1> X, Index n, Out<f32, 1> A) const {
    auto y = b.shared<f32>(width);
    for (Index k : b.pipelined(n, schedule)) {
      b.require(k < 100, "first");
      b.copy(X.at(k * width), y);
      b.require(k < 1, "second");
      b.copy(y, A.at(k * width));
    }
  }
};

TEST(OutputOrder, RequirementsAreNotExchangedAndReportedOnce) {
  auto refused =
      try_compile(Requires{{.stage = {0, 0, 0, 1}, .order = {2, 1, 0, 3}}}, Target::native());
  ASSERT_FALSE(refused);
  EXPECT_EQ(codeName(refused.diagnostics[0].code), "PS1202") << to_text(refused.diagnostics);

  // Prologue, steady loop and epilogue all hold the requirement that fails.
  auto kernel = compile(Requires{{.stage = {1, 0, 1, 1}, .order = {1, 0, 2, 3}}}, Target::native(),
                        {.late_completion = true});
  auto x = smallNumbers(64);
  std::vector<float> a(64);
  auto faults = kernel.try_launch({}, view(x, {64}), 6, view(a, {64}));
  ASSERT_EQ(faults.size(), 1u) << to_text(faults);
  EXPECT_NE(faults[0].message.find("second"), std::string::npos) << to_text(faults);
}

} // namespace
