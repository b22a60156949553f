//===- Common.cpp - What the commands share -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Render.h"
#include "Diagnostics/Serialize.h"

#include <cstdio>

namespace penstock::emu {

int refuse(const Diagnostic &problem) {
  fputs(render(problem).c_str(), stderr);
  return 2;
}

void printFindings(const std::vector<Diagnostic> &findings, const std::string &format) {
  std::string text = format == "json"    ? toJson(findings)
                     : format == "sarif" ? toSarif(findings, "penstock-emu")
                                         : render(findings);
  fputs(text.c_str(), stdout);
  if (format != "text")
    fputs("\n", stdout);
}

bool parseTiming(const std::string &text, LaunchOptions &options) {
  uint64_t number = 0;
  size_t colon = text.find(':');
  if (colon != std::string::npos && !cli::parseInteger(text.substr(colon + 1), number))
    return false;
  if (text == "eager") {
    options.timing = Timing::Eager;
  } else if (text == "lazy") {
    options.timing = Timing::Lazy;
  } else if (text.rfind("random:", 0) == 0) {
    options.timing = Timing::Random;
    options.seed = number;
  } else if (text.rfind("delay:", 0) == 0) {
    options.timing = Timing::Targeted;
    options.target = static_cast<uint32_t>(number);
    return number <= UINT32_MAX;
  } else {
    return false;
  }
  return true;
}

} // namespace penstock::emu
