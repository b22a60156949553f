//===- Mutate.cpp - penstock-emu mutate -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/Progress.h"
#include "Diagnostics/ReadFile.h"
#include "Emulator/Decode/Program.h"
#include "Emulator/Mutants.h"
#include "Emulator/Repair/Study.h"
#include "LaunchArguments.h"

#include <cstdio>

namespace penstock::emu {
namespace {

struct MutateOptions {
  std::shared_ptr<PtxLaunch> launch = std::make_shared<PtxLaunch>();
  std::string format = "text";
  unsigned timings = 4, fix = 0;
};

/// Repairs mutants that have findings, and compares the patched kernels with the kernel.
int fixMutants(const MutateOptions &o, Device &device, const LoadedModule &module) {
  constexpr uint64_t more = 12; // timings in which patched kernels are compared
  constexpr uint64_t moreSeed = 1000;
  const PtxLaunch &launch = *o.launch;
  TimingSequence moreTimings{more, 0, moreSeed};
  std::vector<LaunchOptions> timings;
  for (uint64_t t = 2; t < moreTimings.size(); ++t) // the random ones
    timings.push_back(moreTimings[t]);
  PhaseProgress progress(/*always=*/true);
  progress.update("running " + launch.kernel);
  RepairOptions options;
  std::string mutantText;
  options.progress = [&](const RepairProgress &now) {
    progress.update(mutantText, ": candidate " + std::to_string(now.trial) + " of " +
                                    std::to_string(now.candidates));
  };
  RepairStudy study(subjectOf(device, module, launch.kernel, launch.config, o.timings), timings,
                    options);
  if (!study.problem().empty()) {
    progress.finish();
    fprintf(stderr, "penstock-emu: mutants of a kernel with findings are not repaired: %s\n",
            study.problem().c_str());
    return 2;
  }
  std::vector<SyncInstruction> instructions = study.instructions();
  StudyTotals totals;
  for (size_t index : spreadOrder(instructions.size())) {
    if (totals.all().reported() >= o.fix)
      break;
    mutantText = "without line " + std::to_string(instructions[index].inst->line);
    progress.update(mutantText);
    RepairedMutant mutant = study.study(instructions[index]);
    totals.add(mutant);
    progress.clear();
    if (mutant.fate != RepairedMutant::Unreported)
      puts((launch.file + ":" + mutant.text()).c_str());
  }
  progress.finish();
  fputs(totals.text().c_str(), stdout);
  return totals.all().wrong ? 1 : 0;
}

int mutate(const MutateOptions &o, const cli::Command &command) {
  PtxLaunch &launch = *o.launch;
  std::string text;
  if (auto problem = readFile(launch.file, text))
    return refuse(*problem);
  Device device;
  std::vector<Diagnostic> diagnostics;
  auto module = device.load(text, launch.file, diagnostics);
  if (module && !module->module->function(launch.kernel)) {
    diagnostics.push_back(unknownKernel(*module->module, launch.kernel));
    module = nullptr;
  }
  if (!module) {
    printFindings(diagnostics, o.format);
    return 2;
  }
  if (int missing = launch.allocate(device); missing >= 0)
    return command.usageError("no memory for buffer " + std::to_string(missing) + " of the launch");
  if (o.fix)
    return fixMutants(o, device, *module);
  MutantReport report = runMutants(device, *module, launch.kernel, launch.config, o.timings);
  printFindings(report.findings, o.format);
  if (!report.ran)
    return 2;
  if (o.format == "text")
    puts(report.summary().c_str());
  return report.survivors || report.unexecuted ? 1 : 0;
}

} // namespace

void addMutate(cli::Tool &tool) {
  auto o = std::make_shared<MutateOptions>();
  addLaunch(
      tool.command("mutate",
                   "Removes synchronizing instructions of a kernel one by one. Lists those that "
                   "are not missed, and those that are never executed.",
                   [o](const cli::Command &command) { return mutate(*o, command); }),
      o->launch)
      .number(
          "timings",
          "timings of each mutant: eager, lazy, then random ones; in addition each warp is starved "
          "once",
          o->timings, 1, 1000)
      .number(
          "fix",
          "repairs N mutants that have findings instead, as `fix` does, and compares the patched "
          "kernels with the kernel",
          o->fix, 1, 1000000)
      .format(o->format, {"text", "json", "sarif", "html"})
      .example("penstock-emu mutate kernel.ptx gemm --grid 2 --block 128 --arg buffer=4096:zero");
}

} // namespace penstock::emu
