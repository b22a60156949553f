//===- ProtocolRoles.cpp - The rings of a hand-written protocol -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a role does for a middle iteration says which tokens it handles and how
// far behind. If that body, run for 0, 1, 2, .. iterations as Roles.h defines it,
// gives exactly the steps that the kernel takes, it is the kernel's loop.
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/Protocol.h"
#include "Scheduling/Protocol/RoleShape.h"

#include <algorithm>
#include <map>
#include <set>

namespace penstock::sched {
namespace {

using Step = ProtocolStep;

/// An event on an array of barriers: the `token`-th of its kind by its role.
struct Handled {
  RoleEventKind kind;
  unsigned array;
  int64_t token;
  int64_t iteration;
  unsigned source;
  bool sameAs(const Handled &other) const {
    return kind == other.kind && array == other.array && token == other.token;
  }
};

/// Use of an array of barriers: `full` barriers start with a wait that blocks, `empty` barriers
/// with waits that do not.
enum class Use { Unused, Full, Empty, Neither };

class Reader {
public:
  explicit Reader(const Protocol &protocol) : protocol(protocol), slots(protocol.arrays.size()) {
    for (const ProtocolBarrier &b : protocol.barriers)
      slots[b.array] = std::max(slots[b.array], b.slot + 1);
  }

  std::vector<Use> uses() const {
    std::vector<Use> result(slots.size(), Use::Unused);
    for (const ProtocolRole &role : protocol.roles)
      for (size_t array = 0; array < slots.size(); ++array)
        for (int64_t token = 0; const Step &step : role.steps)
          if (step.kind == Step::Kind::Wait && arrayOf(step) == array) {
            bool parity = token / slots[array] & 1;
            Use use = step.parity == parity ? Use::Full : Use::Empty;
            if (protocol.barriers[step.barrier].slot != token % slots[array] ||
                (result[array] != Use::Unused && result[array] != use))
              use = Use::Neither;
            result[array] = use;
            ++token;
          }
    return result;
  }

  /// The events of a role; no value if slots are not taken in turn.
  std::optional<std::vector<Handled>> events(const ProtocolRole &role,
                                             const std::vector<Use> &uses) const;

