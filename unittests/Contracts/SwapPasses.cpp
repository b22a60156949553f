//===- SwapPasses.cpp - Compile with two neighboring passes swapped -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// penstock-swap-passes TARGET FILE.mlir ..
//
// Compiles each program with the GPU pipeline, and once more for each two neighboring
// passes with these swapped. Prints a line for each pair, separated by tabs: the passes,
// the programs that a phase verifier rejects, those that give the same PTX, those that give
// other PTX or another error, and the rule of PassOrder.cpp that forbids the pair. Exits
// with 1 if a pair without a rule gives other PTX or another error.
//
//===----------------------------------------------------------------------===//
#include "Compiler/Compiler.h"
#include "Compiler/PassOrder.h"
#include "Compiler/Pipelines.h"
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "Target/NVPTX/LLVM/LaunchAttribute.h"
#include "Target/NVPTX/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdio>
#include <fstream>
#include <sstream>

using namespace mlir;
using namespace penstock;

namespace {

/// Divides the text of a pipeline, "builtin.module(a,func.func(b),c)", at its outermost commas.
std::vector<std::string> elementsOf(StringRef text) {
  text = text.drop_until([](char c) { return c == '('; }).drop_front().drop_back();
  std::vector<std::string> elements(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '(' || c == '{') - (c == ')' || c == '}');
    if (c == ',' && !depth)
      elements.emplace_back();
    else
      elements.back() += c;
  }
  return elements;
}

/// "func.func(nv-add-tiles)" as "nv-add-tiles".
std::string nameOf(StringRef element) {
  element.consume_front("func.func(");
  return element.take_until([](char c) { return c == ')' || c == '{'; }).str();
}

struct Outcome {
  enum Kind { Code, Phase, OtherError } kind = Code;
  std::string module, ptx, error;
};

class Program {
public:
  Program(const std::string &file, const hw::Architecture &architecture) {
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    std::vector<penstock::Diagnostic> found;
    program = parseProgram(context.get(), text.str(), file, found);
    if (!program)
      return;
    bool isExplicit = false;
    program->walk([&](func::FuncOp kernel) { isExplicit |= nv::firstExplicit(kernel) != nullptr; });
    PassManager passes(context.get());
    buildDevicePipeline(passes, architecture,
                        {.warpSpecialize = !isExplicit, .verifyPhases = true});
    std::string pipeline;
    llvm::raw_string_ostream os(pipeline);
    passes.printAsTextualPipeline(os);
    elements = elementsOf(pipeline);
    for (size_t i = 0; i < elements.size(); ++i)
      if (nameOf(elements[i]) != "nv-verify-phase")
        positions.push_back(i);
    reference = run(elements, nullptr);
  }

  bool compiles() const { return program && reference.kind == Outcome::Code; }
  size_t pairs() const { return positions.size() - 1; }
  std::string pair(size_t i) const {
    return nameOf(elements[positions[i]]) + "\t" + nameOf(elements[positions[i + 1]]);
  }
  /// The rule that a pair breaks if it is swapped.
  const OrderRule *rule(size_t i) const {
    std::string first = nameOf(elements[positions[i]]), second = nameOf(elements[positions[i + 1]]);
    return brokenRule({second, first});
  }

  Outcome swapped(size_t i) {
    std::vector<std::string> other = elements;
    std::swap(other[positions[i]], other[positions[i + 1]]);
    return run(other, &reference);
  }

  bool isReference(const Outcome &outcome) const {
    return outcome.module == reference.module || outcome.ptx == reference.ptx;
  }

private:
  /// Code is only generated if the module is not that of \p known.
  Outcome run(const std::vector<std::string> &list, const Outcome *known) {
    Outcome result;
    OwningOpRef<ModuleOp> module(program->clone());
    PassManager passes(context.get());
    std::vector<penstock::Diagnostic> found;
    LogicalResult ran = failure();
    {
      tile::DiagnosticCollector collector(context.get(), found, InternalError);
      if (succeeded(parsePassPipeline(llvm::join(list, ","), passes)))
        ran = passes.run(*module);
    }
    if (failed(ran)) {
      for (const penstock::Diagnostic &d : found)
        if (d.severity == Severity::Error && result.error.empty())
          result.error = d.message;
      bool phase = StringRef(result.error).contains("phase `") ||
                   StringRef(result.error).contains("requires `");
      result.kind = phase ? Outcome::Phase : Outcome::OtherError;
      return result;
    }
    llvm::raw_string_ostream os(result.module);
    module->print(os);
    if (known && result.module == known->module)
      return result;
    std::optional<DeviceKernel> kernel = launchDataOf(*module);
    result.ptx = kernel ? emitPtx(*module, *kernel, result.error) : "";
    if (result.ptx.empty())
      result.kind = Outcome::OtherError;
    return result;
  }

  PooledContext context;
  OwningOpRef<ModuleOp> program;
  std::vector<std::string> elements;
  std::vector<size_t> positions; ///< of passes other than verifiers
  Outcome reference;
};

struct Counts {
  size_t rejected = 0, same = 0, other = 0;
  const OrderRule *rule = nullptr;
  std::string example; ///< a program with other code, or another error
};

} // namespace

int main(int argc, char **argv) {
  const hw::Architecture *architecture = argc > 2 ? hw::findArchitecture(argv[1]) : nullptr;
  if (!architecture) {
    std::fprintf(stderr, "usage: penstock-swap-passes TARGET FILE.mlir ..\n");
    return 2;
  }
  registerPasses();
  std::vector<std::string> order;
  std::map<std::string, Counts> all;
  size_t programs = 0, others = 0;
  for (int i = 2; i < argc; ++i) {
    Program program(argv[i], *architecture);
    if (!program.compiles())
      continue; // not for this target
    ++programs;
    for (size_t pair = 0; pair < program.pairs(); ++pair) {
      std::string name = program.pair(pair);
      if (!all.count(name))
        order.push_back(name);
      Counts &counts = all[name];
      counts.rule = program.rule(pair);
      Outcome outcome = program.swapped(pair);
      if (outcome.kind == Outcome::Phase) {
        ++counts.rejected;
      } else if (outcome.kind == Outcome::Code && program.isReference(outcome)) {
        ++counts.same;
      } else {
        ++counts.other;
        counts.example = outcome.kind == Outcome::Code ? argv[i] : outcome.error;
      }
    }
    std::fprintf(stderr, "%d of %d\n", i - 1, argc - 2);
  }
  for (const std::string &name : order) {
    const Counts &counts = all[name];
    others += counts.rule ? 0 : counts.other;
    std::printf("%s\t%zu\t%zu\t%zu\t%s\n", name.c_str(), counts.rejected, counts.same, counts.other,
                counts.rule ? counts.rule->reason.data() : "");
    if (counts.other && !counts.rule)
      std::fprintf(stderr, "%s: %s\n", name.c_str(), counts.example.c_str());
  }
  std::printf("target=%s programs=%zu pairs=%zu unexplained=%zu\n", argv[1], programs, order.size(),
              others);
  return others ? 1 : 0;
}
