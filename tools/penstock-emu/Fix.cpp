//===- Fix.cpp - penstock-emu fix -----------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/Progress.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/ReadFile.h"
#include "Diagnostics/Render.h"
#include "Diagnostics/Serialize.h"
#include "Emulator/Decode/Program.h"
#include "Emulator/Repair/Repair.h"
#include "LaunchArguments.h"

#include <cstdio>
#include <fstream>

namespace penstock::emu {
namespace {

struct FixOptions {
  std::shared_ptr<PtxLaunch> launch = std::make_shared<PtxLaunch>();
  std::string format = "text", failOn = "undefined", output;
  unsigned timings = 4;
  RepairOptions repair;
};

void printText(const RepairReport &report) {
  fputs(render(report.findings).c_str(), stdout);
  std::string timings = std::to_string(report.timings) + " timings";
  std::string trials =
      std::to_string(report.trials) + (report.trials == 1 ? " candidate" : " candidates");
  for (size_t i = 0; i < report.patches.size(); ++i) {
    std::string inserted;
    for (const std::string &what : report.patches[i].inserted)
      inserted += (inserted.empty() ? "`" : " and `") + what + "`";
    printf("patch %zu of %zu: %s\n%s", i + 1, report.patches.size(), inserted.c_str(),
           report.patches[i].diff.c_str());
  }
  if (report.findings.empty())
    printf("no findings in %s: there is nothing to fix\n", timings.c_str());
  else if (report.patches.empty())
    printf("gave up: no patch works, of %s%s%s\n", trials.c_str(), report.tried.empty() ? "" : ": ",
           report.triedText().c_str());
  else
    printf("no findings with patch 1 in %s; %s tried\n", timings.c_str(), trials.c_str());
}

void printJson(const RepairReport &report) {
  std::string patches = jsonArray(report.patches, [](const Patch &patch) {
    return JsonObject()
        .text("strength", nameOf(patch.strength))
        .json("inserted", jsonArray(patch.inserted, jsonString))
        .text("diff", patch.diff)
        .str();
  });
  puts(JsonObject()
           .json("diagnostics", toJsonArray(report.findings))
           .json("patches", patches)
           .number("timings", report.timings)
           .number("candidates", report.trials)
           .text("tried", report.triedText())
           .str()
           .c_str());
}

int fix(FixOptions &o, const cli::Command &command) {
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
  RepairSubject subject = subjectOf(device, *module, launch.kernel, launch.config, o.timings);
  PhaseProgress progress(/*always=*/true);
  progress.update("running " + launch.kernel);
  o.repair.limit = tierFromName(o.failOn).value_or(Tier::Undefined);
  o.repair.progress = [&](const RepairProgress &now) {
    progress.update("round " + std::to_string(now.round), ": candidate " +
                                                              std::to_string(now.trial) + " of " +
                                                              std::to_string(now.candidates));
  };
  RepairReport report = repair(subject, o.repair);
  progress.finish();
  if (!report.ran) {
    printFindings(report.findings, o.format);
    return 2;
  }
  o.format == "json" ? printJson(report) : printText(report);
  if (!o.output.empty() && !report.patches.empty()) {
    std::ofstream file(o.output, std::ios::binary);
    if (!(file << report.patches[0].text).flush()) {
      fprintf(stderr, "penstock-emu: cannot write `%s`\n", o.output.c_str());
      return 2;
    }
  }
  return report.findings.empty() || !report.patches.empty() ? 0 : 1;
}

} // namespace

void addFix(cli::Tool &tool) {
  auto o = std::make_shared<FixOptions>();
  addLaunch(tool.command("fix",
                         "Finds the weakest synchronization that is missing in a kernel with "
                         "findings, and prints it as a patch of the PTX.",
                         [o](const cli::Command &command) { return fix(*o, command); }),
            o->launch)
      .number("timings",
              "timings that a patch is checked in: eager, lazy, then random ones; in addition each "
              "warp is starved once",
              o->timings, 1, 1000)
      .choice("fail-on", tierNames, "the lowest tier of findings that a patch removes (undefined)",
              o->failOn)
      .number("patches", "patches to print, the weakest first", o->repair.patches, 1, 20)
      .number("limit", "candidates to try", o->repair.maxTrials, 1, 1000000000)
      .output("FILE.ptx", "writes the kernel with the first patch", o->output)
      .format(o->format, {"text", "json"})
      .example("penstock-emu fix kernel.ptx gemm --grid 8,8 --block 192 --shared 131072 "
               "--arg buffer=4096:zero --arg u32=16");
}

} // namespace penstock::emu
