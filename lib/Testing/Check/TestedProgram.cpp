//===- TestedProgram.cpp - The tile program of a kernel under test --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Check/TestedProgram.h"
#include "Dialect/NV/NVDialect.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace penstock;

std::shared_ptr<TestedProgram>
TestedProgram::record(const penstock::detail::KernelSource &source,
                      std::vector<penstock::Diagnostic> &diagnostics) {
  std::shared_ptr<TestedProgram> result(new TestedProgram);
  result->owned = recordKernel(result->context.get(), source, {}, diagnostics);
  if (!result->owned)
    return nullptr;
  result->function = *result->owned->getOps<func::FuncOp>().begin();
  return result;
}

std::shared_ptr<TestedProgram> TestedProgram::load(const std::string &bytes) {
  std::shared_ptr<TestedProgram> result(new TestedProgram);
  result->owned =
      parseSourceString<ModuleOp>(bytes, ParserConfig(result->context.get(), /*verify=*/false));
  if (!result->owned)
    return nullptr;
  result->function = *result->owned->getOps<func::FuncOp>().begin();
  return result;
}

std::string TestedProgram::save() const {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  // Cannot fail: the current version is always supported.
  (void)writeBytecodeToFile(*owned, stream);
  return bytes;
}

bool TestedProgram::isExplicit() const { return nv::firstExplicit(function) != nullptr; }

InterpretResult TestedProgram::run(MadeArguments &made, const InterpretOptions &options) const {
  InterpretOptions quiet = options;
  quiet.print = [](std::string_view) {};
  return interpret(function, made.arguments, quiet);
}

std::string TestedProgram::text() const {
  std::string text;
  llvm::raw_string_ostream(text) << *owned;
  return text;
}
