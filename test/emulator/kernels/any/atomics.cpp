//===- atomics.cpp - Atomic updates and reductions ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostFloat.h"
#include "Launch.h"

#include <algorithm>

using namespace kernels;

namespace {

KERNEL_FAMILY(Atomics, "atomics", "sm_90a", "sm_100a");

TEST_P(Atomics, Updates) {
  Random random;
  std::vector<uint32_t> in(128);
  for (uint32_t &x : in)
    x = random.bits();
  Launch k = launch("updates");
  k.in(in);
  std::vector<uint32_t> start(14);
  start[1] = 1000;
  start[3] = 0xffffffff;
  start[7] = 3;
  Buffer words = k.in(start);
  Buffer longs = k.in(std::vector<uint64_t>{0, 0, 5, 1});
  Buffer floats = k.in(std::vector<float>(4)), quads = k.in(std::vector<float>(8));
  Buffer doubles = k.in(std::vector<double>(1));
  Buffer halves = k.in(std::vector<uint32_t>(2));
  Buffer seen = k.out<uint32_t>(128);
  k.block = {64, 1, 1};
  k.grid = {2, 1, 1};
  std::vector<uint32_t> want = start;
  uint64_t sum = 0, product = 1;
  int64_t most = 0;
  float float0 = 0, float1 = 0;
  double double0 = 0;
  for (size_t i = 0; i < 128; ++i) {
    uint32_t x = in[i];
    ++want[0];
    want[1] = uint32_t(std::min(int(want[1]), int(x)));
    want[2] = std::max(want[2], x);
    want[3] &= x | 0xffff0000;
    want[4] |= x & 0x00ff00ff;
    want[5] ^= x;
    want[6] = want[6] >= 10 ? 0 : want[6] + 1;
    want[7] = want[7] == 0 || want[7] > 6 ? 6 : want[7] - 1;
    want[8] += x;
    want[9] = uint32_t(std::max(int(want[9]), int(x)));
    want[10 + 2 * (i / 64)] += x;
    want[11 + 2 * (i / 64)] |= 1u << (i % 32);
    sum += x;
    most = std::max(most, int64_t(int(x)) * (1 << 20));
    product = product * (x % 3 + 1) % 1000003;
    float0 += float(x % 16);
    float1 += float(x % 8);
    double0 += double(x % 32) / 4;
  }
  k.run([&](const Results &results) {
    EXPECT_EQ(results.get<uint32_t>(words), want);
    EXPECT_EQ(results.get<uint64_t>(longs),
              (std::vector<uint64_t>{sum, uint64_t(most), 77, product}));
    EXPECT_EQ(results.get<float>(floats), (std::vector<float>{float0, float1, 128, 256}));
    EXPECT_EQ(results.get<float>(quads), (std::vector<float>{128, 256, 384, 512, 0, 0, 0, 0}));
    EXPECT_EQ(results.get<double>(doubles), std::vector<double>{double0});
    auto pairs = results.get<uint32_t>(halves);
    EXPECT_EQ(pairs[0], uint32_t(halfBits(128)) | uint32_t(halfBits(256)) << 16);
    EXPECT_EQ(pairs[1], uint32_t(bf16Bits(64)) | uint32_t(bf16Bits(128)) << 16);
    auto tickets = results.get<uint32_t>(seen);
    std::sort(tickets.begin(), tickets.end());
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(tickets[i], i);
  });
}

TEST_P(Atomics, SixteenBytes) {
  Launch k = launch("wide");
  Buffer pair = k.in(std::vector<uint64_t>{0, ~uint64_t(0)});
  Buffer last = k.in(std::vector<uint64_t>{0, 0});
  k.block = {64, 1, 1};
  k.grid = {2, 1, 1};
  k.run([&](const Results &results) {
    EXPECT_EQ(results.get<uint64_t>(pair), (std::vector<uint64_t>{128, ~uint64_t(128)}));
    auto final = results.get<uint64_t>(last);
    EXPECT_EQ(final[1], final[0] * 3);
  });
}

} // namespace
