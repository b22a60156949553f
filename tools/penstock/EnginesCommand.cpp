//===- EnginesCommand.cpp - penstock engines ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line for each product and copy of all kernels of a library: which engine it
// got, and how deep it is buffered. The last line has the sums.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Json.h"
#include "Session.h"

#include <map>

using namespace penstock;

namespace {

struct EnginesSession : Session {
  std::map<std::string, int> products, copies; ///< how often each engine was used
};

std::string lineOf(const std::string &kernel, const std::string &target, const EngineUse &use) {
  bool product = use.kind == EngineUse::Product;
  return kernel + " " + target + " line " + std::to_string(use.location.line) + " " +
         (product ? "gemm " : "copy ") + use.engine +
         (product ? "" : " slots " + std::to_string(use.slots)) + " " + use.tiles +
         (use.reason.empty() ? "" : ": " + use.reason) + "\n";
}

JsonObject jsonOf(const std::string &kernel, const std::string &target, const EngineUse &use) {
  bool product = use.kind == EngineUse::Product;
  JsonObject json;
  json.text("kernel", kernel)
      .text("target", target)
      .number("line", use.location.line)
      .text("kind", product ? "product" : "copy")
      .text("engine", use.engine)
      .text("tiles", use.tiles);
  if (!product)
    return json.number("slots", use.slots);
  if (!use.reason.empty())
    json.text("reason", use.reason);
  return json.boolean("operands_in_shared", use.operands_in_shared);
}

std::string sumsOf(const char *what, const std::map<std::string, int> &uses) {
  std::string text = what;
  for (const auto &[engine, count] : uses)
    text += " " + engine + "=" + std::to_string(count);
  return text;
}

int engines(EnginesSession &session, const cli::Command &command) {
  if (session.isText())
    return command.usageError("`" + session.input + "` is text; engines needs a library");
  if (!session.load())
    return session.finish(1);
  std::vector<std::string> kernels = {session.kernel};
  if (session.kernel.empty()) {
    kernels.clear();
    for (const KernelDescription &kernel : registered_kernels())
      kernels.push_back(kernel.name);
  }
  std::vector<std::string> targets = {session.target};
  if (session.target.empty())
    targets = {"sm_90a", "sm_100a"};
  std::string text;
  std::vector<JsonObject> json;
  int failed = 0;
  for (const std::string &kernel : kernels) {
    for (const std::string &target : targets) {
      std::vector<Diagnostic> refused;
      auto uses = engines_of_registered(kernel, target, session.options, refused);
      if (!refused.empty()) {
        text += kernel + " " + target + " refused: " + refused.front().message + "\n";
        ++failed;
        // For a named kernel, all diagnostics are printed.
        if (!session.kernel.empty())
          session.diagnostics.insert(session.diagnostics.end(), refused.begin(), refused.end());
      }
      for (const EngineUse &use : uses) {
        ++(use.kind == EngineUse::Product ? session.products : session.copies)[use.engine];
        text += lineOf(kernel, target, use);
        json.push_back(jsonOf(kernel, target, use));
      }
    }
  }
  text += sumsOf("products:", session.products) + sumsOf("; copies:", session.copies) +
          "; refused=" + std::to_string(failed) + "\n";
  session.result(text, jsonArray(json, [](const JsonObject &object) { return object.str(); }));
  return session.finish(0);
}

} // namespace

void addEngines(cli::Tool &tool) {
  auto session = std::make_shared<EnginesSession>();
  cli::Command &command = tool.command(
      "engines", "Lists which engine executes each product and copy of the kernels of a library.",
      [session](const cli::Command &self) { return engines(*session, self); });
  command.argument("LIBRARY", session->input)
      .optionalArgument("KERNEL", session->kernel, cli::Complete::Kernels)
      .choice("target", gpu_names(), "compilation target; default: sm_90a and sm_100a",
              session->target)
      .format(session->format, {"text", "json"})
      .example("penstock engines libexample_kernels.so FlashAttention --target sm_90a");
}
