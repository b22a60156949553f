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
#include "CheckCommands.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace penstock;

const CommandSpec &checkCommand() {
  static const CommandSpec spec = {
      "check",
      "Runs kernels for a GPU on the emulator over shapes and timings, beside their references.",
      "check LIBRARY KERNEL|--all [options]",
      "penstock check libexample_device_kernels.so MatmulV4 --target sm_100a "
      "--shape M=512,N=512,K=1024 --timings 100",
      {{"all", nullptr, "all kernels of the library that compile for the target"},
       {"target", "sm_90a|sm_100a", "what to compile for (with --all: both)"},
       {"shape", "SIZE=NUMBER,..", "sizes and scalars; may be repeated (a grid of shapes)"},
       {"timings", "NUMBER", "eager, lazy, then random ones (20)"},
       {"seed", "NUMBER", "of the data and of the first random timing (1)"},
       {"data", "exact|random|both",
        "small integers, whose results must be equal; random data, within a bound (both)"},
       {"set", "FIELD=VALUE,..", "sets fields of the kernel"},
       {"state", "FILE", "notes runs that passed, and leaves them out the next time"},
       {"jobs", "NUMBER", "launches at the same time (all threads of the machine)"},
       {"format", "text|json|sarif", "of the report (text)"}}};
  return spec;
}

const CommandSpec &mutateCommand() {
  static const CommandSpec spec = {
      "mutate",
      "Breaks the synchronisation of kernels, one instruction at a time, and asks who notices.",
      "mutate LIBRARY KERNEL|--all [options]",
      "penstock mutate libexample_device_kernels.so MatmulV4 --target sm_100a",
      {{"all", nullptr, "all kernels of the library that compile for the target"},
       {"target", "sm_90a|sm_100a", "what to compile for (with --all: both)"},
       {"shape", "SIZE=NUMBER,..", "sizes and scalars; may be repeated (a few small shapes)"},
       {"timings", "NUMBER", "for each mutant, until it is caught (4)"},
       {"seed", "NUMBER", "of the data and of the first random timing (1)"},
       {"set", "FIELD=VALUE,..", "sets fields of the kernel"},
       {"jobs", "NUMBER", "mutants at the same time (all threads of the machine)"},
       {"format", "text|json|sarif", "of the report (text)"}}};
  return spec;
}

std::optional<Shape> parseShape(const std::string &text) {
  auto pairs = parsePairs(text);
  if (!pairs)
    return std::nullopt;
  Shape shape;
  for (const auto &[name, value] : *pairs) {
    char *end = nullptr;
    double number = std::strtod(value.c_str(), &end);
    if (value.empty() || *end)
      return std::nullopt;
    shape.emplace_back(name, number);
  }
  return shape;
}

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// The first interrupt ends the run with its sums, a second one ends it at once.
void interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

/// Says on standard error how far a long run is: in place on a terminal, else a
/// line every ten seconds.
class Progress {
public:
  void show(CheckProgress &progress, const char *unit) {
    progress.cancel = interrupted;
    auto now = std::chrono::steady_clock::now();
    if (now < next)
      return;
    next = now + (terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000));
    std::string text = progress.kernel + "  " + progress.what;
    if (text.size() > 100)
      text.resize(100);
    std::fprintf(stderr, "%s%s  %s %d of %d%s", terminal ? "\r\033[K" : "", text.c_str(), unit,
                 progress.number, progress.total, terminal ? "" : "\n");
    shown = true;
  }
  /// Makes room for a line of the report.
  void clear() {
    if (terminal && shown)
      std::fputs("\r\033[K", stderr);
    shown = false;
  }

private:
  bool terminal = isatty(2);
  bool shown = false;
  std::chrono::steady_clock::time_point next =
      std::chrono::steady_clock::now() +
      (terminal ? std::chrono::milliseconds(500) : std::chrono::milliseconds(10000));
};

/// What both commands are told.
struct Call {
  std::string kernel; ///< empty: all
  std::vector<Target> targets;
  std::string format;
  int code = 0; ///< not 0: the call was wrong and this is to be returned

