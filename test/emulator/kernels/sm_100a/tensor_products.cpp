//===- tensor_products.cpp - tcgen05.mma of every kind --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Operands.h"

using namespace kernels;

namespace {

KERNEL_FAMILY(TensorProducts, "tensor_products", "sm_100a");

constexpr size_t space = 65536, lanes = 128, columns = 512;

enum class Result { F32, F16, S32 };

struct Product {
  unsigned blocks, m, n, depth;
  Number a, b;
  OperandLayout layoutA = {}, layoutB = {};
  Result result = Result::F32;
  bool tensorA = false, noSign = false;
  bool negateA = false, negateB = false;
  // Block scales: elements of k for each, the format, and where in a word.
  unsigned scaleBlock = 0;
  bool scaleE8 = true;
  unsigned idA = 0, idB = 0;
  std::array<uint32_t, 8> disabled = {};
  double keep = 1; ///< factor of the accumulator
  bool accumulate = true;
  unsigned timings = 2;
};

struct Arguments {
  uint64_t a, b;
  uint32_t instruction, accumulate;
  uint32_t columnA, columnScaleA, columnScaleB, unused;
  uint32_t disabled[8];
};
constexpr uint32_t columnA = 300, columnScaleA = 400, columnScaleB = 440;

/// Lane and column of the accumulator of row \p row of a block, column \p n.
std::pair<unsigned, unsigned> placeD(const Product &p, unsigned row, unsigned n) {
  if (p.m / p.blocks == 128)
    return {row, n};
  if (p.blocks == 1) // 16 rows in each quarter
    return {row % 16 + row / 16 * 32, n};
  return {row + n / (p.n / 2) * 64, n % (p.n / 2)};
}

uint32_t instruction(const Product &p) {
  uint32_t bits = p.a.code << 7 | p.b.code << 10 | uint32_t(p.negateA) << 13 |
                  uint32_t(p.negateB) << 14 | uint32_t(p.layoutA.mnMajor) << 15 |
                  uint32_t(p.layoutB.mnMajor) << 16 | p.n / 8 << 17;
  if (p.scaleBlock)
    return bits | p.idB << 4 | uint32_t(p.scaleE8) << 23 | p.m / 128 << 27 | p.idA << 29;
  return bits |
         (p.result == Result::F32   ? 1u
          : p.result == Result::S32 ? 2u
                                    : 0u)
             << 4 |
         p.m / 16 << 24;
}

void multiply(Launch k, const Product &p) {
  Random random;
  unsigned rows = p.m / p.blocks, columnsB = p.n / p.blocks;
  std::vector<Operand> a, b;
  std::vector<uint8_t> imageA, imageB;
  std::vector<uint32_t> tensor(p.blocks * lanes * columns, 0xdeadbeef);
  auto word = [&](unsigned block, unsigned lane, unsigned column) -> uint32_t & {
    return tensor[(block * lanes + lane) * columns + column];
  };
  for (unsigned block = 0; block < p.blocks; ++block) {
    a.emplace_back(random, rows, p.depth, p.a, p.layoutA, space, p.noSign);
    b.emplace_back(random, columnsB, p.depth, p.b, p.layoutB, space, p.noSign);
    imageA.insert(imageA.end(), a[block].image.begin(), a[block].image.end());
    imageB.insert(imageB.end(), b[block].image.begin(), b[block].image.end());
    if (!p.tensorA)
      continue;
    // Elements of k fill the columns from the low bits on: in bytes, unless two
    // to a byte.
    unsigned width = p.a.perPiece == 32 ? 4 : std::max(8u, p.a.bits), per = 32 / width;
    for (unsigned row = 0; row < rows; ++row) {
      // As many words as the row has; the halves of a pair both hold it.
      unsigned lane = rows == 64 && p.blocks == 1 ? row % 16 + row / 16 * 32 : row;
      for (unsigned copy = 0; copy < (rows == 64 && p.blocks == 2 ? 2u : 1u); ++copy)
        for (unsigned i = 0; i < p.depth; ++i) {
          uint32_t &to = word(block, lane + copy * 64, columnA + i / per);
          if (i % per == 0)
            to = 0;
          to |= p.a.encode(a[block].at(row, i)) << (i % per * width + p.a.inByte);
        }
    }
  }
  // Accumulators.
  std::vector<int> start(p.m * p.n);
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned n = 0; n < p.n; ++n) {
      int value = start[row * p.n + n] = random.between(-4, 4) * 8;
      auto [lane, column] = placeD(p, row % rows, n);
      word(row / rows, lane, column) = p.result == Result::F32
                                           ? std::bit_cast<uint32_t>(float(value))
                                       : p.result == Result::F16 ? halfBits(float(value))
                                                                 : uint32_t(value);
    }
  // Scales: bytes of a word per row, rows around the 32 lanes, in all quarters.
  // Pairs of 64 rows keep the scales of the right half of B in the upper lanes.
  unsigned scales = p.scaleBlock ? p.depth / p.scaleBlock : 0;
  std::vector<double> scaleA(p.m * 4, 1), scaleB(p.n * 4, 1);
  auto makeScale = [&](double &value) {
    int e = random.between(-1, 2);
    value = std::ldexp(1.0, e);
    return p.scaleE8 ? uint32_t(e + 127) : e4m3.nearest(value);
  };
  auto putScale = [&](unsigned block, unsigned column, unsigned row, unsigned byte, uint32_t code,
                      unsigned firstLane, unsigned lastLane) {
    for (unsigned lane = firstLane + row % 32; lane < lastLane; lane += 32) {
      uint32_t &to = word(block, lane, column + row / 32);
      to = (to & ~(0xffu << (8 * byte))) | code << (8 * byte);
    }
  };
  for (unsigned s = 0; s < scales; ++s) {
    for (unsigned row = 0; row < p.m; ++row)
      putScale(row / rows, columnScaleA, row % rows, p.idA + s, makeScale(scaleA[row * 4 + s]), 0,
               128);
    bool halved = p.blocks == 2 && rows == 64;
    for (unsigned n = 0; n < p.n; ++n) {
      uint32_t code = makeScale(scaleB[n * 4 + s]);
      for (unsigned block = 0; block < p.blocks; ++block)
        if (!halved)
          putScale(block, columnScaleB, n, p.idB + s, code, 0, 128);
        else
          putScale(block, columnScaleB, n % (p.n / 2), p.idB + s, code, n < p.n / 2 ? 0 : 64,
                   n < p.n / 2 ? 64 : 128);
    }
  }
  auto want = tensor;
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned n = 0; n < p.n; ++n) {
      double sum = p.accumulate ? start[row * p.n + n] * p.keep : 0;
      double sign = p.negateA != p.negateB ? -1 : 1;
      for (unsigned i = 0; i < p.depth; ++i) {
        unsigned s = p.scaleBlock ? i / p.scaleBlock : 0;
        sum += sign * a[row / rows].at(row % rows, i) * b[n / columnsB].at(n % columnsB, i) *
               scaleA[row * 4 + s] * scaleB[n * 4 + s];
      }
      auto [lane, column] = placeD(p, row % rows, n);
      unsigned block = row / rows, bit = lane + 128 * block;
      if (p.disabled[bit / 32] >> (bit % 32) & 1)
        continue;
      want[(block * lanes + lane) * columns + column] =
          p.result == Result::F32   ? std::bit_cast<uint32_t>(float(sum))
          : p.result == Result::F16 ? halfBits(float(sum))
                                    : uint32_t(int(sum));
    }
  k.in(imageA);
  k.in(imageB);
  k.in(tensor);
  Buffer out = k.out<uint32_t>(tensor.size());
  Arguments arguments{p.layoutA.descriptor(true),
                      p.layoutB.descriptor(true),
                      instruction(p),
                      p.accumulate,
                      columnA,
                      columnScaleA,
                      columnScaleB,
                      0,
                      {}};
  for (size_t i = 0; i < 8; ++i)
    arguments.disabled[i] = p.disabled[i];
  k.bytes(arguments, 8);
  k.grid = {p.blocks, 1, 1};
  k.block = {128, 1, 1};
  k.dynamicShared = 2 * space;
  k.timings = p.timings;
  k.run([&](const Results &results) {
    auto got = results.get<uint32_t>(out);
    for (size_t i = 0; i < got.size(); ++i) {
      uint32_t expected = want[i];
      if (p.result == Result::F16 && i % columns < p.n && expected != tensor[i])
        ASSERT_EQ(got[i] & 0xffff, expected & 0xffff) << i;
      else
        ASSERT_EQ(got[i], expected) << "lane " << i / columns << " column " << i % columns;
    }
  });
}

