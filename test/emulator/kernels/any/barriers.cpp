//===- barriers.cpp - Named barriers, clusters, their shared memory -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Launch.h"

using namespace kernels;

namespace {

KERNEL_FAMILY(Barriers, "barriers", "sm_90a", "sm_100a");

TEST_P(Barriers, Named) {
  std::vector<uint32_t> in(96);
  uint32_t odd = 0;
  for (uint32_t i = 0; i < 96; ++i) {
    in[i] = i * 11 % 37 + 1;
    odd += in[i] & 1;
  }
  in[50] = 7;
  odd = 0;
  for (uint32_t x : in)
    odd += x & 1;
  const uint32_t rounds = 7;
  Launch k = launch("named");
  k.in(in);
  Buffer out = k.out<uint32_t>(96);
  k.value(int(rounds));
  k.block = {96, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < rounds; ++i)
        sum += (in[31 - lane] + i) * (i + 1);
      EXPECT_EQ(got[lane], sum);
      EXPECT_EQ(got[32 + lane], odd);
      EXPECT_EQ(got[64 + lane], 3u);
    }
  });
}

TEST_P(Barriers, Cluster) {
  std::vector<uint32_t> in(8 * 64);
  for (uint32_t i = 0; i < in.size(); ++i)
    in[i] = i * i % 1009;
  Launch k = launch("cluster");
  k.in(in);
  Buffer out = k.out<uint32_t>(8 * 64 * 6);
  k.block = {64, 1, 1};
  k.grid = {8, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t b = 0; b < 8; ++b)
      for (uint32_t t = 0; t < 64; ++t) {
        uint32_t first = b / 4 * 4, rank = b % 4, sum = 0;
        for (uint32_t i = 0; i < 256; ++i)
          sum += in[first * 64 + i];
        uint32_t want[] = {in[(first + (rank + 1) % 4) * 64 + 63 - t],
                           sum,
                           in[(first + (rank + 2) % 4) * 64 + t] * 3,
                           (rank + 2) % 4,
                           4,
                           b / 4};
        for (uint32_t i = 0; i < 6; ++i)
          EXPECT_EQ(got[(b * 64 + t) * 6 + i], want[i]) << b << " " << t << " " << i;
      }
  });
}

TEST_P(Barriers, Hints) {
  Launch k = launch("hints");
  Buffer out = k.out<uint32_t>(256);
  k.block = {256, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t t = 0; t < 256; ++t)
      EXPECT_EQ(got[t], t * 5);
  });
}

} // namespace
