//===- tensors.cpp - TMA: boxes of tensors of one to five dimensions ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host walks through the box element by element. A swizzle exchanges pieces
// of 16 bytes (or atoms of 32 or 64) inside of rows of 128 bytes: the number of
// the piece is combined with bits of the number of the row.
//
//===----------------------------------------------------------------------===//
#include "HostFloat.h"
#include "Launch.h"

#include <algorithm>

using namespace kernels;

namespace {

KERNEL_FAMILY(Tensors, "tensors", "sm_90a", "sm_100a");

/// Where byte \p at of the packed box lies in shared memory.
size_t swizzled(size_t at, uint32_t mode) {
  size_t line = at / 128, byte = at % 128;
  switch (mode) {
  case 1: // rows of 32 bytes: two pieces, exchanged in every other line
    return line * 128 + (byte ^ line % 2 * 16);
  case 2:
    return line * 128 + (byte ^ line % 4 * 16);
  case 3:
    return line * 128 + (byte ^ line % 8 * 16);
  case 4: // atoms of 32 bytes
    return line * 128 + (byte ^ line % 4 * 32);
  case 6: // atoms of 64 bytes
    return line * 128 + (byte ^ line % 2 * 64);
  default:
    return at;
  }
}

struct Case {
  uint32_t dataType, bytes; ///< of an element
  std::vector<uint64_t> dims;
  std::vector<uint32_t> box;
  std::vector<int> at;
  uint32_t swizzle = 0, fill = 0;
  std::vector<uint32_t> steps = {};
};

TensorMap mapOf(const Case &c) {
  TensorMap map;
  map.dataType = c.dataType;
  map.rank = uint32_t(c.dims.size());
  uint64_t stride = c.bytes;
  for (size_t d = 0; d < c.dims.size(); ++d) {
    map.dims[d] = c.dims[d];
    map.strides[d] = stride;
    stride *= c.dims[d];
    map.box[d] = c.box[d];
    if (!c.steps.empty())
      map.elementStrides[d] = c.steps[d];
  }
  map.swizzle = c.swizzle;
  map.fill = c.fill;
  return map;
}

/// Calls fn(element of the box, element of the tensor or -1 outside of it).
template <class Fn> size_t walk(const Case &c, Fn fn) {
  size_t rank = c.dims.size(), count = 1;
  std::vector<size_t> extent;
  for (size_t d = 0; d < rank; ++d) {
    size_t step = c.steps.empty() ? 1 : c.steps[d];
    extent.push_back((c.box[d] + step - 1) / step);
    count *= extent[d];
  }
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    int64_t element = 0, pitch = 1;
    bool outside = false;
    for (size_t d = 0; d < rank; ++d) {
      int64_t step = c.steps.empty() ? 1 : c.steps[d];
      int64_t x = c.at[d] + int64_t(rest % extent[d]) * step;
      rest /= extent[d];
      outside |= x < 0 || x >= int64_t(c.dims[d]);
      element += x * pitch;
      pitch *= int64_t(c.dims[d]);
    }
    fn(i, outside ? -1 : element);
  }
  return count;
}

std::vector<uint8_t> contents(const Case &c) {
  size_t bytes = c.bytes;
  for (uint64_t d : c.dims)
    bytes *= d;
  Random random;
  std::vector<uint8_t> data(bytes);
  for (uint8_t &x : data)
    x = uint8_t(random.bits());
  return data;
}

struct Coordinates {
  int c[5];
};
void addCoordinates(Launch &k, const Case &c) {
  for (size_t d = 0; d < 5; ++d)
    k.value(d < c.at.size() ? c.at[d] : 0);
}

/// Boxes that reach over every edge, in all swizzles.
const Case cases[] = {
    {0, 1, {1000}, {256}, {800}},
    {2, 4, {100}, {64}, {-20}},
    {7, 4, {64, 40}, {32, 16}, {16, 30}, 3},
    {6, 2, {96, 50}, {64, 24}, {64, -7}, 3, 1},
    {6, 2, {96, 50}, {32, 24}, {80, 20}, 2},
    {9, 2, {96, 50}, {16, 30}, {3, 20}, 1, 1},
    {0, 1, {256, 20}, {128, 20}, {0, 0}, 3},
    {6, 2, {32, 12, 9}, {16, 5, 4}, {20, 9, 7}, 0},
    {7, 4, {16, 7, 6, 5}, {8, 3, 2, 4}, {12, -1, 4, 3}, 1},
    {8, 8, {8, 5, 4, 3, 3}, {4, 3, 2, 2, 3}, {-2, 3, -1, 2, -1}, 1, 1},
    {6, 2, {64, 6, 5, 4, 3}, {64, 2, 2, 2, 2}, {0, 5, 1, 3, 0}, 3},
    {7, 4, {64, 32}, {32, 16}, {4, 10}, 0, 0, {2, 3}},
    {5, 8, {40, 9}, {16, 4}, {30, 7}, 3},
};
/// 128-byte swizzles with larger atoms came with Blackwell.
const Case atoms[] = {
    {7, 4, {64, 40}, {32, 16}, {16, 30}, 4},
    {6, 2, {96, 50}, {64, 24}, {64, -7}, 6},
};

