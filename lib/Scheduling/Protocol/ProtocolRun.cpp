//===- ProtocolRun.cpp - One run that stands for all ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One run is followed, and three conditions on its happens-before order decide
// whether it stands for all others. An event happens before another by the order
// of a role's steps, from the issue of a copy or commit to its end, along an
// engine that keeps order, at a sync, and from all arrivals in a phase to the
// waits that returned for it. A phase is over for an event if all arrivals in it
// happen before the event. For each barrier:
//
//   (A) an arrival in phase n happens after phase n - 1 is over;
//   (B) a wait for phase m begins after phase m - 1 is over;
//   (C) a wait for phase m happens before some arrival in phase m + 1, if that
//       phase is ever over.
//
// If the run takes all steps and the conditions hold, every other run is another
// linear order of the same events, with the same phases. By induction over its
// length: let its events so far be closed under happens-before, in the same
// phases, and let e be its next event. If e is an arrival in phase n, its
// predecessors are steps of its own role or engine; by (A) phase n - 1 is over
// among them, and phase n is not, for want of e: e counts in phase n. If e is a
// wait for phase m, by (B) at least m phases are over, and by (C) at most m + 1;
// the wait sees the parity of their number, so it returns exactly if phase m is
// over, and all of its predecessors have happened. Other events wait for nothing
// but their predecessors. Nor can a run stop early: of the events that are
// missing, one has no missing predecessor, and by the same argument it can happen.
// So no run ends in a deadlock, none has more arrivals in a phase than this one,
// and two accesses can meet in some run exactly if they are unordered in this one.
//
// Where a condition fails nothing is known yet, and the search decides.
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/ProtocolRun.h"

#include <algorithm>
#include <random>

namespace penstock::sched {
namespace {

using Step = ProtocolStep;
using Kind = ProtocolStep::Kind;

class Run : public ProtocolWatcher {
public:
  Run(const ProtocolNumbers &numbers, ProtocolTiming timing)
      : numbers(numbers), timing(timing), machine(numbers, *this),
        phases(numbers.protocol.barriers.size()), touched(numbers.protocol.tiles.size()),
        random(timing.seed), speeds(uint32_t(random())),
        result{ProtocolFindings(numbers), false, std::nullopt} {}

  ProtocolRunResult run();

  void access(const ProtocolState &, StepRef step, const uint32_t *clock) override;
  void overflow(StepRef step, int64_t room) override {
    result.findings.overflow(step, room);
    result.stopped = true;
  }
  void arrival(unsigned barrier, int64_t phase, StepRef step, const uint32_t *clock) override;
  void completion(unsigned barrier) override;
  void wait(unsigned barrier, int64_t phase, StepRef step, const uint32_t *before) override;

private:
  struct Waiting {
    StepRef step;
    bool held = false; ///< an arrival in the next phase comes after it
  };
  struct Phases {
    int64_t over = 0;
    /// Arrivals in the phase that is open, in the last one and in the one before.
    std::vector<StepRef> open, last, beforeLast;
    std::vector<Waiting> waits; ///< for the last one
  };
  struct Touched {
    StepRef step;
    ProtocolAccess access;
  };

  void doubt(PhaseDoubt::Kind kind, unsigned barrier, StepRef step, StepRef other) {
    if (!result.doubt)
      result.doubt = {kind, barrier, step, other};
  }
  /// The first of the arrivals that the clock does not know.
  const StepRef *unknown(const std::vector<StepRef> &arrivals, const uint32_t *clock) const {
    for (const StepRef &arrival : arrivals)
      if (!numbers.of(arrival).arrived.knownTo(clock))
        return &arrival;
    return nullptr;
  }
  /// Returns whether accesses ordered after the second are also ordered after the first.
  bool replaces(const Touched &second, const Touched &first) const;
  bool advanceRoles();
  /// Something that is possible, by chance; some roles and engines are slow.
  bool advanceAny();
  bool completeOne();
  void checkEnd();

