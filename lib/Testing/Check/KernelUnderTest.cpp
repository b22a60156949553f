//===- KernelUnderTest.cpp - A kernel under test and its reference --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Check/KernelUnderTest.h"
#include "Compiler/Compiler.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Codes.h"
#include "Testing/Check/References.h"

#include <algorithm>

using namespace penstock;

namespace {

Diagnostic problem(unsigned code, const SourceLocation &location, std::string message) {
  Diagnostic d;
  d.code = code;
  d.location = location;
  d.message = std::move(message);
  return d;
}

bool hasErrors(const std::vector<Diagnostic> &diagnostics) {
  for (const Diagnostic &d : diagnostics)
    if (d.severity == Severity::Error)
      return true;
  return false;
}

/// A reference takes what its kernel takes.
bool sameArguments(const std::vector<detail::ArgumentSpec> &a,
                   const std::vector<detail::ArgumentSpec> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].tensor != b[i].tensor || a[i].element != b[i].element || a[i].rank != b[i].rank)
      return false;
  return true;
}

} // namespace

std::optional<KernelUnderTest>
penstock::compileKernelUnderTest(const detail::KernelSource &source, Target target,
                                 std::vector<Diagnostic> &diagnostics, bool contract,
                                 const std::vector<std::string> &stated) {
  SourceLocation location{source.at.file, source.at.line, 0};
  if (target.kind == Target::Kind::Native || target.kind == Target::Kind::Interpreter) {
    diagnostics.push_back(
        problem(ToolUsage, location, "only GPU kernels can be checked: use sm_90a or sm_100a"));
    return std::nullopt;
  }
  // The emulator checks barriers itself.
  auto compiled =
      detail::compile(source, target.emulated(), {.check_barriers = false, .contract = contract});
  diagnostics.insert(diagnostics.end(), compiled.diagnostics.begin(), compiled.diagnostics.end());
  if (!compiled.executable)
    return std::nullopt;
  auto inputs = inputsOf(source, stated, diagnostics);
  if (!inputs)
    return std::nullopt;
  KernelUnderTest tested;
  static_cast<KernelInputs &>(tested) = std::move(*inputs);
  tested.target = architectureOf(target).name;
  tested.info = compiled.executable->info;
  std::vector<Diagnostic> errors;
  tested.variants = compiled.executable->allDevices(errors);
  diagnostics.insert(diagnostics.end(), errors.begin(), errors.end());
  if (!errors.empty())
    return std::nullopt;
  tested.reference = referenceFor(source.name);
  // A tile program without a registered reference has one: its sequential meaning.
  if (!tested.reference && !tested.program->isExplicit()) {
    tested.isOwnReference = true;
    tested.reference = detail::Reference{source.name, source.name, source.at};
    tested.reference->tolerance = toleranceOf(tested);
  }
  if (!tested.reference || !tested.reference->source)
    return tested;
  const detail::Reference &reference = *tested.reference;
  detail::KernelSource program = reference.source(reference.name.c_str(), reference.at);
  if (!sameArguments(source.arguments, program.arguments)) {
    diagnostics.push_back(problem(ToolUsage, {reference.at.file, reference.at.line, 0},
                                  "`" + reference.name + "` takes other arguments than `" +
                                      source.name + "`, whose reference it is to be"));
    return std::nullopt;
  }
  // The name is for messages; a kernel's has no :: and no <>.
  program.name = "reference";
  auto result = detail::compile(program, Target::interpreter(), {});
  diagnostics.insert(diagnostics.end(), result.diagnostics.begin(), result.diagnostics.end());
  if (!result.executable)
    return std::nullopt;
  tested.referenceProgram = std::move(result.executable);
  return tested;
}

std::optional<KernelUnderTest>
penstock::compileRegistered(const std::string &kernel, Target target,
                            const std::vector<std::pair<std::string, std::string>> &set,
                            std::vector<Diagnostic> &diagnostics, bool contract,
                            const std::vector<std::string> &stated) {
  InspectOptions options;
  options.set = set;
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return std::nullopt;
  auto tested = compileKernelUnderTest(*source, target, diagnostics, contract, stated);
  if (!tested)
    return std::nullopt;
  addRegistered(*tested, kernel, set);
  return tested;
}

Tolerance penstock::toleranceOf(const KernelInputs &inputs) {
  std::string program = inputs.program->text();
  if (program.find(" math.") == std::string::npos &&
      program.find(" arith.divf") == std::string::npos)
    return {};
  double unit = 0x1p-19; // of sums in f32, in another order
  for (const detail::ArgumentSpec &argument : inputs.specs)
    if (argument.tensor)
      unit = std::max(unit, unitOf(argument.element));
  return {.of_largest = 2 * unit};
}

Case penstock::prepareCase(const KernelUnderTest &tested, const Shape &shape, Data data,
                           uint64_t seed, LaunchObserver *observer) {
  Case result;
  result.shape = shape;
  result.initial = tested.make(shape, data, seed);
  result.problems = result.initial.diagnostics;
  if (!result.problems.empty())
    return result;
  result.problems = checkArguments(tested.info, result.initial.arguments, tested.info.location);
  if (!result.problems.empty())
    return result;
  result.variant = &variantFor(tested.variants, result.initial.arguments);
  MadeArguments expected = copyOf(result.initial);
  if (tested.isOwnReference || (observer && !tested.program->isExplicit())) {
    InterpretOptions options;
    options.observer = observer;
    std::vector<Diagnostic> faults = tested.program->run(expected, options).faults;
    if (tested.isOwnReference)
      result.problems = std::move(faults);
    else
      expected = copyOf(result.initial);
  }
  if (!tested.reference)
    return result;
  LaunchOptions quiet;
  quiet.print = [](std::string_view) {};
  if (tested.referenceProgram)
    result.problems = detail::launch(tested.referenceProgram.get(), expected.arguments, quiet, {});
  else if (tested.reference->host)
    tested.reference->host(expected.arguments);
  if (!hasErrors(result.problems))
    result.expected = ExpectedResults(std::move(expected), tested.reference->tolerance);
  return result;
}

emu::TimingSequence penstock::timingsFor(const EmulatedKernel &kernel, uint64_t count,
                                         uint64_t seed) {
  uint32_t warps = (kernel.kernel.threads + 31) / 32;
  for (unsigned size : kernel.kernel.cluster)
    warps *= std::max(1u, size);
  return {count, warps, seed};
}

std::string penstock::timingText(const emu::LaunchOptions &timing) {
  if (timing.starvedWarp >= 0)
    return "starve " + std::to_string(timing.starvedWarp);
  return timing.timing == emu::Timing::Eager  ? "eager"
         : timing.timing == emu::Timing::Lazy ? "lazy"
                                              : "seed " + std::to_string(timing.seed);
}

Run penstock::runCase(const KernelUnderTest &tested, const EmulatedKernel &kernel, const Case &on,
                      const emu::LaunchOptions &options) {
  Run run;
  run.after = copyOf(on.initial);
  run.report = launchEmulated(kernel, tested.info, run.after.arguments, options);
  return run;
}

bool penstock::isRefusal(const Diagnostic &diagnostic) {
  bool launch = diagnostic.code >= LaunchRank && diagnostic.code < FaultAssert;
  bool hardware = diagnostic.code >= HardwareTarget && diagnostic.code <= HardwareAlignment;
  return launch || hardware || diagnostic.code == FaultAssert;
}
