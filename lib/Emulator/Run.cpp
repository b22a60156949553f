//===- Run.cpp - The scheduler of a cluster -------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step lets a split run for a while or lets one asynchronous event happen;
// which, is the timing's choice. All choices come from the launch's seed and
// the cluster's index, so a run can be repeated exactly.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Exec/ExecCall.h"
#include "Emulator/Profile.h"
#include "Emulator/Races/BarrierRules.h"
#include "Emulator/Races/HappensBefore.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace penstock::emu {
namespace {

/// Instructions without any effect on memory or synchronization after which a
/// cluster counts as stuck.
constexpr uint64_t maxStall = uint64_t(1) << 26;
/// Limit of pending asynchronous work.
constexpr size_t maxEvents = 4096;
/// Failed polls in a row after which a split only waits.
constexpr uint32_t idlePolls = 2;
/// The same, when nothing is in flight either: it will wait for ever.
constexpr uint32_t hopelessPolls = 2000;

} // namespace

bool Cluster::starves(const Warp &warp) const {
  return int64_t(warp.gid - firstWarp) == grid->options.starvedWarp;
}

uint64_t Cluster::random() { // splitmix64
  uint64_t z = (rng += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Exec::block(std::string waitsFor) {
  Split &s = split();
  s.blocked = true;
  s.triedAt = cluster.progress;
  s.waitsFor = std::move(waitsFor);
  advance = false;
  yield = true;
}

void Exec::pollFailed(std::string waitsFor, bool mayCompute) {
  Split &s = split();
  s.polls = s.polledAt == cluster.progress ? s.polls + 1 : 1;
  if (mayCompute)
    s.polls = std::min(s.polls, hopelessPolls - 1);
  s.polledAt = cluster.progress;
  s.pollPc = pc;
  s.waitsFor = std::move(waitsFor);
  yield = true;
}

static void addFinding(Exec &ex, unsigned code, std::string message, std::optional<Tier> tier,
                       std::string reason) {
  if (ex.grid.findings.full())
    return;
  Finding finding;
  finding.code = code;
  finding.tier = tier;
  finding.point = ex.point();
  finding.message = std::move(message);
  finding.reason = std::move(reason);
  ex.grid.findings.add(std::move(finding));
}

void Exec::report(unsigned code, std::string message, std::optional<Tier> tier) {
  addFinding(*this, code, std::move(message), tier, "");
}

void Exec::fatal(unsigned code, std::string message) {
  bool isAccess = code == EmuOutOfBounds || code == EmuMisaligned;
  addFinding(*this, code, std::move(message), {},
             isAccess ? "the run stops at this access: other blocks may have further findings, and "
                        "results are incomplete"
                      : "");
  cluster.stopped = true;
  grid.abort = true;
  advance = false;
  yield = true;
}

void Cluster::enqueue(uint64_t chain, std::string what, uint32_t pc, std::function<void()> work,
                      const AsyncWork &size) {
  uint64_t ordinal = nextOrdinal++;
  Timing timing = grid->options.timing;
  bool now =
      timing == Timing::Eager || (timing == Timing::Targeted && ordinal != grid->options.target);
  if (now && chain)
    for (auto &event : events)
      now &= event->chain != chain;
  // A kernel that issues without end must not fill the host's memory: the
  // oldest work happens now.
  if (events.size() >= maxEvents)
    runEvent(0);
  if (now) {
    work();
    if (timeline)
      timeline->completed(pc);
    ++progress;
    return;
  }
  auto event = std::make_unique<Event>();
  event->chain = chain;
  event->ordinal = ordinal;
  event->what = std::move(what);
  event->pc = pc;
  event->run = std::move(work);
  if (timing == Timing::Paced)
    pace(*event, size);
  events.push_back(std::move(event));
}

bool Cluster::runEvent(size_t index) {
  std::unique_ptr<Event> event = std::move(events[index]);
  events.erase(events.begin() + int64_t(index));
  event->run();
  if (timeline)
    timeline->completed(event->pc);
  ++progress;
  return true;
}

void Cluster::start() {
  const Program &program = *grid->program;
  rng = grid->options.seed * 0x9e3779b97f4a7c15 + index * 0x2545f4914f6cdd1du;
  random();
  number = grid->firstCluster + index;
  numWarps = grid->ctasPerCluster * grid->warpsPerCta;
  firstWarp = grid->firstWarp + index * numWarps;
  ops = &grid->state->ops[number];
  if (grid->options.timeline)
    timeline = std::make_unique<Timeline>(program);
  uint32_t across[3], at = index, origin[3];
  for (int d = 0; d < 3; ++d) {
    across[d] = grid->config.grid[d] / grid->clusterDim[d];
    origin[d] = at % across[d] * grid->clusterDim[d];
    at /= across[d];
  }
  for (uint32_t rank = 0; rank < grid->ctasPerCluster; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = this;
    cta->rank = rank;
    uint32_t in = rank;
    for (int d = 0; d < 3; ++d) {
      cta->id[d] = origin[d] + in % grid->clusterDim[d];
      in /= grid->clusterDim[d];
    }
    cta->shared.assign(grid->sharedBytes, 0xA5);
    if (grid->checks())
      cta->shadow.resize(grid->sharedBytes);
    cta->mbarrierAt.assign(grid->sharedBytes / 8 + 1, 0);
    cta->liveThreads = grid->threadsPerCta;
    if (grid->options.timing == Timing::Paced)
      cta->paced = std::make_unique<PacedSm>();
    for (uint32_t w = 0; w < grid->warpsPerCta; ++w) {
      auto warp = std::make_unique<Warp>();
      warp->cta = cta.get();
      warp->index = w;
      warp->gid = firstWarp + rank * grid->warpsPerCta + w;
      uint32_t threads = std::min(32u, grid->threadsPerCta - w * 32);
      warp->live = warp->started = threads == 32 ? 0xffffffff : (1u << threads) - 1;
      warp->rows.assign(program.rowBytes, 0);
      warp->preds.assign(program.numPreds + 1, 0);
      warp->local.assign(size_t(program.localBytes) * 32, 0);
      if (grid->checks())
        warp->view = newView();
      fillSpecialRows(*grid, *warp);
      Split split;
      split.mask = warp->live;
      warp->splits.push_back(split);
      cta->warps.push_back(std::move(warp));
      ++liveWarps;
    }
    ctas.push_back(std::move(cta));
  }
}

bool Cluster::runSplit(Warp &warp, size_t splitIndex, unsigned quantum) {
  const DInst *code = grid->program->code.data();
  uint32_t size = uint32_t(grid->program->code.size());
  std::atomic<bool> *reached = grid->reached.empty() ? nullptr : grid->reached.data();
  ExecutionProfile *profile = grid->options.profile;
  Exec ex{*grid, *this, *warp.cta, warp, splitIndex, 0, 0, nullptr, true, false};
  warp.splits[splitIndex].blocked = false;
  // A starved warp yields as soon as others may be able to go on.
  bool yields = starves(warp);
  bool pauses = grid->options.timing == Timing::Random;
  uint64_t before = progress;
  uint64_t enough = effort + 32 * uint64_t(quantum);
  for (unsigned n = 0; n < quantum && effort <= enough; ++n) {
    Split &split = warp.splits[splitIndex];
    if (split.join >= 0 && split.pc == warp.joins[size_t(split.join)].pc) {
      absorbAtJoin(warp, splitIndex);
      return true;
    }
    if (split.pc >= size)
      return true;
    const DInst &inst = code[split.pc];
    ++instructions;
    ex.pc = split.pc;
    ex.inst = &inst;
    ex.mask = split.mask;
    if (profile)
      profile->reach(ex, inst, split.mask);
    if (inst.guarded) {
      uint32_t guard = warp.preds[inst.guard];
      ex.mask &= inst.guardNegated ? ~guard : guard;
      if (!ex.mask && inst.run != runBranch) {
        ++split.pc;
        continue;
      }
    }
    if (reached)
      reached[split.pc].store(true, std::memory_order_relaxed);
    if (inst.usesClock)
      refreshClock(*grid, warp, clock());
    if (inst.checkRegisters)
      checkBusyRegisters(ex, inst);
    ex.advance = true;
    ex.yield = false;
    if (timeline)
      timeline->executes(warp.gid, ex.pc, warp.count);
    inst.run(ex, inst);
    if (ex.advance)
      ++warp.splits[splitIndex].pc;
    else if (timeline)
      timeline->blocked(ex.pc);
    if (watch)
      watch->note(ex, inst, ex.pc);
    if (profile)
      profile->note(ex, inst);
    if (pauses && inst.crossCta) {
      crossed = true;
      return true;
    }
    if (ex.yield || (yields && progress != before))
      return true;
  }
  return true;
}

bool Cluster::step() {
  if (grid->options.timing == Timing::Paced)
    return stepPaced();
  // Splits that may run: not blocked, or something has happened since.
  struct Candidate {
    Warp *warp;
    size_t split;
  };
  thread_local std::vector<Candidate> ready, starved;
  ready.clear();
  starved.clear();
  bool allPoll = true, starvedPolls = true, hopeless = true;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      for (size_t s = 0; s < warp->splits.size(); ++s) {
        Split &split = warp->splits[s];
        if (split.blocked && split.triedAt >= progress)
          continue;
        bool last = starves(*warp);
        (last ? starved : ready).push_back({warp.get(), s});
        bool polls = split.polledAt == progress && split.polls >= idlePolls;
        (last ? starvedPolls : allPoll) &= polls;
        hopeless &= polls && split.polls >= hopelessPolls;
      }
  thread_local std::vector<size_t> heads;
  heads.clear();
  Timing timing = grid->options.timing;
  if (timing == Timing::Random || allPoll) {
    for (size_t i = 0; i < events.size(); ++i) {
      bool head = true;
      if (uint64_t chain = events[i]->chain)
        for (size_t first : heads)
          head &= events[first]->chain != chain;
      if (head)
        heads.push_back(i);
      if (heads.size() >= 64)
        break;
    }
  }
  // Nothing else can go on: the starved warp's turn, beside those that poll.
  if (allPoll && heads.empty()) {
    held = grid->onlyOthers && !(ready.empty() && starved.empty());
    if (held)
      return false;
    ready.insert(ready.end(), starved.begin(), starved.end());
    allPoll = starvedPolls;
  }
  if (heads.empty() && (ready.empty() || (allPoll && hopeless && !grid->program->crossCta)))
    return false;
  if (timing == Timing::Random) {
    size_t total = ready.size() + heads.size();
    size_t pick = random() % total;
    if (pick >= ready.size())
      return runEvent(heads[pick - ready.size()]);
    unsigned quantum = 1 + unsigned(random() % 96);
    return runSplit(*ready[pick].warp, ready[pick].split, quantum);
  }
  if (!ready.empty() && (!allPoll || heads.empty())) {
    // Lazy: from the last to the first, so that each pair runs in both orders.
    size_t at = cursor++ % ready.size();
    Candidate &next = ready[timing == Timing::Lazy ? ready.size() - 1 - at : at];
    return runSplit(*next.warp, next.split, 1024);
  }
  return runEvent(heads[0]);
}

bool Cluster::awaitsGrid() const {
  if (!grid->previous || grid->previous->ended)
    return false;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      for (const Split &split : warp->splits)
        if (split.blocked && grid->program->code[split.pc].run == runWaitForPrevious)
          return true;
  return false;
}

void Cluster::run(bool slice) {
  // When a starved warp may run, other warps are tried again after each step.
  unsigned steps = 0, sliceSteps = grid->options.starvedWarp < 0 || grid->onlyOthers ? 64 : 1;
  // A dependent grid starts as early as it may, ahead of what follows the trigger.
  if (grid->hasDependent && grid->triggered < grid->numBlocks())
    sliceSteps = 1;
  Standstill standstill;
  bool alone = !slice && grid->numClusters == 1 && grid->options.timing != Timing::Paced;
  uint64_t chargeAt = std::min<uint64_t>(100000, grid->options.maxInstructions / 4);
  while (!stopped && !grid->abort.load(std::memory_order_relaxed)) {
    if (liveWarps == 0 && events.empty()) {
      finish();
      break;
    }
    if (!step()) {
      if (held || awaitsGrid())
        return;
      reportDeadlock({this}, "no thread can run and nothing is in flight that could wake one");
      break;
    }
    if (alone && standstill.due(instructions, progress) && standstill.reached({this})) {
      reportDeadlock({this}, noMoreWrites);
      break;
    }
    if (progress != lastProgress) {
      lastProgress = progress;
      stalledSince = instructions;
    }
    if (uint64_t fresh = spent() - charged; fresh > chargeAt) {
      uint64_t all = grid->spent.fetch_add(fresh) + fresh;
      charged += fresh;
      if (all > grid->options.maxInstructions || instructions - stalledSince > maxStall) {
        reportStall();
        stopped = true;
        grid->abort = true;
      }
    }
    if (slice && ++steps >= sliceSteps)
      return;
    // Others may run between two atomics of a thread.
    if (slice && std::exchange(crossed, false) && random() % 2)
      return;
  }
  grid->instructions += instructions - counted;
  grid->spent += spent() - charged;
  counted = instructions;
  charged = spent();
  finished = true;
}

/// The end of a cluster: what was left behind.
void Cluster::finish() {
  if (finished)
    return;
  finished = true;
  if (index == grid->tracedCluster && grid->options.onTotals)
    reportTotals();
  if (index == grid->tracedCluster && grid->options.onTrace)
    for (auto &cta : ctas)
      for (auto &warp : cta->warps)
        reportWork(*warp);
  if (stopped || !grid->checks())
    return;
  for (auto &cta : ctas)
    checkAtExit(*grid, *this, *cta);
}

} // namespace penstock::emu
