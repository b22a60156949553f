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
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace penstock::emu {

bool readFile(const std::string &path, std::string &text) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return false;
  text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  return true;
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
  if (text == "eager") {
    options.timing = Timing::Eager;
  } else if (text == "lazy") {
    options.timing = Timing::Lazy;
  } else if (text.rfind("random:", 0) == 0) {
    options.timing = Timing::Random;
    options.seed = strtoull(text.c_str() + 7, nullptr, 0);
  } else if (text.rfind("delay:", 0) == 0) {
    options.timing = Timing::Targeted;
    options.target = uint32_t(strtoul(text.c_str() + 6, nullptr, 0));
  } else {
    return false;
  }
  return true;
}

} // namespace penstock::emu
