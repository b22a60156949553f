//===- RunPtx.cpp - penstock-emu run-ptx, parse and coverage --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ClockPtx.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/ReadFile.h"
#include "Diagnostics/Render.h"
#include "Emulator/Races/Tier.h"
#include "LaunchArguments.h"
#include "PTX/InstructionTable.h"
#include "PTX/Parser.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>
#include <utility>

namespace penstock::emu {
namespace {

struct RunPtxOptions {
  std::shared_ptr<PtxLaunch> launch = std::make_shared<PtxLaunch>();
  std::string format = "text";
  LaunchOptions options;
  bool noChecks = false;
  std::vector<std::pair<size_t, std::string>> dumps;
  unsigned timings = 0;
  std::string failOn = "undefined";
  std::string clock; ///< a chip
  bool wholeGrid = false;
};

/// Leaves out findings that an earlier timing had.
std::vector<Diagnostic> newFindings(std::vector<Diagnostic> findings,
                                    std::set<std::tuple<unsigned, std::string>> &known) {
  std::erase_if(findings, [&](const Diagnostic &d) {
    std::string lines;
    for (const SourceLocation &line : findingLines(d))
      lines += line.file + ":" + std::to_string(line.line) + " ";
    return !known.emplace(d.code, lines).second;
  });
  return findings;
}

std::string parseDump(const std::string &text, RunPtxOptions &options) {
  size_t equals = std::min(text.find('='), text.size());
  uint64_t number = 0;
  if (equals == text.size() || !cli::parseInteger(text.substr(0, equals), number))
    return "expected N=PATH";
  options.dumps.emplace_back(number, text.substr(equals + 1));
  return "";
}

int runPtx(RunPtxOptions &o, const cli::Command &command) {
  auto &[shared, format, options, noChecks, dumps, timings, failOn, clock, wholeGrid] = o;
  PtxLaunch &launch = *shared;
  const std::vector<Buffer> &buffers = launch.buffers;
  Tier limit = tierFromName(failOn).value_or(Tier::Undefined);
  std::set<std::tuple<unsigned, std::string>> known;
  std::vector<Diagnostic> all; ///< of all timings, for one document
  options.checks = !noChecks;
  options.timeline = format == "html";
  for (const auto &dump : dumps)
    if (dump.first >= buffers.size())
      return command.usageError("`--dump " + std::to_string(dump.first) + "=..`: there " +
                                (buffers.empty()
                                     ? "are 0 buffers"
                                     : "are buffers 0 to " + std::to_string(buffers.size() - 1)));
  std::string text;
  if (auto problem = readFile(launch.file, text))
    return refuse(*problem);
  options.print = [](const std::string &out) { fputs(out.c_str(), stdout); };
  if (!clock.empty()) {
    if (timings)
      return command.usageError("`--timings` and `--clock`: a clock is one timing");
    if (format == "html" || format == "sarif")
      return command.usageError("`--clock` prints text or json");
    return clockPtx(launch, text, options, {clock, wholeGrid, format == "json", limit}, dumps);
  }
  int exitCode = 0;
  TimingSequence tried{timings, std::min(launch.warps(), 512u), 2};
  uint64_t runs = timings ? tried.size() : 1;
  std::vector<Diagnostic> found; ///< by blocks on several threads
  for (uint64_t run = 0; run < runs; ++run) {
    if (timings) {
      options.timing = tried[run].timing;
      options.seed = tried[run].seed;
      options.starvedWarp = tried[run].starvedWarp;
    }
    Device device;
    std::vector<Diagnostic> diagnostics;
    auto module = device.load(text, launch.file, diagnostics);
    if (!module) {
      printFindings(diagnostics, format);
      return 1;
    }
    if (run == 0 && options.threads != 1)
      fputs(render(diagnostics).c_str(), stderr); // warnings
    if (int missing = launch.allocate(device); missing >= 0)
      return command.usageError("no memory for buffer " + std::to_string(missing) +
                                " of the launch");
    Report report = device.launch(*module, launch.kernel, launch.config, options);
    // Which block is found at fault first depends on the host's threads; one block after
    // the other gives the same report in every run.
    if (!report.findings.empty() && options.threads != 1) {
      found = std::move(report.findings);
      options.threads = 1;
      options.print = {};
      --run;
      continue;
    }
    if (report.findings.empty())
      report.findings = std::exchange(found, {});
    for (const Diagnostic &finding : report.findings)
      exitCode |= tierOf(finding) >= limit;
    exitCode |= !report.completed;
    std::vector<Diagnostic> fresh = newFindings(std::move(report.findings), known);
    if (format == "text")
      printFindings(fresh, format);
    all.insert(all.end(), fresh.begin(), fresh.end());
    launch.dump(device, dumps);
    if (format == "text" && run + 1 >= runs)
      printf("%llu blocks, %llu warp instructions, %llu asynchronous "
             "operations, %.3f s, %u timings, %s\n",
             (unsigned long long)report.stats.blocks, (unsigned long long)report.stats.instructions,
             (unsigned long long)report.stats.asyncOps, report.stats.seconds, unsigned(run + 1),
             all.empty() ? "no findings" : "findings above");
    if (exitCode)
      break;
  }
  if (format != "text")
    printFindings(all, format);
  return exitCode;
}

int parsePtx(const std::vector<std::string> &files, const std::string &format) {
  int exitCode = 0;
  for (const std::string &path : files) {
    std::string text;
    if (auto problem = readFile(path, text))
      return refuse(*problem);
    ptx::ParseResult result = ptx::parse(std::move(text), path);
    std::vector<Diagnostic> diagnostics = result.diagnostics;
    size_t kernels = 0;
    if (result.module) {
      // Decoding finds what parses but is not executed.
      std::vector<uint64_t> globals(result.module->variables.size(), 0x1000);
      for (auto &function : result.module->functions)
        if (function->isEntry && !function->isDeclaration) {
          ++kernels;
          decode(result.module, function->name, globals, diagnostics);
        }
    }
    printFindings(diagnostics, format);
    auto problems = std::count_if(diagnostics.begin(), diagnostics.end(), [](const Diagnostic &d) {
      return d.severity == Severity::Error;
    });
    if (format == "text")
      printf("%s: %zu kernels, %zu problems\n", path.c_str(), kernels, size_t(problems));
    exitCode |= problems != 0;
  }
  return exitCode;
}

int coverage(bool markdown, const std::string &format) {
  if (markdown) {
    fputs(ptx::instructionPage(isExecuted).c_str(), stdout);
    return 0;
  }
  bool json = format == "json";
  size_t executed = 0, total = 0;
  std::vector<std::string> missing;
  for (const ptx::InstructionForm &form : ptx::instructionForms()) {
    ++total;
    std::string name = form.name + " " + form.modifierText;
    if (isExecuted(form))
      ++executed;
    else if (json)
      missing.push_back(name);
    else
      printf("not executed: %s\n", name.c_str());
  }
  if (json)
    puts(JsonObject()
             .number("forms", total)
             .number("executed", executed)
             .json("not_executed", jsonArray(missing, jsonString))
             .str()
             .c_str());
  else
    printf("forms=%zu executed=%zu\n", total, executed);
  return 0;
}

} // namespace

void addRunPtx(cli::Tool &tool) {
  auto o = std::make_shared<RunPtxOptions>();
  addLaunch(tool.command("run-ptx", "Launches a kernel of a .ptx file.",
                         [o](const cli::Command &command) { return runPtx(*o, command); }),
            o->launch)
      .values("dump", "N=PATH", "after the run, writes buffer N (from 0) to a file",
              [o](const std::string &text) { return parseDump(text, *o); })
      .values("timing", timingForms, "completion time of asynchronous operations (eager)",
              [o](const std::string &text) -> std::string {
                return parseTiming(text, o->options) ? "" : std::string("expected ") + timingForms;
              })
      .number("timings",
              "number of timings: eager, lazy, then random ones; in addition each warp is starved "
              "once",
              o->timings, 0, 1000000000)
      .choice("clock", clockNames(),
              "runs the first block, or its cluster, on the cycle model of a GPU, and prints its "
              "cycles and how busy each part of an SM was",
              o->clock)
      .flag("whole-grid", "with --clock: runs all blocks, one after the other", o->wholeGrid)
      .flag("no-checks", "disables the race checker", o->noChecks)
      .choice("fail-on", tierNames, "the lowest tier of findings that fails the run (undefined)",
              o->failOn)
      .flag("wait-before-use", "reports results that are used without a wait",
            o->options.waitBeforeUse)
      .number("threads", "threads to run blocks on; 0: all hardware threads", o->options.threads, 0,
              1024)
      .format(o->format, {"text", "json", "sarif", "html"})
      .example("penstock-emu run-ptx kernel.ptx gemm --grid 8,8 --block 192 --shared 131072 "
               "--arg buffer=4096:zero --arg u32=16 --timings 100");
}

void addParse(cli::Tool &tool) {
  struct Options {
    std::vector<std::string> files;
    std::string format = "text";
  };
  auto o = std::make_shared<Options>();
  tool.command("parse", "Parses .ptx files and reports what is not supported.",
               [o](const cli::Command &) { return parsePtx(o->files, o->format); })
      .arguments("FILE.ptx", o->files)
      .format(o->format)
      .example("penstock-emu parse kernel.ptx");
}

void addCoverage(cli::Tool &tool) {
  struct Options {
    bool markdown = false;
    std::string format = "text";
  };
  auto o = std::make_shared<Options>();
  tool.command("coverage", "Lists instructions that are not executed.",
               [o](const cli::Command &) { return coverage(o->markdown, o->format); })
      .flag("markdown", "prints the page docs/reference/ptx-instructions.md", o->markdown)
      .format(o->format, {"text", "json"})
      .example("penstock-emu coverage --markdown");
}

} // namespace penstock::emu
