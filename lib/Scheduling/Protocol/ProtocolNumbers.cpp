//===- ProtocolNumbers.cpp - Numbers for the events of a protocol ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/ProtocolNumbers.h"

#include <algorithm>

namespace penstock::sched {

using Step = ProtocolStep;
using Kind = ProtocolStep::Kind;

ProtocolNumbers::ProtocolNumbers(const Protocol &protocol) : protocol(protocol) {
  auto words = unsigned(protocol.roles.size());
  unsigned copies = 0;
  bool relaxed = false, sent = false, alone = false;
  std::vector<bool> narrow(protocol.barriers.size()), remote(protocol.barriers.size());
  uncertainWriters.resize(protocol.tiles.size());
  for (unsigned role = 0; role < protocol.roles.size(); ++role) {
    numberRole(role, words, copies);
    allSteps += protocol.roles[role].steps.size();
    for (unsigned i = 0; i < protocol.roles[role].steps.size(); ++i) {
      const Step &step = protocol.roles[role].steps[i];
      relaxed |= step.relaxed;
      sent |= step.relaxed && step.sent;
      if (step.narrow)
        narrow[step.barrier] = true;
      if (step.remote)
        remote[step.barrier] = true;
      alone |= step.kind == Kind::Copy && endsAlone({role, i});
      ownWaits |= step.kind == Kind::Wait && step.own;
      for (const ProtocolAccess &access : step.accesses)
        if (access.write && access.maybe &&
            (uncertainWriters[access.box.tile].empty() ||
             uncertainWriters[access.box.tile].back() != role))
          uncertainWriters[access.box.tile].push_back(role);
    }
  }
  counters = words;
  part = words + (copies + 31) / 32;
  for (size_t barrier = 0; barrier < narrow.size(); ++barrier)
    narrowWaits |= narrow[barrier] && remote[barrier];
  memory = relaxed || alone || narrowWaits ? part : 0;
  tensor = !alone && !narrowWaits ? 0 : relaxed ? 2 * part : memory;
  over = sent || narrowWaits ? std::max(memory, tensor) + part : memory;
  // Bits of copies follow the counters.
  for (auto &role : byRole)
    for (StepNumbers &numbers : role)
      for (Mark *mark : {&numbers.over, &numbers.arrived})
        if (mark->isBit) {
          unsigned copy = mark->value;
          mark->word = counters + copy / 32;
          mark->value = uint32_t(1) << (copy % 32);
        }
}

void ProtocolNumbers::numberRole(unsigned role, unsigned &words, unsigned &copies) {
  struct Queue {
    unsigned works = noStep, commits = noStep; ///< words, if it is used
    uint32_t started = 0, committed = 0;
    std::vector<unsigned> open;                ///< steps that no group has yet
    std::vector<std::vector<unsigned>> groups; ///< not awaited yet
  };
  std::array<Queue, size_t(ProtocolQueue::Count)> queues;
  const std::vector<Step> &steps = protocol.roles[role].steps;
  auto &made = byRole.emplace_back(steps.size());
  for (unsigned i = 0; i < steps.size(); ++i) {
    const Step &step = steps[i];
    StepNumbers &numbers = made[i];
    Queue &queue = queues[size_t(step.queue)];
    bool ordered = hw::orderOf(step.queue).arrivals;
    auto work = [&]() -> Mark {
      if (queue.works == noStep) {
        queue.works = words++;
        queue.commits = words++;
      }
      return {queue.works, queue.started, false};
    };
    switch (step.kind) {
    case Kind::Touch:
      numbers.over = taken({role, i});
      break;
    case Kind::Arrive:
      numbers.arrived = taken({role, i});
      break;
    case Kind::Copy:
      numbers.over = numbers.arrived = {noStep, copies++, true};
      break;
    case Kind::Start:
      ++queue.started;
      queue.open.push_back(i);
      if (ordered)
        numbers.over = work();
      break;
    case Kind::Commit:
      ++queue.committed;
      numbers.ends = work();
      numbers.arrived = {queue.commits, queue.committed, false};
      break;
    case Kind::CloseGroup:
      queue.groups.push_back(std::move(queue.open));
      queue.open.clear();
      break;
    case Kind::AwaitGroups: {
      while (int64_t(queue.groups.size()) > std::max<int64_t>(step.count, 0)) {
        for (unsigned ended : queue.groups.front())
          if (ordered)
            numbers.ends = made[ended].over; // the last of them says it for all
          else
            made[ended].over = taken({role, i});
        queue.groups.erase(queue.groups.begin());
      }
      break;
    }
    case Kind::Wait:
    case Kind::Sync:
      break;
    }
  }
}

bool ProtocolNumbers::mayBeWritten(unsigned tile, unsigned readingRole) const {
  return std::any_of(uncertainWriters[tile].begin(), uncertainWriters[tile].end(),
                     [&](unsigned role) { return role != readingRole; });
}

bool ProtocolNumbers::endsAlone(StepRef copy) const {
  const std::vector<Step> &steps = protocol.roles[copy.role].steps;
  return std::none_of(steps.begin(), steps.end(), [&](const Step &other) {
    return other.kind == Kind::Arrive && other.barrier == step(copy).barrier;
  });
}

void ProtocolNumbers::joinPart(uint32_t *into, const uint32_t *from) const {
  for (unsigned w = 0; w < counters; ++w)
    into[w] = std::max(into[w], from[w]);
  for (unsigned w = counters; w < part; ++w)
    into[w] |= from[w];
}

void ProtocolNumbers::join(uint32_t *into, const uint32_t *from, const ProtocolStep &by) const {
  joinPart(into, from);
  if (memory && !by.relaxed)
    joinPart(into + memory, from + memory);
  if (over != memory && (!by.relaxed || by.sent))
    joinPart(into + over, from + over);
  if (tensor && tensor != memory)
    joinPart(into + tensor, from + tensor);
}

void ProtocolNumbers::joinEnds(uint32_t *into, const uint32_t *from, const Step &by) const {
  joinPart(into, from);
  if (!by.relaxed || by.sent)
    joinPart(into + over, from + over);
}

void ProtocolNumbers::forgetMemory(uint32_t *clock) const {
  std::fill(clock + part, clock + clockWords(), 0);
}

bool conflict(const ProtocolNumbers &numbers, StepRef first, const ProtocolAccess &a,
              StepRef second, const ProtocolAccess &b) {
  if (!(a.write || b.write) || a.maybe || b.maybe || !a.box.overlaps(b.box))
    return false;
  if (a.scope >= 0 && a.scope == b.scope)
    return false;
  // One engine does its products one after the other.
  const Step &one = numbers.step(first), &other = numbers.step(second);
  bool queued = first.role == second.role && one.kind == Kind::Start && other.kind == Kind::Start &&
                one.queue == other.queue && hw::orderOf(one.queue).accesses;
  return !queued;
}

} // namespace penstock::sched
