//===- RunCommand.cpp - penstock run --------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "GpuArguments.h"
#include "Progress.h"
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

/// The largest difference of two results, relative to 1 + value.
double largestDifference(const MadeArguments &ours, const MadeArguments &theirs) {
  double worst = 0;
  for (size_t i = 0; i < ours.arguments.size(); ++i) {
    const detail::Argument &a = ours.arguments[i], &b = theirs.arguments[i];
    size_t elements = a.tensor ? 1 : 0;
    for (int64_t size : a.sizes)
      elements *= static_cast<size_t>(size);
    for (size_t e = 0; e < elements; ++e) {
      double x = element_at(a, e), y = element_at(b, e);
      if (x == y || (std::isnan(x) && std::isnan(y)))
        continue;
      double difference = std::fabs(x - y) / (1 + std::fabs(y));
      worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    }
  }
  return worst;
}

std::string formatted(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

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
    InspectOptions ours = session.options;
    session.options.target = Target::interpreter();
    AnyKernel reference = session.compiled();
    session.options = ours;
    if (!reference)
      return 1;
    MadeArguments result = made(kernel), expected = made(kernel);
    session.diagnostics = launched(kernel, result);
    if (session.diagnostics.empty())
      session.diagnostics = reference.launch(expected.arguments);
    if (!session.diagnostics.empty())
      return 1;
    double worst = largestDifference(result, expected);
    text += "largest difference from the interpreter  " + formatted("%g", worst) + "  (allowed " +
            formatted("%g", session.tolerance) + ")\n";
    // JSON has no infinity.
    json.json("largest_difference", std::isinf(worst) ? "null" : formatted("%.17g", worst))
        .json("tolerance", formatted("%.17g", session.tolerance));
    if (worst > session.tolerance)
      session.error(ToolDifference, "the results differ from the interpreter's");
    return worst > session.tolerance;
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
      .choice("completion", {"eager", "latest", "random"}, "when asynchronous operations complete",
              session->completion)
      .number("seed", "seed of the data and of random completion", session->launch.seed)
      .number("threads", "threads to run blocks on; 0: all hardware threads",
              session->launch.threads, 0, 4096)
      .number("repeat", "number of runs; the fastest is reported", session->repeat, 1, 1000000000)
      .flag("progress", "prints progress to standard error, even if it is not a terminal",
            session->progress)
      .example("penstock run libexample_kernels.so Matmul --shape M=512,N=512,K=256 --check");
}
