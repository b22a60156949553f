//===- ExecBulk.cpp - Bulk copies and bulk groups -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/AsyncCopy.h"
#include "Emulator/AtomicOps.h"
#include "Emulator/Lanes.h"

namespace penstock::emu {

uint32_t copyLeaders(Exec &ex, const DInst &inst) {
  uint32_t leaders = 0;
  forLanes(ex.mask, [&](unsigned lane) {
    auto same = [&](unsigned leader) {
      for (unsigned i = 0; i < inst.numOps; ++i)
        if (inst.ops[i].kind == Opnd::Kind::Row &&
            ex.value(inst.ops[i], lane) != ex.value(inst.ops[i], leader))
          return false;
      return true;
    };
    for (uint32_t rest = leaders; rest; rest &= rest - 1)
      if (unsigned leader = unsigned(__builtin_ctz(rest)); same(leader)) {
        if (inst.source->has(".bulk_group"))
          bulkGroups(ex, leader).lanes |= 1u << lane;
        return;
      }
    leaders |= 1u << lane;
  });
  return leaders;
}

CopyGroups &bulkGroups(Exec &ex, unsigned lane) {
  CopyGroups &groups = ex.warp.bulks[lane];
  if (!groups.agent) {
    groups.agent = ex.cluster.newAgent();
    groups.readAgent = ex.cluster.newAgent();
  }
  return groups;
}

uint32_t joinGroup(Exec &ex, CopyGroups &groups, uint32_t op) {
  uint32_t number = ++groups.issued;
  groups.running.insert(number);
  groups.reading.insert(number);
  if (ex.grid.checks()) {
    AsyncOp &record = opAt(ex, op);
    record.agent[0] = groups.agent;
    record.count[0] = number;
    record.readAgent = groups.readAgent;
    record.readCount = number;
  }
  return number;
}

bool resolveSignal(Exec &ex, unsigned lane, ptx::Space space, uint64_t address, Signal &signal) {
  return findMbarrier(ex, lane, space, address, signal.cta, signal.offset);
}

bool checkMulticast(Exec &ex, unsigned lane, const Signal &signal) {
  auto found = signal.cta->mbarriers.find(signal.offset);
  if (found == signal.cta->mbarriers.end() || !found->second.live) {
    ex.fatal(EmuMbarrierMisuse, "the multicast signals mbarrier " +
                                    sharedName(ex.grid, signal.offset) +
                                    " of a block where it is not initialized");
    return false;
  }
  checkInitialized(ex, lane, found->second, signal.offset);
  return true;
}

AsyncWork plainCopy(AsyncWork::Engine engine, uint64_t bytes) {
  AsyncWork work;
  work.engine = engine;
  work.bytes = bytes;
  work.rows = (bytes + 127) / 128;
  return work;
}

void enqueueSignaled(Exec &ex, unsigned lane, uint32_t op, const Signal &signal, uint32_t bytes,
                     std::function<void()> copy, AsyncWork size) {
  size.barrier = uint64_t(signal.cta->rank + 1) << 32 | signal.offset;
  Grid *grid = &ex.grid;
  Cluster *cluster = &ex.cluster;
  ExecutionPoint point = ex.point();
  point.lane = lane;
  Observed observed;
  if (ex.grid.checks())
    observed = ex.view(lane).observed;
  ex.cluster.enqueue(
      0, "a copy of " + std::to_string(bytes) + " bytes", ex.pc,
      [=, copy = std::move(copy)] {
        copy();
        auto found = signal.cta->mbarriers.find(signal.offset);
        if (found == signal.cta->mbarriers.end() || !found->second.live) {
          Finding finding;
          finding.code = EmuMbarrierMisuse;
          finding.point = point;
          finding.message = "a copy completes on mbarrier " + sharedName(*grid, signal.offset) +
                            ", which is no longer live";
          grid->findings.add(std::move(finding));
          return;
        }
        if (grid->checks()) {
          fileCompletion(found->second, (*cluster->ops)[op]);
          found->second.current.observed.join(observed);
        }
        completeTx({*grid, *cluster, point, signal.offset}, found->second, bytes);
      },
      size);
}

void enqueueGrouped(Exec &ex, unsigned lane, uint32_t op, std::function<void()> read,
                    std::function<void()> write, AsyncWork size) {
  CopyGroups &groups = bulkGroups(ex, lane);
  uint32_t number = joinGroup(ex, groups, op);
  CopyGroups *tracked = &groups; // nodes of the map do not move
  uint64_t chain = ex.cluster.newAgent();
  ex.cluster.enqueue(
      chain, "the reading half of a bulk store", ex.pc,
      [=, read = std::move(read)] {
        read();
        tracked->reading.erase(number);
      },
      size);
  size.engine = AsyncWork::Engine::StoreEnd;
  ex.cluster.enqueue(
      chain, "the writing half of a bulk store", ex.pc,
      [=, write = std::move(write)] {
        write();
        tracked->running.erase(number);
      },
      size);
}

namespace {

using ptx::Space;

enum class Way : uint8_t { GlobalToShared, SharedToShared, SharedToGlobal };

bool checkSize(Exec &ex, uint64_t bytes) {
  if (bytes && bytes % 16 == 0)
    return true;
  ex.fatal(EmuMisaligned,
           "a bulk copy of " + std::to_string(bytes) + " bytes; a multiple of 16 is needed");
  return false;
}

/// The bytes of a store with a byte mask that are copied: of every 16, those whose
/// bit is set, as runs of an offset and a length.
std::vector<std::pair<uint32_t, uint32_t>> maskedRuns(uint64_t bytes, uint16_t mask) {
  std::vector<std::pair<uint32_t, uint32_t>> runs;
  for (uint32_t at = 0; at < bytes; ++at) {
    if (!(mask >> at % 16 & 1))
      continue;
    if (!runs.empty() && runs.back().first + runs.back().second == at)
      ++runs.back().second;
    else
      runs.emplace_back(at, 1);
  }
  return runs;
}

/// ops: destination, source, size, mbarrier (or none), mask of blocks or, in stores,
/// of bytes (or none). mode: Way. flags 1: a reduction of imm[0] (AtomicOp) and type.
void bulkCopy(Exec &ex, const DInst &inst) {
  Way way = Way(inst.mode);
  forLanes(copyLeaders(ex, inst), [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    uint64_t bytes = ex.value(inst.ops[2], lane) & 0xffffffff;
    if (!checkSize(ex, bytes))
      return;
    Space toSpace = way == Way::SharedToGlobal ? Space::Global : Space::Shared;
    Space fromSpace = way == Way::GlobalToShared ? Space::Global : Space::Shared;
    MemRef to, from;
    if (!resolve(ex, lane, toSpace, ex.address(inst.ops[0], lane), unsigned(bytes), 16, to) ||
        !resolve(ex, lane, fromSpace, ex.address(inst.ops[1], lane), unsigned(bytes), 16, from))
      return;
    Signal signal;
    if (way != Way::SharedToGlobal) {
      if (!resolveSignal(ex, lane, Space::Shared, ex.address(inst.ops[3], lane), signal))
        return;
      bool multicast = inst.ops[4].kind != Opnd::Kind::None;
      if (!multicast && signal.cta != to.cta) {
        ex.fatal(EmuIllegalOperand, "the mbarrier and the destination lie in different blocks");
        return;
      }
    }
    if (way == Way::SharedToGlobal) {
      uint32_t op = 0;
      if (ex.grid.checks()) {
        op = newOp(ex, lane, inst.flags & 1 ? "cp.reduce.async.bulk" : "cp.async.bulk");
      }
      auto stage = std::make_shared<std::vector<uint8_t>>(bytes);
      bool reduces = inst.flags & 1;
      AtomicOp atomicOp = AtomicOp(inst.imm[0]);
      ptx::Type type = inst.type;
      unsigned size = ptx::typeBits(type) / 8;
      std::mutex *atomics = &ex.grid.state->atomicMutex;
      std::vector<std::pair<uint32_t, uint32_t>> runs = {{0, uint32_t(bytes)}};
      if (inst.ops[4].kind != Opnd::Kind::None)
        runs = maskedRuns(bytes, uint16_t(ex.value(inst.ops[4], lane)));
      if (ex.grid.checks()) {
        ex.cta.openOps.push_back(op);
        for (auto [at, length] : runs) {
          MemRef part = from, target = to;
          part.offset += at;
          target.offset += at;
          checkEngine(ex, lane, op, part, length, false);
          if (!reduces)
            checkEngine(ex, lane, op, target, length, true);
          else
            checkReduction(ex, lane, op, target, length, Scope::Device);
        }
      }
      enqueueGrouped(
          ex, lane, op, [=] { memcpy(stage->data(), from.bytes, bytes); },
          [=] {
            if (!reduces) {
              for (auto [at, length] : runs)
                memcpy(to.bytes + at, stage->data() + at, length);
              return;
            }
            std::lock_guard<std::mutex> lock(*atomics);
            for (uint64_t i = 0; i + size <= bytes; i += size) {
              uint64_t old = 0, value = 0;
              memcpy(&old, to.bytes + i, size);
              memcpy(&value, stage->data() + i, size);
              uint64_t now = applyAtomic(atomicOp, type, old, value, 0);
              memcpy(to.bytes + i, &now, size);
            }
          },
          plainCopy(AsyncWork::Engine::Store, bytes));
      return;
    }
    uint32_t mask = 1u << to.cta->rank;
    if (inst.ops[4].kind != Opnd::Kind::None)
      mask = uint32_t(ex.value(inst.ops[4], lane) & 0xffff);
    if (!mask || mask >> ex.cluster.ctas.size()) {
      ex.fatal(EmuIllegalOperand, "the mask names blocks outside of the cluster");
      return;
    }
    bool reduces = inst.flags & 1;
    AtomicOp atomicOp = AtomicOp(inst.imm[0]);
    ptx::Type type = inst.type;
    unsigned size = ptx::typeBits(type) / 8;
    bool first = true;
    for (uint32_t rank = 0; rank < ex.cluster.ctas.size(); ++rank) {
      if (!(mask >> rank & 1))
        continue;
      Cta &cta = *ex.cluster.ctas[rank];
      MemRef target = to;
      target.cta = &cta;
      target.bytes = cta.shared.data() + to.offset;
      Signal there = signal;
      if (inst.ops[4].kind != Opnd::Kind::None) {
        there.cta = &cta;
        if (!checkMulticast(ex, lane, there))
          return;
      }
      uint32_t op = 0;
      if (ex.grid.checks()) {
        op = newOp(ex, lane, "cp.async.bulk");
        cta.openOps.push_back(op);
        if (first)
          checkEngine(ex, lane, op, from, bytes, false);
        checkEngine(ex, lane, op, target, bytes, true);
      }
      AsyncWork work = plainCopy(AsyncWork::Engine::Load, bytes);
      work.repeated = !first;
      first = false;
      const uint8_t *source = from.bytes;
      uint8_t *dest = target.bytes;
      enqueueSignaled(
          ex, lane, op, there, uint32_t(bytes),
          [=] {
            if (!reduces) {
              memmove(dest, source, bytes);
              return;
            }
            for (uint64_t i = 0; i + size <= bytes; i += size) {
              uint64_t old = 0, value = 0;
              memcpy(&old, dest + i, size);
              memcpy(&value, source + i, size);
              uint64_t now = applyAtomic(atomicOp, type, old, value, 0);
              memcpy(dest + i, &now, size);
            }
          },
          work);
    }
  });
}

bool decodeBulk(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  bool multicast = inst.has(".multicast::cluster");
  std::vector<Opnd> ops(5);
  if (!d.address(inst, inst.operands[0], ops[0]) || !d.address(inst, inst.operands[1], ops[1]) ||
      !d.source(inst, inst.operands[2], 32, ops[2]))
    return false;
  if (inst.has(".bulk_group")) {
    out.mode = uint8_t(Way::SharedToGlobal);
    if (inst.has(".cp_mask") && !d.source(inst, inst.operands.back(), 16, ops[4]))
      return false;
  } else {
    // Which of the two shared spaces comes first tells the direction.
    out.mode = uint8_t(inst.has(".global") ? Way::GlobalToShared : Way::SharedToShared);
    if (!d.address(inst, inst.operands[3], ops[3]))
      return false;
    if (multicast && !d.source(inst, inst.operands[4], 32, ops[4]))
      return false;
  }
  if (inst.form->name == "cp.reduce.async.bulk") {
    AtomicOp op;
    if (!atomicOpFromModifiers(inst, op))
      return d.fail(inst, "the operation is not known");
    out.flags = 1;
    out.imm[0] = uint64_t(op);
    out.type = inst.type();
  }
  d.setOperands(out, std::move(ops));
  out.run = bulkCopy;
  return true;
}

void bulkCommit(Exec &ex, const DInst &) {
  forLanes(ex.mask, [&](unsigned lane) {
    CopyGroups &groups = bulkGroups(ex, lane);
    groups.ends.push_back(groups.issued);
  });
}

/// imm[0]: groups that may stay pending; mode 1: .read.
void bulkWait(Exec &ex, const DInst &inst) {
  bool ready = true;
  forLanes(ex.mask, [&](unsigned lane) {
    CopyGroups &groups = bulkGroups(ex, lane);
    ready &= groups.done(groups.bound(inst.imm[0]), inst.mode);
  });
  if (!ready) {
    ex.block("its bulk groups");
    return;
  }
  if (!ex.grid.checks())
    return;
  forLanes(ex.mask, [&](unsigned lane) {
    CopyGroups &groups = bulkGroups(ex, lane);
    uint32_t bound = groups.bound(inst.imm[0]);
    if (!bound)
      return;
    forLanes((groups.lanes & ex.mask) | 1u << lane, [&](unsigned waiter) {
      View &view = ownView(ex, waiter);
      view.seen.setAgent(groups.readAgent, bound);
      if (!inst.mode)
        view.seen.setAgent(groups.agent, bound);
    });
  });
}

bool decodeCommit(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = bulkCommit;
  return true;
}

bool decodeWait(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  if (!Decoder::immediate(inst.operands[0], out.imm[0]))
    return d.fail(inst, "the count must be a constant");
  out.mode = inst.has(".read");
  out.run = bulkWait;
  return true;
}

void nothing(Exec &, const DInst &) {}
bool decodePrefetch(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = nothing;
  return true;
}

/// st.bulk: zeros in shared memory, as a weak store of the thread itself. ops:
/// address, size. imm[0]: space.
void storeBulk(Exec &ex, const DInst &inst) {
  constexpr uint64_t most = 16 << 20;
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    uint64_t bytes = ex.value(inst.ops[1], lane);
    if (bytes % 8 || bytes > most) {
      ex.fatal(EmuIllegalOperand, "st.bulk of " + std::to_string(bytes) +
                                      " bytes; a multiple of 8 up to 16777216 is needed");
      return;
    }
    MemRef to;
    if (!bytes || !resolve(ex, lane, Space(inst.imm[0]), ex.address(inst.ops[0], lane),
                           unsigned(bytes), 8, to))
      return;
    if (to.space != Space::Shared || to.cta != &ex.cta) {
      ex.fatal(EmuIllegalOperand, "st.bulk writes to the shared memory of its own block only");
      return;
    }
    if (ex.grid.checks())
      checkAccess(ex, lane, to, unsigned(bytes), Write);
    memset(to.bytes, 0, bytes);
  });
}

