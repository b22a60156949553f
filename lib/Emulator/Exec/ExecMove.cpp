//===- ExecMove.cpp - mov and conversions of addresses --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Lanes.h"

namespace penstock::emu {
namespace {

using Kind = ptx::Operand::Kind;

template <class T> void move(Exec &ex, const DInst &inst) {
  auto *a = ex.row<T>(inst.ops[1]);
  storeLanes<T>(ex, inst.ops[0], [&](unsigned i) { return a[i]; });
}

void move128(Exec &ex, const DInst &inst) {
  auto *a = ex.row<uint64_t>(inst.ops[1]);
  auto *d = ex.out<uint64_t>(inst.ops[0]);
  forLanes(ex.mask, [&](unsigned i) {
    d[i] = a[i];
    d[32 + i] = a[32 + i];
  });
}

void movePred(Exec &ex, const DInst &inst) { ex.setPred(inst.ops[0], ex.pred(inst.ops[1])); }

void movePredConst(Exec &ex, const DInst &inst) { ex.setPred(inst.ops[0], inst.imm[0] ? ~0u : 0); }

/// {a, b, ...} -> d: elements of imm[0] bits, lowest first.
void pack(Exec &ex, const DInst &inst) {
  unsigned width = unsigned(inst.imm[0]);
  forLanes(ex.mask, [&](unsigned lane) {
    unsigned __int128 value = 0;
    for (unsigned i = 1; i < inst.numOps; ++i) {
      uint64_t part = ex.value(inst.ops[i], lane);
      if (width < 64)
        part &= (uint64_t(1) << width) - 1;
      value |= static_cast<unsigned __int128>(part) << (width * (i - 1));
    }
    ex.setValue(inst.ops[0], lane, uint64_t(value));
    if (inst.ops[0].bits == 128)
      ex.out<uint64_t>(inst.ops[0])[32 + lane] = uint64_t(value >> 64);
  });
}

/// a -> {d, e, ...}.
void unpack(Exec &ex, const DInst &inst) {
  unsigned width = unsigned(inst.imm[0]);
  unsigned count = inst.numOps - 1u;
  const Opnd &source = inst.ops[count];
  forLanes(ex.mask, [&](unsigned lane) {
    unsigned __int128 value = ex.value(source, lane);
    if (source.bits == 128)
      value |= static_cast<unsigned __int128>(ex.row<uint64_t>(source)[32 + lane]) << 64;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t part = uint64_t(value >> (width * i));
      if (width < 64)
        part &= (uint64_t(1) << width) - 1;
      ex.setValue(inst.ops[i], lane, part);
    }
  });
}

bool decodeMov(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  ptx::Type t = inst.type();
  unsigned bits = ptx::typeBits(t);
  const ptx::Operand &to = inst.operands[0], &from = inst.operands[1];
  if (to.kind == Kind::Vector || from.kind == Kind::Vector) {
    const ptx::Operand &vector = to.kind == Kind::Vector ? to : from;
    size_t count = vector.elements.size();
    if ((to.kind == Kind::Vector && from.kind == Kind::Vector) || count < 2 || bits % count ||
        bits / count < 8)
      return d.fail(inst, "this vector is not supported");
    unsigned width = unsigned(bits / count);
    out.imm[0] = width;
    std::vector<Opnd> ops(count + 1);
    if (to.kind == Kind::Vector) {
      for (size_t i = 0; i < count; ++i)
        if (!d.destination(inst, to.elements[i], ops[i]))
          return false;
      if (!d.source(inst, from, bits, ops[count]))
        return false;
      out.run = unpack;
    } else {
      if (!d.destination(inst, to, ops[0]))
        return false;
      for (size_t i = 0; i < count; ++i)
        if (!d.source(inst, from.elements[i], width < 32 ? 32 : width, ops[i + 1]))
          return false;
      out.run = pack;
    }
    for (const Opnd &op : ops)
      if (op.kind == Opnd::Kind::Pred)
        return d.fail(inst, "predicates cannot be packed");
    d.setOperands(out, std::move(ops));
    return true;
  }
  std::vector<Opnd> ops(2);
  if (!d.destination(inst, to, ops[0]))
    return false;
  if (t == ptx::Type::Pred) {
    if (from.kind == Kind::Immediate) {
      out.imm[0] = from.value;
      out.run = movePredConst;
    } else {
      if (!d.predicate(inst, from, ops[1]))
        return false;
      out.run = movePred;
    }
    if (ops[0].kind == Opnd::Kind::Row)
      return d.fail(inst, "the destination is not a predicate");
    d.setOperands(out, std::move(ops));
    return true;
  }
  ptx::Operand address;
  if (from.kind == Kind::Function) {
    address.kind = Kind::Immediate;
    address.value = functionAddress(*d.program.module, from.name);
    if (!address.value)
      return d.fail(inst, "function `" + from.name + "` has no body");
  }
  if (!d.source(inst, address.value ? address : from, bits, ops[1]))
    return false;
  if (ops[0].kind == Opnd::Kind::Pred || ops[1].kind == Opnd::Kind::Pred)
    return d.fail(inst, "a predicate where a value is needed");
  if (ops[0].kind == Opnd::Kind::Row &&
      ((ops[0].bits == 64) != (bits == 64) || (ops[0].bits == 128) != (bits == 128)))
    return d.fail(inst, "the destination has another width");
  // A kernel parameter's address is in the parameter window only after cvta.
  d.setOperands(out, std::move(ops));
  out.run = bits == 128 ? move128 : bits == 64 ? move<uint64_t> : move<uint32_t>;
  return true;
}

uint64_t windowOf(const ptx::Instruction &inst) {
  if (inst.has(".shared") || inst.has(".shared::cta") || inst.has(".shared::cluster"))
    return sharedWindow;
  if (inst.has(".local"))
    return localWindow;
  if (inst.has(".param") || inst.has(".param::entry"))
    return paramWindow;
  return 0;
}

void toGeneric(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    uint64_t value = ex.value(inst.ops[1], lane);
    if (inst.imm[0] == sharedWindow)
      value &= 0xffffffff;
    ex.setValue(inst.ops[0], lane, value | inst.imm[0]);
  });
}

