//===- Commands.h - The commands of penstock-emu ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_EMU_COMMANDS_H
#define PENSTOCK_TOOLS_EMU_COMMANDS_H

#include "CommandLine/CommandLine.h"
#include "Diagnostics/Diagnostic.h"
#include "Emulator/Launch.h"

#include <string>
#include <vector>

namespace penstock::emu {

/// Each declares a command with its options.
void addRun(cli::Tool &tool);
void addRunPtx(cli::Tool &tool);
void addMutate(cli::Tool &tool);
void addFix(cli::Tool &tool);
void addParse(cli::Tool &tool);
void addSelftest(cli::Tool &tool);
void addCoverage(cli::Tool &tool);

/// Prints why a call cannot be carried out, and returns the exit code for that.
int refuse(const Diagnostic &problem);
/// Prints findings in the format that --format asks for: text, json, sarif or html.
void printFindings(const std::vector<Diagnostic> &findings, const std::string &format);
/// The tiers that --fail-on takes, the most serious first.
inline const std::vector<std::string> tierNames = {"wrong", "undefined", "note"};
constexpr const char *timingForms = "eager|lazy|random:SEED|delay:N|starve:WARP";

} // namespace penstock::emu

#endif // PENSTOCK_TOOLS_EMU_COMMANDS_H
