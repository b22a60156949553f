//===- ExecMbarrier.cpp - mbarrier instructions ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/Mbarrier.h"

#include <algorithm>

namespace penstock::emu {
namespace {

using ptx::Space;

enum Flag : uint8_t {
  Relaxed = 1,
  Expect = 2,
  Drop = 4,
  NoComplete = 8,
  OwnBlock = 16, ///< scope `.cta`: orders nothing between blocks
  Blocking = 32, ///< try_wait
  Sent = 64      ///< an arrival at any block of the cluster, by an address in `.shared::cluster`
};

/// The opaque token that arrive returns: the phase and, for .noComplete, the
/// arrivals still pending.
uint64_t token(const Mbarrier &barrier) {
  return barrier.phase << 24 | (uint64_t(barrier.pending) & 0xfffff);
}
uint64_t phaseOf(uint64_t token) { return token >> 24; }

/// ops: address, count.
void init(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    if (ex.cluster.stopped)
      return;
    MemRef ref;
    if (!resolve(ex, lane, Space(inst.imm[0]), ex.address(inst.ops[0], lane), 8, 8, ref))
      return;
    if (ref.space != Space::Shared || ref.cta != &ex.cta) {
      ex.fatal(EmuMbarrierMisuse, "an mbarrier must lie in the block's own shared memory");
      return;
    }
    uint64_t count = ex.value(inst.ops[1], lane) & 0xffffffff;
    if (count == 0 || count > (1u << 20) - 1) {
      ex.fatal(EmuMbarrierMisuse,
               "an mbarrier for " + std::to_string(count) + " arrivals; 1 to 1048575 are legal");
      return;
    }
    uint32_t offset = uint32_t(ref.offset);
    Mbarrier &barrier = ex.cta.mbarriers[offset];
    // Lanes of one warp store the same object at once: hardware keeps it.
    if (barrier.live && barrier.initWarp == ex.warp.gid && barrier.initPc == ex.pc &&
        barrier.initCount == ex.warp.count && barrier.expected == count) {
      ex.report(EmuMbarrierMisuse,
                "mbarrier " + sharedName(ex.grid, offset) + " is initialized by several lanes",
                Tier::Undefined);
      return;
    }
    if (barrier.live) {
      ex.fatal(EmuMbarrierMisuse,
               "mbarrier " + sharedName(ex.grid, offset) + " is initialized while it is live");
      return;
    }
    if (ex.grid.checks())
      checkAccess(ex, lane, ref, 8, Write);
    barrier = Mbarrier{};
    barrier.live = true;
    barrier.expected = uint32_t(count);
    barrier.pending = int64_t(count);
    barrier.agent = ex.cluster.newAgent();
    barrier.initWarp = ex.warp.gid;
    barrier.initLane = lane;
    barrier.initCount = ex.warp.count;
    barrier.initPc = ex.pc;
    barrier.initRound = ex.cluster.clusterRounds;
    if (ex.grid.checks()) {
      barrier.current = barrier.currentRemote = ex.cluster.newView();
      barrier.previous = barrier.previousRemote = ex.cluster.newView();
    }
    ex.cta.mbarrierAt[offset / 8] = 1;
  });
}

void inval(Exec &ex, const DInst &inst) {
  forMbarriers(
      ex, inst, inst.ops[0], [&](unsigned lane, Mbarrier &barrier, const MbarrierUse &use) {
        barrier.live = false;
        use.owner->mbarrierAt[use.offset / 8] = 0;
        if (ex.grid.checks()) {
          // The bytes are ordinary memory again, last written here.
          MemRef ref;
          if (resolve(ex, lane, Space(inst.imm[0]), ex.address(inst.ops[0], lane), 8, 8, ref))
            checkAccess(ex, lane, ref, 8, Write);
        }
      });
}

