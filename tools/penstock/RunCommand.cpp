//===- RunCommand.cpp - penstock run --------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/Progress.h"
#include "Commands.h"
#include "Compare.h"
#include "GpuArguments.h"
#include "Session.h"

#include <chrono>
#include <cmath>

using namespace penstock;

namespace {

struct RunSession : Session {
  std::vector<Shape> shapes;
  bool check = false, progress = false, gpu = false;
  double tolerance = 1e-2;
  std::string completion = "eager";
  LaunchOptions launch;
  int64_t repeat = 1;
};

class Runner {
public:
  explicit Runner(RunSession &session)
      : session(session), progress(session.progress),
        shape(session.shapes.empty() ? Shape() : session.shapes[0]) {}

  int run() {
    session.options.compile.late_completion |= session.completion != "eager";
    session.launch.completion = session.completion == "latest"   ? Completion::Latest
                                : session.completion == "random" ? Completion::Random
                                                                 : Completion::Eager;
    if (!session.load())
      return end(1);
    if (session.gpu && !(device = findGpu(session)))
      return end(1);
    progress.phase("compiling " + session.kernel);
    AnyKernel kernel = session.compiled();
    if (!kernel)
      return end(1);
    MadeArguments arguments = made(kernel);
    if (!session.diagnostics.empty())
      return end(2);
    double best = INFINITY;
    for (int64_t i = 0; i < session.repeat; ++i) {
      progress.phase("running " + session.kernel + ", " + std::to_string(i + 1) + " of " +
                     std::to_string(session.repeat));
      auto start = std::chrono::steady_clock::now();
      session.diagnostics = launched(kernel, arguments);
      std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      best = std::min(best, time.count());
      if (!session.diagnostics.empty())
        return end(1);
    }
    text = session.kernel + "  " + formatted("%.3f", best * 1e3) + " ms" +
           (device ? "  on " + describeGpu(*device) : "") + "\n";
    if (device)
      json.text("gpu", describeGpu(*device));
    json.text("kernel", session.kernel)
        .text("target", session.target)
        .json("milliseconds", formatted("%.6g", best * 1e3))
        .number("runs", session.repeat);
    if (session.check && !device)
      session.assemble(kernel);
    int code = session.check ? compare(kernel) : 0;
    progress.finish();
    session.result(text, json.str());
    return session.finish(code);
  }

private:
  int end(int code) {
    progress.finish();
    return session.finish(code);
  }

  std::vector<Diagnostic> launched(const AnyKernel &kernel, MadeArguments &arguments) {
    if (!device)
      return kernel.launch(arguments.arguments, session.launch);
    return launchOnGpu(kernel, arguments, session.launch, *device);
  }

  MadeArguments made(const AnyKernel &kernel) {
    MadeArguments arguments =
        make_arguments(kernel.arguments(), shape, Data::Exact, session.launch.seed);
    session.diagnostics.insert(session.diagnostics.end(), arguments.diagnostics.begin(),
                               arguments.diagnostics.end());
    return arguments;
  }

  int compare(const AnyKernel &kernel) {
    progress.phase("comparing with the interpreter");
    return !compareWithInterpreter(
        session, [&] { return made(kernel); },
        [&](MadeArguments &arguments) { return launched(kernel, arguments); }, session.tolerance,
        text, json);
  }

  RunSession &session;
  PhaseProgress progress;
  Shape shape;
  std::string text;
  JsonObject json;
  std::optional<gpu::Device> device; ///< that the kernel runs on, if it is not emulated
};

} // namespace

void addRun(cli::Tool &tool) {
  auto session = std::make_shared<RunSession>();
  cli::Command &command =
      tool.command("run", "Runs a kernel on small integers and prints the time.",
                   [session](const cli::Command &self) {
                     return session->shapes.size() > 1 ? self.usageError("`--shape` is given twice")
                                                       : Runner(*session).run();
                   });
  session->declareCompile(command);
  command
      .values("shape", "SIZE=NUMBER,..", "sizes of the signature, and scalars by name",
              shapeReader(session->shapes))
      .flag("gpu", "runs on the GPU of this machine instead of --target", session->gpu)
      .flag("check", "compares the results with the interpreter's", session->check)
      .real("tolerance", "largest difference allowed, relative to 1 + value", session->tolerance, 0)
      .choice("completion", {"eager", "latest", "random"},
              "completion time of asynchronous operations", session->completion)
      .number("seed", "seed of the data and of random completion", session->launch.seed)
      .number("threads", "threads to run blocks on; 0: all hardware threads",
              session->launch.threads, 0, 4096)
      .number("repeat", "number of runs; the fastest is reported", session->repeat, 1, 1000000000)
      .flag("progress", "prints progress to standard error, even if it is not a terminal",
            session->progress)
      .example("penstock run libexample_kernels.so Matmul --shape M=512,N=512,K=256 --check");
}
