//===- ExecWgmma.cpp - Warpgroup matrix instructions ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instruction happens once, for all four warps of a warpgroup, some time after the last of them
// has issued it. So the wait of one warp covers what the others' parts read. The registers of an
// instruction belong to it until a wait_group covers it: other uses are reported.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Float.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/HappensBefore.h"
#include "Emulator/Tensor/MatrixOperand.h"
#include "Emulator/Tensor/MatrixProduct.h"

#include <algorithm>

namespace penstock::emu {
namespace {

using ptx::Space;

enum Flag : uint8_t { RegisterA = 1, HalfD = 2, IntegerD = 4, Saturate = 8, Sparse = 16 };

/// A from registers: element \p e of register \p r of thread \p t.
void fragmentA(unsigned bytes, unsigned t, unsigned r, unsigned e, unsigned &row, unsigned &k) {
  row = t / 4 + 8 * (r % 2);
  unsigned perWord = 4 / bytes;
  k = perWord * (t % 4) + e + 4 * perWord * (r / 2);
}

} // namespace

/// The part of one warp.
struct Wgmma {
  Warp *warp = nullptr;
  unsigned n = 0, k = 0;
  MatrixShape shapeA, shapeB;
  std::shared_ptr<const MatrixTile> tileA, tileB;
  bool halfD = false, integerD = false, saturate = false, accumulate = false;
  float scaleA = 1, scaleB = 1;
  const Opnd *registersD = nullptr;
  const Opnd *registersA = nullptr; ///< four, or null
  uint32_t number = 0;
  /// wgmma.mma_async.sp: positions of the elements of A, by lane.
  bool sparse = false;
  unsigned selector = 0;
  std::array<uint32_t, 32> metadata = {};

  uint32_t *lanes(const Opnd &reg) const {
    return reinterpret_cast<uint32_t *>(warp->rows.data() + reg.at);
  }
};

namespace {

/// A of \p op's warp from its registers.
void readRegisterA(const Wgmma &op, float *a) {
  unsigned bytes = elementBytes(op.shapeA.element);
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned t = 0; t < 32; ++t)
      for (unsigned e = 0; e < 4 / bytes; ++e) {
        unsigned row, k;
        fragmentA(bytes, t, r, e, row, k);
        uint32_t word = op.lanes(op.registersA[r])[t];
        a[row * op.shapeA.k + k] = decodeElement(word >> (8 * bytes * e), op.shapeA.element);
      }
}

/// The four bits of metadata for a chunk of 4 elements of A (tf32: of 2) in a row of the warp.
unsigned metadataOf(const Wgmma &op, unsigned row, unsigned chunk) {
  if (elementBytes(op.shapeA.element) == 1) // all lanes give some
    return op.metadata[row % 8 * 4 + chunk / 8 * 2 + row / 8] >> (chunk % 8 * 4) & 0xf;
  return op.metadata[row % 8 * 4 + op.selector * 2 + chunk / 4] >> (row / 8 * 16 + chunk % 4 * 4) &
         0xf;
}

unsigned chunkSize(const Wgmma &op) { return op.shapeA.element == Element::TF32 ? 2 : 4; }

/// The ISA leaves the effect of some metadata undefined.
bool isMeaningful(const Wgmma &op, unsigned bits) {
  if (op.shapeA.element == Element::TF32)
    return bits == 0b0100 || bits == 0b1110;
  return (bits & 3) != bits >> 2;
}

/// 16 rows of A with zeros, \p out, from those without, \p packed.
void expandRows(const Wgmma &op, const float *packed, float *out) {
  std::fill(out, out + size_t(16) * op.k, 0.0f);
  unsigned size = chunkSize(op);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned chunk = 0; chunk < op.k / size; ++chunk) {
      unsigned bits = metadataOf(op, row, chunk);
      float *to = out + size_t(row) * op.k + chunk * size;
      const float *from = packed + size_t(row) * op.shapeA.k + chunk * size / 2;
      if (size == 2) {
        to[bits >> 1 & 1] = *from;
      } else {
        to[bits & 3] = from[0];
        to[bits >> 2] = from[1];
      }
    }
}