/// expect_tx (mode 0) and complete_tx (mode 1). ops: address, bytes.
void transaction(Exec &ex, const DInst &inst) {
  forMbarriers(ex, inst, inst.ops[0],
               [&](unsigned lane, Mbarrier &barrier, const MbarrierUse &use) {
                 int64_t bytes = int64_t(ex.value(inst.ops[1], lane) & 0xffffffff);
                 if (bytes > (1 << 20) - 1) {
                   ex.fatal(EmuMbarrierMisuse, "more than 1048575 bytes at once");
                   return;
                 }
                 if (inst.mode)
                   completeTx(use, barrier, bytes);
                 else
                   expectTx(use, barrier, bytes);
               });
}

/// ops: destination (or none), address, count or bytes (or none).
void arrive(Exec &ex, const DInst &inst) {
  bool released = false;
  forMbarriers(
      ex, inst, inst.ops[1], [&](unsigned lane, Mbarrier &barrier, const MbarrierUse &use) {
        uint64_t third =
            inst.ops[2].kind == Opnd::Kind::None ? 1 : ex.value(inst.ops[2], lane) & 0xffffffff;
        uint32_t count = inst.flags & Expect ? 1 : uint32_t(third);
        if (inst.flags & Expect) {
          if (third > (1 << 20) - 1) {
            ex.fatal(EmuMbarrierMisuse, "more than 1048575 bytes at once");
            return;
          }
          expectTx(use, barrier, int64_t(third));
        }
        ex.setValue(inst.ops[0], lane, token(barrier));
        if (inst.flags & NoComplete && int64_t(count) >= barrier.pending && barrier.tx == 0)
          ex.report(EmuMbarrierMisuse, "an arrive with .noComplete completes the phase");
        bool remote = use.owner != &ex.cta;
        if (ex.grid.checks()) {
          View &target = remote ? barrier.currentRemote : barrier.current;
          bool isNarrow = remote && inst.flags & OwnBlock;
          bool releases = !(inst.flags & Relaxed) && !isNarrow;
          if (releases)
            releaseInto(ex, 1u << lane, target);
          else if (!isNarrow)
            releaseFenced(ex.warp.lanes[lane], remote ? Scope::Cluster : Scope::Block, target);
          // Across blocks, where a release is expensive, an arrival may only signal completions.
          if (!releases && inst.flags & Sent)
            target.seen.joinOver(ex.view(lane).seen);
          released |= releases;
          barrier.current.observed.join(ex.view(lane).observed);
        }
        if (inst.flags & Drop) {
          if (barrier.expected < count)
            ex.report(EmuMbarrierMisuse, "arrive_drop below zero");
          else
            barrier.expected -= count;
        }
        arriveOn(use, barrier, count);
      });
  if (released)
    tick(ex);
}

/// The wait of the lanes \p done is over, for each of \p barriers.
void noteObserved(Exec &ex, uint32_t done, const std::vector<Mbarrier *> &barriers) {
  uint32_t count = ++ex.warp.observations;
  if ((done & ex.warp.live) == ex.warp.live)
    ex.warp.view.observed.set(ex.warp.gid, count);
  forLanes(done, [&](unsigned lane) {
    if ((done & ex.warp.live) != ex.warp.live || ex.warp.lanes[lane].view)
      ownView(ex, lane).observed.set(ex.warp.gid, count);
  });
  for (Mbarrier *barrier : barriers) {
    auto &list = barrier->observers;
    auto same = std::find_if(list.begin(), list.end(),
                             [&](const Mbarrier::Observer &o) { return o.warp == ex.warp.gid; });
    // The first observation counts; a later one of the same phase says nothing new.
    if (same == list.end())
      list.push_back({ex.warp.gid, count, ex.pc});
  }
}

