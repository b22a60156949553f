//===- Standstill.cpp - Threads that wait for a write in vain -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Standstill.h"
#include "Emulator/Exec/ExecCall.h"
#include "Emulator/Races/HappensBefore.h"
#include "PTX/InstructionTable.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace penstock::emu {
namespace {

/// Instructions without progress before the first look.
constexpr uint64_t shortestInterval = uint64_t(1) << 14;
/// Steps of a clock, the n-th of 4^n cycles. After the last one no timeout is left: days have gone
/// by.
constexpr unsigned clockSteps = 25;
/// Limits of a watch.
constexpr unsigned warmUpRounds = 3;
constexpr unsigned maxRounds = 4096, maxClusterRounds = 256;
constexpr uint64_t maxInstructions = uint64_t(1) << 16;
/// Instructions of a turn without a poll or a backward branch.
constexpr unsigned quantum = 256;

/// Effect of an instruction apart from writing registers.
enum class Effect : uint8_t {
  None,
  Waits,        ///< for an mbarrier
  Writes,       ///< its handler notes changes
  Synchronizes, ///< changes the state of a barrier of its cluster
  Unknown
};

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string_view nameOf(const DInst &inst) {
  return inst.source ? std::string_view(inst.source->form->name) : std::string_view();
}

Effect effectOf(const DInst &inst) {
  std::string_view name = nameOf(inst);
  if (inst.run == runExit)
    return Effect::Unknown;
  if (name == "st" || name == "atom" || name == "red")
    return Effect::Writes;
  if (isOneOf(name, {"mbarrier.test_wait", "mbarrier.try_wait"}))
    return Effect::Waits;
  if (name.starts_with("mbarrier."))
    return Effect::Synchronizes;
  if (name.starts_with("bar.") || name == "bar" || name.starts_with("barrier"))
    return name == "bar.warp.sync" ? Effect::None : Effect::Synchronizes;
  for (std::string_view prefix :
       {"st", "red", "cp.", "tcgen05.", "wgmma.", "tensormap.", "griddepcontrol",
        "clusterlaunchcontrol", "multimem", "discard", "trap", "brkpt", "setmaxnreg"})
    if (name.starts_with(prefix))
      return Effect::Unknown;
  if (inst.run == runPrintf || inst.run == runAssertFail)
    return Effect::Unknown;
  return Effect::None;
}

/// Returns whether all that \p inst does is to compute registers from registers of its lane.
bool isPure(const DInst &inst) {
  return isOneOf(nameOf(inst),
                 {"add", "sub", "mul", "mad", "min", "max", "and",  "or",   "xor",   "not",
                  "shl", "shr", "mov", "neg", "abs", "cvt", "sel",  "selp", "setp",  "set",
                  "div", "rem", "fma", "bfe", "bfi", "shf", "prmt", "lop3", "mul24", "mad24"});
}

/// The registers that determine branches, addresses and written values of some instructions.
struct Slice {
  std::set<std::pair<uint32_t, uint32_t>> rows; ///< offset, bytes
  std::set<uint32_t> preds;

