//===- MatrixOperand.cpp - Operands of wgmma and tcgen05.mma --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/MatrixOperand.h"
#include "Emulator/Float.h"
#include "Emulator/Tensor/TensorMap.h"
#include "Emulator/Wide.h"

#include <algorithm>

namespace penstock::emu {
namespace {

void decodeCommon(uint64_t bits, MatrixDescriptor &out) {
  out.start = uint32_t(bits & 0x3fff) << 4;
  out.leading = uint32_t(bits >> 16 & 0x3fff) << 4;
  out.stride = uint32_t(bits >> 32 & 0x3fff) << 4;
}

} // namespace

std::string decodeWgmmaDescriptor(uint64_t bits, MatrixDescriptor &out) {
  decodeCommon(bits, out);
  if (bits >> 49 & 7)
    return "a base offset that is not zero is not supported";
  constexpr uint64_t reserved =
      uint64_t(3) << 14 | uint64_t(3) << 30 | uint64_t(7) << 46 | uint64_t(0x3ff) << 52;
  if (bits & reserved)
    return "reserved bits of the descriptor are set";
  static constexpr uint32_t modes[] = {0, 3, 2, 1};
  out.swizzle = modes[bits >> 62];
  return "";
}

std::string decodeTcgen05Descriptor(uint64_t bits, MatrixDescriptor &out) {
  decodeCommon(bits, out);
  if ((bits >> 46 & 7) != 1)
    return "bits 46 to 48 of the descriptor must be 0b001";
  if (bits >> 49 & 7)
    return "a base offset that is not zero is not supported";
  if (bits >> 52 & 1)
    return "the absolute mode of the leading offset is not supported";
  switch (bits >> 61) {
  case 0:
    out.swizzle = 0;
    return "";
  case 1:
    out.swizzle = 4;
    return "";
  case 2:
    out.swizzle = 3;
    return "";
  case 4:
    out.swizzle = 2;
    return "";
  case 6:
    out.swizzle = 1;
    return "";
  default:
    return "the swizzle mode of the descriptor does not exist";
  }
}

unsigned elementBytes(Element element) {
  switch (element) {
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::TF32:
    return 4;
  default:
    return 1;
  }
}

unsigned elementsPerPiece(Element element) {
  return element == Element::E2M1Packed ? 32 : 16 / elementBytes(element);
}

std::string operandPieces(const MatrixDescriptor &descriptor, const MatrixShape &shape,
                          std::vector<uint32_t> &pieces, unsigned &perLine) {
  unsigned size = elementBytes(shape.element);
  static constexpr uint32_t units[] = {1, 2, 4, 8, 8};
  uint32_t width = units[descriptor.swizzle];
  bool plain = descriptor.swizzle == 0;
  pieces.clear();
  auto add = [&](uint32_t offset) {
    pieces.push_back(swizzleAddress(descriptor.start + offset, descriptor.swizzle));
  };
  if (!shape.mnMajor) {
    if (descriptor.swizzle == 4)
      return "the 32-byte atom is for MN-major operands only";
    perLine = shape.k / elementsPerPiece(shape.element);
    for (unsigned r = 0; r < shape.rows; ++r)
      for (unsigned c = 0; c < perLine; ++c)
        add(r % 8 * width * 16 + r / 8 * descriptor.stride +
            (plain ? c * descriptor.leading : c * 16));
    return "";
  }
  if (shape.rows * size % 16)
    return "an MN-major operand needs whole pieces of 16 bytes";
  perLine = shape.rows * size / 16;
  for (unsigned k = 0; k < shape.k; ++k)
    for (unsigned u = 0; u < perLine; ++u) {
      if (plain)
        add(u * descriptor.stride + k % 8 * 16 + k / 8 * descriptor.leading);
      else if (descriptor.swizzle == 4)
        add(u % 8 * 16 + u / 8 * descriptor.leading + k % 4 * 128 + k / 4 * descriptor.stride);
      else
        add(u % width * 16 + u / width * descriptor.leading + k % 8 * width * 16 +
            k / 8 * descriptor.stride);
    }
  return "";
}

float decodeElement(uint32_t bits, Element element) {
  switch (element) {
  case Element::F16:
    return halfToFloat(uint16_t(bits));
  case Element::BF16:
    return bf16ToFloat(uint16_t(bits));
  case Element::TF32:
    return truncateToTf32(bits);
  case Element::E4M3:
    return decodeFloat(bits & 0xff, formatE4M3);
  case Element::E5M2:
    return decodeFloat(bits & 0xff, formatE5M2);
  case Element::E2M3:
    return decodeFloat(bits & 0x3f, formatE2M3);
  case Element::E3M2:
    return decodeFloat(bits & 0x3f, formatE3M2);
  case Element::E2M1: // bits 5 to 2 of a byte
    return decodeFloat(bits >> 2 & 0xf, formatE2M1);
  case Element::U8:
    return float(uint8_t(bits));
  case Element::S8:
    return float(int8_t(bits));
  case Element::E2M1Packed:
    return decodeFloat(bits & 0xf, formatE2M1);
  }
  return 0;
}

float decodeScale(uint8_t bits, bool e8) {
  return e8 ? decodeUE8M0(bits) : decodeFloat(bits & 0x7f, formatE4M3);
}

namespace {

/// One 16-byte piece as elements, for types without a faster way.
void decodePiece(const uint8_t *bytes, Element element, float *out) {
  switch (element) {
  case Element::E2M1: // 16 nibbles, then padding
    for (int i = 0; i < 16; ++i)
      out[i] = decodeFloat(bytes[i / 2] >> (4 * (i % 2)) & 0xf, formatE2M1);
    return;
  case Element::E2M1Packed:
    for (int i = 0; i < 32; ++i)
      out[i] = decodeFloat(bytes[i / 2] >> (4 * (i % 2)) & 0xf, formatE2M1);
    return;
  case Element::E2M3:
  case Element::E3M2: // 16 values of 6 bits, then padding
    for (int i = 0; i < 16; ++i) {
      int bit = 6 * i;
      uint32_t pair = bytes[bit / 8] | uint32_t(bytes[bit / 8 + 1]) << 8;
      out[i] =
          decodeFloat(pair >> (bit % 8) & 0x3f, element == Element::E2M3 ? formatE2M3 : formatE3M2);
    }
    return;
  default:
    for (int i = 0; i < 16; ++i)
      out[i] = decodeElement(bytes[i], element);
  }
}

PENSTOCK_WIDE
void decodeHalves(const uint8_t *bytes, size_t count, float *out) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t h;
    memcpy(&h, bytes + 2 * i, 2);
    // halfToFloat without branches: the product moves the exponent, also that of subnormals.
    uint32_t magnitude = h & 0x7fff;
    uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    uint32_t special = 0x7f800000 | magnitude << 13;
    out[i] =
        std::bit_cast<float>(uint32_t(h & 0x8000) << 16 | (magnitude >= 0x7c00 ? special : finite));
  }
}

