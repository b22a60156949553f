//===- RandomLoops.h - Random loop bodies and schedules ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_SCHEDULING_RANDOMLOOPS_H
#define PENSTOCK_UNITTESTS_SCHEDULING_RANDOMLOOPS_H

#include "Scheduling/Text/Text.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace penstock::sched::test {

class RandomLoops {
public:
  explicit RandomLoops(uint64_t seed) : rng(seed) {}

  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  /// A body of up to \p most statements, and a schedule for it.
  Instance instance(int most = 7) {
    Instance i;
    Problem &p = i.problem;
    p.name = "random";
    int buffers = pick(1, 4);
    for (int b = 0; b < buffers; ++b)
      p.buffers.push_back(buffer(b));
    int queues = pick(0, 2);
    for (int q = 0; q < queues; ++q) {
      Queue queue;
      queue.name = "q" + std::to_string(q);
      queue.inOrder = chance(60);
      if (queue.inOrder)
        for (int b = 0; b < buffers; ++b)
          if (chance(50))
            queue.orders.push_back(b);
      p.queues.push_back(queue);
    }
    int count = pick(1, most);
    // Half of the bodies pass tiles on: each buffer has one region, is written
    // once and read later. The others do anything.
    if (chance(50)) {
      passOn(p, count);
    } else {
      for (int s = 0; s < count; ++s)
        p.statements.push_back(work(p, s));
    }
    addSynchronization(p);
    addBefore(p);
    for (size_t s = 0; s < p.statements.size(); ++s)
      p.statements[s].name = "s" + std::to_string(s);
    i.schedule = schedule(p);
    return i;
  }

private:
  Buffer buffer(int b) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(b);
    buffer.space = chance(25) ? Space::Global : Space::Shared;
    if (chance(30))
      buffer.shape = {pick(2, 4)};
    if (buffer.space != Space::Global && chance(15))
      buffer.statedVersions = pick(1, 4);
    if (chance(20))
      buffer.readAfter.push_back(region());
    return buffer;
  }
  Region region() {
    Region r;
    if (chance(55))
      return r;
    r.kind = Region::Kind::Box;
    int scale = chance(50) ? 0 : pick(-1, 2);
    r.box.push_back({scale, pick(0, 3), pick(1, 3)});
    return r;
  }
  Guard guard() {
    Guard g;
    if (chance(15))
      g.push_back({chance(50) ? "c" : "d", chance(40)});
    return g;
  }
  Statement work(const Problem &p, int) {
    Statement s;
    s.kind = chance(30) ? StatementKind::Copy : StatementKind::Compute;
    s.guard = guard();
    int buffers = int(p.buffers.size());
    // Mostly a chain through the buffers, so that many loops are sensible.
    for (int n = pick(0, 2); n > 0; --n)
      s.accesses.push_back(access(pick(0, buffers - 1), false));
    for (int n = chance(85) ? 1 : pick(0, 2); n > 0; --n)
      s.accesses.push_back(access(pick(0, buffers - 1), true));
    if (chance(30)) {
      s.async = true;
      if (!p.queues.empty() && chance(70))
        s.queue = pick(0, int(p.queues.size()) - 1);
    }
    return s;
  }
  void passOn(Problem &p, int count) {
    std::vector<Region> regions;
    for (size_t b = 0; b < p.buffers.size(); ++b) {
      regions.push_back(region());
      p.buffers[b].readAfter.clear();
    }
    size_t written = 0;
    for (int n = 0; n < count; ++n) {
      Statement s = work(p, n);
      s.accesses.clear();
      if (chance(80))
        s.guard.clear();
      for (size_t b = 0; b < written; ++b)
        if (chance(60)) {
          Access a = access(int(b), false);
          a.region = regions[b];
          s.accesses.push_back(a);
        }
      if (written < p.buffers.size() && (written == 0 || chance(60))) {
        Access a = access(int(written), true);
        a.region = regions[written++];
        s.accesses.push_back(a);
      }
      p.statements.push_back(s);
    }
  }
  Access access(int buffer, bool write) {
    Access a;
    a.buffer = buffer;
    a.write = write;
    a.region = region();
    a.proxy = chance(30) ? Proxy::Async : Proxy::Generic;
    return a;
  }

  /// Inserts \p s at \p at, and moves what refers to later statements.
  void insert(Problem &p, size_t at, Statement s) {
    p.statements.insert(p.statements.begin() + at, std::move(s));
    for (Statement &other : p.statements) {
      for (Await &a : other.awaits)
        if (a.statement >= at && a.statement != none)
          ++a.statement;
      for (StatementId &u : other.users)
        if (u >= at)
          ++u;
    }
  }

  void addSynchronization(Problem &p) {
    // Groups: a commit at the end of a queue, perhaps one in the middle.
    for (QueueId q = 0; q < p.queues.size(); ++q) {
      if (!chance(40))
        continue;
      Statement commit;
      commit.kind = StatementKind::Commit;
      commit.queue = q;
      size_t last = 0;
      for (size_t s = 0; s < p.statements.size(); ++s)
        if (p.statements[s].async && p.statements[s].queue == q)
          last = s + 1;
      insert(p, pick(int(last), int(p.statements.size())), commit);
      if (chance(40))
        insert(p, pick(0, int(last)), commit);
      if (chance(80)) {
        Statement wait;
        wait.kind = StatementKind::Wait;
        wait.queue = q;
        wait.count = pick(0, 2);
        wait.countReadsOnly = chance(20);
        insert(p, pick(0, int(p.statements.size())), wait);
      }
    }
    for (size_t s = 0; s < p.statements.size(); ++s)
      if (p.statements[s].async && chance(50)) {
        Statement wait;
        wait.kind = StatementKind::Wait;
        size_t at = pick(0, int(p.statements.size()));
        Await await;
        await.statement = StatementId(s);
        await.distance = at <= s ? pick(1, 2) : chance(70) ? 0 : pick(1, 2);
        if (chance(20))
          (chance(50) ? await.reads : await.writes) = false;
        if (await.distance == 0 && chance(50))
          wait.guard = p.statements[s].guard;
        wait.awaits.push_back(await);
        // The inserted wait shifts the statement that it names.
        p.statements.insert(p.statements.begin() + at, wait);
        for (size_t o = 0; o < p.statements.size(); ++o)
          for (Await &a : p.statements[o].awaits)
            if (a.statement >= at)
              ++a.statement;
        for (Statement &other : p.statements)
          for (StatementId &u : other.users)
            if (u >= at)
              ++u;
        if (at <= s)
          ++s;
      }
    if (chance(15)) {
      Statement fence;
      fence.kind = StatementKind::Fence;
      if (chance(50))
        fence.fenceFrom.push_back(chance(70) ? Proxy::Generic : Proxy::Async);
      if (chance(50))
        fence.fenceTo.push_back(chance(70) ? Proxy::Async : Proxy::Generic);
      fence.guard = guard();
      insert(p, pick(0, int(p.statements.size())), fence);
    }
    if (chance(15) && !p.statements.empty()) {
      Statement scalar;
      scalar.kind = StatementKind::Scalar;
      scalar.accesses.push_back(access(pick(0, int(p.buffers.size()) - 1), false));
      size_t at = pick(0, int(p.statements.size()) - 1);
      insert(p, at, scalar);
      p.statements[at].users.push_back(pick(int(at) + 1, int(p.statements.size()) - 1));
    }
  }

  /// Waits for what was issued before the loop as well.
  void addBefore(Problem &p) {
    auto below = [&](unsigned bound) { return unsigned(others() % bound); };
    if (below(100) >= 30)
      return;
    for (Statement &s : p.statements)
      if (s.kind == StatementKind::Wait && s.count < 0 && s.guard.empty() && below(2)) {
        s.awaitsBefore = true;
        Access access;
        access.buffer = below(unsigned(p.buffers.size()));
        access.write = below(100) < 70;
        if (below(2))
          access.region = {Region::Kind::Box, {{0, int64_t(below(4)), 1 + int64_t(below(3))}}};
        s.settles.push_back(access);
      }
  }

  Schedule schedule(const Problem &p) {
    Schedule s = identitySchedule(p);
    size_t count = p.statements.size();
    int stages = pick(0, 3);
    // Stages that rise in source order are often legal; others often not.
    if (chance(75)) {
      int64_t stage = 0;
      for (size_t i = 0; i < count; ++i) {
        if (stage < stages && chance(35))
          ++stage;
        s.stage[i] = stage;
      }
    } else {
      for (size_t i = 0; i < count; ++i)
        s.stage[i] = pick(0, stages);
    }
    for (int swaps = chance(50) ? 0 : pick(1, 4); swaps > 0; --swaps)
      std::swap(s.order[pick(0, int(count) - 1)], s.order[pick(0, int(count) - 1)]);
    if (chance(2))
      s.order[0] = s.order[count - 1];
    return s;
  }

  std::mt19937_64 rng;
  std::mt19937_64 others{12345}; ///< apart, so that the rest of a loop does not depend on it
};

} // namespace penstock::sched::test

#endif // PENSTOCK_UNITTESTS_SCHEDULING_RANDOMLOOPS_H
