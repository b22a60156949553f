//===- ExplainCommand.cpp - penstock explain ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without --shape, the summary of a kernel ends with the prediction for a typical shape,
// so that bounds and suggestions of both forms come from one model.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "DescribedTarget.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/Json.h"
#include "HtmlReport.h"
#include "LabeledRows.h"

#include <algorithm>
#include <utility>

using namespace penstock;

namespace {

struct ExplainSession : Session {
  std::vector<Shape> shapes;
  std::string output; ///< of the waterfall
  bool verbose = false;
};

/// Predicts the run time for a shape.
PredictedRun predict(ExplainSession &session, const Shape &shape,
                     std::vector<Diagnostic> &diagnostics) {
  std::string architecture = architectureOf(session);
  std::vector<std::pair<std::string, double>> sizes;
  for (const auto &[name, value] : shape)
    sizes.emplace_back(name, value.value);
  PredictedRun run =
      session.isText()
          ? predict_text(session.text, session.input, session.kernel, architecture, sizes,
                         diagnostics, session.options.compile.cpu, session.options.machine)
          : predict_registered(session.kernel, architecture, sizes, session.options, diagnostics);
  // Kernels without roles, or threads that compute for longer than MMAs take: the PTX is run.
  auto needsRun = [](const Diagnostic &d) {
    return std::ranges::any_of(d.facts, [](const auto &fact) { return fact.first == "needs_run"; });
  };
  if (session.isText() ||
      (!run.bound_by_threads && (!run.text.empty() || std::ranges::none_of(diagnostics, needsRun))))
    return run;
  diagnostics.clear();
  return predict_from_run(session.kernel, architecture, shape, session.options, diagnostics);
}

KernelSummary summarize(ExplainSession &session, std::vector<Diagnostic> &diagnostics) {
  std::string architecture = architectureOf(session);
  return session.isText()
             ? summarize_text(session.text, session.input, session.kernel, architecture,
                              diagnostics, session.options.compile.cpu)
             : summarize_registered(session.kernel, architecture, session.options, diagnostics);
}

/// Adds what ptxas, or a model of it, reports on the kernel, unless there are errors already.
void assembleFor(ExplainSession &session) {
  std::optional<Target> gpu = find_gpu(architectureOf(session));
  if (!gpu || exitCodeOf(session.diagnostics, 0))
    return;
  session.options.target = gpu->emulated();
  if (AnyKernel kernel = session.compiled())
    session.assemble(kernel);
}

/// Ends with the errors of the compiler, whose suggestions have been checked, if it has any.
int finishWithErrors(ExplainSession &session) {
  std::vector<Diagnostic> found = std::exchange(session.diagnostics, {});
  if (std::optional<Target> gpu = find_gpu(architectureOf(session))) {
    session.options.target = gpu->emulated();
    (void)session.compiled();
  }
  if (!exitCodeOf(session.diagnostics, 0))
    session.diagnostics = std::move(found);
  return session.finish(1);
}

/// Explains the run time for the stated shape.
int explainRun(ExplainSession &session, const std::string &chosen) {
  PredictedRun run = predict(session, session.shapes[0], session.diagnostics);
  if (run.text.empty())
    return finishWithErrors(session);
  if (run.waterfall.empty() && !session.output.empty()) {
    session.error(ToolUsage,
                  "`" + session.kernel + "` has no waterfall: it is predicted from a run");
    return session.finish(1);
  }
  if (!session.output.empty() && !session.write(session.output, run.waterfall))
    return session.finish(1);
  assembleFor(session);
  if (session.isHtml()) {
    HtmlPage page(session.kernel + " on " + session.target + ", " + textOf(session.shapes[0]));
    addRows(page, run.text);
    if (!run.waterfall.empty())
      page.picture(run.waterfall, "From the peak to the predicted rate");
    std::vector<Diagnostic> ignored; // of a summary that is not asked for
    addSource(page, summarize(session, ignored).lines);
    session.page(std::move(page));
    return session.finish(0);
  }
  std::string text =
      chosen.empty() ? "" : "`" + session.kernel + "` on " + session.target + ", " + chosen + "\n";
  session.result(text + run.text, JsonObject()
                                      .text("kernel", session.kernel)
                                      .text("target", session.target)
                                      .json("prediction", run.json)
                                      .str());
  return session.finish(0);
}

/// Predicts the run time of the summary, for a typical shape.
std::string predictTypical(ExplainSession &session, PredictedRun &run) {
  if (session.isText()) // has no fields that sizes could be derived from
    return "";
  std::vector<Diagnostic> problems;
  Shape shape = typical_shape(session.kernel, session.options, problems);
  if (!shape.empty())
    run = predict(session, shape, problems);
  if (run.text.empty())
    return problems.empty() ? "" : rowText("predicted", {"no: " + problems.front().message});
  std::string text;
  for (LabeledRow &row : rowsOf(run.text)) {
    if (row.label == "predicted")
      row.lines = {"for " + textOf(shape) + ": " + row.lines.front()};
    else if (row.label == "bound by" || (row.label == "time" && session.target == "native"))
      row.lines.resize(1);
    else if (row.label == "try")
      row.lines.resize(std::min<size_t>(row.lines.size(), 2));
    else if (row.label != "blocks")
      continue;
    text += rowText(row.label, row.lines);
  }
  return text;
}

HtmlPage pageOf(ExplainSession &session, const std::string &rows, const std::string &details,
                const std::vector<SourceLocation> &lines, const std::string &waterfall) {
  HtmlPage page(session.kernel + " on " + session.target);
  addRows(page, rows);
  if (!waterfall.empty())
    page.picture(waterfall, "From the peak to the predicted rate");
  std::vector<Diagnostic> none; // kernels without a loop have no timeline
  std::string architecture = architectureOf(session);
  constexpr int iterations = 8;
  auto loops =
      session.isText()
          ? trace_text(session.text, session.input, session.kernel, architecture, iterations, none)
          : trace_registered(session.kernel, architecture, iterations, session.options, none);
  for (const PredictedTrace &loop : loops)
    page.picture(loop.svg, "Schedule of the loop at " + loop.loop +
                               " by costs of the engines alone, without limits of the chip");
  addSource(page, lines);
  page.details("Schedules, plans and layouts", details);
  return page;
}

/// Explains the form of the kernel.
int explainForm(ExplainSession &session, const std::string &chosen) {
  std::string architecture = architectureOf(session);
  KernelSummary summary = summarize(session, session.diagnostics);
  if (!summary.text.empty()) {
    std::string text = summary.text;
    if (!chosen.empty())
      text += rowText("target", {session.target + ", " + chosen});
    PredictedRun run;
    text += predictTypical(session, run);
    std::vector<Diagnostic> reported; // by the summary
    std::string details =
        session.isText()
            ? explain_text(session.text, session.input, session.kernel, architecture, reported,
                           session.options.compile.cpu)
            : explain_registered(session.kernel, architecture, session.options, reported);
    if (!session.isHtml())
      text += session.verbose ? "\n" + details
                              : rowText("more", {"--verbose: schedules, plans and layouts; --shape "
                                                 "SIZE=NUMBER,..: other sizes"});
    JsonObject json;
    json.text("kernel", session.kernel)
        .text("target", session.target)
        .json("summary", summary.json)
        .text("text", details);
    if (!run.json.empty())
      json.json("prediction", run.json);
    if (session.isHtml())
      session.page(pageOf(session, text, details, summary.lines, run.waterfall));
    else
      session.result(text, json.str());
  }
  if (exitCodeOf(session.diagnostics, 0))
    return finishWithErrors(session);
  assembleFor(session);
  return session.finish(0);
}

int explain(ExplainSession &session, const cli::Command &command) {
  if (session.shapes.size() > 1)
    return command.usageError("`--shape` is given twice");
  if (session.shapes.empty() && !session.output.empty())
    return command.usageError("`--output` needs `--shape`: only a prediction has a waterfall");
  if (!session.shapes.empty() && session.verbose)
    return command.usageError("`--verbose` has no effect with `--shape`: a prediction is complete");
  if (!session.load())
    return session.finish(1);
  std::string chosen = chooseTarget(session);
  if (!session.diagnostics.empty())
    return session.finish(1);
  return session.shapes.empty() ? explainForm(session, chosen) : explainRun(session, chosen);
}

} // namespace

void addExplain(cli::Tool &tool) {
  auto session = std::make_shared<ExplainSession>();
  cli::Command &command = tool.command(
      "explain",
      "Summarizes what a kernel becomes on a target: form, warp roles, copies, MMAs, memory, "
      "predicted run time, what bounds it and what to try. H100 (sm_90a), B200 (sm_100a) and this "
      "CPU (native) have timing models.",
      [session](const cli::Command &self) { return explain(*session, self); });
  session->formats.push_back("html");
  session->declareKernel(command);
  declareHardware(command, *session);
  session->declareCpu(command);
  command.flag("verbose", "adds the schedule of each pipelined loop, its plan and all layouts",
               session->verbose);
  command.values("shape", "SIZE=NUMBER,..", "predicts the run time for these sizes, with details",
                 shapeReader(session->shapes));
  command.text("machine", "FILE", "machine file of `penstock bench --calibrate`",
               session->options.machine, cli::Complete::Files);
  command.output("FILE", "with --shape: SVG of the losses from the peak to the predicted rate",
                 session->output);
  command.flag("contract", "allows fused multiply-add in predictions",
               session->options.compile.contract);
  command.example("penstock explain libexample_kernels.so FlashAttention --target sm_90a");
}
