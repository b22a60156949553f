//===- expand.cpp - How long a pipeline takes to check and write out ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pipelining/check-and-expand-100   a loop of 100 statements on 30 tiles in 4
//                                   stages: analysis, check of the schedule,
//                                   versions, expansion; milliseconds, and the
//                                   limit that we hold ourselves to
//
//===----------------------------------------------------------------------===//
#include "../native/Measure.h"
#include "Compiler/Compiler.h"
#include "LargeLoop.h"
#include "Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace penstock;

int main(int argc, char **argv) {
  auto name = "pipelining/check-and-expand-100";
  if (!bench::wanted(argc, argv, name))
    return 0;
  PooledContext context;
  std::vector<Diagnostic> diagnostics;
  auto program = parseProgram(context.get(), largeLoop(100, 30, 4), "large.mlir", diagnostics);
  bool ok = bool(program);
  double ms = !ok ? 0 : 1e3 * bench::bestAlone([&] {
                          mlir::OwningOpRef<mlir::ModuleOp> copy = program->clone();
                          mlir::PassManager passes(context.get());
                          passes.addNestedPass<mlir::func::FuncOp>(createResolveSchedules());
                          passes.addNestedPass<mlir::func::FuncOp>(createExpandPipelines());
                          ok &= mlir::succeeded(passes.run(*copy));
                        });
  if (!ok) {
    std::fprintf(stderr, "%s: the loop was refused\n", name);
    return 1;
  }
  constexpr double limit = 100;
  bench::line(name, ms, limit, ms / limit, "ms (limit)");
}
