//===- penstock-opt.cpp - Runs passes on text, for tests and study --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's driver, with one check before it: its parser recurses without a
// bound, so text that nests too deep is refused before it is parsed.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Pipelines.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/Language.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "penstock/diagnostics.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

/// Checks each part of a file that is split, as each is parsed by itself.
static bool isShallow(llvm::StringRef text, llvm::StringRef splitMarker, llvm::StringRef name) {
  unsigned line = 0;
  do {
    auto [part, rest] =
        splitMarker.empty() ? std::pair(text, llvm::StringRef()) : text.split(splitMarker);
    if (auto fault = penstock::tile::checkNesting(part); fault.line) {
      llvm::errs() << name << ":" << line + fault.line << ": error "
                   << penstock::codeName(penstock::TextTooDeep) << ": " << fault.message << "\n";
      return false;
    }
    line += unsigned(part.count('\n'));
    text = rest;
  } while (!text.empty());
  return true;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  penstock::registerPasses();
  mlir::DialectRegistry registry;
  penstock::registerDialects(registry);
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Penstock's optimizer driver\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  std::string error;
  auto file = mlir::openInputFile(input, &error);
  auto to = file ? mlir::openOutputFile(output, &error) : nullptr;
  if (!file || !to) {
    llvm::errs() << error << "\n";
    return EXIT_FAILURE;
  }
  if (!isShallow(file->getBuffer(), config.inputSplitMarker(), input) ||
      failed(mlir::MlirOptMain(to->os(), std::move(file), registry, config)))
    return EXIT_FAILURE;
  to->keep();
  return EXIT_SUCCESS;
}
