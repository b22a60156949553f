//===- ExecTcgen05Mma.cpp - tcgen05.mma and commit ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of one thread form a pipe: they happen in order, some time
// after their issue, and a commit tells an mbarrier that all before it are
// done. Descriptors are decoded when an instruction is issued; operands are
// read and results written when it happens.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/AsyncCopy.h"
#include "Emulator/Float.h"
#include "Emulator/Lanes.h"
#include "Emulator/MatrixOperand.h"
#include "Emulator/TensorMemory.h"

#include <cmath>

namespace penstock::emu {
namespace {

using ptx::Space;

enum class Kind : uint8_t { F16, TF32, F8F6F4, I8, MXF8, MXF4 };

/// A multiplication, ready to happen.
struct Mma {
  Kind kind = Kind::F16;
  unsigned m = 0, n = 0, k = 0; ///< totals of all blocks
  unsigned blocks = 1;
  Cta *ctas[2] = {nullptr, nullptr};
  MatrixShape shapeA, shapeB; ///< per block
  std::vector<uint32_t> piecesA, piecesB;
  unsigned perLineA = 0, perLineB = 0;
  bool tensorA = false;
  uint32_t addressA = 0;
  uint32_t addressD = 0;
  bool halfD = false, integerD = false, saturate = false;
  bool accumulate = false;
  unsigned scaleD = 0;
  bool negateA = false, negateB = false;
  uint32_t disabled[8] = {};
  // Block scales: one byte per row and block of k, in tensor memory.
  unsigned scaleBlock = 0; ///< elements of k per scale; 0: none
  bool scaleE8 = false;    ///< UE8M0, else UE4M3
  unsigned scaleIdA = 0, scaleIdB = 0;
  uint32_t scaleA = 0, scaleB = 0; ///< columns

