//===- Tcgen05Product.cpp - Products of tcgen05.mma -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/Tcgen05Product.h"
#include "Emulator/Float.h"
#include "Emulator/Tensor/MatrixProduct.h"
#include "Emulator/Tensor/TensorMemory.h"

#include <cmath>

namespace penstock::emu {
namespace {

bool decodeElementType(Tcgen05Kind kind, unsigned code, Element &element) {
  switch (kind) {
  case Tcgen05Kind::F16:
    element = code ? Element::BF16 : Element::F16;
    return code < 2;
  case Tcgen05Kind::TF32:
    element = Element::TF32;
    return code == 2;
  case Tcgen05Kind::I8:
    element = code ? Element::S8 : Element::U8;
    return code < 2;
  case Tcgen05Kind::MXF4:
    element = Element::E2M1Packed;
    return code == 1;
  case Tcgen05Kind::MXF8:
  case Tcgen05Kind::F8F6F4: {
    static constexpr Element elements[] = {Element::E4M3, Element::E5M2, Element::E4M3,
                                           Element::E2M3, Element::E3M2, Element::E2M1};
    if (code > 5 || code == 2)
      return false;
    element = elements[code];
    return true;
  }
  }
  return false;
}

/// Sets the shapes of operands, of which A stores \p k elements of each row; a text if they are not
/// supported.
std::string shapeOperands(Tcgen05Product &mma, unsigned k) {
  mma.k = mma.sparse ? 2 * k : k;
  mma.scaleBlock *= mma.sparse ? 2 : 1;
  mma.shapeA.k = k;
  mma.shapeB.k = mma.k;
  mma.shapeA.rows = mma.rowsPerBlock();
  mma.shapeB.rows = mma.n / mma.blocks;
  if (mma.sparse && mma.shapeA.rows != 128)
    return "sparse products of fewer than 128 rows in a block are not supported";
  return "";
}

/// Reads the 32-bit instruction descriptor; a text if it is not legal.
std::string decodeInstruction(uint32_t bits, Tcgen05Product &mma) {
  unsigned dFormat = bits >> 4 & 3;
  mma.n = (bits >> 17 & 0x3f) * 8;
  mma.m = (bits >> 24 & 0x1f) * 16;
  mma.negateA = bits >> 13 & 1;
  mma.negateB = bits >> 14 & 1;
  mma.shapeA.mnMajor = bits >> 15 & 1;
  mma.shapeB.mnMajor = bits >> 16 & 1;
  mma.saturate = bits >> 3 & 1;
  mma.selector = bits & 3;
  if (bool(bits & 4) != mma.sparse)
    return mma.sparse ? "the instruction descriptor of a sparse product is not marked as sparse"
                      : "the instruction descriptor is marked as sparse";
  if (mma.selector > (mma.sparse && mma.kind <= Tcgen05Kind::TF32 ? 1 : 0))
    return "the sparsity selector of the instruction descriptor is not legal";
  if (bits >> 6 & 1 || bits >> 23 & 1 || bits >> 29 & 1)
    return "reserved bits of the instruction descriptor are set";
  if (!decodeElementType(mma.kind, bits >> 7 & 7, mma.shapeA.element) ||
      !decodeElementType(mma.kind, bits >> 10 & 7, mma.shapeB.element))
    return "the element types of the instruction descriptor do not go with the "
           "kind";
  bool integers = mma.kind == Tcgen05Kind::I8;
  if (integers ? dFormat != 2 : dFormat > 1 || (mma.kind == Tcgen05Kind::TF32 && dFormat != 1))
    return "the type of the accumulator does not go with the kind";
  if (mma.saturate && !integers)
    return "saturation is for integers only";
  mma.halfD = dFormat == 0;
  mma.integerD = integers;
  bool small = mma.m == 64, middle = mma.m == 128, large = mma.m == 256;
  if (mma.stationary) {
    if (mma.m != 32 && !small && !middle)
      return "M of " + std::to_string(mma.m) + " is not legal for tcgen05.mma.ws";
    if (mma.n != 64 && mma.n != 128 && mma.n != 256)
      return "N of " + std::to_string(mma.n) + " is not legal for tcgen05.mma.ws";
  } else if (mma.blocks == 1 ? !small && !middle : !middle && !large)
    return "M of " + std::to_string(mma.m) +
           " is not legal for cta_group::" + std::to_string(mma.blocks);
  unsigned step = mma.blocks == 1 ? 8 : 16;
  if (integers && mma.n > 32)
    step = mma.blocks == 1 ? 16 : 32;
  if (!mma.stationary && (mma.n < step || mma.n > 256 || mma.n % step))
    return "N of " + std::to_string(mma.n) + " is not legal";
  auto narrow = [](Element e) { return e >= Element::E2M3 && e <= Element::E2M1; };
  if ((mma.shapeA.mnMajor && narrow(mma.shapeA.element)) ||
      (mma.shapeB.mnMajor && narrow(mma.shapeB.element)))
    return "6-bit and 4-bit operands are K-major";
  return shapeOperands(mma, 32 / elementBytes(mma.shapeA.element));
}

/// The same for the block-scaled kinds.
std::string decodeScaledInstruction(uint32_t bits, Tcgen05Product &mma) {
  mma.n = (bits >> 17 & 0x3f) * 8;
  mma.m = (bits >> 27 & 3) * 128;
  mma.negateA = bits >> 13 & 1;
  mma.negateB = bits >> 14 & 1;
  mma.shapeA.mnMajor = bits >> 15 & 1;
  mma.shapeB.mnMajor = bits >> 16 & 1;
  mma.scaleIdB = bits >> 4 & 3;
  mma.scaleIdA = bits >> 29 & 3;
  mma.scaleE8 = bits >> 23 & 1;
  bool fp4 = mma.kind == Tcgen05Kind::MXF4;
  if (bool(bits & 4) != mma.sparse)
    return mma.sparse ? "the instruction descriptor of a sparse product is not marked as sparse"
                      : "the instruction descriptor is marked as sparse";
  if (bits & 0x0700004b || bits >> 31)
    return "reserved bits of the instruction descriptor are set";
  if (!decodeElementType(mma.kind, bits >> 7 & 7, mma.shapeA.element) ||
      !decodeElementType(mma.kind, bits >> 10 & (fp4 ? 3 : 7), mma.shapeB.element))
    return "the element types of the instruction descriptor do not go with the "
           "kind";
  if (mma.m != 128 && (mma.blocks == 1 || mma.m != 256))
    return "M of " + std::to_string(mma.m) +
           " is not legal for cta_group::" + std::to_string(mma.blocks);
  unsigned step = 8 * mma.blocks;
  if (mma.n < step || mma.n > 256 || mma.n % step)
    return "N of " + std::to_string(mma.n) + " is not legal";
  mma.k = fp4 ? 64 : 32;
  if (fp4 && (mma.shapeA.mnMajor || mma.shapeB.mnMajor))
    return "4-bit operands are K-major";
  if (!fp4 && !mma.scaleE8)
    return "this kind takes UE8M0 scales";
  unsigned scales = mma.k / mma.scaleBlock; // of one row
  if (mma.scaleIdA % scales || mma.scaleIdB % scales || mma.scaleIdA + scales > 4 ||
      mma.scaleIdB + scales > 4)
    return "the ids of the scales do not go with their number";
  return shapeOperands(mma, mma.k);
}

/// Multiplies rows by their scales: row r's bytes lie in lane r % 32 (and again
/// in the other quarters), column r / 32. \p perHalf: after that many rows the
/// count begins anew in the upper half of the lanes. Element k of a row is at
/// row * rowStep + k * kStep.
void applyScales(const Tcgen05Product &mma, const Cta &cta, uint32_t address, unsigned id,
                 unsigned rows, unsigned perHalf, float *values, unsigned rowStep, unsigned kStep) {
  for (unsigned row = 0; row < rows; ++row) {
    unsigned lane = row / perHalf * 64 + row % perHalf % 32;
    unsigned column = (address & 0xffff) + row % perHalf / 32;
    uint32_t word = cta.tensor->words[lane * tensorColumns + column];
    for (unsigned k = 0; k < mma.k; ++k) {
      uint8_t bits = uint8_t(word >> (8 * (id + k / mma.scaleBlock)));
      values[row * rowStep + k * kStep] *= decodeScale(bits, mma.scaleE8);
    }
  }
}

/// A of tensor memory: lanes as D's, columns packed.
void readTensorA(const Tcgen05Product &mma, const Cta &cta, float *out) {
  unsigned perRow = mma.shapeA.k, perWord = perRow / mma.columnsA();
  unsigned width = 32 / perWord;
  unsigned column = mma.addressA & 0xffff;
  for (unsigned row = 0; row < mma.shapeA.rows; ++row) {
    unsigned lane = row;
    if (mma.shapeA.rows == 64 && mma.blocks == 1)
      lane = row % 16 + 32 * (row / 16) + (mma.addressA >> 16 & 16);
    for (unsigned k = 0; k < perRow; ++k) {
      uint32_t word = cta.tensor->words[lane * tensorColumns + column + k / perWord];
      out[row * perRow + k] = decodeElement(word >> (width * (k % perWord)), mma.shapeA.element);
    }
  }
}

/// The four bits of metadata for a chunk of a row. Of types with 16 and 32 bits, a lane has those
/// of rows r and r + 8, and the lanes of rows r + 8 have the second half of k.
unsigned metadataOf(const Tcgen05Product &mma, const Cta &cta, unsigned row, unsigned chunk) {
  bool paired = mma.metadataColumns() == 1;
  unsigned lane = paired ? row / 16 * 16 + chunk / 4 * 8 + row % 8 : row;
  unsigned column = mma.metadataColumn() + (paired ? 0 : chunk / 8);
  unsigned shift = paired ? row / 8 % 2 * 16 + chunk % 4 * 4 : chunk % 8 * 4;
  return cta.tensor->words[lane * tensorColumns + column] >> shift & 0xf;
}

/// Rows of A with zeros, \p out, from those without, \p packed.
void expandRows(const Tcgen05Product &mma, const Cta &cta, const float *packed,
                std::vector<float> &out) {
  unsigned size = mma.chunk(), perPosition = size == 8 ? 2 : 1;
  out.assign(size_t(mma.shapeA.rows) * mma.k, 0.0f);
  for (unsigned row = 0; row < mma.shapeA.rows; ++row)
    for (unsigned chunk = 0; chunk < mma.k / size; ++chunk) {
      unsigned bits = metadataOf(mma, cta, row, chunk);
      float *to = &out[size_t(row) * mma.k + chunk * size];
      const float *from = packed + size_t(row) * mma.shapeA.k + chunk * size / 2;
      if (size == 2) {
        to[bits >> 1 & 1] = *from;
        continue;
      }
      for (unsigned i = 0; i < perPosition; ++i) {
        to[(bits & 3) * perPosition + i] = from[i];
        to[(bits >> 2) * perPosition + i] = from[perPosition + i];
      }
    }
}

/// Element (row, col) of D as a float.
float readD(const Tcgen05Product &mma, uint32_t word) {
  return mma.halfD ? halfToFloat(uint16_t(word)) : std::bit_cast<float>(word);
}

void writeD(const Tcgen05Product &mma, float value, uint32_t &word) {
  if (!mma.integerD) {
    word = mma.halfD ? floatToHalf(value) : std::bit_cast<uint32_t>(value);
    return;
  }
  // The products of one instruction are exact in f32.
  int64_t sum = int64_t(value) + (mma.accumulate ? int64_t(int32_t(word)) : 0);
  if (mma.saturate)
    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
  word = uint32_t(sum);
}

/// D of one block, where its elements are not a matrix of floats in tensor memory.
void multiplyAndPlace(const Tcgen05Product &mma, unsigned block, const float *a, const float *b) {
  unsigned rows = mma.rowsPerBlock(), n = mma.n;
  std::vector<uint32_t> &words = mma.ctas[block]->tensor->words;
  std::vector<float> d(size_t(rows) * n);
  auto each = [&](auto &&fn) {
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned col = 0; col < n; ++col) {
        unsigned lane, column;
        mma.placeD(row, col, lane, column);
        fn(d[size_t(row) * n + col], lane,
           words[lane * tensorColumns + (mma.addressD & 0xffff) + column]);
      }
  };
  bool sums = mma.accumulate && !mma.integerD;
  if (sums) {
    float scale = std::ldexp(1.0f, -int(mma.scaleD));
    each([&](float &value, unsigned, uint32_t word) { value = readD(mma, word) * scale; });
  }
  multiply(a, b, d.data(), n, rows, n, mma.k, sums);
  each([&](float value, unsigned lane, uint32_t &word) {
    unsigned bit = lane + 128 * block;
    if (!(mma.disabled[bit / 32] >> (bit % 32) & 1))
      writeD(mma, value, word);
  });
}

} // namespace

