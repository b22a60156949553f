//===- Terminal.cpp - Color and width of output ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/Terminal.h"
#include "CommandLine/CommandLine.h"

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace penstock;

std::string &cli::colorChoice() {
  static std::string choice = "auto";
  return choice;
}

bool cli::isColored(int descriptor) {
  if (colorChoice() != "auto")
    return colorChoice() == "always";
  const char *noColor = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return isatty(descriptor) && !(noColor && *noColor) &&
         !(terminal && std::string_view(terminal) == "dumb");
}

unsigned cli::widthOf(int descriptor) {
  constexpr unsigned least = 40; // narrower text is worse than lines that the terminal breaks
  unsigned width = 0;
  int64_t stated = 0;
  if (const char *columns = std::getenv("COLUMNS"); columns && parseInteger(columns, stated))
    width = unsigned(std::clamp<int64_t>(stated, 0, 10000));
  else if (winsize size{}; isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0)
    width = size.ws_col;
  return width < least ? 0 : width;
}

std::string cli::renderForTerminal(std::span<const Diagnostic> diagnostics) {
  RenderOptions options;
  options.color = isColored(STDERR_FILENO);
  options.width = widthOf(STDERR_FILENO);
  return render(diagnostics, options);
}
