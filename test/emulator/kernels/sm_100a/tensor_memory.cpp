//===- tensor_memory.cpp - Ways into and out of tensor memory -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Operands.h"

#include <set>

using namespace kernels;

namespace {

KERNEL_FAMILY(TensorMemory, "tensor_memory", "sm_100a");

constexpr unsigned columns = 64;

struct Cell {
  unsigned lane, column;
};
/// Where register \p i of lane \p t of a warp lies, from the address on.
using Shape = std::function<Cell(unsigned t, unsigned i)>;

/// \p half: the shape takes 16 lanes. \p packed: a register is two columns.
void transfer(Launch k, unsigned count, bool half, bool packed, const Shape &shape) {
  for (unsigned lane0 : {0u, 16u}) {
    if (lane0 && !half)
      continue;
    Launch run = k;
    std::vector<uint32_t> image(128 * columns), in(128 * count);
    Random random;
    for (auto *list : {&image, &in})
      for (uint32_t &x : *list)
        x = random.bits();
    run.in(image);
    run.in(in);
    Buffer loaded = run.out<uint32_t>(128 * count), out = run.out<uint32_t>(128 * columns);
    run.value(lane0);
    run.block = {128, 1, 1};
    auto after = image;
    std::vector<uint32_t> want(128 * count);
    for (unsigned t = 0; t < 128; ++t)
      for (unsigned i = 0; i < count; ++i) {
        Cell cell = shape(t % 32, i);
        unsigned lane = t / 32 * 32 + lane0 + cell.lane;
        size_t at = lane * columns + 4 + cell.column;
        uint32_t value = in[t * count + i];
        if (packed) {
          want[t * count + i] = (image[at] & 0xffff) | image[at + 1] << 16;
          after[at] = value & 0xffff;
          after[at + 1] = value >> 16;
        } else {
          want[t * count + i] = image[at];
          after[at] = value;
        }
      }
    run.run([&](const Results &results) {
      EXPECT_EQ(results.get<uint32_t>(loaded), want);
      auto got = results.get<uint32_t>(out);
      for (size_t i = 0; i < got.size(); ++i) {
        // What the upper half of an unpacked column holds is undefined.
        uint32_t mask = packed && after[i] != image[i] ? 0xffff : 0xffffffff;
        ASSERT_EQ(got[i] & mask, after[i] & mask)
            << "lane " << i / columns << " column " << i % columns;
      }
    });
  }
}

TEST_P(TensorMemory, LoadAndStore) {
  auto plain = [](unsigned t, unsigned i) { return Cell{t, i}; };
  auto by64 = [](unsigned t, unsigned i) { return Cell{t / 4 + t % 2 * 8, 2 * i + t / 2 % 2}; };
  auto by128 = [](unsigned t, unsigned i) { return Cell{t / 4 + i % 2 * 8, i / 2 * 4 + t % 4}; };
  auto by256 = [](unsigned t, unsigned i) {
    return Cell{t / 4 + i / 2 % 2 * 8, i / 4 * 8 + t % 4 * 2 + i % 2};
  };
  auto halves = [](unsigned t, unsigned i) { return Cell{t % 16, i + t / 16 * 24}; };
  transfer(launch("shape_32x32b_x2"), 2, false, false, plain);
  transfer(launch("shape_16x64b_x4"), 4, true, false, by64);
  transfer(launch("shape_16x128b_x4"), 8, true, false, by128);
  transfer(launch("shape_16x256b_x4"), 16, true, false, by256);
  transfer(launch("shape_16x32bx2_x8"), 8, true, false, halves);
}

TEST_P(TensorMemory, PackedHalves) {
  transfer(launch("shape_32x32b_x8_packed"), 8, false, true,
           [](unsigned t, unsigned i) { return Cell{t, 2 * i}; });
  transfer(launch("shape_16x64b_x2_packed"), 2, true, true,
           [](unsigned t, unsigned i) { return Cell{t / 4 + t % 2 * 8, 2 * (2 * i + t / 2 % 2)}; });
  transfer(launch("shape_16x32bx2_x4_packed"), 4, true, true,
           [](unsigned t, unsigned i) { return Cell{t % 16, 2 * i + t / 16 * 24}; });
}

/// Rows of \p pieces times 16 bytes, each to some lanes. \p bits: elements of so
/// many bits, 16 in a piece, become bytes.
void copy(Launch k, unsigned blocks, unsigned rows, unsigned pieces, unsigned bits,
          const OperandLayout &layout,
          const std::function<std::vector<unsigned>(unsigned)> &lanesOf) {
  Random random;
  std::vector<uint32_t> image(128 * columns);
  for (uint32_t &x : image)
    x = random.bits();
  std::vector<uint8_t> in(blocks * 8192);
  for (uint8_t &x : in)
    x = uint8_t(random.bits());
  std::vector<uint32_t> want;
  for (unsigned block = 0; block < blocks; ++block) {
    auto after = image;
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned piece = 0; piece < pieces; ++piece) {
        const uint8_t *from = &in[block * 8192 + layout.offset(row, piece)];
        uint8_t bytes[16];
        for (unsigned i = 0; i < 16; ++i) {
          uint32_t value = 0;
          for (unsigned bit = 0; bit < bits; ++bit)
            value |= uint32_t(from[(i * bits + bit) / 8] >> ((i * bits + bit) % 8) & 1) << bit;
          bytes[i] = uint8_t(bits == 4 ? value << 2 : value);
        }
        for (unsigned lane : lanesOf(row))
          memcpy(&after[lane * columns + 8 + 4 * piece], bytes, 16);
      }
    want.insert(want.end(), after.begin(), after.end());
  }
  k.in(image);
  k.in(in);
  Buffer out = k.out<uint32_t>(want.size());
  k.value(layout.descriptor(true));
  k.grid = {blocks, 1, 1};
  k.block = {128, 1, 1};
  k.dynamicShared = 8192;
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], want[i]) << "lane " << i / columns << " column " << i % columns;
  });
}

