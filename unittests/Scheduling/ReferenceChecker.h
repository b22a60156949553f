//===- ReferenceChecker.h - Schedules checked instance by instance -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definitions of docs/contributing/scheduling-instances.md carried out on concrete
// iterations and cells: no distances, no closed forms. Slow, and independent of
// the library except for its data types.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_SCHEDULING_REFERENCECHECKER_H
#define PENSTOCK_UNITTESTS_SCHEDULING_REFERENCECHECKER_H

#include "Diagnostics/Codes.h"
#include "Scheduling/Problem/Problem.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace penstock::sched::test {

class ReferenceChecker {
public:
  ReferenceChecker(const Problem &p, const Schedule &s) : p(p), s(s) {
    horizon = 2 * s.numStages() + 10;
    bindWaits();
    findEnds();
  }

  std::set<unsigned> codes;
  std::map<std::string, unsigned> versions;

  void run() {
    for (size_t i = 0; i < count(); ++i)
      for (size_t j = i + 1; j < count(); ++j)
        if (s.order[i] == s.order[j]) {
          codes.insert(OrderTwice);
          return;
        }
    for (unsigned b = 0; b < p.buffers.size(); ++b)
      checkBuffer(b);
    waits();
    settled();
    commits();
    scalars();
  }

private:
  using Time = std::pair<int64_t, int64_t>;
  struct Instance {
    unsigned i;
    int64_t k;
    auto operator<=>(const Instance &) const = default;
  };

  size_t count() const { return p.statements.size(); }
  const Statement &st(unsigned i) const { return p.statements[i]; }
  Time at(Instance x) const { return {x.k + s.stage[x.i], s.order[x.i]}; }
  static bool sequentially(Instance a, Instance b) {
    return std::pair(a.k, a.i) < std::pair(b.k, b.i);
  }

  /// Runs the loop in source order, without end, and notes for each instance
  /// the waits that end its reads and writes.
  void bindWaits() {
    int64_t most = horizon + 8;
    struct Group {
      Instance commit;
      std::vector<Instance> members;
    };
    std::map<QueueId, std::vector<Group>> groups;
    std::map<QueueId, std::vector<Instance>> open;
    for (int64_t k = 0; k < most; ++k)
      for (unsigned i = 0; i < count(); ++i) {
        const Statement &x = st(i);
        if (x.async && x.queue != none)
          open[x.queue].push_back({i, k});
        if (x.kind == StatementKind::Commit) {
          groups[x.queue].push_back({{i, k}, open[x.queue]});
          open[x.queue].clear();
        }
        if (x.kind != StatementKind::Wait)
          continue;
        for (const Await &a : x.awaits)
          if (k >= a.distance)
            note({a.statement, k - a.distance}, {i, k}, a.reads, a.writes);
        if (x.count >= 0) {
          auto &all = groups[x.queue];
          for (int64_t g = 0; g + x.count < int64_t(all.size()); ++g) {
            for (Instance member : all[g].members)
              note(member, {i, k}, true, !x.countReadsOnly);
            // The first iteration of the wait that ends the group.
            if (!all[g].members.empty() && committed.insert({all[g].commit, i}).second &&
                at(all[g].commit) >= at({i, k}))
              waitsBeforeCommit = true;
          }
        }
      }
  }
  void note(Instance x, Instance wait, bool reads, bool writes) {
    if (reads)
      ends[{x, false}].push_back(wait);
    if (writes)
      ends[{x, true}].push_back(wait);
  }
  struct End {
    bool awaited = false;
    Time at;
  };
  void findEnds() {
    for (bool write : {false, true})
      for (unsigned i = 0; i < count(); ++i)
        for (int64_t k = 0; k < horizon + 8; ++k) {
          End end{false, at({i, k})};
          if (auto found = ends.find({{i, k}, write}); found != ends.end()) {
            end = {true, at(found->second.front())};
            for (Instance w : found->second)
              end.at = std::min(end.at, at(w));
          }
          endOf[write].push_back(end);
        }
  }
  const End &endAt(Instance x, bool write) const { return endOf[write][x.i * (horizon + 8) + x.k]; }
  bool awaited(Instance x, bool write) const { return endAt(x, write).awaited; }
  Time completion(Instance x, bool write) const { return endAt(x, write).at; }

