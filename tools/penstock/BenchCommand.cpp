//===- BenchCommand.cpp - penstock bench ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times a kernel on the GPU of this machine, between events. Its share of the roofline is
// that of the faster of two bounds: its tensors are moved once at the memory's bandwidth,
// and its operations done at the peak of the tensor cores. The L2 cache is evicted before
// each run unless --warm is given.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Compare.h"
#include "Diagnostics/Codes.h"
#include "GpuArguments.h"

#include <algorithm>

using namespace penstock;

namespace {

struct BenchSession : Session {
  std::vector<Shape> shapes;
  int64_t repeat = 20;
  std::string operations; ///< "2*M*N*K"
  bool warm = false, check = false;
  double tolerance = 1e-2;
  std::string calibration; ///< machine file that gets a row
};

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
  if (!session.load())
    return session.finish(1);
  auto device = findGpu(session);
  if (!device)
    return session.finish(1);
  AnyKernel kernel = session.compiled();
  if (!kernel)
    return session.finish(1);
  MadeArguments made = make_arguments(kernel.arguments(), shape, Data::Random, 1);
  session.diagnostics = made.diagnostics;
  if (!session.diagnostics.empty())
    return session.finish(2);
  if (session.operations.empty()) {
    std::optional<double> stated = statedFlops(session, shape);
    if (!stated)
      return session.finish(1);
    flops = *stated;
  }
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
    std::sort(seconds.begin(), seconds.end());
    double best = seconds.front(), median = seconds[seconds.size() / 2];
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
  session.result(text, json.str());
  return session.finish(0);
}

} // namespace

void addBench(cli::Tool &tool) {
  auto session = std::make_shared<BenchSession>();
  cli::Command &command = tool.command(
      "bench", "Times a kernel on the GPU of this machine.", [session](const cli::Command &self) {
        return session->shapes.size() > 1 ? self.usageError("`--shape` is given twice")
                                          : bench(*session, self);
      });
  session->declareKernel(command);
  command
      .values("shape", "SIZE=NUMBER,..", "sizes of the signature, and scalars by name",
              shapeReader(session->shapes))
      .number("repeat", "number of timed runs", session->repeat, 1, 1000000)
      .text("flops", "EXPRESSION",
            "FLOPs of a run, if the kernel does not state them; 2*M*N*K for a matmul",
            session->operations)
      .flag("warm", "keeps tensors in the L2 cache between runs", session->warm)
      .flag("check", "compares the results with the interpreter's", session->check)
      .text("calibrate", "FILE", "adds the median and its prediction to a machine file",
            session->calibration, cli::Complete::Files)
      .real("tolerance", "largest difference allowed, relative to 1 + value", session->tolerance, 0)
      .example("penstock bench libexample_kernels.so Matmul --shape M=4096,N=4096,K=4096 "
               "--check");
}
