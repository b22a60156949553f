//===- Derive.cpp - From a schedule to its synchronization ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each conflict, the mechanism by which its first statement ends, and what it
// takes to tell the threads of the second:
//
//                     same threads        other threads      another role
//   threads           nothing             Join               Arrive
//   cp.async          WaitGroup           WaitGroup, Join    Commit to a barrier
//   wgmma, TMA store  WaitGroup           WaitGroup, Join    WaitGroup, Arrive
//   tcgen05.ld, .st   WaitGroup           WaitGroup, Join    WaitGroup, Arrive
//   TMA load          WaitBarrier         WaitBarrier        WaitBarrier
//   tcgen05.mma       Commit, WaitBarrier in all three
//
// with fences where two proxies meet (cp.async that an engine of another role reads
// takes WaitGroup, Fence and Arrive). Joins are placed where they serve the most
// conflicts, and waits for groups right before the join that they serve. Then
// everything is left out that the rest makes superfluous.
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Plan/DeriveJoins.h"
#include "Scheduling/Plan/DeriveParts.h"
#include "Scheduling/Plan/Mechanisms.h"
#include "Scheduling/Problem/Versions.h"

#include <algorithm>
#include <map>
#include <set>

namespace penstock::sched {
namespace {

/// Choices that are fast where they are possible.
struct Attempt {
  int64_t trailing = 1;    ///< iterations by which products are released late
  bool largeGroups = true; ///< neighbors share a group
  bool straight = false;   ///< one iteration
};

class Deriver {
public:
  Deriver(const Problem &problem, const Schedule &schedule, const RoleAssignment &roles,
          const RoleSizes &sizes, Attempt attempt)
      : schedule(schedule), roles(roles), sizes(sizes), attempt(attempt) {
    plan.bound = problem;
    plan.straight = attempt.straight;
    bindProxies(plan.bound);
    if (this->roles.roleOf.empty())
      this->roles = {std::vector<unsigned>(problem.statements.size(), 0), {"all"}};
  }

  Plan run();

private:
  const Statement &statement(StatementId s) const { return plan.bound.statements[s]; }
  const Mechanism &mechanism(StatementId s) const { return mechanismOf(statement(s).executedBy); }
  unsigned roleOf(StatementId s) const { return roles.roleOf[s]; }
  void refuse(StatementId at, StatementId other, std::string message) {
    addRefusal(plan, at, other, std::move(message));
  }

  void layOut();
  bool crosses(const Need &need) const { return need.crosses(plan.bound); }
  PlanPoint pointAt(PlanPoint::Kind kind, StatementId at, int64_t stage) const {
    PlanPoint point;
    point.kind = kind;
    point.at = at;
    point.stage = stage;
    return point;
  }
  void insertPoint(unsigned role, size_t issue, Slot slot, const PlanPoint &point);
  void placeWaitGroup(const Need &need, size_t issue, Slot slot, int64_t stage, int64_t step);
  void placeFence(unsigned role, size_t issue, Slot slot, StatementId at, int64_t stage,
                  FenceKind kind);
  void placeWaitBarrier(const Need &need, BarrierId barrier);
  int64_t groupsBetween(StatementId first, int64_t step, size_t issue) const;

  void issueAll();
  void groupLoads();
  void serveWithinRole();
  void serveJoins(unsigned role);
  void serveOtherRoles(int64_t trailing);
  const Need *firstWaitFor(StatementId first) const;
  BarrierId arrivalBarrier(StatementId first, bool fenced, bool tensor, bool writes,
                           int64_t trailing);
  BarrierId commitBarrier(StatementId first);
  void assemble();
  void keepAwaited();
  void addDrains();

