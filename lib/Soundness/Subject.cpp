//===- Subject.cpp - A kernel under test and its judge --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Soundness/Subject.h"
#include "Compiler/Compiler.h"
#include "Compiler/Registry.h"
#include "Diagnostics/Codes.h"
#include "Soundness/References.h"

#include <algorithm>

using namespace penstock;

namespace {

Diagnostic problem(unsigned code, const SourcePlace &place, std::string message) {
  Diagnostic d;
  d.code = code;
  d.place = place;
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

std::string penstock::targetName(Target target) {
  return target.kind == Target::Kind::Sm90a ? "sm_90a" : "sm_100a";
}

std::optional<Subject> penstock::compileSubject(const detail::KernelSource &source, Target target,
                                                std::vector<Diagnostic> &diagnostics) {
  SourcePlace place{source.at.file, source.at.line, 0};
  if (target.kind != Target::Kind::Sm90a && target.kind != Target::Kind::Sm100a) {
    diagnostics.push_back(
        problem(ToolUsage, place, "only kernels for GPUs are checked: use sm_90a or sm_100a"));
    return std::nullopt;
  }
  // The emulator is a judge of its own.
  auto compiled = detail::compile(source, target.emulated(), {.check_barriers = false});
  diagnostics.insert(diagnostics.end(), compiled.diagnostics.begin(), compiled.diagnostics.end());
  if (!compiled.executable)
    return std::nullopt;
  Subject subject;
  subject.name = source.name;
  subject.target = targetName(target);
  subject.info = compiled.executable->info;
  subject.arguments = AnyKernel(compiled.executable).arguments();
  subject.specs = source.arguments;
  subject.variants = compiled.executable->devices;
  subject.reference = referenceFor(source.name);
  if (!subject.reference || !subject.reference->source)
    return subject;
  const detail::Reference &reference = *subject.reference;
  detail::KernelSource judge = reference.source(reference.name.c_str(), reference.at);
  if (!sameArguments(source.arguments, judge.arguments)) {
    diagnostics.push_back(problem(ToolUsage, {reference.at.file, reference.at.line, 0},
                                  "`" + reference.name + "` takes other arguments than `" +
                                      source.name + "`, whose reference it is to be"));
    return std::nullopt;
  }
  // The name is for messages; a kernel's has no :: and no <>.
  judge.name = "reference";
  auto result = detail::compile(judge, Target::interpreter(), {});
  diagnostics.insert(diagnostics.end(), result.diagnostics.begin(), result.diagnostics.end());
  if (!result.executable)
    return std::nullopt;
  subject.judge = std::move(result.executable);
  return subject;
}

std::optional<Subject>
penstock::compileRegistered(const std::string &kernel, Target target,
                            const std::vector<std::pair<std::string, std::string>> &set,
                            std::vector<Diagnostic> &diagnostics) {
  InspectOptions options;
  options.set = set;
  auto source = kernelSource(kernel, options, diagnostics);
  if (!source)
    return std::nullopt;
  auto subject = compileSubject(*source, target, diagnostics);
  if (!subject)
    return std::nullopt;
  for (const KernelDescription &description : registered_kernels())
    if (description.name == kernel)
      subject->fields = {description.fields.begin(), description.fields.end()};
  for (const auto &[name, value] : set)
    subject->fields[name] = value;
  subject->shapes = shapesFor(kernel);
  // What the first grid leaves open is open for mutants too.
  for (const Shape &shape : subject->shapes)
    if (!isComplete(shape, subject->arguments)) {
      subject->fields = withSizes(std::move(subject->fields), shape);
      break;
    }
  return subject;
}

Case penstock::prepareCase(const Subject &subject, const Shape &shape, Data data, uint64_t seed) {
  Case result;
  result.shape = shape;
  result.initial = make_arguments(subject.arguments, shape, data, seed);
  result.problems = result.initial.diagnostics;
  if (!result.problems.empty())
    return result;
  for (size_t i = 0; i < subject.specs.size(); ++i)
    if (subject.specs[i].tensor && subject.specs[i].access == Access::Out)
      markOutput(result.initial.arguments[i]);
  result.problems = checkArguments(subject.info, result.initial.arguments, subject.info.place);
  if (!result.problems.empty())
    return result;
  result.variant = &variantFor(subject.variants, result.initial.arguments);
  if (!subject.reference)
    return result;
  MadeArguments expected = copyOf(result.initial);
  if (subject.judge)
    result.problems = detail::launch(subject.judge.get(), expected.arguments, {}, {});
  else
    subject.reference->host(expected.arguments);
  if (!hasErrors(result.problems))
    result.expected = ExpectedResults(std::move(expected), subject.reference->tolerance);
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

Run penstock::runCase(const Subject &subject, const EmulatedKernel &kernel, const Case &on,
                      const emu::LaunchOptions &options) {
  Run run;
  run.after = copyOf(on.initial);
  run.report = launchEmulated(kernel, subject.info, run.after.arguments, options);
  return run;
}

bool penstock::isRefusal(const Diagnostic &diagnostic) { return diagnostic.code < PtxSyntax; }
