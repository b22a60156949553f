//===- FrontEnd.h - Recording calls of other languages ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside penstock/record.h, a front end that is not made of the C++ headers needs names of
// variables that it knows itself, an else branch that is announced after its condition, and
// errors that it finds before the recorder does.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LANG_FRONTEND_H
#define PENSTOCK_LANG_FRONTEND_H

#include "Diagnostics/Codes.h"
#include "penstock/record.h"

#include <string>

namespace penstock::lang {

/// Number of the recording of this thread; 0: none.
uint32_t recording();

/// Names the next tile or barrier that this thread allocates. Without a call, the name comes from
/// the C++ source line.
void nameNext(std::string name);

/// Opens the else branch of the condition that was closed last. Nothing may have been recorded
/// since; otherwise reports an error.
detail::Scope openElseAfter(Loc at);

/// Adds an error to the recording of this thread. Returns false if there is none.
bool report(DiagnosticCode code, Loc at, std::string message, std::string help);

/// Thrown by a kernel function whose error is known: recording ends without a further error.
struct Reported {};

} // namespace penstock::lang

#endif // PENSTOCK_LANG_FRONTEND_H
