//===- UserKernels.h - Kernels as users write them --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel that was written from the guide alone on the interpreter, as
// native code and on both emulated GPUs, and compares its result with plain C++
// at sizes that no tile divides.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_TILEPROGRAMS_USERKERNELS_H
#define PENSTOCK_UNITTESTS_TILEPROGRAMS_USERKERNELS_H

#include "penstock/penstock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

namespace user {

using namespace penstock;

/// Returns numbers from -1 to 1 in steps of 1/64, which all floating-point types but f8 hold.
template <class T> std::vector<T> numbers(int64_t count, uint32_t seed) {
  std::vector<T> made;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    made.push_back(T(float(int(seed >> 16 & 127) - 64) / 64));
  }
  return made;
}

template <class T> double number(const T &value) { return double(float(value)); }

/// Calls \p launch with the kernel for each target; it returns the result, which must be within
/// \p tolerance of \p expected.
template <class K, class Launch>
void expectEverywhere(const K &kernel, const std::vector<double> &expected, double tolerance,
                      Launch launch) {
  const std::pair<const char *, Target> targets[] = {{"interpreter", Target::interpreter()},
                                                     {"native", Target::native()},
                                                     {"sm_90a", Target::sm_90a().emulated()},
                                                     {"sm_100a", Target::sm_100a().emulated()}};
  for (const auto &[name, target] : targets) {
    SCOPED_TRACE(name);
    auto compiled = try_compile(kernel, target);
    ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    auto result = launch(compiled.kernel);
    ASSERT_EQ(result.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(number(result[i]), expected[i], tolerance) << "element " << i;
  }
}

} // namespace user

#endif // PENSTOCK_UNITTESTS_TILEPROGRAMS_USERKERNELS_H
