//===- KernelUnderTest.h - A kernel under test and its reference -*- C++ -*-===//
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
#ifndef PENSTOCK_TESTING_CHECK_KERNELUNDERTEST_H
#define PENSTOCK_TESTING_CHECK_KERNELUNDERTEST_H

#include "Runtime/Emulated/EmulatedLaunch.h"
#include "Testing/Inputs/KernelInputs.h"

namespace penstock {

struct KernelUnderTest : KernelInputs {
  std::string target;
  KernelInfo info;
  std::vector<std::shared_ptr<EmulatedKernel>> variants;
  std::optional<detail::Reference> reference;
  detail::ExecutableRef referenceProgram; ///< a registered reference that is a tile program
  bool isOwnReference = false;            ///< compared with its program on the interpreter
};

/// Compiles a kernel and its reference; no value, with the reasons, on failure.
std::optional<KernelUnderTest> compileKernelUnderTest(const detail::KernelSource &source,
                                                      Target target,
                                                      std::vector<Diagnostic> &diagnostics,
                                                      bool contract = false,
                                                      const std::vector<std::string> &stated = {});
/// The same for a registered kernel, whose fields help to choose shapes.
std::optional<KernelUnderTest>
compileRegistered(const std::string &kernel, Target target,
                  const std::vector<std::pair<std::string, std::string>> &set,
                  std::vector<Diagnostic> &diagnostics, bool contract = false,
                  const std::vector<std::string> &stated = {});
/// Returns the tolerance of a tile program that is compared with itself.
Tolerance toleranceOf(const KernelInputs &inputs);

struct Case {
  Shape shape;
  MadeArguments initial;
  /// Results of the reference; no value without a reference.
  std::optional<ExpectedResults> expected;
  const EmulatedKernel *variant = nullptr;
  /// Why there is nothing to run.
  std::vector<Diagnostic> problems;
};
/// \p observer: watches the kernel's program, if the interpreter can run it.
Case prepareCase(const KernelUnderTest &tested, const Shape &shape, Data data, uint64_t seed,
                 LaunchObserver *observer = nullptr);

/// Returns the timings of a kernel: eager, lazy, each of its warps starved, then random.
emu::TimingSequence timingsFor(const EmulatedKernel &kernel, uint64_t count, uint64_t seed);
/// "eager", "lazy", "starve 3", "seed 1".
std::string timingText(const emu::LaunchOptions &timing);

struct Run {
  emu::Report report;
  MadeArguments after;
  bool completed() const { return report.ok() && report.completed; }
};
/// Runs \p kernel, a variant of the tested or a mutant of one, on a case.
Run runCase(const KernelUnderTest &tested, const EmulatedKernel &kernel, const Case &on,
            const emu::LaunchOptions &options);

/// Returns whether a kernel does not accept a launch: arguments or sizes are not supported, or a
/// condition of `b.require` is violated.
bool isRefusal(const Diagnostic &diagnostic);

} // namespace penstock

#endif // PENSTOCK_TESTING_CHECK_KERNELUNDERTEST_H