void checkLoad(Launch k, const Case &c) {
  auto data = contents(c);
  Buffer tensor = k.behind(data);
  k.map(tensor, mapOf(c));
  addCoordinates(k, c);
  size_t bytes = walk(c, [](size_t, int64_t) {}) * c.bytes;
  Buffer out = k.out<uint8_t>(bytes);
  k.value(int(c.dims.size()));
  k.value(int(bytes));
  k.dynamicShared = uint32_t(bytes);
  k.run([&](const Results &results) {
    auto got = results.get<uint8_t>(out);
    walk(c, [&](size_t i, int64_t element) {
      uint64_t value = 0, want = 0;
      for (size_t b = 0; b < c.bytes; ++b)
        reinterpret_cast<uint8_t *>(&value)[b] = got[swizzled(i * c.bytes + b, c.swizzle)];
      if (element < 0 && c.fill) {
        double number = c.dataType == 6   ? f16.value(uint32_t(value))
                        : c.dataType == 9 ? bf16.value(uint32_t(value))
                        : c.bytes == 4    ? double(std::bit_cast<float>(uint32_t(value)))
                                          : std::bit_cast<double>(value);
        EXPECT_TRUE(std::isnan(number)) << i;
        return;
      }
      if (element >= 0)
        memcpy(&want, &data[size_t(element) * c.bytes], c.bytes);
      EXPECT_EQ(value, want) << i;
    });
  });
}

TEST_P(Tensors, Load) {
  for (const Case &c : cases) {
    SCOPED_TRACE(&c - cases);
    checkLoad(launch("load"), c);
  }
  if (std::string(GetParam()) == "sm_100a")
    for (const Case &c : atoms)
      checkLoad(launch("load"), c);
}

TEST_P(Tensors, Store) {
  for (Case c : cases) {
    for (int &x : c.at)
      x = std::max(x, 0); // stores begin inside
    Launch k = launch("store");
    auto before = contents(c);
    Buffer tensor = k.behind(before);
    k.map(tensor, mapOf(c));
    addCoordinates(k, c);
    size_t bytes = walk(c, [](size_t, int64_t) {}) * c.bytes;
    std::vector<uint8_t> in(bytes);
    for (size_t i = 0; i < bytes; ++i)
      in[i] = uint8_t(i * 37 + i / 251);
    k.in(in);
    k.value(int(c.dims.size()));
    k.value(int(bytes));
    k.dynamicShared = uint32_t(bytes);
    auto want = before;
    walk(c, [&](size_t i, int64_t element) {
      for (size_t b = 0; element >= 0 && b < c.bytes; ++b)
        want[size_t(element) * c.bytes + b] = in[swizzled(i * c.bytes + b, c.swizzle)];
    });
    k.run([&](const Results &results) { EXPECT_EQ(results.get<uint8_t>(tensor), want); });
  }
}

TEST_P(Tensors, Reduce) {
  Random random;
  std::vector<int> in(3 * 256), first(16 * 10), second(24 * 8);
  for (auto *list : {&in, &first, &second})
    for (int &x : *list)
      x = random.between(-1000, 1000);
  Case sum{3, 4, {16, 10}, {16, 16}, {0, 4}}, most{3, 4, {24, 8}, {16, 16}, {8, 0}};
  Launch k = launch("reduce");
  Buffer sums = k.behind(first), maxima = k.behind(second);
  k.map(sums, mapOf(sum));
  k.map(maxima, mapOf(most));
  k.in(in);
  k.grid = {3, 1, 1};
  k.dynamicShared = 1024;
  auto wantSum = first, wantMost = second;
  for (size_t block = 0; block < 3; ++block) {
    const int *from = &in[256 * block];
    walk(sum, [&](size_t i, int64_t e) {
      if (e >= 0)
        wantSum[size_t(e)] += from[i];
    });
    walk(most, [&](size_t i, int64_t e) {
      if (e >= 0)
        wantMost[size_t(e)] = std::max(wantMost[size_t(e)], from[i]);
    });
  }
  k.run([&](const Results &results) {
    EXPECT_EQ(results.get<int>(sums), wantSum);
    EXPECT_EQ(results.get<int>(maxima), wantMost);
  });
}

TEST_P(Tensors, Multicast) {
  Case c{2, 4, {32, 40}, {32, 8}, {0, 0}, 3};
  Launch k = launch("multicast");
  auto data = contents(c);
  k.map(k.behind(data), mapOf(c));
  Buffer out = k.out<uint8_t>(4 * 4096);
  k.grid = {4, 1, 1};
  k.dynamicShared = 4096;
  k.run([&](const Results &results) {
    auto got = results.get<uint8_t>(out);
    for (size_t block = 0; block < 4; ++block)
      for (size_t i = 0; i < 4096; ++i)
        ASSERT_EQ(got[block * 4096 + swizzled(i, 3)], data[i]) << block << " " << i;
  });
}

TEST_P(Tensors, EditedByTheKernel) {
  Case c{2, 4, {32, 8}, {32, 8}, {0, 0}};
  Launch k = launch("edit");
  auto data = contents(c);
  k.map(k.behind(data), mapOf(c));
  k.out<uint8_t>(128);
  std::vector<uint8_t> other(1024);
  for (size_t i = 0; i < 1024; ++i)
    other[i] = uint8_t(i * 5 + 1);
  k.in(other);
  Buffer out = k.out<uint8_t>(1024);
  k.dynamicShared = 1024;
  k.run([&](const Results &results) {
    auto got = results.get<uint8_t>(out);
    for (size_t i = 0; i < 1024; ++i)
      EXPECT_EQ(got[i], i < 5 * 128 ? other[i] : 0) << i;
  });
}

} // namespace
