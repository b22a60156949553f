//===- SuggestionsTest.cpp - Suggestions that ptxas accepts ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every configuration that the tools name for a kernel of the examples or the gallery compiles, and
// its registers fit: those that `explain` lists below "try", those of help texts, and those that
// `tune` lists. Where ptxas is missing, the model of registers answers instead.
//
//===----------------------------------------------------------------------===//
#include "penstock/assemble.h"
#include "penstock/cache.h"
#include "penstock/check.h"
#include "penstock/tune.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

using namespace penstock;

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fieldsOf(const std::string &text) {
  Fields fields;
  std::regex pair("([A-Za-z0-9_.]+)=([A-Za-z0-9_.]+)");
  for (std::sregex_iterator i(text.begin(), text.end(), pair), end; i != end; ++i)
    fields.emplace_back((*i)[1], (*i)[2]);
  return fields;
}

/// Configurations that a text names with --set.
std::vector<Fields> namedIn(const std::string &text) {
  std::vector<Fields> found;
  std::regex set("--set ([^ :`]+)");
  for (std::sregex_iterator i(text.begin(), text.end(), set), end; i != end; ++i)
    found.push_back(fieldsOf((*i)[1]));
  return found;
}

class Suggestions : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(load_library(EXAMPLE_KERNELS).empty());
    ASSERT_TRUE(load_library(GALLERY_KERNELS).empty());
  }

  /// Counts an outcome of a kernel with fields.
  void expectAccepted(const std::string &kernel, Target target, const Fields &base,
                      const Fields &named, bool fits) {
    InspectOptions options;
    options.target = target.emulated();
    options.set = base;
    options.set.insert(options.set.end(), named.begin(), named.end());
    std::string where = kernel;
    for (const auto &[name, value] : options.set)
      where += " " + name + "=" + value;
    std::vector<Diagnostic> errors;
    AnyKernel compiled = compile_registered(kernel, options, errors);
    ASSERT_TRUE(compiled) << where << "\n" << to_text(errors);
    RegisterCheck check = check_registers(compiled.ptx(), target);
    EXPECT_NE(check.outcome, RegisterCheck::Outcome::Rejected) << where;
    if (fits)
      EXPECT_EQ(check.outcome, RegisterCheck::Outcome::Fits) << where << "\n"
                                                             << to_text(check.diagnostics);
    EXPECT_EQ(check.measured, !find_assembler().empty());
    ++checked;
  }

  int checked = 0;
};

std::vector<std::pair<std::string, double>> sizesOf(const Shape &shape) {
  std::vector<std::pair<std::string, double>> sizes;
  for (const auto &[name, value] : shape)
    sizes.emplace_back(name, value.value);
  return sizes;
}

TEST_F(Suggestions, OfExplainFit) {
  for (const KernelDescription &kernel : registered_kernels())
    for (const char *architecture : {"sm_90a", "sm_100a"}) {
      std::vector<Diagnostic> ignored; // kernels of another architecture, or without a prediction
      Shape shape = typical_shape(kernel.name, {}, ignored);
      PredictedRun run = predict_registered(kernel.name, architecture, sizesOf(shape), {}, ignored);
      for (const Fields &fields : namedIn(run.text))
        expectAccepted(kernel.name, *find_gpu(architecture), {}, fields, true);
    }
  EXPECT_GE(checked, 10);
}

/// Wide tiles are predicted to be fast, but 256 x 256 accumulators of wgmma exceed the registers.
TEST_F(Suggestions, NeverNameTilesThatRegistersDoNotHold) {
  Target target = Target::sm_90a();
  for (Fields base : {Fields{{"block_m", "256"}, {"block_n", "128"}, {"pipeline.num_stages", "2"}},
                      Fields{{"block_m", "128"}, {"block_n", "256"}, {"pipeline.num_stages", "2"}},
                      Fields{{"block_m", "384"}, {"block_n", "128"}, {"pipeline.num_stages", "2"}}})
    for (double size : {4096., 8192.}) {
      std::vector<Diagnostic> errors;
      PredictedRun run = predict_registered(
          "Matmul", "sm_90a", {{"M", size}, {"N", size}, {"K", size}}, {.set = base}, errors);
      ASSERT_FALSE(run.text.empty()) << to_text(errors);
      for (const Fields &fields : namedIn(run.text))
        expectAccepted("Matmul", target, base, fields, true);
    }
  EXPECT_GE(checked, 4);
  InspectOptions wide{
      .set = {{"block_m", "256"}, {"block_n", "256"}, {"pipeline.num_stages", "3"}}};
  wide.target = target.emulated();
  std::vector<Diagnostic> errors;
  ASSERT_FALSE(compile_registered("Matmul", wide, errors));
  Fields change = fieldsOf(change_that_fits("Matmul", wide));
  ASSERT_EQ(change.size(), 1u);
  expectAccepted("Matmul", target, wide.set, change, true);
}

TEST_F(Suggestions, OfTuningAreNotRejected) {
  KernelCache none = KernelCache::open({.directory = TUNING_CACHE});
  for (const std::string &kernel : tunable_kernels()) {
    std::vector<Diagnostic> ignored;
    Shape shape = typical_shape(kernel, {}, ignored);
    TuneReport report =
        tune_registered(kernel, Target::sm_90a(), shape,
                        {.times = TimeSource::Predicted, .cache = &none, .again = true});
    if (report.best < 0) // a kernel of another architecture
      continue;
    std::string text = to_text(report);
    for (const TuneCandidate &candidate : report.candidates)
      if (candidate.removed_by.empty() && candidate.seconds > 0 &&
          text.find("s  " + candidate.point()) != std::string::npos)
        expectAccepted(kernel, Target::sm_90a(), {}, candidate.fields, false);
  }
  EXPECT_GE(checked, 10);
}

} // namespace