/// Elements of \p pieces one after the other.
void decodePieces(const uint8_t *shared, const std::vector<uint32_t> &pieces, Element element,
                  float *out) {
  if (element == Element::F16) {
    static thread_local std::vector<uint8_t> packed;
    packed.resize(pieces.size() * 16);
    for (size_t i = 0; i < pieces.size(); ++i)
      memcpy(&packed[i * 16], shared + pieces[i], 16);
    decodeHalves(packed.data(), pieces.size() * 8, out);
    return;
  }
  if (element == Element::BF16 || element == Element::TF32) {
    unsigned bytes = elementBytes(element);
    for (uint32_t piece : pieces)
      for (unsigned i = 0; i < 16; i += bytes) {
        uint32_t bits = 0;
        memcpy(&bits, shared + piece + i, bytes);
        *out++ = decodeElement(bits, element);
      }
    return;
  }
  unsigned perPiece = elementsPerPiece(element);
  for (uint32_t piece : pieces) {
    decodePiece(shared + piece, element, out);
    out += perPiece;
  }
}

} // namespace

void MatrixTile::readRows(const uint8_t *shared, float *out) const {
  if (!shape.mnMajor)
    return decodePieces(shared, pieces, shape.element, out);
  static thread_local std::vector<float> lines;
  lines.resize(size_t(shape.rows) * shape.k);
  decodePieces(shared, pieces, shape.element, lines.data());
  for (unsigned k = 0; k < shape.k; ++k)
    for (unsigned row = 0; row < shape.rows; ++row)
      out[row * shape.k + k] = lines[k * shape.rows + row];
}

