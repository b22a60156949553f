//===- Session.cpp - State shared by kernel commands ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "CommandLine/Terminal.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/ReadFile.h"
#include "Diagnostics/Suggest.h"
#include "HtmlReport.h"
#include "LabeledRows.h"
#include "RegisterMessages.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

using namespace penstock;

cli::Reader shapeReader(std::vector<Shape> &shapes) {
  return [&shapes](const std::string &text) -> std::string {
    std::vector<std::pair<std::string, std::string>> pairs;
    Shape shape;
    bool ok = cli::parsePairs(text, pairs);
    for (const auto &[name, value] : pairs) {
      double number = 0;
      ok = ok && cli::parseReal(value, number);
      shape.emplace_back(name, number);
    }
    if (!ok)
      return "expected SIZE=NUMBER,..";
    shapes.push_back(std::move(shape));
    return "";
  };
}

std::string textOf(const Shape &shape) {
  std::string text;
  for (const auto &[name, number] : shape) {
    char value[32];
    std::snprintf(value, sizeof value, "%.15g", number.value);
    text += (text.empty() ? "" : ",") + name + "=" + value;
  }
  return text;
}

cli::Reader pairReader(std::vector<std::pair<std::string, std::string>> &pairs, const char *form) {
  return [&pairs, form](const std::string &text) -> std::string {
    return cli::parsePairs(text, pairs) ? "" : std::string("expected ") + form;
  };
}

int exitCodeOf(const std::vector<Diagnostic> &diagnostics, int otherwise) {
  int code = otherwise;
  for (const Diagnostic &d : diagnostics) {
    if (d.code == ToolUsage || d.code == ToolFile || d.code == ToolKernel ||
        d.code == UnknownField || d.code == UnknownSize)
      return cli::usageExit;
    if (d.severity == Severity::Error && code == 0)
      code = 1;
  }
  return code;
}

std::string targetFor(const std::string &required) {
  return required.empty() ? "sm_90a" : required;
}

