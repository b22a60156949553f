//===- ProtocolPlan.cpp - Numbers for the events of a protocol ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/ProtocolPlan.h"

#include <algorithm>

namespace penstock::sched {

using Step = ProtocolStep;
using Kind = ProtocolStep::Kind;

ProtocolPlan::ProtocolPlan(const Protocol &protocol) : protocol(protocol) {
  auto words = unsigned(protocol.roles.size());
  unsigned copies = 0;
  bool relaxed = false, narrow = false, alone = false;
  uncertainWriters.resize(protocol.tiles.size());
  for (unsigned role = 0; role < protocol.roles.size(); ++role) {
    planRole(role, words, copies);
    allSteps += protocol.roles[role].steps.size();
    for (unsigned i = 0; i < protocol.roles[role].steps.size(); ++i) {
      const Step &step = protocol.roles[role].steps[i];
      relaxed |= step.relaxed;
      narrow |= step.narrow;
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
  memory = relaxed || alone ? part : 0;
  tensor = narrow ? 2 * part : !alone ? 0 : relaxed ? 2 * part : memory;
  // Bits of copies follow the counters.
  for (auto &role : plans)
    for (StepPlan &plan : role)
      for (Mark *mark : {&plan.over, &plan.arrived})
        if (mark->isBit) {
          unsigned copy = mark->value;
          mark->word = counters + copy / 32;
          mark->value = uint32_t(1) << (copy % 32);
        }
}

void ProtocolPlan::planRole(unsigned role, unsigned &words, unsigned &copies) {
  struct Queue {
    unsigned works = noStep, commits = noStep; ///< words, if it is used
    uint32_t started = 0, committed = 0;
    std::vector<unsigned> open;                ///< steps that no group has yet
    std::vector<std::vector<unsigned>> groups; ///< not awaited yet
  };
  std::array<Queue, size_t(ProtocolQueue::Count)> queues;
  const std::vector<Step> &steps = protocol.roles[role].steps;
  auto &made = plans.emplace_back(steps.size());
  for (unsigned i = 0; i < steps.size(); ++i) {
    const Step &step = steps[i];
    StepPlan &plan = made[i];
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
      plan.over = taken({role, i});
      break;
    case Kind::Arrive:
      plan.arrived = taken({role, i});
      break;
    case Kind::Copy:
      plan.over = plan.arrived = {noStep, copies++, true};
      break;
    case Kind::Start:
      ++queue.started;
      queue.open.push_back(i);
      if (ordered)
        plan.over = work();
      break;
    case Kind::Commit:
      ++queue.committed;
      plan.ends = work();
      plan.arrived = {queue.commits, queue.committed, false};
      break;
    case Kind::CloseGroup:
      queue.groups.push_back(std::move(queue.open));
      queue.open.clear();
      break;
    case Kind::AwaitGroups: {
      while (int64_t(queue.groups.size()) > std::max<int64_t>(step.count, 0)) {
        for (unsigned ended : queue.groups.front())
          if (ordered)
            plan.ends = made[ended].over; // the last of them says it for all
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

bool ProtocolPlan::mayBeWritten(unsigned tile, unsigned readingRole) const {
  return std::any_of(uncertainWriters[tile].begin(), uncertainWriters[tile].end(),
                     [&](unsigned role) { return role != readingRole; });
}

bool ProtocolPlan::endsAlone(StepRef copy) const {
  const std::vector<Step> &steps = protocol.roles[copy.role].steps;
  return std::none_of(steps.begin(), steps.end(), [&](const Step &other) {
    return other.kind == Kind::Arrive && other.barrier == step(copy).barrier;
  });
}

void ProtocolPlan::joinPart(uint32_t *into, const uint32_t *from) const {
  for (unsigned w = 0; w < counters; ++w)
    into[w] = std::max(into[w], from[w]);
  for (unsigned w = counters; w < part; ++w)
    into[w] |= from[w];
}

void ProtocolPlan::join(uint32_t *into, const uint32_t *from, const ProtocolStep &by) const {
  joinPart(into, from);
  if (memory && !by.relaxed)
    joinPart(into + memory, from + memory);
  if (tensor && tensor != memory && !by.narrow)
    joinPart(into + tensor, from + tensor);
}

void ProtocolPlan::forgetMemory(uint32_t *clock) const {
  std::fill(clock + part, clock + clockWords(), 0);
}

bool conflict(const ProtocolPlan &plan, StepRef first, const ProtocolAccess &a, StepRef second,
              const ProtocolAccess &b) {
  if (!(a.write || b.write) || a.maybe || b.maybe || !a.box.overlaps(b.box))
    return false;
  if (a.scope >= 0 && a.scope == b.scope)
    return false;
  // One engine does its products one after the other.
  const Step &one = plan.step(first), &other = plan.step(second);
  bool queued = first.role == second.role && one.kind == Kind::Start && other.kind == Kind::Start &&
                one.queue == other.queue && hw::orderOf(one.queue).accesses;
  return !queued;
}

} // namespace penstock::sched