std::string name(const char *kind, unsigned blocks) {
  return std::string(kind) + "_" + std::to_string(blocks);
}

struct Size {
  unsigned blocks, m, n;
};
const Size sizes[] = {{1, 128, 32}, {1, 64, 40}, {2, 256, 64}, {2, 128, 32}};
const OperandLayout majors[] = {
    {false, 0}, {false, 32}, {false, 64}, {false, 128}, {false, 128, 64}};

TEST_P(TensorProducts, Half) {
  for (const Size &s : sizes) {
    bool all = s.blocks == 1 && s.m == 128; // every layout with one size will do
    for (const OperandLayout &layout : majors)
      if (all || layout.swizzle == 64)
        multiply(launch(name("f16", s.blocks).c_str()),
                 {s.blocks, s.m, s.n, 16, f16Number(), bf16Number(), layout, layout});
    for (unsigned swizzle : {0u, 32u, 64u, 128u}) {
      if (!all && swizzle != 128)
        continue;
      OperandLayout layout{true, swizzle};
      Product p{s.blocks, s.m, s.n, 16, bf16Number(), f16Number(), layout, {false, 128}};
      p.negateB = true;
      multiply(launch(name("f16", s.blocks).c_str()), p);
      Product q{s.blocks, s.m, s.blocks * 64, 16, f16Number(), f16Number(), {false, 64}, layout};
      q.result = Result::F16;
      multiply(launch(name("f16", s.blocks).c_str()), q);
    }
  }
}