/// D of \p op's warp, from its 16 rows of A and all of B.
void multiplyRows(const Wgmma &op, const float *a, const float *b) {
  bool floats = !op.halfD && !op.integerD;
  static thread_local std::vector<float> values;
  std::array<float *, 128> d;
  values.resize(floats ? 0 : size_t(op.n) * 16);
  auto word = [&](unsigned i) { return op.lanes(op.registersD[op.halfD ? i / 2 : i]); };
  for (unsigned i = 0; i < op.n / 2; ++i)
    d[i] = floats ? reinterpret_cast<float *>(word(i)) : &values[size_t(i) * 32];
  if (op.accumulate && op.halfD)
    for (unsigned i = 0; i < op.n / 2; ++i)
      for (unsigned t = 0; t < 32; ++t)
        d[i][t] = halfToFloat(uint16_t(word(i)[t] >> (16 * (i % 2))));
  multiplyFragments(a, b, d.data(), op.n, op.k, op.accumulate && !op.integerD);
  for (unsigned i = 0; i < op.n / 2 && !floats; ++i)
    for (unsigned t = 0; t < 32; ++t) {
      uint32_t &to = word(i)[t];
      if (op.halfD) {
        unsigned shift = 16 * (i % 2);
        to = (to & ~(0xffffu << shift)) | uint32_t(floatToHalf(d[i][t])) << shift;
        continue;
      }
      int64_t sum = int64_t(d[i][t]) + (op.accumulate ? int64_t(int32_t(to)) : 0);
      if (op.saturate)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      to = uint32_t(sum);
    }
}

/// Multiplies for all warps of a warpgroup. They read the same operands, unless the kernel is
/// wrong.
void execute(const std::vector<std::shared_ptr<const Wgmma>> &parts) {
  static thread_local std::vector<float> a, b, expanded;
  const MatrixTile *tileA = nullptr, *tileB = nullptr;
  for (const auto &part : parts) {
    const Wgmma &op = *part;
    const uint8_t *shared = op.warp->cta->shared.data();
    if (op.registersA || op.tileA.get() != tileA) {
      a.resize(64 * size_t(op.shapeA.k));
      if (op.registersA)
        readRegisterA(op, a.data());
      else
        op.tileA->readRows(shared, a.data());
      tileA = op.tileA.get();
      if (op.scaleA != 1)
        for (float &x : a)
          x = -x;
    }
    const float *rows = a.data();
    if (!op.registersA)
      rows += op.warp->index % 4 * 16 * size_t(op.shapeA.k);
    if (op.sparse) {
      expanded.resize(size_t(16) * op.k);
      expandRows(op, rows, expanded.data());
      rows = expanded.data();
    }
    if (op.tileB.get() != tileB) {
      tileB = op.tileB.get();
      b.resize(size_t(op.n) * op.k);
      tileB->readColumns(shared, b.data(), op.n);
      if (op.scaleB != 1)
        for (float &x : b)
          x = -x;
    }
    multiplyRows(op, rows, b.data());
    op.warp->wgmma.running.erase(op.number);
  }
}

Warpgroup &warpgroupOf(Exec &ex) {
  Warpgroup &group = ex.cta.warpgroups[ex.warp.index / 4];
  if (!group.agent) {
    group.agent = ex.cluster.newAgent();
    group.observed = ex.cluster.newView().observed;
  }
  return group;
}

CopyGroups &groupsOf(Exec &ex) {
  ex.warp.wgmma.agent = warpgroupOf(ex).agent;
  return ex.warp.wgmma;
}

/// Why the instructions up to \p bound are not complete.
std::string waitsFor(Exec &ex, uint32_t bound) {
  const Warpgroup &group = warpgroupOf(ex);
  if (group.open.empty() || group.open.begin()->first > bound)
    return "its wgmma groups";
  std::set<uint32_t> missing;
  for (uint32_t i = 0; i < 4; ++i)
    if (!(group.open.begin()->second.warps >> i & 1))
      missing.insert(ex.warp.index / 4 * 4 + i);
  return "a wgmma that " + warpsText(missing) + " of the warpgroup " +
         (missing.size() > 1 ? "have" : "has") + " not issued";
}

void fence(Exec &ex, const DInst &) {
  if (!requireAligned(ex))
    return;
  ex.warp.wgmmaFenced = true;
  ex.warp.dirtyRows.clear();
}

void commit(Exec &ex, const DInst &) {
  if (!requireAligned(ex))
    return;
  CopyGroups &groups = groupsOf(ex);
  groups.ends.push_back(groups.issued);
}