bool decodeStoreBulk(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(2);
  uint64_t value;
  if (!Decoder::immediate(inst.operands[2], value) || value)
    return d.fail(inst, "the value must be the constant 0");
  if (!d.address(inst, inst.operands[0], ops[0]) || !d.source(inst, inst.operands[1], 32, ops[1]))
    return false;
  out.imm[0] = uint64_t(inst.has(".shared::cta") ? Space::Shared : Space::Generic);
  d.setOperands(out, std::move(ops));
  out.run = storeBulk;
  return true;
}

/// st.async and red.async: ops: address, mbarrier, values. imm[0]: element
/// bytes; flags 1: a reduction of imm[1].
void storeAsync(Exec &ex, const DInst &inst) {
  unsigned size = unsigned(inst.imm[0]);
  unsigned count = inst.numOps - 2u;
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    MemRef to;
    Signal signal;
    if (!resolve(ex, lane, Space::Shared, ex.address(inst.ops[0], lane), size * count, size * count,
                 to) ||
        !resolveSignal(ex, lane, Space::Shared, ex.address(inst.ops[1], lane), signal))
      return;
    if (signal.cta != to.cta) {
      ex.fatal(EmuIllegalOperand, "the mbarrier and the destination lie in different blocks");
      return;
    }
    uint32_t op = 0;
    bool reduces = inst.flags & 1;
    if (ex.grid.checks()) {
      op = newOp(ex, lane, reduces ? "red.async" : "st.async");
      opAt(ex, op).generic = true;
      if (reduces)
        checkReduction(ex, lane, op, to, size, Scope::Cluster);
      else
        checkEngine(ex, lane, op, to, size * count, true);
    }
    std::vector<uint64_t> values;
    for (unsigned i = 0; i < count; ++i)
      values.push_back(ex.value(inst.ops[2 + i], lane));
    AtomicOp atomicOp = AtomicOp(inst.imm[1]);
    ptx::Type type = inst.type;
    enqueueSignaled(
        ex, lane, op, signal, size * count,
        [=, values = std::move(values)] {
          for (unsigned i = 0; i < count; ++i) {
            uint64_t value = values[i];
            if (reduces) {
              uint64_t old = 0;
              memcpy(&old, to.bytes, size);
              value = applyAtomic(atomicOp, type, old, value, 0);
            }
            memcpy(to.bytes + i * size, &value, size);
          }
        },
        plainCopy(AsyncWork::Engine::Load, size * count));
  });
}

