//===- BenchCommand.cpp - penstock bench ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times a kernel on this machine: native code by the clock, and on a GPU between events. Its share
// of the roofline is that of the faster of two bounds: its tensors are moved once at the memory's
// bandwidth, and its operations done at the peak of the tensor cores. The L2 cache is evicted
// before each run unless --warm is given.
//
//===----------------------------------------------------------------------===//
#include "CommandLine/Progress.h"
#include "Commands.h"
#include "Compare.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/ReadFile.h"
#include "GpuArguments.h"
#include "HtmlReport.h"

#include <algorithm>
#include <chrono>

using namespace penstock;

namespace {

struct BenchSession : Session {
  std::vector<Shape> shapes;
  int64_t repeat = 20;
  std::string operations; ///< "2*M*N*K"
  bool warm = false, check = false;
  double tolerance = 1e-2;
  std::string calibration; ///< machine file that gets a row
  std::string device = "gpu";
  std::string baseline; ///< result of an earlier run, as JSON
};

/// Times of all runs, in seconds.
struct Times {
  explicit Times(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    best = seconds.front();
    median = seconds[seconds.size() / 2];
  }
  double best, median;
};

/// Reads the median of an earlier run of the kernel; no value, with an error, if the file is none.
std::optional<double> medianBefore(BenchSession &session) {
  std::string text;
  if (auto problem = readFile(session.baseline, text)) {
    session.diagnostics.push_back(std::move(*problem));
    return std::nullopt;
  }
  const std::string key = "\"median_milliseconds\":";
  size_t at = text.find(key), begin = at + key.size();
  double milliseconds = 0;
  if (at != std::string::npos && text.find("\"kernel\":\"" + session.kernel + "\"") == 1 &&
      cli::parseReal(text.substr(begin, text.find_first_of(",}", begin) - begin), milliseconds) &&
      milliseconds > 0)
    return milliseconds * 1e-3;
  session.error(ToolFile, "`" + session.baseline + "` is not a result of `penstock bench " +
                              session.kernel + " --json`");
  return std::nullopt;
}

/// Adds the ratio to an earlier run; false, with an error, if there is none.
bool compareWithBaseline(BenchSession &session, const Times &times, std::string &text,
                         JsonObject &json) {
  if (session.baseline.empty())
    return true;
  std::optional<double> before = medianBefore(session);
  if (!before)
    return false;
  text +=
      "  " + formatted("%.3f", *before / times.median) + " times as fast as " + session.baseline;
  json.json("ratio", formatted("%.6g", *before / times.median));
  return true;
}

/// Prints the result as text, JSON, or a page with the prediction for the shape and source lines.
int report(BenchSession &session, const Shape &shape, const std::string &architecture,
           const std::string &text, const JsonObject &json) {
  if (!session.isHtml()) {
    session.result(text, json.str());
    return session.finish(0);
  }
  HtmlPage page(session.kernel + " on this machine, " + textOf(shape));
  std::vector<std::string> cells; // two spaces separate them
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find("  ", begin), text.find('\n', begin));
    cells.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(" \n", end);
  }
  page.table({}, {cells});
  std::vector<std::pair<std::string, double>> sizes;
  for (const auto &[name, value] : shape)
    sizes.emplace_back(name, value.value);
  std::vector<Diagnostic> none; // some kernels are not predicted
  bool isText = session.isText();
  PredictedRun run =
      isText ? predict_text(session.text, session.input, session.kernel, architecture, sizes, none)
             : predict_registered(session.kernel, architecture, sizes, session.options, none,
                                  /*suggest=*/false);
  if (!run.text.empty()) {
    page.heading("Prediction");
    addRows(page, run.text);
    page.picture(run.waterfall, "From the peak to the predicted rate");
  }
  addSource(page,
            (isText
                 ? summarize_text(session.text, session.input, session.kernel, architecture, none)
                 : summarize_registered(session.kernel, architecture, session.options, none))
                .lines);
  session.page(std::move(page));
  return session.finish(0);
}

