//===- SpaceTest.cpp - Points of spaces and classes of shapes -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Kernels.h"
#include "Testing/Check/Shards.h"
#include "Tuning/Points.h"
#include "Tuning/ShapeClasses.h"

using namespace penstock;
using namespace penstock::tuning;
using namespace testing;

namespace {

std::vector<std::string> allPoints(const Points &points) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < points.size(); ++i)
    texts.push_back(tuning::textOf(points.fields(i)));
  return texts;
}

TEST(TuningSpace, AxesMultiplyAndTheLastRunsFastest) {
  std::vector<Diagnostic> diagnostics;
  auto kernel = findTunable("Scale", diagnostics);
  ASSERT_TRUE(kernel) << to_text(diagnostics);
  Points points(*kernel);
  EXPECT_THAT(allPoints(points),
              ElementsAre("block=32 factor=2 offset=0", "block=32 factor=3 offset=1",
                          "block=64 factor=2 offset=0", "block=64 factor=3 offset=1",
                          "block=128 factor=2 offset=0", "block=128 factor=3 offset=1"));
  EXPECT_EQ(points.defaultPoint(), 2u);
  auto *made = static_cast<Scale *>(points.make(5).get());
  (void)made;
  std::shared_ptr<void> object = points.make(5);
  EXPECT_EQ(static_cast<Scale *>(object.get())->block, 128);
  EXPECT_EQ(static_cast<Scale *>(object.get())->factor, 3);
  EXPECT_EQ(static_cast<Scale *>(object.get())->offset, 1);
  EXPECT_EQ(points.find({"128", "3", "1"}), 5u);
  EXPECT_EQ(points.find({"128", "3", "0"}), std::nullopt);
  EXPECT_EQ(points.find({"128", "3"}), std::nullopt);
}

TEST(TuningSpace, ADefaultOutsideOfTheSpaceIsACandidate) {
  auto kernel = detail::tunableOf(Scale{.block = 96}, "Scale", here());
  Points points(kernel);
  ASSERT_EQ(points.size(), 7u);
  EXPECT_EQ(points.defaultPoint(), 6u);
  std::shared_ptr<void> object = points.make(6);
  EXPECT_EQ(static_cast<Scale *>(object.get())->block, 96);
  EXPECT_EQ(points.find({"96", "2", "0"}), 6u);
}

TEST(TuningSpace, ConditionsAddUp) {
  auto kernel = detail::tunableOf(Scale{}, "Scale", here());
  Points points(kernel);
  auto allowed = [&](int block, int factor) {
    Scale scale{.block = block, .factor = factor};
    return points.allowed(&scale);
  };
  EXPECT_TRUE(allowed(32, 2));
  EXPECT_FALSE(allowed(32, 3));   // the first
  EXPECT_FALSE(allowed(1024, 2)); // the second
}

TEST(TuningSpace, DerivedKernelsHaveTheSpaceOfTheirBase) {
  std::vector<Diagnostic> diagnostics;
  auto kernel = findTunable("ScaleDerived", diagnostics);
  ASSERT_TRUE(kernel);
  Points points(*kernel);
  std::shared_ptr<void> object = points.make(5);
  EXPECT_EQ(static_cast<ScaleDerived *>(object.get())->block, 128);
  EXPECT_EQ(points.names()[0], "block");
}

struct Empty : Scale {
  static auto space() { return Space<Empty>().over(&Empty::block, {}); }
};
struct Huge : Scale {
  static auto space() {
    Space<Huge> space;
    for (int i = 0; i < 3; ++i)
      space.over([](Huge &k) -> int & { return k.block; },
                 {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                  17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
                  33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
                  49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62});
    return space;
  }
};
struct Twice : Scale {
  static auto space() {
    return Space<Twice>().over(&Twice::block, {1, 2}).over(&Twice::block, {3});
  }
};

