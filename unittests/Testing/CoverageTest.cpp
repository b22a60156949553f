//===- CoverageTest.cpp - Holes in the coverage of checks -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/check.h"
#include "penstock/penstock.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace penstock;

namespace covered {

/// Sums tiles of columns, with a condition and a mask.
struct Sums {
  int block = 32;
  static constexpr auto signature = "x[M,K], flags[M] -> y[M]";

  void operator()(Block &b, In<f32, 2> x, In<i32, 1> flags, Out<f32, 1> y) const {
    auto [M, K] = x.sizes();
    auto m = b.grid(M);
    auto t = b.local<f32>(block), sum = b.local<f32>(block);
    b.fill(sum, 0);
    for (Index k : b.pipelined(ceil_div(K, block), {.num_stages = 3})) {
      b.copy(x.at(m, k * block), t);
      b.set(sum, sum + where(t > 0, t, 0));
    }
    b.when(flags.load(m) > 0, [&] { b.fill(sum, 1); });
    b.parallel(1, [&](Index) {
      Var<f32> total(b, 0);
      for (Index i : b.range(block))
        total += b.load(sum, i);
      b.store(y.at(m), total);
    });
  }
};
PENSTOCK_KERNEL(Sums, block);

struct Waived : Sums {};
PENSTOCK_KERNEL(Waived, block);
PENSTOCK_WAIVE(Waived, {"b.when(flags.load(m) > 0", "flags are tested elsewhere"});
PENSTOCK_SHAPES(Waived, Shape{{"M", 3}, {"K", 100}});

struct OneShape : Sums {};
PENSTOCK_KERNEL(OneShape, block);
PENSTOCK_SHAPES(OneShape, Shape{{"M", 3}, {"K", 100}});

/// Divides the sum of a row among blocks, so that each has few tiles.
struct Divided {
  int block = 32, parts = 4;
  static constexpr auto signature = "x[K] -> y[P]";

  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto tiles = ceil_div(x.size(0), block);
    auto per = ceil_div(tiles, parts);
    auto part = b.grid(parts);
    auto t = b.local<f32>(block), sum = b.local<f32>(block);
    b.fill(sum, 0);
    for (Index k : b.pipelined(max(min(tiles - part * per, per), 0), {.num_stages = 3})) {
      b.copy(x.at((part * per + k) * block), t);
      b.set(sum, sum + t);
    }
    b.copy(sum, y.at(part * block));
  }
};
PENSTOCK_KERNEL(Divided, block);

} // namespace covered