  std::set<int64_t> cells(const Region &r, int64_t k) const {
    std::set<int64_t> out;
    for (int64_t c = 0; c < r.box[0].length; ++c)
      out.insert(r.box[0].scale * k + r.box[0].offset + c);
    return out;
  }
  bool meet(const Region &a, int64_t ka, const Region &b, int64_t kb) const {
    if (a.kind != Region::Kind::Box || b.kind != Region::Kind::Box)
      return true;
    int64_t first = b.box[0].scale * kb + b.box[0].offset;
    for (int64_t c = 0; c < a.box[0].length; ++c) {
      int64_t cell = a.box[0].scale * ka + a.box[0].offset + c;
      if (cell >= first && cell < first + b.box[0].length)
        return true;
    }
    return false;
  }

  /// The literals that hold for certain in iteration `k` if both exist.
  Guard known(int64_t k, std::initializer_list<Instance> exist) const {
    Guard g;
    for (Instance x : exist)
      if (x.k == k)
        g.insert(g.end(), st(x.i).guard.begin(), st(x.i).guard.end());
    return g;
  }
  static bool contradictory(const Guard &g) {
    for (const Literal &a : g)
      for (const Literal &b : g)
        if (a.condition == b.condition && a.negated != b.negated)
          return true;
    return false;
  }
  bool coexist(Instance a, Instance b) const {
    return a.k != b.k || !contradictory(known(a.k, {a, b}));
  }
  static bool holds(const Guard &known, const Guard &wanted) {
    for (const Literal &l : wanted)
      if (std::find(known.begin(), known.end(), l) == known.end())
        return false;
    return true;
  }

  /// Where `a` has ended as far as `b` is concerned, if before `b`.
  std::optional<Time> endedBefore(Instance a, bool write, Instance b, unsigned buffer) const {
    std::optional<Time> best;
    auto consider = [&](Time t) {
      if (t < at(b) && (!best || t < *best))
        best = t;
    };
    consider(completion(a, write));
    const Statement &x = st(a.i);
    if (!x.async || x.queue == none || !p.queues[x.queue].inOrder)
      return best;
    const auto &orders = p.queues[x.queue].orders;
    if (st(b.i).async && st(b.i).queue == x.queue &&
        std::find(orders.begin(), orders.end(), buffer) != orders.end())
      consider(at(a));
    for (unsigned m = 0; m < count(); ++m)
      for (int64_t k = a.k; k <= b.k; ++k) {
        Instance later{m, k};
        if (st(m).async && st(m).queue == x.queue && at(later) > at(a) && awaited(later, write) &&
            holds(known(k, {a, b}), st(m).guard))
          consider(completion(later, write));
      }
    return best;
  }

  void checkBuffer(unsigned b) {
    bool may = mayHaveVersions(b);
    unsigned needed = may ? neededVersions(b) : 1;
    versions[p.buffers[b].name] = needed;
    unsigned stated = p.buffers[b].statedVersions;
    if (stated > 1 && !may)
      codes.insert(VersionsOnFixed);
    int64_t v = may && stated ? stated : needed;
    bool carriedHazard = false;
    forPairs(b, [&](Instance x, const Access &ax, Instance y, const Access &ay) {
      if ((may && (y.k - x.k) % v != 0) || !coexist(x, y) || !meet(ax.region, x.k, ay.region, y.k))
        return;
      if (!endedBefore(x, ax.write, y, b)) {
        codes.insert(!ay.write ? ReadBeforeWrite : ax.write ? WriteBeforeWrite : WriteBeforeRead);
        carriedHazard |= y.k > x.k;
        return;
      }
      if (!fenced(x, ax, y, ay, b))
        codes.insert(FenceMoved);
    });
    if (may && stated && stated < needed && !carriedHazard)
      codes.insert(VersionsTooFew);
  }

