//===- Mutate.cpp - penstock-emu mutate -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/ReadFile.h"
#include "Emulator/Decode/Program.h"
#include "Emulator/Mutants.h"
#include "LaunchArguments.h"

#include <cstdio>

namespace penstock::emu {
namespace {

struct MutateOptions {
  std::shared_ptr<PtxLaunch> launch = std::make_shared<PtxLaunch>();
  std::string format = "text";
  unsigned timings = 4;
};

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
      .format(o->format, {"text", "json", "sarif", "html"})
      .example("penstock-emu mutate kernel.ptx gemm --grid 2 --block 128 --arg buffer=4096:zero");
}

} // namespace penstock::emu