  template <class Options>
  Call(const CommandSpec &command, const CommandLine &line, Options &options) : command(command) {
    read(line, options);
  }

private:
  template <class Options> void read(const CommandLine &line, Options &options) {
    bool all = line.has("all");
    if (line.words.size() != (all ? 1 : 2))
      return usage(line.words.empty()      ? "a library is missing"
                   : line.words.size() < 2 ? "a kernel is missing; --all takes all"
                                           : "`" + line.words.back() + "` is one word too many");
    if (!all)
      kernel = line.words[1];
    std::string target = line.get("target", all ? "both" : "");
    if (target == "sm_90a" || target == "both")
      targets.push_back(Target::sm_90a());
    if (target == "sm_100a" || target == "both")
      targets.push_back(Target::sm_100a());
    if (targets.empty())
      return usage(target.empty() ? "--target is missing: sm_90a or sm_100a"
                                  : "`" + target + "` is no target; sm_90a and sm_100a are");
    format = line.get("format", "text");
    if (format != "text" && format != "json" && format != "sarif")
      return usage("`" + format + "` is no format; text, json and sarif are");
    for (auto [it, end] = line.options.equal_range("shape"); it != end; ++it) {
      auto shape = parseShape(it->second);
      if (!shape)
        return usage("`--shape " + it->second + "` is not of the form SIZE=NUMBER,..");
      options.shapes.push_back(std::move(*shape));
    }
    for (auto [it, end] = line.options.equal_range("set"); it != end; ++it) {
      auto pairs = parsePairs(it->second);
      if (!pairs)
        return usage("`--set " + it->second + "` is not of the form FIELD=VALUE,..");
      options.set.insert(options.set.end(), pairs->begin(), pairs->end());
    }
    options.timings = number(line, "timings", options.timings, 1);
    options.jobs = number(line, "jobs", 0, 0);
    options.seed = uint64_t(number(line, "seed", 1, 0));
    if (code)
      return;
    if (auto problems = load_library(line.words[0]); !problems.empty()) {
      std::fputs(to_text(problems).c_str(), stderr);
      code = 1;
    }
    std::signal(SIGINT, interrupt);
  }

  void usage(const std::string &message) {
    std::fprintf(stderr, "penstock %s: %s\nusage: penstock %s\n", command.name, message.c_str(),
                 command.usage);
    code = 2;
  }

  int number(const CommandLine &line, const char *name, int otherwise, int64_t least) {
    if (!line.has(name))
      return otherwise;
    auto value = parseInteger(line.get(name));
    if (value && *value >= least && *value <= 1000000000)
      return int(*value);
    usage("`--" + std::string(name) + " " + line.get(name) + "` is no number from " +
          std::to_string(least) + " on");
    return otherwise;
  }

  const CommandSpec &command;
};

template <class Report> void append(Report &to, Report from) {
  auto join = [](auto &all, auto &more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  if constexpr (requires { to.shapes; })
    join(to.shapes, from.shapes);
  else
    join(to.mutants, from.mutants);
  join(to.skipped, from.skipped);
  join(to.diagnostics, from.diagnostics);
  to.cancelled |= from.cancelled;
}

void put(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

} // namespace

int runCheck(const CommandLine &line) {
  CheckOptions options;
  Call call(checkCommand(), line, options);
  if (call.code)
    return call.code;
  if (std::string data = line.get("data", "both"); data == "exact")
    options.data = {Data::Exact};
  else if (data == "random")
    options.data = {Data::Random};
  else if (data != "both") {
    std::fprintf(stderr, "penstock check: `--data %s` is not exact, random or both\n",
                 data.c_str());
    return 2;
  }
  options.state = line.get("state");
  Progress progress;
  options.progress = [&](CheckProgress &now) { progress.show(now, "timing"); };
  if (call.format == "text")
    options.finished = [&](const CheckedShape &shape) {
      progress.clear();
      put(to_text(shape));
    };
  CheckReport report;
  for (Target target : call.targets)
    if (!report.cancelled)
      append(report, call.kernel.empty() ? check_all(target, options)
                                         : check_registered(call.kernel, target, options));
  progress.clear();
  if (call.format == "text") {
    CheckReport rest = report; // the shapes have been printed
    rest.shapes.clear();
    std::string text = to_text(rest);
    put(text.substr(0, text.size() - summary_of(rest).size()) + summary_of(report));
  } else {
    put(call.format == "json" ? to_json(report) : to_sarif(report));
  }
  return report.sound() ? 0 : 1;
}

int runMutate(const CommandLine &line) {
  MutateOptions options;
  Call call(mutateCommand(), line, options);
  if (call.code)
    return call.code;
  Progress progress;
  options.progress = [&](CheckProgress &now) { progress.show(now, "mutant"); };
  MutateReport report;
  for (Target target : call.targets)
    if (!report.cancelled)
      append(report, call.kernel.empty() ? mutate_all(target, options)
                                         : mutate_registered(call.kernel, target, options));
  progress.clear();
  put(call.format == "json"    ? to_json(report)
      : call.format == "sarif" ? to_sarif(report)
                               : to_text(report));
  return report.all_accounted_for() ? 0 : 1;
}
