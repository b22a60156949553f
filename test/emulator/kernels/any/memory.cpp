//===- memory.cpp - Generic addresses, spaces and widths ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Launch.h"

using namespace kernels;

namespace {

KERNEL_FAMILY(Memory, "memory", "sm_90a", "sm_100a");

struct Numbers {
  uint32_t n[4];
};

TEST_P(Memory, GenericPointers) {
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i)
    in[i] = i * i + 3;
  Numbers numbers = {{9, 99, 999, 9999}};
  Launch k = launch("anywhere");
  k.in(in);
  // A structure of 16 bytes that is aligned to 4.
  for (uint32_t n : numbers.n)
    k.value(n);
  Buffer out = k.out<uint32_t>(7 * 32);
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (uint32_t t = 0; t < 32; ++t) {
      uint32_t at = t % 4;
      uint32_t constants[] = {11, 22, 33, 44}, device[] = {5, 6, 7, 8};
      uint32_t want[] = {in[at] * 2,    in[at],    constants[at], 100 * ((at + 4 - t % 4) % 4) + t,
                         numbers.n[at], device[at]};
      for (uint32_t i = 0; i < 6; ++i)
        EXPECT_EQ(got[6 * t + i], want[i]) << t << " " << i;
      // Shared, global, constant, local; parameters are none of these.
      EXPECT_EQ(got[6 * 32 + t] & 0xf0ffff, 0x208421u & 0xf0ffff);
    }
  });
}

TEST_P(Memory, Widths) {
  Random random;
  std::vector<uint8_t> in(32 * 64);
  for (uint8_t &x : in)
    x = uint8_t(random.bits());
  Launch k = launch("widths");
  k.in(in);
  Buffer out = k.out<uint8_t>(32 * 64);
  k.run([&](const Results &results) {
    auto got = results.get<uint8_t>(out);
    for (size_t t = 0; t < 32; ++t) {
      const uint8_t *from = &in[64 * t], *to = &got[64 * t];
      auto word = [&](const uint8_t *p) {
        return uint32_t(p[0]) | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16 | uint32_t(p[3]) << 24;
      };
      EXPECT_EQ(word(to), uint32_t(int32_t(int8_t(from[0]))));
      EXPECT_EQ(word(to + 4), from[1]);
      EXPECT_EQ(word(to + 8), uint32_t(int32_t(int16_t(from[2] | from[3] << 8))));
      EXPECT_EQ(word(to + 12), uint32_t(from[4] | from[5] << 8));
      for (size_t i = 0; i < 4; ++i)
        EXPECT_EQ(word(to + 16 + 4 * i), word(from + 28 - 4 * i));
      for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(to[32 + i], from[40 + i]);
        EXPECT_EQ(to[40 + i], from[32 + i]);
      }
      uint64_t x = word(from + 48) | uint64_t(word(from + 52)) << 32;
      EXPECT_EQ(word(to + 48) | uint64_t(word(to + 52)) << 32, x + 1);
      EXPECT_EQ(to[56], 0x78);
      EXPECT_EQ(to[57], 0xab);
      EXPECT_EQ(to[58] | to[59] << 8, 0xcdef);
      EXPECT_EQ(word(to + 60), uint32_t(x) ^ word(from + 40));
    }
  });
}

} // namespace