void wait(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  CopyGroups &groups = groupsOf(ex);
  uint32_t bound = groups.bound(inst.imm[0]);
  if (!groups.done(bound, false)) {
    ex.block(waitsFor(ex, bound));
    return;
  }
  if (bound <= ex.warp.wgmmaWaited)
    return;
  ex.warp.wgmmaWaited = bound;
  if (!ex.grid.checks())
    return;
  auto learn = [&](View &view) {
    view.seen.setAgent(groups.agent, bound);
    view.observed.join(warpgroupOf(ex).observed);
  };
  learn(ex.warp.view);
  for (LaneState &state : ex.warp.lanes)
    if (state.view)
      learn(*state.view);
}

/// The registers of the instruction: free, and not written since the fence?
void checkRegisters(Exec &ex, const DInst &inst, unsigned count, const Wgmma &op) {
  if (!ex.warp.wgmmaFenced)
    ex.report(EmuRegisterInFlight, "wgmma without a wgmma.fence before it");
  const Opnd *first = inst.ops + 4;
  for (unsigned i = 0; i < count; ++i)
    if (ex.warp.dirtyRows.count(first[i].at)) {
      // ptxas adds the missing fence if it sees the writes (C7519).
      ex.report(EmuRegisterInFlight,
                "a register of this wgmma was written after the last wgmma.fence", Tier::Undefined);
      break;
    }
  for (unsigned i = 0; i < count; ++i)
    ex.warp.busyRows[first[i].at] = {op.number, ex.pc};
}

/// One warp has issued its part of an instruction; the last one starts it.
void issuePart(Exec &ex, const DInst &inst, std::shared_ptr<const Wgmma> part,
               const AsyncWork &work) {
  Warpgroup &group = warpgroupOf(ex);
  uint32_t number = part->number;
  Warpgroup::Open &open = group.open[number];
  std::array<uint64_t, 2> descriptors = {inst.flags & RegisterA ? 0 : ex.value(inst.ops[0], 0),
                                         ex.value(inst.ops[1], 0)};
  if (open.parts.empty()) {
    open.pc = ex.pc;
    open.descriptors = descriptors;
  } else if (ex.grid.checks() && (open.pc != ex.pc || open.descriptors != descriptors)) {
    Finding finding;
    finding.code = EmuWarpgroup;
    finding.point = finding.other.emplace(ex.point());
    finding.other->pc = open.pc;
    finding.message = open.pc != ex.pc
                          ? "the warps of a warpgroup execute different wgmma instructions"
                          : "the warps of a warpgroup give different matrix descriptors";
    finding.otherText = "executed by another warp";
    ex.grid.findings.add(std::move(finding));
  }
  open.warps |= 1u << ex.warp.index % 4;
  open.parts.push_back(std::move(part));
  if (open.warps != 0xf)
    return;
  if (ex.grid.checks())
    for (uint32_t i = 0; i < 4; ++i) {
      const Warp &warp = *ex.cta.warps[ex.warp.index / 4 * 4 + i];
      group.observed.join(warp.view.observed);
      for (const LaneState &state : warp.lanes)
        if (state.view)
          group.observed.join(state.view->observed);
    }
  auto parts = std::move(open.parts);
  group.open.erase(number);
  ex.cluster.enqueue(
      group.agent, "wgmma", ex.pc, [parts = std::move(parts)] { execute(parts); }, work);
}