TEST(TuningSpace, ImpossibleSpacesAreErrors) {
  auto messageOf = [](auto kernel) {
    TuneReport report = tune(kernel, Target::native(), {{"N", 64}});
    EXPECT_EQ(report.diagnostics.size(), 1u);
    EXPECT_EQ(report.diagnostics[0].code, TuneSpace);
    EXPECT_FALSE(report.diagnostics[0].helps.empty());
    EXPECT_GT(report.diagnostics[0].location.line, 0u);
    return report.diagnostics[0].message;
  };
  EXPECT_THAT(messageOf(Empty()), HasSubstr("has no values"));
  EXPECT_THAT(messageOf(Huge()), HasSubstr("more than 200000 points"));
  EXPECT_THAT(messageOf(Twice()), HasSubstr("two axes"));
  TuneReport without = tune_registered("Unspaced", Target::native(), {{"N", 64}});
  ASSERT_EQ(without.diagnostics.size(), 1u);
  EXPECT_EQ(without.diagnostics[0].code, TuneSpace);
  EXPECT_THAT(tunable_kernels(), AllOf(Contains("Scale"), Not(Contains("Unspaced"))));
}

std::string classOf(const std::string &classes, const Sizes &sizes) {
  std::vector<Diagnostic> diagnostics;
  auto parsed = ShapeClasses::parse(classes, "A[M,K], B[N,K] -> C[M,N]", {}, diagnostics);
  auto found = parsed ? parsed->of(sizes, diagnostics) : std::nullopt;
  return found ? *found : diagnostics.at(0).message;
}

TEST(TuningClasses, ShapesBetweenPowersOfTwoShareAClass) {
  Sizes shape = {{"M", 4095}, {"N", 512}, {"K", 64}};
  EXPECT_EQ(classOf("M:log2, N, K", shape), "M=2^11 N=512 K=64");
  EXPECT_EQ(classOf("", shape), "M=4095 K=64 N=512");
  EXPECT_EQ(classOf("N", shape), "N=512");
  shape["M"] = 4096;
  EXPECT_EQ(classOf(" M:log2 ,N", shape), "M=2^12 N=512");
  shape["M"] = 0;
  EXPECT_EQ(classOf("M:log2", shape), "M=2^-1");
}

TEST(TuningClasses, WrongTextsAndShapesAreErrors) {
  EXPECT_THAT(classOf("M:log3", {}), HasSubstr("is not a class of sizes"));
  EXPECT_THAT(classOf("Q", {}), HasSubstr("has no size `Q`"));
  EXPECT_THAT(classOf("M,,N", {}), HasSubstr("has no size ``"));
  EXPECT_THAT(classOf("M, M", {}), HasSubstr("twice"));
  EXPECT_THAT(classOf("M", {{"N", 1}}), HasSubstr("has no size `M`"));
}

TEST(TuningClasses, TheNearestClassHasTheLeastRatioOfSizes) {
  std::vector<Diagnostic> diagnostics;
  auto classes = ShapeClasses::parse("M:log2, N", "A[M,K], B[N,K] -> C[M,N]", {}, diagnostics);
  Sizes shape = {{"M", 4096}, {"N", 1000}};
  EXPECT_EQ(classes->distance(shape, "M=2^12 N=1000"), 0);
  EXPECT_EQ(classes->distance(shape, "M=2^10 N=1000"), 2);
  EXPECT_LT(classes->distance(shape, "M=2^12 N=1100"), classes->distance(shape, "M=2^12 N=500"));
  for (const char *other :
       {"M=2^12", "N=1000 M=2^12", "M=4096 N=1000", "M=2^12 N=1000 K=1", "", "M=2^x N=1000", "any"})
    EXPECT_TRUE(std::isinf(classes->distance(shape, other))) << other;
}

TEST(TuningShards, EachItemBelongsToExactlyOneShard) {
  for (unsigned shards : {1u, 2u, 7u, 64u}) {
    std::vector<int> sizes(shards, 0);
    for (int item = 0; item < 500; ++item) {
      int owners = 0;
      for (unsigned shard = 0; shard < shards; ++shard)
        if (inShard("item " + std::to_string(item), shard, shards)) {
          ++owners;
          ++sizes[shard];
        }
      EXPECT_EQ(owners, 1);
    }
    // 500 items: none of 7 shards or fewer is far from its share.
    if (shards <= 7)
      for (int size : sizes)
        EXPECT_NEAR(size, 500.0 / shards, 40);
  }
}

} // namespace
