//===- BenchCommand.cpp - penstock bench ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times a kernel on the GPU of this machine, between events. Its share of the roofline is
// that of the faster of two bounds: its tensors are moved once at the memory's bandwidth,
// and its operations done at the peak of the tensor cores.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "GpuArguments.h"

#include <algorithm>

using namespace penstock;

namespace {

struct BenchSession : Session {
  std::vector<Shape> shapes;
  int64_t repeat = 20;
  double flops = 0;
};

std::string formatted(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

int bench(BenchSession &session) {
  if (!session.load())
    return session.finish(1);
  auto device = findGpu(session);
  if (!device)
    return session.finish(1);
  AnyKernel kernel = session.compiled();
  if (!kernel)
    return session.finish(1);
  MadeArguments made = make_arguments(
      kernel.arguments(), session.shapes.empty() ? Shape() : session.shapes[0], Data::Random, 1);
  session.diagnostics = made.diagnostics;
  if (!session.diagnostics.empty())
    return session.finish(2);
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
    for (int64_t i = 0; i < session.repeat && session.diagnostics.empty(); ++i)
      seconds.push_back(gpu::elapsed_seconds(
          options.stream, [&] { session.diagnostics = kernel.launch(copies.arguments, options); }));
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
    // Rates of the emulator would say nothing about a GPU.
    if (!device->emulated()) {
      double bandwidth = device->peak_bandwidth(), peak = device->peak_flops();
      double bound = std::max(bandwidth ? bytes / bandwidth : 0, peak ? session.flops / peak : 0);
      text += "  " + formatted("%.1f", bytes / best / 1e9) + " GB/s";
      json.json("gigabytes_per_second", formatted("%.6g", bytes / best / 1e9));
      if (session.flops > 0) {
        text += "  " + formatted("%.1f", session.flops / best / 1e12) + " TFLOP/s";
        json.json("teraflops", formatted("%.6g", session.flops / best / 1e12));
      }
      text += "  " + formatted("%.1f", 100 * bound / best) + " % of the roofline";
      json.json("roofline", formatted("%.6g", bound / best));
    }
  } catch (const Error &error) {
    session.diagnostics = error.diagnostics();
    return session.finish(1);
  }
  session.result(text + "\n", json.str());
  return session.finish(0);
}

} // namespace

void addBench(cli::Tool &tool) {
  auto session = std::make_shared<BenchSession>();
  cli::Command &command = tool.command(
      "bench", "Times a kernel on the GPU of this machine.", [session](const cli::Command &self) {
        return session->shapes.size() > 1 ? self.usageError("`--shape` is given twice")
                                          : bench(*session);
      });
  session->declareKernel(command);
  command
      .values("shape", "SIZE=NUMBER,..", "sizes of the signature, and scalars by name",
              shapeReader(session->shapes))
      .number("repeat", "number of timed runs", session->repeat, 1, 1000000)
      .real("flops", "operations of a run, for TFLOP/s; 2*M*N*K of a matmul", session->flops, 0)
      .example("penstock bench libexample_kernels.so Matmul --shape M=4096,N=4096,K=4096 "
               "--flops 137438953472");
}
