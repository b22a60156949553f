//===- DescriptorTest.cpp - Bits of descriptors, and what they describe ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bits are held against constants of shipped kernels; that they describe the
// tile is shown by the emulator, which decodes them with code of its own.
//
//===----------------------------------------------------------------------===//
#include "Layout/Descriptor.h"
#include "Emulator/Tensor/MatrixOperand.h"
#include "Emulator/Tensor/TensorMap.h"
#include "gtest/gtest.h"

using namespace penstock;
using namespace penstock::layout;

namespace {

TEST(Descriptor, ConstantsOfShippedKernels) {
  MatrixOperand a{*sharedTileFor(128, 64, 16), Major::K};
  EXPECT_EQ(wgmmaDescriptor(a), 0x4000004000010000u);
  EXPECT_EQ(tcgen05Descriptor(a), 0x4000404000010000u);
  // A K-major descriptor says nothing of the tile's size.
  EXPECT_EQ(wgmmaDescriptor({*sharedTileFor(256, 256, 16), Major::K}), 0x4000004000010000u);
  EXPECT_EQ(tcgen05Descriptor({*sharedTileFor(256, 128, 8), Major::K}), 0x4000404000010000u);
  // MN-major atoms of 64 x 8 that lie along M first.
  EXPECT_EQ(encodeWgmma({0, 2048, Swizzle::B128}), 0x4000008000000000u);
}

TEST(Descriptor, OffsetsAreFieldsOf14Bits) {
  // By hand: leading >> 4 from bit 16, stride >> 4 from bit 32, the swizzle's code
  // from bit 62 (Hopper) or 61 (Blackwell, with a 1 at bit 46).
  // 32-byte rows: groups of eight are 256 bytes apart.
  MatrixOperand narrow{*sharedTileFor(64, 16, 16), Major::K};
  EXPECT_EQ(wgmmaDescriptor(narrow), 0xC000001000010000u);
  EXPECT_EQ(tcgen05Descriptor(narrow), 0xC000401000010000u);
  MatrixOperand half{*sharedTileFor(64, 32, 16), Major::K};
  EXPECT_EQ(wgmmaDescriptor(half), 0x8000002000010000u);
  EXPECT_EQ(tcgen05Descriptor(half), 0x8000402000010000u);
  // Core matrices: 128 bytes to the next eight rows, 64 * 16 to the next along K.
  MatrixOperand plain{{64, 16, 16, Swizzle::None, false}, Major::K};
  EXPECT_EQ(wgmmaDescriptor(plain), 0x0000000800400000u);
  EXPECT_EQ(tcgen05Descriptor(plain), 0x0000400800400000u);
  // MN-major, 32 k x 128 n: chunks of 32 * 128 bytes, eight k are 1024 bytes.
  MatrixOperand b{*sharedTileFor(32, 128, 16), Major::MN};
  EXPECT_EQ(wgmmaDescriptor(b), 0x4000004001000000u);
  EXPECT_EQ(tcgen05Descriptor(b), 0x4000404001000000u);
  // Without a swizzle leading and stride change places.
  MatrixOperand c{{32, 128, 16, Swizzle::None, false}, Major::MN};
  EXPECT_EQ(wgmmaDescriptor(c), 0x0000002000080000u);
}

TEST(Descriptor, RefusesWhatCannotBeDescribed) {
  auto both = [](MatrixOperand operand) {
    EXPECT_EQ(wgmmaDescriptor(operand).has_value(), tcgen05Descriptor(operand).has_value());
    return wgmmaDescriptor(operand).has_value();
  };
  EXPECT_TRUE(both({{64, 64, 16, Swizzle::B128, false}, Major::K}));
  EXPECT_FALSE(both({{64, 64, 16, Swizzle::B128, true}, Major::K})) << "linear";
  EXPECT_FALSE(both({{60, 64, 16, Swizzle::B128, false}, Major::K})) << "half a group";
  EXPECT_FALSE(both({{64, 32, 16, Swizzle::B128, false}, Major::K})) << "half a span";
  EXPECT_FALSE(both({{64, 24, 16, Swizzle::None, false}, Major::K})) << "half a step";
  EXPECT_FALSE(both({{24, 64, 16, Swizzle::B128, false}, Major::MN})) << "half a step";
  EXPECT_FALSE(both({{64, 256, 4, Swizzle::B128, false}, Major::K})) << "4 bits";
  EXPECT_FALSE(both({{64, 16, 64, Swizzle::B128, false}, Major::K})) << "64 bits";
  EXPECT_FALSE(both({{0, 64, 16, Swizzle::B128, false}, Major::K}));
  EXPECT_FALSE(both({{2048, 128, 16, Swizzle::B128, false}, Major::MN})) << "LBO too large";
  EXPECT_FALSE(both({{16384, 16, 16, Swizzle::None, false}, Major::K})) << "LBO too large";
  // Hopper transposes 16-bit elements only, Blackwell also bytes; 4-byte ones need
  // another swizzle.
  MatrixOperand bytes{*sharedTileFor(64, 128, 8), Major::MN};
  EXPECT_FALSE(wgmmaDescriptor(bytes));
  EXPECT_TRUE(tcgen05Descriptor(bytes));
  EXPECT_FALSE(both({*sharedTileFor(64, 32, 32), Major::MN}));
  EXPECT_TRUE(both({*sharedTileFor(64, 32, 32), Major::K}));
}

TEST(Descriptor, InstructionConstants) {
  auto bits = [](MmaType type, int m, int n) {
    return tcgen05InstructionDescriptor({type, type, AccType::F32, m, n, Major::K, Major::K});
  };
  EXPECT_EQ(bits(MmaType::F16, 256, 128), 0x10200010u);
  EXPECT_EQ(bits(MmaType::BF16, 128, 256), 0x08400490u);
  EXPECT_EQ(bits(MmaType::TF32, 128, 128), 0x08200910u);
  EXPECT_EQ(bits(MmaType::E4M3, 128, 256), 0x08400010u);
  // One field after the other, from 64 x 8 f16 into f16.
  InstructionDescriptor d{MmaType::F16, MmaType::F16, AccType::F16, 64, 8, Major::K, Major::K};
  EXPECT_EQ(tcgen05InstructionDescriptor(d), 4u << 24 | 1u << 17);
  d.aMajor = Major::MN;
  EXPECT_EQ(tcgen05InstructionDescriptor(d), 4u << 24 | 1u << 17 | 1u << 15);
  d.aMajor = Major::K;
  d.bMajor = Major::MN;
  EXPECT_EQ(tcgen05InstructionDescriptor(d), 4u << 24 | 1u << 17 | 1u << 16);
  d = {MmaType::E5M2, MmaType::E4M3, AccType::F32, 64, 8, Major::K, Major::K};
  EXPECT_EQ(tcgen05InstructionDescriptor(d), 4u << 24 | 1u << 17 | 1u << 4 | 1u << 7);
  d = {MmaType::U8, MmaType::S8, AccType::S32, 64, 8, Major::K, Major::K};
  EXPECT_EQ(tcgen05InstructionDescriptor(d), 4u << 24 | 1u << 17 | 2u << 4 | 1u << 10);
}

TEST(Descriptor, InstructionsTake32BytesOfK) {
  EXPECT_EQ(instructionK(MmaType::F16), 16);
  EXPECT_EQ(instructionK(MmaType::BF16), 16);
  EXPECT_EQ(instructionK(MmaType::TF32), 8);
  EXPECT_EQ(instructionK(MmaType::E4M3), 32);
  EXPECT_EQ(instructionK(MmaType::E5M2), 32);
  EXPECT_EQ(instructionK(MmaType::S8), 32);
  EXPECT_EQ(instructionK(MmaType::U8), 32);
}

struct OperandCase {
  SharedTile tile;
  Major major;
  bool hopper;
};

std::vector<OperandCase> operandCases() {
  std::vector<OperandCase> cases;
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (int bits : {8, 16, 32})
      for (int64_t chunks : {1, 2, 4})
        for (Major major : {Major::K, Major::MN})
          for (bool hopper : {false, true}) {
            int64_t width = spanBytes(swizzle) * 8 / bits;
            int64_t step = 256 / bits;
            bool transposable = bits == 16 || (bits == 8 && !hopper);
            if (major == Major::MN && !transposable)
              continue;
            if (major == Major::K && chunks * width % step != 0)
              continue;
            int64_t rows = major == Major::K ? 64 : 2 * step;
            cases.push_back({{rows, chunks * width, bits, swizzle, false}, major, hopper});
          }
  return cases;
}

/// The emulator reads each operand of one instruction through our descriptor; the
/// pieces must be where the tile has those elements.
TEST(Descriptor, EmulatorFindsTheTilesElements) {
  constexpr uint32_t start = 5 * 1024;
  unsigned read = 0;
  for (const OperandCase &c : operandCases()) {
    const SharedTile &tile = c.tile;
    MatrixOperand operand{tile, c.major};
    std::optional<uint64_t> bits = c.hopper ? wgmmaDescriptor(operand) : tcgen05Descriptor(operand);
    ASSERT_TRUE(bits);
    bool kMajor = c.major == Major::K;
    int64_t k = 256 / tile.elementBits, piece = 128 / tile.elementBits;
    int64_t mnExtent = kMajor ? tile.rows : tile.cols, kExtent = kMajor ? tile.cols : tile.rows;
    // From each start that is allowed, up to the end of the tile, at least 8.
    int64_t mnStep = kMajor ? 8 : tile.chunkCols();
    for (int64_t mnStart = 0; mnStart < mnExtent; mnStart += mnStep)
      for (int64_t kStart = 0; kStart + k <= kExtent; kStart += k) {
        int64_t address = start + operandStepBytes(operand, mnStart, kStart);
        emu::MatrixDescriptor decoded;
        uint64_t whole = *bits + (uint64_t(address & 0x3FFFF) >> 4);
        std::string error = c.hopper ? emu::decodeWgmmaDescriptor(whole, decoded)
                                     : emu::decodeTcgen05Descriptor(whole, decoded);
        ASSERT_EQ(error, "");
        ASSERT_EQ(decoded.start, address);
        ASSERT_EQ(decoded.swizzle, tensorMapCode(tile.swizzle));
        emu::MatrixShape shape;
        shape.rows = unsigned(mnExtent - mnStart);
        shape.k = unsigned(k);
        shape.mnMajor = !kMajor;
        shape.element = tile.elementBits == 8    ? emu::Element::E4M3
                        : tile.elementBits == 16 ? emu::Element::F16
                                                 : emu::Element::TF32;
        std::vector<uint32_t> pieces;
        unsigned perLine = 0;
        ASSERT_EQ(emu::operandPieces(decoded, shape, pieces, perLine), "");
        for (size_t i = 0; i < pieces.size(); ++i) {
          int64_t line = int64_t(i / perLine), at = int64_t(i % perLine) * piece;
          int64_t row = (kMajor ? mnStart : kStart) + line;
          int64_t col = (kMajor ? kStart : mnStart) + at;
          ASSERT_EQ(pieces[i], start + tile.byteOffset(row, col))
              << "row " << row << ", column " << col;
          ++read;
        }
      }
  }
  EXPECT_GT(read, 10000u);
}

TEST(Descriptor, EmulatorSwizzlesAlike) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (uint32_t address = 0; address < 8192; address += 4)
      ASSERT_EQ(swizzled(swizzle, address), emu::swizzleAddress(address, tensorMapCode(swizzle)));
}

} // namespace
