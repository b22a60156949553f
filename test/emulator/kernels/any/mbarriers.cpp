//===- mbarriers.cpp - All operations of mbarriers ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Launch.h"

using namespace kernels;

namespace {

KERNEL_FAMILY(Mbarriers, "mbarriers", "sm_90a", "sm_100a");

TEST_P(Mbarriers, States) {
  Launch k = launch("states");
  Buffer out = k.in(std::vector<uint32_t>(13));
  k.run([&](const Results &results) {
    EXPECT_EQ(results.get<uint32_t>(out),
              (std::vector<uint32_t>{0, 1, 5, 0, 0, 1, 1, 4, 0, 0, 1, 1, 1234}));
  });
}

TEST_P(Mbarriers, OfTheCudaLibrary) {
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i)
    in[i] = 1000 + i * 77;
  Launch k = launch("library");
  k.in(in);
  Buffer out = k.out<uint32_t>(32);
  const uint32_t rounds = 9;
  k.value(int(rounds));
  k.block = {64, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t t = 0; t < 32; ++t) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < rounds; ++i)
        sum ^= in[31 - t] * (i + 1) + i;
      EXPECT_EQ(got[t], sum);
    }
  });
}

TEST_P(Mbarriers, Remote) {
  std::vector<uint32_t> in(128);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 128; ++i)
    sum += in[i] = i * i * 31 + 5;
  Launch k = launch("remote");
  k.in(in);
  Buffer out = k.out<uint32_t>(32);
  k.grid = {4, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t t = 0; t < 32; ++t) {
      uint32_t mixed = sum;
      for (uint32_t r = 0; r < 4; ++r)
        mixed = mixed * 5 + in[r * 32 + 31 - t];
      EXPECT_EQ(got[t], mixed);
    }
  });
}

} // namespace