/// The value of a sum of products of numbers and sizes, "2*M*N*K + M*N"; no value if the text
/// has another form or names something else.
std::optional<double> evaluate(const std::string &text, const Shape &shape) {
  double sum = 0;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('+', begin), text.size());
    double product = 1;
    for (size_t from = begin; from <= end;) {
      size_t to = std::min(text.find('*', from), end);
      std::string factor = text.substr(from, to - from);
      std::erase(factor, ' ');
      double value = 0;
      auto size =
          std::ranges::find_if(shape, [&](const auto &each) { return each.first == factor; });
      if (size != shape.end())
        value = size->second.value;
      else if (!cli::parseReal(factor, value))
        return std::nullopt;
      product *= value;
      from = to + 1;
    }
    sum += product;
    begin = end + 1;
  }
  return sum;
}

/// The FLOPs that the kernel itself states, a member `flops` of its struct; 0 if it states
/// none. No value, with a diagnostic, if they cannot be evaluated.
std::optional<double> statedFlops(BenchSession &session, const Shape &shape) {
  if (session.isText())
    return 0;
  for (const KernelDescription &kernel : kernels_of_library(session.input)) {
    if (kernel.name != session.kernel || kernel.flops.empty())
      continue;
    std::optional<double> value = evaluate(kernel.flops, shape);
    if (value && *value >= 0)
      return value;
    Diagnostic d;
    d.code = KernelFlops;
    d.location = kernel.location;
    d.message =
        "kernel `" + kernel.name + "` states `" + kernel.flops +
        "` FLOPs: expected a sum of products of numbers and sizes of --shape, as in 2*M*N*K";
    session.diagnostics.push_back(std::move(d));
    return std::nullopt;
  }
  return 0;
}

/// Adds what was measured to the machine file, beside its prediction.
bool calibrate(BenchSession &session, const Shape &shape, double measured, std::string &text,
               JsonObject &json) {
  std::vector<std::pair<std::string, double>> sizes;
  for (const auto &[name, value] : shape)
    sizes.emplace_back(name, value.value);
  PredictedRun run = session.isText()
                         ? predict_text(session.text, session.input, session.kernel, session.target,
                                        sizes, session.diagnostics)
                         : predict_registered(session.kernel, session.target, sizes,
                                              session.options, session.diagnostics, false);
  if (run.text.empty())
    return false;
  std::string what = session.kernel;
  for (const auto &[name, value] : session.options.set)
    what += " " + name + "=" + value;
  for (const auto &[name, value] : sizes)
    what += " " + name + "=" + formatted("%.6g", value);
  auto wrong = add_calibration(session.calibration, {run.chip, measured, run.seconds, what});
  session.diagnostics.insert(session.diagnostics.end(), wrong.begin(), wrong.end());
  if (!wrong.empty())
    return false;
  double factor = machine_factor(session.calibration, run.chip, session.diagnostics);
  text += "predicted " + formatted("%.4f", run.seconds * 1e3) + " ms; runs take " +
          formatted("%.3g", factor) + " times as long as the model says (" + session.calibration +
          ")\n";
  json.json("predicted_milliseconds", formatted("%.6g", run.seconds * 1e3))
      .json("machine_factor", formatted("%.6g", factor));
  return true;
}

/// Compiles the kernel, makes its arguments and counts its operations, unless an option states
/// them. Returns the exit code if that fails, otherwise 0.
int prepare(BenchSession &session, const Shape &shape, AnyKernel &kernel, MadeArguments &made,
            double &flops) {
  kernel = session.compiled();
  if (!kernel)
    return session.finish(1);
  made = make_arguments(kernel.arguments(), shape, Data::Random, 1);
  session.diagnostics = made.diagnostics;
  if (!session.diagnostics.empty())
    return session.finish(2);
  if (session.operations.empty()) {
    std::optional<double> stated = statedFlops(session, shape);
    if (!stated)
      return session.finish(1);
    flops = *stated;
  }
  return 0;
}

