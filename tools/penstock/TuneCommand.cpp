//===- TuneCommand.cpp - penstock tune ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thin over penstock/tune.h: options, progress with the best so far on standard error,
// the report on standard output.
//
//===----------------------------------------------------------------------===//
#include "CommandLine/Progress.h"
#include "CommandLine/Terminal.h"
#include "Commands.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "HtmlReport.h"
#include "Session.h"
#include "Shard.h"
#include "TuneProgress.h"
#include "penstock/tune.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace penstock;

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// The first interrupt ends the run with what was measured, a second one ends it at once.
void interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

struct TuneCall {
  std::string library, kernel, target = "native", times = "best", format = "text";
  std::string picture, table, cacheDirectory;
  std::vector<Shape> shapes;
  Shard shard;
  TuneOptions options;
  std::vector<Diagnostic> diagnostics;
};

bool write(TuneCall &call, const std::string &file, const std::string &content) {
  std::ofstream out(file, std::ios::binary);
  out << content;
  if (out.flush())
    return true;
  Diagnostic d;
  d.code = ToolFile;
  d.message = "`" + file + "` cannot be written";
  call.diagnostics.push_back(std::move(d));
  return false;
}

TimeSource timesOf(const std::string &text) {
  for (TimeSource times : {TimeSource::Events, TimeSource::Native, TimeSource::Predicted})
    if (name_of(times) == text)
      return times;
  return TimeSource::Best;
}

/// "space.svg" for the first picture, "space-1.svg" for the second.
std::string numbered(const std::string &file, size_t number) {
  if (number == 0)
    return file;
  size_t dot = file.rfind('.');
  if (dot == std::string::npos || file.find('/', dot) != std::string::npos)
    dot = file.size();
  return file.substr(0, dot) + "-" + std::to_string(number) + file.substr(dot);
}

/// A kernel and a shape, and the part of its candidates that is this worker's.
struct Job {
  std::string kernel;
  Shape shape;
  Shard shard;
};

/// Many jobs are divided whole: a worker that has some candidates of a job still has to
/// look at all of them. If there are more workers than jobs, several share one.
std::vector<Job> jobsOf(const std::vector<std::string> &kernels, const std::vector<Shape> &shapes,
                        Shard shard) {
  std::vector<Job> all, mine;
  for (const std::string &kernel : kernels)
    for (const Shape &shape : shapes)
      all.push_back({kernel, shape, {}});
  unsigned jobs = unsigned(all.size());
  for (unsigned i = 0; i < jobs; ++i) {
    if (shard.number % jobs != i % std::min(jobs, shard.count))
      continue;
    if (jobs < shard.count)
      all[i].shard = {shard.number / jobs, (shard.count - i + jobs - 1) / jobs};
    mine.push_back(std::move(all[i]));
  }
  return mine;
}

int finish(TuneCall &call, int code) {
  if (!call.diagnostics.empty())
    std::fputs((call.format == "json" ? to_json(call.diagnostics)
                                      : cli::renderForTerminal(call.diagnostics))
                   .c_str(),
               stderr);
  return exitCodeOf(call.diagnostics, code);
}

