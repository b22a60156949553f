//===- KernelInputs.h - Shapes and data that a kernel is tested with -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_INPUTS_KERNELINPUTS_H
#define PENSTOCK_TESTING_INPUTS_KERNELINPUTS_H

#include "Testing/Inputs/Shapes.h"
#include "Testing/Inputs/TestData.h"

namespace penstock {

/// Inputs of check and mutate for one kernel, for any target.
struct KernelInputs {
  std::string name;
  std::shared_ptr<TestedProgram> program;
  std::vector<ArgumentDescription> arguments;
  std::vector<detail::ArgumentSpec> specs;
  FieldValues fields;
  std::vector<Shape> shapes; ///< registered ones
  ProgramFacts facts;
  InputRanges inputs;
  std::shared_ptr<SizeConditions> conditions;

  ShapeHints hints() const;
  /// Returns the shapes of check if the caller states none.
  std::vector<Shape> allShapes() const;
  /// Returns more shapes, for loops that those leave short; none if all shapes are registered.
  std::vector<Shape> moreShapes() const;
  /// Makes arguments for a launch; outputs are marked. Errors: in its diagnostics.
  MadeArguments make(const Shape &shape, Data data, uint64_t seed) const;
};

/// Records a kernel and derives its inputs; \p stated: descriptions of values. No value, with the
/// reasons, on failure.
std::optional<KernelInputs> inputsOf(const detail::KernelSource &source,
                                     const std::vector<std::string> &stated,
                                     std::vector<Diagnostic> &diagnostics);
/// Adds fields and registered shapes of a kernel, which help to choose shapes.
void addRegistered(KernelInputs &inputs, const std::string &kernel,
                   const std::vector<std::pair<std::string, std::string>> &set);

} // namespace penstock

#endif // PENSTOCK_TESTING_INPUTS_KERNELINPUTS_H