  bool add(const Opnd &op) {
    if (op.kind == Opnd::Kind::Pred)
      return preds.insert(op.at).second;
    if (op.kind == Opnd::Kind::Row)
      return rows.emplace(op.at, std::max(32u, unsigned(op.bits)) * 4).second;
    return false;
  }
  bool has(const Opnd &op) const {
    if (op.kind == Opnd::Kind::Pred)
      return preds.count(op.at);
    return op.kind == Opnd::Kind::Row && rows.count({op.at, std::max(32u, unsigned(op.bits)) * 4});
  }
};

Slice sliceOf(const Program &program, const std::vector<bool> &executed) {
  Slice slice;
  bool grows = true;
  while (grows) {
    grows = false;
    for (size_t pc = 0; pc < executed.size(); ++pc) {
      const DInst &inst = program.code[pc];
      // The time that a thread sleeps determines nothing.
      if (!executed[pc] || nameOf(inst) == "nanosleep")
        continue;
      bool needed = !isPure(inst), writes = false;
      for (unsigned i = 0; i < inst.numOps; ++i) {
        writes |= inst.ops[i].written;
        needed |= inst.ops[i].written && slice.has(inst.ops[i]);
      }
      if (!needed && writes)
        continue;
      if (inst.guarded && inst.guard != falsePredicate)
        grows |= slice.preds.insert(inst.guard).second;
      for (unsigned i = 0; i < inst.numOps; ++i)
        if (!inst.ops[i].written)
          grows |= slice.add(inst.ops[i]);
    }
  }
  return slice;
}

class Hash {
public:
  void add(uint64_t word) {
    value = (value ^ word) * 0x9e3779b97f4a7c15;
    value ^= value >> 29;
  }
  void add(const uint8_t *bytes, size_t size) {
    for (; size >= 8; bytes += 8, size -= 8) {
      uint64_t word;
      memcpy(&word, bytes, 8);
      add(word);
    }
    for (; size; ++bytes, --size)
      add(*bytes);
  }
  uint64_t value = 1;
};

void addWarp(Hash &hash, const Warp &warp, const Slice &slice) {
  hash.add(warp.live);
  for (const Split &split : warp.splits) {
    hash.add(uint64_t(split.pc) << 32 | split.mask);
    hash.add(uint64_t(split.join + 1) << 1 | split.blocked);
  }
  for (const Join &join : warp.joins)
    if (join.used) {
      hash.add(uint64_t(join.pc) << 32 | join.expected);
      hash.add(uint64_t(uint32_t(join.parent)) << 32 | join.arrived);
    }
  for (auto [at, bytes] : slice.rows)
    hash.add(warp.rows.data() + at, bytes);
  for (uint32_t pred : slice.preds)
    hash.add(warp.preds[pred]);
  hash.add(uint64_t(warp.carry) << 32 | warp.clusterArrivedLanes);
  hash.add(warp.local.data(), warp.local.size());
}

uint64_t stateOf(const Cluster &cluster, const std::vector<Warp *> &warps, const Slice &slice,
                 bool wholeCluster) {
  Hash hash;
  for (const Warp *warp : warps)
    addWarp(hash, *warp, slice);
  if (!wholeCluster)
    return hash.value;
  for (const auto &cta : cluster.ctas) {
    hash.add(cta->shared.data(), cta->shared.size());
    uint64_t mbarriers = 0; // in any order
    for (const auto &[offset, barrier] : cta->mbarriers) {
      Hash each;
      each.add(uint64_t(offset) << 2 | (barrier.phase & 1) << 1 | barrier.live);
      each.add(uint64_t(barrier.expected) << 32 ^ uint64_t(barrier.pending));
      each.add(uint64_t(barrier.tx));
      mbarriers += each.value;
    }
    hash.add(mbarriers);
    for (const auto &round : cta->named)
      hash.add(round ? uint64_t(round->arrived) << 32 | round->expected : 0);
  }
  hash.add(cluster.clusterRound ? cluster.clusterRound->arrived : 0);
  return hash.value;
}

bool canRun(const Cluster &cluster, const Split &split) {
  return !split.blocked || split.triedAt < cluster.progress;
}

} // namespace

void Watch::note(Exec &ex, const DInst &inst, uint32_t before) {
  newCode |= !executed[before];
  executed[before] = true;
  readsClock |= inst.usesClock;
  bool done = ex.advance || inst.run == runExit;
  switch (effectOf(inst)) {
  case Effect::None:
  case Effect::Writes:
    break;
  case Effect::Waits:
    readsMemory = true;
    break;
  case Effect::Synchronizes:
    changesBlock |= done;
    break;
  case Effect::Unknown:
    changesOthers |= done;
    break;
  }
  if (!read.empty()) {
    Split &split = ex.split();
    split.waitsFor = std::move(read);
    split.pollPc = ex.pc;
    split.polls = std::max(split.polls, 1u);
    read.clear();
  }
  // An iteration of a loop is a turn.
  if (ex.splitIndex < ex.warp.splits.size() && ex.split().pc <= before && !ex.split().blocked)
    ex.yield = true;
}

void Watch::noteRead(Exec &ex, const MemRef &ref) {
  MemoryParts parts;
  if (ref.space == ptx::Space::Global)
    parts.add(globalPart(*ref.allocation, ref.offset));
  else if (ref.space == ptx::Space::Shared)
    parts.add(sharedPart(ex.grid, ref.offset));
  else
    return;
  readsMemory = true;
  read = "a change of " + parts.text();
}

void Watch::noteChange(const MemRef &ref) {
  if (ref.space == ptx::Space::Global)
    changesOthers = true;
  else if (ref.space == ptx::Space::Shared)
    changesBlock = true;
}