void put(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Session::declareInput(cli::Command &command) {
  command.argument("LIBRARY|TEXT", input).format(format, {"text", "json"});
}

std::vector<std::string> withGpus(std::vector<std::string> choices) {
  for (std::string &name : gpu_names())
    choices.push_back(std::move(name));
  return choices;
}

void Session::declareKernel(cli::Command &command) {
  command.argument("LIBRARY|TEXT", input).argument("KERNEL", kernel, cli::Complete::Kernels);
  declareOptions(command);
}

void Session::declareOptions(cli::Command &command) {
  command
      .values("set", "FIELD=VALUE,..", "sets fields of the kernel",
              pairReader(options.set, "FIELD=VALUE,.."))
      .values("fix", "SIZE=NUMBER,..", "fixes sizes of the signature to constants",
              pairReader(fix, "SIZE=NUMBER,.."))
      .format(format, formats);
}

void Session::declareCompile(cli::Command &command) {
  declareKernel(command);
  declareTarget(command);
}

void Session::declareCompile(cli::Command &command, std::vector<std::string> &kernels) {
  command.argument("LIBRARY|TEXT", input).arguments("KERNEL", kernels, cli::Complete::Kernels);
  declareOptions(command);
  declareTarget(command);
}

void Session::declareTarget(cli::Command &command) {
  target = "native";
  options.reproducer = "penstock-reproducer.mlir";
  command.choice("target", withGpus({"native", "interpreter"}),
                 "compilation target; GPUs are emulated", target);
  declareCpu(command);
  command.flag("contract", "allows fused multiply-add", options.compile.contract)
      .flag("late-completion", "lets asynchronous operations complete late",
            options.compile.late_completion)
      .text("print-ir-after", "PASS|all", "prints the IR after a pass to standard error",
            printAfter)
      .flag("time-passes", "prints the time of each pass to standard error", options.timing)
      .text("reproducer", "FILE", "file to write if a pass of the compiler fails",
            options.reproducer, cli::Complete::Files);
}

void Session::declareCpu(cli::Command &command) {
  std::vector<std::string> names = cpu_names();
  names.insert(names.begin(), "host");
  command.choice("cpu", names, "instruction set of native code", cpu);
}

bool Session::isText() const { return input == "-" || input.ends_with(".mlir"); }

void Session::error(unsigned code, const std::string &message) {
  Diagnostic d;
  d.code = code;
  d.message = message;
  diagnostics.push_back(std::move(d));
}

bool Session::readText() {
  std::optional<Diagnostic> problem =
      input == "-" ? readStandardInput(text) : readFile(input, text);
  if (problem)
    diagnostics.push_back(std::move(*problem));
  return !problem;
}

bool Session::load() {
  if (isText() ? !readText() : !(diagnostics = load_library(input)).empty())
    return false;
  if (isText() && (!options.set.empty() || !fix.empty())) {
    error(ToolUsage, "--set and --fix need a kernel of a library; `" + input + "` is text");
    return false;
  }
  for (const auto &[name, value] : fix) {
    int64_t number = 0;
    if (!cli::parseInteger(value, number)) {
      error(ToolUsage, "`--fix " + name + "=" + value + "`: expected SIZE=NUMBER,..");
      return false;
    }
    options.compile.fix.emplace_back(name, number);
  }
  if (std::optional<Target> gpu = find_gpu(target))
    options.target = gpu->emulated();
  else
    options.target = target == "interpreter" ? Target::interpreter() : Target::native();
  options.compile.cpu = find_cpu(cpu).value_or(Cpu::Host);
  if (!printAfter.empty())
    options.after_pass = [this](std::string_view pass, std::string_view program) {
      passes.emplace_back(pass);
      if (printAfter == "all" || printAfter == pass)
        std::cerr << "// after " << pass << "\n" << program << "\n";
    };
  return true;
}

RegisterCheck Session::assemble(const AnyKernel &compiled) {
  if (!find_gpu(target))
    return {};
  RegisterCheck check = checkRegisters(compiled, kernel, target, options, !isText());
  diagnostics.insert(diagnostics.end(), check.diagnostics.begin(), check.diagnostics.end());
  return check;
}

AnyKernel Session::compiled() {
  AnyKernel result = isText() ? compile_text(text, input, kernel, options, diagnostics)
                              : compile_registered(kernel, options, diagnostics);
  if (!result && !isText() && find_gpu(target))
    suggestFields(diagnostics, kernel, target, options);
  if (result && !printAfter.empty() && printAfter != "all" &&
      std::find(passes.begin(), passes.end(), printAfter) == passes.end()) {
    error(ToolUsage, "no pass `" + printAfter + "` ran");
    diagnostics.back().helps.push_back(suggestName(printAfter, passes, "these did: "));
  }
  return result;
}

std::string requiredArchitecture(Session &session) {
  std::vector<Diagnostic> diagnostics;
  return session.isText()
             ? architecture_of_text(session.text, session.input, session.kernel, diagnostics)
             : architecture_of_registered(session.kernel, session.options, diagnostics);
}

void Session::page(HtmlPage page) {
  addDiagnostics(page, std::exchange(diagnostics, {}));
  put(std::move(page).end());
  printed = true;
}

void Session::result(const std::string &asText, const std::string &asJson) {
  put(isJson() ? asJson + "\n" : forTerminal(asText));
  printed = true;
}

bool Session::write(const std::string &file, const std::string &content) {
  std::ofstream out(file, std::ios::binary);
  out << content;
  if (out.flush())
    return true;
  error(ToolFile, "`" + file + "` cannot be written");
  return false;
}

int Session::finish(int code) {
  if (!isJson())
    std::cerr << cli::renderForTerminal(diagnostics);
  else if (!diagnostics.empty() || !printed)
    std::cerr << to_json(diagnostics);
  return exitCodeOf(diagnostics, code);
}
