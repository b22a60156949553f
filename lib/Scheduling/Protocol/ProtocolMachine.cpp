//===- ProtocolMachine.cpp - One step of a protocol after another ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/ProtocolMachine.h"

#include <algorithm>

namespace penstock::sched {

using Step = ProtocolStep;
using Kind = ProtocolStep::Kind;

// A barrier: pending arrivals, bytes (two words), phase, and then a record or two: the clock of
// the arrivals so far and that of the previous phase. The second record, for narrow waits, has no
// memory of remote arrivals.
static constexpr size_t barrierHeader = 4;

ProtocolMachine::ProtocolMachine(const ProtocolNumbers &numbers, ProtocolWatcher &watcher)
    : numbers(numbers), watcher(watcher), barriers(numbers.protocol.roles.size()),
      barrierWords(barrierHeader + (numbers.narrowWaits ? 4 : 2) * numbers.clockWords()),
      clocks(barriers + numbers.protocol.barriers.size() * barrierWords),
      own(clocks + numbers.protocol.roles.size() * numbers.clockWords()),
      size(own + (numbers.ownWaits
                      ? numbers.protocol.roles.size() * numbers.protocol.barriers.size()
                      : 0)) {}

ProtocolState ProtocolMachine::start() const {
  ProtocolState state;
  state.words.resize(size);
  for (unsigned b = 0; b < numbers.protocol.barriers.size(); ++b)
    state.words[barrierAt(b)] = uint32_t(numbers.protocol.barriers[b].count);
  return state;
}

bool ProtocolMachine::allFinished(const ProtocolState &state) const {
  for (unsigned role = 0; role < numbers.protocol.roles.size(); ++role)
    if (!finished(state, role))
      return false;
  return true;
}

ProtocolMachine::BarrierView ProtocolMachine::barrier(const ProtocolState &state,
                                                      unsigned index) const {
  const uint32_t *at = &state.words[barrierAt(index)];
  return {at[0], int64_t(uint64_t(at[1]) | uint64_t(at[2]) << 32), at[3]};
}

void ProtocolMachine::setBytes(ProtocolState &state, unsigned index, int64_t bytes) const {
  state.words[barrierAt(index) + 1] = uint32_t(uint64_t(bytes));
  state.words[barrierAt(index) + 2] = uint32_t(uint64_t(bytes) >> 32);
}

void ProtocolMachine::raise(uint32_t *clock, Mark mark) const {
  mark.raise(clock);
  if (numbers.memory)
    mark.raise(clock + numbers.memory);
  if (numbers.tensor)
    mark.raise(clock + numbers.tensor);
  if (numbers.over != numbers.memory)
    mark.raise(clock + numbers.over);
}

bool ProtocolMachine::isLocal(const ProtocolState &state, unsigned role) const {
  if (finished(state, role))
    return false;
  switch (numbers.step({role, next(state, role)}).kind) {
  case Kind::Touch:
  case Kind::Copy:
  case Kind::Start:
  case Kind::Commit:
  case Kind::CloseGroup:
  case Kind::AwaitGroups:
    return true;
  case Kind::Wait:
  case Kind::Arrive:
  case Kind::Sync:
    return false;
  }
  return false;
}

bool ProtocolMachine::canStep(const ProtocolState &state, unsigned role) const {
  if (finished(state, role))
    return false;
  const Step &step = numbers.step({role, next(state, role)});
  if (step.kind == Kind::Wait) {
    auto phase = uint32_t(barrier(state, step.barrier).phase);
    if (!step.own)
      return (phase & 1) != uint32_t(step.parity);
    // Own phases are counted from 1: 0 is a wait before any arrival, for nothing.
    return phase >= state.words[own + role * numbers.protocol.barriers.size() + step.barrier];
  }
  if (step.kind == Kind::Sync)
    return std::all_of(numbers.protocol.syncs[step.barrier].begin(),
                       numbers.protocol.syncs[step.barrier].end(), [&](unsigned other) {
                         if (finished(state, other))
                           return false;
                         const Step &its = numbers.step({other, next(state, other)});
                         return its.kind == Kind::Sync && its.barrier == step.barrier;
                       });
  return true;
}

void ProtocolMachine::settle(ProtocolState &state, unsigned index) {
  BarrierView view = barrier(state, index);
  if (view.pending != 0 || view.bytes != 0)
    return;
  watcher.completion(index);
  uint32_t *at = &state.words[barrierAt(index)];
  at[0] = uint32_t(numbers.protocol.barriers[index].count);
  ++at[3];
  for (size_t record = barrierHeader; record < barrierWords; record += 2 * numbers.clockWords()) {
    uint32_t *arrived = at + record, *completed = arrived + numbers.clockWords();
    std::copy_n(arrived, numbers.clockWords(), completed);
    std::fill_n(arrived, numbers.clockWords(), 0);
  }
}

void ProtocolMachine::arrive(ProtocolState &state, StepRef ref, const uint32_t *clock) {
  const Step &step = numbers.step(ref);
  BarrierView view = barrier(state, step.barrier);
  bool copies = step.kind == Kind::Copy;
  if (!copies && step.count > view.pending)
    return watcher.overflow(ref, view.pending);
  // An empty copy completes no transactions, so no wait observes it.
  if (copies && step.bytes == 0)
    return;
  watcher.arrival(step.barrier, view.phase, ref, clock);
  setBytes(state, step.barrier, view.bytes + (copies ? -step.bytes : step.bytes));
  uint32_t *at = &state.words[barrierAt(step.barrier)];
  if (!copies)
    at[0] -= uint32_t(step.count);
  numbers.join(at + barrierHeader, clock, step);
  if (numbers.narrowWaits) {
    uint32_t *local = at + barrierHeader + 2 * numbers.clockWords();
    if (step.remote)
      numbers.joinEnds(local, clock, step);
    else
      numbers.join(local, clock, step);
  }
  if (numbers.ownWaits && step.kind == Kind::Arrive)
    ownPhase(state, ref.role, step.barrier) = uint32_t(view.phase) + 1;
  settle(state, step.barrier);
}

void ProtocolMachine::issue(ProtocolState &state, StepRef ref) {
  size_t at = 0;
  while (at < state.flying.size() &&
         (state.flying[at] < ref.role ||
          (state.flying[at] == ref.role && state.flying[at + 1] < ref.index)))
    at += record();
  std::vector<uint32_t> made = {ref.role, ref.index};
  const uint32_t *now = clockOf(state, ref.role);
  made.insert(made.end(), now, now + numbers.clockWords());
  state.flying.insert(state.flying.begin() + std::ptrdiff_t(at), made.begin(), made.end());
}

void ProtocolMachine::step(ProtocolState &state, unsigned role) {
  StepRef ref{role, next(state, role)};
  const Step &step = numbers.step(ref);
  if (step.kind == Kind::Sync) {
    const std::vector<unsigned> &roles = numbers.protocol.syncs[step.barrier];
    std::vector<uint32_t> all(numbers.clockWords());
    for (unsigned other : roles)
      numbers.join(all.data(), clockOf(state, other), step);
    for (unsigned other : roles) {
      std::copy(all.begin(), all.end(), clockOf(state, other));
      raise(clockOf(state, other), numbers.taken({other, state.words[other]}));
      ++state.words[other];
    }
    return;
  }
  uint32_t *now = clockOf(state, role);
  ++state.words[role];
  if (step.kind == Kind::Wait) {
    BarrierView view = barrier(state, step.barrier);
    watcher.wait(step.barrier,
                 step.own ? int64_t(ownPhase(state, role, step.barrier)) - 1 : view.phase - 1, ref,
                 now);
    size_t record =
        barrierHeader + (numbers.narrowWaits && step.narrow ? 3 : 1) * numbers.clockWords();
    numbers.join(now, &state.words[barrierAt(step.barrier) + record], step);
  }
  raise(now, numbers.taken(ref));
  switch (step.kind) {
  case Kind::Touch:
  case Kind::Start:
    watcher.access(state, ref, now);
    break;
  case Kind::Copy:
    watcher.access(state, ref, now);
    issue(state, ref);
    break;
  case Kind::Commit:
    issue(state, ref);
    break;
  case Kind::AwaitGroups:
    raise(now, numbers.of(ref).ends);
    break;
  case Kind::Arrive:
    arrive(state, ref, now);
    break;
  case Kind::CloseGroup:
  case Kind::Wait:
  case Kind::Sync:
    break;
  }
}

bool ProtocolMachine::canComplete(const ProtocolState &state, size_t index) const {
  StepRef ref = flyingStep(state, index);
  const Step &step = numbers.step(ref);
  if (step.kind == Kind::Copy)
    return true;
  for (size_t other = 0; other < index; ++other) {
    StepRef earlier = flyingStep(state, other);
    if (earlier.role == ref.role && numbers.step(earlier).kind == Kind::Commit &&
        numbers.step(earlier).queue == step.queue)
      return false;
  }
  return true;
}

void ProtocolMachine::complete(ProtocolState &state, size_t index) {
  StepRef ref = flyingStep(state, index);
  auto first = state.flying.begin() + std::ptrdiff_t(index * record());
  std::vector<uint32_t> clock(first + 2, first + std::ptrdiff_t(record()));
  state.flying.erase(first, first + std::ptrdiff_t(record()));
  if (numbers.step(ref).kind == Kind::Copy && numbers.endsAlone(ref))
    numbers.forgetMemory(clock.data());
  raise(clock.data(), numbers.of(ref).ends);
  raise(clock.data(), numbers.of(ref).arrived);
  arrive(state, ref, clock.data());
}

} // namespace penstock::sched
