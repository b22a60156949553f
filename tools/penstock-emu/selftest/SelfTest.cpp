//===- SelfTest.cpp - penstock-emu selftest -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs every kernel in many timings, which must be silent and give the right
// result, and every twin in a few, which must give the right finding at the
// right line. Each warp of both is starved once.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Json.h"
#include "Diagnostics/Render.h"
#include "selftest/FixStudy.h"
#include "selftest/RunKernel.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

namespace penstock::emu {
namespace {

using namespace selftest;

/// The shortest run that still shows a false alarm: fewer iterations first,
/// then a single delayed operation in place of a random timing.
void shrink(FILE *out, const Kernel &kernel, const LaunchOptions &failing) {
  auto fails = [&](const LaunchOptions &options, uint32_t iterations) {
    Run run = runKernel(kernel, kernel.text, options, iterations);
    bool full = iterations == kernel.iterations;
    return !run.report.findings.empty() || (full && !run.correct);
  };
  uint32_t least = kernel.iterations;
  for (uint32_t n = 1; n < kernel.iterations; ++n)
    if (fails(failing, n)) {
      least = n;
      break;
    }
  fprintf(out, "  shrunk to %u of %u iterations", least, kernel.iterations);
  LaunchOptions simple;
  simple.threads = 1;
  if (fails(simple, least)) {
    fprintf(out, ", eager timing\n");
    return;
  }
  simple.timing = Timing::Targeted;
  for (uint32_t target = 0; target < 64; ++target) {
    simple.target = target;
    if (fails(simple, least)) {
      fprintf(out, ", delay of operation %u alone\n", target);
      return;
    }
  }
  fprintf(out, ", %s\n", timingName(failing, warpsOf(kernel.config)).c_str());
}

std::string fact(const Diagnostic &d, const char *key) {
  for (auto &[name, value] : d.facts)
    if (name == key)
      return value;
  return "";
}

/// Returns whether a finding has one of the twin's kinds and names one of its lines.
bool matches(const Diagnostic &d, const Twin &twin, const std::string &text) {
  if (std::find(twin.codes.begin(), twin.codes.end(), d.code) == twin.codes.end())
    return false;
  std::set<std::string> named = {fact(d, "ptx_line"), fact(d, "other_ptx_line")};
  for (const std::string &tag : twin.at) {
    unsigned line = lineOf(text, tag);
    if (!line)
      continue;
    if (named.count(std::to_string(line)))
      return true;
    // Deadlocks list everybody who waits.
    std::string location = ".ptx:" + std::to_string(line) + " ";
    for (const DiagnosticNote &note : d.notes)
      if (note.message.find(location) != std::string::npos)
        return true;
  }
  return false;
}

struct SelftestOptions {
  unsigned timings = 200;
  std::string filter, dump, format = "text";
  bool verbose = false, list = false;
  unsigned fix = 0;
};

int runSelftest(const SelftestOptions &options) {
  constexpr unsigned twinTimings = 8;
  const auto &[timings, filter, dump, format, verbose, list, fix] = options;
  // With JSON, standard output has the figures alone.
  bool json = format == "json";
  FILE *out = json ? stderr : stdout;
  std::vector<Kernel> kernels = allKernels();
  if (fix) {
    std::erase_if(kernels, [&](const Kernel &kernel) {
      return kernel.name.find(filter) == std::string::npos;
    });
    return runFixStudy(kernels, fix, verbose, json);
  }
  unsigned count = 0, twins = 0, caught = 0, misclassified = 0, alarms = 0, onlyStarving = 0;
  std::map<std::string, unsigned> families;
  std::vector<std::string> listed;
  for (const Kernel &kernel : kernels) {
    if (!dump.empty()) {
      if (kernel.name == dump)
        fputs(kernel.text.c_str(), stdout);
      continue;
    }
    if (kernel.name.find(filter) == std::string::npos)
      continue;
    ++count;
    ++families[kernel.family];
    if (list && json)
      listed.push_back(JsonObject()
                           .text("family", kernel.family)
                           .text("name", kernel.name)
                           .number("twins", kernel.twins.size())
                           .str());
    else if (list)
      printf("%s\t%s\t%zu twins\n", kernel.family.c_str(), kernel.name.c_str(),
             kernel.twins.size());
    if (list)
      continue;
    uint32_t warps = warpsOf(kernel.config), ordinary = std::max(1u, timings);
    for (unsigned t = 0; t < ordinary + warps; ++t) {
      LaunchOptions options = t < ordinary ? timing(t) : starving(t - ordinary);
      Run run = runKernel(kernel, kernel.text, options, kernel.iterations);
      if (run.report.findings.empty() && run.correct)
        continue;
      ++alarms;
      fprintf(out, "FALSE ALARM: %s in timing %u%s\n%s", kernel.name.c_str(), t,
              run.correct ? "" : ", wrong result", render(run.report.findings).c_str());
      shrink(out, kernel, options);
      break;
    }
    for (const Twin &twin : kernel.twins) {
      ++twins;
      std::string text = mutate(kernel.text, twin);
      bool found = false, other = false;
      std::string findings;
      auto tryIn = [&](const LaunchOptions &options) {
        Run run = runKernel(kernel, text, options, kernel.iterations);
        bool here = false;
        for (const Diagnostic &d : run.report.findings) {
          here |= matches(d, twin, text);
          other = true;
        }
        if (!here)
          findings += render(run.report.findings);
        return here;
      };
      for (unsigned t = 0; t < twinTimings && !found && !text.empty(); ++t)
        found = tryIn(timing(t));
      bool starved = false;
      for (uint32_t warp = 0; warp < warps && !text.empty(); ++warp)
        starved |= tryIn(starving(warp));
      onlyStarving += starved && !found;
      if (found || starved) {
        ++caught;
        continue;
      }
      misclassified += other;
      fprintf(out, "%s: %s, twin `%s`\n%s", other ? "MISCLASSIFIED" : "NOT CAUGHT",
              kernel.name.c_str(), twin.name.c_str(), verbose ? findings.c_str() : "");
    }
  }
  if (!dump.empty()) {
    auto named = [&](const Kernel &kernel) { return kernel.name == dump; };
    if (std::any_of(kernels.begin(), kernels.end(), named))
      return 0;
    fprintf(stderr, "penstock-emu: there is no kernel `%s`; --list lists them\n", dump.c_str());
    return cli::usageExit;
  }
  if (list && json) {
    puts(JsonObject().json("kernels", jsonLines(listed)).str().c_str());
    return 0;
  }
  if (json) {
    puts(JsonObject()
             .number("timings", timings)
             .number("kernels", count)
             .number("twins", twins)
             .number("caught", caught)
             .number("misclassified", misclassified)
             .number("false_alarms", alarms)
             .str()
             .c_str());
    return alarms || caught != twins;
  }
  for (auto &[family, n] : families)
    printf("%s=%u ", family.c_str(), n);
  printf("timings=%u caught_only_by_starving=%u\nkernels=%u twins=%u caught=%u misclassified=%u "
         "false_alarms=%u\n",
         timings, onlyStarving, count, twins, caught, misclassified, alarms);
  return alarms || caught != twins;
}

} // namespace

void addSelftest(cli::Tool &tool) {
  auto o = std::make_shared<SelftestOptions>();
  tool.command("selftest", "Runs kernels that must be silent, and wrong twins that must be caught.",
               [o](const cli::Command &) { return runSelftest(*o); })
      .number("timings", "timings of each kernel", o->timings, 1, 1000000)
      .text("filter", "TEXT", "only kernels with this in their name", o->filter)
      .flag("list", "lists the kernels instead", o->list)
      .text("dump", "KERNEL", "prints the PTX of a kernel instead", o->dump)
      .flag("verbose",
            "prints the findings of twins that are not caught, and each mutant of `--fix`",
            o->verbose)
      .number("fix",
              "repairs N mutants instead, each without one synchronizing instruction, and compares "
              "them with the kernels",
              o->fix, 1, 1000000)
      .format(o->format, {"text", "json"})
      .example("penstock-emu selftest --filter wgmma --timings 20");
}

} // namespace penstock::emu
