//===- penstock-emu.cpp - The emulator as a tool --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Commands.h"

using namespace penstock;

int main(int argc, char **argv) {
  cli::Tool tool("penstock-emu", "Runs and checks PTX without a GPU.");
  emu::addRun(tool);
  emu::addRunPtx(tool);
  emu::addMutate(tool);
  emu::addFix(tool);
  emu::addParse(tool);
  emu::addSelftest(tool);
  emu::addCoverage(tool);
  return tool.run(argc, argv);
}
