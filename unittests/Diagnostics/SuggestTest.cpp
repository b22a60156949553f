//===- SuggestTest.cpp - "did you mean" -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Suggest.h"

#include <gtest/gtest.h>

using namespace penstock;

TEST(Suggest, SlipsOfThePen) {
  std::vector<std::string> known = {"--shape", "--seed", "--target", "--timings"};
  EXPECT_EQ(closestName("--shap", known), "--shape");
  EXPECT_EQ(closestName("--shpae", known), "--shape"); // two letters exchanged
  EXPECT_EQ(closestName("--Target", known), "--target");
  EXPECT_EQ(closestName("--timing", known), "--timings");
  EXPECT_EQ(closestName("--arch", known), "");
  EXPECT_EQ(closestName("", known), "");
  EXPECT_EQ(closestName("x", {}), "");
}

// One letter for another is not a slip where names have one letter.
TEST(Suggest, ShortNames) {
  EXPECT_EQ(closestName("Q", {"M", "N", "K"}), "");
  EXPECT_EQ(closestName("m", {"M", "N", "K"}), "M");
  EXPECT_EQ(closestName("MM", {"M", "N"}), "");
}

TEST(Suggest, AllNamesIfNoneIsClose) {
  EXPECT_EQ(suggestName("m", {"M", "N"}, "it has: "), "did you mean `M`?");
  EXPECT_EQ(suggestName("rows", {"M", "N"}, "it has: "), "it has: M, N");
}