/// Lanes that acquire what arrivals have released, usually all from one object.
class Acquirers {
public:
  explicit Acquirers(Exec &ex) : ex(ex) {}
  void add(unsigned lane, const Mbarrier &barrier, bool remote) {
    if (last != &barrier)
      flush();
    last = &barrier;
    withRemote = remote;
    lanes |= 1u << lane;
  }
  void flush() {
    if (last)
      acquire(ex, lanes, last->previous);
    if (last && withRemote)
      acquire(ex, lanes, last->previousRemote);
    else if (last && !last->previousRemote.seen.empty())
      acquireOver(last->previousRemote);
    last = nullptr;
    lanes = 0;
  }

private:
  /// Acquires the completions that remote arrivals signal: all that a wait at block scope observes.
  void acquireOver(const View &remote) {
    View over = ex.cluster.newView();
    over.seen.joinOver(remote.seen);
    acquire(ex, lanes, over);
  }

  Exec &ex;
  const Mbarrier *last = nullptr;
  bool withRemote = false;
  uint32_t lanes = 0;
};

/// ops: predicate, address, state or parity. mode 1: parity. flags: Relaxed, OwnBlock, Blocking.
void wait(Exec &ex, const DInst &inst) {
  uint32_t done = 0;
  Split &split = ex.split();
  std::string waitsFor;
  // A try_wait may give up at any time; in random timings it sometimes does.
  bool mayBlock = inst.flags & Blocking;
  bool withRemote = !(inst.flags & OwnBlock);
  Acquirers acquirers(ex);
  std::vector<Mbarrier *> over;
  uint64_t watched = ~uint64_t(0);
  forMbarriers(
      ex, inst, inst.ops[1], [&](unsigned lane, Mbarrier &barrier, const MbarrierUse &use) {
        if (use.owner != &ex.cta) {
          ex.fatal(EmuMbarrierMisuse, "a wait on the mbarrier of another block of the cluster");
          return;
        }
        uint64_t want = ex.value(inst.ops[2], lane);
        bool complete;
        if (inst.mode) {
          complete = (barrier.phase & 1) != (want & 1);
        } else {
          uint64_t phase = phaseOf(want);
          if (phase > barrier.phase) {
            ex.fatal(EmuMbarrierMisuse, "a wait for a token of another mbarrier");
            return;
          }
          if (phase + 1 < barrier.phase)
            ex.report(EmuMbarrierMisuse, "a wait for phase " + std::to_string(phase) +
                                             " when phase " + std::to_string(barrier.phase) +
                                             " is open: the phase has passed twice");
          complete = phase != barrier.phase;
        }
        if (split.waitPhase != ~uint64_t(0) && barrier.phase >= split.waitPhase + 2)
          ex.report(EmuMbarrierMisuse,
                    "a thread waited for phase " + std::to_string(split.waitPhase) +
                        " of mbarrier " + sharedName(ex.grid, use.offset) +
                        " and the barrier has gone on to phase " + std::to_string(barrier.phase) +
                        " without it: the phase has passed twice");
        if (complete) {
          done |= 1u << lane;
          ex.cluster.observePhase(ex.warp, barrier);
          // The phase before the first is over from the start: nobody arrives in it.
          if (barrier.phase)
            tellBarrier(ex.grid, barrier, BarrierEvent::Observe, barrier.phase - 1, ex.pc);
          if (ex.grid.checks() && (over.empty() || over.back() != &barrier))
            over.push_back(&barrier);
          if (ex.grid.checks() && inst.flags & Relaxed) {
            readRelaxed(ex, lane, Scope::Block, barrier.previous);
            if (withRemote)
              readRelaxed(ex, lane, Scope::Cluster, barrier.previousRemote);
            ownView(ex, lane).observed.join(barrier.previous.observed);
          } else if (ex.grid.checks()) {
            acquirers.add(lane, barrier, withRemote);
          }
        } else {
          watched = barrier.phase;
          if (waitsFor.empty())
            waitsFor = describeMbarrier(ex.grid, barrier, use.offset);
        }
      });
  if (ex.cluster.stopped)
    return;
  acquirers.flush();
  if (!over.empty())
    noteObserved(ex, done, over);
  if (!split.blocked && split.waitPhase == ~uint64_t(0))
    ex.cluster.traceProbe(ex.warp, ex.pc, done != 0);
  if (!done && mayBlock) {
    bool giveUp = ex.grid.options.timing == Timing::Random && !split.blocked &&
                  split.waitPhase == ~uint64_t(0) && ex.cluster.random() % 8 == 0;
    if (!giveUp) {
      split.waitPhase = watched;
      ex.block(std::move(waitsFor));
      return;
    }
  }
  split.waitPhase = ~uint64_t(0);
  ex.setPred(inst.ops[0], done);
  if (!done)
    ex.pollFailed(std::move(waitsFor));
}