void fromGeneric(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    uint64_t value = ex.value(inst.ops[1], lane);
    ex.setValue(inst.ops[0], lane, inst.imm[0] ? value & ~windowMask : value);
  });
}

bool decodeCvta(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  if (ptx::typeBits(inst.type()) != 64)
    return d.fail(inst, "generic addresses have 64 bits");
  out.imm[0] = windowOf(inst);
  out.run = inst.form->name == "cvta" ? toGeneric : fromGeneric;
  return d.plain(inst, out, 64);
}

void isSpace(Exec &ex, const DInst &inst) {
  uint32_t bits = 0;
  forLanes(ex.mask, [&](unsigned lane) {
    uint64_t a = ex.value(inst.ops[1], lane);
    bool r = (a & windowMask) == inst.imm[0];
    if (r && inst.mode) // .shared::cta: this block's own
      r = uint32_t(a) >> rankShift == ex.cta.rank;
    if (r && !inst.imm[0]) { // constant memory lies among global memory here
      const Allocation *allocation = ex.grid.device->memory.find(a);
      r = (allocation && allocation->constant) == bool(inst.imm[1]);
    }
    bits |= uint32_t(r) << lane;
  });
  ex.setPred(inst.ops[0], bits);
}

bool decodeIsSpace(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.imm[0] = windowOf(inst);
  out.mode = inst.has(".shared") || inst.has(".shared::cta");
  out.imm[1] = inst.has(".const");
  out.run = isSpace;
  return d.plain(inst, out, 64);
}

} // namespace

void addMove(DecodeTable &table) {
  table["mov"] = decodeMov;
  table["cvta"] = table["cvta.to"] = decodeCvta;
  table["isspacep"] = decodeIsSpace;
}

} // namespace penstock::emu
