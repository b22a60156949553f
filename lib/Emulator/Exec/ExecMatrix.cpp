//===- ExecMatrix.cpp - ldmatrix, stmatrix, movmatrix, mma.sync -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Float.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/HappensBefore.h"
#include "Emulator/Tensor/MatrixOperand.h"

namespace penstock::emu {
namespace {

using ptx::Space;
using ptx::Type;

/// Unpacks a row of 16 values of \p bits, which begin it, to a byte each.
void unpackRow(const uint8_t *packed, unsigned bits, uint8_t *bytes) {
  for (unsigned i = 0; i < 16; ++i) {
    unsigned bit = bits * i;
    unsigned pair = packed[bit / 8] | unsigned(packed[bit / 8 + 1]) << 8;
    bytes[i] = uint8_t(pair >> (bit % 8) & ((1u << bits) - 1));
  }
}

/// ops: address, registers. mode: number of matrices; flags: 1 transposed,
/// 2 store. Row r of matrix j lies at the address of lane 8j + r. imm[1]: bits of padded values,
/// which are unpacked; else 0.
void matrixAccess(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  if (ex.mask != 0xffffffff) {
    ex.fatal(EmuDivergentAligned, "a matrix instruction needs a whole warp");
    return;
  }
  bool trans = inst.flags & 1, isStore = inst.flags & 2;
  unsigned bits = unsigned(inst.imm[1]);
  for (unsigned j = 0; j < inst.mode; ++j) {
    uint16_t matrix[8][8];
    MemRef rows[8];
    for (unsigned r = 0; r < 8; ++r) {
      unsigned lane = 8 * j + r;
      if (!resolve(ex, lane, Space(inst.imm[0]), ex.address(inst.ops[0], lane), 16, 16, rows[r]))
        return;
      if (rows[r].space != Space::Shared) {
        ex.fatal(EmuIllegalOperand, "a matrix must lie in shared memory");
        return;
      }
      if (isStore)
        continue;
      if (ex.grid.checks())
        checkAccess(ex, lane, rows[r], bits ? 2 * bits : 16, Read); // padding is not read
      if (bits)
        unpackRow(rows[r].bytes, bits, reinterpret_cast<uint8_t *>(matrix[r]));
      else
        memcpy(matrix[r], rows[r].bytes, 16);
    }
    for (unsigned t = 0; t < 32; ++t)
      for (unsigned h = 0; h < 2; ++h) {
        unsigned row = trans ? 2 * (t % 4) + h : t / 4;
        unsigned column = trans ? t / 4 : 2 * (t % 4) + h;
        uint32_t word = uint32_t(ex.value(inst.ops[1 + j], t));
        if (isStore) {
          matrix[row][column] = uint16_t(word >> (16 * h));
        } else {
          word = (word & ~(0xffffu << (16 * h))) | uint32_t(matrix[row][column]) << (16 * h);
          ex.setValue(inst.ops[1 + j], t, word);
        }
      }
    for (unsigned r = 0; isStore && r < 8; ++r) {
      auto *value = reinterpret_cast<const uint8_t *>(matrix[r]);
      if (ex.grid.checks())
        checkAccess(ex, 8 * j + r, rows[r], 16, Write, value);
      memcpy(rows[r].bytes, value, 16);
    }
  }
}

bool decodeMatrixAccess(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool isStore = inst.form->name == "stmatrix";
  out.mode = inst.has(".x4") ? 4 : inst.has(".x2") ? 2 : 1;
  out.flags = uint8_t((inst.has(".trans") ? 1 : 0) | (isStore ? 2 : 0));
  out.imm[0] = uint64_t(Decoder::spaceOf(inst));
  out.imm[1] = inst.has(".b6x16_p32") ? 6 : inst.has(".b4x16_p64") ? 4 : 0;
  std::vector<Opnd> ops(1);
  if (!d.address(inst, inst.operands[isStore ? 0 : 1], ops[0]))
    return false;
  const ptx::Operand &values = inst.operands[isStore ? 1 : 0];
  auto add = [&](const ptx::Operand &value) {
    Opnd op;
    if (isStore ? !d.source(inst, value, 32, op) : !d.destination(inst, value, op))
      return false;
    if (op.kind == Opnd::Kind::Pred || op.kind == Opnd::Kind::None)
      return d.fail(inst, "a register is needed");
    ops.push_back(op);
    return true;
  };
  if (values.kind == ptx::Operand::Kind::Vector) {
    for (const ptx::Operand &value : values.elements)
      if (!add(value))
        return false;
  } else if (!add(values)) {
    return false;
  }
  if (ops.size() != 1u + out.mode)
    return d.fail(inst, std::to_string(out.mode) + " registers are needed");
  d.setOperands(out, std::move(ops));
  out.run = matrixAccess;
  return true;
}

void transposeMatrix(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex) || ex.mask != 0xffffffff)
    return;
  uint16_t matrix[8][8];
  for (unsigned t = 0; t < 32; ++t) {
    uint32_t word = uint32_t(ex.value(inst.ops[1], t));
    matrix[t / 4][2 * (t % 4)] = uint16_t(word);
    matrix[t / 4][2 * (t % 4) + 1] = uint16_t(word >> 16);
  }
  for (unsigned t = 0; t < 32; ++t)
    ex.setValue(inst.ops[0], t,
                uint32_t(matrix[2 * (t % 4)][t / 4]) | uint32_t(matrix[2 * (t % 4) + 1][t / 4])
                                                           << 16);
}

