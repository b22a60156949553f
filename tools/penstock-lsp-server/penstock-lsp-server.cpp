//===- penstock-lsp-server.cpp - Tile programs in an editor ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's server. It parses what the editor sends with a recursive parser and
// offers no place for a check before that, so it runs on a thread whose stack is
// large enough for text that no one writes on purpose.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Pipelines.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/thread.h"

/// Pages are only taken as they are touched.
static constexpr unsigned stackBytes = 1u << 30;

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  penstock::registerDialects(registry);
  bool ok = false;
  llvm::thread server(std::optional<unsigned>(stackBytes),
                      [&] { ok = succeeded(mlir::MlirLspServerMain(argc, argv, registry)); });
  server.join();
  return ok ? 0 : 1;
}