  Schedule schedule;
  RoleAssignment roles;
  RoleSizes sizes;
  Attempt attempt;
  Plan plan;
  std::vector<Need> needs;
  std::vector<std::vector<StatementId>> issues; ///< per role, in order
  std::vector<size_t> indexOf;                  ///< per statement, in its role
  std::vector<size_t> commitAfter;              ///< per statement: the issue its group closes at
  std::vector<BarrierId> loadBarrier;           ///< per statement
  std::map<StatementId, BarrierId> commits, arrivals;
  std::vector<std::vector<Placed>> placed; ///< per role
};

void Deriver::layOut() {
  size_t count = plan.bound.statements.size();
  issues.assign(roles.names.size(), {});
  indexOf.assign(count, 0);
  commitAfter.assign(count, 0);
  loadBarrier.assign(count, none);
  placed.assign(roles.names.size(), {});
  for (StatementId s = 0; s < count; ++s)
    issues[roleOf(s)].push_back(s);
  for (auto &list : issues) {
    std::sort(list.begin(), list.end(),
              [&](StatementId a, StatementId b) { return schedule.order[a] < schedule.order[b]; });
    for (size_t i = 0; i < list.size(); ++i)
      indexOf[list[i]] = i;
    // Neighbors of one engine and stage are one group, unless roles would wait for
    // each other then.
    for (size_t i = list.size(); i-- > 0;) {
      bool joined = i + 1 < list.size() && attempt.largeGroups &&
                    mechanism(list[i]).ends == Mechanism::Groups &&
                    statement(list[i]).executedBy == statement(list[i + 1]).executedBy &&
                    schedule.stage[list[i]] == schedule.stage[list[i + 1]];
      commitAfter[list[i]] = joined ? commitAfter[list[i + 1]] : i;
    }
  }
  LoopModel model(plan.bound);
  for (const BufferVersions &v : versions(Order(model, schedule)))
    plan.slots.push_back(v.count);
}

void Deriver::insertPoint(unsigned role, size_t issue, Slot slot, const PlanPoint &point) {
  for (Placed &other : placed[role]) {
    PlanPoint same = other.point;
    if (same.kind == PlanPoint::WaitGroup) { // the strictest count serves all
      same.pending = point.pending;
      same.readsOnly = point.readsOnly;
    }
    same.at = point.at;
    if (other.issue == issue && other.slot == slot && same == point) {
      other.point.pending = std::min(other.point.pending, point.pending);
      other.point.readsOnly = other.point.readsOnly && point.readsOnly;
      return;
    }
  }
  placed[role].push_back({issue, slot, point});
}

/// Groups of the engine of \p first that are closed after its own, and before issue
/// \p issue of step \p step; \p first is issued in step stage.
int64_t Deriver::groupsBetween(StatementId first, int64_t step, size_t issue) const {
  int64_t count = 0, own = schedule.stage[first];
  std::set<size_t> closing;
  for (StatementId s : issues[roleOf(first)])
    if (statement(s).executedBy == statement(first).executedBy)
      closing.insert(commitAfter[s]);
  for (size_t c : closing) {
    int64_t low = own + (c > commitAfter[first] ? 0 : 1);
    int64_t high = step - (c < issue ? 0 : 1);
    count += std::max<int64_t>(0, high - low + 1);
  }
  return count;
}

void Deriver::placeWaitGroup(const Need &need, size_t issue, Slot slot, int64_t stage,
                             int64_t step) {
  const Mechanism &ends = mechanism(need.first);
  if (ends.ends != Mechanism::Groups && ends.ends != Mechanism::WaitAll)
    return;
  PlanPoint wait = pointAt(PlanPoint::WaitGroup, need.second, stage);
  wait.engine = statement(need.first).executedBy;
  wait.leader = ends.leader;
  wait.readsOnly = ends.readsEndFirst && !need.writes;
  if (ends.ends == Mechanism::Groups)
    wait.pending = groupsBetween(need.first, step, issue);
  insertPoint(roleOf(need.first), issue, slot, wait);
}

void Deriver::placeFence(unsigned role, size_t issue, Slot slot, StatementId at, int64_t stage,
                         FenceKind kind) {
  PlanPoint fence = pointAt(PlanPoint::Fence, at, stage);
  fence.fence = kind;
  insertPoint(role, issue, slot, fence);
}

void Deriver::placeWaitBarrier(const Need &need, BarrierId barrier) {
  StatementId j = need.second;
  PlanPoint wait = pointAt(PlanPoint::WaitBarrier, j, schedule.stage[j]);
  wait.barrier = barrier;
  wait.distance = need.distance;
  wait.leader = mechanism(j).leader;
  insertPoint(roleOf(j), indexOf[j], Slot::WaitBarrier, wait);
  if (need.tensorFences)
    placeFence(roleOf(j), indexOf[j], Slot::FenceAfter, j, schedule.stage[j],
               FenceKind::TensorAfter);
}

/// Loads that the same statements await share a barrier.
void Deriver::groupLoads() {
  std::map<StatementId, std::set<std::pair<StatementId, int64_t>>> awaitedBy;
  for (const Need &need : needs)
    if (mechanism(need.first).ends == Mechanism::Bytes && need.second != need.first)
      awaitedBy[need.first].insert({need.second, need.distance});
  using Key = std::tuple<unsigned, int64_t, int64_t, std::set<std::pair<StatementId, int64_t>>>;
  std::map<Key, BarrierId> groups;
  for (unsigned r = 0; r < issues.size(); ++r)
    for (StatementId s : issues[r]) {
      if (mechanism(s).ends != Mechanism::Bytes)
        continue;
      int64_t slots = 1, bytes = statement(s).bytes;
      for (const Access &a : statement(s).accesses)
        if (a.write) {
          slots = std::max(slots, plan.slots[a.buffer]);
          bytes += statement(s).bytes ? 0 : plan.bound.buffers[a.buffer].bytes;
        }
      Key key{r, schedule.stage[s], slots, awaitedBy[s]};
      auto [group, fresh] = groups.try_emplace(key, BarrierId(plan.barriers.size()));
      if (fresh) {
        plan.barriers.push_back({"full " + statement(s).name, slots, 1, 0});
        PlanPoint expect = pointAt(PlanPoint::Expect, s, schedule.stage[s]);
        expect.barrier = group->second;
        expect.count = 1;
        expect.leader = true;
        insertPoint(r, indexOf[s], Slot::Expect, expect);
      }
      loadBarrier[s] = group->second;
      plan.barriers[group->second].bytes += bytes;
      for (Placed &p : placed[r])
        if (p.slot == Slot::Expect && p.point.barrier == group->second)
          p.point.bytes += bytes;
    }
}

void Deriver::issueAll() {
  for (unsigned r = 0; r < issues.size(); ++r)
    for (size_t i = 0; i < issues[r].size(); ++i) {
      StatementId s = issues[r][i];
      PlanPoint issue = pointAt(PlanPoint::Issue, s, schedule.stage[s]);
      issue.leader = mechanism(s).leader;
      issue.barrier = loadBarrier[s];
      if (issue.barrier != none) {
        issue.bytes = statement(s).bytes;
        for (const Access &a : statement(s).accesses)
          if (a.write && !statement(s).bytes)
            issue.bytes += plan.bound.buffers[a.buffer].bytes;
      }
      placed[r].push_back({i, Slot::Issue, issue});
      if (mechanism(s).ends == Mechanism::Groups && commitAfter[s] == i) {
        PlanPoint commit = pointAt(PlanPoint::Commit, s, schedule.stage[s]);
        commit.engine = statement(s).executedBy;
        commit.leader = mechanism(s).leader;
        insertPoint(r, i, Slot::Commit, commit);
      }
    }
}

BarrierId Deriver::commitBarrier(StatementId first) {
  auto [found, fresh] = commits.try_emplace(first, BarrierId(plan.barriers.size()));
  if (!fresh)
    return found->second;
  PlanPoint commit = pointAt(PlanPoint::Commit, first, schedule.stage[first]);
  commit.engine = statement(first).executedBy;
  commit.leader = mechanism(first).leader;
  commit.barrier = found->second;
  unsigned role = roleOf(first);
  commit.count = commit.leader ? 1 : 32 * (role < sizes.warps.size() ? sizes.warps[role] : 1);
  plan.barriers.push_back({"done " + statement(first).name, 1, commit.count, 0});
  insertPoint(role, indexOf[first], Slot::Commit, commit);
  return found->second;
}

/// Waits within a role, and joins of its threads.
void Deriver::serveWithinRole() {
  for (const Need &need : needs) {
    Mechanism::Ends ends = mechanism(need.first).ends;
    StatementId j = need.second;
    unsigned role = roleOf(j);
    if (ends == Mechanism::Bytes)
      placeWaitBarrier(need, loadBarrier[need.first]);
    else if (ends == Mechanism::Committed)
      placeWaitBarrier(need, commitBarrier(need.first));
    else if (roleOf(need.first) != role || crosses(need))
      continue;
    else
      placeWaitGroup(need, indexOf[j], Slot::WaitGroup, schedule.stage[j],
                     schedule.stage[j] + need.distance);
    if (need.proxyFence && roleOf(need.first) == role && !crosses(need))
      placeFence(role, indexOf[j], Slot::FenceBefore, j, schedule.stage[j], FenceKind::Proxy);
    if (need.registerFence)
      placeFence(role, indexOf[j], Slot::FenceAfter, j, schedule.stage[j], FenceKind::Registers);
  }
  for (unsigned r = 0; r < issues.size(); ++r)
    serveJoins(r);
}

void Deriver::serveJoins(unsigned role) {
  std::vector<const Need *> crossing;
  std::vector<Stretch> stretches;
  for (const Need &need : needs) {
    Mechanism::Ends ends = mechanism(need.first).ends;
    if (roleOf(need.first) != role || roleOf(need.second) != role || !crosses(need) ||
        ends == Mechanism::Bytes || ends == Mechanism::Committed)
      continue;
    // A group ends only after it has been closed.
    size_t from = ends == Mechanism::Groups ? commitAfter[need.first] : indexOf[need.first];
    crossing.push_back(&need);
    stretches.push_back({schedule.stage[need.first], from,
                         schedule.stage[need.second] + need.distance, indexOf[need.second],
                         need.distance});
  }
  std::vector<GapPoint> joins = stab(stretches, issues[role].size(), schedule.numStages());
  for (size_t i = 0; i < crossing.size(); ++i) {
    const Need &need = *crossing[i];
    // The latest join in the stretch leaves the most time.
    const GapPoint *best = nullptr;
    for (const GapPoint &join : joins) {
      int64_t step = stepWithin(stretches[i], join);
      if (step >= 0 && (!best || std::pair(step, join.gap) >
                                     std::pair(stepWithin(stretches[i], *best), best->gap)))
        best = &join;
    }
    if (!best) {
      refuse(need.second, need.first,
             "no point lies between `" + statement(need.first).name + "` and `" +
                 statement(need.second).name + "` in every iteration");
      continue;
    }
    StatementId at = issues[role][best->gap];
    placeWaitGroup(need, best->gap, Slot::WaitGroup, best->stage, stepWithin(stretches[i], *best));
    if (need.proxyFence)
      placeFence(role, best->gap, Slot::FenceBefore, at, best->stage, FenceKind::Proxy);
    if (need.tensorFences) {
      placeFence(role, best->gap, Slot::FenceBefore, at, best->stage, FenceKind::TensorBefore);
      placeFence(role, indexOf[need.second], Slot::FenceAfter, need.second,
                 schedule.stage[need.second], FenceKind::TensorAfter);
    }
    insertPoint(role, best->gap, Slot::Join, pointAt(PlanPoint::Join, at, best->stage));
  }
}

/// The conflict for which the threads of a product first wait until it has ended, if they do so
/// in every iteration.
const Need *Deriver::firstWaitFor(StatementId first) const {
  const Need *known = nullptr;
  auto at = [&](const Need &need) {
    return std::pair(schedule.stage[need.second] + need.distance, indexOf[need.second]);
  };
  for (const Need &need : needs)
    if (need.first == first && roleOf(need.second) == roleOf(first) && !crosses(need) &&
        statement(first).executedBy == Engine::Wgmma && statement(need.second).guard.empty() &&
        (!known || at(need) < at(*known)))
      known = &need;
  return known;
}

/// A barrier on which the threads of \p first arrive when it has ended, at the latest
/// \p trailing iterations after it was issued.
BarrierId Deriver::arrivalBarrier(StatementId first, bool fenced, bool tensor, bool writes,
                                  int64_t trailing) {
  unsigned role = roleOf(first);
  size_t issue = commitAfter[first];
  int64_t stage = schedule.stage[first] + trailing;
  const Need *known = fenced || tensor ? nullptr : firstWaitFor(first);
  if (known && std::pair(schedule.stage[known->second] + known->distance, indexOf[known->second]) >
                   std::pair(stage, issue))
    known = nullptr;
  if (known) {
    stage = schedule.stage[known->second] + known->distance;
    issue = indexOf[known->second];
  } else {
    Need end{first, first, trailing, writes};
    placeWaitGroup(end, ++issue, Slot::TrailingWait, stage, stage);
  }
  if (fenced)
    placeFence(role, issue, Slot::TrailingFence, first, stage, FenceKind::Proxy);
  if (tensor)
    placeFence(role, issue, Slot::TrailingFence, first, stage, FenceKind::TensorBefore);
  auto [found, fresh] = arrivals.try_emplace(first, BarrierId(plan.barriers.size()));
  if (!fresh)
    return found->second;
  PlanPoint arrive = pointAt(PlanPoint::Arrive, first, stage);
  arrive.barrier = found->second;
  arrive.leader = mechanism(first).leader;
  arrive.count = arrive.leader ? 1 : 32 * (role < sizes.warps.size() ? sizes.warps[role] : 1);
  plan.barriers.push_back({"after " + statement(first).name, 1, arrive.count, 0});
  insertPoint(role, issue, known ? Slot::Release : Slot::Arrive, arrive);
  return found->second;
}

void Deriver::serveOtherRoles(int64_t trailing) {
  // Products are released later than they were issued, if all that wait for it can
  // afford that.
  std::map<StatementId, int64_t> nearest;
  auto outside = [&](const Need &need) {
    Mechanism::Ends ends = mechanism(need.first).ends;
    return roleOf(need.first) != roleOf(need.second) && ends != Mechanism::Bytes &&
           ends != Mechanism::Committed;
  };
  for (const Need &need : needs)
    if (outside(need)) {
      auto [found, fresh] = nearest.try_emplace(need.first, need.distance);
      found->second = std::min(found->second, need.distance);
    }
  for (const Need &need : needs) {
    if (!outside(need))
      continue;
    const Mechanism &ends = mechanism(need.first);
    BarrierId barrier;
    // Copies of threads arrive by themselves, unless a fence must follow them.
    bool fenced = std::any_of(needs.begin(), needs.end(), [&](const Need &other) {
      return other.first == need.first && outside(other) && other.proxyFence;
    });
    if (statement(need.first).executedBy == Engine::CpAsync && !fenced) {
      barrier = commitBarrier(need.first);
    } else {
      int64_t late = ends.ends == Mechanism::Groups
                         ? std::clamp<int64_t>(nearest[need.first] - 1, 0, trailing)
                         : 0;
      barrier = arrivalBarrier(need.first, need.proxyFence, need.tensorFences, need.writes, late);
    }
    placeWaitBarrier(need, barrier);
  }
}

void Deriver::assemble() {
  for (unsigned r = 0; r < issues.size(); ++r) {
    PlanRole role;
    role.name = roles.names[r];
    role.warps = r < sizes.warps.size() ? sizes.warps[r] : 1;
    role.firstWarp = r < sizes.firstWarp.size() ? sizes.firstWarp[r] : 0;
    // Points that trail issue i come before those that precede issue i + 1.
    auto key = [](const Placed &p) {
      bool trails =
          p.slot == Slot::TrailingWait || p.slot == Slot::TrailingFence || p.slot == Slot::Arrive;
      return std::tuple(p.issue, !trails, p.slot);
    };
    std::vector<size_t> order(placed[r].size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(key(placed[r][a]), a) < std::pair(key(placed[r][b]), b);
    });
    for (size_t i : order)
      role.points.push_back(placed[r][i].point);
    plan.roles.push_back(std::move(role));
  }
}

/// Loads and products that nothing in the loop awaits: their barriers must not run
/// ahead of the end of the loop.
void Deriver::keepAwaited() {
  for (BarrierId b = 0; b < plan.barriers.size(); ++b) {
    bool awaited = false;
    for (const PlanRole &role : plan.roles)
      for (const PlanPoint &point : role.points)
        awaited |= point.kind == PlanPoint::WaitBarrier && point.barrier == b;
    for (PlanRole &role : plan.roles)
      for (size_t p = 0; !awaited && p < role.points.size(); ++p)
        if (role.points[p].barrier == b && role.points[p].kind != PlanPoint::Issue) {
          PlanPoint wait = pointAt(PlanPoint::WaitBarrier, role.points[p].at, role.points[p].stage);
          wait.barrier = b;
          wait.distance = plan.barriers[b].slots = std::max<int64_t>(2, plan.barriers[b].slots);
          wait.leader = role.points[p].leader;
          role.points.insert(role.points.begin() + ptrdiff_t(p), wait);
          awaited = true;
        }
  }
}

void Deriver::addDrains() {
  for (PlanRole &role : plan.roles) {
    std::set<Engine> groups;
    std::map<BarrierId, bool> barriers; ///< with: only the leader knows their tokens
    for (const PlanPoint &point : role.points) {
      if (point.kind == PlanPoint::Issue) {
        Mechanism::Ends ends = mechanism(point.at).ends;
        if (ends == Mechanism::Groups || ends == Mechanism::WaitAll)
          groups.insert(statement(point.at).executedBy);
      }
      if (point.barrier != none &&
          (point.kind == PlanPoint::Issue || point.kind == PlanPoint::Commit))
        barriers[point.barrier] = point.leader;
    }
    for (Engine engine : groups) {
      PlanPoint wait = pointAt(PlanPoint::WaitGroup, none, 0);
      wait.engine = engine;
      wait.leader = mechanismOf(engine).leader;
      role.drain.push_back(wait);
    }
    for (auto [b, leader] : barriers)
      for (int64_t distance = plan.barriers[b].slots; distance-- > 0;) {
        PlanPoint wait = pointAt(PlanPoint::WaitBarrier, none, 0);
        wait.barrier = b;
        wait.distance = distance;
        wait.leader = leader;
        role.drain.push_back(wait);
      }
  }
}

Plan Deriver::run() {
  if (!checkRoleInput(plan, schedule, roles))
    return std::move(plan);
  layOut();
  needs = findNeeds(plan, schedule, roles);
  if (!plan.diagnostics.empty())
    return std::move(plan);
  groupLoads();
  issueAll();
  // Products without a conflict in the loop are awaited at its end, by a barrier.
  for (StatementId s = 0; s < plan.bound.statements.size(); ++s)
    if (mechanism(s).ends == Mechanism::Committed)
      commitBarrier(s);
  serveWithinRole();
  serveOtherRoles(attempt.trailing);
  if (!plan.diagnostics.empty())
    return std::move(plan);
  assemble();
  if (!plan.straight) {
    keepAwaited();
    separatePhases(plan);
  }
  addDrains();
  prune(plan);
  if (std::vector<Uncovered> gaps = uncovered(plan); !gaps.empty())
    refuse(gaps.front().first != none ? gaps.front().first : 0, none,
           "no synchronization was found: " + gaps.front().what);
  return std::move(plan);
}

/// The first choice with which roles cannot wait for each other forever.
Plan tryAll(const Problem &problem, const Schedule &schedule, const RoleAssignment &roles,
            const RoleSizes &sizes, bool straight) {
  Plan plan;
  for (Attempt attempt :
       {Attempt{1, true, straight}, Attempt{0, true, straight}, Attempt{0, false, straight}}) {
    plan = Deriver(problem, schedule, roles, sizes, attempt).run();
    if (!plan.diagnostics.empty())
      continue;
    RolesVerdict verdict = checkRoles(systemOf(plan));
    if (verdict.live)
      break;
    plan.diagnostics.push_back(verdict.reason);
  }
  return plan;
}

} // namespace

Plan derive(const Problem &problem, const Schedule &schedule, const RoleAssignment &roles,
            const RoleSizes &sizes) {
  return tryAll(problem, schedule, roles, sizes, false);
}

Plan deriveStraight(const Problem &problem, const RoleAssignment &roles, const RoleSizes &sizes) {
  return tryAll(problem, identitySchedule(problem), roles, sizes, true);
}

} // namespace penstock::sched