bool decodeTranspose(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.run = transposeMatrix;
  return d.plain(inst, out, 32);
}

/// Row and k of element \p v of A, of which a register holds \p per, and n and k of B.
void fragmentA(unsigned per, unsigned t, unsigned v, unsigned &row, unsigned &k) {
  row = t / 4 + 8 * (v / per % 2);
  k = per * (t % 4) + v % per + 4 * per * (v / (2 * per));
}
void fragmentB(unsigned per, unsigned t, unsigned v, unsigned &n, unsigned &k) {
  n = t / 4;
  k = per * (t % 4) + v % per + 4 * per * (v / per);
}

/// Elements that a 32-bit register holds.
unsigned elementsPerRegister(Element element) { return elementsPerPiece(element) / 4; }

/// Multiplies the 16 rows of A or the 8 columns of B, \p values, by their scales. \p ops: the
/// register of scales, then byte-id and thread-id. Rows r and r + 8 of A have their scales in
/// neighboring lanes. Returns false after an error.
bool applyScales(Exec &ex, const DInst &inst, const Opnd *ops, unsigned rows, float *values) {
  unsigned k = unsigned(inst.imm[0]), scales = inst.mode, perQuad = rows / 8;
  uint64_t byte = ex.value(ops[1], 0), thread = ex.value(ops[2], 0);
  for (unsigned t = 1; t < 32; ++t)
    if (ex.value(ops[1], t) != byte || ex.value(ops[2], t) != thread) {
      ex.fatal(EmuIllegalOperand, "the scale selectors differ between lanes");
      return false;
    }
  if (byte % scales || byte + scales > 4 || (thread + 1) * perQuad > 4) {
    ex.fatal(EmuIllegalOperand, "the scale selector {" + std::to_string(byte) + ", " +
                                    std::to_string(thread) + "} is not legal for " +
                                    std::to_string(scales) + (scales > 1 ? " scales" : " scale") +
                                    " of each " + (rows == 16 ? "row" : "column"));
    return false;
  }
  for (unsigned row = 0; row < rows; ++row) {
    unsigned lane = 4 * (row % 8) + unsigned(thread) * perQuad + row / 8;
    uint32_t word = uint32_t(ex.value(ops[0], lane)) >> (8 * byte);
    for (unsigned i = 0; i < k; ++i)
      values[row * k + i] *= decodeScale(uint8_t(word >> (8 * (i * scales / k))), inst.flags & 2);
  }
  return true;
}

/// ops: D, A, B, C registers, then the scales of A and of B with their selectors. imm[0]: k,
/// imm[1]: element types A, B << 8 and kind of D << 16 (0 f32, 1 f16, 2 s32). mode: scales of a
/// row, 0 without block scales. flags: 1 saturates, 2 UE8M0 scales.
void mma(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  if (ex.mask != 0xffffffff) {
    ex.fatal(EmuDivergentAligned, "a matrix instruction needs a whole warp");
    return;
  }
  unsigned k = unsigned(inst.imm[0]);
  Element typeA = Element(inst.imm[1] & 0xff), typeB = Element(inst.imm[1] >> 8 & 0xff);
  unsigned kind = unsigned(inst.imm[1] >> 16);
  unsigned per = elementsPerRegister(typeA), bits = 32 / per;
  unsigned regsD = kind == 1 ? 2 : 4;
  unsigned regsA = 16 * k / 32 / per, regsB = 8 * k / 32 / per;
  float a[16 * 64], b[8 * 64];
  const Opnd *opA = inst.ops + regsD, *opB = opA + regsA, *opC = opB + regsB;
  for (unsigned t = 0; t < 32; ++t) {
    for (unsigned v = 0; v < regsA * per; ++v) {
      unsigned row, kk;
      fragmentA(per, t, v, row, kk);
      a[row * k + kk] =
          decodeElement(uint32_t(ex.value(opA[v / per], t)) >> (bits * (v % per)), typeA);
    }
    for (unsigned v = 0; v < regsB * per; ++v) {
      unsigned n, kk;
      fragmentB(per, t, v, n, kk);
      b[n * k + kk] =
          decodeElement(uint32_t(ex.value(opB[v / per], t)) >> (bits * (v % per)), typeB);
    }
  }
  if (inst.mode &&
      !(applyScales(ex, inst, opC + regsD, 16, a) && applyScales(ex, inst, opC + regsD + 3, 8, b)))
    return;
  uint32_t result[4][32];
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned v = 0; v < 4; ++v) {
      unsigned row = t / 4 + 8 * (v / 2), col = 2 * (t % 4) + v % 2;
      if (kind == 2) {
        int64_t sum = int32_t(ex.value(opC[v], t));
        for (unsigned i = 0; i < k; ++i)
          sum += int64_t(a[row * k + i]) * int64_t(b[col * k + i]);
        if (inst.flags & 1)
          sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        result[v][t] = uint32_t(sum);
        continue;
      }
      float sum = kind == 1 ? halfToFloat(uint16_t(ex.value(opC[v / 2], t) >> (16 * (v % 2))))
                            : std::bit_cast<float>(uint32_t(ex.value(opC[v], t)));
      for (unsigned i = 0; i < k; ++i)
        sum += a[row * k + i] * b[col * k + i];
      result[v][t] = kind == 1 ? floatToHalf(sum) : std::bit_cast<uint32_t>(sum);
    }
  for (unsigned t = 0; t < 32; ++t)
    for (unsigned r = 0; r < regsD; ++r)
      ex.setValue(inst.ops[r], t,
                  kind == 1 ? result[2 * r][t] | result[2 * r + 1][t] << 16 : result[r][t]);
}

