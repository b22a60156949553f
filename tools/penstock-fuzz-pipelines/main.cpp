//===- main.cpp - penstock-fuzz-pipelines ---------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the checker of pipeline schedules against independent oracles. With --check it
// reads instances as text and prints one line for each, so that any other
// checker can be compared; the other modes compare it with the oracle that is
// built in (docs/contributing/fuzzing.md).
//
//===----------------------------------------------------------------------===//
#include "Campaign.h"
#include "CommandLine/CommandLine.h"
#include "Diagnostics/ReadFile.h"
#include "Diagnostics/Render.h"
#include "Generate.h"
#include "GenerateInstance.h"
#include "Scheduling/Problem/Summary.h"

#include <cstdio>
#include <string>
#include <vector>

using namespace penstock;
using namespace penstock::sched;

namespace {

int checkFile(const std::string &file, bool messages) {
  std::string text;
  if (auto problem = file == "-" ? readStandardInput(text) : readFile(file, text)) {
    std::fputs(render(*problem).c_str(), stderr);
    return 2;
  }
  ParsedInstances parsed = parseInstances(text, file == "-" ? "<stdin>" : file);
  for (const Instance &instance : parsed.instances) {
    Summary summary = summarize(instance);
    std::puts(summary.line.c_str());
    if (messages)
      std::fputs(render(summary.messages).c_str(), stdout);
  }
  std::fflush(stdout);
  if (parsed.error) {
    std::fputs(render(*parsed.error).c_str(), stderr);
    return 1;
  }
  return 0;
}

int runMode(const std::string &mode, const fuzz::CampaignOptions &options, bool print) {
#ifdef PENSTOCK_FUZZ_KERNELS
  if (mode == "--protocols")
    return fuzz::runProtocols(options, print);
  if (mode == "--plans")
    return fuzz::runPlans(options, print);
  if (print && mode != "--mutants")
    std::puts(mode == "--programs" || mode == "--device" || mode == "--points"
                  ? fuzz::emitKernel(fuzz::generateProgram(options.seed, options.solved)).c_str()
                  : fuzz::emitInstance(fuzz::generateInstance(options.seed)).c_str());
  if (mode == "--programs")
    return fuzz::runPrograms(options);
  if (mode == "--points")
    return fuzz::runPoints(options);
  if (mode == "--device")
    return fuzz::runOnDevices(options);
  return mode == "--instances" ? fuzz::runInstances(options) : fuzz::runMutants(options);
#else
  std::fprintf(stderr,
               "penstock-fuzz-pipelines: %s needs the compiler, which this build leaves "
               "out\n",
               mode.c_str());
  return 2;
#endif
}

} // namespace

int main(int argc, char **argv) {
  std::string file;
  std::vector<std::string> modes;
  bool messages = false, print = false, mutants = false;
  fuzz::CampaignOptions options;
  cli::Tool tool("penstock-fuzz-pipelines",
                 "Holds the checker of pipeline schedules against an independent oracle.");
  cli::Command &command = tool.options([&](const cli::Command &self) {
    if (!file.empty())
      modes.push_back("--check");
    if (mutants)
      modes.push_back("--mutants");
    if (modes.size() != 1)
      return self.usageError("expected one of --check, --programs, --device, --points, "
                             "--instances, --protocols, --plans and "
                             "--mutants");
    return file.empty() ? runMode(modes[0], options, print) : checkFile(file, messages);
  });
  auto counted = [&](const char *name, const char *help) {
    command.count(name, help, options.count,
                  [&modes, name] { modes.push_back(std::string("--") + name); });
  };
  command.text("check", "FILE",
               "prints the verdict and the versions of each instance in FILE (- for standard "
               "input); docs/contributing/scheduling-instances.md describes both forms",
               file, cli::Complete::Files);
  command.flag("messages", "prints the full messages as well, after each verdict", messages);
  counted("programs", "random kernels: checker against oracle, and what is legal natively against "
                      "sequential execution");
  counted("device", "random kernels with legal schedules on emulated GPUs against sequential "
                    "execution, in several timings");
  counted("points", "the same, with each point of their plans left out: the emulator must "
                    "notice");
  counted("instances", "random loops with commits, counted waits and fences");
  counted("protocols", "random step lists of roles against all interleavings");
  counted("plans", "random plans against paths between instances; each point that is left out or "
                   "changed must be noticed");
  command.flag("mutants", "weakens each rule of the checker; the oracle must object", mutants);
  command.number("seed", "where random numbers start", options.seed);
  command.number("jobs", "processes; 0: one per core", options.jobs, 0, 1024);
  command.real("seconds", "stops after this time; 0: no limit", options.seconds, 0);
  command.number("native", "of 100 legal kernels, how many are compiled and run", options.native, 0,
                 100);
  command.flag("solved",
               "with --programs or --device: all kernels ask the exact solver for their schedules",
               options.solved);
  command.flag(
      "print",
      "with --programs 1, --device 1, --instances 1, --protocols 1 or --plans 1: prints the case",
      print);
  command.example("penstock-fuzz-pipelines --programs 1000 --seed 1");
  return tool.run(argc, argv);
}
