//===- copies.cpp - cp.async and bulk copies ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostFloat.h"
#include "Launch.h"

using namespace kernels;

namespace {

KERNEL_FAMILY(Copies, "copies", "sm_90a", "sm_100a");

std::vector<uint32_t> numbers(size_t count) {
  Random random;
  std::vector<uint32_t> values(count);
  for (uint32_t &x : values)
    x = random.bits();
  return values;
}

TEST_P(Copies, GroupsOfAThread) {
  const size_t tiles = 7;
  auto in = numbers(tiles * 128);
  Launch k = launch("pipelined");
  k.in(in);
  Buffer out = k.out<uint32_t>(128);
  k.value(int(tiles));
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (size_t t = 0; t < 32; ++t) {
      uint32_t sum = 0;
      for (size_t tile = 0; tile < tiles; ++tile)
        for (size_t i = 0; i < 4; ++i) {
          size_t at = (4 * t + i * 33) % 128;
          // Of the last tile every other pair of words is zero.
          bool cut = tile == tiles - 1 && at % 4 >= 2;
          sum = sum * 3 + (cut ? 0 : in[tile * 128 + at]);
        }
      EXPECT_EQ(got[t], sum) << t;
      EXPECT_EQ(got[32 + 3 * t], in[4 * t]);
      EXPECT_EQ(got[33 + 3 * t], in[4 * t + 2]);
      EXPECT_EQ(got[34 + 3 * t], in[4 * t + 3]);
    }
  });
}

TEST_P(Copies, ArriveOnBarriers) {
  auto in = numbers(256);
  Launch k = launch("arriving");
  k.in(in);
  Buffer out = k.out<uint32_t>(128);
  k.block = {64, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (size_t i = 0; i < 128; ++i)
      EXPECT_EQ(got[i], in[127 - i] + 7 * in[128 + i]);
  });
}

TEST_P(Copies, Bulk) {
  auto in = numbers(768);
  Launch k = launch("bulk");
  k.in(in);
  Buffer out = k.out<uint32_t>(1024);
  std::vector<uint32_t> start(256, 5);
  Buffer sums = k.in(start), halves = k.in(std::vector<uint16_t>(64));
  k.grid = {2, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    auto total = results.get<uint32_t>(sums);
    for (uint32_t i = 0; i < 256; ++i) {
      for (uint32_t block = 0; block < 2; ++block) {
        EXPECT_EQ(got[512 * block + i], in[256 * (1 - block) + i] + i);
        EXPECT_EQ(got[512 * block + 256 + i], in[512 + i]);
      }
      EXPECT_EQ(total[i], 5 + in[i] + in[256 + i] + 2 * i);
    }
    auto pairs = results.get<uint16_t>(halves);
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(f16.value(pairs[2 * i]), 2);
      EXPECT_EQ(f16.value(pairs[2 * i + 1]), 5);
    }
  });
}

} // namespace
