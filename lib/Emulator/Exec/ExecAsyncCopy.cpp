//===- ExecAsyncCopy.cpp - cp.async and its groups ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cp.async works through the generic proxy. The copies of one warp happen in
// order, later than their issue; groups and mbarrier arrivals are per thread.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/AsyncCopy.h"
#include "Emulator/Lanes.h"

namespace penstock::emu {
namespace {

using ptx::Space;

CopyGroups &copyGroups(Exec &ex, unsigned lane) {
  CopyGroups &groups = ex.warp.copies[lane];
  if (!groups.agent)
    groups.agent = ex.cluster.newAgent();
  if (!ex.warp.copyChain)
    ex.warp.copyChain = ex.cluster.newAgent();
  return groups;
}

/// ops: destination, source, bytes to read or predicate that ignores the source (or none). imm[0]:
/// size.
void copyAsync(Exec &ex, const DInst &inst) {
  unsigned size = unsigned(inst.imm[0]);
  struct Piece {
    uint8_t *to;
    const uint8_t *from;
    unsigned bytes;
    unsigned lane;
    uint32_t number;
  };
  std::vector<Piece> pieces;
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    unsigned bytes = size;
    if (inst.ops[2].kind == Opnd::Kind::Pred) {
      if (ex.pred(inst.ops[2]) >> lane & 1)
        bytes = 0; // ignore-src
    } else if (inst.ops[2].kind != Opnd::Kind::None) {
      uint64_t given = ex.value(inst.ops[2], lane) & 0xffffffff;
      if (given > size)
        ex.report(EmuIllegalOperand,
                  "the source size " + std::to_string(given) + " exceeds the copy size " +
                      std::to_string(size),
                  Tier::Undefined);
      bytes = unsigned(std::min<uint64_t>(size, given));
    }
    MemRef to, from;
    if (!resolve(ex, lane, Space::Shared, ex.address(inst.ops[0], lane), size, size, to))
      return;
    if (bytes &&
        !resolve(ex, lane, Space::Global, ex.address(inst.ops[1], lane), bytes, size, from))
      return;
    CopyGroups &groups = copyGroups(ex, lane);
    uint32_t number = ++groups.issued;
    groups.running.insert(number);
    if (ex.grid.checks()) {
      uint32_t op = newOp(ex, lane, "cp.async");
      AsyncOp &record = opAt(ex, op);
      record.generic = true;
      record.agent[0] = groups.agent;
      record.count[0] = number;
      if (bytes)
        checkEngine(ex, lane, op, from, bytes, false);
      checkEngine(ex, lane, op, to, size, true);
    }
    pieces.push_back({to.bytes, from.bytes, bytes, lane, number});
  });
  if (ex.cluster.stopped || pieces.empty())
    return;
  Warp *warp = &ex.warp;
  AsyncWork work = plainCopy(AsyncWork::Engine::ThreadLoad, size * pieces.size());
  ex.cluster.enqueue(
      ex.warp.copyChain, "cp.async", ex.pc,
      [pieces = std::move(pieces), warp, size] {
        for (const Piece &piece : pieces) {
          if (piece.bytes)
            memcpy(piece.to, piece.from, piece.bytes);
          memset(piece.to + piece.bytes, 0, size - piece.bytes);
          warp->copies[piece.lane].running.erase(piece.number);
        }
      },
      work);
}

void commit(Exec &ex, const DInst &) {
  forLanes(ex.mask, [&](unsigned lane) {
    CopyGroups &groups = copyGroups(ex, lane);
    groups.ends.push_back(groups.issued);
  });
}

