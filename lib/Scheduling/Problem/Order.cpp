//===- Order.cpp - Order of instances in a schedule -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Order.h"

#include <algorithm>

namespace penstock::sched {

Order::Order(const LoopModel &model, const Schedule &schedule) : model(model), schedule(schedule) {
  const Problem &problem = model.problem;
  members.resize(problem.queues.size());
  for (StatementId s = 0; s < problem.statements.size(); ++s) {
    readDone.push_back(earliest(s, false));
    writeDone.push_back(earliest(s, true));
    const Statement &statement = problem.statements[s];
    if (statement.async && statement.queue != none)
      members[statement.queue].push_back(s);
  }
}

Order::Done Order::earliest(StatementId s, bool writes) const {
  Done done{issue(s), {}};
  if (!model.rules.has(Rule::Completion))
    return done;
  for (const Completion &by : model.waits(s, writes)) {
    Position at = issue(by.wait).later(by.distance);
    if (done.by.wait == none || at < done.at)
      done = {at, by};
  }
  return done;
}

bool Order::existsWithPair(StatementId s, int64_t e, StatementId first, StatementId second,
                           int64_t d) const {
  const auto &statements = model.problem.statements;
  Guard known;
  if (e == 0)
    known = statements[first].guard;
  if (e == d)
    known.insert(known.end(), statements[second].guard.begin(), statements[second].guard.end());
  return implies(known, statements[s].guard);
}

/// Returns the position of a wait for a later member of the queue that completes `pair.first`
/// before (pair.second, d), if there is one.
std::optional<Position> Order::laterMember(StatementId member, const Pair &pair, int64_t d) const {
  // Without a written wait there is nothing that ends the member.
  if (completedBy(member, pair.firstWrites).wait == none)
    return std::nullopt;
  Position start = issue(pair.first), stop = issue(pair.second).later(d);
  // The first iteration that is issued after (first, k) ends earliest.
  int64_t e = std::max<int64_t>(0, start.step - issue(member).step);
  if (issue(member).later(e) <= start)
    ++e;
  if (e > d && model.rules.has(Rule::QueueRange))
    return std::nullopt;
  for (int64_t at : {e, std::max(e, d)})
    if (Position done = completion(member, pair.firstWrites).later(at);
        done < stop && (!model.rules.has(Rule::QueueGuard) ||
                        existsWithPair(member, at, pair.first, pair.second, d)))
      return done;
  return std::nullopt;
}

bool Order::queueInOrder(StatementId s) const {
  const Statement &statement = model.problem.statements[s];
  return statement.async && statement.queue != none &&
         (model.problem.queues[statement.queue].inOrder || !model.rules.has(Rule::QueueInOrder));
}

bool Order::accumulatorInOrder(const Pair &pair, int64_t d) const {
  const Statement &first = model.problem.statements[pair.first];
  const Statement &second = model.problem.statements[pair.second];
  if (!second.async || second.queue != first.queue)
    return false;
  const std::vector<BufferId> &ordered = model.problem.queues[first.queue].orders;
  return (std::find(ordered.begin(), ordered.end(), pair.buffer) != ordered.end() ||
          !model.rules.has(Rule::QueueBuffers)) &&
         (issue(pair.first) < issue(pair.second).later(d) ||
          !model.rules.has(Rule::QueueIssueOrder));
}

bool Order::inOrderByQueue(const Pair &pair, int64_t d) const {
  if (!queueInOrder(pair.first))
    return false;
  if (accumulatorInOrder(pair, d))
    return true;
  const auto &queue = members[model.problem.statements[pair.first].queue];
  return std::any_of(queue.begin(), queue.end(),
                     [&](StatementId m) { return laterMember(m, pair, d).has_value(); });
}

Position Order::completionFor(const Pair &pair, int64_t d) const {
  Position done = completion(pair.first, pair.firstWrites);
  if (!queueInOrder(pair.first))
    return done;
  if (accumulatorInOrder(pair, d))
    done = std::min(done, issue(pair.first));
  for (StatementId m : members[model.problem.statements[pair.first].queue])
    if (auto at = laterMember(m, pair, d))
      done = std::min(done, *at);
  return done;
}

bool Order::inOrder(const Pair &pair, int64_t d) const {
  return completion(pair.first, pair.firstWrites) < issue(pair.second).later(d) ||
         inOrderByQueue(pair, d);
}

} // namespace penstock::sched
