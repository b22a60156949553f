//===- OrderOracle.cpp - Checks schedules by concrete instances -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "OrderOracle.h"
#include "Cells.h"

#include <algorithm>
#include <bitset>
#include <optional>

using namespace penstock::fuzz;

namespace {

/// Iterations in which regions are compared: beyond the last one in which two
/// boxes of different speed can still meet.
constexpr int64_t horizon = 48;

using Kind = LoopStatement::Kind;

/// A position in the order of the schedule.
struct Moment {
  int64_t step, order;
  friend auto operator<=>(const Moment &, const Moment &) = default;
};

bool opposite(const std::vector<Term> &a, const std::vector<Term> &b) {
  for (const Term &x : a)
    for (const Term &y : b)
      if (x.condition == y.condition && x.negated != y.negated)
        return true;
  return false;
}

bool meet(const Box &a, int64_t k, const Box &b, int64_t l) {
  if (a.whole() || b.whole() || a.spans.size() != b.spans.size())
    return true;
  for (size_t d = 0; d < a.spans.size(); ++d) {
    // Along a dimension where an offset is not known nothing keeps them apart.
    if (a.spans[d].motion != Span::Motion::Affine || b.spans[d].motion != Span::Motion::Affine)
      continue;
    int64_t x = beginOf(a.spans[d], k), y = beginOf(b.spans[d], l);
    if (x + a.spans[d].length <= y || y + b.spans[d].length <= x)
      return false;
  }
  return true;
}

/// How many iterations show all offsets of two boxes.
int64_t iterationsOf(const Box &a, const Box &b) {
  for (const Box *box : {&a, &b})
    for (const Span &span : box->spans)
      if (span.scale != 0)
        return horizon;
  return 1;
}

bool meetAtDistance(const Box &a, const Box &b, int64_t d) {
  for (int64_t k = 0, end = iterationsOf(a, b); k < end; ++k)
    if (meet(a, k, b, k + d))
      return true;
  return false;
}

bool meetEver(const Box &a, const Box &b) {
  int64_t end = iterationsOf(a, b);
  for (int64_t k = 0; k < end; ++k)
    for (int64_t l = 0; l < end; ++l)
      if (meet(a, k, b, l))
        return true;
  return false;
}

/// An access of a statement, seen from outside.
struct Seen {
  int statement;
  bool write;
  Touch touch;
};

class OrderChecker {
public:
  OrderChecker(const Loop &loop, const Plan &plan) : loop(loop), plan(plan) {
    for (int i = 0; i < loop.size(); ++i) {
      for (Touch &touch : visibleReads(loop, i))
        seen.push_back({i, false, touch});
      for (Touch &touch : visibleWrites(loop, i))
        seen.push_back({i, true, touch});
      waits.push_back(loop.statements[size_t(i)].kind == Kind::Wait ? namedBy(loop, i)
                                                                    : std::vector<Naming>());
    }
    for (const auto &names : waits)
      for (const Naming &name : names)
        longestWait = std::max(longestWait, name.distance);
    reach = plan.stages() + longestWait + 2;
    for (int i = 0; i < loop.size(); ++i)
      for (bool write : {false, true})
        done.push_back(findDone(i, write));
  }

  OrderVerdict run() {
    OrderVerdict verdict;
    for (size_t b = 0; b < loop.buffers.size(); ++b)
      count(int(b), verdict);
    pairs(verdict);
    for (size_t b = 0; b < loop.buffers.size(); ++b)
      stated(int(b), verdict);
    awaits(verdict);
    before(verdict);
    scalars(verdict);
    commits(verdict);
    groups(verdict);
    fences(verdict);
    return verdict;
  }

private:
  const LoopStatement &at(int i) const { return loop.statements[size_t(i)]; }
  Moment issue(int i, int64_t k) const {
    return {k + plan.stage[size_t(i)], plan.order[size_t(i)]};
  }

