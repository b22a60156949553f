//===- LoopModel.cpp - Properties of any schedule -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/LoopModel.h"

#include <algorithm>
#include <set>

namespace penstock::sched {
namespace {

/// More conditions than this are not split into cases: 2^8 coverings of small
/// boxes are cheap, and no kernel has more around one buffer.
constexpr size_t maxSplitConditions = 8;

/// A read of a whole buffer of known shape is a box, so that writes of its
/// parts can cover it.
Region asRead(const Region &region, const Buffer &buffer) {
  if (region.kind != Region::Kind::Whole || buffer.shape.empty())
    return region;
  Region box;
  box.kind = Region::Kind::Box;
  for (int64_t extent : buffer.shape)
    box.box.push_back({0, 0, extent});
  return box;
}

/// A write of all of a buffer's cells covers whatever is read, moving or not.
Region asWrite(const Region &region, const Buffer &buffer) {
  if (region.kind == Region::Kind::Box && !buffer.shape.empty() &&
      region == asRead(Region{}, buffer))
    return Region{};
  return region;
}

struct GuardedWrite {
  Guard guard;
  Region region;
};

/// Is \p read covered whenever \p guard holds, whatever the other conditions?
bool coveredUnder(const Region &read, const Guard &guard, const std::vector<GuardedWrite> &writes) {
  std::set<std::string> open;
  for (const GuardedWrite &w : writes)
    for (const Literal &literal : w.guard)
      open.insert(literal.condition);
  for (const Literal &literal : guard)
    open.erase(literal.condition);
  std::vector<std::string> conditions(open.begin(), open.end());
  if (conditions.size() > maxSplitConditions)
    conditions.clear(); // then only implied writes count
  for (size_t values = 0; values >> conditions.size() == 0; ++values) {
    Guard known = guard;
    for (size_t c = 0; c < conditions.size(); ++c)
      known.push_back({conditions[c], (values >> c & 1) != 0});
    std::vector<Region> present;
    for (const GuardedWrite &w : writes)
      if (implies(known, w.guard))
        present.push_back(w.region);
    if (!covered(read, present))
      return false;
  }
  return true;
}

} // namespace

LoopModel::LoopModel(const Problem &problem, RuleSet rules) : problem(problem), rules(rules) {
  findPairs();
  bindWaits();
  findVersionable();
}

void LoopModel::findPairs() {
  struct Use {
    StatementId statement;
    const Access *access;
  };
  std::vector<std::vector<Use>> uses(problem.buffers.size());
  for (StatementId s = 0; s < problem.statements.size(); ++s)
    for (const Access &access : problem.statements[s].accesses)
      if (!problem.buffers[access.buffer].conflictsGiven)
        uses[access.buffer].push_back({s, &access});
  auto guardsExclude = [&](StatementId a, StatementId b) {
    return exclusive(problem.statements[a].guard, problem.statements[b].guard);
  };
  for (BufferId b = 0; b < uses.size(); ++b)
    for (const Use &x : uses[b])
      for (const Use &y : uses[b]) {
        if (!x.access->write && !y.access->write)
          continue;
        DistanceSet distances = overlapDistances(x.access->region, y.access->region);
        // A pair that overlaps only the other way round still counts when
        // versions are computed: it overlaps for some pair of iterations.
        if (distances.empty() && overlapDistances(y.access->region, x.access->region).empty())
          continue;
        pairs.push_back({x.statement, y.statement, b, x.access->write, y.access->write,
                         x.access->proxy, y.access->proxy, std::move(distances),
                         guardsExclude(x.statement, y.statement), x.access->holder,
                         y.access->holder});
      }
  for (const GivenConflict &c : problem.conflicts) {
    auto accessOf = [&](StatementId s, bool write) {
      Access found;
      bool any = false;
      for (const Access &a : problem.statements[s].accesses)
        if (a.buffer == c.buffer && a.write == write) {
          HolderId holder = any && a.holder != found.holder ? none : a.holder;
          if (!any)
            found = a;
          found.holder = holder;
          any = true;
        }
      return found;
    };
    Access first = accessOf(c.first, c.firstWrites), second = accessOf(c.second, c.secondWrites);
    pairs.push_back({c.first, c.second, c.buffer, c.firstWrites, c.secondWrites, first.proxy,
                     second.proxy, c.distances, guardsExclude(c.first, c.second), first.holder,
                     second.holder});
    bool reverseGiven =
        std::any_of(problem.conflicts.begin(), problem.conflicts.end(), [&](auto &other) {
          return other.first == c.second && other.second == c.first && other.buffer == c.buffer &&
                 other.firstWrites == c.secondWrites && other.secondWrites == c.firstWrites;
        });
    if (!reverseGiven)
      pairs.push_back({c.second, c.first, c.buffer, c.secondWrites, c.firstWrites, second.proxy,
                       first.proxy, DistanceSet(), guardsExclude(c.first, c.second), second.holder,
                       first.holder});
  }
}

void LoopModel::bindWaits() {
  size_t count = problem.statements.size();
  readWaits.resize(count);
  writeWaits.resize(count);
  commitWaits.resize(count);
  commitOf.assign(count, none);
  for (StatementId s = 0; s < count; ++s) {
    const Statement &statement = problem.statements[s];
    if (!statement.async || statement.queue == none)
      continue;
    for (StatementId c = s + 1; c < count && commitOf[s] == none; ++c)
      if (problem.statements[c].kind == StatementKind::Commit &&
          problem.statements[c].queue == statement.queue)
        commitOf[s] = c;
  }
  for (StatementId w = 0; w < count; ++w) {
    const Statement &wait = problem.statements[w];
    if (wait.kind != StatementKind::Wait)
      continue;
    for (const Await &await : wait.awaits) {
      if (await.reads)
        readWaits[await.statement].push_back({w, await.distance});
      if (await.writes || (await.reads && !rules.has(Rule::ReadCompletion)))
        writeWaits[await.statement].push_back({w, await.distance});
    }
    if (wait.count >= 0)
      bindCountedWait(w);
  }
  if (!rules.has(Rule::WaitDistance))
    for (auto *waits : {&readWaits, &writeWaits})
      for (std::vector<Completion> &of : *waits)
        for (Completion &c : of)
          c.distance = 0;
}

void LoopModel::bindCountedWait(StatementId w) {
  const Statement &wait = problem.statements[w];
  int64_t n = rules.has(Rule::CountedBinding) ? wait.count : 0;
  std::vector<StatementId> commits;
  for (StatementId c = 0; c < problem.statements.size(); ++c)
    if (problem.statements[c].kind == StatementKind::Commit &&
        problem.statements[c].queue == wait.queue)
      commits.push_back(c);
  int64_t perIteration = int64_t(commits.size());
  auto before = [&](StatementId s) {
    return std::lower_bound(commits.begin(), commits.end(), s) - commits.begin();
  };
  for (int64_t index = 0; index < perIteration; ++index) {
    StatementId c = commits[index];
    // Groups committed after (c, k - a) and before (w, k): the wait ends group
    // c of that iteration when there are n of them or more.
    int64_t a = c < w ? 0 : 1;
    while (a * perIteration + before(w) - index - 1 < n)
      ++a;
    if (std::find(commitOf.begin(), commitOf.end(), c) != commitOf.end())
      commitWaits[c].push_back({w, a});
    for (StatementId s = 0; s < problem.statements.size(); ++s) {
      if (commitOf[s] != c)
        continue;
      readWaits[s].push_back({w, a});
      if (!wait.countReadsOnly || !rules.has(Rule::ReadCompletion))
        writeWaits[s].push_back({w, a});
    }
  }
}

void LoopModel::findVersionable() {
  for (BufferId b = 0; b < problem.buffers.size(); ++b) {
    std::string why = whyNotVersionable(b);
    if (!rules.has(Rule::Versionable) && problem.buffers[b].space != Space::Global)
      why.clear();
    versionable.push_back(why.empty());
    fixedBecause.push_back(std::move(why));
  }
}

std::string LoopModel::whyNotVersionable(BufferId b) const {
  const Buffer &buffer = problem.buffers[b];
  if (buffer.versioning == Buffer::Versioning::Allowed)
    return "";
  if (buffer.versioning == Buffer::Versioning::Fixed)
    return buffer.fixedBecause.empty() ? "its versions are fixed" : buffer.fixedBecause;
  if (buffer.space == Space::Global)
    return "the kernel does not allocate it";
  if (buffer.conflictsGiven)
    return "nothing shows that each iteration writes what it reads";
  std::vector<GuardedWrite> writes;
  for (const Statement &statement : problem.statements) {
    for (const Access &read : statement.accesses)
      if (read.buffer == b && !read.write &&
          !coveredUnder(asRead(read.region, buffer), statement.guard, writes))
        return "`" + statement.name + "` reads " + buffer.name + " as an earlier iteration left it";
    for (const Access &write : statement.accesses)
      if (write.buffer == b && write.write && !write.maybe)
        writes.push_back({statement.guard, asWrite(write.region, buffer)});
  }
  for (const Region &read : buffer.readAfter)
    if (!coveredUnder(asRead(read, buffer), {}, writes))
      return "what is read after the loop is not all written by its last "
             "iteration";
  return "";
}

} // namespace penstock::sched
