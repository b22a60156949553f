//===- Commands.h - The commands of penstock-emu ----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_EMU_COMMANDS_H
#define PENSTOCK_TOOLS_EMU_COMMANDS_H

#include "Diagnostics/Diagnostic.h"
#include "Emulator/Launch.h"

#include <string>
#include <vector>

namespace penstock::emu {

using Arguments = std::vector<std::string>;

/// Each returns the process's exit code.
int runPtxCommand(const Arguments &arguments);
int parseCommand(const Arguments &arguments);
int coverageCommand(const Arguments &arguments);
int selftestCommand(const Arguments &arguments);
int runCommand(const Arguments &arguments);

bool readFile(const std::string &path, std::string &text);
/// Prints findings in the format that --format asks for: text, json or sarif.
void printFindings(const std::vector<Diagnostic> &findings, const std::string &format);
/// eager, lazy, random:SEED, delay:N.
bool parseTiming(const std::string &text, LaunchOptions &options);

} // namespace penstock::emu

#endif // PENSTOCK_TOOLS_EMU_COMMANDS_H
