//===- WarpSpecialize.cpp - A schedule run by several roles ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/WarpSpecialize.h"
#include "Diagnostics/Codes.h"

#include <algorithm>
#include <map>
#include <set>

namespace penstock::sched {
namespace {

class WarpSpecializer {
public:
  WarpSpecializer(const Problem &problem, const Schedule &schedule, const RoleAssignment &roles)
      : problem(problem), schedule(schedule), roles(roles), model(problem), order(model, schedule),
        verdict(verify(model, schedule)) {}

  WarpSpecialized run() {
    checkDivision();
    if (!result.diagnostics.empty())
      return std::move(result);
    pending.resize(roles.names.size());
    for (BufferId b = 0; b < problem.buffers.size(); ++b)
      if (!makeRing(b))
        makeLinks(b);
    for (size_t r = 0; r < roles.names.size(); ++r)
      finish(r);
    return std::move(result);
  }

private:
  struct Pending {
    RoleEvent event;
    EventAnchor anchor;
  };

  unsigned roleOf(StatementId s) const { return roles.roleOf[s]; }
  /// The statement at which the accesses of \p s have ended, and how many
  /// iterations later.
  EventAnchor endOf(StatementId s, bool writes) const {
    Completion by = order.completedBy(s, writes);
    if (by.wait == none)
      return {s, true, 0};
    return {by.wait, true, by.distance};
  }
  Position position(const EventAnchor &at) const {
    return order.issue(at.statement).later(at.distance);
  }
  void add(RoleEventKind kind, unsigned index, const EventAnchor &at) {
    RoleEvent event;
    event.kind = kind;
    event.ring = index;
    event.stage = schedule.stage[at.statement] + at.distance;
    event.location = problem.statements[at.statement].location;
    pending[roleOf(at.statement)].push_back({event, at});
  }
  void checkDivision();
  bool makeRing(BufferId b);
  void makeLinks(BufferId b);
  void finish(size_t role);

  const Problem &problem;
  const Schedule &schedule;
  const RoleAssignment &roles;
  LoopModel model;
  Order order;
  Verdict verdict;
  WarpSpecialized result;
  std::vector<std::vector<Pending>> pending;
};

void WarpSpecializer::checkDivision() {
  auto together = [&](StatementId a, StatementId b, const std::string &why) {
    if (roleOf(a) == roleOf(b))
      return;
    Diagnostic d;
    d.code = RolesOutsideModel;
    d.location = problem.statements[b].location;
    d.message = "`" + problem.statements[a].name + "` and `" + problem.statements[b].name +
                "` must share a role: " + why;
    d.notes.push_back({problem.statements[a].location, "the other one", ""});
    result.diagnostics.push_back(std::move(d));
  };
  std::map<QueueId, StatementId> first;
  for (StatementId s = 0; s < problem.statements.size(); ++s) {
    const Statement &statement = problem.statements[s];
    if (statement.queue != none)
      together(first.emplace(statement.queue, s).first->second, s, "they use one queue");
    for (const Await &a : statement.awaits)
      together(a.statement, s, "a written wait serves its own role");
    for (StatementId user : statement.users)
      together(s, user, "a scalar cannot be handed over");
  }
}

/// One role writes the tile, all of it before any other role reads it: the
/// discipline of a ring.
bool WarpSpecializer::makeRing(BufferId b) {
  if (!model.versionable[b])
    return false;
  struct Use {
    StatementId statement;
    bool write;
  };
  std::vector<Use> uses;
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    for (const Access &a : problem.statements[s].accesses)
      if (a.buffer == b)
        uses.push_back({s, a.write});
  unsigned producer = none;
  std::set<unsigned> consumers;
  StatementId lastWrite = none;
  for (const Use &use : uses)
    if (use.write) {
      if (producer != none && producer != roleOf(use.statement))
        return false;
      producer = roleOf(use.statement);
      lastWrite = use.statement;
    }
  for (const Use &use : uses)
    if (!use.write && roleOf(use.statement) != producer) {
      if (producer == none || use.statement < lastWrite)
        return false;
      consumers.insert(roleOf(use.statement));
    }
  if (producer == none || consumers.empty())
    return true; // nothing crosses roles
  unsigned ring = unsigned(result.system.rings.size());
  result.system.rings.push_back({problem.buffers[b].name, int64_t(verdict.versions[b].count)});
  result.ringBuffer.push_back(b);
  // First use and last end of the tile in a role, in the order of the schedule.
  auto bracket = [&](unsigned role, bool writes, RoleEventKind before, RoleEventKind after) {
    EventAnchor first, last;
    for (const Use &use : uses) {
      if (roleOf(use.statement) != role)
        continue;
      EventAnchor start{use.statement, false, 0};
      if (first.statement == none || position(start) < position(first))
        first = start;
      if (use.write != writes)
        continue;
      EventAnchor end = endOf(use.statement, use.write);
      if (last.statement == none || position(end) > position(last))
        last = end;
    }
    add(before, ring, first);
    add(after, ring, last);
  };
  bracket(producer, true, RoleEventKind::Acquire, RoleEventKind::Commit);
  for (unsigned role : consumers)
    bracket(role, false, RoleEventKind::Wait, RoleEventKind::Release);
  return true;
}

void WarpSpecializer::makeLinks(BufferId b) {
  std::set<std::tuple<StatementId, int64_t, StatementId, int64_t>> linked;
  int64_t versions = verdict.versions[b].count;
  for (const Pair &pair : model.pairs) {
    if (pair.buffer != b || roleOf(pair.first) == roleOf(pair.second))
      continue;
    EventAnchor end = endOf(pair.first, pair.firstWrites);
    auto link = [&](int64_t d) {
      if (!linked.insert({end.statement, end.distance, pair.second, d}).second)
        return;
      unsigned index = unsigned(result.system.links.size());
      result.system.links.push_back({problem.buffers[b].name + ": " +
                                         problem.statements[pair.first].name + " to " +
                                         problem.statements[pair.second].name,
                                     d});
      add(RoleEventKind::Signal, index, end);
      add(RoleEventKind::Await, index, {pair.second, false, 0});
    };
    if (pair.occursAt(0))
      link(0);
    // Later iterations in the same slot follow from the nearest one.
    for (int64_t d = versions; d <= maxDistance; d += versions)
      if (pair.occursAt(d)) {
        link(d);
        break;
      }
  }
}

void WarpSpecializer::finish(size_t role) {
  // The order of a step: by the statement that an event stands at, waits before
  // it and arrivals after it.
  std::vector<Pending> &events = pending[role];
  std::vector<size_t> index(events.size());
  for (size_t i = 0; i < index.size(); ++i)
    index[i] = i;
  std::sort(index.begin(), index.end(), [&](size_t a, size_t b) {
    auto key = [&](size_t i) {
      return std::tuple(schedule.order[events[i].anchor.statement], events[i].anchor.after, i);
    };
    return key(a) < key(b);
  });
  Role out;
  out.name = roles.names[role];
  std::vector<EventAnchor> anchors;
  for (size_t i : index) {
    out.events.push_back(events[i].event);
    anchors.push_back(events[i].anchor);
  }
  result.system.roles.push_back(std::move(out));
  result.anchors.push_back(std::move(anchors));
}

} // namespace

WarpSpecialized warpSpecialize(const Problem &problem, const Schedule &schedule,
                               const RoleAssignment &roles) {
  return WarpSpecializer(problem, schedule, roles).run();
}

} // namespace penstock::sched