/// Times native code, between two readings of the clock.
int benchNative(BenchSession &session, const Shape &shape, double flops) {
  session.options.target = Target::native();
  AnyKernel kernel;
  MadeArguments made;
  if (int code = prepare(session, shape, kernel, made, flops))
    return code;
  double bytes = 0;
  for (const auto &memory : made.memory)
    bytes += double(memory.size());
  using Clock = std::chrono::steady_clock;
  session.diagnostics = kernel.launch(made.arguments); // first touches the memory
  PhaseProgress progress(/*always=*/false);
  TimeLeft left;
  std::vector<double> seconds;
  for (int64_t i = 0; i < session.repeat && session.diagnostics.empty(); ++i) {
    auto begin = Clock::now();
    session.diagnostics = kernel.launch(made.arguments);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    progress.update("timing " + session.kernel,
                    "  " + std::to_string(i + 1) + " of " + std::to_string(session.repeat) +
                        left.text(session.kernel, size_t(i + 1), size_t(session.repeat)));
  }
  progress.finish();
  if (!session.diagnostics.empty())
    return session.finish(1);
  Times times(std::move(seconds));
  JsonObject json;
  std::string text = session.kernel + "  native  best " + formatted("%.4f", times.best * 1e3) +
                     " ms  median " + formatted("%.4f", times.median * 1e3) + " ms  " +
                     formatted("%.1f", bytes / times.median / 1e9) + " GB/s";
  json.text("kernel", session.kernel)
      .text("target", "native")
      .json("milliseconds", formatted("%.6g", times.best * 1e3))
      .json("median_milliseconds", formatted("%.6g", times.median * 1e3))
      .number("runs", session.repeat)
      .json("gigabytes_per_second", formatted("%.6g", bytes / times.median / 1e9));
  if (flops > 0) {
    text += "  " + formatted("%.1f", flops / times.median / 1e9) + " GFLOP/s";
    json.json("flops", formatted("%.17g", flops))
        .json("gigaflops", formatted("%.6g", flops / times.median / 1e9));
  }
  if (!compareWithBaseline(session, times, text, json))
    return session.finish(1);
  text += "\n";
  if (session.check) {
    auto make = [&] { return make_arguments(kernel.arguments(), shape, Data::Exact, 1); };
    auto launch = [&](MadeArguments &arguments) { return kernel.launch(arguments.arguments); };
    if (!compareWithInterpreter(session, make, launch, session.tolerance, text, json)) {
      session.result(text, json.str());
      return session.finish(1);
    }
  }
  return report(session, shape, "x86", text, json);
}