namespace {

CheckOptions quick() {
  CheckOptions options;
  options.timings = 1;
  return options;
}

std::vector<std::string> holesOf(const CheckReport &report) {
  std::vector<std::string> result;
  for (const CheckedCoverage &coverage : report.coverage)
    for (const Diagnostic &hole : coverage.holes) {
      EXPECT_EQ(hole.code, 2203u);
      EXPECT_TRUE(hole.location.file.ends_with("CoverageTest.cpp"));
      EXPECT_GT(hole.location.line, 0u);
      result.push_back(hole.message);
    }
  return result;
}

using Holes = std::vector<std::string>;

TEST(Coverage, DefaultInputsLeaveNoHoles) {
  CheckReport report = check_registered("Sums", Target::sm_90a(), quick());
  EXPECT_EQ(holesOf(report), Holes());
  EXPECT_TRUE(report.sound()) << to_text(report);
}

/// The shape of a help `add a shape, e.g. --shape M=2,K=32`; empty: there is none.
Shape suggested(const Diagnostic &hole) {
  Shape shape;
  for (const std::string &help : hole.helps)
    if (size_t at = help.find("--shape ");
        at != std::string::npos && help.find('=') != std::string::npos)
      for (std::istringstream names(help.substr(at + 8)); names;) {
        std::string entry;
        if (std::getline(names, entry, ','))
          shape.emplace_back(entry.substr(0, entry.find('=')),
                             std::stoll(entry.substr(entry.find('=') + 1)));
      }
  return shape;
}

// Each hole that sizes can close names a shape, and with the shapes that are named the holes are
// gone. The condition depends on the data: it has no suggestion.
TEST(Coverage, SuggestedShapesCloseHoles) {
  CheckOptions options = quick();
  options.shapes = {{{"M", 1}, {"K", 32}}};
  // The loop's next hole is a pipeline that is never full: a second round closes it.
  for (int round = 0; round < 2; ++round) {
    CheckReport report = check_registered("Sums", Target::sm_90a(), options);
    for (const Diagnostic &hole : report.coverage.at(0).holes)
      if (Shape shape = suggested(hole); !shape.empty())
        options.shapes.push_back(shape);
      else
        EXPECT_NE(hole.message.find("the condition is never"), std::string::npos) << hole.message;
  }
  EXPECT_GT(options.shapes.size(), 4u);
  for (const std::string &hole : holesOf(check_registered("Sums", Target::sm_90a(), options)))
    EXPECT_NE(hole.find("the condition is never"), std::string::npos) << hole;
}

TEST(Coverage, HolesOfChosenShapesAreWarnings) {
  CheckOptions options = quick();
  options.shapes = {{{"M", 1}, {"K", 32}}};
  CheckReport report = check_registered("Sums", Target::sm_90a(), options);
  Holes holes = holesOf(report);
  EXPECT_EQ(holes.size(), 4u) << to_text(report);
  EXPECT_EQ(holes.at(0), "`Sums`: no run has more than one block along dimension 0 of the grid");
  EXPECT_EQ(holes.at(1), "`Sums`: the loop never runs twice");
  EXPECT_EQ(holes.at(2), "`Sums`: the copy never crosses the edge of `x` along dimension 1");
  EXPECT_TRUE(holes.at(3).starts_with("`Sums`: the condition is never ")) << holes.at(3);
  EXPECT_TRUE(report.sound()) << to_text(report);
}

TEST(Coverage, PipelinesAreFilled) {
  CheckOptions options = quick();
  options.shapes = {{{"M", 8}, {"K", 40}}};
  EXPECT_EQ(holesOf(check_registered("Sums", Target::sm_90a(), options)),
            Holes{"`Sums`: the loop never runs 3 times, so that its pipeline is never full"});
}

TEST(Coverage, HolesOfRegisteredShapesFail) {
  CheckOptions options = quick();
  options.inputs = {"flags=1..2"};
  CheckReport report = check_registered("OneShape", Target::sm_90a(), options);
  EXPECT_EQ(holesOf(report), Holes{"`OneShape`: the condition is never false"});
  EXPECT_FALSE(report.sound());
  EXPECT_NE(summary_of(report).find("wrong=0 findings=0 holes=1"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"holes\":1"), std::string::npos);
  EXPECT_NE(to_sarif(report).find("PS2203"), std::string::npos);
}

TEST(Coverage, ReasonsWaiveHoles) {
  CheckOptions options = quick();
  options.inputs = {"flags=1..2"};
  CheckReport registered = check_registered("Waived", Target::sm_90a(), options);
  EXPECT_TRUE(registered.sound()) << to_text(registered);
  EXPECT_NE(to_text(registered).find("the condition is never false: flags are tested elsewhere"),
            std::string::npos)
      << to_text(registered);
  options.waive = {{"b.when(flags", "not today"}};
  CheckReport stated = check_registered("OneShape", Target::sm_90a(), options);
  EXPECT_TRUE(stated.sound()) << to_text(stated);
  EXPECT_NE(summary_of(stated).find("findings=0 waived=1"), std::string::npos);
}

TEST(Coverage, LoopsThatTheGridLeavesShortGetLongerShapes) {
  // The longest of the grid has 7 tiles: 2 for each of 4 blocks, and 3 fill the pipeline.
  CheckReport report = check_registered("Divided", Target::sm_90a(), quick());
  EXPECT_TRUE(report.sound()) << to_text(report);
  EXPECT_EQ(report.shapes.back().shape.substr(0, 5), "K=448") << to_text(report);
}

TEST(Check, AKernelOfWhichNothingRanFails) {
  CheckOptions options = quick();
  options.seconds = 0;
  CheckReport report = check_registered("Sums", Target::sm_90a(), options);
  EXPECT_FALSE(report.sound());
  ASSERT_EQ(report.diagnostics.size(), 1u) << to_text(report);
  EXPECT_EQ(report.diagnostics[0].code, 2205u);
  EXPECT_NE(to_text(report).find("not made for lack of time"), std::string::npos);
  EXPECT_NE(summary_of(report).find("not_run="), std::string::npos);
}

} // namespace