  const ProtocolNumbers &numbers;
  ProtocolTiming timing;
  ProtocolMachine machine;
  ProtocolState state;
  std::vector<Phases> phases;
  std::vector<std::vector<Touched>> touched; ///< by tile
  std::vector<StepRef> copies;
  std::minstd_rand random;
  uint32_t speeds; ///< of roles and engines, two bits each
  ProtocolRunResult result;
};

void Run::arrival(unsigned barrier, int64_t phase, StepRef step, const uint32_t *clock) {
  Phases &of = phases[barrier];
  if (phase > 0)
    if (const StepRef *other = unknown(of.last, clock))
      doubt(PhaseDoubt::Kind::EarlyArrival, barrier, step, *other);
  for (Waiting &waiting : of.waits)
    waiting.held |= numbers.taken(waiting.step).knownTo(clock);
  of.open.push_back(step);
}

void Run::completion(unsigned barrier) {
  Phases &of = phases[barrier];
  for (const Waiting &waiting : of.waits)
    if (!waiting.held)
      doubt(PhaseDoubt::Kind::MissedPhase, barrier, waiting.step, of.open.back());
  ++of.over;
  of.waits.clear();
  std::swap(of.beforeLast, of.last);
  std::swap(of.last, of.open);
  of.open.clear();
}

void Run::wait(unsigned barrier, int64_t phase, StepRef step, const uint32_t *before) {
  Phases &of = phases[barrier];
  if (numbers.step(step).own) {
    // It knows its phase; what it learns is that of the last one.
    if (phase + 1 < of.over)
      doubt(PhaseDoubt::Kind::MissedPhase, barrier, step, of.last.back());
  } else if (phase > 0) {
    if (const StepRef *other = unknown(of.beforeLast, before))
      doubt(PhaseDoubt::Kind::EarlyWait, barrier, step, *other);
  }
  of.waits.push_back({step});
}

bool Run::replaces(const Touched &second, const Touched &first) const {
  const Step &a = numbers.step(first.step), &b = numbers.step(second.step);
  if (first.step.role != second.step.role || a.kind != b.kind ||
      first.access.write != second.access.write || first.access.maybe != second.access.maybe ||
      first.access.scope != second.access.scope || first.access.box != second.access.box)
    return false;
  switch (a.kind) {
  case Kind::Touch:
    return true;
  case Kind::Start:
    return a.queue == b.queue; // groups are awaited in order
  default:
    // Two copies into one place have been found to be in order.
    return first.access.write;
  }
}

void Run::access(const ProtocolState &, StepRef step, const uint32_t *clock) {
  if (numbers.step(step).kind == Kind::Copy)
    copies.push_back(step);
  for (const ProtocolAccess &access : numbers.step(step).accesses) {
    Touched now{step, access};
    std::vector<Touched> &list = touched[access.box.tile];
    bool written = access.write || access.maybe || numbers.mayBeWritten(access.box.tile, step.role);
    // Among several accesses, a pending read is reported before an earlier write.
    const Touched *unordered = nullptr;
    Touched *replaced = nullptr;
    for (Touched &old : list) {
      if (old.access.write && (old.access.maybe || old.access.box.overlaps(access.box)))
        written = true;
      if (conflict(numbers, old.step, old.access, step, access) &&
          !numbers.of(old.step).over.knownTo(numbers.clockFor(old.step, access, clock)) &&
          (!unordered || (unordered->access.write && !old.access.write)))
        unordered = &old;
      if (replaces(now, old))
        replaced = &old;
    }
    if (unordered)
      result.findings.unordered(unordered->step, unordered->access, step, access,
                                numbers.of(unordered->step).over.knownTo(clock));
    if (!written)
      result.findings.uninitialized(step, access);
    if (replaced)
      *replaced = now;
    else
      list.push_back(now);
  }
}

bool Run::completeOne() {
  if (result.stopped || !machine.flying(state))
    return false;
  // The first to be issued by its role is always allowed to end.
  machine.complete(state, 0);
  return true;
}

bool Run::advanceRoles() {
  bool moved = false;
  auto count = unsigned(numbers.protocol.roles.size());
  for (unsigned i = 0; i < count; ++i) {
    unsigned role = timing.order == ProtocolTiming::Order::LastRolesFirst ? count - 1 - i : i;
    while (!result.stopped && machine.canStep(state, role)) {
      machine.step(state, role);
      moved = true;
      while (!timing.lateEngines && completeOne())
        ;
      if (timing.order == ProtocolTiming::Order::InTurn)
        break;
    }
  }
  return moved;
}

bool Run::advanceAny() {
  if (result.stopped)
    return false;
  auto roles = unsigned(numbers.protocol.roles.size());
  auto speed = [&](unsigned who) { return 1 + (speeds >> (2 * (who % 16)) & 3) * 5; };
  uint64_t all = 0;
  std::vector<std::pair<uint64_t, unsigned>> possible; // up to which number, who
  for (unsigned role = 0; role < roles; ++role)
    if (machine.canStep(state, role))
      possible.emplace_back(all += speed(role), role);
  for (unsigned i = 0; i < machine.flying(state); ++i)
    if (machine.canComplete(state, i))
      possible.emplace_back(all += speed(roles + machine.flyingStep(state, i).role), roles + i);
  if (possible.empty())
    return false;
  uint64_t at = random() % all;
  unsigned who = std::find_if(possible.begin(), possible.end(), [&](const auto &one) {
                   return at < one.first;
                 })->second;
  if (who < roles)
    machine.step(state, who);
  else
    machine.complete(state, who - roles);
  return true;
}

void Run::checkEnd() {
  for (const StepRef &copy : copies) {
    bool awaited = false;
    for (unsigned role = 0; role < numbers.protocol.roles.size(); ++role)
      awaited |= numbers.of(copy).over.knownTo(machine.clock(state, role) + numbers.memory);
    if (!awaited)
      result.findings.unfinished(copy);
  }
}

ProtocolRunResult Run::run() {
  state = machine.start();
  if (timing.order == ProtocolTiming::Order::Random)
    while (advanceAny())
      ;
  else
    while (advanceRoles() || completeOne())
      ;
  if (result.stopped)
    return std::move(result);
  if (machine.allFinished(state)) {
    checkEnd();
  } else {
    result.stopped = true;
    result.findings.deadlock(machine, state);
  }
  return std::move(result);
}

} // namespace

ProtocolRunResult runProtocol(const ProtocolNumbers &numbers, ProtocolTiming timing) {
  return Run(numbers, timing).run();
}

} // namespace penstock::sched