bool decodeStoreAsync(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(2);
  if (!d.address(inst, inst.operands[0], ops[0]) || !d.address(inst, inst.operands[2], ops[1]))
    return false;
  unsigned bits = ptx::typeBits(inst.type());
  out.type = inst.type();
  out.imm[0] = bits / 8;
  const ptx::Operand &values = inst.operands[1];
  auto add = [&](const ptx::Operand &value) {
    Opnd op;
    if (!d.source(inst, value, bits, op))
      return false;
    ops.push_back(op);
    return true;
  };
  if (values.kind == ptx::Operand::Kind::Vector) {
    for (const ptx::Operand &value : values.elements)
      if (!add(value))
        return false;
    size_t want = inst.has(".v4") ? 4 : inst.has(".v2") ? 2 : 1;
    if (values.elements.size() != want)
      return d.fail(inst, "the vector has the wrong number of elements");
  } else if (!add(values)) {
    return false;
  }
  if (inst.form->name == "red.async") {
    AtomicOp op;
    if (!atomicOpFromModifiers(inst, op))
      return d.fail(inst, "the operation is not known");
    out.flags = 1;
    out.imm[1] = uint64_t(op);
  }
  d.setOperands(out, std::move(ops));
  out.run = storeAsync;
  return true;
}

} // namespace

void addBulkCopy(DecodeTable &table) {
  table["cp.async.bulk"] = table["cp.reduce.async.bulk"] = decodeBulk;
  table["cp.async.bulk.commit_group"] = decodeCommit;
  table["cp.async.bulk.wait_group"] = decodeWait;
  table["cp.async.bulk.prefetch"] = decodePrefetch;
  table["st.async"] = table["red.async"] = decodeStoreAsync;
  table["st.bulk"] = decodeStoreBulk;
}

} // namespace penstock::emu