void pendingCount(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    ex.setValue(inst.ops[0], lane, ex.value(inst.ops[1], lane) & 0xfffff);
  });
}

bool decodeMbarrier(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  const std::string &name = inst.form->name;
  out.imm[0] = uint64_t(Decoder::spaceOf(inst));
  auto begins = [&](const char *prefix) { return name.rfind(prefix, 0) == 0; };
  std::vector<Opnd> ops;
  auto addAddress = [&](size_t i) {
    Opnd op;
    bool ok = d.address(inst, inst.operands[i], op);
    ops.push_back(op);
    return ok;
  };
  auto addSource = [&](size_t i, unsigned bits) {
    Opnd op;
    bool ok = d.source(inst, inst.operands[i], bits, op);
    ops.push_back(op);
    return ok;
  };
  auto addDestination = [&](size_t i) {
    Opnd op;
    bool ok = d.destination(inst, inst.operands[i], op);
    ops.push_back(op);
    return ok;
  };
  bool ok = true;
  if (name == "mbarrier.init") {
    ok = addAddress(0) && addSource(1, 32);
    out.run = init;
  } else if (name == "mbarrier.inval") {
    ok = addAddress(0);
    out.run = inval;
  } else if (name == "mbarrier.expect_tx" || name == "mbarrier.complete_tx") {
    ok = addAddress(0) && addSource(1, 32);
    out.mode = name == "mbarrier.complete_tx";
    out.run = transaction;
  } else if (begins("mbarrier.arrive")) {
    bool hasResult = inst.operands[0].kind != ptx::Operand::Kind::Address;
    if (hasResult)
      ok = addDestination(0);
    else
      ops.emplace_back();
    size_t at = hasResult ? 1 : 0;
    ok = ok && addAddress(at);
    if (inst.operands.size() > at + 1)
      ok = ok && addSource(at + 1, 32);
    else
      ops.emplace_back();
    out.flags =
        uint8_t((inst.has(".relaxed") ? Relaxed : 0) |
                (name.find("expect_tx") != std::string::npos ? Expect : 0) |
                (begins("mbarrier.arrive_drop") ? Drop : 0) |
                (name.find("noComplete") != std::string::npos ? NoComplete : 0) |
                (inst.has(".cta") ? OwnBlock : 0) | (inst.has(".shared::cluster") ? Sent : 0));
    out.run = arrive;
  } else if (name == "mbarrier.pending_count") {
    ok = addDestination(0) && addSource(1, 64);
    out.run = pendingCount;
  } else {
    out.mode = name.find(".parity") != std::string::npos;
    out.flags = uint8_t((inst.has(".relaxed") ? Relaxed : 0) | (inst.has(".cta") ? OwnBlock : 0) |
                        (begins("mbarrier.try_wait") ? Blocking : 0));
    ok = addDestination(0) && addAddress(1) && addSource(2, out.mode ? 32 : 64);
    out.run = wait;
  }
  if (!ok)
    return false;
  d.setOperands(out, std::move(ops));
  return true;
}

} // namespace

void addMbarrier(DecodeTable &table) {
  for (const ptx::InstructionForm &form : ptx::instructionForms())
    if (form.name.rfind("mbarrier.", 0) == 0)
      table[form.name] = decodeMbarrier;
}

} // namespace penstock::emu
