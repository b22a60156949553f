//===- main.cpp - penstock-fuzz-pipelines ---------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the checker of pipeline schedules against other judges. With --check it
// reads instances as text and prints one line for each, so that any other
// checker can be compared; the other modes compare it with the oracle that is
// built in (docs/fuzzing.md).
//
//===----------------------------------------------------------------------===//
#include "Campaign.h"
#include "Diagnostics/Render.h"
#include "Generate.h"
#include "GenerateInstance.h"
#include "Scheduling/Summary.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

using namespace penstock;
using namespace penstock::sched;

namespace {

const char *usage = "usage: penstock-fuzz-pipelines --check FILE [--messages]\n"
                    "       penstock-fuzz-pipelines --programs N [--seed S] [--native PERCENT]\n"
                    "       penstock-fuzz-pipelines --instances N [--seed S]\n"
                    "       penstock-fuzz-pipelines --mutants [--seed S]\n"
                    "  --check FILE   print the verdict and the versions of each instance in\n"
                    "                 FILE (- for standard input); "
                    "docs/scheduling-instances.md\n"
                    "                 describes both forms\n"
                    "  --messages     print the full messages as well, after each verdict\n"
                    "  --programs N   N random kernels: checker against oracle, and what is\n"
                    "                 legal natively against sequential execution\n"
                    "  --instances N  N random loops with commits, counted waits and fences\n"
                    "  --mutants      weaken each rule of the checker; the oracle must object\n"
                    "  --seed S       where random numbers start (1)\n"
                    "  --jobs N       processes (as many as there are cores)\n"
                    "  --seconds N    stop after this time\n"
                    "  --native P     compile and run only P of 100 legal kernels\n"
                    "  --print        with --programs 1 or --instances 1: print the case\n";

int checkFile(const std::string &file, bool messages) {
  std::string text;
  if (file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "penstock-fuzz-pipelines: cannot read %s\n", file.c_str());
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

int runMode(const std::string &mode, const fuzz::CampaignOptions &options, bool print) {
#ifdef PENSTOCK_FUZZ_KERNELS
  if (print && mode != "--mutants")
    std::puts(mode == "--programs"
                  ? fuzz::emitKernel(fuzz::generateProgram(options.seed)).c_str()
                  : fuzz::emitInstance(fuzz::generateInstance(options.seed)).c_str());
  if (mode == "--programs")
    return fuzz::runPrograms(options);
  return mode == "--instances" ? fuzz::runInstances(options) : fuzz::runMutants(options);
#else
  std::fprintf(stderr,
               "penstock-fuzz-pipelines: %s needs the compiler, which this build leaves "
               "out\n",
               mode.c_str());
  return 2;
#endif
}

} // namespace

int main(int argc, char **argv) {
  std::string file, mode;
  bool messages = false, print = false;
  fuzz::CampaignOptions options;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    bool more = i + 1 < argc;
    if (arg == "--check" && more)
      file = argv[++i];
    else if (arg == "--messages")
      messages = true;
    else if ((arg == "--programs" || arg == "--instances") && more) {
      mode = arg;
      options.count = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--mutants")
      mode = arg;
    else if (arg == "--seed" && more)
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (arg == "--jobs" && more)
      options.jobs = std::atoi(argv[++i]);
    else if (arg == "--seconds" && more)
      options.seconds = std::atof(argv[++i]);
    else if (arg == "--native" && more)
      options.native = std::atoi(argv[++i]);
    else if (arg == "--print")
      print = true;
    else {
      std::fputs(usage, arg == "--help" ? stdout : stderr);
      return arg == "--help" ? 0 : 2;
    }
  }
  if (file.empty() == mode.empty()) {
    std::fputs(usage, stderr);
    return 2;
  }
  return file.empty() ? runMode(mode, options, print) : checkFile(file, messages);
}
