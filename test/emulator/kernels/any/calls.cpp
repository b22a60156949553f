//===- calls.cpp - Functions that are called by address -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Launch.h"

using namespace kernels;

namespace {

KERNEL_FAMILY(Calls, "calls", "sm_90a", "sm_100a");

std::vector<uint32_t> numbers() {
  Random random;
  std::vector<uint32_t> x(32);
  for (uint32_t &v : x)
    v = random.bits();
  return x;
}

TEST_P(Calls, ThroughATable) {
  std::vector<uint32_t> x = numbers(), called(32);
  for (uint32_t t = 0; t < 32; ++t)
    called[t] = t % 3 == 0 ? x[t] + 7 : t % 3 == 1 ? x[t] * 7 : x[t] - 7;
  Launch k = launch("byTable");
  k.in(x);
  Buffer out = k.out<uint32_t>(32);
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t t = 0; t < 32; ++t)
      EXPECT_EQ(got[t], called[t] + called[t ^ 1]) << "lane " << t;
  });
}

TEST_P(Calls, OfVirtualFunctions) {
  std::vector<uint32_t> x = numbers();
  Launch k = launch("byVirtualFunction");
  k.in(x);
  Buffer out = k.out<uint32_t>(32);
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t t = 0; t < 32; ++t)
      EXPECT_EQ(got[t], x[t] & 1 ? t : t * t) << "lane " << t;
  });
}

} // namespace