  unsigned arrayOf(const Step &step) const { return protocol.barriers[step.barrier].array; }
  int64_t slotsOf(unsigned array) const { return slots[array]; }

private:
  const Protocol &protocol;
  std::vector<int64_t> slots;
};

std::optional<std::vector<Handled>> Reader::events(const ProtocolRole &role,
                                                   const std::vector<Use> &uses) const {
  std::set<unsigned> announced; // arrays on which the role arrives itself
  for (const Step &step : role.steps)
    if (step.kind == Step::Kind::Arrive || step.kind == Step::Kind::Commit)
      announced.insert(arrayOf(step));
  std::vector<Handled> result;
  std::map<std::pair<unsigned, bool>, int64_t> tokens; // by array, waits?
  for (size_t i = 0; i < role.steps.size(); ++i) {
    const Step &step = role.steps[i];
    bool waits = step.kind == Step::Kind::Wait;
    bool arrives = step.kind == Step::Kind::Arrive || step.kind == Step::Kind::Commit;
    // A role whose bytes another one announces arrives with the last of them.
    if (step.kind == Step::Kind::Copy && !announced.count(arrayOf(step)))
      arrives = i + 1 == role.steps.size() || role.steps[i + 1].kind != Step::Kind::Copy ||
                role.steps[i + 1].barrier != step.barrier;
    if (!waits && !arrives)
      continue;
    unsigned array = arrayOf(step);
    if (uses[array] != Use::Full && uses[array] != Use::Empty)
      continue;
    int64_t token = tokens[{array, waits}]++;
    if (protocol.barriers[step.barrier].slot != token % slots[array])
      return std::nullopt;
    bool full = uses[array] == Use::Full;
    RoleEventKind kind = waits ? (full ? RoleEventKind::Wait : RoleEventKind::Acquire)
                               : (full ? RoleEventKind::Commit : RoleEventKind::Release);
    result.push_back({kind, array, token, step.iteration, step.source});
  }
  return result;
}

/// The body of the role's loop, from one iteration in the middle.
Role bodyOf(const Protocol &protocol, const ProtocolRole &role, const std::vector<Handled> &events,
            int64_t middle) {
  Role result;
  result.name = role.name;
  std::map<std::pair<unsigned, RoleEventKind>, int64_t> perIteration;
  for (const Handled &e : events)
    perIteration[{e.array, e.kind}] += e.iteration == middle;
  for (const Handled &e : events) {
    if (e.iteration != middle)
      continue;
    int64_t count = perIteration[{e.array, e.kind}];
    RoleEvent event;
    event.kind = e.kind;
    event.ring = e.array;
    event.token = e.token % count;
    event.stage = middle - e.token / count;
    event.location = protocol.sources[e.source].location;
    result.events.push_back(event);
  }
  return result;
}

/// Returns whether the role's loop, run for \p n iterations, is what the kernel does. At the end a
/// kernel need not give back slots that nobody asks for again.
bool describes(const Role &role, const std::vector<Ring> &rings, const std::vector<Handled> &events,
               int64_t n) {
  std::map<std::pair<unsigned, RoleEventKind>, int64_t> perIteration;
  for (const RoleEvent &e : role.events)
    ++perIteration[{e.ring, e.kind}];
  size_t next = 0;
  for (auto [index, k] : executionOrder(role.events, n)) {
    const RoleEvent &e = role.events[index];
    int64_t count = perIteration[{e.ring, e.kind}];
    Handled expected{e.kind, e.ring, k * count + e.token, 0, 0};
    if (next < events.size() && expected.sameAs(events[next]))
      ++next;
    else if (e.kind != RoleEventKind::Release || expected.token < n * count - rings[e.ring].slots)
      return false;
  }
  return next == events.size();
}

} // namespace

std::optional<RoleSystem> rolesOf(const std::vector<Protocol> &byIterations) {
  if (byIterations.size() < 4)
    return std::nullopt;
  const Protocol &longest = byIterations.back();
  Reader reader(longest);
  std::vector<Use> uses = reader.uses();
  // Barriers that are only awaited outside of loops are not part of them.
  for (unsigned array = 0; array < uses.size(); ++array) {
    bool inLoop = false;
    for (const ProtocolRole &role : longest.roles)
      for (const Step &step : role.steps)
        inLoop |=
            step.kind == Step::Kind::Wait && reader.arrayOf(step) == array && step.iteration >= 0;
    if (!inLoop)
      uses[array] = Use::Unused;
    else if (uses[array] == Use::Neither)
      return std::nullopt;
  }
  // Roles that meet in the loop are ordered by more than rings.
  for (const ProtocolRole &role : longest.roles)
    for (const Step &step : role.steps)
      if (step.kind == Step::Kind::Sync && step.iteration >= 0)
        return std::nullopt;
  RoleSystem system;
  for (unsigned array = 0; array < uses.size(); ++array)
    system.rings.push_back({longest.arrays[array], reader.slotsOf(array)});
  int64_t middle = int64_t(byIterations.size() - 1) / 2;
  for (size_t r = 0; r < longest.roles.size(); ++r) {
    auto events = reader.events(longest.roles[r], uses);
    if (!events)
      return std::nullopt;
    Role role = bodyOf(longest, longest.roles[r], *events, middle);
    for (size_t n = 0; n < byIterations.size(); ++n) {
      Reader shorter(byIterations[n]);
      auto of = shorter.events(byIterations[n].roles[r], uses);
      if (!of || !describes(role, system.rings, *of, int64_t(n)))
        return std::nullopt;
    }
    if (!role.events.empty())
      system.roles.push_back(std::move(role));
  }
  if (system.roles.empty())
    return std::nullopt;
  return system;
}

} // namespace penstock::sched