/// ops: A descriptor (or none), B descriptor, scale-d, metadata (or none), D registers, A
/// registers. imm[0]: n | k << 16 | A type << 32 | B type << 40; imm[1]: bits
/// for the signs and majors, then the sparsity selector.
void multiplyAsync(Exec &ex, const DInst &inst) {
  if (!requireAligned(ex))
    return;
  if (ex.mask != 0xffffffff) {
    ex.fatal(EmuDivergentAligned, "wgmma needs whole warps");
    return;
  }
  if (ex.warp.index / 4 * 4 + 3 >= ex.cta.warps.size()) {
    ex.fatal(EmuDivergentAligned, "wgmma needs whole warpgroups");
    return;
  }
  auto op = std::make_shared<Wgmma>();
  op->warp = &ex.warp;
  op->n = inst.imm[0] & 0xffff;
  op->k = inst.imm[0] >> 16 & 0xffff;
  op->sparse = inst.flags & Sparse;
  op->selector = unsigned(inst.imm[1] >> 4);
  op->shapeA = {64, op->sparse ? op->k / 2 : op->k, bool(inst.imm[1] & 4),
                Element(inst.imm[0] >> 32 & 0xff)};
  op->shapeB = {op->n, op->k, bool(inst.imm[1] & 8), Element(inst.imm[0] >> 40 & 0xff)};
  op->halfD = inst.flags & HalfD;
  op->integerD = inst.flags & IntegerD;
  op->saturate = inst.flags & Saturate;
  op->scaleA = inst.imm[1] & 1 ? -1 : 1;
  op->scaleB = inst.imm[1] & 2 ? -1 : 1;
  unsigned registersD = op->halfD ? op->n / 4 : op->n / 2;
  op->registersD = inst.ops + 4;
  unsigned count = registersD;
  if (inst.flags & RegisterA) {
    op->registersA = inst.ops + 4 + registersD;
    count += 4;
  }
  op->accumulate = ex.pred(inst.ops[2]) & 1;
  auto find = [&](const char *which, const Opnd &operand, const MatrixShape &shape) {
    auto tile = matrixTile(ex.cta, decodeWgmmaDescriptor, ex.value(operand, 0), shape);
    if (!tile->problem.empty()) {
      ex.fatal(EmuIllegalDescriptor, std::string("operand ") + which + ": " + tile->problem);
      tile = nullptr;
    } else if (tile->first < sharedReserved || tile->end > ex.cta.shared.size()) {
      ex.fatal(
          EmuOutOfBounds,
          "a matrix descriptor reaches " +
              sharedName(ex.grid, tile->first < sharedReserved ? tile->first : tile->end - 16) +
              ", outside of the block's shared memory");
      tile = nullptr;
    }
    return tile;
  };
  if (!op->registersA && !(op->tileA = find("A", inst.ops[0], op->shapeA)))
    return;
  if (!(op->tileB = find("B", inst.ops[1], op->shapeB)))
    return;
  if (op->sparse) {
    for (unsigned lane = 0; lane < 32; ++lane)
      op->metadata[lane] = uint32_t(ex.value(inst.ops[3], lane));
    bool meaningful = true;
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned chunk = 0; chunk < op->k / chunkSize(*op); ++chunk)
        meaningful &= isMeaningful(*op, metadataOf(*op, row, chunk));
    if (ex.grid.checks() && !meaningful)
      ex.report(EmuIllegalOperand,
                op->shapeA.element == Element::TF32
                    ? "the metadata of sparse tf32 must be 0b0100 or 0b1110 for each pair"
                    : "the metadata names the same position of a chunk twice",
                Tier::Undefined);
  }
  ex.cluster.effort += 16 * uint64_t(op->n) * op->k / 256;
  if (ex.grid.checks())
    noteCollective(ex);
  CopyGroups &groups = groupsOf(ex);
  op->number = ++groups.issued;
  groups.running.insert(op->number);
  if (ex.grid.checks()) {
    checkRegisters(ex, inst, count, *op);
    uint32_t record = newOp(ex, 0, "wgmma");
    opAt(ex, record).agent[0] = groups.agent;
    opAt(ex, record).count[0] = op->number;
    opAt(ex, record).pipe = groups.agent;
    ex.cta.openOps.push_back(record);
    // The warps read together: each one enters a quarter, and all of them every byte. A of
    // K-major is divided by rows.
    for (const MatrixTile *tile : {op->tileA.get(), op->tileB.get()})
      if (tile)
        checkEngine(ex, 0, record, ex.cta, tile->quarters[ex.warp.index % 4], false);
  }
  issuePart(ex, inst, op, productWork(64, op->n, op->k));
}

bool elementOf(ptx::Type t, Element &element) {
  switch (t) {
  case ptx::Type::F16:
    element = Element::F16;
    return true;
  case ptx::Type::BF16:
    element = Element::BF16;
    return true;
  case ptx::Type::TF32:
    element = Element::TF32;
    return true;
  case ptx::Type::E4M3:
    element = Element::E4M3;
    return true;
  case ptx::Type::E5M2:
    element = Element::E5M2;
    return true;
  case ptx::Type::U8:
    element = Element::U8;
    return true;
  case ptx::Type::S8:
    element = Element::S8;
    return true;
  default:
    return false;
  }
}

