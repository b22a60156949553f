//===- Common.cpp - Helpers of all commands -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Diagnostics/Render.h"
#include "Diagnostics/Serialize.h"
#include "EmulatorApi/Html.h"

#include <cstdio>

namespace penstock::emu {

int refuse(const Diagnostic &problem) {
  fputs(render(problem).c_str(), stderr);
  return 2;
}

void printFindings(const std::vector<Diagnostic> &findings, const std::string &format) {
  std::string text = format == "json"    ? toJson(findings)
                     : format == "sarif" ? toSarif(findings, "penstock-emu")
                     : format == "html"  ? toHtml(findings)
                                         : render(findings);
  fputs(text.c_str(), stdout);
  if (format != "text")
    fputs("\n", stdout);
}

} // namespace penstock::emu
