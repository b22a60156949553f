//===- RunPassesTest.cpp - Refusals and failures of passes ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compiler/RunPasses.h"
#include "Diagnostics/Codes.h"
#include "Dialect/Tile/DiagnosticBridge.h"
#include "mlir/Pass/Pass.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace penstock;

namespace {

/// Does to the program what a test says.
class TestPass : public mlir::PassWrapper<TestPass, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestPass)
  using Work = std::function<bool(mlir::ModuleOp)>;
  explicit TestPass(Work work) : work(std::move(work)) {}
  llvm::StringRef getArgument() const override { return "test-pass"; }
  void runOnOperation() override {
    if (!work(getOperation()))
      signalPassFailure();
  }

private:
  Work work;
};

class RunPassesTest : public ::testing::Test {
protected:
  PooledContext context;
  std::vector<penstock::Diagnostic> diagnostics;
  std::string reproducer = (std::filesystem::temp_directory_path() /
                            ("penstock-reproducer-" + std::to_string(getpid()) + ".mlir"))
                               .string();

  void SetUp() override { std::filesystem::remove(reproducer); }
  void TearDown() override { std::filesystem::remove(reproducer); }

  bool run(TestPass::Work work) {
    auto module = parseProgram(context.get(), "func.func @k() attributes {tile.kernel} { return }",
                               "k.mlir", diagnostics);
    EXPECT_TRUE(module);
    mlir::PassManager passes(module->getOperation()->getName());
    passes.addPass(std::make_unique<TestPass>(std::move(work)));
    BackendOptions options;
    options.reproducer = reproducer;
    return runPasses(passes, *module, options, diagnostics);
  }

  std::string written() {
    std::ifstream in(reproducer);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(RunPassesTest, SuccessSaysNothing) {
  EXPECT_TRUE(run([](mlir::ModuleOp) { return true; }));
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(written(), "");
}

TEST_F(RunPassesTest, RefusalIsNoInternalError) {
  EXPECT_FALSE(run([](mlir::ModuleOp module) {
    tile::emitCoded(module, ShapeMismatch) << "refused";
    return false;
  }));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, ShapeMismatch);
  EXPECT_EQ(written(), "");
}

// A conversion whose pattern refuses an operation adds that it is still illegal.
TEST_F(RunPassesTest, WhatUpstreamAddsToARefusalIsLeftOut) {
  EXPECT_FALSE(run([](mlir::ModuleOp module) {
    mlir::emitWarning(module.getLoc()) << "before";
    tile::emitCoded(module, ShapeMismatch) << "refused";
    mlir::emitError(module.getLoc()) << "failed to legalize operation";
    return false;
  }));
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics[0].message, "before");
  EXPECT_EQ(diagnostics[1].code, ShapeMismatch);
  EXPECT_EQ(written(), "");
}

TEST_F(RunPassesTest, SilentFailureIsReproducible) {
  EXPECT_FALSE(run([](mlir::ModuleOp module) {
    module->setAttr("changed", mlir::UnitAttr::get(module.getContext()));
    return false;
  }));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, InternalError);
  EXPECT_NE(diagnostics[0].message.find("without saying why"), std::string::npos);
  EXPECT_NE(diagnostics[0].helps.back().find(reproducer), std::string::npos);
  EXPECT_NE(written().find("func.func @k()"), std::string::npos) << written();
  EXPECT_NE(written().find("test-pass"), std::string::npos) << written();
  EXPECT_EQ(written().find("changed"), std::string::npos) << "the program as it was before";
}

TEST_F(RunPassesTest, ErrorOfUpstreamIsReproducible) {
  EXPECT_FALSE(run([](mlir::ModuleOp module) {
    mlir::emitError(module.getLoc()) << "a pattern failed";
    return false;
  }));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, InternalError);
  EXPECT_NE(written().find("func.func @k()"), std::string::npos);
}

TEST_F(RunPassesTest, CrashIsReproducible) {
  EXPECT_FALSE(run([](mlir::ModuleOp) -> bool { std::abort(); }));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].code, InternalError);
  EXPECT_NE(diagnostics[0].message.find("a pass crashed"), std::string::npos);
  EXPECT_NE(written().find("func.func @k()"), std::string::npos);
}

} // namespace
