//===- blackwell.cpp - What came with sm_100 beside tcgen05 ---------------===//
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

KERNEL_FAMILY(Blackwell, "blackwell", "sm_100a");

TensorMap matrix(uint32_t dataType, uint64_t width, uint64_t height, uint64_t pitch,
                 uint32_t boxWidth, uint32_t boxHeight, uint32_t swizzle = 0) {
  TensorMap map;
  map.dataType = dataType;
  map.rank = 2;
  map.dims[0] = width;
  map.dims[1] = height;
  map.strides[1] = pitch;
  map.box[0] = boxWidth;
  map.box[1] = boxHeight;
  map.swizzle = swizzle;
  return map;
}

std::vector<uint32_t> numbers(size_t count) {
  Random random;
  std::vector<uint32_t> values(count);
  for (uint32_t &x : values)
    x = random.bits();
  return values;
}

struct Rows {
  int first, row[4];
};

TEST_P(Blackwell, GatherAndScatter) {
  auto from = numbers(48 * 20), to = std::vector<uint32_t>(40 * 30, 3);
  Launch k = launch("gather");
  Buffer source = k.behind(from), target = k.behind(to);
  k.map(source, matrix(2, 48, 20, 48 * 4, 32, 1, 3));
  k.map(target, matrix(2, 40, 30, 40 * 4, 32, 1, 3));
  Rows in = {24, {7, 19, 25, 0}}, out = {16, {29, 2, 28, 40}};
  k.bytes(in, 4);
  k.bytes(out, 4);
  Buffer seen = k.out<uint32_t>(128);
  // Row r of the tile is a line of 128 bytes; its pieces of 16 bytes are
  // exchanged by r.
  auto value = [&](uint32_t r, uint32_t c) {
    uint32_t column = uint32_t(in.first) + c, row = uint32_t(in.row[r]);
    return column < 48 && row < 20 ? from[row * 48 + column] : 0;
  };
  auto want = to;
  for (uint32_t r = 0; r < 4; ++r)
    for (uint32_t c = 0; c < 32; ++c)
      if (out.row[r] < 30 && out.first + int(c) < 40)
        want[size_t(out.row[r]) * 40 + size_t(out.first) + c] = value(r, c);
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(seen);
    for (uint32_t r = 0; r < 4; ++r)
      for (uint32_t c = 0; c < 32; ++c)
        EXPECT_EQ(got[r * 32 + (c ^ r * 4)], value(r, c)) << r << " " << c;
    EXPECT_EQ(results.get<uint32_t>(target), want);
  });
}

TEST_P(Blackwell, SignalsOfAPair) {
  auto data = numbers(32 * 16), rows = numbers(32 * 6);
  Launch k = launch("pair");
  k.map(k.behind(data), matrix(2, 32, 16, 128, 32, 8));
  k.map(k.behind(rows), matrix(2, 32, 6, 128, 32, 1));
  Buffer out = k.out<uint32_t>(2 * 384);
  k.grid = {2, 1, 1};
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    const uint32_t picked[] = {5, 1, 3, 0};
    for (uint32_t block = 0; block < 2; ++block) {
      for (uint32_t i = 0; i < 256; ++i)
        EXPECT_EQ(got[384 * block + i], data[256 * block + i]);
      for (uint32_t i = 0; i < 128; ++i)
        EXPECT_EQ(got[384 * block + 256 + i], rows[picked[i / 32] * 32 + i % 32]);
    }
  });
}