TEST_P(TensorProducts, Tf32) {
  OperandLayout wide{false, 128}, atoms{true, 129};
  for (const Size &s : sizes) {
    multiply(launch(name("tf32", s.blocks).c_str()),
             {s.blocks, s.m, s.n, 8, tf32Number(), tf32Number(), wide, wide});
    multiply(launch(name("tf32", s.blocks).c_str()),
             {s.blocks, s.m, s.blocks * 32, 8, tf32Number(), tf32Number(), atoms, atoms});
  }
}

TEST_P(TensorProducts, EightSixAndFourBits) {
  const Number numbers[] = {e4m3Number(), e5m2Number(), e2m3Number(), e3m2Number(), e2m1Number()};
  OperandLayout wide{false, 128}, plain;
  for (const Size &s : sizes) {
    unsigned other = 0;
    for (const Number &number : numbers)
      if (++other; s.m == 128 || other == 1)
        multiply(launch(name("f8f6f4", s.blocks).c_str()),
                 {s.blocks, s.m, s.n / 16 * 16, 32, number, numbers[other % 5], wide, plain});
    OperandLayout transposed{true, 128};
    multiply(
        launch(name("f8f6f4", s.blocks).c_str()),
        {s.blocks, s.m, s.blocks * 128, 32, e4m3Number(), e5m2Number(), transposed, transposed});
  }
}

TEST_P(TensorProducts, Integers) {
  OperandLayout wide{false, 128}, transposed{true, 64};
  for (const Size &s : sizes) {
    unsigned n = s.n / 32 * 32;
    Product p{s.blocks, s.m, n, 32, s8Number(), s8Number(), wide, wide, Result::S32};
    multiply(launch(name("i8", s.blocks).c_str()), p);
    Product q{s.blocks,   s.m,        s.blocks * 64, 32,         u8Number(),
              u8Number(), transposed, transposed,    Result::S32};
    q.noSign = true;
    multiply(launch(name("i8", s.blocks).c_str()), q);
  }
}