int bench(BenchSession &session, const cli::Command &command) {
  Shape shape = session.shapes.empty() ? Shape() : session.shapes[0];
  double flops = 0;
  if (!session.operations.empty()) {
    std::optional<double> value = evaluate(session.operations, shape);
    if (!value || *value < 0)
      return command.usageError("`--flops " + session.operations +
                                "`: expected a sum of products of numbers and sizes of --shape, "
                                "as in 2*M*N*K");
    flops = *value;
  }
  bool native = session.device == "native";
  if (native && (session.warm || !session.calibration.empty()))
    return command.usageError("`--warm` and `--calibrate` need a GPU");
  if (!session.load())
    return session.finish(1);
  if (native)
    return benchNative(session, shape, flops);
  auto device = findGpu(session);
  if (!device) {
    for (Diagnostic &d : session.diagnostics)
      d.helps.push_back("`--target native` times native code of this machine");
    return session.finish(1);
  }
  AnyKernel kernel;
  MadeArguments made;
  if (int code = prepare(session, shape, kernel, made, flops))
    return code;
  std::vector<double> seconds;
  double bytes = 0;
  JsonObject json;
  std::string text;
  try {
    GpuArguments copies(made, *device);
    bytes = copies.bytes();
    // The first launch loads the kernel.
    session.diagnostics = kernel.launch(copies.arguments);
    LaunchOptions options;
    options.stream = nullptr;
    for (int64_t i = 0; i < session.repeat && session.diagnostics.empty(); ++i) {
      // The emulator has no cache.
      if (!session.warm && !device->emulated())
        gpu::evict_l2(options.stream);
      seconds.push_back(gpu::elapsed_seconds(
          options.stream, [&] { session.diagnostics = kernel.launch(copies.arguments, options); }));
    }
    if (session.diagnostics.empty())
      session.diagnostics = gpu::try_synchronize(nullptr);
    if (!session.diagnostics.empty())
      return session.finish(1);
    Times times(seconds);
    double best = times.best, median = times.median;
    text = session.kernel + "  " + describeGpu(*device) + "  best " +
           formatted("%.4f", best * 1e3) + " ms  median " + formatted("%.4f", median * 1e3) + " ms";
    json.text("kernel", session.kernel)
        .text("gpu", describeGpu(*device))
        .json("milliseconds", formatted("%.6g", best * 1e3))
        .json("median_milliseconds", formatted("%.6g", median * 1e3))
        .number("runs", session.repeat);
    if (flops > 0)
      json.json("flops", formatted("%.17g", flops));
    // Rates of the emulator would say nothing about a GPU.
    if (!device->emulated()) {
      double bandwidth = device->peak_bandwidth(), peak = device->peak_flops();
      double bound = std::max(bandwidth ? bytes / bandwidth : 0, peak ? flops / peak : 0);
      text += "  " + formatted("%.1f", bytes / best / 1e9) + " GB/s";
      json.json("gigabytes_per_second", formatted("%.6g", bytes / best / 1e9));
      if (flops > 0) {
        text += "  " + formatted("%.1f", flops / best / 1e12) + " TFLOP/s";
        json.json("teraflops", formatted("%.6g", flops / best / 1e12));
      }
      text += "  " + formatted("%.1f", 100 * bound / best) + " % of the roofline" +
              (session.warm ? ", warm L2" : ", cold L2");
      json.json("roofline", formatted("%.6g", bound / best))
          .text("l2", session.warm ? "warm" : "cold");
    }
    if (!compareWithBaseline(session, times, text, json))
      return session.finish(1);
    text += "\n";
    if (!session.calibration.empty() && !calibrate(session, shape, median, text, json))
      return session.finish(1);
    auto make = [&] { return make_arguments(kernel.arguments(), shape, Data::Exact, 1); };
    auto launch = [&](MadeArguments &arguments) {
      return launchOnGpu(kernel, arguments, {}, *device);
    };
    if (session.check &&
        !compareWithInterpreter(session, make, launch, session.tolerance, text, json)) {
      session.result(text, json.str());
      return session.finish(1);
    }
  } catch (const Error &error) {
    session.diagnostics = error.diagnostics();
    return session.finish(1);
  }
  return report(session, shape, session.target, text, json);
}

} // namespace

void addBench(cli::Tool &tool) {
  auto session = std::make_shared<BenchSession>();
  cli::Command &command = tool.command(
      "bench", "Times a kernel on this machine, and compares the time with an earlier run.",
      [session](const cli::Command &self) {
        return session->shapes.size() > 1 ? self.usageError("`--shape` is given twice")
                                          : bench(*session, self);
      });
  session->formats.push_back("html");
  session->declareKernel(command);
  session->declareCpu(command);
  command
      .choice("target", {"gpu", "native"}, "the GPU of this machine, or native code",
              session->device)
      .text("baseline", "FILE", "result of an earlier run (--json) to compare the median with",
            session->baseline, cli::Complete::Files)
      .values("shape", "SIZE=NUMBER,..", "sizes of the signature, and scalars by name",
              shapeReader(session->shapes))
      .number("repeat", "number of timed runs", session->repeat, 1, 1000000)
      .text("flops", "EXPRESSION",
            "FLOPs of a run, if the kernel does not state them; 2*M*N*K for a matmul",
            session->operations)
      .flag("warm", "with a GPU: keeps tensors in the L2 cache between runs", session->warm)
      .flag("check", "compares the results with the interpreter's", session->check)
      .text("calibrate", "FILE", "with a GPU: adds the median and the prediction to a machine file",
            session->calibration, cli::Complete::Files)
      .real("tolerance", "largest difference allowed, relative to 1 + value", session->tolerance, 0)
      .example("penstock bench libexample_kernels.so Matmul --shape M=4096,N=4096,K=4096 "
               "--check");
}
