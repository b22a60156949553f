//===- DescribedTarget.h - The target of explain and trace ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TOOLS_DESCRIBEDTARGET_H
#define PENSTOCK_TOOLS_DESCRIBEDTARGET_H

#include "Session.h"

/// Declares `--target` for GPUs and native code, without a default.
void declareHardware(penstock::cli::Command &command, Session &session);

/// Chooses the target that explain and trace describe: the stated one, else the one that the
/// kernel's operations require, else the first GPU with TMA. Returns the reason of a choice, e.g.
/// "the default; --target chooses another"; empty if the target is stated.
std::string chooseTarget(Session &session);

/// The architecture of the session's target: "x86" for native code.
std::string architectureOf(const Session &session);

#endif // PENSTOCK_TOOLS_DESCRIBEDTARGET_H