  unsigned rowsPerBlock() const { return m / blocks; }
  /// Pairs with 64 rows each: the right half of N lies in the upper lanes.
  bool halved() const { return blocks == 2 && rowsPerBlock() == 64; }
  /// Lane and column of element (row, n) in one block's accumulator.
  void placeD(unsigned row, unsigned col, unsigned &lane, unsigned &column) const {
    unsigned rows = rowsPerBlock();
    if (rows == 128) {
      lane = row;
      column = col;
    } else if (blocks == 1) { // 64 rows in the lower halves of the quarters
      lane = row % 16 + 32 * (row / 16) + (addressD >> 16 & 16);
      column = col;
    } else {
      lane = row + 64 * (col / (n / 2));
      column = col % (n / 2);
    }
  }
  unsigned columnsD() const { return halved() ? n / 2 : n; }
  /// Columns of tensor memory that hold the scales of A and of B.
  unsigned scaleColumnsA() const { return (rowsPerBlock() + 31) / 32; }
  unsigned scaleColumnsB() const { return (columnsD() + 31) / 32; }
  /// Columns of A in tensor memory.
  unsigned columnsA() const {
    return k * (shapeA.element == Element::E2M1Packed ? 1 : 2 * elementBytes(shapeA.element)) / 8;
  }
};

bool decodeElementType(Kind kind, unsigned code, Element &element) {
  switch (kind) {
  case Kind::F16:
    element = code ? Element::BF16 : Element::F16;
    return code < 2;
  case Kind::TF32:
    element = Element::TF32;
    return code == 2;
  case Kind::I8:
    element = code ? Element::S8 : Element::U8;
    return code < 2;
  case Kind::MXF4:
    element = Element::E2M1Packed;
    return code == 1;
  case Kind::MXF8:
  case Kind::F8F6F4: {
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

/// Reads the 32-bit instruction descriptor; a text if it is not legal.
std::string decodeInstruction(uint32_t bits, Mma &mma) {
  unsigned dFormat = bits >> 4 & 3;
  mma.n = (bits >> 17 & 0x3f) * 8;
  mma.m = (bits >> 24 & 0x1f) * 16;
  mma.negateA = bits >> 13 & 1;
  mma.negateB = bits >> 14 & 1;
  mma.shapeA.mnMajor = bits >> 15 & 1;
  mma.shapeB.mnMajor = bits >> 16 & 1;
  mma.saturate = bits >> 3 & 1;
  if (bits & 7)
    return "sparse operands are not supported";
  if (bits >> 6 & 1 || bits >> 23 & 1 || bits >> 29 & 1)
    return "reserved bits of the instruction descriptor are set";
  if (!decodeElementType(mma.kind, bits >> 7 & 7, mma.shapeA.element) ||
      !decodeElementType(mma.kind, bits >> 10 & 7, mma.shapeB.element))
    return "the element types of the instruction descriptor do not go with the "
           "kind";
  bool integers = mma.kind == Kind::I8;
  if (integers ? dFormat != 2 : dFormat > 1 || (mma.kind == Kind::TF32 && dFormat != 1))
    return "the type of the accumulator does not go with the kind";
  if (mma.saturate && !integers)
    return "saturation is for integers only";
  mma.halfD = dFormat == 0;
  mma.integerD = integers;
  bool small = mma.m == 64, middle = mma.m == 128, large = mma.m == 256;
  if (mma.blocks == 1 ? !small && !middle : !middle && !large)
    return "M of " + std::to_string(mma.m) +
           " is not legal for cta_group::" + std::to_string(mma.blocks);
  unsigned step = mma.blocks == 1 ? 8 : 16;
  if (integers && mma.n > 32)
    step = mma.blocks == 1 ? 16 : 32;
  if (mma.n < step || mma.n > 256 || mma.n % step)
    return "N of " + std::to_string(mma.n) + " is not legal";
  auto narrow = [](Element e) { return e >= Element::E2M3 && e <= Element::E2M1; };
  if ((mma.shapeA.mnMajor && narrow(mma.shapeA.element)) ||
      (mma.shapeB.mnMajor && narrow(mma.shapeB.element)))
    return "6-bit and 4-bit operands are K-major";
  mma.k = 32 / elementBytes(mma.shapeA.element);
  mma.shapeA.k = mma.shapeB.k = mma.k;
  mma.shapeA.rows = mma.rowsPerBlock();
  mma.shapeB.rows = mma.n / mma.blocks;
  return "";
}

/// The same for the block-scaled kinds.
std::string decodeScaledInstruction(uint32_t bits, Mma &mma) {
  mma.n = (bits >> 17 & 0x3f) * 8;
  mma.m = (bits >> 27 & 3) * 128;
  mma.negateA = bits >> 13 & 1;
  mma.negateB = bits >> 14 & 1;
  mma.shapeA.mnMajor = bits >> 15 & 1;
  mma.shapeB.mnMajor = bits >> 16 & 1;
  mma.scaleIdB = bits >> 4 & 3;
  mma.scaleIdA = bits >> 29 & 3;
  mma.scaleE8 = bits >> 23 & 1;
  bool fp4 = mma.kind == Kind::MXF4;
  if (bits & 4)
    return "sparse operands are not supported";
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
  mma.shapeA.k = mma.shapeB.k = mma.k;
  mma.shapeA.rows = mma.rowsPerBlock();
  mma.shapeB.rows = mma.n / mma.blocks;
  return "";
}

/// Multiplies rows by their scales: row r's bytes lie in lane r % 32 (and again
/// in the other quarters), column r / 32. \p perHalf: after that many rows the
/// count begins anew in the upper half of the lanes.
void applyScales(const Mma &mma, const Cta &cta, uint32_t address, unsigned id, unsigned rows,
                 unsigned perHalf, float *values) {
  for (unsigned row = 0; row < rows; ++row) {
    unsigned lane = row / perHalf * 64 + row % perHalf % 32;
    unsigned column = (address & 0xffff) + row % perHalf / 32;
    uint32_t word = cta.tensor->words[lane * tensorColumns + column];
    for (unsigned k = 0; k < mma.k; ++k) {
      uint8_t bits = uint8_t(word >> (8 * (id + k / mma.scaleBlock)));
      values[row * mma.k + k] *=
          mma.scaleE8 ? decodeUE8M0(bits) : decodeFloat(bits & 0x7f, formatE4M3);
    }
  }
}

/// A of tensor memory: lanes as D's, columns packed.
void readTensorA(const Mma &mma, const Cta &cta, float *out) {
  unsigned perWord = mma.k / mma.columnsA();
  unsigned width = 32 / perWord;
  unsigned column = mma.addressA & 0xffff;
  for (unsigned row = 0; row < mma.shapeA.rows; ++row) {
    unsigned lane = row;
    if (mma.shapeA.rows == 64 && mma.blocks == 1)
      lane = row % 16 + 32 * (row / 16) + (mma.addressA >> 16 & 16);
    for (unsigned k = 0; k < mma.k; ++k) {
      uint32_t word = cta.tensor->words[lane * tensorColumns + column + k / perWord];
      out[row * mma.k + k] = decodeElement(word >> (width * (k % perWord)), mma.shapeA.element);
    }
  }
}

void execute(const Mma &mma) {
  unsigned rows = mma.rowsPerBlock(), n = mma.n, k = mma.k;
  std::vector<float> b(size_t(n) * k), a(size_t(rows) * k), d(size_t(rows) * n);
  for (unsigned block = 0; block < mma.blocks; ++block)
    readOperand(mma.ctas[block]->shared.data(), mma.shapeB, mma.piecesB, mma.perLineB,
                b.data() + size_t(block) * mma.shapeB.rows * k);
  if (mma.negateB)
    for (float &x : b)
      x = -x;
  for (unsigned block = 0; block < mma.blocks; ++block) {
    Cta &cta = *mma.ctas[block];
    std::vector<uint32_t> &words = cta.tensor->words;
    if (mma.tensorA)
      readTensorA(mma, cta, a.data());
    else
      readOperand(cta.shared.data(), mma.shapeA, mma.piecesA, mma.perLineA, a.data());
    if (mma.negateA)
      for (float &x : a)
        x = -x;
    std::vector<float> scaledB;
    const float *operandB = b.data();
    if (mma.scaleBlock) {
      applyScales(mma, cta, mma.scaleA, mma.scaleIdA, rows, rows, a.data());
      scaledB = b;
      applyScales(mma, cta, mma.scaleB, mma.scaleIdB, n, mma.columnsD(), scaledB.data());
      operandB = scaledB.data();
    }
    unsigned column0 = mma.addressD & 0xffff;
    bool dense = rows == 128; // columns of a row follow each other
    bool floats = !mma.halfD && !mma.integerD;
    auto wordAt = [&](unsigned row, unsigned col) -> uint32_t & {
      unsigned lane, column;
      mma.placeD(row, col, lane, column);
      return words[lane * tensorColumns + column0 + column];
    };
    if (mma.accumulate && !mma.integerD) {
      float scale = std::ldexp(1.0f, -int(mma.scaleD));
      for (unsigned row = 0; row < rows; ++row) {
        if (dense && floats) {
          memcpy(d.data() + size_t(row) * n, &words[row * tensorColumns + column0], n * 4);
        } else {
          for (unsigned col = 0; col < n; ++col) {
            uint32_t word = wordAt(row, col);
            d[size_t(row) * n + col] =
                mma.halfD ? halfToFloat(uint16_t(word)) : std::bit_cast<float>(word);
          }
        }
      }
      if (mma.scaleD)
        for (float &x : d)
          x *= scale;
    }
    multiply(a.data(), operandB, d.data(), rows, n, k, mma.accumulate && !mma.integerD);
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned col = 0; col < n; ++col) {
        unsigned firstBit = row + 128 * block;
        if (dense && floats && col == 0 && !(mma.disabled[firstBit / 32] >> (firstBit % 32) & 1)) {
          memcpy(&words[row * tensorColumns + column0], d.data() + size_t(row) * n, n * 4);
          break;
        }
        unsigned lane, column;
        mma.placeD(row, col, lane, column);
        unsigned bit = lane + 128 * block;
        if (mma.disabled[bit / 32] >> (bit % 32) & 1)
          continue;
        uint32_t &word = words[lane * tensorColumns + column0 + column];
        float value = d[size_t(row) * n + col];
        if (mma.integerD) {
          // The products of one instruction are exact in f32.
          int64_t sum = int64_t(value) + (mma.accumulate ? int64_t(int32_t(word)) : 0);
          if (mma.saturate)
            sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
          word = uint32_t(sum);
        } else {
          word = mma.halfD ? floatToHalf(value) : std::bit_cast<uint32_t>(value);
        }
      }
    }
  }
}

/// Enters all accesses of an operation.
void check(Exec &ex, unsigned lane, const Mma &mma) {
  uint32_t op = newOp(ex, lane, "tcgen05.mma");
  Cta::Pipe &pipe = tensorPipe(ex, lane);
  AsyncOp &record = opAt(ex, op);
  record.pipe = record.agent[0] = pipe.agent;
  record.pipeCount = record.count[0] = pipe.issued;
  for (unsigned block = 0; block < mma.blocks; ++block) {
    Cta &cta = *mma.ctas[block];
    cta.openOps.push_back(op);
    MemRef ref;
    ref.space = Space::Shared;
    ref.cta = &cta;
    auto readAll = [&](const std::vector<uint32_t> &pieces) {
      // Neighboring pieces are one access.
      for (size_t i = 0; i < pieces.size();) {
        size_t j = i + 1;
        while (j < pieces.size() && pieces[j] == pieces[i] + 16 * uint32_t(j - i))
          ++j;
        ref.offset = pieces[i];
        checkEngine(ex, lane, op, ref, 16 * (j - i), false);
        i = j;
      }
    };
    if (!mma.tensorA)
      readAll(mma.piecesA);
    readAll(mma.piecesB);
    unsigned rows = mma.rowsPerBlock();
    auto lanes = [&](uint32_t address, auto &&fn) {
      bool sparse = rows == 64 && mma.blocks == 1;
      for (unsigned g = 0; g < 8; ++g) {
        if (sparse && g % 2 != (address >> 20 & 1))
          continue;
        fn(g);
      }
    };
    if (mma.scaleBlock)
      for (unsigned g = 0; g < 8; ++g) {
        for (unsigned c = 0; c < mma.scaleColumnsA(); ++c)
          checkTensor(ex, lane, op, cta, g, (mma.scaleA & 0xffff) + c, false);
        for (unsigned c = 0; c < mma.scaleColumnsB(); ++c)
          checkTensor(ex, lane, op, cta, g, (mma.scaleB & 0xffff) + c, false);
      }
    if (mma.tensorA) {
      unsigned columns = mma.columnsA();
      lanes(mma.addressA, [&](unsigned g) {
        for (unsigned c = 0; c < columns; ++c)
          checkTensor(ex, lane, op, cta, g, (mma.addressA & 0xffff) + c, false);
      });
    }
    lanes(mma.addressD, [&](unsigned g) {
      for (unsigned c = 0; c < mma.columnsD(); ++c) {
        unsigned column = (mma.addressD & 0xffff) + c;
        if (mma.accumulate && !cta.tensor->shadow.writtenBytes(g * tensorColumns + column))
          ex.report(EmuUninitialized, "tcgen05.mma adds to tensor memory that was never written, "
                                      "column " +
                                          std::to_string(column));
        checkTensor(ex, lane, op, cta, g, column, true);
      }
    });
  }
}

/// ops: d, a, b, idesc, enable-d, then the words of the lane mask or the two
/// addresses of the scales. mode: Kind; flags: 1 A in tensor memory, 2
/// cta_group::2. imm[0]: scale of d, imm[1]: elements per block scale.
void multiplyAsync(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    auto mma = std::make_shared<Mma>();
    mma->kind = Kind(inst.mode);
    mma->blocks = inst.flags & 2 ? 2 : 1;
    mma->tensorA = inst.flags & 1;
    if (mma->blocks == 2) {
      uint32_t even = ex.cta.rank & ~1u;
      if (even + 1 >= ex.cluster.ctas.size()) {
        ex.fatal(EmuIllegalOperand, "cta_group::2 needs a cluster with pairs of blocks");
        return;
      }
      mma->ctas[0] = ex.cluster.ctas[even].get();
      mma->ctas[1] = ex.cluster.ctas[even + 1].get();
    } else {
      mma->ctas[0] = &ex.cta;
    }
    mma->scaleBlock = unsigned(inst.imm[1]);
    uint32_t instruction = uint32_t(ex.value(inst.ops[3], lane));
    std::string problem = mma->scaleBlock ? decodeScaledInstruction(instruction, *mma)
                                          : decodeInstruction(instruction, *mma);
    MatrixDescriptor a, b;
    if (problem.empty() && !mma->tensorA) {
      problem = decodeTcgen05Descriptor(ex.value(inst.ops[1], lane), a);
      if (problem.empty())
        problem = operandPieces(a, mma->shapeA, mma->piecesA, mma->perLineA);
      if (!problem.empty())
        problem = "operand A: " + problem;
    } else if (problem.empty() && mma->shapeA.mnMajor) {
      problem = "A in tensor memory is K-major";
    }
    if (problem.empty()) {
      problem = decodeTcgen05Descriptor(ex.value(inst.ops[2], lane), b);
      if (problem.empty())
        problem = operandPieces(b, mma->shapeB, mma->piecesB, mma->perLineB);
      if (!problem.empty())
        problem = "operand B: " + problem;
    }
    if (problem.empty() && mma->kind == Kind::TF32 &&
        ((mma->shapeA.mnMajor && a.swizzle != 4) || (mma->shapeB.mnMajor && b.swizzle != 4)))
      problem = "MN-major tf32 needs the 128-byte swizzle with 32-byte atoms";
    if (!problem.empty()) {
      ex.fatal(EmuIllegalDescriptor, problem);
      return;
    }
    for (auto *pieces : {&mma->piecesA, &mma->piecesB})
      for (uint32_t offset : *pieces)
        if (offset < sharedReserved || offset + 16 > ex.cta.shared.size()) {
          ex.fatal(EmuOutOfBounds, "a matrix descriptor reaches " + sharedName(ex.grid, offset) +
                                       ", outside of the block's shared memory");
          return;
        }
    mma->addressD = uint32_t(ex.address(inst.ops[0], lane));
    unsigned lane0 = mma->addressD >> 16;
    if (lane0 && !(lane0 == 16 && mma->m == 64 && mma->blocks == 1)) {
      ex.fatal(EmuTensorMemoryMisuse, "the accumulator starts at lane " + std::to_string(lane0));
      return;
    }
    mma->accumulate = ex.pred(inst.ops[4]) >> lane & 1;
    mma->scaleD = unsigned(inst.imm[0]);
    if (mma->scaleBlock) {
      mma->scaleA = uint32_t(ex.address(inst.ops[5], lane));
      mma->scaleB = uint32_t(ex.address(inst.ops[6], lane));
    }
    for (unsigned i = 0; i + 5 < inst.numOps && i < 8 && !mma->scaleBlock; ++i)
      mma->disabled[i] = uint32_t(ex.value(inst.ops[5 + i], lane));
    if (mma->tensorA)
      mma->addressA = uint32_t(ex.address(inst.ops[1], lane));
    for (unsigned block = 0; block < mma->blocks; ++block) {
      if (!columnsAllocated(ex, *mma->ctas[block], mma->addressD & 0xffff, mma->columnsD()) ||
          (mma->scaleBlock &&
           (!columnsAllocated(ex, *mma->ctas[block], mma->scaleA & 0xffff, mma->scaleColumnsA()) ||
            !columnsAllocated(ex, *mma->ctas[block], mma->scaleB & 0xffff,
                              mma->scaleColumnsB()))) ||
          (mma->tensorA &&
           !columnsAllocated(ex, *mma->ctas[block], mma->addressA & 0xffff, mma->columnsA())))
        return;
    }
    ex.cluster.effort += uint64_t(mma->m) * mma->n * mma->k / 256;
    Cta::Pipe &pipe = tensorPipe(ex, lane);
    ++pipe.issued;
    if (ex.grid.checks())
      check(ex, lane, *mma);
    AsyncWork work = productWork(mma->m / mma->blocks, mma->n, mma->k);
    work.blocks = mma->blocks;
    ex.cluster.enqueue(pipe.agent, "tcgen05.mma", ex.pc, [mma] { execute(*mma); }, work);
  });
}

bool decodeMma(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool scaled = inst.has(".block_scale");
  if (scaled) {
    bool mx8 = inst.has(".kind::mxf8f6f4");
    bool by16 = inst.has(".scale_vec::4X") || inst.has(".block16");
    bool by32 = inst.has(".scale_vec::2X") || inst.has(".block32") || inst.has(".scale_vec::1X");
    if (by16 && !inst.has(".kind::mxf4nvf4"))
      return d.fail(inst, "blocks of 16 are for mxf4nvf4 only");
    if (inst.has(".kind::mxf4nvf4") && !by16 && !by32)
      return d.fail(inst, "the size of the blocks is missing");
    if (mx8 ? inst.has(".scale_vec::2X") : inst.has(".scale_vec::1X"))
      return d.fail(inst, "the size of the blocks does not go with the kind");
    out.imm[1] = by16 ? 16 : 32;
  }
  out.mode = uint8_t(inst.has(".kind::mxf8f6f4") ? Kind::MXF8
                     : scaled                    ? Kind::MXF4
                     : inst.has(".kind::f16")    ? Kind::F16
                     : inst.has(".kind::tf32")   ? Kind::TF32
                     : inst.has(".kind::f8f6f4") ? Kind::F8F6F4
                                                 : Kind::I8);
  out.flags = uint8_t(inst.has(".cta_group::2") ? 2 : 0);
  std::vector<Opnd> ops(5);
  const auto &in = inst.operands;
  if (!d.address(inst, in[0], ops[0]))
    return false;
  if (in[1].kind == ptx::Operand::Kind::Address) {
    out.flags |= 1;
    if (!d.address(inst, in[1], ops[1]))
      return false;
  } else if (!d.source(inst, in[1], 64, ops[1])) {
    return false;
  }
  if (!d.source(inst, in[2], 64, ops[2]) || !d.source(inst, in[3], 32, ops[3]))
    return false;
  size_t at = 4;
  if (scaled) {
    for (; at < 6; ++at) {
      Opnd op;
      if (!d.address(inst, in[at], op))
        return false;
      ops.push_back(op);
    }
  } else if (in[at].kind == ptx::Operand::Kind::Vector) {
    size_t want = out.flags & 2 ? 8 : 4;
    if (in[at].elements.size() != want)
      return d.fail(inst, std::to_string(want) + " words of the lane mask are needed");
    for (const ptx::Operand &word : in[at].elements) {
      Opnd op;
      if (!d.source(inst, word, 32, op))
        return false;
      ops.push_back(op);
    }
    ++at;
  }
  if (at >= in.size() || !d.predicate(inst, in[at], ops[4]))
    return false;
  if (++at < in.size() && (!Decoder::immediate(in[at], out.imm[0]) || out.imm[0] > 15))
    return d.fail(inst, "the scale of the accumulator must be 0 to 15");
  d.setOperands(out, std::move(ops));
  out.run = multiplyAsync;
  return true;
}

/// ops: mbarrier, mask (or none).
void commit(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    Signal signal;
    Space space = Space(inst.imm[0]);
    uint64_t address = ex.address(inst.ops[0], lane);
    if (space == Space::Generic && address <= 0xffffffff) {
      // Hardware takes the low half of the address.
      ex.report(EmuMbarrierMisuse,
                "tcgen05.commit without .shared::cluster takes a generic address and gets one of "
                "shared memory",
                Tier::Undefined);
      space = Space::Shared;
    }
    if (!resolveSignal(ex, lane, space, address, signal))
      return;
    uint32_t mask = 1u << signal.cta->rank;
    if (inst.ops[1].kind != Opnd::Kind::None)
      mask = uint32_t(ex.value(inst.ops[1], lane) & 0xffff);
    if (!mask || mask >> ex.cluster.ctas.size()) {
      ex.fatal(EmuIllegalOperand, "the mask names blocks outside of the cluster");
      return;
    }
    for (uint32_t rank = 0; rank < ex.cluster.ctas.size(); ++rank)
      if (Cta *cta = ex.cluster.ctas[rank].get(); (mask >> rank & 1) && cta != signal.cta)
        if (auto found = cta->mbarriers.find(signal.offset); found != cta->mbarriers.end())
          checkInitialized(ex, lane, found->second, signal.offset);
    Cta::Pipe &pipe = tensorPipe(ex, lane);
    Grid *grid = &ex.grid;
    Cluster *cluster = &ex.cluster;
    ExecutionPoint point = ex.point();
    point.lane = lane;
    uint64_t agent = pipe.agent;
    uint32_t count = pipe.issued, offset = signal.offset;
    // The operations came after all that their thread had acquired, so their
    // end passes that on; not, however, what the thread itself wrote.
    std::shared_ptr<View> known;
    if (ex.grid.checks())
      known = std::make_shared<View>(ex.view(lane));
    ex.cluster.enqueue(
        pipe.agent, "tcgen05.commit", ex.pc,
        [=] {
          for (uint32_t rank = 0; rank < cluster->ctas.size(); ++rank) {
            if (!(mask >> rank & 1))
              continue;
            auto found = cluster->ctas[rank]->mbarriers.find(offset);
            if (found == cluster->ctas[rank]->mbarriers.end() || !found->second.live) {
              Finding finding;
              finding.code = EmuMbarrierMisuse;
              finding.point = point;
              finding.message = "a commit arrives on mbarrier " + sharedName(*grid, offset) +
                                " of a block where it is not live";
              grid->findings.add(std::move(finding));
              continue;
            }
            if (known) {
              found->second.current.join(*known);
              if (count)
                found->second.current.seen.setAgent(agent, count);
            }
            arriveOn({*grid, *cluster, point, offset}, found->second, 1);
          }
        },
        signalBehind(AsyncWork::Engine::Product));
  });
}

bool decodeCommit(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(2);
  if (!d.address(inst, inst.operands[0], ops[0]))
    return false;
  if (inst.operands.size() > 1 && !d.source(inst, inst.operands[1], 32, ops[1]))
    return false;
  out.imm[0] = uint64_t(inst.has(".shared::cluster") ? Space::Shared : Space::Generic);
  d.setOperands(out, std::move(ops));
  out.run = commit;
  return true;
}

} // namespace

void addTcgen05Mma(DecodeTable &table) {
  table["tcgen05.mma"] = decodeMma;
  table["tcgen05.commit"] = decodeCommit;
}

} // namespace penstock::emu