std::string decodeInstructionDescriptor(uint32_t bits, Tcgen05Product &product) {
  return product.scaleBlock ? decodeScaledInstruction(bits, product)
                            : decodeInstruction(bits, product);
}

bool isZeroColumn(const Tcgen05Product &mma, unsigned col) {
  uint64_t bits = mma.zeroColumns;
  if (!(bits >> 39 & 1))
    return false;
  unsigned perPart = mma.n * mma.m / 128, part = col / perPart;
  // The table of the ISA exchanges the two spans; its examples and their names do not.
  unsigned zeros = unsigned(bits >> 40 & 0xff) + 1, used = unsigned(bits >> 48 & 0xff) + 1;
  bool zerosFirst = bits >> (32 + part) & 1;
  unsigned at = (col % perPart + unsigned(bits >> (8 * part) & 0xff)) % (zeros + used);
  return zerosFirst ? at < zeros : at >= used;
}

void execute(const Tcgen05Product &mma) {
  unsigned rows = mma.rowsPerBlock(), n = mma.n, k = mma.k;
  static thread_local std::vector<float> a, b, scaledB, expanded;
  b.resize(size_t(n) * k);
  for (unsigned block = 0; block < mma.blocks; ++block)
    mma.tileB->readColumns(mma.ctas[block]->shared.data(), b.data() + block * mma.shapeB.rows, n);
  if (mma.negateB)
    for (float &x : b)
      x = -x;
  for (unsigned col = 0; col < n && mma.zeroColumns; ++col)
    for (unsigned i = 0; i < k && isZeroColumn(mma, col); ++i)
      b[size_t(i) * n + col] = 0;
  bool masked = std::any_of(std::begin(mma.disabled), std::end(mma.disabled),
                            [](uint32_t word) { return word != 0; });
  bool inPlace = rows == 128 && !mma.halfD && !mma.integerD && !masked && !mma.scaleD;
  for (unsigned block = 0; block < mma.blocks; ++block) {
    Cta &cta = *mma.ctas[block];
    a.resize(size_t(rows) * mma.shapeA.k);
    if (mma.tensorA)
      readTensorA(mma, cta, a.data());
    else
      mma.tileA->readRows(cta.shared.data(), a.data());
    if (mma.negateA)
      for (float &x : a)
        x = -x;
    if (mma.sparse) {
      expandRows(mma, cta, a.data(), expanded);
      a.swap(expanded);
    }
    const float *operandB = b.data();
    if (mma.scaleBlock) {
      applyScales(mma, cta, mma.scaleA, mma.scaleIdA, rows, rows, a.data(), k, 1);
      scaledB = b;
      applyScales(mma, cta, mma.scaleB, mma.scaleIdB, n, mma.columnsD(), scaledB.data(), 1, n);
      operandB = scaledB.data();
    }
    if (inPlace)
      multiply(a.data(), operandB,
               reinterpret_cast<float *>(&cta.tensor->words[mma.addressD & 0xffff]), tensorColumns,
               rows, n, k, mma.accumulate);
    else
      multiplyAndPlace(mma, block, a.data(), operandB);
  }
}

} // namespace penstock::emu
