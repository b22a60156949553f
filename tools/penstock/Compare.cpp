//===- Compare.cpp - Results against the interpreter's --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compare.h"
#include "Diagnostics/Codes.h"

#include <cmath>

using namespace penstock;

namespace {

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

} // namespace

std::string formatted(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

bool compareWithInterpreter(Session &session, const std::function<MadeArguments()> &make,
                            const std::function<std::vector<Diagnostic>(MadeArguments &)> &launch,
                            double tolerance, std::string &text, JsonObject &json) {
  InspectOptions ours = session.options;
  // Only the emulator can check GPU operations that a GPU has run.
  bool emulator = !requiredArchitecture(session).empty() && !ours.target.onEmulator;
  std::string name = emulator ? "emulator" : "interpreter";
  session.options.target = emulator ? ours.target.emulated() : Target::interpreter();
  AnyKernel reference = session.compiled();
  session.options = ours;
  if (!reference)
    return false;
  MadeArguments result = make(), expected = make();
  session.diagnostics = launch(result);
  if (session.diagnostics.empty())
    session.diagnostics = reference.launch(expected.arguments);
  if (!session.diagnostics.empty())
    return false;
  double worst = largestDifference(result, expected);
  text += "largest difference from the " + name + "  " + formatted("%g", worst) + "  (allowed " +
          formatted("%g", tolerance) + ")\n";
  // JSON has no infinity.
  json.json("largest_difference", std::isinf(worst) ? "null" : formatted("%.17g", worst))
      .json("tolerance", formatted("%.17g", tolerance))
      .text("reference", name);
  if (worst > tolerance)
    session.error(ToolDifference, "the results differ from the " + name + "'s");
  return worst <= tolerance;
}
