//===- penstock-fuzz.cpp - Drives the compiler with random programs -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/CommandLine.h"
#include "Modes.h"
#include "RunProgram.h"

#include <string>
#include <vector>

using namespace penstock::fuzz;

#if defined(__has_feature) && __has_feature(address_sanitizer)
/// LLVM's allocators poison memory in code that is built with the sanitizer, and
/// the installed libraries, which share them with ours, know nothing of it.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }
#endif

int main(int argc, char **argv) {
  BatchOptions options;
  std::vector<std::string> modes;
  std::string corpus;
  penstock::cli::Tool tool("penstock-fuzz",
                           "Drives the compiler with random programs, texts and calls.");
  auto &command = tool.options([&](const penstock::cli::Command &self) {
    if (modes.size() != 1)
      return self.usageError(
          "expected one of --programs, --device, --mutate, --text, --api, --divided, "
          "--products, --packed, --boxed, --chained, --added, --around, --atomics, "
          "--copied, --rings and --preferred");
    options.progress = modes[0];
    return modes[0] == "programs"    ? runPrograms(options)
           : modes[0] == "device"    ? runDevice(options)
           : modes[0] == "mutate"    ? runMutations(options)
           : modes[0] == "text"      ? runTexts(options, corpus)
           : modes[0] == "api"       ? runCalls(options)
           : modes[0] == "divided"   ? runDivided(options)
           : modes[0] == "packed"    ? runPacked(options)
           : modes[0] == "boxed"     ? runBoxed(options)
           : modes[0] == "chained"   ? runChained(options)
           : modes[0] == "added"     ? runAdded(options)
           : modes[0] == "around"    ? runAround(options)
           : modes[0] == "atomics"   ? runAtomics(options)
           : modes[0] == "copied"    ? runCopied(options)
           : modes[0] == "rings"     ? runRings(options)
           : modes[0] == "preferred" ? runPreferred(options)
                                     : runProducts(options);
  });
  auto mode = [&](const char *name, const char *help) {
    command.count(name, help, options.count, [&modes, name] { modes.push_back(name); });
  };
  mode("programs", "compares random programs on the interpreter and natively");
  mode("device", "compares random programs on the interpreter and on emulated GPUs");
  mode("mutate", "breaks random programs in memory; what passes the verifier is compiled and run");
  mode("text", "the same for programs as text");
  mode("api", "records random sequences of calls, wrong ones among them");
  mode("divided", "compares warp-specialized matmuls on the emulator and natively");
  mode("products",
       "compares products of f16, bf16, i8 and f32 natively, at all levels of CPUs, and on the "
       "interpreter");
  mode("packed", "compares products of 4-bit values and with scales on emulated GPUs, natively and "
                 "with plain loops");
  mode("boxed", "compares products of boxes as matrices on emulated GPUs, natively, on the "
                "interpreter and with plain loops");
  mode("chained", "compares two products with threads' work between them, as in attention, on "
                  "emulated GPUs, natively, on the interpreter and with plain loops");
  mode("added",
       "compares tiles that are added to tensors on emulated GPUs, natively and with plain "
       "loops");
  mode("around", "compares tensors that are accessed in front of, in and after pipelined loops on "
                 "emulated GPUs and natively with sequential execution");
  mode("atomics", "compares sequences of mixed atomic updates on emulated GPUs and natively with "
                  "sequential execution");
  mode("copied",
       "compares boxes that threads copy by cp.async, at all edges of tensors, on emulated "
       "GPUs with plain loops");
  mode("rings", "compares copies through rings in unrolled loops of explicit kernels, on all "
                "emulated GPUs, with their input");
  mode("preferred", "compares programs with random clusters, pairs and launch control on emulated "
                    "GPUs and natively with plain loops");
  command.text("corpus", "DIR", "with --text: adds the .mlir files below DIR", corpus,
               penstock::cli::Complete::Files);
  command.number("seed", "the first case; a report names the seed of its case", options.seed);
  command.real("seconds", "stops after this time; 0: no limit", options.seconds, 0);
  command.example("penstock-fuzz --programs 1000 --seed 1");
  return tool.run(argc, argv);
}
