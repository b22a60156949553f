//===- KernelCommands.cpp - list, print, explain and trace ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "Session.h"

#include <algorithm>

using namespace penstock;

namespace {

int list(Session &session) {
  if (!session.load())
    return session.finish(1);
  auto kernels = session.isText()
                     ? kernels_of_text(session.text, session.input, session.diagnostics)
                     : registered_kernels();
  std::string text;
  for (const KernelDescription &kernel : kernels) {
    text += kernel.name + (kernel.signature.empty() ? "" : "  " + kernel.signature) + "  (" +
            kernel.location.file + ":" + std::to_string(kernel.location.line) + ")\n";
    for (const auto &[name, value] : kernel.fields)
      text += "    " + name + " = " + value + "\n";
  }
  std::string json = jsonArray(kernels, [](const KernelDescription &kernel) {
    JsonObject location, fields;
    location.text("file", kernel.location.file).number("line", kernel.location.line);
    for (const auto &[name, value] : kernel.fields)
      fields.text(name, value);
    return JsonObject()
        .text("name", kernel.name)
        .text("signature", kernel.signature)
        .json("place", location.str())
        .json("fields", fields.str())
        .str();
  });
  if (session.diagnostics.empty())
    session.result(text, JsonObject().json("kernels", json).str());
  return session.finish(0);
}

int print(Session &session) {
  if (!session.load())
    return session.finish(1);
  std::string program;
  if (session.isText()) {
    session.options.target = Target::interpreter(); // needs no code
    if (AnyKernel kernel = session.compiled())
      program = kernel.tile_program();
  } else {
    program = print_registered(session.kernel, session.options, session.diagnostics);
  }
  if (!program.empty())
    session.result(program,
                   JsonObject().text("kernel", session.kernel).text("program", program).str());
  return session.finish(program.empty());
}

/// Chooses what explain and trace describe: what is asked for, else what the kernel
/// is written for, else the first GPU with TMA. Returns a line that says so, if
/// there was a choice.
std::string chooseTarget(Session &session) {
  if (!session.target.empty())
    return "";
  std::string required =
      session.isText()
          ? architecture_of_text(session.text, session.input, session.kernel, session.diagnostics)
          : architecture_of_registered(session.kernel, session.options, session.diagnostics);
  session.target = targetFor(required);
  return "`" + session.kernel + "` on " + session.target +
         (!required.empty() ? ", which its operations require\n"
                            : ", the default; --target chooses another\n");
}

void declareHardware(cli::Command &command, Session &session) {
  command.choice("target", withGpus({"native"}),
                 "architecture to model; default: the one that the kernel is written for",
                 session.target);
}

std::string architectureOf(const Session &session) {
  return session.target == "native" ? "x86" : session.target;
}

struct ExplainSession : Session {
  std::vector<Shape> shapes;
  std::string output; ///< of the waterfall
};

/// Predicts the run time for a shape.
int explainRun(ExplainSession &session, const std::string &chosen) {
  std::string architecture = architectureOf(session);
  std::vector<std::pair<std::string, double>> sizes;
  for (const auto &[name, value] : session.shapes[0])
    sizes.emplace_back(name, value.value);
  PredictedRun run =
      session.isText()
          ? predict_text(session.text, session.input, session.kernel, architecture, sizes,
                         session.diagnostics, session.options.compile.cpu, session.options.machine)
          : predict_registered(session.kernel, architecture, sizes, session.options,
                               session.diagnostics);
  // One group of warps, or threads that compute for longer than products take: the PTX is run.
  auto needsRun = [](const Diagnostic &d) {
    return std::ranges::any_of(d.facts, [](const auto &fact) { return fact.first == "needs_run"; });
  };
  if (!session.isText() &&
      (run.bound_by_threads ||
       (run.text.empty() && std::ranges::any_of(session.diagnostics, needsRun)))) {
    session.diagnostics.clear();
    run = predict_from_run(session.kernel, architecture, session.shapes[0], session.options,
                           session.diagnostics);
    if (!run.text.empty() && run.waterfall.empty() && !session.output.empty()) {
      session.error(1501, "`" + session.kernel + "` has no waterfall: it is predicted from a run");
      return session.finish(1);
    }
  }
  if (!run.text.empty() && !session.output.empty() && !session.write(session.output, run.waterfall))
    return session.finish(1);
  if (!run.text.empty())
    session.result(chosen + run.text, JsonObject()
                                          .text("kernel", session.kernel)
                                          .text("target", session.target)
                                          .json("prediction", run.json)
                                          .str());
  return session.finish(run.text.empty());
}

int explain(ExplainSession &session, const cli::Command &command) {
  if (session.shapes.size() > 1)
    return command.usageError("`--shape` is given twice");
  if (session.shapes.empty() && !session.output.empty())
    return command.usageError("`--output` needs `--shape`: only a prediction has a waterfall");
  if (!session.load())
    return session.finish(1);
  std::string chosen = chooseTarget(session);
  if (!session.diagnostics.empty())
    return session.finish(1);
  if (!session.shapes.empty())
    return explainRun(session, chosen);
  std::string architecture = architectureOf(session);
  std::string text =
      session.isText()
          ? explain_text(session.text, session.input, session.kernel, architecture,
                         session.diagnostics, session.options.compile.cpu)
          : explain_registered(session.kernel, architecture, session.options, session.diagnostics);
  if (!text.empty())
    session.result(chosen + text, JsonObject()
                                      .text("kernel", session.kernel)
                                      .text("target", session.target)
                                      .text("text", text)
                                      .str());
  if (std::optional<Target> gpu = find_gpu(architecture); gpu && session.diagnostics.empty()) {
    session.options.target = gpu->emulated();
    if (AnyKernel kernel = session.compiled())
      session.assemble(kernel);
  }
  return session.finish(0);
}

/// The result of `trace` as JSON.
std::string picturesJson(const Session &session, const std::vector<JsonObject> &pictures) {
  return JsonObject()
      .text("target", session.target)
      .json("pictures",
            jsonArray(pictures, [](const JsonObject &picture) { return picture.str(); }))
      .str();
}

struct TraceSession : Session {
  int iterations = 8;
  std::vector<Shape> shapes;
  int64_t block = -1; ///< -1: not given
  int threads = 0;    ///< of the CPU
  bool slots = false; ///< rows for slots of rings
  std::string output;
};

int traceRun(TraceSession &session, const std::string &chosen) {
  RunPicture picture = draw_run(session.kernel, find_gpu(session.target).value_or(Target::sm_90a()),
                                session.shapes[0],
                                {.set = session.options.set,
                                 .block = uint32_t(std::max<int64_t>(session.block, 0)),
                                 .contract = session.options.compile.contract,
                                 .slots = session.slots});
  session.diagnostics.insert(session.diagnostics.end(), picture.diagnostics.begin(),
                             picture.diagnostics.end());
  if (picture.svg.empty() || !session.write(session.output + ".svg", picture.svg) ||
      !session.write(session.output + ".json", picture.trace))
    return session.finish(1);
  session.result(
      chosen + to_text(picture.times) + "\n" + session.output + ".svg, " + session.output +
          ".json\n",
      picturesJson(session,
                   {JsonObject()
                        .text("svg", session.output + ".svg")
                        .text("trace", session.output + ".json")
                        .text("chip", picture.times.chip)
                        .number("cycles", picture.times.cycles)
                        .number("tensor", picture.times.tensor)
                        .number("exponentials", picture.times.exponentials)
                        .number("shared", picture.times.shared)
                        .number("issue", picture.times.issue)
                        .number("tma", picture.times.tma)
                        .json("probes", jsonArray(picture.times.probes, [](const auto &probe) {
                                return JsonObject()
                                    .number("line", probe.line)
                                    .number("succeeded", probe.succeeded)
                                    .number("total", probe.total)
                                    .str();
                              }))}));
  return session.finish(0);
}

int traceNative(TraceSession &session) {
  session.options.target = Target::native();
  AnyKernel kernel = session.compiled();
  if (!kernel)
    return session.finish(1);
  RunPicture picture = draw_native_run(kernel, session.kernel, session.shapes[0], session.threads);
  session.diagnostics.insert(session.diagnostics.end(), picture.diagnostics.begin(),
                             picture.diagnostics.end());
  if (picture.svg.empty() || !session.write(session.output + ".svg", picture.svg) ||
      !session.write(session.output + ".json", picture.trace))
    return session.finish(1);
  session.result(session.output + ".svg, " + session.output + ".json\n",
                 picturesJson(session, {JsonObject()
                                            .text("svg", session.output + ".svg")
                                            .text("trace", session.output + ".json")}));
  return session.finish(0);
}

int trace(TraceSession &session, const cli::Command &command) {
  if (session.shapes.size() > 1)
    return command.usageError("`--shape` is given twice");
  bool run = !session.shapes.empty();
  if (!run && session.block >= 0)
    return command.usageError("`--block` needs `--shape`: only a run has blocks");
  bool native = session.target == "native";
  if (run && session.isText() && !native)
    return command.usageError("`--shape` draws a kernel of a library, or one for the CPU");
  if (session.slots && (!run || native))
    return command.usageError("`--slots` needs `--shape` and a GPU: only a run fills rings");
  if (run && native && session.block >= 0)
    return command.usageError("`--block` is for GPUs: a picture of the CPU has all blocks");
  if (session.threads && !(run && native))
    return command.usageError("`--threads` needs `--target native` and `--shape`");
  if (!session.load())
    return session.finish(1);
  std::string chosen = chooseTarget(session);
  if (!session.diagnostics.empty())
    return session.finish(1);
  if (session.output.empty())
    session.output = session.kernel;
  if (run && native)
    return traceNative(session);
  if (run)
    return traceRun(session, chosen);
  std::string architecture = architectureOf(session), text = chosen;
  std::vector<JsonObject> pictures;
  auto traces = session.isText()
                    ? trace_text(session.text, session.input, session.kernel, architecture,
                                 session.iterations, session.diagnostics)
                    : trace_registered(session.kernel, architecture, session.iterations,
                                       session.options, session.diagnostics);
  for (size_t i = 0; i < traces.size(); ++i) {
    std::string name = session.output + "-" + std::to_string(i);
    if (!session.write(name + ".svg", traces[i].svg) ||
        !session.write(name + ".json", traces[i].trace))
      return session.finish(1);
    text += "loop " + traces[i].loop + ": " + name + ".svg, " + name + ".json\n";
    pictures.push_back(JsonObject()
                           .text("loop", traces[i].loop)
                           .text("svg", name + ".svg")
                           .text("trace", name + ".json"));
  }
  if (!traces.empty())
    session.result(text, picturesJson(session, pictures));
  return session.finish(traces.empty());
}

} // namespace

