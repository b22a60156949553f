//===- LargeLoopTest.cpp - Large loops are checked in little time ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LargeLoop.h"
#include "Analysis/Loop/PipelineLoop.h"
#include "Compiler/Compiler.h"
#include "Scheduling/Problem/LoopModel.h"
#include "Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace penstock;

namespace {

TEST(LargeLoop, IsCheckedAndWrittenOutInLittleTime) {
  PooledContext context;
  std::vector<penstock::Diagnostic> diagnostics;
  auto program = parseProgram(context.get(), largeLoop(100, 30, 4), "large.mlir", diagnostics);
  ASSERT_TRUE(program) << to_text(diagnostics);
  program->walk([](mlir::scf::ForOp loop) {
    PipelineLoop body = analyzeLoop(loop);
    EXPECT_EQ(body.statements.size(), 100u);
    EXPECT_EQ(body.buffers.size(), 32u); // 30 tiles, 2 tensors
    EXPECT_EQ(resolveSchedule(body).schedule->numStages(), 4);
    EXPECT_GE(sched::LoopModel(body.problem).pairs.size(), 300u);
  });
  mlir::PassManager passes(context.get());
  passes.addNestedPass<mlir::func::FuncOp>(createResolveSchedules());
  passes.addNestedPass<mlir::func::FuncOp>(createExpandPipelines());
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(mlir::succeeded(passes.run(*program)));
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  // Ten times the limit of the benchmark: for slow builds on busy machines.
  EXPECT_LT(time.count(), 1.0);
  int loops = 0;
  program->walk([&](mlir::scf::ForOp) { ++loops; });
  EXPECT_EQ(loops, 2); // steady, tail
}

} // namespace
