//===- Harness.cpp - Running tile programs in tests -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "Dialect/Tile/Language.h"
#include "Dialect/Tile/TileDialect.h"
#include "Runtime/KernelInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace penstock::test {

const char *mlirName(Element element) {
  switch (element) {
  case Element::f8e4m3:
    return "f8E4M3FN";
  case Element::f8e5m2:
    return "f8E5M2";
  case Element::i1:
    return "i1";
  default:
    return nameOf(element);
  }
}

const char *shortName(Element element) {
  if (element == Element::f8e4m3)
    return "e4m3";
  if (element == Element::f8e5m2)
    return "e5m2";
  return mlirName(element);
}

/// All on one line, so that the program's own lines keep their numbers.
static std::string preamble() {
  std::string text = "#s = #tile.space<shared> #l = #tile.space<local> "
                     "#g = #tile.space<global> ";
  for (int element = 0; element < static_cast<int>(Element::index); ++element) {
    std::string sizes, strides = "1";
    for (int rank = 1; rank <= 3; ++rank) {
      sizes += "?x";
      text += "!g" + std::to_string(rank) + shortName(Element(element)) + " = memref<" + sizes +
              mlirName(Element(element)) + ", strided<[" + strides + "]>, #tile.space<global>> ";
      strides = "?, " + strides;
    }
  }
  return text;
}

/// Null if the text is not a program.
static OwningOpRef<ModuleOp> parse(MLIRContext &context, const std::string &text,
                                   bool models = true) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, tile::TileDialect>();
  if (models)
    registerInterpreterModels(registry);
  context.appendDialectRegistry(registry);
  ParserConfig config(&context);
  auto module = parseSourceString<ModuleOp>(preamble() + text, config, "kernel.mlir");
  if (module && failed(tile::verifyLanguage(*module)))
    module = nullptr;
  return module;
}

Program::Program(std::string text) : module(parse(context, text)) {
  if (!module)
    ADD_FAILURE() << "the program is not valid:\n" << text;
}

InterpretResult runWithoutModels(std::string text) {
  MLIRContext context;
  auto module = parse(context, text, /*models=*/false);
  if (!module)
    return {};
  return interpret(*module->getOps<func::FuncOp>().begin(), {});
}

std::string refusal(std::string text) {
  MLIRContext context;
  std::string first;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &error) {
    if (first.empty())
      first = error.str();
    return success();
  });
  bool valid = static_cast<bool>(parse(context, text));
  EXPECT_EQ(valid, first.empty());
  return first;
}

InterpretResult Program::run(std::vector<detail::Argument> arguments,
                             const InterpretOptions &options) {
  if (!module)
    return {};
  return interpret(*module->getOps<func::FuncOp>().begin(), arguments, options);
}

void Program::runClean(std::vector<detail::Argument> arguments, const InterpretOptions &options) {
  EXPECT_EQ(summary(run(std::move(arguments), options)), "");
}

void runClean(std::string text, std::vector<detail::Argument> arguments,
              const InterpretOptions &options) {
  Program(std::move(text)).runClean(std::move(arguments), options);
}

InterpretResult run(std::string text, std::vector<detail::Argument> arguments,
                    const InterpretOptions &options) {
  return Program(std::move(text)).run(std::move(arguments), options);
}

std::string replaceAll(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string withElement(std::string text, Element element) {
  for (const char *rank : {"!g1", "!g2", "!g3"})
    text = replaceAll(text, std::string(rank) + "T", rank + std::string(shortName(element)));
  text = replaceAll(text, "xT,", "x" + std::string(mlirName(element)) + ",");
  return replaceAll(text, ": T", ": " + std::string(mlirName(element)));
}

std::string binaryText(const std::string &op, Element in, Element out, const std::string &suffix) {
  std::string text = R"(
func.func @binary(%A: !g1IN, %B: !g1IN, %C: !g1OUT) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c0 : !g1IN
  scf.for %i = %c0 to %n step %c1 {
    %a = tile.load %A[%i] : !g1IN -> TIN
    %b = tile.load %B[%i] : !g1IN -> TIN
    %c = OP %a, %b : SUFFIX
    tile.store %c, %C[%i] : TOUT, !g1OUT
  }
  return
})";
  text = replaceAll(text, "TIN", mlirName(in));
  text = replaceAll(text, "TOUT", mlirName(out));
  text = replaceAll(text, "!g1IN", std::string("!g1") + shortName(in));
  text = replaceAll(text, "!g1OUT", std::string("!g1") + shortName(out));
  text = replaceAll(text, "SUFFIX", suffix);
  return replaceAll(text, "OP", op);
}

std::string unaryText(const std::string &op, Element in, Element out, const std::string &suffix) {
  std::string text = binaryText(op, in, out, suffix);
  return replaceAll(text, "%a, %b", "%a");
}

std::string summary(const InterpretResult &result) {
  std::string text;
  for (const penstock::Diagnostic &fault : result.faults)
    text += codeName(fault.code) + " at " +
            (fault.location.known() ? std::to_string(fault.location.line - 1) : "?") + ": " +
            fault.message + "\n";
  return text;
}

} // namespace penstock::test
