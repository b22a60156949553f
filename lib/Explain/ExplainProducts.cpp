//===- ExplainProducts.cpp - Matmuls in native code -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Explain/ExplainProducts.h"
#include "Compiler/Pipelines.h"
#include "Compiler/RunPasses.h"
#include "Dialect/Tile/Locations.h"
#include "Transforms/Launch/KernelAbi.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace penstock;

namespace {

/// Cycles of an instruction and of the loads of its operands from L1, in a loop of nothing else.
/// Tiles: Intel's optimization manual; the others: measured on Emerald Rapids, 512 bits.
struct Cycles {
  double product, load;
};

Cycles cyclesOf(StringRef instruction) {
  return llvm::StringSwitch<Cycles>(instruction)
      .StartsWith("tdp", {16, 8})
      .Case("vdpbf16ps", {2, 0.5})
      .Case("vpmulld", {1, 0.5})
      .Default({0.5, 0.5});
}

/// Bytes that one core reads from L2, and from beyond it, in a cycle.
constexpr double l2BytesPerCycle = 48, memoryBytesPerCycle = 8;

class Product {
public:
  Product(DictionaryAttr report, const NativeCpu &cpu) : report(report), cpu(cpu) {}

  std::string describe() {
    StringRef instruction = text("instruction");
    SourceLocation at = tile::sourceLocationOf(report.getAs<LocationAttr>("location"));
    std::string type;
    llvm::raw_string_ostream(type) << report.getAs<TypeAttr>("element").getValue();
    std::string result =
        llvm::formatv("product {0}:{1}: {2} x {3} x {4}, {5}, by {6}\n",
                      StringRef(at.file).substr(at.file.find_last_of('/') + 1), at.line,
                      number("m"), number("n"), number("k"), type, instruction);
    auto line = [&](StringRef name, const Twine &what) {
      result += llvm::formatv("  {0,-10} {1}\n", name, what.str());
    };
    line("registers", Twine(number("rows")) + " x " + Twine(number("columns")) + " sums in " +
                          Twine(number("products")) + (isTiles() ? " tiles" : " vectors") +
                          ", over all of K");
    line("A", text("left"));
    line("B", text("right"));
    SmallVector<StringRef, 3> sums;
    if (flag("starts_as_zero"))
      sums.push_back("start as zero in registers");
    if (flag("packed_sums"))
      sums.push_back("are in blocks of 4 KB between iterations");
    if (flag("ends_in_tensor"))
      sums.push_back(flag("stores_later")
                         ? "the last iteration stores them in the tensor where it is whole, while "
                           "the next block is multiplied, past the caches from 4 MB on"
                         : "the last iteration stores them in the tensor where it is whole");
    if (!sums.empty())
      line("sums", llvm::join(sums, "; "));
    if (flag("prefetches"))
      line("prefetch", "the next columns of B, into L2");
    int64_t strip = number("strip_bytes"), both = number("left_bytes") + number("right_bytes");
    int64_t rows = number("left_bytes") / number("m") * number("rows");
    int64_t chunk = number("chunk_columns");
    if (flag("by_rows"))
      line("L1", Twine(number("rows")) + " rows of A, " + size(rows) + ", used by " +
                     (chunk < number("n") ? std::to_string(chunk) : "all") +
                     " columns of B one after the other: " + fits(rows, cpu.l1Bytes, "L1"));
    else
      line("L1",
           Twine(number("columns")) + " columns of B, " + size(strip) +
               ", used by all rows of A one after the other: " + fits(strip, cpu.l1Bytes, "L1"));
    if (flag("by_rows") && chunk < number("n")) {
      int64_t bytes = number("right_bytes") / number("n") * chunk;
      line("L2", Twine(chunk) + " columns of B at a time, " + size(bytes) +
                     ", used by all rows of A: " + fits(bytes, cpu.l2Bytes, "L2"));
    } else {
      line("L2", "both operands, " + size(both) + ": " + fits(both, cpu.l2Bytes, "L2"));
    }
    line("bound", bound());
    return result;
  }

  /// "128 x 128 x 64 f16 (kernel.h:42): tdpbf16ps, bound by multiplication".
  std::string brief() {
    SourceLocation at = tile::sourceLocationOf(report.getAs<LocationAttr>("location"));
    std::string type;
    llvm::raw_string_ostream(type) << report.getAs<TypeAttr>("element").getValue();
    // The details of the bound follow a colon or comma.
    std::string limit = bound();
    return llvm::formatv(
        "{0} x {1} x {2} {3} ({4}:{5}): {6}, inner loop bound by {7}; operands {8}", number("m"),
        number("n"), number("k"), type, StringRef(at.file).substr(at.file.find_last_of('/') + 1),
        at.line, text("instruction"), limit.substr(0, limit.find_first_of(":,")),
        fits(number("left_bytes") + number("right_bytes"), cpu.l2Bytes, "L2"));
  }

private:
  int64_t number(StringRef name) { return report.getAs<IntegerAttr>(name).getInt(); }
  StringRef text(StringRef name) { return report.getAs<StringAttr>(name).getValue(); }
  bool flag(StringRef name) { return report.getAs<BoolAttr>(name).getValue(); }
  bool isTiles() { return text("instruction").starts_with("tdp"); }