  /// Where iteration 0 is over; no value if no written wait says so.
  std::optional<Moment> findDone(int i, bool write) const {
    std::optional<Moment> first;
    for (int w = 0; w < loop.size(); ++w)
      for (const Naming &name : waits[size_t(w)])
        if (name.statement == i && (write ? name.writes : name.reads)) {
          Moment moment = issue(w, name.distance);
          if (!first || moment < *first)
            first = moment;
        }
    return first;
  }
  std::optional<Moment> awaitedAt(int i, bool write) const {
    return done[2 * size_t(i) + size_t(write)];
  }
  Moment over(int i, bool write) const { return awaitedAt(i, write).value_or(issue(i, 0)); }

  bool inQueue(int i) const {
    return at(i).async && at(i).queue >= 0 && loop.queues[size_t(at(i).queue)].inOrder;
  }

  /// Is the guard of (s, e) true whenever (i, 0) and (j, d) exist, and (f, e2)
  /// if it is given?
  bool existsWith(int s, int64_t e, int i, int j, int64_t d, int f = -1, int64_t e2 = -1) const {
    std::vector<Term> known;
    auto add = [&](int statement) {
      known.insert(known.end(), at(statement).guard.begin(), at(statement).guard.end());
    };
    if (e == 0)
      add(i);
    if (e == d)
      add(j);
    if (f >= 0 && e == e2)
      add(f);
    return holdsAll(known, at(s).guard);
  }

  /// The earliest moment at which (i, 0) is over as far as (j, d) is concerned,
  /// if that is before (j, d) is issued.
  std::optional<Moment> inOrder(int i, bool write, int j, int64_t d, int buffer) const {
    Moment later = issue(j, d);
    std::optional<Moment> best;
    auto offer = [&](Moment moment) {
      if (moment < later && (!best || moment < *best))
        best = moment;
    };
    offer(over(i, write));
    if (!inQueue(i))
      return best;
    const LoopQueue &queue = loop.queues[size_t(at(i).queue)];
    if (at(j).async && at(j).queue == at(i).queue &&
        std::count(queue.orders.begin(), queue.orders.end(), buffer))
      offer(issue(i, 0));
    for (int m = 0; m < loop.size(); ++m) {
      if (!at(m).async || at(m).queue != at(i).queue || !awaitedAt(m, write))
        continue;
      for (int64_t e = 0; e <= d; ++e)
        if (issue(i, 0) < issue(m, e) && existsWith(m, e, i, j, d)) {
          Moment moment = *awaitedAt(m, write);
          offer({moment.step + e, moment.order});
        }
    }
    return best;
  }

  /// How many versions a buffer needs.
  void count(int b, OrderVerdict &verdict) {
    const LoopBuffer &buffer = loop.buffers[size_t(b)];
    int64_t needed = 1;
    bool may = mayHaveVersions(loop, b);
    if (may)
      for (const Seen &x : seen)
        for (const Seen &y : seen)
          if (x.touch.buffer == b && y.touch.buffer == b && (x.write || y.write) &&
              !inOrder(x.statement, x.write, y.statement, needed, b) &&
              meetEver(x.touch.box, y.touch.box))
            while (!inOrder(x.statement, x.write, y.statement, needed, b))
              ++needed;
    verdict.versions.push_back(needed);
    verdict.slots.push_back(may && buffer.statedVersions > 0 ? buffer.statedVersions : needed);
    if (!may && buffer.statedVersions > 1)
      verdict.codes.insert(1217);
  }

  /// Is the pair in the same slot, and can both instances exist?
  bool conflict(const Seen &x, const Seen &y, int64_t d, const OrderVerdict &verdict) const {
    if (x.touch.buffer != y.touch.buffer || !(x.write || y.write))
      return false;
    if (d == 0 &&
        (x.statement >= y.statement || opposite(at(x.statement).guard, at(y.statement).guard)))
      return false;
    if (d % verdict.slots[size_t(x.touch.buffer)] != 0)
      return false;
    return meetAtDistance(x.touch.box, y.touch.box, d);
  }

