//===- ExecMemory.cpp - Loads and stores ----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/HappensBefore.h"
#include "Emulator/Races/Mbarrier.h"

namespace penstock::emu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;

/// flags of loads and stores.
enum Flag : uint8_t { StrongAccess = 1, AcquireOrRelease = 2, ReadOnly = 4 };

/// ops: address, then the values. imm[0] bytes per element, imm[1] space; mode:
/// the scope of a strong access.
void load(Exec &ex, const DInst &inst) {
  unsigned size = unsigned(inst.imm[0]);
  unsigned count = inst.numOps - 1u;
  Space space = Space(inst.imm[1]);
  bool isSigned = ptx::isSigned(inst.type);
  bool checks = ex.grid.checks();
  bool strong = inst.flags & StrongAccess;
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    MemRef ref;
    if (!resolve(ex, lane, space, ex.address(inst.ops[0], lane), size * count, size * count, ref))
      return;
    if (Watch *watch = ex.cluster.watch.get())
      watch->noteRead(ex, ref);
    Scope scope = Scope(inst.mode);
    if (strong && checks)
      observe(ex, lane, ref, inst.flags & AcquireOrRelease ? Order::Acquire : Order::Relaxed, scope,
              false);
    if (checks)
      checkAccess(ex, lane, ref, size * count, strong ? StrongRead : Read, nullptr, scope);
    for (unsigned i = 0; i < count; ++i) {
      const Opnd &dst = inst.ops[1 + i];
      if (dst.kind != Opnd::Kind::Row)
        continue;
      uint64_t value = 0;
      memcpy(&value, ref.bytes + i * size, size < 8 ? size : 8);
      if (isSigned && size < 8) {
        unsigned shift = 64 - size * 8;
        value = uint64_t(int64_t(value << shift) >> shift);
      }
      if (dst.bits == 16)
        value &= 0xffff;
      ex.setValue(dst, lane, value);
      if (size == 16)
        memcpy(&ex.out<uint64_t>(dst)[32 + lane], ref.bytes + i * 16 + 8, 8);
    }
  });
  if (strong) // perhaps spinning: let others run
    ex.pollFailed("a value in memory");
}

/// ld.param of a kernel parameter by name: the same for all lanes.
void loadParam(Exec &ex, const DInst &inst) {
  unsigned size = unsigned(inst.imm[0]);
  uint64_t at = inst.imm[2];
  const std::vector<uint8_t> &params = ex.grid.config.params;
  bool isSigned = ptx::isSigned(inst.type);
  for (unsigned i = 0; i + 1 < inst.numOps; ++i, at += size) {
    const Opnd &dst = inst.ops[1 + i];
    if (at + size > params.size()) {
      ex.fatal(EmuOutOfBounds, "a parameter outside of the parameters");
      return;
    }
    uint64_t value = 0, high = 0;
    memcpy(&value, params.data() + at, size < 8 ? size : 8);
    if (size == 16)
      memcpy(&high, params.data() + at + 8, 8);
    if (isSigned && size < 8) {
      unsigned shift = 64 - size * 8;
      value = uint64_t(int64_t(value << shift) >> shift);
    }
    if (dst.bits == 16)
      value &= 0xffff;
    forLanes(ex.mask, [&](unsigned lane) {
      ex.setValue(dst, lane, value);
      if (size == 16 && dst.bits == 128)
        ex.out<uint64_t>(dst)[32 + lane] = high;
    });
  }
}

void store(Exec &ex, const DInst &inst) {
  unsigned size = unsigned(inst.imm[0]);
  unsigned count = inst.numOps - 1u;
  Space space = Space(inst.imm[1]);
  bool checks = ex.grid.checks();
  bool strong = inst.flags & StrongAccess;
  bool changed = false;
  if (checks && space == Space::Global)
    ex.warp.storedLanes[ex.pc] |= ex.mask;
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    MemRef ref;
    if (!resolve(ex, lane, space, ex.address(inst.ops[0], lane), size * count, size * count, ref))
      return;
    if (ref.space == Space::Param) {
      ex.fatal(EmuOutOfBounds, "a store to the kernel's parameters");
      return;
    }
    uint8_t bytes[64];
    for (unsigned i = 0; i < count; ++i) {
      const Opnd &src = inst.ops[1 + i];
      uint64_t value = ex.value(src, lane);
      memcpy(bytes + i * size, &value, size < 8 ? size : 8);
      if (size == 16) {
        uint64_t high = src.bits == 128 ? ex.row<uint64_t>(src)[32 + lane] : 0;
        memcpy(bytes + i * 16 + 8, &high, 8);
      }
    }
    if (checks) {
      Scope scope = Scope(inst.mode);
      checkAccess(ex, lane, ref, size * count, strong ? StrongWrite : Write, bytes, scope);
      if (strong)
        publish(ex, lane, ref, inst.flags & AcquireOrRelease ? Order::Release : Order::Relaxed,
                scope, false);
    }
    bool differs = (strong || ex.cluster.watch) && memcmp(ref.bytes, bytes, size * count) != 0;
    if (differs && ex.cluster.watch)
      ex.cluster.watch->noteChange(ref);
    changed |= differs;
    memcpy(ref.bytes, bytes, size * count);
  });
  if (strong && changed)
    ++ex.cluster.progress;
}