bool decodeMma(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  unsigned n = 0, k = 0;
  for (std::string_view modifier : inst.modifiers)
    if (modifier.substr(0, 5) == ".m64n")
      sscanf(std::string(modifier).c_str(), ".m64n%uk%u", &n, &k);
  Element a, b;
  if (!elementOf(inst.type(1), a) || !elementOf(inst.type(2), b))
    return d.fail(inst, "the element types are not known");
  out.imm[0] = n | uint64_t(k) << 16 | uint64_t(a) << 32 | uint64_t(b) << 40;
  ptx::Type typeD = inst.type(0);
  out.flags =
      uint8_t((typeD == ptx::Type::F16 ? HalfD : 0) | (typeD == ptx::Type::S32 ? IntegerD : 0) |
              (inst.has(".satfinite") ? Saturate : 0));
  if (typeD == ptx::Type::S32 && n > 32 && n % 16)
    return d.fail(inst, "N of this type is a multiple of 16");
  unsigned registers = typeD == ptx::Type::F16 ? n / 4 : n / 2;
  const auto &in = inst.operands;
  if (in[0].kind != ptx::Operand::Kind::Vector || in[0].elements.size() != registers)
    return d.fail(inst, std::to_string(registers) + " accumulator registers are needed");
  std::vector<Opnd> ops(4);
  bool registerA = in[1].kind == ptx::Operand::Kind::Vector;
  if (!registerA && !d.source(inst, in[1], 64, ops[0]))
    return false;
  bool sparse = inst.form->name == "wgmma.mma_async.sp";
  size_t next = sparse ? 5 : 3;
  if (!d.source(inst, in[2], 64, ops[1]) || !d.predicate(inst, in[next], ops[2]))
    return false;
  if (sparse) {
    out.flags |= Sparse;
    uint64_t selector;
    if (!d.source(inst, in[3], 32, ops[3]) || !Decoder::immediate(in[4], selector))
      return d.fail(inst, "the sparsity selector must be a constant");
    if (selector > (elementBytes(a) == 1 ? 0 : 1))
      return d.fail(inst, elementBytes(a) == 1 ? "the sparsity selector of 8-bit types must be 0"
                                               : "the sparsity selector must be 0 or 1");
    out.imm[1] = selector << 4;
  }
  auto add = [&](const ptx::Operand &element) {
    Opnd op;
    if (!d.destination(inst, element, op))
      return false;
    if (op.kind != Opnd::Kind::Row || op.bits != 32)
      return d.fail(inst, "32-bit registers are needed");
    ops.push_back(op);
    d.program.wgmmaRows.push_back(op.at);
    return true;
  };
  for (const ptx::Operand &element : in[0].elements)
    if (!add(element))
      return false;
  if (registerA) {
    if (in[1].elements.size() != 4)
      return d.fail(inst, "four registers of A are needed");
    for (const ptx::Operand &element : in[1].elements)
      if (!add(element))
        return false;
    out.flags |= RegisterA;
  }
  // Signs of A and B, then the majors of the 16-bit types.
  std::vector<int64_t> immediates;
  for (size_t i = next + 1; i < in.size(); ++i) {
    uint64_t value;
    if (!Decoder::immediate(in[i], value))
      return d.fail(inst, "a constant is needed");
    immediates.push_back(int64_t(value));
  }
  auto at = [&](size_t i) { return i < immediates.size() ? immediates[i] : 0; };
  if (!immediates.empty()) {
    for (size_t i = 0; i < 2; ++i)
      if (at(i) != 1 && at(i) != -1)
        return d.fail(inst, "the scale of an operand must be 1 or -1");
    out.imm[1] |= (at(0) < 0 ? 1u : 0) | (at(1) < 0 ? 2u : 0);
    bool has16 = a == Element::F16 || a == Element::BF16;
    if (immediates.size() > 2 && has16) {
      // With A in registers only B's major is given.
      bool transA = !registerA && at(2), transB = registerA ? at(2) : at(3);
      out.imm[1] |= (transA ? 4u : 0) | (transB ? 8u : 0);
    }
  }
  d.setOperands(out, std::move(ops));
  out.run = multiplyAsync;
  return true;
}

template <Handler H> bool decodeTo(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = H;
  return true;
}

bool decodeWait(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  if (!Decoder::immediate(inst.operands[0], out.imm[0]))
    return d.fail(inst, "the count must be a constant");
  out.run = wait;
  return true;
}

} // namespace

void addWgmma(DecodeTable &table) {
  table["wgmma.mma_async"] = table["wgmma.mma_async.sp"] = decodeMma;
  table["wgmma.fence"] = decodeTo<fence>;
  table["wgmma.commit_group"] = decodeTo<commit>;
  table["wgmma.wait_group"] = decodeWait;
}

} // namespace penstock::emu
