//===- penstock-fuzz.cpp - Drives the compiler with random programs -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "RunProgram.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace penstock::fuzz;

static const char *usage =
    "usage: penstock-fuzz --programs|--mutate|--text|--api|--divided N [--seed S] [--seconds T]\n"
    "  --programs N  compare N random programs on the interpreter and natively\n"
    "  --mutate N    break N random programs in memory; what passes the verifier\n"
    "                is compiled and run\n"
    "  --text N      the same for programs as text; --corpus DIR adds the .mlir\n"
    "                files below DIR\n"
    "  --api N       record N random sequences of calls, wrong ones among them\n"
    "  --divided N   compare N matmuls that GPUs' roles are made of, on the emulator\n"
    "                and natively\n"
    "  --seed S      the first case; a report names the seed of its case\n"
    "  --seconds T   stop after T seconds\n"
    "example: penstock-fuzz --programs 1000 --seed 1\n";

#if defined(__has_feature) && __has_feature(address_sanitizer)
/// LLVM's allocators poison memory in code that is built with the sanitizer, and
/// the installed libraries, which share them with ours, know nothing of it.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }
#endif

int main(int argc, char **argv) {
  BatchOptions options;
  std::string mode, corpus;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    const char *value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (!value) {
      std::fputs(usage, flag == "--help" ? stdout : stderr);
      return flag == "--help" ? 0 : 2;
    }
    ++i;
    if (flag == "--programs" || flag == "--mutate" || flag == "--text" || flag == "--api" ||
        flag == "--divided") {
      mode = flag;
      options.progress = flag.substr(2);
      options.count = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seconds") {
      options.seconds = std::strtod(value, nullptr);
    } else if (flag == "--corpus") {
      corpus = value;
    } else {
      std::fputs(usage, stderr);
      return 2;
    }
  }
  if (mode == "--programs")
    return runPrograms(options);
  if (mode == "--mutate")
    return runMutations(options);
  if (mode == "--text")
    return runTexts(options, corpus);
  if (mode == "--api")
    return runCalls(options);
  if (mode == "--divided")
    return runDivided(options);
  std::fputs(usage, stderr);
  return 2;
}