bool decodeAccess(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool isStore = inst.form->name == "st";
  ptx::Type t = inst.type();
  unsigned size = ptx::typeBits(t) / 8;
  unsigned count = inst.has(".v2") ? 2 : inst.has(".v4") ? 4 : inst.has(".v8") ? 8 : 1;
  const ptx::Operand &address = inst.operands[isStore ? 0 : 1];
  const ptx::Operand &values = inst.operands[isStore ? 1 : 0];
  if (size * count > 32)
    return d.fail(inst, "more than 32 bytes at once");
  std::vector<Opnd> ops(1);
  auto add = [&](const ptx::Operand &value) {
    Opnd op;
    if (isStore ? !d.source(inst, value, std::max(32u, size * 8), op)
                : !d.destination(inst, value, op))
      return false;
    if (op.kind == Opnd::Kind::Pred)
      return d.fail(inst, "a predicate cannot be loaded or stored");
    if (op.kind == Opnd::Kind::Row && op.bits < size * 8 && size > 1)
      return d.fail(inst, "a register is narrower than its memory");
    ops.push_back(op);
    return true;
  };
  if (values.kind == Kind::Vector) {
    if (values.elements.size() != count)
      return d.fail(inst, "the vector has the wrong number of elements");
    for (const ptx::Operand &value : values.elements)
      if (!add(value))
        return false;
  } else {
    if (count != 1)
      return d.fail(inst, "a vector of registers is needed");
    if (!add(values))
      return false;
  }
  Space space = Decoder::spaceOf(inst);
  if (inst.form->name == "ld.global.nc" || inst.form->name == "ldu")
    space = inst.form->name == "ldu" ? Space::Generic : Space::Global;
  if (space == Space::Param && !isStore && d.isKernelParam(address.elements[0])) {
    const ptx::Operand &base = address.elements[0];
    out.imm[2] = d.program.paramOffsets[base.index].first + uint64_t(base.offset);
    out.run = loadParam;
  } else {
    if (!d.address(inst, address, ops[0]))
      return false;
    // Parameters of device functions live in the caller's local memory.
    if (space == Space::Param && address.elements[0].kind == Kind::Variable)
      space = Space::Local;
    out.run = isStore ? store : load;
  }
  out.type = t;
  out.mode = uint8_t(Decoder::scopeOf(inst));
  out.imm[0] = size;
  out.imm[1] = uint64_t(space);
  bool strong =
      inst.has(".volatile") || inst.has(".relaxed") || inst.has(".acquire") || inst.has(".release");
  out.flags = uint8_t((strong ? StrongAccess : 0) |
                      (inst.has(".acquire") || inst.has(".release") ? AcquireOrRelease : 0));
  if (strong && space != Space::Shared)
    d.program.crossCta = out.crossCta = true;
  if (strong && !isStore)
    d.program.narrowAcquires |= Scope(out.mode) != Scope::Device;
  d.setOperands(out, std::move(ops));
  return true;
}

void nothing(Exec &, const DInst &) {}

/// prefetch, discard, applypriority: hints without effect. The address of a
/// tensor map is not read.
bool decodeHint(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = nothing;
  return true;
}

void policy(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) { ex.setValue(inst.ops[0], lane, 0x12f0000000000000); });
}

bool decodePolicy(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(1);
  if (!d.destination(inst, inst.operands[0], ops[0]))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = policy;
  return true;
}

} // namespace

void addMemory(DecodeTable &table) {
  table["ld"] = table["st"] = table["ld.global.nc"] = table["ldu"] = decodeAccess;
  table["prefetch"] = table["prefetchu"] = table["applypriority"] = decodeHint;
  table["discard"] = decodeHint; // the data may stay as it is
  table["createpolicy.fractional"] = decodePolicy;
}

} // namespace penstock::emu
