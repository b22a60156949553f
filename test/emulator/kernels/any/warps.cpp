//===- warps.cpp - What the threads of a warp do together -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Launch.h"

#include <algorithm>

using namespace kernels;

namespace {

KERNEL_FAMILY(Warps, "warps", "sm_90a", "sm_100a");

TEST_P(Warps, ShufflesAndVotes) {
  Random random;
  std::vector<uint32_t> x(32);
  for (uint32_t &v : x)
    v = random.bits();
  Launch k = launch("shuffles");
  k.in(x);
  Buffer out = k.out<uint32_t>(32 * 16);
  uint32_t ballot = 0, odd = 0, sum = 0, exclusive = 0, most = 0;
  int least = INT32_MAX;
  for (uint32_t i = 0; i < 32; ++i) {
    ballot |= uint32_t(x[i] % 3 == 0) << i;
    odd |= i >= 13 ? (x[i] & 1) << i : 0;
    sum += x[i];
    exclusive ^= x[i];
    least = std::min(least, int(x[i]));
    if (i < 13)
      most = std::max(most, x[i]);
  }
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t i = 0; i < 32; ++i) {
      uint32_t alike = 0;
      for (uint32_t j = 0; j < 32; ++j)
        alike |= uint32_t(x[i] % 4 == x[j] % 4) << j;
      std::vector<uint32_t> want = {x[i * 7 % 32],
                                    i >= 3 ? x[i - 3] : x[i],
                                    i % 8 + 5 < 8 ? x[i + 5] : x[i],
                                    x[i ^ 10],
                                    x[i / 4 * 4 + (i + 3) % 4],
                                    i >= 9 ? x[i - 9] : x[i],
                                    i >= 9,
                                    ballot,
                                    3,
                                    alike,
                                    0xffffffff,
                                    1,
                                    sum,
                                    uint32_t(least),
                                    exclusive,
                                    i < 13 ? most : odd};
      for (uint32_t j = 0; j < 16; ++j)
        EXPECT_EQ(got[16 * i + j], want[j]) << "lane " << i << " result " << j;
    }
  });
}

TEST_P(Warps, OneIsElected) {
  Launch k = launch("election");
  Buffer out = k.out<uint32_t>(32 * 3);
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    uint32_t elected = 0, part = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(got[3 * i], got[0]);
      EXPECT_EQ(got[3 * i + 1], uint32_t(i == got[0]));
      elected += got[3 * i + 1];
      part += got[3 * i + 2];
    }
    EXPECT_EQ(elected, 1u);
    EXPECT_EQ(part, 1u);
  });
}

TEST_P(Warps, LanesPartAndMeet) {
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i)
    in[i] = 3 * i + 1;
  Launch k = launch("divergence");
  k.in(in);
  Buffer out = k.out<uint32_t>(32);
  auto steps = [&](uint32_t lane) {
    uint32_t n = in[lane], count = 0;
    for (; n != 1; ++count)
      n = n % 2 ? 3 * n + 1 : n / 2;
    return count;
  };
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t i = 0; i < 32; ++i) {
      uint32_t s = steps(i);
      uint32_t kind = i % 5 == 0   ? s * 2
                      : i % 5 == 1 ? s + 100
                      : i % 5 == 2 ? uint32_t(__builtin_popcount(s))
                                   : ~s;
      EXPECT_EQ(got[i], kind + steps(31 - i)) << i;
    }
  });
}

} // namespace
