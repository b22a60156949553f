//===- penstock.cpp - Looks at, compiles and runs kernels -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin program over penstock/inspect.h, penstock/check.h and penstock/tune.h.
// Kernels come from a shared library that registers them, or from a tile program in
// text form (a file that ends in .mlir).
//
//===----------------------------------------------------------------------===//
#include "Commands.h"

int main(int argc, char **argv) {
  penstock::cli::Tool tool("penstock", "Prints, compiles, runs, checks and tunes tile kernels.");
  addList(tool);
  addPrint(tool);
  addCompile(tool);
  addCpu(tool);
  addEngines(tool);
  addExplain(tool);
  addTrace(tool);
  addRun(tool);
  addBench(tool);
  addReport(tool);
  addCheck(tool);
  addMutate(tool);
  addCache(tool);
  addWarm(tool);
  addTune(tool);
  return tool.run(argc, argv);
}