TEST_P(Blackwell, PaddedElements) {
  Random random;
  std::vector<uint8_t> four(256 / 2 * 8), six(128 * 6 / 8 * 5), back(256 * 6 / 8 * 4, 9);
  for (auto *list : {&four, &six})
    for (uint8_t &x : *list)
      x = uint8_t(random.bits());
  Launch k = launch("padded");
  Buffer fours = k.behind(four), sixes = k.behind(six), target = k.behind(back);
  k.map(fours, matrix(14, 256, 8, 128, 128, 4));
  k.map(sixes, matrix(15, 128, 5, 96, 128, 4));
  k.map(target, matrix(15, 256, 4, 192, 128, 4));
  Buffer out = k.out<uint8_t>(1024);
  // Rows 2 to 5 of five: the last one is outside and zero.
  auto byteOfSix = [&](size_t row, size_t byte) {
    return row + 2 < 5 ? six[(row + 2) * 96 + byte] : uint8_t(0);
  };
  auto want = back;
  for (size_t row = 0; row < 4; ++row)
    for (size_t byte = 0; byte < 96; ++byte)
      want[row * 192 + 96 + byte] = byteOfSix(row, byte);
  k.run([&](const Results &results) {
    auto got = results.get<uint8_t>(out);
    for (size_t row = 0; row < 4; ++row)
      for (size_t group = 0; group < 8; ++group) {
        for (size_t i = 0; i < 8; ++i)
          EXPECT_EQ(got[row * 128 + group * 16 + i], four[(row + 1) * 128 + 64 + group * 8 + i]);
        for (size_t i = 0; i < 12; ++i)
          EXPECT_EQ(got[512 + row * 128 + group * 16 + i], byteOfSix(row, group * 12 + i));
      }
    EXPECT_EQ(results.get<uint8_t>(target), want);
  });
}

TEST_P(Blackwell, LaunchControl) {
  Launch k = launch("steal");
  Buffer done = k.in(std::vector<uint32_t>(35));
  k.grid = {7, 5, 1};
  k.block = {64, 1, 1};
  k.run([&](const Results &results) {
    // Every block's work is done once: 1 + 2 + .. + 64.
    EXPECT_EQ(results.get<uint32_t>(done), std::vector<uint32_t>(35, 64 * 65 / 2));
  });
}

TEST_P(Blackwell, Arithmetic) {
  Random random;
  std::vector<float> in(64);
  for (float &x : in)
    x = float(random.between(-4000, 4000)) / 64 + 0.001f;
  float most = in[0], least = std::fabs(in[1]);
  for (size_t t = 0; t < 32; ++t) {
    most = std::max(most, in[2 * t]);
    least = std::min(least, std::fabs(in[2 * t + 1]));
  }
  Launch k = launch("arithmetic");
  k.in(in);
  Buffer out = k.in(std::vector<float>(32 * 16));
  k.run([&](const Results &results) {
    auto got = results.get<float>(out);
    for (size_t t = 0; t < 32; ++t) {
      float a = in[2 * t], b = in[2 * t + 1];
      double product = double(a) * double(b);
      float cut = float(product);
      if (std::fabs(double(cut)) > std::fabs(product))
        cut = std::nextafter(cut, 0.0f);
      auto scale = [](float x) { // the next power of two of the rounded value
        double value = std::fabs(bf16.value(bf16.nearest(x)));
        uint32_t code = 0;
        while (std::ldexp(1.0, int(code) - 127) < value)
          ++code;
        return code;
      };
      float want[] = {a + b,
                      b + a,
                      cut,
                      cut,
                      std::fma(a, a, b),
                      std::fma(b, b, a),
                      std::max({a, b, 1.0f}),
                      std::min({std::fabs(a), std::fabs(b), 3.0f}),
                      most,
                      least,
                      float(scale(a) | scale(b) << 8)};
      for (size_t i = 0; i < 11; ++i)
        EXPECT_EQ(got[16 * t + i], want[i]) << "lane " << t << " result " << i;
    }
  });
}

TEST_P(Blackwell, ThirtyTwoBytes) {
  auto in = numbers(256);
  Launch k = launch("wide");
  k.in(in);
  Buffer out = k.out<uint32_t>(256);
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (size_t i = 0; i < 256; ++i)
      EXPECT_EQ(got[i], in[i / 8 * 8 + 7 - i % 8]);
  });
}

} // namespace
