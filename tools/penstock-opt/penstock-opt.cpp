//===- penstock-opt.cpp - Runs passes on text, for tests and study --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/Pipelines.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  penstock::registerPasses();
  mlir::DialectRegistry registry;
  penstock::registerDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Penstock's optimizer driver\n", registry));
}
