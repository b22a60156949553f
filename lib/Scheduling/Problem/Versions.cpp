//===- Versions.cpp - Required versions of buffers ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Versions.h"

#include <algorithm>
#include <map>

namespace penstock::sched {
namespace {

bool inOrderAfter(const Order &order, const Pair &pair, int64_t v) {
  if (order.inOrder(pair, v))
    return true;
  return !order.model.rules.has(Rule::VersionOrder) &&
         order.completion(pair.first, pair.firstWrites).step <= order.issue(pair.second).step + v;
}

/// The first position in the order P at which a conflict needs `statement` to
/// have ended its reads or writes.
ImplicitWait firstWait(const Order &order, const std::vector<BufferVersions> &versions,
                       StatementId statement, bool writes) {
  ImplicitWait wait{statement, none, 0, !writes, writes};
  std::optional<Position> at;
  for (const Pair &pair : order.model.pairs) {
    if (pair.first != statement || pair.firstWrites != writes)
      continue;
    int64_t v = versions[pair.buffer].count;
    for (int64_t d = 0; d <= maxDistance; d += v) {
      Position here = order.issue(pair.second).later(d);
      if (at && here >= *at)
        break; // later distances come later still
      if (!pair.occursAt(d) || order.inOrderByQueue(pair, d))
        continue;
      at = here;
      wait.before = pair.second;
      wait.distance = d;
      break;
    }
  }
  return wait;
}

} // namespace

std::vector<BufferVersions> versions(const Order &order) {
  const LoopModel &model = order.model;
  std::vector<BufferVersions> result(model.problem.buffers.size());
  for (const Pair &pair : model.pairs) {
    if (!model.versionable[pair.buffer])
      continue;
    if (pair.first == pair.second && !model.rules.has(Rule::SelfPairs))
      continue;
    BufferVersions &buffer = result[pair.buffer];
    while (buffer.needed <= maxDistance && !inOrderAfter(order, pair, buffer.needed)) {
      ++buffer.needed;
      buffer.first = pair.first;
      buffer.second = pair.second;
    }
  }
  for (BufferId b = 0; b < result.size(); ++b) {
    unsigned stated = model.problem.buffers[b].statedVersions;
    result[b].count = model.versionable[b] && stated ? stated : result[b].needed;
  }
  return result;
}

std::vector<BufferVersions> versions(const Problem &problem, const Schedule &schedule) {
  LoopModel model(problem);
  return versions(Order(model, schedule));
}

std::vector<ImplicitWait> implicitWaits(const Order &order,
                                        const std::vector<BufferVersions> &versions) {
  const Problem &problem = order.model.problem;
  std::vector<ImplicitWait> result;
  for (StatementId s = 0; s < problem.statements.size(); ++s) {
    const Statement &statement = problem.statements[s];
    if (!statement.async)
      continue;
    std::optional<ImplicitWait> parts[2];
    for (bool writes : {false, true}) {
      bool has = std::any_of(statement.accesses.begin(), statement.accesses.end(),
                             [&](const Access &a) { return a.write == writes; });
      if (has && order.model.waits(s, writes).empty())
        parts[writes] = firstWait(order, versions, s, writes);
    }
    // One wait ends both, so it goes where the first of the two is needed.
    if (parts[0] && parts[1]) {
      auto at = [&](const ImplicitWait &w) { return order.issue(w.before).later(w.distance); };
      bool readsFirst =
          parts[1]->before == none || (parts[0]->before != none && at(*parts[0]) < at(*parts[1]));
      parts[!readsFirst]->reads = parts[!readsFirst]->writes = true;
      parts[readsFirst].reset();
    }
    for (const auto &part : parts)
      if (part)
        result.push_back(*part);
  }
  return result;
}

std::vector<ImplicitWait> emittedWaits(const Order &order,
                                       const std::vector<BufferVersions> &versions) {
  const Problem &problem = order.model.problem;
  std::vector<ImplicitWait> result;
  for (StatementId s = 0; s < problem.statements.size(); ++s) {
    if (!problem.statements[s].async)
      continue;
    // Whatever conflicts, each statement once, at its smallest distance.
    std::map<StatementId, int64_t> nearest;
    for (const Pair &pair : order.model.pairs) {
      if (pair.first != s || !order.model.waits(s, pair.firstWrites).empty())
        continue;
      int64_t v = versions[pair.buffer].count, d = 0;
      while (d <= maxDistance && (!pair.occursAt(d) || order.inOrderByQueue(pair, d)))
        d += v;
      if (d > maxDistance)
        continue;
      auto [found, isNew] = nearest.try_emplace(pair.second, d);
      found->second = std::min(found->second, d);
    }
    auto at = [&](const ImplicitWait &w) { return order.issue(w.before).later(w.distance); };
    std::vector<ImplicitWait> waits;
    for (auto [before, distance] : nearest)
      waits.push_back({s, before, distance, true, true});
    std::sort(waits.begin(), waits.end(),
              [&](const auto &a, const auto &b) { return at(a) < at(b); });
    // Omits a wait if an earlier one has always completed its operation.
    size_t first = result.size();
    for (const ImplicitWait &w : waits)
      if (std::none_of(result.begin() + ptrdiff_t(first), result.end(),
                       [&](const ImplicitWait &earlier) {
                         return earlier.distance <= w.distance &&
                                order.existsWithPair(earlier.before, earlier.distance, s, w.before,
                                                     w.distance);
                       }))
        result.push_back(w);
  }
  return result;
}

std::optional<int64_t> emittedCount(const Order &order, StatementId wait, int64_t k, int64_t n) {
  const Problem &problem = order.model.problem;
  Position here = order.issue(wait).later(k);
  // The latest awaited group, in the order of issue, decides: everything issued
  // after it may still be in flight.
  std::optional<Position> latest;
  for (StatementId s = 0; s < problem.statements.size(); ++s) {
    StatementId commit = order.model.commitOf[s];
    if (commit == none)
      continue;
    for (bool writes : {false, true})
      for (const Completion &by : order.model.waits(s, writes)) {
        if (by.wait != wait)
          continue;
        int64_t iteration = std::min(k - by.distance, n - 1);
        if (iteration < 0)
          continue;
        Position at = order.issue(commit).later(iteration);
        if (!latest || at > *latest)
          latest = at;
      }
  }
  if (!latest)
    return std::nullopt;
  int64_t count = 0;
  for (StatementId c = 0; c < problem.statements.size(); ++c) {
    if (problem.statements[c].kind != StatementKind::Commit ||
        problem.statements[c].queue != problem.statements[wait].queue)
      continue;
    for (int64_t i = 0; i < n; ++i) {
      Position at = order.issue(c).later(i);
      count += at > *latest && at < here;
    }
  }
  return count;
}

std::vector<Overflow> overflows(const Problem &problem,
                                const std::vector<BufferVersions> &versions) {
  std::vector<Overflow> result;
  for (size_t space = 0; space < numSpaces; ++space) {
    int64_t capacity = problem.capacity[space];
    if (capacity == 0)
      continue;
    // Saturates: sizes come from text and must not wrap around into legality.
    auto total = [&](unsigned most) {
      __int128 sum = 0;
      for (BufferId b = 0; b < problem.buffers.size(); ++b)
        if (size_t(problem.buffers[b].space) == space)
          sum += __int128(problem.buffers[b].bytes) * std::min(most, versions[b].count);
      return int64_t(std::min<__int128>(sum, INT64_MAX));
    };
    Overflow overflow{Space(space), total(~0u), capacity, 0, none};
    if (overflow.needed <= capacity)
      continue;
    while (total(overflow.fits + 1) <= capacity)
      ++overflow.fits;
    for (BufferId b = 0; b < problem.buffers.size(); ++b)
      if (size_t(problem.buffers[b].space) == space &&
          (overflow.largest == none ||
           problem.buffers[b].bytes * versions[b].count >
               problem.buffers[overflow.largest].bytes * versions[overflow.largest].count))
        overflow.largest = b;
    result.push_back(overflow);
  }
  return result;
}

} // namespace penstock::sched
