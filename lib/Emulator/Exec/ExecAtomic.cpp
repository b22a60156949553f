//===- ExecAtomic.cpp - atom and red --------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/AtomicOps.h"
#include "Emulator/Float.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/HappensBefore.h"

#include <algorithm>
#include <array>

namespace penstock::emu {

using ptx::Type;

bool atomicOpFromModifiers(const ptx::Instruction &inst, AtomicOp &op) {
  static constexpr std::pair<const char *, AtomicOp> names[] = {
      {".and", AtomicOp::And},        {".or", AtomicOp::Or},   {".xor", AtomicOp::Xor},
      {".exch", AtomicOp::Exchange},  {".min", AtomicOp::Min}, {".max", AtomicOp::Max},
      {".inc", AtomicOp::Inc},        {".dec", AtomicOp::Dec}, {".add", AtomicOp::Add},
      {".cas", AtomicOp::CompareSwap}};
  for (auto &[name, value] : names)
    if (inst.has(name)) {
      op = value;
      return true;
    }
  return false;
}

namespace {

template <class T> T integer(AtomicOp op, T old, T b, T c) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case AtomicOp::And:
    return T(old & b);
  case AtomicOp::Or:
    return T(old | b);
  case AtomicOp::Xor:
    return T(old ^ b);
  case AtomicOp::Exchange:
    return b;
  case AtomicOp::Min:
    return std::min(old, b);
  case AtomicOp::Max:
    return std::max(old, b);
  case AtomicOp::Inc:
    return U(old) >= U(b) ? T(0) : T(U(old) + 1);
  case AtomicOp::Dec:
    return old == 0 || U(old) > U(b) ? b : T(U(old) - 1);
  case AtomicOp::Add:
    return T(U(old) + U(b));
  case AtomicOp::CompareSwap:
    return old == b ? c : old;
  }
  return old;
}

float floating(AtomicOp op, float old, float b) {
  return op == AtomicOp::Min ? std::min(old, b) : op == AtomicOp::Max ? std::max(old, b) : old + b;
}

uint16_t half(AtomicOp op, uint16_t old, uint16_t b, bool bf) {
  float r = bf ? floating(op, bf16ToFloat(old), bf16ToFloat(b))
               : floating(op, halfToFloat(old), halfToFloat(b));
  return bf ? floatToBf16(r) : floatToHalf(r);
}

} // namespace

uint64_t applyAtomic(AtomicOp op, Type t, uint64_t old, uint64_t b, uint64_t c) {
  switch (t) {
  case Type::U32:
  case Type::B32:
    return integer<uint32_t>(op, uint32_t(old), uint32_t(b), uint32_t(c));
  case Type::S32:
    return uint32_t(integer<int32_t>(op, int32_t(old), int32_t(b), int32_t(c)));
  case Type::B16:
    return integer<uint16_t>(op, uint16_t(old), uint16_t(b), uint16_t(c));
  case Type::U64:
  case Type::B64:
    return integer<uint64_t>(op, old, b, c);
  case Type::S64:
    return uint64_t(integer<int64_t>(op, int64_t(old), int64_t(b), int64_t(c)));
  case Type::F32: {
    float r = floating(op, std::bit_cast<float>(uint32_t(old)), std::bit_cast<float>(uint32_t(b)));
    uint32_t word = std::bit_cast<uint32_t>(r);
    if (op == AtomicOp::Add && !(word & 0x7f800000))
      word &= 0x80000000; // additions flush subnormal results
    return word;
  }
  case Type::F64: {
    double x = std::bit_cast<double>(old), y = std::bit_cast<double>(b);
    double r = op == AtomicOp::Min ? std::min(x, y) : op == AtomicOp::Max ? std::max(x, y) : x + y;
    return std::bit_cast<uint64_t>(r);
  }
  case Type::F16:
  case Type::BF16:
    return half(op, uint16_t(old), uint16_t(b), t == Type::BF16);
  case Type::F16x2:
  case Type::BF16x2: {
    bool bf = t == Type::BF16x2;
    return uint32_t(half(op, uint16_t(old >> 16), uint16_t(b >> 16), bf)) << 16 |
           half(op, uint16_t(old), uint16_t(b), bf);
  }
  default:
    return old;
  }
}