bool Standstill::due(uint64_t instructions, uint64_t progress) {
  if (progress != lastProgress) {
    lastProgress = progress;
    since = instructions;
    interval = shortestInterval;
  }
  if (instructions - since < interval && instructions < always)
    return false;
  always = std::max(2 * instructions, shortestInterval);
  since = instructions;
  interval = std::max(2 * interval, shortestInterval);
  return true;
}

/// Gives each split a turn; false if all are blocked.
bool Standstill::runRound(Cluster &cluster, const std::vector<Warp *> &warps) {
  bool ran = false;
  for (Warp *warp : warps)
    for (size_t s = 0; s < warp->splits.size() && !cluster.stopped; ++s)
      if (canRun(cluster, warp->splits[s])) {
        ran = true;
        cluster.runSplit(*warp, s, quantum);
      }
  return ran;
}

/// Runs \p warps alone until their state comes back to a former one.
Standstill::Outcome Standstill::repeat(Cluster &cluster, const std::vector<Warp *> &warps,
                                       bool wholeCluster) {
  Watch &watch = *cluster.watch;
  watch.executed.assign(watch.executed.size(), false);
  watch.changesBlock = false;
  auto changes = [&] {
    return cluster.stopped || watch.changesOthers || !cluster.events.empty() ||
           (!wholeCluster && watch.changesBlock);
  };
  auto howItChanges = [&] {
    return cluster.stopped || watch.changesOthers || !cluster.events.empty()
               ? Outcome::Changes
               : Outcome::ChangesBlock;
  };
  for (unsigned i = 0; i < warmUpRounds; ++i) {
    if (!runRound(cluster, warps))
      return Outcome::Repeats;
    if (changes())
      return howItChanges();
  }
  Slice slice;
  uint64_t state = 0, wanted = 0, rounds = 0; // Brent's algorithm
  if (!watch.readsClock)
    watch.readsMemory = false;
  uint64_t end = cluster.instructions + maxInstructions * (wholeCluster ? warps.size() : 1);
  watch.newCode = true;
  for (unsigned i = 0; i < (wholeCluster ? maxClusterRounds : maxRounds); ++i) {
    if (watch.newCode) {
      watch.newCode = false;
      slice = sliceOf(watch.program, watch.executed);
      state = stateOf(cluster, warps, slice, wholeCluster);
      wanted = 1;
      rounds = 0;
    }
    if (!runRound(cluster, warps))
      return Outcome::Repeats;
    if (changes())
      return howItChanges();
    if (cluster.instructions > end)
      break;
    if (watch.newCode)
      continue;
    uint64_t now = stateOf(cluster, warps, slice, wholeCluster);
    if (now == state)
      return Outcome::Repeats;
    if (++rounds == wanted) {
      state = now;
      wanted *= 2;
      rounds = 0;
    }
  }
  return Outcome::Changes;
}

bool Standstill::isQuiet(Cluster &cluster, bool starved) {
  if (cluster.stopped || !cluster.events.empty())
    return false;
  cluster.watch = std::make_unique<Watch>(*cluster.grid->program, cluster.clock());
  std::vector<Warp *> all;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      if (warp->live)
        all.push_back(warp.get());
  Outcome outcome = Outcome::Repeats;
  for (size_t i = 0; i < all.size() && outcome == Outcome::Repeats; ++i)
    if (cluster.starves(*all[i]) == starved)
      outcome = repeat(cluster, {all[i]}, false);
  if (outcome == Outcome::ChangesBlock)
    outcome = repeat(cluster, all, true);
  // A wait for something else than memory.
  for (const Warp *warp : all)
    for (const Split &split : warp->splits)
      readsMemory |= split.blocked;
  readsMemory |= cluster.watch->readsMemory;
  readsClock |= cluster.watch->readsClock;
  cluster.watch.reset();
  return outcome == Outcome::Repeats;
}

bool Standstill::reached(const std::vector<Cluster *> &clusters) {
  readsMemory = false;
  for (unsigned step = 0; step <= clockSteps; ++step) {
    readsClock = false;
    // Starved warps run when no others can go on.
    for (bool starved : {false, true})
      for (Cluster *cluster : clusters)
        if (!isQuiet(*cluster, starved))
          return false;
    if (!readsClock)
      break;
    for (Cluster *cluster : clusters)
      cluster->clockAhead += uint64_t(1) << 2 * step;
  }
  return readsMemory; // otherwise they compute for ever
}

} // namespace penstock::emu