  template <typename Fn> void forPairs(unsigned b, Fn fn) {
    for (unsigned i = 0; i < count(); ++i)
      for (const Access &ax : st(i).accesses)
        for (unsigned j = 0; j < count(); ++j)
          for (const Access &ay : st(j).accesses) {
            if (ax.buffer != b || ay.buffer != b || (!ax.write && !ay.write))
              continue;
            for (int64_t k = 0; k < horizon / 2; ++k)
              for (int64_t l = k; l < horizon; ++l)
                if (sequentially({i, k}, {j, l}))
                  fn(Instance{i, k}, ax, Instance{j, l}, ay);
          }
  }

  unsigned neededVersions(unsigned b) {
    for (unsigned v = 1;; ++v) {
      bool good = true;
      for (unsigned i = 0; i < count() && good; ++i)
        for (const Access &ax : st(i).accesses)
          for (unsigned j = 0; j < count() && good; ++j)
            for (const Access &ay : st(j).accesses) {
              if (ax.buffer != b || ay.buffer != b || (!ax.write && !ay.write))
                continue;
              bool ever = false;
              for (int64_t k = 0; k < 14 && !ever; ++k)
                for (int64_t l = 0; l < 14 && !ever; ++l)
                  ever = meet(ax.region, k, ay.region, l);
              if (ever && !endedBefore({i, 3}, ax.write, {j, 3 + v}, b))
                good = false;
            }
      if (good)
        return v;
    }
  }

  bool mayHaveVersions(unsigned b) {
    const Buffer &buffer = p.buffers[b];
    if (buffer.space == Space::Global)
      return false;
    // All values of the two conditions that the generator uses.
    for (int values = 0; values < 4; ++values) {
      Guard now = {{"c", (values & 1) != 0}, {"d", (values & 2) != 0}};
      for (int64_t k = 0; k < 14; ++k) {
        std::set<int64_t> written;
        bool all = false;
        auto coveredHere = [&](const Region &r) {
          if (all)
            return true;
          if (r.kind == Region::Kind::Whole && buffer.shape.empty())
            return false;
          std::set<int64_t> wanted;
          if (r.kind == Region::Kind::Whole)
            for (int64_t c = 0; c < buffer.shape[0]; ++c)
              wanted.insert(c);
          else
            wanted = cells(r, k);
          return std::includes(written.begin(), written.end(), wanted.begin(), wanted.end());
        };
        for (unsigned i = 0; i < count(); ++i) {
          if (!holds(now, st(i).guard))
            continue;
          for (const Access &a : st(i).accesses)
            if (a.buffer == b && !a.write && !coveredHere(a.region))
              return false;
          for (const Access &a : st(i).accesses) {
            if (a.buffer != b || !a.write)
              continue;
            bool box = a.region.kind == Region::Kind::Box;
            all |= !box;
            if (box) {
              written.merge(cells(a.region, k));
              all |= !buffer.shape.empty() && a.region.box[0].scale == 0 &&
                     a.region.box[0].offset == 0 && a.region.box[0].length == buffer.shape[0];
            }
          }
        }
        for (const Region &r : buffer.readAfter)
          if (!coveredHere(r))
            return false;
      }
    }
    return true;
  }

