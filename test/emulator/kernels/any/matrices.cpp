//===- matrices.cpp - ldmatrix, stmatrix and mma.sync ---------------------===//
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

KERNEL_FAMILY(Matrices, "matrices", "sm_90a", "sm_100a");

TEST_P(Matrices, LoadAndStore) {
  std::vector<uint16_t> in(256);
  for (uint32_t i = 0; i < 256; ++i)
    in[i] = uint16_t(i * 257 + 11);
  auto element = [&](uint32_t matrix, uint32_t row, uint32_t column) {
    return uint32_t(in[matrix * 64 + row * 8 + column]);
  };
  Launch k = launch("moveMatrices");
  k.in(in);
  Buffer registers = k.in(std::vector<uint32_t>(32 * 12)), out = k.out<uint16_t>(448);
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(registers);
    for (uint32_t t = 0; t < 32; ++t) {
      uint32_t row = t / 4, column = t % 4 * 2;
      for (uint32_t m = 0; m < 4; ++m)
        EXPECT_EQ(got[12 * t + m], element(m, row, column) | element(m, row, column + 1) << 16);
      for (uint32_t m = 0; m < 2; ++m)
        EXPECT_EQ(got[12 * t + 4 + m], element(m, column, row) | element(m, column + 1, row) << 16);
      EXPECT_EQ(got[12 * t + 6], got[12 * t]);
      EXPECT_EQ(got[12 * t + 7], got[12 * t + 4]);
    }
    auto back = results.get<uint16_t>(out);
    for (uint32_t r = 0; r < 8; ++r)
      for (uint32_t c = 0; c < 8; ++c) {
        for (uint32_t m = 0; m < 4; ++m)
          EXPECT_EQ(back[m * 64 + r * 8 + c], element(m, c, r));
        EXPECT_EQ(back[256 + r * 8 + c], element(1, c, r));
        EXPECT_EQ(back[320 + r * 8 + c], element(0, c, r));
        EXPECT_EQ(back[384 + r * 8 + c], element(0, c, r));
      }
  });
}

/// Small values that every type holds and whose products sum up exactly.
template <class T, class D>
void multiply(Launch k, size_t depth, const std::function<T(int)> &encodeA,
              const std::function<T(int)> &encodeB, bool noSign) {
  Random random;
  std::vector<int> a(16 * depth), b(8 * depth);
  std::vector<T> bitsA, bitsB;
  for (int &x : a)
    bitsA.push_back(encodeA(x = random.between(noSign ? 0 : -6, 6)));
  for (int &x : b)
    bitsB.push_back(encodeB(x = random.between(noSign ? 0 : -6, 6)));
  std::vector<D> c(128);
  for (D &x : c)
    x = D(random.between(-20, 20));
  k.in(bitsA);
  k.in(bitsB);
  k.in(c);
  Buffer d = k.out<D>(128);
  k.run([&](const Results &results) {
    auto got = results.get<D>(d);
    for (size_t m = 0; m < 16; ++m)
      for (size_t n = 0; n < 8; ++n) {
        D sum = c[m * 8 + n];
        for (size_t i = 0; i < depth; ++i)
          sum += D(a[m * depth + i] * b[n * depth + i]);
        EXPECT_EQ(got[m * 8 + n], sum) << m << " " << n;
      }
  });
}

template <class T> std::function<T(int)> as(const SmallFloat &type) {
  return [type](int x) { return T(type.nearest(x)); };
}
uint32_t tf32(int x) { return std::bit_cast<uint32_t>(float(x)); }
uint8_t byte(int x) { return uint8_t(x); }

TEST_P(Matrices, Half) {
  multiply<uint16_t, float>(launch("mma_f16"), 16, as<uint16_t>(f16), as<uint16_t>(f16), false);
  multiply<uint16_t, float>(launch("mma_f16_k8"), 8, as<uint16_t>(f16), as<uint16_t>(f16), false);
}
TEST_P(Matrices, Brain) {
  multiply<uint16_t, float>(launch("mma_bf16"), 16, as<uint16_t>(bf16), as<uint16_t>(bf16), false);
  multiply<uint16_t, float>(launch("mma_bf16_k8"), 8, as<uint16_t>(bf16), as<uint16_t>(bf16),
                            false);
}
TEST_P(Matrices, Tf32) {
  multiply<uint32_t, float>(launch("mma_tf32"), 8, tf32, tf32, false);
  multiply<uint32_t, float>(launch("mma_tf32_k4"), 4, tf32, tf32, false);
}
TEST_P(Matrices, Eight) {
  multiply<uint8_t, float>(launch("mma_e4m3"), 32, as<uint8_t>(e4m3), as<uint8_t>(e4m3), false);
  multiply<uint8_t, float>(launch("mma_mixed"), 32, as<uint8_t>(e5m2), as<uint8_t>(e4m3), false);
  multiply<uint8_t, float>(launch("mma_e4m3_k16"), 16, as<uint8_t>(e4m3), as<uint8_t>(e5m2), false);
}
TEST_P(Matrices, Integers) {
  multiply<uint8_t, int32_t>(launch("mma_s8"), 32, byte, byte, false);
  multiply<uint8_t, int32_t>(launch("mma_u8s8"), 32, byte, byte, true);
  multiply<uint8_t, int32_t>(launch("mma_s8_k16"), 16, byte, byte, true);
}

TEST_P(Matrices, HalfAccumulators) {
  Random random;
  std::vector<int> a(256), b(128), c(128);
  std::vector<uint16_t> bitsA, bitsB, bitsC;
  auto fill = [&](std::vector<int> &values, std::vector<uint16_t> &bits) {
    for (int &x : values)
      bits.push_back(uint16_t(f16.nearest(x = random.between(-4, 4))));
  };
  fill(a, bitsA);
  fill(b, bitsB);
  fill(c, bitsC);
  Launch k = launch("mma_half");
  k.in(bitsA);
  k.in(bitsB);
  k.in(bitsC);
  Buffer d = k.out<uint16_t>(128);
  k.run([&](const Results &results) {
    auto got = results.get<uint16_t>(d);
    for (size_t m = 0; m < 16; ++m)
      for (size_t n = 0; n < 8; ++n) {
        int sum = c[m * 8 + n];
        for (size_t i = 0; i < 16; ++i)
          sum += a[m * 16 + i] * b[n * 16 + i];
        EXPECT_EQ(f16.value(got[m * 8 + n]), sum);
      }
  });
}

} // namespace
