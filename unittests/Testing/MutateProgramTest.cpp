//===- MutateProgramTest.cpp - Mutants of tile programs -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Inputs/KernelInputs.h"
#include "Testing/Mutation/ProgramMutations.h"
#include "penstock/check.h"
#include "penstock/penstock.h"

#include <gtest/gtest.h>
#include <set>

using namespace penstock;

namespace mutated {

struct RowMax {
  int block = 16;
  static constexpr auto signature = "x[M,K] -> y[M]";

  void operator()(Block &b, In<f32, 2> x, Out<f32, 1> y) const {
    auto [M, K] = x.sizes();
    auto m = b.grid(ceil_div(M, block)) * block;
    b.require(K > 0, "an empty row has no maximum");
    auto t = b.local<f32>(block, block);
    auto top = b.local<f32>(block);
    b.fill(top, -infinity);
    for (Index k : b.range(ceil_div(K, block))) {
      b.copy(x.at(m, k * block), t, {.fill = -infinity});
      b.reduce(Max, t, 1, top, {.accumulate = true});
    }
    b.copy(top, y.at(m));
  }
};
PENSTOCK_KERNEL(RowMax, block);

/// Multiplies by a scalar that is 1 for every shape.
struct Useless {
  static constexpr auto signature = "x[M], factor in 1..1 -> y[M]";
  void operator()(Block &b, In<f32, 1> x, Scalar<f32> factor, Out<f32, 1> y) const {
    auto m = b.grid(ceil_div(x.size(0), 16)) * 16;
    auto t = b.local<f32>(16);
    b.copy(x.at(m), t);
    b.set(t, t * factor);
    b.copy(t, y.at(m));
  }
};
PENSTOCK_KERNEL(Useless);

struct Explained : Useless {};
PENSTOCK_KERNEL(Explained);
PENSTOCK_EQUIVALENT(Explained, {"t * factor", "the factor is 1"});

} // namespace mutated

namespace {

KernelInputs inputsFor(const char *kernel) {
  std::vector<Diagnostic> diagnostics;
  return std::move(*inputsOf(*kernelSource(kernel, {}, diagnostics), {}, diagnostics));
}

std::vector<std::string> changesOf(const char *kernel) {
  std::vector<std::string> result;
  KernelInputs inputs = inputsFor(kernel);
  for (const ProgramMutation &mutation : programMutationsOf(inputs.program->kernel()))
    result.push_back(mutation.operation + " " + mutation.change);
  return result;
}

TEST(MutateProgram, ChangesAreThoseThatPeopleMake) {
  std::vector<std::string> changes = changesOf("RowMax");
  std::set<std::string> found(changes.begin(), changes.end());
  for (const char *change :
       {"fill removed", "copy removed", "reduce removed", "reduce is min",
        "reduce does not accumulate", "for runs one iteration less", "ceildivsi is floordivsi",
        "copy coordinate 0 is one more", "muli uses another index variable",
        "muli constant 16 is doubled", "fill constant -inf is 0"})
    EXPECT_TRUE(found.contains(change)) << change;
  // The condition of `require` does not affect results.
  for (const std::string &change : changes)
    EXPECT_FALSE(change.starts_with("cmpi")) << change;
}

TEST(MutateProgram, EveryMutantIsAnotherProgramThatStaysValid) {
  KernelInputs inputs = inputsFor("RowMax");
  std::string bytes = inputs.program->save(), original = inputs.program->text();
  size_t valid = 0;
  for (const ProgramMutation &mutation : programMutationsOf(inputs.program->kernel())) {
    auto mutant = TestedProgram::load(bytes);
    ASSERT_TRUE(mutant);
    EXPECT_EQ(mutant->text(), original);
    if (!applyMutation(mutant->kernel(), mutation))
      continue;
    ++valid;
    EXPECT_NE(mutant->text(), original) << mutation.operation << " " << mutation.change;
    EXPECT_GT(mutation.source.line, 0u);
  }
  EXPECT_GT(valid, 15u);
}

TEST(MutateProgram, DefaultInputsKillAllOfASoundKernel) {
  MutateReport report = mutate_program_registered("RowMax");
  EXPECT_TRUE(report.all_accounted_for()) << to_text(report);
  EXPECT_EQ(report.count(Mutant::Killed), report.tried()) << to_text(report);
  EXPECT_GT(report.tried(), 15u);
}

TEST(MutateProgram, SurvivorsAreShownWithTheirLine) {
  MutateReport report = mutate_program_registered("Useless");
  EXPECT_FALSE(report.all_accounted_for());
  ASSERT_EQ(report.count(Mutant::Survived), 2u) << to_text(report);
  std::string text = to_text(report);
  EXPECT_NE(text.find("error PS2202: `mulf` of `Useless` (program) is divf: every run passes"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("b.set(t, t * factor);"), std::string::npos) << text;
  EXPECT_NE(to_sarif(report).find("PS2202"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"instruction\":\"mulf\""), std::string::npos);
}

TEST(MutateProgram, WrittenReasonsExplainSurvivors) {
  MutateReport report = mutate_program_registered("Explained");
  EXPECT_TRUE(report.all_accounted_for()) << to_text(report);
  EXPECT_EQ(report.count(Mutant::Explained), 2u);
  EXPECT_NE(to_text(report).find("explained: "), std::string::npos);
  EXPECT_NE(to_text(report).find("the factor is 1"), std::string::npos);
}

TEST(MutateProgram, UnknownKernelsAreDiagnostics) {
  MutateReport report = mutate_program_registered("Nothing");
  ASSERT_EQ(report.diagnostics.size(), 1u);
  EXPECT_EQ(report.diagnostics[0].code, 1503u);
  EXPECT_FALSE(report.all_accounted_for());
}

} // namespace
