//===- CheckCommands.h - penstock check and penstock mutate -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_CHECKCOMMANDS_H
#define PENSTOCK_TOOLS_CHECKCOMMANDS_H

#include "CommandLine.h"
#include "penstock/check.h"

const CommandSpec &checkCommand();
const CommandSpec &mutateCommand();

/// What the program returns: 0 if all is well, 1 if something was found, 2 for a
/// call that cannot be understood.
int runCheck(const CommandLine &line);
int runMutate(const CommandLine &line);

/// "M=512,f=0.5" as numbers; no value if the text is not of that form.
std::optional<penstock::Shape> parseShape(const std::string &text);

#endif // PENSTOCK_TOOLS_CHECKCOMMANDS_H
