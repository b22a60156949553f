//===- CheckProblem.cpp - Is a scheduling problem well formed -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Scheduling/Problem/Problem.h"

#include <algorithm>
#include <set>

namespace penstock::sched {

size_t comparedPairs(const Problem &problem) {
  std::vector<size_t> accesses(problem.buffers.size(), 0);
  for (const Statement &s : problem.statements)
    for (const Access &a : s.accesses)
      if (a.buffer < accesses.size() && !problem.buffers[a.buffer].conflictsGiven)
        ++accesses[a.buffer];
  size_t pairs = problem.conflicts.size();
  for (size_t n : accesses)
    pairs += n * n;
  return pairs;
}

namespace {

/// Coordinates and sizes beyond this are errors, and would not leave room for
/// sums in 64 bits.
constexpr int64_t maxCoordinate = int64_t(1) << 40;

class Checker {
public:
  explicit Checker(const Problem &problem) : problem(problem) {}

  std::vector<Diagnostic> run() {
    names(problem.buffers, "buffer");
    names(problem.queues, "queue");
    names(problem.statements, "statement");
    for (const Buffer &buffer : problem.buffers)
      checkBuffer(buffer);
    for (const Queue &queue : problem.queues)
      for (BufferId b : queue.orders)
        if (b >= problem.buffers.size())
          malformed({}, "queue `" + queue.name + "` orders an unknown buffer");
    for (int64_t capacity : problem.capacity)
      if (capacity < 0 || capacity > maxCoordinate)
        malformed({}, "a capacity is negative or too large");
    for (StatementId s = 0; s < problem.statements.size(); ++s)
      checkStatement(s);
    for (const GivenConflict &conflict : problem.conflicts)
      checkConflict(conflict);
    checkSize();
    return std::move(found);
  }

private:
  Diagnostic &error(unsigned code, const SourceLocation &location, std::string message) {
    Diagnostic d;
    d.code = code;
    d.location = location;
    d.message = std::move(message);
    found.push_back(std::move(d));
    return found.back();
  }
  void malformed(const SourceLocation &location, std::string message) {
    error(ProblemMalformed, location, std::move(message));
  }

  template <typename T> void names(const std::vector<T> &all, const std::string &what) {
    std::set<std::string> seen;
    for (const T &x : all)
      if (x.name.empty() || !seen.insert(x.name).second)
        malformed({}, x.name.empty() ? "a " + what + " has no name"
                                     : "two of the names of a " + what + " are `" + x.name + "`");
  }

  void checkBuffer(const Buffer &);
  void checkRegion(const Region &, const Buffer &, const SourceLocation &);
  void checkAccess(const Access &, const Statement &);
  void checkStatement(StatementId);
  void checkWait(StatementId);
  void checkAsync(StatementId);
  void checkConflict(const GivenConflict &);
  void checkSize();
  bool hasCommit(QueueId queue, StatementId from = 0) const {
    for (StatementId s = from; s < problem.statements.size(); ++s)
      if (problem.statements[s].kind == StatementKind::Commit &&
          problem.statements[s].queue == queue)
        return true;
    return false;
  }

