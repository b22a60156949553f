//===- Conflict.cpp - Reporting accesses that race ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Conflict.h"
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/Unreleased.h"

#include <algorithm>
#include <tuple>

namespace penstock::emu {

const Grid &gridOf(const Grid &own, const AccessRecord &record) {
  if (!own.has(record.cluster))
    for (const Grid *grid : own.state->grids)
      if (grid->has(record.cluster))
        return *grid;
  return own;
}

Position positionOf(const Grid &own, const AccessRecord &record) {
  uint32_t warp = record.flags & AccessRecord::Engine
                      ? own.state->op(record.cluster, record.agent).warp
                      : record.agent;
  return {gridOf(own, record).blockOf(warp), record.cluster};
}

namespace {

ExecutionPoint pointOf(const Grid &grid, uint32_t gid, uint32_t lane, uint32_t pc) {
  ExecutionPoint point;
  point.pc = pc;
  uint32_t cta = (gid - grid.firstWarp) / grid.warpsPerCta; // in order of clusters
  uint32_t cluster = cta / grid.ctasPerCluster;
  uint32_t rank = cta % grid.ctasPerCluster;
  uint32_t across[3], index = cluster;
  for (int d = 0; d < 3; ++d) {
    across[d] = grid.config.grid[d] / grid.clusterDim[d];
    uint32_t at = index % across[d];
    index /= across[d];
    uint32_t in = rank % grid.clusterDim[d];
    rank /= grid.clusterDim[d];
    (d == 0 ? point.x : d == 1 ? point.y : point.z) = at * grid.clusterDim[d] + in;
  }
  point.warp = gid % grid.warpsPerCta;
  point.lane = lane;
  return point;
}

/// Steps from an earlier access of this cluster to that of ex's warp.
std::vector<TimelineStep> timelineSince(const Exec &ex, const AccessRecord &record,
                                        const AsyncOp *op) {
  const Timeline *timeline = ex.cluster.timeline.get();
  if (!timeline || record.cluster != ex.cluster.number)
    return {};
  std::optional<uint64_t> first =
      op ? op->step : timeline->find(record.agent, record.pc, record.count);
  if (!first)
    return {};
  return timeline->between(*first, op ? op->warp : record.agent,
                           {TimelineStep::Executed, true, ex.warp.gid, ex.pc});
}

/// Returns the release that ex's thread would have synchronized with to be ordered after \p record,
/// if a scope had not been too narrow; null if there is none.
const MissedRelease *missedRelease(const Exec &ex, unsigned lane, const AccessRecord &record) {
  const std::vector<MissedRelease> &missed = ex.warp.lanes[lane].missed;
  auto found = std::find_if(missed.rbegin(), missed.rend(), [&](const MissedRelease &miss) {
    return !(record.flags & AccessRecord::Engine) && miss.release.warp == record.agent &&
           record.lanes >> miss.release.lane & 1 && miss.release.count >= record.count;
  });
  return found == missed.rend() ? nullptr : &*found;
}

const char *scopeName(Scope scope) {
  return scope == Scope::Block ? ".cta" : scope == Scope::Cluster ? ".cluster" : ".gpu";
}

/// "another block of its cluster; use .cluster, .gpu or .sys".
std::string neededText(const Grid &grid, Scope needed) {
  if (needed == Scope::Cluster)
    return "another block of its cluster; use .cluster, .gpu or .sys";
  return std::string(grid.ctasPerCluster > 1 ? "another cluster" : "another block") +
         "; use .gpu or .sys";
}

/// Explains which scope of two strong accesses does not include the other thread.
std::string narrowText(const Exec &ex, const AccessRecord &record, const AccessRecord &access) {
  Scope needed = scopeBetween(positionOf(ex), positionOf(ex.grid, record));
  bool first = record.scope < needed, second = access.scope < needed;
  std::string scopes = first && second && record.scope != access.scope
                           ? std::string("the scopes ") + scopeName(access.scope) + " and " +
                                 scopeName(record.scope) + " are"
                           : std::string("the scope ") +
                                 scopeName(second ? access.scope : record.scope) +
                                 (first && second ? " of both is"
                                  : second        ? " of the later access is"
                                                  : " of the earlier access is");
  return "nothing orders them, and they are not atomic to each other: " + scopes +
         " too narrow, the other thread is in " + neededText(ex.grid, needed);
}

/// Clusters run on several host threads, so that either access may come first. The order of the
/// report must not depend on that: reads come before writes, then by PTX line, then later blocks.
void sortSides(Finding &finding) {
  auto rank = [&](size_t which) {
    const ExecutionPoint &at = which ? *finding.other : finding.point;
    return std::tuple((*finding.sides)[which].write, at.pc, ~at.z, ~at.y, ~at.x);
  };
  if (rank(1) < rank(0)) {
    std::swap(finding.point, *finding.other);
    std::swap((*finding.sides)[0], (*finding.sides)[1]);
  }
}

/// Returns the load of a race between threads of a block if its value may be unused, and enters the
/// lanes that have executed it.
std::optional<uint32_t> enterUnusedLoad(Exec &ex, unsigned lane, const AccessRecord &record,
                                        const AccessRecord &access) {
  Position own = positionOf(ex), other = positionOf(ex.grid, record);
  uint32_t first = ex.warp.gid - ex.warp.index;
  if (record.isWrite() == access.isWrite() || own.block != other.block || record.agent < first ||
      record.agent - first >= ex.cta.warps.size())
    return {};
  bool laterLoads = record.isWrite();
  uint32_t load = laterLoads ? access.pc : record.pc, store = laterLoads ? record.pc : access.pc;
  if (!ex.grid.findings.unusedReads.onlyStored(*ex.grid.program, load, store))
    return {};
  uint32_t lanes = 1u << lane;
  if (!laterLoads) {
    lanes = 0;
    const Clock &seen = ex.view(lane).seen;
    forLanes(record.lanes, [&](unsigned each) {
      bool self = record.agent == ex.warp.gid && each == lane;
      if (!self && seen.warp(record.agent) < record.count &&
          seen.lane(record.agent, each) < record.count)
        lanes |= 1u << each;
    });
  }
  ex.cta.warps[record.agent == ex.warp.gid || laterLoads ? ex.warp.index : record.agent - first]
      ->racedLoads[load] |= lanes;
  return load;
}

} // namespace

void reportConflict(Exec &ex, unsigned lane, const AsyncOp *engine, const AccessRecord &record,
                    const AccessRecord &access, Ordered how, MemoryPart memory) {
  bool write = access.isWrite();
  bool byEngine = record.flags & AccessRecord::Engine;
  const Grid &otherGrid = gridOf(ex.grid, record);
  bool acrossGrids = &otherGrid != &ex.grid;
  const AsyncOp *op = byEngine ? &ex.grid.state->op(record.cluster, record.agent) : nullptr;
  Finding finding;
  finding.code = acrossGrids                 ? EmuGridRace
                 : how == Ordered::NoFence   ? EmuMissingProxyFence
                 : how == Ordered::SameValue ? EmuSameValue
                                             : EmuDataRace;
  // Both writes reach memory, and the second is what stays on hardware of today.
  if ((how == Ordered::NoFence && write) || how == Ordered::InFact || how == Ordered::OneLane ||
      how == Ordered::AfterExit || how == Ordered::OtherProxy || how == Ordered::Rounded)
    finding.tier = Tier::Undefined;
  bool unfencedRead = how == Ordered::NoFence && !record.isWrite();
  finding.point = ex.point();
  finding.point.lane = lane;
  finding.other =
      op ? pointOf(otherGrid, op->warp, op->lane, op->pc)
         : pointOf(otherGrid, record.agent, unsigned(__builtin_ctz(record.lanes)), record.pc);
  if (acrossGrids)
    finding.otherProgram = otherGrid.program;
  finding.memory = std::move(memory);
  finding.sides = {
      {{engine ? engine->what : nullptr, write}, {op ? op->what : nullptr, record.isWrite()}}};
  if (!engine && !op && (how == Ordered::No || how == Ordered::SameValue) &&
      record.cluster != positionOf(ex).cluster)
    sortSides(finding);
  if (!engine && !op && how == Ordered::No)
    finding.unusedLoad = enterUnusedLoad(ex, lane, record, access);
  // A loop may run into the same conflict millions of times.
  if (ex.grid.findings.count(finding))
    return;
  finding.timeline = timelineSince(ex, record, op);
  finding.firstWarp = ex.cluster.firstWarp;
  if (acrossGrids) {
    finding.message = "kernel `" + demangled(ex.grid.program->kernel->name) +
                      "` overlaps kernel `" + demangled(otherGrid.program->kernel->name) + "` on ";
    bool isLater = otherGrid.firstCluster < ex.grid.firstCluster;
    finding.reason = "griddepcontrol.wait is missing between the start of kernel `" +
                     demangled((isLater ? ex.grid : otherGrid).program->kernel->name) +
                     "` and its access: it may start before the previous kernel has ended";
    ex.grid.findings.add(std::move(finding));
    return;
  }
  finding.message = how == Ordered::NoFence     ? "missing proxy fence on "
                    : how == Ordered::SameValue ? "unordered writes of the same value to "
                                                : "data race on ";
  if (how == Ordered::NoFence)
    finding.reason = op ? "a fence.proxy.async is missing between the copy, which works through "
                          "the generic proxy, and this access through the async proxy"
                        : "a fence.proxy.async is missing between the " +
                              std::string(unfencedRead ? "read" : "write") +
                              " through the generic proxy and this access through the async proxy";
  else if (how == Ordered::OtherProxy)
    finding.reason = "nothing orders them: accesses through the generic proxy and reductions "
                     "through the async proxy are not atomic to each other";
  else if (how == Ordered::Rounded)
    finding.reason = "nothing orders them, and the values differ by rounding: the last bits of "
                     "results depend on which thread stores last";
  else if (how == Ordered::NarrowScope)
    finding.reason = narrowText(ex, record, access);
  else if (how == Ordered::AfterExit)
    finding.reason = "threads that have waited for the first access exited before a barrier for "
                     "which the second one has waited; an exit orders no memory";
  else if (how == Ordered::OneLane)
    finding.reason = "one lane releases what all lanes of its warp have accessed by one "
                     "instruction, which is over on hardware; but nothing orders the accesses of "
                     "the other lanes, as bar.warp.sync does";
  else if (how == Ordered::InFact)
    finding.reason = op ? "its registers have been used, so that the load is over on hardware, but "
                          "no tcgen05.wait::ld makes that known"
                        : "the lanes of the warp that read it have met at a collective "
                          "instruction, which orders no memory; bar.warp.sync does";
  else if (op)
    finding.reason = op->agent[0] || op->readAgent
                         ? "nothing orders them: the second access has not waited for the "
                           "completion of the first"
                         : "nothing orders them: the first access had not completed, and no thread "
                           "can have waited for it";
  else
    finding.reason = "nothing orders them: no barrier, mbarrier or release and acquire leads from "
                     "the first to the second";
  if (const MissedRelease *miss = how == Ordered::No ? missedRelease(ex, lane, record) : nullptr) {
    std::string side = miss->byAcquire ? "acquire" : "release";
    uint32_t warp = miss->byAcquire ? ex.warp.gid : miss->release.warp;
    finding.reason = "the scope " + std::string(scopeName(miss->scope)) + " of the " + side +
                     " between them is too narrow: the other thread is in " +
                     neededText(ex.grid, miss->needed);
    finding.others.emplace_back(pointOf(ex.grid, warp, lane, miss->pc),
                                side + " of scope " + scopeName(miss->scope));
  } else if (auto relaxed = how == Ordered::No ? relaxedBetween(ex, lane, record) : std::nullopt) {
    const ptx::Instruction *inst = ex.grid.program->code[relaxed->pc].source;
    std::string name = inst ? "`" + inst->opcode + "`" : "an instruction";
    finding.reason =
        relaxed->isRead
            ? "the acquire between them is missing: " + name +
                  " reads what the other thread has released, but acquires nothing; use .acquire"
            : "the release between them is missing: " + name +
                  " writes what the other thread reads before its access, but releases nothing; "
                  "use .release";
    finding.others.emplace_back(pointOf(ex.grid, relaxed->warp, relaxed->lane, relaxed->pc),
                                relaxed->isRead ? "acquires nothing" : "releases nothing");
  }
  ex.grid.findings.add(std::move(finding));
}

} // namespace penstock::emu