  bool fenced(Instance x, const Access &ax, Instance y, const Access &ay, unsigned b) const {
    auto matches = [&](unsigned f) {
      auto in = [](const auto &list, auto value) {
        return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
      };
      return st(f).kind == StatementKind::Fence && in(st(f).fenceFrom, ax.proxy) &&
             in(st(f).fenceTo, ay.proxy) && in(st(f).fenceSpaces, p.buffers[b].space);
    };
    Time ended = *endedBefore(x, ax.write, y, b);
    for (unsigned f = 0; f < count(); ++f)
      for (int64_t k = x.k; k <= y.k; ++k) {
        Instance fence{f, k};
        Guard with = known(k, {x, y});
        with.insert(with.end(), st(f).guard.begin(), st(f).guard.end());
        if (!matches(f) || !sequentially(x, fence) || !sequentially(fence, y) ||
            contradictory(with))
          continue;
        bool kept = false;
        for (unsigned g = 0; g < count() && !kept; ++g)
          for (int64_t l = x.k; l <= y.k && !kept; ++l)
            kept = matches(g) && ended < at({g, l}) && at({g, l}) < at(y) &&
                   holds(l == k ? with : known(l, {x, y}), st(g).guard);
        if (!kept)
          return false;
      }
    return true;
  }

  void waits() {
    if (waitsBeforeCommit)
      codes.insert(WaitBeforeIssue);
    for (auto &[key, all] : ends)
      for (Instance w : all) {
        // A counted wait is bound to the first iteration that ends the group;
        // later ones end it again.
        if (!(at(key.first) < at(w)) && bound(key.first, key.second, w))
          codes.insert(WaitBeforeIssue);
      }
  }
  bool bound(Instance x, bool write, Instance w) const {
    for (Instance other : ends.at({x, write}))
      if (other.i == w.i && other.k < w.k)
        return false;
    return true;
  }

  /// An operation from before the loop is over at iteration 0 of its wait.
  void settled() {
    for (unsigned w = 0; w < count(); ++w)
      for (const Access &before : st(w).settles)
        for (unsigned j = 0; j < count(); ++j)
          for (const Access &after : st(j).accesses)
            for (int64_t k = 0; k < horizon; ++k)
              if (after.buffer == before.buffer && (after.write || before.write) &&
                  sequentially({w, 0}, {j, k}) && meet(before.region, 0, after.region, k) &&
                  at({j, k}) < at({w, 0}))
                codes.insert(!after.write   ? ReadBeforeWrite
                             : before.write ? WriteBeforeWrite
                                            : WriteBeforeRead);
  }

  void commits() {
    for (unsigned c = 0; c < count(); ++c) {
      if (st(c).kind != StatementKind::Commit)
        continue;
      std::vector<unsigned> group;
      for (unsigned i = c; i-- > 0;) {
        if (st(i).kind == StatementKind::Commit && st(i).queue == st(c).queue)
          break;
        if (st(i).async && st(i).queue == st(c).queue)
          group.push_back(i);
      }
      for (unsigned i : group) {
        if (s.stage[i] != s.stage[c])
          codes.insert(CommitOtherStage);
        if (s.order[i] > s.order[c])
          codes.insert(CommitBeforeGroup);
        for (unsigned o = 0; o < count(); ++o) {
          bool member = std::find(group.begin(), group.end(), o) != group.end();
          bool queued =
              st(o).queue == st(c).queue && (st(o).async || st(o).kind == StatementKind::Commit);
          if (o != c && !member && queued && s.order[o] > s.order[i] && s.order[o] < s.order[c])
            codes.insert(CommitNotAlone);
        }
      }
    }
  }

  void scalars() {
    for (unsigned i = 0; i < count(); ++i)
      for (unsigned u : st(i).users)
        if (s.stage[i] != s.stage[u])
          codes.insert(ScalarOtherStage);
        else if (s.order[i] > s.order[u])
          codes.insert(ScalarBeforeUse);
  }

  const Problem &p;
  const Schedule &s;
  int64_t horizon;
  std::map<std::pair<Instance, bool>, std::vector<Instance>> ends;
  std::vector<End> endOf[2];
  std::set<std::pair<Instance, unsigned>> committed;
  bool waitsBeforeCommit = false;
};

} // namespace penstock::sched::test

#endif // PENSTOCK_UNITTESTS_SCHEDULING_REFERENCECHECKER_H
