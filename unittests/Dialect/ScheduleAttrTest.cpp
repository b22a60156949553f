//===- ScheduleAttrTest.cpp - Depths of pipelined loops -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "penstock/loops.h"
#include "gtest/gtest.h"

using namespace penstock;

namespace {

class ScheduleAttr : public ::testing::Test {
protected:
  ScheduleAttr() { context.loadDialect<tile::TileDialect>(); }

  /// Null if the text is rejected.
  tile::ScheduleAttr parse(const std::string &stages) {
    mlir::ScopedDiagnosticHandler quiet(&context,
                                        [](mlir::Diagnostic &) { return mlir::success(); });
    return llvm::dyn_cast_if_present<tile::ScheduleAttr>(
        mlir::parseAttribute("#tile.schedule<num_stages = " + stages + ">", &context));
  }

  mlir::MLIRContext context;
};

TEST_F(ScheduleAttr, AutoIsNoDepth) {
  tile::ScheduleAttr automatic = parse("auto");
  ASSERT_TRUE(automatic);
  EXPECT_TRUE(automatic.isAuto());
  EXPECT_EQ(automatic.getNumStages(), Auto); // as headers pass it
  std::string text;
  llvm::raw_string_ostream(text) << automatic;
  EXPECT_EQ(text, "#tile.schedule<num_stages = auto>");
  ASSERT_TRUE(parse("3"));
  EXPECT_FALSE(parse("3").isAuto());
}

TEST_F(ScheduleAttr, NegativeDepthsAreRejected) {
  for (const char *stages : {"-1", "-2", "-2147483647", "0"})
    EXPECT_FALSE(parse(stages)) << stages;
}

} // namespace
