//===- launch-argument-count.cpp - Too few arguments for a kernel ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "expect.h"

#include <penstock/inspect.h>

namespace {
const char *const text = R"(
func.func @scale(%n: index, %x: f32) attributes {tile.kernel} {
  tile.print "{} {}" %n, %x : index, f32
  return
})";
} // namespace

WRONG_PROGRAM {
  std::vector<Diagnostic> diagnostics;
  AnyKernel scale = compile_text(text, "scale.mlir", "scale", {}, diagnostics);
  diagnostics::expectDiagnostics(scale.launch({}));
}

// EXPECT: scale.mlir:2: error PS1301: `scale` takes 2 arguments and is given 0
