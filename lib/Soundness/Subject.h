//===- Subject.h - A kernel under test and its judge ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What check and mutate share: a kernel compiled for the emulator, beside its
// reference; cases, which are arguments and what must come out; and runs of a
// case in a timing.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SOUNDNESS_SUBJECT_H
#define PENSTOCK_SOUNDNESS_SUBJECT_H

#include "Check/EmulatedLaunch.h"
#include "Check/TestData.h"
#include "Soundness/Shapes.h"

namespace penstock {

struct Subject {
  std::string name, target;
  KernelInfo info;
  std::vector<ArgumentDescription> arguments;
  std::vector<detail::ArgumentSpec> specs;
  FieldValues fields;
  std::vector<Shape> shapes; ///< that were registered
  std::vector<std::shared_ptr<EmulatedKernel>> variants;
  std::optional<detail::Reference> reference;
  detail::ExecutableRef judge; ///< the reference, if it is a tile program
};

/// Of a GPU: "sm_90a".
std::string targetName(Target target);

/// Compiles a kernel and its reference; no value, with the reasons, on failure.
std::optional<Subject> compileSubject(const detail::KernelSource &source, Target target,
                                      std::vector<Diagnostic> &diagnostics);
/// The same for a registered kernel, whose fields help to choose shapes.
std::optional<Subject>
compileRegistered(const std::string &kernel, Target target,
                  const std::vector<std::pair<std::string, std::string>> &set,
                  std::vector<Diagnostic> &diagnostics);

struct Case {
  Shape shape;
  MadeArguments initial;
  /// What the reference makes of them; no value without a reference.
  std::optional<ExpectedResults> expected;
  const EmulatedKernel *variant = nullptr;
  /// Why there is nothing to run.
  std::vector<Diagnostic> problems;
};
Case prepareCase(const Subject &subject, const Shape &shape, Data data, uint64_t seed);

/// What a kernel is tried in: eager, lazy, each of its warps starved, then random.
emu::TimingSequence timingsFor(const EmulatedKernel &kernel, uint64_t count, uint64_t seed);
/// "eager", "lazy", "starve 3", "seed 1".
std::string timingText(const emu::LaunchOptions &timing);

struct Run {
  emu::Report report;
  MadeArguments after;
  bool completed() const { return report.ok() && report.completed; }
};
/// Runs \p kernel, a variant of the subject or a mutant of one, on a case.
Run runCase(const Subject &subject, const EmulatedKernel &kernel, const Case &on,
            const emu::LaunchOptions &options);

/// Whether a launch was refused instead of run: mistakes of the caller have codes
/// below those of the emulator.
bool isRefusal(const Diagnostic &diagnostic);

} // namespace penstock

#endif // PENSTOCK_SOUNDNESS_SUBJECT_H
