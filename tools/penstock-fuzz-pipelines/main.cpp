//===- main.cpp - penstock-fuzz-pipelines ---------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the checker of pipeline schedules against other judges. With --check it
// reads instances as text and prints one line for each.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Render.h"
#include "Scheduling/Summary.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

using namespace penstock;
using namespace penstock::sched;

namespace {

const char *usage =
    "usage: penstock-fuzz-pipelines --check FILE [--messages]\n"
    "  --check FILE  print the verdict and the versions of each instance in\n"
    "                FILE (- for standard input); "
    "docs/scheduling-instances.md\n"
    "                describes both forms\n"
    "  --messages    print the full messages as well, after each verdict\n";

int checkFile(const std::string &file, bool messages) {
  std::string text;
  if (file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "penstock-fuzz-pipelines: cannot read %s\n",
                   file.c_str());
      return 2;
    }
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  ParsedInstances parsed = parseInstances(text, file == "-" ? "<stdin>" : file);
  for (const Instance &instance : parsed.instances) {
    Summary summary = summarise(instance);
    std::puts(summary.line.c_str());
    if (messages)
      std::fputs(render(summary.messages).c_str(), stdout);
  }
  std::fflush(stdout);
  if (parsed.error) {
    std::fputs(render(*parsed.error).c_str(), stderr);
    return 1;
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::string file;
  bool messages = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--check" && i + 1 < argc)
      file = argv[++i];
    else if (arg == "--messages")
      messages = true;
    else {
      std::fputs(usage, arg == "--help" ? stdout : stderr);
      return arg == "--help" ? 0 : 2;
    }
  }
  if (file.empty()) {
    std::fputs(usage, stderr);
    return 2;
  }
  return checkFile(file, messages);
}