void addList(cli::Tool &tool) {
  auto session = std::make_shared<Session>();
  cli::Command &command =
      tool.command("list", "Lists the kernels of a library or text, with signatures and fields.",
                   [session](const cli::Command &) { return list(*session); });
  session->declareInput(command);
  command.example("penstock list libexample_kernels.so");
}

void addPrint(cli::Tool &tool) {
  auto session = std::make_shared<Session>();
  cli::Command &command = tool.command("print", "Prints a kernel as a tile program.",
                                       [session](const cli::Command &) { return print(*session); });
  session->declareKernel(command);
  command.example("penstock print libexample_kernels.so MatmulBiasGelu --set stages=4");
}

void addExplain(cli::Tool &tool) {
  auto session = std::make_shared<ExplainSession>();
  cli::Command &command = tool.command(
      "explain",
      "Explains the schedule of each pipelined loop of a kernel, with --target native how it "
      "multiplies, or with --shape its predicted run time on H100 (sm_90a), B200 (sm_100a) or this "
      "CPU (native).",
      [session](const cli::Command &self) { return explain(*session, self); });
  session->declareKernel(command);
  declareHardware(command, *session);
  session->declareCpu(command);
  command.values("shape", "SIZE=NUMBER,..", "predicts the run time for these sizes",
                 shapeReader(session->shapes));
  command.text("machine", "FILE", "with --shape: a machine file of `penstock bench --calibrate`",
               session->options.machine, cli::Complete::Files);
  command.output("FILE", "with --shape: SVG of what is lost from the peak to the predicted rate",
                 session->output);
  command.flag("contract", "with --shape: allows products to be fused with sums",
               session->options.compile.contract);
  command.example("penstock explain libexample_kernels.so FlashAttention --target sm_90a");
}

