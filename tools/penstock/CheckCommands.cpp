//===- CheckCommands.cpp - penstock check and penstock mutate -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thin over penstock/check.h: options, progress on standard error, and an
// interrupt that ends a run with the sums of what was done.
//
//===----------------------------------------------------------------------===//
#include "CommandLine/Progress.h"
#include "CommandLine/Terminal.h"
#include "Commands.h"
#include "HtmlReport.h"
#include "RegisterMessages.h"
#include "Session.h"
#include "Shard.h"

#include <csignal>
#include <cstdio>
#include <set>

using namespace penstock;

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// The first interrupt ends the run with its sums, a second one ends it at once.
void interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

/// Units of progress: timings of one shape, mutants of one kernel.
constexpr const char *timings = "timing", *mutants = "mutant";

void show(PhaseProgress &progress, TimeLeft &left, CheckProgress &now, const char *unit) {
  now.cancel = interrupted;
  std::string text = now.kernel + "  " + now.what;
  if (text.size() > 100)
    text.resize(100);
  std::string detail;
  if (now.total)
    detail = std::string("  ") + unit + " " + std::to_string(now.number) + " of " +
             std::to_string(now.total) +
             left.text(unit == mutants ? now.kernel : text, size_t(now.number), size_t(now.total));
  progress.update(text, detail);
}

/// What both commands are told.
template <class Options> struct Call {
  std::string library, kernel, target, format = "text";
  std::vector<std::string> formats = {"text", "json", "sarif"};
  bool all = false;
  bool anyTarget = false; ///< what is done does not depend on the target
  Options options;
  Shard shard;
  std::vector<Target> targets;

  void declare(cli::Command &command, const char *timingsHelp) {
    command.argument("LIBRARY", library)
        .optionalArgument("KERNEL", kernel, cli::Complete::Kernels)
        .flag("all", "all kernels of the library that compile for the target", all)
        .choice("target", gpu_names(),
                "compilation target; default: the one the kernel was written for, with --all "
                "sm_90a and sm_100a",
                target)
        .values("shape", "SIZE=NUMBER,..", "sizes and scalars; may be repeated",
                shapeReader(options.shapes))
        .number("timings", timingsHelp, options.timings, 1, 1000000000)
        .number("seed", "seed of the data and of the first random timing", options.seed)
        .values("set", "FIELD=VALUE,..", "sets fields of the kernel",
                pairReader(options.set, "FIELD=VALUE,.."))
        .number("jobs", "concurrent launches; 0: one per hardware thread", options.jobs, 0, 4096)
        .format(format, formats);
    command.values("input", "NAME=VALUES", "values of an input, e.g. lengths=1..N; may be repeated",
                   [this](const std::string &text) {
                     options.inputs.push_back(text);
                     return std::string();
                   });
    declareShard(command, shard);
  }

  /// Returns an exit code if there is nothing to do, else 0.
  int begin(const cli::Command &command) {
    if (all && !kernel.empty())
      return command.usageError("unexpected argument `" + kernel + "`: --all takes all kernels");
    if (!all && kernel.empty())
      return command.usageError("a kernel is missing; --all takes all");
    if (anyTarget && !target.empty())
      return command.usageError("--program needs no --target: programs run on the interpreter");
    std::vector<Diagnostic> problems = load_library(library);
    if (problems.empty() && !all && !anyTarget && target.empty())
      target = targetFor(architecture_of_registered(kernel, {.set = options.set}, problems));
    if (!problems.empty()) {
      std::fputs((format == "json" ? to_json(problems) : cli::renderForTerminal(problems)).c_str(),
                 stderr);
      return exitCodeOf(problems, 1);
    }
    if (std::optional<Target> stated = find_gpu(target))
      targets.push_back(*stated);
    else
      targets = {Target::sm_90a(), Target::sm_100a()};
    std::signal(SIGINT, interrupt);
    options.shard = shard.number;
    options.shards = shard.count;
    return 0;
  }
  /// Returns whether this shard has no work, which is not a failure.
  bool isEmptyShard(size_t items, const std::vector<Diagnostic> &problems) const {
    return shard.count > 1 && items == 0 && problems.empty();
  }
};

