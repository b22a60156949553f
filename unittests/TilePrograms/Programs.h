//===- Programs.h - Tile programs and how they are compared -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program runs on both emulated GPUs, in three timings and for several sizes,
// and must give what the interpreter gives. Data are small integers, so that sums
// are exact in any order.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_TILEPROGRAMS_PROGRAMS_H
#define PENSTOCK_UNITTESTS_TILEPROGRAMS_PROGRAMS_H

#include "penstock/check.h"
#include "penstock/inspect.h"
#include "penstock/penstock.h"
#include "gtest/gtest.h"

#include <cmath>

namespace programs {

using namespace penstock;

inline const Target gpus[] = {Target::sm_90a().emulated(), Target::sm_100a().emulated()};

inline AnyKernel compileFor(const std::string &name, Target target) {
  InspectOptions options;
  options.target = target;
  std::vector<Diagnostic> diagnostics;
  AnyKernel kernel = compile_registered(name, options, diagnostics);
  EXPECT_TRUE(bool(kernel)) << name << "\n" << to_text(diagnostics);
  return kernel;
}

/// Explains a registered program for one GPU: its plans. \p mayWarn: not all of its barriers can
/// be checked.
inline std::string planOf(const std::string &name, const std::string &gpu, bool mayWarn = false) {
  std::vector<Diagnostic> diagnostics;
  std::string text = explain_registered(name, gpu, {}, diagnostics);
  for (const Diagnostic &d : diagnostics)
    EXPECT_TRUE(mayWarn && d.severity == Severity::Warning) << name << "\n" << to_text(diagnostics);
  size_t at = text.find("on " + gpu);
  EXPECT_NE(at, std::string::npos) << name << "\n" << text;
  return at == std::string::npos ? "" : text.substr(at);
}

/// Whether all tensors of two launches hold the same, within a relative tolerance.
inline void expectEqual(const MadeArguments &a, const MadeArguments &b, double tolerance) {
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    if (!a.arguments[i].tensor)
      continue;
    size_t count = 1;
    for (int64_t size : a.arguments[i].sizes)
      count *= size_t(size);
    for (size_t j = 0; j < count; ++j) {
      double x = element_at(a.arguments[i], j), y = element_at(b.arguments[i], j);
      bool same = x == y || (std::isnan(x) && std::isnan(y)) ||
                  std::fabs(x - y) <= tolerance * (1 + std::fabs(y));
      ASSERT_TRUE(same) << "element " << j << " of argument " << i << ": " << x << ", expected "
                        << y;
    }
  }
}

/// Runs a registered program on GPUs, both of them unless told otherwise, and on the interpreter.
inline void expectSameEverywhere(const std::string &name, const std::vector<Shape> &shapes,
                                 double tolerance = 0,
                                 const std::vector<Target> &targets = {std::begin(gpus),
                                                                       std::end(gpus)}) {
  AnyKernel reference = compileFor(name, Target::interpreter());
  for (const Target &target : targets) {
    AnyKernel kernel = compileFor(name, target);
    if (!kernel || !reference)
      return;
    for (const Shape &shape : shapes)
      for (Completion completion : {Completion::Eager, Completion::Latest, Completion::Random}) {
        auto made = make_arguments(kernel.arguments(), shape, penstock::Data::Exact, 1);
        auto expected = make_arguments(kernel.arguments(), shape, penstock::Data::Exact, 1);
        ASSERT_TRUE(made.diagnostics.empty()) << to_text(made.diagnostics);
        LaunchOptions options;
        options.completion = completion;
        options.seed = 7;
        SCOPED_TRACE(name);
        auto found = kernel.launch(made.arguments, options);
        EXPECT_TRUE(found.empty()) << name << "\n" << to_text(found);
        ASSERT_TRUE(reference.launch(expected.arguments).empty());
        expectEqual(made, expected, tolerance);
      }
  }
}

} // namespace programs

#endif // PENSTOCK_UNITTESTS_TILEPROGRAMS_PROGRAMS_H