  void pairs(OrderVerdict &verdict) {
    for (const Seen &x : seen)
      for (const Seen &y : seen)
        for (int64_t d = 0; d <= reach; ++d) {
          if (x.touch.buffer != y.touch.buffer ||
              inOrder(x.statement, x.write, y.statement, d, x.touch.buffer) ||
              !conflict(x, y, d, verdict))
            continue;
          verdict.broken.push_back({x.statement, y.statement, d, x.touch.buffer, x.write, y.write,
                                    x.touch.box.opaque() || y.touch.box.opaque()});
          verdict.codes.insert(!x.write ? 1203 : y.write ? 1202 : 1201);
        }
  }

  void stated(int b, OrderVerdict &verdict) {
    if (verdict.slots[size_t(b)] >= verdict.versions[size_t(b)])
      return;
    for (const BrokenPair &pair : verdict.broken)
      if (pair.buffer == b && pair.distance > 0)
        return;
    verdict.codes.insert(1216);
  }

  void awaits(OrderVerdict &verdict) {
    for (int w = 0; w < loop.size(); ++w)
      for (const Naming &name : waits[size_t(w)]) {
        bool issued = issue(name.statement, 0) < issue(w, name.distance);
        // A group can be awaited once it is committed.
        if (at(w).count >= 0)
          issued &= issue(commitOf(loop, name.statement), 0) < issue(w, name.distance);
        if (!issued)
          verdict.codes.insert(1204);
      }
  }

  /// What follows the wait for an operation from before the loop, and meets it, is
  /// issued after iteration 0 of the wait.
  void before(OrderVerdict &verdict) {
    for (int w = 0; w < loop.size(); ++w)
      for (bool write : {false, true})
        for (const Touch &touch : write ? at(w).settles.writes : at(w).settles.reads)
          for (const Seen &y : seen)
            for (int64_t k = 0; k <= reach; ++k) {
              bool follows = k > 0 || y.statement > w;
              if (y.touch.buffer != touch.buffer || !(write || y.write) || !follows ||
                  issue(w, 0) < issue(y.statement, k) || !meet(touch.box, 0, y.touch.box, k))
                continue;
              verdict.broken.push_back({fromBefore(w), y.statement, k, touch.buffer, write, y.write,
                                        touch.box.opaque() || y.touch.box.opaque()});
              verdict.codes.insert(!write ? 1203 : y.write ? 1202 : 1201);
            }
  }

  void scalars(OrderVerdict &verdict) {
    for (int i = 0; i < loop.size(); ++i)
      for (int user : at(i).users) {
        if (plan.stage[size_t(i)] != plan.stage[size_t(user)])
          verdict.codes.insert(1205);
        else if (plan.order[size_t(i)] >= plan.order[size_t(user)])
          verdict.codes.insert(1206);
      }
  }

  void commits(OrderVerdict &verdict) {
    for (int c = 0; c < loop.size(); ++c) {
      if (at(c).kind != Kind::Commit)
        continue;
      std::optional<int64_t> smallest;
      for (int i = 0; i < loop.size(); ++i) {
        if (commitOf(loop, i) != c)
          continue;
        int64_t order = plan.order[size_t(i)];
        smallest = std::min(smallest.value_or(order), order);
        if (plan.stage[size_t(i)] != plan.stage[size_t(c)])
          verdict.codes.insert(1207);
        if (order > plan.order[size_t(c)])
          verdict.codes.insert(1208);
      }
      for (int i = 0; smallest && i < loop.size(); ++i)
        if (i != c && at(i).queue == at(c).queue && commitOf(loop, i) != c &&
            (at(i).async || at(i).kind == Kind::Commit) && plan.order[size_t(i)] > *smallest &&
            plan.order[size_t(i)] < plan.order[size_t(c)])
          verdict.codes.insert(1209);
    }
  }