template <class Report> void append(Report &to, Report from) {
  auto join = [](auto &all, auto &more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  if constexpr (requires { to.shapes; }) {
    join(to.shapes, from.shapes);
    join(to.coverage, from.coverage);
  } else
    join(to.mutants, from.mutants);
  join(to.skipped, from.skipped);
  join(to.diagnostics, from.diagnostics);
  to.cancelled |= from.cancelled;
}

struct CheckCall : Call<CheckOptions> {
  std::string data = "both";
};

/// Timelines of one run of each kernel and target, for pages: of the first shape that ran.
std::vector<std::pair<std::string, std::string>> timelinesOf(const CheckReport &report,
                                                             const CheckOptions &options) {
  std::vector<std::pair<std::string, std::string>> pictures;
  std::string last;
  for (const CheckedShape &checked : report.shapes) {
    std::string kernel = checked.kernel + " on " + checked.target;
    std::vector<Shape> shape;
    if (kernel == last || checked.runs == 0 || !shapeReader(shape)(checked.shape).empty())
      continue;
    last = kernel;
    if (RunPicture picture =
            draw_run(checked.kernel, *find_gpu(checked.target), shape[0], {.set = options.set});
        !picture.svg.empty())
      pictures.emplace_back(kernel + ", " + checked.shape + ": " + to_text(picture.times),
                            picture.svg);
  }
  return pictures;
}

/// Adds what ptxas, or a model of it, reports on the registers of each kernel that was run.
void addRegisters(CheckReport &report, const CheckOptions &options) {
  std::set<std::pair<std::string, std::string>> asked;
  for (const CheckedShape &checked : report.shapes) {
    if (!asked.emplace(checked.kernel, checked.target).second)
      continue;
    InspectOptions inspect;
    inspect.set = options.set;
    inspect.target = find_gpu(checked.target)->emulated();
    std::vector<Diagnostic> reported; // by the check
    if (AnyKernel kernel = compile_registered(checked.kernel, inspect, reported)) {
      auto found =
          checkRegisters(kernel, checked.kernel, checked.target, inspect, true).diagnostics;
      report.diagnostics.insert(report.diagnostics.end(), found.begin(), found.end());
    }
  }
}

int check(CheckCall &call, const cli::Command &command) {
  if (int code = call.begin(command))
    return code;
  CheckOptions &options = call.options;
  if (call.data != "both")
    options.data = {call.data == "exact" ? Data::Exact : Data::Random};
  PhaseProgress progress(/*always=*/true);
  progress.update("compiling");
  TimeLeft left;
  options.progress = [&](CheckProgress &now) { show(progress, left, now, timings); };
  auto print = [&](const auto &part) {
    progress.clear();
    put(to_text(part));
  };
  if (call.format == "text") {
    options.finished = print;
    options.covered = print;
  }
  CheckReport report;
  for (Target target : call.targets)
    if (!report.cancelled)
      append(report, call.all ? check_all(target, options)
                              : check_registered(call.kernel, target, options));
  if (!report.cancelled)
    addRegisters(report, options);
  progress.finish();
  if (call.format == "text") {
    CheckReport rest = report; // the shapes have been printed
    rest.shapes.clear();
    rest.coverage.clear();
    std::string text = to_text(rest);
    put(text.substr(0, text.size() - summary_of(rest).size()) + summary_of(report));
  } else if (call.format == "html") {
    put(pageOf(report, timelinesOf(report, options)));
  } else {
    put(call.format == "json" ? to_json(report) : to_sarif(report));
  }
  bool passed = report.sound() || call.isEmptyShard(report.shapes.size(), report.diagnostics);
  int code = exitCodeOf(report.diagnostics, passed ? 0 : 1);
  for (const CheckedShape &shape : report.shapes)
    code = exitCodeOf(shape.findings, code);
  return code;
}

int mutate(Call<MutateOptions> &call, const cli::Command &command) {
  if (int code = call.begin(command))
    return code;
  PhaseProgress progress(/*always=*/true);
  progress.update("compiling");
  TimeLeft left;
  call.options.progress = [&](CheckProgress &now) { show(progress, left, now, mutants); };
  MutateReport report;
  if (call.anyTarget)
    report = call.all ? mutate_program_all(call.options)
                      : mutate_program_registered(call.kernel, call.options);
  for (Target target : call.targets)
    if (!report.cancelled && !call.anyTarget)
      append(report, call.all ? mutate_all(target, call.options)
                              : mutate_registered(call.kernel, target, call.options));
  progress.finish();
  put(call.format == "json"    ? to_json(report)
      : call.format == "sarif" ? to_sarif(report)
                               : to_text(report));
  bool passed = report.all_accounted_for() || call.isEmptyShard(report.tried(), report.diagnostics);
  return exitCodeOf(report.diagnostics, passed ? 0 : 1);
}

} // namespace

void addCheck(cli::Tool &tool) {
  auto call = std::make_shared<CheckCall>();
  cli::Command &command =
      tool.command("check",
                   "Runs GPU kernels on the emulator over shapes and timings and compares them "
                   "with their references.",
                   [call](const cli::Command &self) { return check(*call, self); });
  call->formats.push_back("html");
  call->declare(command, "eager, lazy, then random ones; each warp is starved once besides");
  command
      .choice("data", {"exact", "random", "both"},
              "small integers, with equal results; or random data, with results within a bound",
              call->data)
      .values("waive", "LINE=REASON", "accepts holes in the coverage of a source line",
              [call](const std::string &text) -> std::string {
                // A part of a source line may have a `=` itself.
                size_t equals = text.rfind('=');
                if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
                  return "expected LINE=REASON";
                call->options.waive.emplace_back(text.substr(0, equals), text.substr(equals + 1));
                return "";
              })
      .real("seconds", "time limit for each kernel and target", call->options.seconds, 0)
      .text("state", "FILE", "records passed runs, and skips them the next time",
            call->options.state, cli::Complete::Files)
      .example("penstock check libexample_device_kernels.so MatmulV4 --target sm_100a "
               "--shape M=256,N=128,K=256 --timings 10");
}

void addMutate(cli::Tool &tool) {
  auto call = std::make_shared<Call<MutateOptions>>();
  cli::Command &command =
      tool.command("mutate",
                   "Breaks kernels, one synchronizing instruction or one operation of the tile "
                   "program at a time, and reports which mutants are noticed.",
                   [call](const cli::Command &self) { return mutate(*call, self); });
  call->declare(command, "timings per mutant, until it is killed");
  command.flag("program", "mutates tile programs instead of the PTX's synchronization",
               call->anyTarget);
  command.example("penstock mutate libexample_device_kernels.so MatmulV0 --target sm_100a "
                  "--shape M=8,N=8,K=64");
}
