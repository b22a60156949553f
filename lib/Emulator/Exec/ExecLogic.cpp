//===- ExecLogic.cpp - Logic, shifts and permutation ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Lanes.h"

#include <algorithm>

namespace penstock::emu {
namespace {

struct And {
  template <class T> static T apply(T a, T b) { return T(a & b); }
};
struct Or {
  template <class T> static T apply(T a, T b) { return T(a | b); }
};
struct Xor {
  template <class T> static T apply(T a, T b) { return T(a ^ b); }
};
struct Not {
  template <class T> static T apply(T a) { return T(~a); }
};
struct Cnot {
  template <class T> static T apply(T a) { return T(a == 0); }
};

template <char Kind> void predLogic(Exec &ex, const DInst &inst) {
  uint32_t a = ex.pred(inst.ops[1]);
  uint32_t b = Kind == '!' ? 0 : ex.pred(inst.ops[2]);
  ex.setPred(inst.ops[0], Kind == '&' ? a & b : Kind == '|' ? a | b : Kind == '^' ? a ^ b : ~a);
}

template <class T, bool Left> void shift(Exec &ex, const DInst &inst) {
  auto *a = ex.row<Storage<T>>(inst.ops[1]);
  auto *n = ex.row<uint32_t>(inst.ops[2]);
  constexpr uint32_t bits = sizeof(T) * 8;
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) {
    T value = fromStorage<T>(a[i]);
    uint32_t by = n[i];
    if constexpr (Left)
      return by >= bits ? T(0) : T(std::make_unsigned_t<T>(value) << by);
    if constexpr (std::is_signed_v<T>)
      return T(value >> std::min(by, bits - 1));
    return by >= bits ? T(0) : T(value >> by);
  });
}

void funnel(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  auto *c = ex.row<uint32_t>(inst.ops[3]);
  bool left = inst.mode, wrap = inst.flags;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    uint64_t both = uint64_t(b[i]) << 32 | a[i];
    uint32_t by = wrap ? c[i] & 31 : std::min(c[i], 32u);
    return left ? uint32_t(by == 32 ? both : both >> (32 - by)) : uint32_t(both >> by);
  });
}

void lop3(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  auto *c = ex.row<uint32_t>(inst.ops[3]);
  uint32_t table = uint32_t(inst.imm[0]);
  uint32_t nonzero = 0;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    uint32_t r = 0;
    for (unsigned k = 0; k < 8; ++k)
      if (table >> k & 1)
        r |= (k & 4 ? a[i] : ~a[i]) & (k & 2 ? b[i] : ~b[i]) & (k & 1 ? c[i] : ~c[i]);
    nonzero |= uint32_t(r != 0) << i;
    return r;
  });
  if (inst.mode) {
    uint32_t q = ex.pred(inst.ops[5]);
    ex.setPred(inst.ops[4], inst.mode == 1 ? nonzero & q : nonzero | q);
  }
}

void permute(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint32_t>(inst.ops[1]);
  auto *b = ex.row<uint32_t>(inst.ops[2]);
  auto *c = ex.row<uint32_t>(inst.ops[3]);
  unsigned mode = inst.mode;
  storeLanes<uint32_t>(ex, inst.ops[0], [&](unsigned i) {
    uint64_t both = uint64_t(b[i]) << 32 | a[i];
    auto byte = [&](unsigned k) { return uint32_t(both >> (8 * (k & 7))) & 0xff; };
    unsigned s = c[i] & 3;
    uint32_t r = 0;
    for (unsigned k = 0; k < 4; ++k) {
      uint32_t value;
      switch (mode) {
      case 0: { // by the selector's nibbles
        unsigned nibble = c[i] >> (4 * k) & 0xf;
        value = byte(nibble & 7);
        if (nibble & 8)
          value = value & 0x80 ? 0xff : 0;
        break;
      }
      case 1: // f4e
        value = byte(s + k);
        break;
      case 2: // b4e
        value = byte(s + 8 - k);
        break;
      case 3: // rc8
        value = byte(s);
        break;
      case 4: // ecl
        value = byte(std::max(k, s));
        break;
      case 5: // ecr
        value = byte(std::min(k, s));
        break;
      default: // rc16
        value = byte((s & 1) * 2 + (k & 1));
        break;
      }
      r |= value << (8 * k);
    }
    return r;
  });
}