  void groups(OrderVerdict &verdict) {
    for (int i = 0; i < loop.size(); ++i)
      for (int j = 0; j < loop.size(); ++j) {
        if (i == j || at(i).group < 0 || at(i).group != at(j).group)
          continue;
        if (plan.stage[size_t(i)] != plan.stage[size_t(j)])
          verdict.codes.insert(1207);
        for (int m = 0; m < loop.size(); ++m)
          if (at(m).group >= 0 && at(m).group != at(i).group &&
              plan.order[size_t(m)] > plan.order[size_t(i)] &&
              plan.order[size_t(m)] < plan.order[size_t(j)])
            verdict.codes.insert(1209);
      }
  }

  bool orders(int f, const Seen &x, const Seen &y) const {
    auto matches = [](const std::vector<Path> &side, Path path) {
      return side.empty() || std::count(side.begin(), side.end(), path);
    };
    return at(f).kind == Kind::Fence && matches(at(f).from, x.touch.path) &&
           matches(at(f).to, y.touch.path);
  }

  void fences(OrderVerdict &verdict) {
    if (std::none_of(loop.statements.begin(), loop.statements.end(),
                     [](const LoopStatement &s) { return s.kind == Kind::Fence; }))
      return;
    for (const Seen &x : seen)
      for (const Seen &y : seen)
        for (int64_t d = 0; d <= 2 * reach; ++d) {
          if (!conflict(x, y, d, verdict))
            continue;
          auto ended = inOrder(x.statement, x.write, y.statement, d, x.touch.buffer);
          if (ended && !fenced(x, y, d, *ended))
            verdict.codes.insert(1210);
        }
  }

  /// Is every fence that separates the pair in source order replaced by one
  /// that separates it in the order of the schedule?
  bool fenced(const Seen &x, const Seen &y, int64_t d, Moment ended) const {
    int i = x.statement, j = y.statement;
    for (int f = 0; f < loop.size(); ++f)
      for (int64_t e = 0; e <= d; ++e) {
        bool between = (e > 0 || f > i) && (e < d || f < j);
        if (!between || !orders(f, x, y) || (e == 0 && opposite(at(f).guard, at(i).guard)) ||
            (e == d && opposite(at(f).guard, at(j).guard)))
          continue;
        bool kept = false;
        for (int g = 0; g < loop.size() && !kept; ++g)
          for (int64_t e2 = 0; e2 <= d && !kept; ++e2)
            kept = orders(g, x, y) && ended < issue(g, e2) && issue(g, e2) < issue(j, d) &&
                   existsWith(g, e2, i, j, d, f, e);
        if (!kept)
          return false;
      }
    return true;
  }

  const Loop &loop;
  const Plan &plan;
  std::vector<Seen> seen;
  std::vector<std::vector<Naming>> waits;
  std::vector<std::optional<Moment>> done;
  int64_t longestWait = 0;
  int64_t reach = 0;
};

} // namespace

bool OrderVerdict::form() const {
  return std::any_of(codes.begin(), codes.end(),
                     [](unsigned code) { return code < 1201 || code > 1204; });
}

/// Codes of stages and orders that are wrong whatever the loop.
static std::set<unsigned> checkNumbers(const Plan &plan) {
  std::set<unsigned> codes;
  if (std::any_of(plan.stage.begin(), plan.stage.end(), [](int64_t s) { return s < 0; }))
    codes.insert(1211);
  if (std::set<int64_t>(plan.order.begin(), plan.order.end()).size() != plan.order.size())
    codes.insert(1212);
  return codes;
}

OrderVerdict penstock::fuzz::checkOrder(const Loop &loop, const Plan &plan) {
  OrderVerdict verdict;
  verdict.codes = checkForm(loop);
  if (!verdict.codes.empty()) {
    verdict.malformed = true;
    return verdict;
  }
  if (plan.stage.size() != loop.statements.size() || plan.order.size() != loop.statements.size()) {
    verdict.codes.insert(1200);
    return verdict;
  }
  verdict.codes = checkNumbers(plan);
  if (!verdict.codes.empty())
    return verdict;
  return OrderChecker(loop, plan).run();
}
