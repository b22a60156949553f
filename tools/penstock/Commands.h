//===- Commands.h - The commands of penstock --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_COMMANDS_H
#define PENSTOCK_TOOLS_COMMANDS_H

#include "CommandLine/CommandLine.h"

/// Each declares a command with its options.
void addList(penstock::cli::Tool &tool);
void addPrint(penstock::cli::Tool &tool);
void addCompile(penstock::cli::Tool &tool);
void addCpu(penstock::cli::Tool &tool);
void addEngines(penstock::cli::Tool &tool);
void addExplain(penstock::cli::Tool &tool);
void addTrace(penstock::cli::Tool &tool);
void addRun(penstock::cli::Tool &tool);
void addBench(penstock::cli::Tool &tool);
void addReport(penstock::cli::Tool &tool);
void addCheck(penstock::cli::Tool &tool);
void addMutate(penstock::cli::Tool &tool);
void addCache(penstock::cli::Tool &tool);
void addWarm(penstock::cli::Tool &tool);
void addTune(penstock::cli::Tool &tool);

#endif // PENSTOCK_TOOLS_COMMANDS_H