int tune(TuneCall &call, const cli::Command &command) {
  if (call.shapes.empty())
    return command.usageError("--shape is missing, e.g. M=4096,N=4096,K=4096");
  call.diagnostics = load_library(call.library);
  if (!call.diagnostics.empty())
    return finish(call, 1);
  std::vector<std::string> kernels = {call.kernel};
  if (call.kernel.empty())
    kernels = tunable_kernels();
  if (kernels.empty())
    return command.usageError("no kernel of `" + call.library + "` has a space");
  std::signal(SIGINT, interrupt);
  TuneDisplay display;
  TuneOptions options = call.options;
  options.times = timesOf(call.times);
  options.progress = [&](TuneProgress &now) {
    now.cancel = interrupted;
    display.show(now);
  };
  Target target = find_gpu(call.target).value_or(Target::native());
  CacheOptions where;
  if (!call.cacheDirectory.empty())
    where.directory = std::filesystem::absolute(call.cacheDirectory).string();
  KernelCache cache = KernelCache::open(where);
  options.cache = &cache;
  int code = 0;
  size_t pictures = 0;
  std::vector<TuneReport> reports;
  for (const Job &job : jobsOf(kernels, call.shapes, call.shard)) {
    if (interrupted)
      break;
    options.shard = job.shard.number;
    options.shards = job.shard.count;
    TuneReport report = tune_registered(job.kernel, target, job.shape, options);
    display.clear();
    if (call.format == "text")
      put(to_text(report));
    if (!call.picture.empty() && !report.candidates.empty() &&
        !write(call, numbered(call.picture, pictures++), to_svg(report)))
      return finish(call, 1);
    call.diagnostics.insert(call.diagnostics.end(), report.diagnostics.begin(),
                            report.diagnostics.end());
    if (report.cancelled)
      code = 1;
    reports.push_back(std::move(report));
  }
  cache.flush();
  auto problems = cache.diagnostics();
  call.diagnostics.insert(call.diagnostics.end(), problems.begin(), problems.end());
  if (!call.table.empty()) {
    problems = export_table(call.table, reports);
    call.diagnostics.insert(call.diagnostics.end(), problems.begin(), problems.end());
  }
  if (call.format == "html")
    put(pageOf(reports));
  if (call.format == "json")
    put(JsonObject()
            .json("reports", jsonArray(reports, [](const TuneReport &r) { return to_json(r); }))
            .str() +
        "\n");
  return finish(call, code);
}

} // namespace

void addTune(cli::Tool &tool) {
  auto call = std::make_shared<TuneCall>();
  cli::Command &command =
      tool.command("tune", "Finds the fastest point of the space that a kernel declares.",
                   [call](const cli::Command &self) { return tune(*call, self); });
  command.argument("LIBRARY", call->library)
      .optionalArgument("KERNEL", call->kernel, cli::Complete::Kernels)
      .values("shape", "SIZE=NUMBER,..", "sizes of the signature; may be repeated",
              shapeReader(call->shapes))
      .choice("target", withGpus({"native"}), "compilation target", call->target)
      .choice("times", {"best", "events", "native", "predicted"},
              "events on a GPU, wall time on the CPU, or the timing model; best: the first that "
              "is possible",
              call->times)
      .number("rounds", "measurement rounds", call->options.rounds, 1, 10000)
      .real("seconds", "upper bound of the time for measuring a shape; 0: none",
            call->options.seconds, 0)
      .number("keep", "best predicted candidates that are measured", call->options.keep, 1, 100000)
      .number("random", "candidates that are measured besides, chosen at random",
              call->options.random, 0, 100000)
      .number("seed", "of the data and of random candidates", call->options.seed)
      .number("jobs", "threads that compile; 0: one per hardware thread", call->options.jobs, 0,
              4096);
  declareShard(command, call->shard);
  command.flag("again", "times candidates that have records, too", call->options.again)
      .flag("records", "times nothing, and reports what records have", call->options.only_records)
      .text("cache", "DIRECTORY", "where records are; default: as for compiled kernels",
            call->cacheDirectory, cli::Complete::Files)
      .text("machine", "FILE", "a machine file of `penstock bench --calibrate`",
            call->options.machine, cli::Complete::Files)
      .text("export", "FILE", "writes the best points to a table that tuned() can read",
            call->table, cli::Complete::Files)
      .text("picture", "FILE", "SVG of the space with all times", call->picture,
            cli::Complete::Files);
  command.format(call->format, {"text", "json", "html"})
      .example("penstock tune libexample_device_kernels.so MatmulV2 --target sm_100a "
               "--shape M=4096,N=4096,K=4096 --cache records");
}