bool elementOf(Type t, Element &element, bool packed) {
  static constexpr std::pair<Type, Element> pairs[] = {
      {Type::F16, Element::F16},   {Type::BF16, Element::BF16}, {Type::TF32, Element::TF32},
      {Type::E4M3, Element::E4M3}, {Type::E5M2, Element::E5M2}, {Type::U8, Element::U8},
      {Type::S8, Element::S8},     {Type::E2M3, Element::E2M3}, {Type::E3M2, Element::E3M2},
      {Type::E2M1, Element::E2M1}};
  for (auto &[type, value] : pairs)
    if (type == t) {
      element = packed ? Element::E2M1Packed : value;
      return true;
    }
  return false;
}

bool decodeMma(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  unsigned k = 0;
  for (std::string_view modifier : inst.modifiers)
    if (modifier.substr(0, 7) == ".m16n8k")
      k = unsigned(atoi(std::string(modifier.substr(7)).c_str()));
  bool scaled = inst.has(".block_scale"), packed = scaled && !inst.has(".kind::mxf8f6f4");
  Element a, b;
  if (!k || !elementOf(inst.type(1), a, packed) || !elementOf(inst.type(2), b, packed))
    return d.fail(inst, "the shape or the types are not known");
  Type typeD = inst.type(0);
  unsigned kind = typeD == Type::F16 ? 1 : typeD == Type::S32 ? 2 : 0;
  out.imm[0] = k;
  out.imm[1] = uint64_t(a) | uint64_t(b) << 8 | uint64_t(kind) << 16;
  out.flags = uint8_t((inst.has(".satfinite") ? 1 : 0) | (inst.has(".ue8m0") ? 2 : 0));
  out.mode = uint8_t(!scaled ? 0 : !packed ? 1 : inst.has(".scale_vec::4X") ? 4 : 2);
  unsigned per = elementsPerRegister(a);
  size_t want[] = {
      kind == 1 ? 2u : 4u, 16 * k / 32 / per, 8 * k / 32 / per, kind == 1 ? 2u : 4u, 1, 2, 1, 2};
  std::vector<Opnd> ops;
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    const ptx::Operand &operand = inst.operands[i];
    std::vector<const ptx::Operand *> elements;
    if (operand.kind == ptx::Operand::Kind::Vector)
      for (const ptx::Operand &element : operand.elements)
        elements.push_back(&element);
    else
      elements.push_back(&operand);
    if (elements.size() != want[i])
      return d.fail(inst, "operand " + std::to_string(i + 1) + " needs " + std::to_string(want[i]) +
                              " registers");
    for (const ptx::Operand *element : elements) {
      Opnd op;
      unsigned bits = want[i] == 2 && i > 3 ? 16 : 32; // selectors
      if (i == 0 ? !d.destination(inst, *element, op) : !d.source(inst, *element, bits, op))
        return false;
      if (op.kind == Opnd::Kind::Pred)
        return d.fail(inst, "a predicate where a value is needed");
      ops.push_back(op);
    }
  }
  d.setOperands(out, std::move(ops));
  out.run = mma;
  return true;
}

} // namespace

void addMatrix(DecodeTable &table) {
  table["ldmatrix"] = table["stmatrix"] = decodeMatrixAccess;
  table["movmatrix"] = decodeTranspose;
  table["mma.sync"] = decodeMma;
}

} // namespace penstock::emu
