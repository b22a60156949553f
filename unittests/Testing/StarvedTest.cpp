//===- StarvedTest.cpp - check and mutate starve each warp ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../Explicit/WatchedRing.h"
#include "penstock/check.h"

#include <gtest/gtest.h>

using namespace penstock;

namespace watched {

void copyOnHost(TensorView<const f32, 2> A, TensorView<f32, 2> C) {
  for (int64_t i = 0; i < A.sizes[0]; ++i)
    for (int64_t j = 0; j < A.sizes[1]; ++j)
      C.data[i * C.strides[0] + j] = A.data[i * A.strides[0] + j];
}

PENSTOCK_KERNEL(WatchedRing, counted, stages);
PENSTOCK_REFERENCE(WatchedRing, copyOnHost);

} // namespace watched

namespace {

template <class Options> Options inTwoTimings(bool counted) {
  Options options;
  options.shapes = {{{"M", 512}, {"N", 32}}};
  options.timings = 2; // eager and lazy, in which the error does no harm
  options.set = {{"counted", counted ? "true" : "false"}};
  return options;
}

TEST(Starved, CheckPassesARingThatWaitsForAll) {
  CheckReport report =
      check_registered("WatchedRing", Target::sm_90a(), inTwoTimings<CheckOptions>(true));
  EXPECT_TRUE(report.sound()) << to_text(report);
  EXPECT_EQ(report.shapes.at(0).runs, 2 * 2 + 8) << to_text(report);
}

TEST(Starved, CheckFindsARingThatForgetsAWarp) {
  CheckReport report =
      check_registered("WatchedRing", Target::sm_90a(), inTwoTimings<CheckOptions>(false));
  EXPECT_FALSE(report.sound());
  ASSERT_EQ(report.shapes.at(0).findings.size(), 2u) << to_text(report);
  EXPECT_EQ(report.shapes[0].findings[1].code, 2110u) << to_text(report);
  const Diagnostic &found = report.shapes[0].findings[0];
  // Reported before it does any harm: a phase may pass unseen.
  EXPECT_EQ(found.code, 1742u) << to_text(report);
  EXPECT_NE(found.message.find("warp 1"), std::string::npos) << found.message;
}

TEST(Starved, MutateTriesWhatChecksTry) {
  MutateReport report =
      mutate_registered("WatchedRing", Target::sm_90a(), inTwoTimings<MutateOptions>(false));
  ASSERT_EQ(report.diagnostics.size(), 1u) << to_text(report);
  EXPECT_NE(report.diagnostics[0].message.find("not sound as it is"), std::string::npos);
  EXPECT_NE(report.diagnostics[0].message.find("a phase of mbarrier"), std::string::npos);
  EXPECT_TRUE(report.mutants.empty());
}

} // namespace