  static std::string size(int64_t bytes) {
    if (bytes < 1024)
      return std::to_string(bytes) + " bytes";
    return llvm::formatv("{0} KB", (bytes + 512) / 1024);
  }
  static std::string fits(int64_t bytes, int64_t limit, StringRef cache) {
    return llvm::formatv("{0} {1} of {2}", bytes <= limit ? "within" : "more than the", size(limit),
                         cache);
  }

  /// Compares what a step of the loop over K keeps busy: the unit that multiplies, loads from L1,
  /// and what comes from the outer caches.
  std::string bound() {
    Cycles cycles = cyclesOf(text("instruction"));
    int64_t products = number("products"), loads = number("left_loads") + number("right_loads");
    double multiply = cycles.product * double(products), load = cycles.load * double(loads);
    std::string step =
        llvm::formatv("a step has {0} products, {1:f1} cycles, and {2} loads, {3:f1}", products,
                      multiply, loads, load);
    // With one block of rows, no byte of B is used again.
    if (number("rows") == number("m")) {
      double steps = double(number("strip_bytes")) / rightBytesOfStep();
      double perStep = double(number("strip_bytes")) / steps / memoryBytesPerCycle;
      if (perStep > std::max(multiply, load))
        return llvm::formatv("memory, where B comes from beyond L2: {0}, and {1} of B, {2:f0}",
                             step, size(rightBytesOfStep()), perStep);
    }
    if (load > multiply)
      return "loads from L1: " + step;
    bool byRows = flag("by_rows");
    int64_t streamed = byRows ? rightBytesOfStep() : leftBytesOfStep();
    double outer = double(streamed) / l2BytesPerCycle;
    if (outer > multiply)
      return llvm::formatv("L2: {0}, and {1} of {2} from L2, {3:f1}", step, size(streamed),
                           byRows ? "B" : "A", outer);
    return "multiplication: " + step;
  }

  int64_t leftBytesOfStep() { return isTiles() ? number("left_loads") * 1024 : number("rows") * 4; }
  int64_t rightBytesOfStep() { return number("right_loads") * (isTiles() ? 1024 : 64); }

  DictionaryAttr report;
  const NativeCpu &cpu;
};

} // namespace

double penstock::cyclesOfProduct(StringRef instruction) { return cyclesOf(instruction).product; }

ArrayAttr penstock::productReports(ModuleOp module, const std::string &kernel, const NativeCpu &cpu,
                                   std::vector<penstock::Diagnostic> &diagnostics) {
  OwningOpRef<ModuleOp> copy(module.clone());
  for (auto function : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (function.getName() != kernel)
      function.erase();
  PassManager passes(copy->getContext());
  NativePipelineOptions options;
  options.cpu = cpu;
  options.report = true;
  buildNativeLoopPipeline(passes, options);
  if (!runPasses(passes, *copy, {}, diagnostics))
    return {};
  SmallVector<Attribute> all;
  for (auto function : copy->getOps<func::FuncOp>())
    if (auto reports = function->getAttrOfType<ArrayAttr>(abi::productsAttr))
      llvm::append_range(all, reports);
  return ArrayAttr::get(module.getContext(), all);
}

std::vector<std::string> penstock::productLines(ModuleOp module, const std::string &kernel,
                                                const NativeCpu &cpu,
                                                std::vector<penstock::Diagnostic> &diagnostics) {
  std::vector<std::string> lines;
  if (ArrayAttr reports = productReports(module, kernel, cpu, diagnostics))
    for (auto report : reports.getAsRange<DictionaryAttr>())
      lines.push_back(Product(report, cpu).brief());
  return lines;
}

std::string penstock::explainProducts(ModuleOp module, const std::string &kernel, Cpu cpu,
                                      std::vector<penstock::Diagnostic> &diagnostics) {
  SourceLocation location = tile::sourceLocationOf(module.lookupSymbol(kernel)->getLoc());
  auto found = nativeCpuFor(cpu, kernel, location, diagnostics);
  ArrayAttr reports = found ? productReports(module, kernel, *found, diagnostics) : ArrayAttr();
  if (!reports)
    return "";
  std::string text;
  for (auto report : reports.getAsRange<DictionaryAttr>())
    text += Product(report, *found).describe();
  return text;
}
