//===- MutateProgram.cpp - Do default inputs notice a wrong tile program? -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mutants and the unchanged program run on the interpreter, which all back ends are tested
// against. Uses the shapes, data and comparison of check.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "Runtime/ThreadPool.h"
#include "Testing/Check/Coverage.h"
#include "Testing/Check/KernelUnderTest.h"
#include "Testing/Check/References.h"
#include "Testing/Check/Shards.h"
#include "Testing/Mutation/ProgramMutations.h"
#include "Testing/Mutation/WrittenReasons.h"

#include <algorithm>
#include <tuple>

using namespace penstock;

namespace {

/// Arguments, and the results of the unchanged program.
struct ProgramCase {
  std::string shape;
  Data data;
  MadeArguments initial;
  ExpectedResults expected;
  uint64_t steps;
};

class ProgramMutator {
public:
  ProgramMutator(const KernelInputs &inputs, const MutateOptions &options, MutateReport &report)
      : inputs(inputs), options(options), report(report) {}

  void run() {
    if (!prepare())
      return;
    std::string original = canonicalText(inputs.program->module());
    std::string bytes = inputs.program->save();
    std::vector<ProgramMutation> mutations = programMutationsOf(inputs.program->kernel());
    std::vector<std::optional<Mutant>> results(mutations.size());
    parallelFor(mutations.size(), options.jobs, [&](uint64_t index, int) {
      const ProgramMutation &mutation = mutations[index];
      std::string item = inputs.name + " program " + std::to_string(mutation.number) + " " +
                         mutation.operation + " " + mutation.change;
      if (!inShard(item, options.shard, options.shards) ||
          !announce(mutation, index, mutations.size()))
        return;
      auto mutant = TestedProgram::load(bytes);
      if (mutant && applyMutation(mutant->kernel(), mutation))
        results[index] = fateOf(*mutant, mutation, original);
    });
    for (auto &result : results)
      if (result)
        report.mutants.push_back(std::move(*result));
  }

private:
  /// Runs the unchanged program. Returns false if it is not sound, or accepts no shape.
  bool prepare() {
    bool chosen = !options.shapes.empty();
    Tolerance tolerance = toleranceOf(inputs);
    if (auto reference = referenceFor(inputs.name))
      tolerance = reference->tolerance;
    Coverage coverage(inputs.program, inputs.arguments);
    for (const Shape &shape : chosen ? options.shapes : inputs.allShapes())
      if (!addCases(shape, chosen, tolerance, coverage))
        return false;
    for (const Shape &shape : chosen ? std::vector<Shape>() : inputs.moreShapes())
      if (coverage.hasShortLoop() && !addCases(shape, chosen, tolerance, coverage))
        return false;
    // Most mutants are killed by the first case.
    std::ranges::sort(
        cases, {}, [](const ProgramCase &on) { return std::tuple(on.steps, on.shape, on.data); });
    if (!cases.empty())
      return true;
    Diagnostic d;
    d.code = CheckNothingRan;
    d.location = {};
    d.message = "no shape of `" + inputs.name + "` can be run: " + refused;
    d.helps.push_back("state shapes with --shape or PENSTOCK_SHAPES, and values of inputs in the "
                      "signature");
    report.diagnostics.push_back(std::move(d));
    return false;
  }

  /// Runs the unchanged program for one shape. Returns false if it is not sound.
  bool addCases(const Shape &shape, bool chosen, Tolerance tolerance, Coverage &coverage) {
    for (Data data : {Data::Exact, Data::Random}) {
      if (!announce("unchanged, " + textOf(shape), 0, 0))
        return false;
      MadeArguments initial = inputs.make(shape, data, options.seed);
      std::vector<Diagnostic> problems = initial.diagnostics;
      MadeArguments expected = copyOf(initial);
      InterpretResult result;
      if (problems.empty()) {
        InterpretOptions observed;
        observed.observer = &coverage;
        result = inputs.program->run(expected, observed);
        problems = result.faults;
      }
      if (problems.empty()) {
        cases.push_back({textOf(shape), data, std::move(initial),
                         ExpectedResults(std::move(expected), tolerance), result.steps});
        continue;
      }
      // Default shapes may be unsupported; not a failure.
      if (chosen || !isRefusal(problems.front())) {
        report.diagnostics.insert(report.diagnostics.end(), problems.begin(), problems.end());
        return false;
      }
      refused = problems.front().message;
    }
    return true;
  }