bool decodeLogic(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  ptx::Type t = inst.type();
  const std::string &name = inst.form->name;
  if (t == ptx::Type::Pred) {
    std::vector<Opnd> ops(inst.operands.size());
    if (!d.destination(inst, inst.operands[0], ops[0]))
      return false;
    for (size_t i = 1; i < ops.size(); ++i)
      if (!d.predicate(inst, inst.operands[i], ops[i]))
        return false;
    d.setOperands(out, std::move(ops));
    out.run = name == "and"   ? predLogic<'&'>
              : name == "or"  ? predLogic<'|'>
              : name == "xor" ? predLogic<'^'>
                              : predLogic<'!'>;
    return true;
  }
  if (!d.plain(inst, out, ptx::typeBits(t)))
    return false;
  if (name == "and")
    out.run = PENSTOCK_INT_HANDLER(binary, And, t);
  else if (name == "or")
    out.run = PENSTOCK_INT_HANDLER(binary, Or, t);
  else if (name == "xor")
    out.run = PENSTOCK_INT_HANDLER(binary, Xor, t);
  else if (name == "not")
    out.run = PENSTOCK_INT_HANDLER(unary, Not, t);
  else
    out.run = PENSTOCK_INT_HANDLER(unary, Cnot, t);
  return true;
}

bool decodeShift(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  ptx::Type t = inst.type();
  unsigned bits = ptx::typeBits(t);
  std::vector<Opnd> ops(3);
  if (!d.destination(inst, inst.operands[0], ops[0]) ||
      !d.source(inst, inst.operands[1], bits, ops[1]) ||
      !d.source(inst, inst.operands[2], 32, ops[2]))
    return false;
  d.setOperands(out, std::move(ops));
  if (inst.form->name == "shl")
    out.run = bits == 16   ? shift<uint16_t, true>
              : bits == 32 ? shift<uint32_t, true>
                           : shift<uint64_t, true>;
  else if (ptx::isSigned(t))
    out.run = bits == 16   ? shift<int16_t, false>
              : bits == 32 ? shift<int32_t, false>
                           : shift<int64_t, false>;
  else
    out.run = bits == 16   ? shift<uint16_t, false>
              : bits == 32 ? shift<uint32_t, false>
                           : shift<uint64_t, false>;
  return true;
}

bool decodeLop3(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(6);
  const ptx::Operand &dst = inst.operands[0];
  bool pair = dst.kind == ptx::Operand::Kind::Pair;
  if (!d.destination(inst, pair ? dst.elements[0] : dst, ops[0]) ||
      (pair && !d.destination(inst, dst.elements[1], ops[4])))
    return false;
  for (size_t i = 1; i < 4; ++i)
    if (!d.source(inst, inst.operands[i], 32, ops[i]))
      return false;
  if (!Decoder::immediate(inst.operands[4], out.imm[0]))
    return d.fail(inst, "the table must be a constant");
  if (inst.operands.size() > 5) {
    out.mode = inst.has(".and") ? 1 : 2;
    if (!d.predicate(inst, inst.operands[5], ops[5]))
      return false;
  }
  d.setOperands(out, std::move(ops));
  out.run = lop3;
  return true;
}

bool decodePermute(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  static constexpr const char *modes[] = {".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
  for (uint8_t i = 0; i < 6; ++i)
    if (inst.has(modes[i]))
      out.mode = uint8_t(i + 1);
  out.run = permute;
  return d.plain(inst, out, 32);
}

bool decodeFunnel(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.mode = inst.has(".l");
  out.flags = inst.has(".wrap");
  out.run = funnel;
  return d.plain(inst, out, 32);
}

} // namespace

void addLogic(DecodeTable &table) {
  for (const char *name : {"and", "or", "xor", "not", "cnot"})
    table[name] = decodeLogic;
  table["shl"] = table["shr"] = decodeShift;
  table["shf"] = decodeFunnel;
  table["lop3"] = decodeLop3;
  table["prmt"] = decodePermute;
}

} // namespace penstock::emu