  const Problem &problem;
  std::vector<Diagnostic> found;
};

void Checker::checkBuffer(const Buffer &buffer) {
  if (buffer.bytes < 0 || buffer.bytes > maxCoordinate)
    malformed(buffer.location, "the size of `" + buffer.name + "` is negative or too large");
  if (buffer.statedVersions > unsigned(maxDistance))
    malformed(buffer.location, "`" + buffer.name + "` states too many versions");
  for (int64_t extent : buffer.shape)
    if (extent < 1 || extent > maxCoordinate)
      malformed(buffer.location, "an extent of `" + buffer.name + "` is less than 1 or too large");
  for (const Region &region : buffer.readAfter)
    checkRegion(region, buffer, buffer.location);
}

void Checker::checkRegion(const Region &region, const Buffer &buffer,
                          const SourceLocation &location) {
  if (region.kind != Region::Kind::Box)
    return;
  if (region.box.empty())
    malformed(location, "a box of `" + buffer.name + "` has no dimension");
  if (!buffer.shape.empty() && region.box.size() != buffer.shape.size())
    malformed(location, "a region of `" + buffer.name + "` has " +
                            std::to_string(region.box.size()) + " dimensions, the buffer has " +
                            std::to_string(buffer.shape.size()));
  for (const AffineInterval &x : region.box)
    if (!x.unbounded && (x.length < 1 || x.length > maxCoordinate ||
                         std::max(x.offset, -x.offset) > maxCoordinate ||
                         std::max(x.scale, -x.scale) > maxCoordinate))
      malformed(location,
                "a region of `" + buffer.name + "` is empty or its numbers are too large");
}

void Checker::checkAccess(const Access &access, const Statement &statement) {
  if (access.buffer >= problem.buffers.size())
    return malformed(statement.location, "`" + statement.name + "` accesses an unknown buffer");
  checkRegion(access.region, problem.buffers[access.buffer], statement.location);
}

void Checker::checkStatement(StatementId s) {
  const Statement &statement = problem.statements[s];
  for (const Access &access : statement.accesses)
    checkAccess(access, statement);
  for (const Literal &literal : statement.guard)
    if (exclusive({literal}, statement.guard))
      malformed(statement.location, "the condition of `" + statement.name + "` is never true");
  if (statement.queue != none && statement.queue >= problem.queues.size())
    return malformed(statement.location, "`" + statement.name + "` is in an unknown queue");
  if (statement.busy < 0 || statement.busy > maxCoordinate || statement.latency < 0 ||
      statement.latency > maxCoordinate)
    malformed(statement.location, "a time of `" + statement.name + "` is negative or too large");
  bool isWait = statement.kind == StatementKind::Wait;
  bool isCommit = statement.kind == StatementKind::Commit;
  if (!isWait && (!statement.awaits.empty() || statement.count >= 0 || statement.awaitsBefore ||
                  !statement.settles.empty()))
    malformed(statement.location, "`" + statement.name + "` awaits something and is not a wait");
  if (statement.async && (isWait || isCommit || statement.kind == StatementKind::Fence ||
                          statement.kind == StatementKind::Scalar))
    malformed(statement.location,
              "`" + statement.name + "` is asynchronous and a " + kindName(statement.kind));
  if (statement.queue != none && !statement.async && !isWait && !isCommit)
    malformed(statement.location, "`" + statement.name + "` is in a queue and not asynchronous");
  if (statement.group < -1 || (statement.group >= 0 && !statement.async))
    malformed(statement.location, "`" + statement.name +
                                      "` is in a commit group and not "
                                      "asynchronous");
  if (statement.group >= 0 && statement.queue != none && hasCommit(statement.queue))
    malformed(statement.location, "`" + statement.name +
                                      "` has a commit group and a commit of its "
                                      "own");
  if (statement.parent != none &&
      (statement.parent >= problem.statements.size() || statement.parent == s ||
       problem.statements[statement.parent].parent != none))
    malformed(statement.location,
              "the parent of `" + statement.name + "` must be another statement without a parent");
  if (!statement.users.empty() && statement.kind != StatementKind::Scalar)
    malformed(statement.location, "`" + statement.name + "` has users and is not a scalar");
  for (StatementId user : statement.users) {
    if (user >= problem.statements.size())
      malformed(statement.location, "`" + statement.name + "` is used by an unknown statement");
    else if (user <= s)
      error(ScalarUserBefore, problem.statements[user].location,
            "`" + problem.statements[user].name + "` uses `" + statement.name +
                "`, which is defined after it");
  }
  if (isCommit) {
    if (statement.queue == none)
      malformed(statement.location, "commit `" + statement.name + "` names no queue");
    if (!statement.guard.empty())
      error(ConditionalCommit, statement.location,
            "`" + statement.name + "` commits a group only if `" +
                statement.guard.front().condition + "` holds, so no wait can count the groups")
          .helps.push_back("commit unconditionally; an empty group is free");
  }
  if (isWait)
    checkWait(s);
  if (statement.async)
    checkAsync(s);
}

void Checker::checkWait(StatementId w) {
  const Statement &wait = problem.statements[w];
  if (wait.count >= 0) {
    if (wait.queue == none)
      malformed(wait.location, "counted wait `" + wait.name + "` names no queue");
    else if (!hasCommit(wait.queue))
      error(AwaitsNothing, wait.location,
            "`" + wait.name + "` counts the groups of `" + problem.queues[wait.queue].name +
                "`, to which nothing in the loop commits");
    if (wait.count > maxStage)
      malformed(wait.location, "`" + wait.name + "` counts too many groups");
    if (!wait.guard.empty())
      error(ConditionalWait, wait.location,
            "`" + wait.name + "` counts groups only if `" + wait.guard.front().condition +
                "` holds")
          .helps.push_back("wait unconditionally");
  } else if (wait.count != -1) {
    malformed(wait.location, "`" + wait.name + "` has a negative count");
  } else if (wait.awaits.empty() && !wait.awaitsBefore) {
    error(AwaitsNothing, wait.location, "`" + wait.name + "` awaits nothing");
  }
  if (wait.awaitsBefore && !wait.guard.empty())
    error(ConditionalWait, wait.location,
          "`" + wait.name + "` runs only if `" + wait.guard.front().condition +
              "` holds, and operations that were issued before the loop may run without it")
        .helps.push_back("wait unconditionally, or before the loop");
  for (const Access &access : wait.settles)
    checkAccess(access, wait);
  for (const Await &await : wait.awaits) {
    if (await.statement >= problem.statements.size()) {
      malformed(wait.location, "`" + wait.name + "` awaits an unknown statement");
      continue;
    }
    const Statement &awaited = problem.statements[await.statement];
    if (!awaited.async)
      malformed(wait.location,
                "`" + wait.name + "` awaits `" + awaited.name + "`, which is not asynchronous");
    if (await.distance < 0 || await.distance > maxStage)
      malformed(wait.location, "`" + wait.name + "` awaits at a negative or too large distance");
    if (!await.reads && !await.writes)
      malformed(wait.location, "`" + wait.name +
                                   "` awaits neither reads nor "
                                   "writes of `" +
                                   awaited.name + "`");
    if (await.distance == 0 && await.statement >= w) {
      Diagnostic &d = error(AwaitsUnissued, wait.location,
                            "`" + wait.name + "` awaits `" + awaited.name +
                                "` of its own iteration, which is issued only after it");
      d.notes.push_back({awaited.location, "`" + awaited.name + "` is here", ""});
      d.helps.push_back("await it with distance 1, or move the wait after it");
    }
    // At another iteration the condition is another value.
    bool exists = wait.guard.empty() || (await.distance == 0 && implies(awaited.guard, wait.guard));
    if (!exists) {
      Diagnostic &d = error(ConditionalWait, wait.location,
                            "`" + wait.name + "` runs only if `" + wait.guard.front().condition +
                                "` holds, and `" + awaited.name + "` may run without it");
      d.notes.push_back({awaited.location, "`" + awaited.name + "` is here", ""});
      d.helps.push_back("wait unconditionally");
    }
  }
}

void Checker::checkAsync(StatementId s) {
  const Statement &statement = problem.statements[s];
  if (statement.queue != none && hasCommit(statement.queue) && !hasCommit(statement.queue, s + 1))
    error(NeverCommitted, statement.location,
          "`" + statement.name + "` is not followed by a commit in its iteration")
        .helps.push_back("add a commit after it");
}

void Checker::checkConflict(const GivenConflict &c) {
  if (c.first >= problem.statements.size() || c.second >= problem.statements.size() ||
      c.buffer >= problem.buffers.size())
    return malformed({}, "a conflict names an unknown statement or buffer");
  const Buffer &buffer = problem.buffers[c.buffer];
  if (!buffer.conflictsGiven)
    malformed({}, "conflicts of `" + buffer.name + "` are given and computed from regions");
  if (!c.firstWrites && !c.secondWrites)
    malformed({}, "a conflict on `" + buffer.name + "` between two reads");
  for (const DistanceSet::Range &r : c.distances.ranges())
    if (r.lo < 0 || r.step < 1 || (r.hi && *r.hi < r.lo))
      malformed({}, "a set of distances on `" + buffer.name +
                        "` is empty or "
                        "negative");
}

void Checker::checkSize() {
  size_t pairs = comparedPairs(problem);
  if (pairs > maxPairs)
    error(InstanceTooLarge, problem.location,
          "the loop has " + std::to_string(pairs) +
              " pairs of accesses to the same buffer; at most " + std::to_string(maxPairs) +
              " are compared");
}

} // namespace

std::vector<Diagnostic> checkProblem(const Problem &problem) { return Checker(problem).run(); }

} // namespace penstock::sched