  Mutant fateOf(const TestedProgram &mutant, const ProgramMutation &mutation,
                const std::string &original) const {
    Mutant result;
    result.kernel = inputs.name;
    result.target = "program";
    result.change = mutation.change;
    result.instruction = mutation.operation;
    result.source = mutation.source;
    if (canonicalText(mutant.module()) == original) {
      result.fate = Mutant::Equivalent;
      result.reason = "the canonical form of the program is the same";
      return result;
    }
    for (const ProgramCase &on : cases) {
      MadeArguments after = copyOf(on.initial);
      InterpretOptions limited;
      limited.maxSteps = 4 * on.steps + 1000000;
      std::vector<Diagnostic> faults = mutant.run(after, limited).faults;
      Difference difference = compareResults(inputs.arguments, after, on.expected, on.data);
      if (faults.empty() && !difference.elements)
        continue;
      result.fate = Mutant::Killed;
      result.code = faults.empty() ? 0 : faults.front().code;
      result.reason = (faults.empty() ? difference.first : faults.front().message) + ", " +
                      on.shape + ", " + nameOf(on.data) + " data";
      return result;
    }
    result.reason = equivalenceReasons().find(inputs.name, mutation.source,
                                              mutation.operation + " " + mutation.change);
    result.fate = result.reason.empty() ? Mutant::Survived : Mutant::Explained;
    if (result.reason.empty())
      result.reason = "every run passes";
    return result;
  }

  bool announce(const ProgramMutation &mutation, uint64_t index, size_t total) {
    return announce(mutation.operation + " " + mutation.change, int(index) + 1, int(total));
  }
  bool announce(const std::string &what, int number, int total) {
    std::lock_guard lock(mutex);
    if (!options.progress || report.cancelled)
      return !report.cancelled;
    CheckProgress progress;
    progress.kernel = inputs.name;
    progress.what = what;
    progress.number = number;
    progress.total = total;
    options.progress(progress);
    report.cancelled = progress.cancel;
    return !report.cancelled;
  }

  const KernelInputs &inputs;
  const MutateOptions &options;
  MutateReport &report;
  std::vector<ProgramCase> cases;
  std::string refused;
  std::mutex mutex;
};

/// Returns false, with a reason in \p diagnostics, if the kernel has no tile program.
bool mutateProgram(const std::string &kernel, const MutateOptions &options, MutateReport &report,
                   std::vector<Diagnostic> &diagnostics) {
  InspectOptions inspect;
  inspect.set = options.set;
  auto source = kernelSource(kernel, inspect, diagnostics);
  if (!source)
    return false;
  auto inputs = inputsOf(*source, options.inputs, diagnostics);
  if (!inputs)
    return false;
  if (inputs->program->isExplicit()) {
    Diagnostic d;
    d.code = HardwareTarget;
    d.location = {source->at.file, source->at.line, 0};
    d.message = "`" + kernel + "` uses GPU operations; only tile programs are mutated as programs";
    d.helps.push_back("leave --program out: its synchronizing instructions are then mutated");
    diagnostics.push_back(std::move(d));
    return false;
  }
  addRegistered(*inputs, kernel, options.set);
  ProgramMutator(*inputs, options, report).run();
  return true;
}

} // namespace

MutateReport penstock::mutate_program_registered(const std::string &kernel,
                                                 const MutateOptions &options) {
  MutateReport report;
  std::vector<Diagnostic> diagnostics;
  mutateProgram(kernel, options, report, diagnostics);
  report.diagnostics.insert(report.diagnostics.begin(), diagnostics.begin(), diagnostics.end());
  return report;
}

MutateReport penstock::mutate_program_all(const MutateOptions &options) {
  MutateReport report;
  for (const KernelDescription &kernel : registered_kernels()) {
    if (report.cancelled)
      break;
    std::vector<Diagnostic> diagnostics;
    if (!mutateProgram(kernel.name, options, report, diagnostics))
      report.skipped.push_back(
          {kernel.name, "program", diagnostics.empty() ? "" : diagnostics.front().message});
  }
  return report;
}