TEST_P(TensorProducts, OperandInTensorMemory) {
  OperandLayout wide{false, 128};
  auto run = [&](const char *kind, unsigned depth, const Number &number, Result result) {
    for (const Size &s : sizes) {
      Product p{s.blocks, s.m, s.n / 32 * 32, depth, number, number, wide, wide, result, true};
      multiply(launch(name(kind, s.blocks).c_str()), p);
      if (depth == 32 && number.bits < 8)
        return; // containers do not depend on the size
    }
  };
  run("f16_tensor", 16, f16Number(), Result::F32);
  run("tf32_tensor", 8, tf32Number(), Result::F32);
  run("f8f6f4_tensor", 32, e5m2Number(), Result::F32);
  run("f8f6f4_tensor", 32, e3m2Number(), Result::F32);
  run("f8f6f4_tensor", 32, e2m1Number(), Result::F32);
  run("i8_tensor", 32, s8Number(), Result::S32);
}

/// Block-scaled kinds have no products of 64 rows in one block.
const Size scaledSizes[] = {{1, 128, 48}, {2, 256, 128}, {2, 128, 96}};

TEST_P(TensorProducts, BlockScaledEightBits) {
  OperandLayout wide{false, 128};
  for (const Size &s : scaledSizes)
    for (unsigned id = s.blocks == 1 ? 0 : 3; id < 4; ++id) {
      Product p{s.blocks,
                s.m,
                s.n,
                32,
                id % 2 ? e4m3Number() : e2m1Number(),
                id < 2 ? e3m2Number() : e5m2Number(),
                wide,
                wide};
      p.scaleBlock = 32;
      p.idA = id;
      p.idB = 3 - id;
      multiply(launch(name("mxf8f6f4", s.blocks).c_str()), p);
      p.tensorA = true;
      multiply(launch(name("mxf8f6f4_tensor", s.blocks).c_str()), p);
    }
}

TEST_P(TensorProducts, BlockScaledFourBits) {
  OperandLayout wide{false, 128}, plain;
  for (const Size &s : scaledSizes) {
    Product p{s.blocks, s.m, s.n, 64, packedE2m1Number(), packedE2m1Number(), wide, plain};
    for (unsigned id : {0u, 2u}) {
      p.scaleBlock = 32;
      p.idA = id;
      p.idB = 2 - id;
      multiply(launch(name("mxf4", s.blocks).c_str()), p);
      multiply(launch(name("nvf4_by32", s.blocks).c_str()), p);
      Product tensor = p;
      tensor.tensorA = true;
      multiply(launch(name("mxf4_tensor", s.blocks).c_str()), tensor);
    }
    p.scaleBlock = 16;
    p.idA = p.idB = 0;
    multiply(launch(name("nvf4", s.blocks).c_str()), p);
    p.scaleE8 = false;
    multiply(launch(name("nvf4", s.blocks).c_str()), p);
  }
}

TEST_P(TensorProducts, LanesThatKeepTheirValues) {
  OperandLayout wide{false, 128};
  Product one{1, 128, 32, 16, f16Number(), f16Number(), wide, wide};
  one.disabled = {0x0000ffff, 0x80000001, 0, 0xfffffffe};
  multiply(launch("masked_1"), one);
  Product two{2, 256, 32, 16, f16Number(), f16Number(), wide, wide};
  two.disabled = {0x0f0f0f0f, 0, 1, 2, 0xf0f0f0f0, 0x10, 0, 0xffffffff};
  multiply(launch("masked_2"), two);
}

TEST_P(TensorProducts, Accumulators) {
  OperandLayout wide{false, 128};
  Product p{1, 128, 256, 16, f16Number(), f16Number(), wide, wide};
  p.timings = 9;
  p.keep = 0.125;
  multiply(launch("scaled_accumulator"), p);
  p.keep = 1;
  p.accumulate = false;
  p.negateA = true;
  multiply(launch("f16_1"), p);
}

} // namespace
