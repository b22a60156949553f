//===- Compare.h - Results against the interpreter's ------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_COMPARE_H
#define PENSTOCK_TOOLS_COMPARE_H

#include "Diagnostics/Json.h"
#include "Session.h"

#include <functional>

/// snprintf of one number.
std::string formatted(const char *format, double value);

/// Runs the session's kernel on the interpreter and \p launch on equal arguments, and adds the
/// largest difference, relative to 1 + value, to \p text and \p json. False, with diagnostics, if
/// it exceeds \p tolerance or a run fails. Kernels with GPU operations, which the interpreter
/// does not have, are compared with the emulator instead.
bool compareWithInterpreter(
    Session &session, const std::function<penstock::MadeArguments()> &make,
    const std::function<std::vector<penstock::Diagnostic>(penstock::MadeArguments &)> &launch,
    double tolerance, std::string &text, penstock::JsonObject &json);

#endif // PENSTOCK_TOOLS_COMPARE_H