namespace {

/// Finds the memory of an atomic access, locks what other threads of the host may
/// touch and enters the access; false if there is nothing to do.
bool beginAtomic(Exec &ex, const DInst &inst, unsigned lane, unsigned size, MemRef &ref,
                 std::unique_lock<std::mutex> &lock) {
  if (ex.cluster.stopped ||
      !resolve(ex, lane, ptx::Space(inst.imm[1]), ex.address(inst.ops[1], lane), size, size, ref))
    return false;
  if (ref.space != ptx::Space::Shared && ref.space != ptx::Space::Global)
    return false;
  if (ref.space == ptx::Space::Global)
    lock = std::unique_lock<std::mutex>(ex.grid.state->atomicMutex);
  if (Watch *watch = ex.cluster.watch.get())
    watch->noteRead(ex, ref);
  if (ex.grid.checks()) {
    Order order = Order(inst.flags & 15);
    Scope scope = Scope(inst.flags >> 4);
    observe(ex, lane, ref, order, scope, true);
    // Its reading half counts for initialization only.
    checkAccess(ex, lane, ref, size, StrongRead, nullptr, scope);
    checkAccess(ex, lane, ref, size, StrongWrite, nullptr, scope);
    publish(ex, lane, ref, order, scope, true);
  }
  return true;
}

/// Stores the result of an atomic; returns whether it differs from what was there.
bool update(Exec &ex, const MemRef &ref, uint8_t *at, const void *value, unsigned size) {
  bool differs = memcmp(at, value, size) != 0;
  if (Watch *watch = ex.cluster.watch.get(); watch && differs)
    watch->noteChange(ref);
  memcpy(at, value, size);
  return differs;
}

/// Lets others run. Atomics that leave memory as it was may spin, as on a lock that is taken.
void endAtomic(Exec &ex, bool changed) {
  if (changed)
    ++ex.cluster.progress;
  else
    ex.pollFailed("a value in memory", true);
  ex.yield = true;
}

/// ops: destination (or none), address, then b values; for cas b and c. The
/// destinations of a vector follow its values.
/// imm[0]: bytes, imm[1]: space, imm[2]: number of elements. flags: the order, and
/// the scope from bit 4 on.
void atomic(Exec &ex, const DInst &inst) {
  AtomicOp op = AtomicOp(inst.mode);
  unsigned size = unsigned(inst.imm[0]);
  unsigned count = unsigned(inst.imm[2]);
  bool isCas = op == AtomicOp::CompareSwap;
  bool vector = inst.numOps == 2 + 2 * count && !isCas;
  bool changed = false;
  forLanes(ex.mask, [&](unsigned lane) {
    MemRef ref;
    std::unique_lock<std::mutex> lock;
    if (!beginAtomic(ex, inst, lane, size * count, ref, lock))
      return;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t old = 0;
      memcpy(&old, ref.bytes + i * size, size);
      uint64_t b = ex.value(inst.ops[2 + i], lane);
      uint64_t c = isCas ? ex.value(inst.ops[3], lane) : 0;
      uint64_t now = applyAtomic(op, inst.type, old, b, c);
      changed |= update(ex, ref, ref.bytes + i * size, &now, size);
      if (vector)
        ex.setValue(inst.ops[2 + count + i], lane, old);
      else if (i == 0)
        ex.setValue(inst.ops[0], lane, old);
    }
  });
  endAtomic(ex, changed);
}