void addTrace(cli::Tool &tool) {
  auto session = std::make_shared<TraceSession>();
  cli::Command &command = tool.command(
      "trace",
      "Draws the predicted timeline of each pipelined loop, PREFIX-N.svg and PREFIX-N.json, or "
      "with --shape a run on the emulator or, with --target native, on this CPU, PREFIX.svg and "
      "PREFIX.json.",
      [session](const cli::Command &self) { return trace(*session, self); });
  session->declareKernel(command);
  declareHardware(command, *session);
  session->declareCpu(command);
  command.number("iterations", "number of iterations to draw", session->iterations, 1, 1000)
      .values("shape", "SIZE=NUMBER,..", "draws a run with these sizes",
              shapeReader(session->shapes))
      .flag("contract", "with --shape: allows products to be fused with sums",
            session->options.compile.contract)
      .flag("slots", "with --shape: adds a row for each slot of a ring: in flight, full or empty",
            session->slots);
  command
      .values("block", "NUMBER", "with --shape: which block, counted from 0, x first (0)",
              [session](const std::string &text) -> std::string {
                int64_t block = -1;
                if (!cli::parseInteger(text, block) || block < 0 || block >= int64_t(1) << 24)
                  return "expected a whole number from 0 to 16777215";
                session->block = block;
                return "";
              })
      .number("threads", "with --target native and --shape: threads to run blocks on (all)",
              session->threads, 0, 4096)
      .output("PREFIX", "prefix of the file names; default: the kernel's name", session->output)
      .example("penstock trace libexample_kernels.so Matmul --target native --shape "
               "M=512,N=512,K=256")
      .example("penstock trace libexample_kernels.so FlashAttention --target sm_90a -o attention");
}
