//===- LocationsTest.cpp - Source locations of MLIR's locations --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/Locations.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using penstock::SourceLocation;
using penstock::tile::sourceLocationOf;

namespace {

class Locations : public ::testing::Test {
protected:
  MLIRContext context;
  Builder builder{&context};

  Location at(StringRef file, unsigned line, unsigned column = 0) {
    return FileLineColLoc::get(&context, file, line, column);
  }
  Location named(Location child) { return NameLoc::get(builder.getStringAttr("name"), child); }
  Location unknown() { return UnknownLoc::get(&context); }
};

TEST_F(Locations, FilesAndNames) {
  EXPECT_EQ(sourceLocationOf(at("a.cpp", 3, 7)), (SourceLocation{"a.cpp", 3, 7}));
  EXPECT_EQ(sourceLocationOf(named(named(at("a.cpp", 3)))), (SourceLocation{"a.cpp", 3, 0}));
  EXPECT_EQ(sourceLocationOf(FileLineColRange::get(builder.getStringAttr("r.cpp"), 4, 5, 6, 7)),
            (SourceLocation{"r.cpp", 4, 5}));
  EXPECT_FALSE(sourceLocationOf(unknown()).known());
  EXPECT_FALSE(sourceLocationOf(named(unknown())).known());
}

TEST_F(Locations, TheOutermostCallerComesFirst) {
  Location inner = CallSiteLoc::get(at("helper.h", 1), at("middle.h", 2));
  Location outer = CallSiteLoc::get(inner, named(at("kernel.cpp", 3)));
  EXPECT_EQ(sourceLocationOf(outer), (SourceLocation{"kernel.cpp", 3, 0}));
  // The same nested on the caller's side.
  Location deep =
      CallSiteLoc::get(at("helper.h", 1), CallSiteLoc::get(at("middle.h", 2), at("kernel.cpp", 3)));
  EXPECT_EQ(sourceLocationOf(deep), (SourceLocation{"kernel.cpp", 3, 0}));
  // An unknown caller is of no use to anyone.
  EXPECT_EQ(sourceLocationOf(CallSiteLoc::get(at("helper.h", 1), unknown())),
            (SourceLocation{"helper.h", 1, 0}));
}

TEST_F(Locations, FusedTakesTheFirstThatIsKnown) {
  Location fused = FusedLoc::get(&context, {named(unknown()), at("b.cpp", 5), at("c.cpp", 6)});
  EXPECT_EQ(sourceLocationOf(fused), (SourceLocation{"b.cpp", 5, 0}));
}

} // namespace
