//===- expect.h - A wrong program and what its author is told ---*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each file of this folder is one error. It ends with the whole text that
// the user must read, as comment lines that start with "EXPECT:"; the program
// is run and the text compared, to the last character:
//
//   WRONG_PROGRAM { compile(Kernel{}, Target::native()); }
//
//   // EXPECT: gemm-inner-sizes.cpp:16: error PS1102: the inner sizes ...
//
// The text is written from what a user needs: the line of the error, the
// user's own names, the cause and a fix. If a message changes, read the new
// one as its reader would before changing what is expected.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TEST_DIAGNOSTICS_EXPECT_H
#define PENSTOCK_TEST_DIAGNOSTICS_EXPECT_H

#include <penstock/penstock.h>

#include <stdexcept>
#include <vector>

namespace diagnostics {

struct Registration {
  Registration(const char *file, void (*run)());
};

/// Runs a program that throws nothing but returns its diagnostics.
void expectDiagnostics(const std::vector<penstock::Diagnostic> &diagnostics);

} // namespace diagnostics

/// The body of the file's one wrong program; it ends in a penstock::Error.
#define WRONG_PROGRAM                                                                              \
  static void wrongProgram();                                                                      \
  static const diagnostics::Registration registration(__FILE__, wrongProgram);                     \
  static void wrongProgram()

using namespace penstock;

#endif // PENSTOCK_TEST_DIAGNOSTICS_EXPECT_H
