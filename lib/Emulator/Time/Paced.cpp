//===- Paced.cpp - A run on a clock ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each block has an SM to itself. A warp issues in order, into the slots of its
// quarter of the SM; instructions occupy units, asynchronous operations engines, and
// whoever finds them taken waits. Registers that a load writes, barriers and groups
// delay those that need them. What comes first on the clock happens first.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Machine.h"
#include "PTX/InstructionTable.h"

#include <algorithm>
#include <cmath>

namespace penstock::emu {
namespace {

TraceEvent traceOf(const Grid &grid, TraceEvent::Kind kind, const Warp &warp, uint32_t pc,
                   double start, double end) {
  TraceEvent event;
  event.kind = kind;
  event.block = warp.cta->rank;
  event.warp = warp.index;
  event.instruction = pc;
  if (const ptx::Instruction *inst = grid.program->code[pc].source) {
    event.ptxLine = inst->line;
    event.sourceLine = inst->loc.line;
  }
  event.start = uint64_t(std::llround(start));
  event.end = uint64_t(std::llround(end));
  return event;
}

/// Polls without success after which a split only waits.
constexpr uint32_t idlePolls = 2;
/// Cycles between two instructions of a warp that still count as one piece of work; a longer
/// delay by an operand is a wait.
constexpr double workGap = 48;

/// Returns whether the split waits and no event has occurred since its last poll.
bool isIdle(const Split &split, uint64_t progress) {
  return (split.blocked && split.triedAt >= progress) ||
         (split.polls >= idlePolls && split.polledAt == progress);
}

} // namespace

PacedTotals PacedSm::totals(double cycles) const {
  PacedTotals totals;
  totals.cycles = cycles;
  for (uint32_t quarter = 0; quarter < quarters; ++quarter) {
    totals.issue = std::max(totals.issue, issue[quarter].used);
    for (unsigned unit = 0; unit < unsigned(Unit::Count); ++unit)
      totals.units[unit] = std::max(totals.units[unit], units[quarter][unit].used);
  }
  totals.tensor = tensor.used;
  totals.tma = tma.used;
  totals.copied = copied;
  totals.multiplyAdds = multiplyAdds;
  return totals;
}

void Cluster::reportTotals() const {
  for (const auto &cta : ctas) {
    PacedTotals totals = cta->paced->totals(now);
    totals.tensorColumns = cta->tensor ? cta->tensor->mostColumns : 0;
    grid->options.onTotals(totals);
  }
}

void Cluster::observePhase(Warp &warp, const Mbarrier &barrier) const {
  // The phase before the first is over from the start.
  if (grid->options.timing == Timing::Paced && barrier.phase)
    warp.clock = std::max(warp.clock, barrier.completedAt + grid->options.pace->barrierCycles);
}

void Cluster::traceProbe(const Warp &warp, uint32_t pc, bool succeeded) const {
  if (!grid->options.onTrace || index != grid->tracedCluster)
    return;
  // A loop that waits branches back right after the test.
  const std::vector<DInst> &code = grid->program->code;
  if (pc + 1 < code.size() && code[pc + 1].source && code[pc + 1].source->form->name == "bra")
    return;
  TraceEvent event = traceOf(*grid, TraceEvent::Probe, warp, pc, now, now);
  event.succeeded = succeeded;
  grid->options.onTrace(event);
}

void Cluster::traceShared(const Cta &cta, uint64_t offset, uint32_t pc, bool isWrite,
                          bool isAsync) const {
  if (!grid->options.onSlotAccess || index != grid->tracedCluster || !running)
    return;
  // Other tiles may share the memory of a ring. Barriers have slots of 8 bytes.
  auto holds = [&](const Symbol &symbol) {
    uint64_t first = uint64_t(grid->dynamicBase) + symbol.first;
    return symbol.kind == Symbol::Shared && symbol.slot > 8 && offset >= first &&
           offset - first < symbol.size;
  };
  auto ring = std::ranges::find_if(grid->config.symbols, holds);
  if (ring == grid->config.symbols.end())
    return;
  SlotAccess access;
  access.block = cta.rank;
  access.tile = ring->name;
  access.slot = (offset - grid->dynamicBase - ring->first) / ring->slot;
  access.isWrite = isWrite;
  access.isAsync = isAsync;
  access.issuerBlock = running->cta->rank;
  access.issuerWarp = running->index;
  if (const ptx::Instruction *inst = grid->program->code[pc].source)
    access.ptxLine = inst->line;
  access.time = uint64_t(std::llround(now));
  grid->options.onSlotAccess(access);
}

/// An instruction was issued at \p start, and its warp goes on at its clock.
void Cluster::traceIssue(Warp &warp, uint32_t pc, double start) const {
  if (grid->instructionTimes.size() <= pc || !grid->instructionTimes[pc].issue)
    return;
  TraceEvent event = traceOf(*grid, TraceEvent::Work, warp, pc, start, warp.clock);
  event.special = grid->instructionTimes[pc].unit == Unit::Special;
  TraceEvent &work = warp.work;
  if (work.end && work.sourceLine == event.sourceLine &&
      double(event.start) <= double(work.end) + workGap) {
    work.end = std::max(work.end, event.end);
    work.special |= event.special;
    return;
  }
  reportWork(warp);
  work = event;
}

void Cluster::reportWork(Warp &warp) const {
  if (warp.work.end)
    grid->options.onTrace(warp.work);
  warp.work = {};
}

void Cluster::pace(Event &event, const AsyncWork &work) {
  using Engine = AsyncWork::Engine;
  const Pace &pace = *grid->options.pace;
  AsyncTimes times = pace.times(work);
  PacedSm &sm = *running->cta->paced;
  double start = now;
  event.engine = work.engine;
  event.follows = work.follows;
  event.issuer = running;
  switch (work.engine) {
  case Engine::None:
  case Engine::ThreadLoad: // the instruction has occupied the path to memory
  case Engine::StoreEnd:
    event.due = event.busyUntil = start + times.latency;
    break;
  case Engine::Load:
    if (!work.repeated) {
      sm.lastLoad = sm.tma.take(start, times.busy);
      sm.copied += double(work.bytes);
    }
    start = sm.lastLoad;
    running->clock = std::max(running->clock, now + (work.repeated ? 0 : pace.copyIssue));
    event.busyUntil = start + times.busy;
    // Copies to one barrier are one load: their bytes arrive behind one latency.
    event.due = std::max(start + times.latency, sm.arrivals[work.barrier]) + times.transfer;
    sm.arrivals[work.barrier] = event.due;
    break;
  case Engine::Store:
    sm.copied += double(work.bytes);
    start = sm.tma.take(start, times.busy);
    event.busyUntil = start + times.busy;
    event.due = start + times.latency;
    break;
  case Engine::Product: {
    PacedSm *peer = work.blocks == 2 ? ctas[running->cta->rank ^ 1]->paced.get() : nullptr;
    if (peer)
      start = std::max(start, peer->tensor.free);
    start = sm.tensor.take(start, times.busy);
    sm.multiplyAdds += work.multiplyAdds;
    if (peer) {
      peer->tensor.take(start, times.busy);
      peer->multiplyAdds += work.multiplyAdds;
    }
    event.busyUntil = start + times.busy;
    event.due = event.busyUntil + times.latency;
    // Issue blocks while more products are under way than the queue holds.
    std::deque<double> &queued = sm.products[event.chain];
    while (!queued.empty() && queued.front() <= now)
      queued.pop_front();
    queued.push_back(start);
    running->clock = std::max(running->clock, now + pace.productIssue);
    if (double(queued.size()) > pace.productQueue)
      running->clock =
          std::max(running->clock, queued[queued.size() - 1 - size_t(pace.productQueue)]);
    break;
  }
  }
  event.issued = start;
  // Operations of one chain end in order, and a commit begins behind what it commits.
  for (const auto &other : events)
    if (event.chain && other->chain == event.chain) {
      double behind = work.engine == Engine::StoreEnd ? times.latency : 0;
      event.due = std::max(event.due, other->due + behind);
      if (work.engine == Engine::None)
        event.issued = std::max(event.issued, other->busyUntil);
    }
}

/// Returns the time at which the registers of an instruction have arrived.
double Cluster::operandsAt(const Warp &warp, uint32_t pc) const {
  double at = 0;
  if (warp.loadedAt.empty())
    return at;
  const DInst &inst = grid->program->code[pc];
  for (unsigned i = 0; i < inst.numOps; ++i)
    if (inst.ops[i].kind == Opnd::Kind::Row)
      if (auto found = warp.loadedAt.find(inst.ops[i].at); found != warp.loadedAt.end())
        at = std::max(at, found->second);
  return at;
}

/// Returns the time at which the next instruction of a split can be issued.
double Cluster::earliest(const Warp &warp, const Split &split) const {
  PacedSm &sm = *warp.cta->paced;
  double start = std::max(warp.clock, sm.issue[warp.index % PacedSm::quarters].free);
  if (split.pc >= grid->instructionTimes.size())
    return start;
  const InstructionTimes &times = grid->instructionTimes[split.pc];
  if (times.unit != Unit::None)
    start = std::max(start, sm.unit(warp.index, times.unit).free);
  if (times.blocking && times.tensorMemory)
    start = std::max(start, warp.tensorAt);
  return std::max(start, operandsAt(warp, split.pc));
}

/// An instruction was issued at \p start, and has been executed.
void Cluster::charge(Warp &warp, uint32_t pc, double start) {
  if (pc >= grid->instructionTimes.size())
    return;
  const InstructionTimes &times = grid->instructionTimes[pc];
  PacedSm &sm = *warp.cta->paced;
  sm.issue[warp.index % PacedSm::quarters].take(start, times.issue);
  double next = start + times.issue / grid->options.pace->warpIssue;
  if (times.unit != Unit::None)
    sm.unit(warp.index, times.unit).take(start, times.busy);
  if (times.blocking)
    next = std::max(next, start + times.latency);
  else if (times.tensorMemory)
    warp.tensorAt = std::max(warp.tensorAt, start + times.latency);
  else if (times.latency > 0) {
    // The operands of loads are an address, and the registers that they write.
    const DInst &inst = grid->program->code[pc];
    std::erase_if(warp.loadedAt, [&](const auto &entry) { return entry.second <= start; });
    for (unsigned i = 1; i < inst.numOps; ++i)
      if (inst.ops[i].kind == Opnd::Kind::Row)
        warp.loadedAt[inst.ops[i].at] = start + times.latency;
  }
  warp.clock = std::max(warp.clock, next);
}

bool Cluster::stepPaced() {
  Warp *warp = nullptr;
  size_t chosen = 0;
  double start = 0;
  for (auto &cta : ctas)
    for (auto &candidate : cta->warps)
      for (size_t s = 0; s < candidate->splits.size(); ++s) {
        const Split &split = candidate->splits[s];
        if (isIdle(split, progress))
          continue;
        double at = earliest(*candidate, split);
        if (!warp || at < start) {
          warp = candidate.get();
          chosen = s;
          start = at;
        }
      }
  auto first = std::min_element(events.begin(), events.end(),
                                [](auto &a, auto &b) { return a->due < b->due; });
  bool traced = index == grid->tracedCluster && grid->options.onTrace;
  if (first != events.end() && (!warp || (*first)->due <= start)) {
    const Event &event = **first;
    now = std::max(now, event.due);
    running = event.issuer;
    if (traced && event.issuer) {
      TraceEvent trace =
          traceOf(*grid, TraceEvent::Operation, *event.issuer, event.pc, event.issued, event.due);
      trace.what = event.what;
      trace.engine = event.engine;
      trace.busyUntil = uint64_t(std::llround(event.busyUntil));
      grid->options.onTrace(trace);
    }
    lastProgressBy = event.engine == AsyncWork::Engine::None ? event.follows : event.engine;
    return runEvent(size_t(first - events.begin()));
  }
  if (!warp)
    return false;
  uint32_t pc = warp->splits[chosen].pc;
  if (double loaded = operandsAt(*warp, pc); traced && loaded > warp->clock + workGap) {
    TraceEvent trace = traceOf(*grid, TraceEvent::Wait, *warp, pc, warp->clock, loaded);
    trace.what = "a register that a load writes";
    trace.engine = AsyncWork::Engine::ThreadLoad;
    grid->options.onTrace(trace);
  }
  bool waited = warp->splits[chosen].waitPc == pc;
  double since = warp->splits[chosen].waitSince;
  // A waiter continues at the time of the event that it waited for.
  if (waited || warp->splits[chosen].polls)
    start = std::max(start, now);
  now = std::max(now, start);
  warp->clock = start;
  running = warp;
  size_t splits = warp->splits.size();
  uint64_t before = progress;
  AsyncWork::Engine endedBy = lastProgressBy;
  runSplit(*warp, chosen, 1);
  if (progress != before)
    lastProgressBy = AsyncWork::Engine::None;
  bool parted = warp->splits.size() != splits; // lanes parted, met or left
  if (parted || !warp->splits[chosen].blocked)
    charge(*warp, pc, start);
  if (traced && (parted || !warp->splits[chosen].blocked))
    traceIssue(*warp, pc, start);
  if (parted)
    return true;
  Split &split = warp->splits[chosen];
  if (split.blocked && !waited) {
    split.waitPc = pc;
    split.waitSince = now;
  }
  if (split.blocked || !waited)
    return true;
  split.waitPc = noPc;
  if (traced) {
    TraceEvent trace = traceOf(*grid, TraceEvent::Wait, *warp, pc, since, now);
    trace.what = split.waitsFor;
    trace.engine = endedBy;
    grid->options.onTrace(trace);
  }
  return true;
}

} // namespace penstock::emu
