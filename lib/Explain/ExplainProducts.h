//===- ExplainProducts.h - Matmuls in native code ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EXPLAIN_EXPLAINPRODUCTS_H
#define PENSTOCK_EXPLAIN_EXPLAINPRODUCTS_H

#include "Diagnostics/Diagnostic.h"
#include "Target/X86/NativeCpu.h"
#include "mlir/IR/BuiltinOps.h"
#include "penstock/compile.h"

namespace penstock {

/// Describes each product of a kernel in native code: instructions, accumulator block in
/// registers, packing, cache blocking, and what bounds the loop. Empty if there is none.
std::string explainProducts(mlir::ModuleOp module, const std::string &kernel, Cpu cpu,
                            std::vector<Diagnostic> &diagnostics);

/// Describes each product in one line: shape, instruction, and what bounds its inner loop.
std::vector<std::string> productLines(mlir::ModuleOp module, const std::string &kernel,
                                      const NativeCpu &cpu, std::vector<Diagnostic> &diagnostics);

/// The reports of tile-lower-gemm (`penstock.products`) for instructions of \p cpu, in the
/// order of the products. Null, with diagnostics, if the program is invalid.
mlir::ArrayAttr productReports(mlir::ModuleOp module, const std::string &kernel,
                               const NativeCpu &cpu, std::vector<Diagnostic> &diagnostics);

/// Cycles of an instruction that multiplies, in a loop of nothing else.
double cyclesOfProduct(llvm::StringRef instruction);

} // namespace penstock

#endif // PENSTOCK_EXPLAIN_EXPLAINPRODUCTS_H
