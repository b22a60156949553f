//===- MatrixOperand.cpp - Operands of wgmma and tcgen05.mma --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/MatrixOperand.h"
#include "Emulator/Float.h"
#include "Emulator/TensorMap.h"

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

void decodePiece(const uint8_t *bytes, Element element, float *out) {
  switch (element) {
  case Element::F16: {
    uint16_t h[8];
    memcpy(h, bytes, 16);
    for (int i = 0; i < 8; ++i)
      out[i] = halfToFloat(h[i]);
    return;
  }
  case Element::BF16: {
    uint16_t h[8];
    memcpy(h, bytes, 16);
    for (int i = 0; i < 8; ++i)
      out[i] = bf16ToFloat(h[i]);
    return;
  }
  case Element::TF32: {
    uint32_t w[4];
    memcpy(w, bytes, 16);
    for (int i = 0; i < 4; ++i)
      out[i] = truncateToTf32(w[i]);
    return;
  }
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

void readOperand(const uint8_t *shared, const MatrixShape &shape,
                 const std::vector<uint32_t> &pieces, unsigned perLine, float *out) {
  unsigned perPiece = elementsPerPiece(shape.element);
  if (!shape.mnMajor) {
    for (unsigned r = 0; r < shape.rows; ++r)
      for (unsigned c = 0; c < perLine; ++c)
        decodePiece(shared + pieces[r * perLine + c], shape.element,
                    out + r * shape.k + c * perPiece);
    return;
  }
  float values[16];
  for (unsigned k = 0; k < shape.k; ++k)
    for (unsigned u = 0; u < perLine; ++u) {
      decodePiece(shared + pieces[k * perLine + u], shape.element, values);
      for (unsigned i = 0; i < perPiece; ++i)
        out[(u * perPiece + i) * shape.k + k] = values[i];
    }
}

#if defined(__x86_64__) && defined(__clang__)
#define PENSTOCK_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PENSTOCK_WIDE
#endif

PENSTOCK_WIDE
void multiply(const float *a, const float *b, float *d, unsigned m, unsigned n, unsigned k,
              bool accumulate) {
  // b transposed, so that the inner loop runs along n.
  float columns[96 * 256];
  for (unsigned j = 0; j < n; ++j)
    for (unsigned i = 0; i < k; ++i)
      columns[i * n + j] = b[j * k + i];
  for (unsigned row = 0; row < m; ++row) {
    float *out = d + row * n;
    if (!accumulate)
      for (unsigned j = 0; j < n; ++j)
        out[j] = 0;
    for (unsigned i = 0; i < k; ++i) {
      float x = a[row * k + i];
      const float *line = columns + i * n;
      for (unsigned j = 0; j < n; ++j)
        out[j] += x * line[j];
    }
  }
}

} // namespace penstock::emu