/// The same for 16 bytes, which can be exchanged only.
void atomic128(Exec &ex, const DInst &inst) {
  bool isCas = AtomicOp(inst.mode) == AtomicOp::CompareSwap;
  auto halves = [&](const Opnd &op, unsigned lane) {
    return std::array<uint64_t, 2>{ex.row<uint64_t>(op)[lane], ex.row<uint64_t>(op)[32 + lane]};
  };
  bool changed = false;
  forLanes(ex.mask, [&](unsigned lane) {
    MemRef ref;
    std::unique_lock<std::mutex> lock;
    if (!beginAtomic(ex, inst, lane, 16, ref, lock))
      return;
    std::array<uint64_t, 2> old, value = halves(inst.ops[2], lane);
    memcpy(old.data(), ref.bytes, 16);
    bool stores = !isCas || old == value;
    if (isCas)
      value = halves(inst.ops[3], lane);
    if (stores)
      changed |= update(ex, ref, ref.bytes, value.data(), 16);
    if (inst.ops[0].kind == Opnd::Kind::Row) {
      ex.out<uint64_t>(inst.ops[0])[lane] = old[0];
      ex.out<uint64_t>(inst.ops[0])[32 + lane] = old[1];
    }
  });
  endAtomic(ex, changed);
}

bool decodeAtomic(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool hasResult = inst.form->name == "atom";
  AtomicOp op;
  if (!atomicOpFromModifiers(inst, op))
    return d.fail(inst, "the operation is not known");
  Type t = inst.type();
  unsigned bits = ptx::typeBits(t);
  bool isFloat = ptx::isFloat(t);
  if (isFloat && op != AtomicOp::Add && op != AtomicOp::Min && op != AtomicOp::Max)
    return d.fail(inst, "not an operation on floats");
  out.mode = uint8_t(op);
  out.type = t;
  out.imm[0] = bits / 8;
  out.imm[1] = uint64_t(Decoder::spaceOf(inst));
  out.flags = uint8_t(inst.has(".acq_rel")   ? Order::AcquireRelease
                      : inst.has(".acquire") ? Order::Acquire
                      : inst.has(".release") ? Order::Release
                                             : Order::Relaxed) |
              uint8_t(uint8_t(Decoder::scopeOf(inst)) << 4);
  d.program.narrowAcquires |= Decoder::scopeOf(inst) != Scope::Device;
  if (ptx::Space(out.imm[1]) != ptx::Space::Shared)
    d.program.crossCta = out.crossCta = true;
  std::vector<Opnd> ops(2);
  size_t at = 0;
  const ptx::Operand *results = nullptr; // of a vector
  if (hasResult && inst.operands[0].kind == ptx::Operand::Kind::Vector)
    results = &inst.operands[at++];
  else if (hasResult && !d.destination(inst, inst.operands[at++], ops[0]))
    return false;
  if (!d.address(inst, inst.operands[at++], ops[1]))
    return false;
  const ptx::Operand &values = inst.operands[at++];
  unsigned count = 1;
  if (values.kind == ptx::Operand::Kind::Vector) {
    count = unsigned(values.elements.size());
    for (const ptx::Operand &value : values.elements) {
      Opnd each;
      if (!d.source(inst, value, std::max(32u, bits), each))
        return false;
      ops.push_back(each);
    }
  } else {
    Opnd each;
    if (!d.source(inst, values, bits, each, t == Type::F32 || t == Type::F64))
      return false;
    ops.push_back(each);
    if (op == AtomicOp::CompareSwap) {
      if (!d.source(inst, inst.operands[at++], bits, each))
        return false;
      ops.push_back(each);
    }
  }
  out.imm[2] = count;
  unsigned wanted = inst.has(".v2") ? 2 : inst.has(".v4") ? 4 : inst.has(".v8") ? 8 : 1;
  if (count != wanted || (results ? results->elements.size() : 1) != (results ? wanted : 1))
    return d.fail(inst, "the vector has the wrong number of elements");
  if (results)
    for (const ptx::Operand &result : results->elements) {
      Opnd each;
      if (!d.destination(inst, result, each))
        return false;
      ops.push_back(each);
    }
  if (bits == 128)
    for (size_t i : {size_t(0), size_t(2), ops.size() - 1})
      if (ops[i].kind != Opnd::Kind::None && ops[i].bits != 128)
        return d.fail(inst, "the operands must be registers of 128 bits");
  d.setOperands(out, std::move(ops));
  out.run = bits == 128 ? atomic128 : atomic;
  return true;
}

} // namespace

void addAtomic(DecodeTable &table) { table["atom"] = table["red"] = decodeAtomic; }

} // namespace penstock::emu