/// mode 1: wait_all. imm[0]: groups that may stay pending.
void waitGroup(Exec &ex, const DInst &inst) {
  bool ready = true;
  forLanes(ex.mask, [&](unsigned lane) {
    CopyGroups &groups = copyGroups(ex, lane);
    uint32_t bound = inst.mode ? groups.issued : groups.bound(inst.imm[0]);
    ready &= groups.done(bound, false);
  });
  if (!ready) {
    ex.block("its cp.async copies");
    return;
  }
  if (!ex.grid.checks())
    return;
  forLanes(ex.mask, [&](unsigned lane) {
    CopyGroups &groups = copyGroups(ex, lane);
    uint32_t bound = inst.mode ? groups.issued : groups.bound(inst.imm[0]);
    if (!bound)
      return;
    // A lane's view of its own copies must not leak to other lanes.
    ownView(ex, lane).seen.setAgent(groups.agent, bound);
  });
}

/// ops: address. mode 1: .noinc.
void arriveOnCopies(Exec &ex, const DInst &inst) {
  forMbarriers(ex, inst, inst.ops[0],
               [&](unsigned lane, Mbarrier &barrier, const MbarrierUse &use) {
                 if (!inst.mode)
                   ++barrier.pending;
                 CopyGroups &groups = copyGroups(ex, lane);
                 uint64_t agent = groups.agent;
                 uint32_t count = groups.issued;
                 Observed observed;
                 if (ex.grid.checks())
                   observed = ex.view(lane).observed;
                 ex.cluster.enqueue(
                     ex.warp.copyChain, "arrival of cp.async", ex.pc,
                     [=] {
                       Mbarrier &target = use.owner->mbarriers[use.offset];
                       if (!target.live)
                         return;
                       if (use.grid.checks() && count)
                         target.current.seen.setAgent(agent, count);
                       if (use.grid.checks())
                         target.current.observed.join(observed);
                       arriveOn(use, target, 1);
                     },
                     signalBehind(AsyncWork::Engine::ThreadLoad));
               });
}

bool decodeCopy(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(3);
  if (!d.address(inst, inst.operands[0], ops[0]) || !d.address(inst, inst.operands[1], ops[1]))
    return false;
  if (!Decoder::immediate(inst.operands[2], out.imm[0]) ||
      (out.imm[0] != 4 && out.imm[0] != 8 && out.imm[0] != 16))
    return d.fail(inst, "the size must be 4, 8 or 16");
  if (inst.has(".cg") && out.imm[0] != 16)
    return d.fail(inst, "`.cg` copies 16 bytes");
  // The last operand of a copy with a cache hint is the policy, which changes no result.
  size_t count = inst.operands.size() - inst.has(".L2::cache_hint");
  if (count > 3) {
    const ptx::Operand &last = inst.operands[3];
    bool isPred = last.kind == ptx::Operand::Kind::Register &&
                  d.function->registers[last.index].type == ptx::Type::Pred;
    if (isPred ? !d.predicate(inst, last, ops[2]) : !d.source(inst, last, 32, ops[2]))
      return false;
    uint64_t bytes = 0;
    if (Decoder::immediate(last, bytes) && bytes > out.imm[0])
      return d.fail(inst, "the source size must be at most the copy size");
  }
  d.setOperands(out, std::move(ops));
  out.run = copyAsync;
  return true;
}

bool decodeCommit(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = commit;
  return true;
}

bool decodeWait(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.mode = inst.form->name == "cp.async.wait_all";
  if (!out.mode && !Decoder::immediate(inst.operands[0], out.imm[0]))
    return d.fail(inst, "the count must be a constant");
  out.run = waitGroup;
  return true;
}

bool decodeArrive(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(1);
  if (!d.address(inst, inst.operands[0], ops[0]))
    return false;
  d.setOperands(out, std::move(ops));
  out.mode = inst.has(".noinc");
  out.imm[0] = uint64_t(Decoder::spaceOf(inst));
  out.run = arriveOnCopies;
  return true;
}

} // namespace

void addAsyncCopy(DecodeTable &table) {
  table["cp.async"] = decodeCopy;
  table["cp.async.commit_group"] = decodeCommit;
  table["cp.async.wait_group"] = table["cp.async.wait_all"] = decodeWait;
  table["cp.async.mbarrier.arrive"] = decodeArrive;
}

} // namespace penstock::emu
