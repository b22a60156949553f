//===- gtest.h - Kernel checks as GoogleTest assertions ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GoogleTest assertions that run `penstock check`.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_GTEST_H
#define PENSTOCK_GTEST_H

#include "penstock/check.h"

#include <gtest/gtest.h>

namespace penstock {

/// Checks a kernel over shapes and the default timings of CheckOptions. The failure
/// message is the report with findings and source lines.
template <class K, class... Shapes>
::testing::AssertionResult isSound(K kernel, Target target, const Shapes &...shapes) {
  CheckOptions options;
  options.shapes = {Shape(shapes)...};
  CheckReport report = check(std::move(kernel), target, options);
  if (report.sound())
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the kernel is not sound\n" << to_text(report);
}

} // namespace penstock

/// EXPECT_SOUND(MatmulV4{}, Target::sm_100a(), Shape{{"M", 512}, {"N", 512}, {"K", 1024}});
/// takes any number of shapes; without one, the default grid of CheckOptions.
#define EXPECT_SOUND(...) EXPECT_TRUE(::penstock::isSound(__VA_ARGS__))
#define ASSERT_SOUND(...) ASSERT_TRUE(::penstock::isSound(__VA_ARGS__))

#endif // PENSTOCK_GTEST_H