void MatrixTile::readColumns(const uint8_t *shared, float *out, unsigned stride) const {
  static thread_local std::vector<float> lines;
  lines.resize(size_t(shape.rows) * shape.k);
  decodePieces(shared, pieces, shape.element, lines.data());
  if (shape.mnMajor) {
    for (unsigned k = 0; k < shape.k; ++k)
      memcpy(out + size_t(k) * stride, &lines[size_t(k) * shape.rows], shape.rows * 4);
    return;
  }
  // Whole lines of the cache are read and written: eight values of k at a time.
  for (unsigned k = 0; k < shape.k; k += 8)
    for (unsigned row = 0; row < shape.rows; ++row)
      for (unsigned i = k; i < k + 8; ++i)
        out[size_t(i) * stride + row] = lines[row * shape.k + i];
}

std::vector<CellSet> cellSetsOf(std::vector<uint32_t> pieces) {
  std::sort(pieces.begin(), pieces.end());
  std::vector<CellSet> sets;
  for (uint32_t offset : pieces) {
    CellSet one = cellSet(offset, offset + Shadow::cellBytes);
    if (sets.empty() || sets.back().segment != one.segment)
      sets.push_back(one);
    else
      sets.back().cells |= one.cells;
  }
  return sets;
}

std::shared_ptr<const MatrixTile> MatrixTiles::find(Decode decode, uint64_t bits,
                                                    const MatrixShape &shape) {
  uint64_t key = shape.rows | uint64_t(shape.k) << 16 | uint64_t(shape.mnMajor) << 32 |
                 uint64_t(shape.element) << 40;
  constexpr size_t enough = 1024; // tiles that a kernel uses again are fewer
  if (tiles.size() > enough)
    tiles.clear();
  std::shared_ptr<const MatrixTile> &found = tiles[{bits, key}];
  if (found)
    return found;
  auto tile = std::make_shared<MatrixTile>();
  tile->shape = shape;
  MatrixDescriptor descriptor;
  tile->problem = decode(bits, descriptor);
  tile->swizzle = descriptor.swizzle;
  if (tile->problem.empty())
    tile->problem = operandPieces(descriptor, shape, tile->pieces, tile->perLine);
  const std::vector<uint32_t> &pieces = tile->pieces;
  for (size_t quarter = 0; quarter < 4; ++quarter) {
    auto begin = pieces.begin() + ptrdiff_t(pieces.size() * quarter / 4);
    auto end = pieces.begin() + ptrdiff_t(pieces.size() * (quarter + 1) / 4);
    tile->quarters[quarter] = cellSetsOf({begin, end});
  }
  for (uint32_t offset : pieces) {
    tile->first = std::min(tile->first, offset);
    tile->end = std::max(tile->end, offset + 16);
  }
  return found = tile;
}

std::shared_ptr<const MatrixTile> matrixTile(Cta &cta, MatrixTiles::Decode decode, uint64_t bits,
                                             const MatrixShape &shape) {
  if (!cta.matrixTiles)
    cta.matrixTiles = std::make_shared<MatrixTiles>();
  return cta.matrixTiles->find(decode, bits, shape);
}

} // namespace penstock::emu