using Lanes = std::vector<unsigned>;
Lanes same(unsigned row) { return {row}; }
Lanes everyQuarter(unsigned row) { return {row, row + 32, row + 64, row + 96}; }

TEST_P(TensorMemory, CopyFromShared) {
  OperandLayout swizzled{false, 32};
  // Without a swizzle the second piece of a row lies 4224 bytes further on.
  OperandLayout plain;
  copy(launch("copy_128x256b"), 1, 128, 2, 8, swizzled, same);
  copy(launch("copy_128x256b"), 1, 128, 2, 8, plain, same);
  copy(launch("copy_128x128b"), 1, 128, 1, 8, plain, same);
  copy(launch("copy_4x256b"), 1, 4, 2, 8, swizzled, [](unsigned row) { return Lanes{32 * row}; });
  copy(launch("copy_64x128b_02_13"), 1, 64, 1, 8, plain,
       [](unsigned row) { return Lanes{row, row + 64}; });
  copy(launch("copy_64x128b_01_23"), 1, 64, 1, 8, plain,
       [](unsigned row) { return row < 32 ? Lanes{row, row + 32} : Lanes{row + 32, row + 64}; });
  copy(launch("copy_32x128b"), 1, 32, 1, 8, plain, everyQuarter);
}

TEST_P(TensorMemory, CopyOfAPair) {
  copy(launch("copy_pair"), 2, 32, 1, 8, OperandLayout{}, everyQuarter);
}

TEST_P(TensorMemory, CopyOfPackedElements) {
  copy(launch("copy_four"), 1, 128, 2, 4, OperandLayout{false, 32}, same);
  copy(launch("copy_six"), 1, 128, 1, 6, OperandLayout{}, same);
}

TEST_P(TensorMemory, Allocations) {
  Launch k = launch("allocations");
  Buffer out = k.out<uint32_t>(4);
  k.run([&](const Results &results) {
    auto base = results.get<uint32_t>(out);
    // Sizes 256, 128, 32, 32: apart from each other, but the last may lie where
    // the second or the first fourth was.
    const unsigned size[] = {256, 128, 32, 32};
    std::set<unsigned> used;
    for (size_t i : {0u, 2u, 3u})
      for (unsigned c = 0; c < size[i]; ++c) {
        EXPECT_LT(base[i] + c, 512u);
        EXPECT_TRUE(used.insert(base[i] + c).second);
      }
  });
}

} // namespace
