//===- KernelCommands.cpp - list, print and trace -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "DescribedTarget.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "HtmlReport.h"
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

/// Prints a page with pictures instead of writing files.
int tracePage(TraceSession &session, const std::string &rows,
              const std::vector<std::pair<std::string, std::string>> &pictures) {
  HtmlPage page(session.kernel + " on " + session.target +
                (session.shapes.empty() ? "" : ", " + textOf(session.shapes[0])));
  if (!rows.empty())
    page.paragraph(rows);
  for (const auto &[caption, svg] : pictures)
    page.picture(svg, caption);
  std::vector<Diagnostic> ignored;
  std::string architecture = architectureOf(session);
  addSource(page, (session.isText() ? summarize_text(session.text, session.input, session.kernel,
                                                     architecture, ignored)
                                    : summarize_registered(session.kernel, architecture,
                                                           session.options, ignored))
                      .lines);
  session.page(std::move(page));
  return session.finish(0);
}

int traceRun(TraceSession &session, const std::string &chosen) {
  RunPicture picture = draw_run(session.kernel, find_gpu(session.target).value_or(Target::sm_90a()),
                                session.shapes[0],
                                {.set = session.options.set,
                                 .block = uint32_t(std::max<int64_t>(session.block, 0)),
                                 .contract = session.options.compile.contract,
                                 .slots = session.slots});
  session.diagnostics.insert(session.diagnostics.end(), picture.diagnostics.begin(),
                             picture.diagnostics.end());
  if (session.isHtml() && !picture.svg.empty())
    return tracePage(session, to_text(picture.times), {{"Timeline of one block", picture.svg}});
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
  if (session.isHtml() && !picture.svg.empty())
    return tracePage(session, "", {{"Timeline of the threads", picture.svg}});
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
  if (!chosen.empty())
    chosen = "`" + session.kernel + "` on " + session.target + ", " + chosen + "\n";
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
  if (session.isHtml() && !traces.empty()) {
    std::vector<std::pair<std::string, std::string>> drawn;
    for (const PredictedTrace &loop : traces)
      drawn.emplace_back("Schedule of the loop at " + loop.loop, loop.svg);
    return tracePage(session, "", drawn);
  }
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

void addTrace(cli::Tool &tool) {
  auto session = std::make_shared<TraceSession>();
  cli::Command &command = tool.command(
      "trace",
      "Draws the predicted timeline of each pipelined loop, PREFIX-N.svg and PREFIX-N.json, or "
      "with --shape a run on the emulator or, with --target native, on this CPU, PREFIX.svg and "
      "PREFIX.json.",
      [session](const cli::Command &self) { return trace(*session, self); });
  session->formats.push_back("html");
  session->declareKernel(command);
  declareHardware(command, *session);
  session->declareCpu(command);
  command.number("iterations", "number of iterations to draw", session->iterations, 1, 1000)
      .values("shape", "SIZE=NUMBER,..", "draws a run with these sizes",
              shapeReader(session->shapes))
      .flag("contract", "with --shape: allows fused multiply-add",
            session->options.compile.contract)
      .flag("slots", "with --shape: adds a row for each slot of a ring: in flight, full or empty",
            session->slots);
  command
      .values("block", "NUMBER", "with --shape: block to draw, counted from 0, x first (0)",
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
