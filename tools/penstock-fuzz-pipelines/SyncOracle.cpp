//===- SyncOracle.cpp - Plans, instance by instance -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SyncOracle.h"

#include <algorithm>
#include <map>

using namespace penstock;
using namespace penstock::sched;

namespace penstock::fuzz {
namespace {

using Kind = PlanPoint::Kind;

bool leads(Engine e) {
  return e == Engine::TmaLoad || e == Engine::TmaStore || e == Engine::Tcgen05Mma;
}
bool synchronous(Engine e) { return e == Engine::Threads || e == Engine::MmaSync; }
bool hasGroups(Engine e) {
  return e == Engine::CpAsync || e == Engine::TmaStore || e == Engine::Wgmma;
}

/// Fences that a path has passed. The one of the later thread is looked for at the
/// end of the path.
enum Bits { ProxyBit = 1, RegisterBit = 2, BeforeBit = 4, BitSets = 8 };

class Instances {
public:
  /// \p runs: the iterations of each run of the loop, \p n in all.
  Instances(const Plan &plan, int64_t n, std::vector<int64_t> runs, unsigned threads,
            SyncFaults &faults)
      : plan(plan), n(n), runs(std::move(runs)), threads(threads), faults(faults),
        issues(plan, n, threads), ends(plan, n, threads) {
    for (const PlanRole &role : plan.roles)
      for (const PlanPoint &point : role.points)
        anyGuarded |= point.guarded;
    layOut();
    connect();
  }

  void check() {
    checkConflicts();
    checkEnds();
    checkPhases();
  }

private:
  struct Edge {
    size_t to;
    /// Counted only if this conditional instance exists; none: always.
    const PlanPoint *needs = nullptr;
    int64_t iteration = 0;
    unsigned bits = 0;
    bool ofWrites = true; ///< false: leaves from the end of reads only
    bool timing = false;  ///< orders execution, and publishes nothing
  };
  struct Node {
    const PlanPoint *point = nullptr;
    int64_t k = 0;
    unsigned role = 0, thread = 0;
    size_t order = 0; ///< position in the program order of the thread
    std::vector<Edge> out;
  };
  /// A node for each point, iteration and thread.
  class Table {
  public:
    Table(const Plan &plan, int64_t n, unsigned threads) : plan(plan), n(n), threads(threads) {
      size_t points = 0;
      for (const PlanRole &role : plan.roles) {
        first.push_back(points);
        points += role.points.size() + role.drain.size();
      }
      nodes.resize(points * size_t(n + 1) * threads);
    }
    size_t &at(const PlanPoint &point, int64_t k, unsigned thread) {
      for (size_t r = 0;; ++r)
        for (bool drain : {false, true}) {
          const auto &list = drain ? plan.roles[r].drain : plan.roles[r].points;
          if (&point < list.data() || &point >= list.data() + list.size())
            continue;
          size_t id =
              first[r] + size_t(&point - list.data()) + (drain ? plan.roles[r].points.size() : 0);
          return nodes[(id * size_t(n + 1) + size_t(k)) * threads + thread];
        }
    }

  private:
    const Plan &plan;
    int64_t n;
    unsigned threads;
    std::vector<size_t> first, nodes;
  };

  size_t add(const PlanPoint *point, int64_t k, unsigned role, unsigned thread) {
    nodes.push_back({point, k, role, thread, 0, {}});
    return nodes.size() - 1;
  }
  void edge(size_t from, size_t to, const PlanPoint *needs = nullptr, int64_t iteration = 0,
            unsigned bits = 0, bool ofWrites = true) {
    nodes[from].out.push_back(
        {to, needs && needs->guarded ? needs : nullptr, iteration, bits, ofWrites});
  }
  unsigned threadsOf(const PlanPoint &point) const { return point.leader ? 1 : threads; }
  const Statement &statementOf(const PlanPoint &point) const {
    return plan.bound.statements[point.at];
  }

  void layOut();
  void connect();
  void connectThread(const std::vector<size_t> &program);
  void checkConflicts();
  void checkConflict(StatementId i, const Access &x, int64_t k, StatementId j, const Access &y,
                     int64_t l);
  void checkEnds();
  void checkPhases();

  /// Statements that are known to run, which decides on conditions.
  struct Facts {
    StatementId first = none, second = none;
    int64_t k = 0, l = 0;
  };
  bool holds(const PlanPoint &point, int64_t k, const Facts &facts) const;
  std::vector<unsigned char> walk(size_t from, bool ofWrites, bool timing,
                                  const Facts &facts) const;
  const std::vector<unsigned char> &walked(size_t from, bool ofWrites, bool timing);

  const Plan &plan;
  const int64_t n;
  const std::vector<int64_t> runs;
  const unsigned threads;
  SyncFaults &faults;
  bool anyGuarded = false;
  std::vector<Node> nodes;
  std::vector<std::vector<size_t>> programs; ///< of each thread of each role
  Table issues;                              ///< thread nodes of all points
  Table ends;                                ///< where an operation, or a commit, ends
  std::vector<size_t> exits;                 ///< last node of each thread
  std::map<std::tuple<size_t, bool, bool>, std::vector<unsigned char>> cache;
};

/// Writes down what each thread runs, in order.
void Instances::layOut() {
  int64_t stages = 0;
  for (const PlanRole &role : plan.roles)
    for (const PlanPoint &point : role.points)
      stages = std::max(stages, point.stage);
  for (unsigned r = 0; r < plan.roles.size(); ++r)
    for (unsigned t = 0; t < threads; ++t) {
      std::vector<size_t> program;
      int64_t begin = 0;
      for (int64_t length : runs) {
        for (int64_t step = 0; length > 0 && step < length + stages; ++step)
          for (const PlanPoint &point : plan.roles[r].points) {
            int64_t k = begin + step - point.stage;
            bool exists = k >= begin && k < begin + length;
            bool everyStep = point.kind == Kind::Commit && point.barrier == none;
            if (t >= threadsOf(point) || (!everyStep && !exists))
              continue;
            size_t node = add(&point, k, r, t);
            program.push_back(node);
            if (!everyStep)
              issues.at(point, k, t) = node;
          }
        begin += length;
        // Of what ends a run, all that the next one relies on.
        for (const PlanPoint &point : plan.roles[r].drain)
          if (begin < n && point.kind == Kind::WaitGroup && t < threadsOf(point))
            program.push_back(add(&point, n, r, t));
      }
      for (const PlanPoint &point : plan.roles[r].drain)
        if (t < threadsOf(point)) {
          size_t node = add(&point, n, r, t);
          program.push_back(node);
          issues.at(point, n, t) = node;
        }
      program.push_back(add(nullptr, 0, r, t));
      exits.push_back(program.back());
      for (size_t i = 0; i < program.size(); ++i) {
        nodes[program[i]].order = i;
        if (i)
          edge(program[i - 1], program[i]);
      }
      programs.push_back(std::move(program));
    }
}

/// Ends of what one thread issues.
void Instances::connectThread(const std::vector<size_t> &program) {
  struct Flying {
    size_t end;
    Engine engine;
    int64_t group;
  };
  std::vector<Flying> flying;
  std::map<Engine, int64_t> committed;
  for (size_t at : program) {
    if (!nodes[at].point)
      continue;
    const PlanPoint &point = *nodes[at].point;
    int64_t k = nodes[at].k;
    if (point.kind == Kind::Issue) {
      Engine engine = statementOf(point).executedBy;
      if (synchronous(engine))
        continue;
      size_t end = add(nullptr, k, nodes[at].role, nodes[at].thread);
      ends.at(point, k, nodes[at].thread) = end;
      flying.push_back({end, engine, committed[engine]});
    } else if (point.kind == Kind::Commit && point.barrier == none) {
      ++committed[point.engine];
    } else if (point.kind == Kind::Commit) {
      size_t done = add(nullptr, k, nodes[at].role, nodes[at].thread);
      ends.at(point, k, nodes[at].thread) = done;
      edge(at, done);
      nodes[at].out.back().timing = true;
      for (const Flying &f : flying)
        if (f.engine == point.engine)
          edge(f.end, done, nullptr, 0, point.engine == Engine::Tcgen05Mma ? BeforeBit : 0);
    } else if (point.kind == Kind::WaitGroup) {
      for (const Flying &f : flying)
        if (f.engine == point.engine &&
            (!hasGroups(f.engine) || f.group < committed[f.engine] - point.pending))
          edge(f.end, at, &point, k, 0, !point.readsOnly);
    }
  }
}

void Instances::connect() {
  std::vector<std::vector<size_t>> all = programs;
  for (const std::vector<size_t> &program : all)
    connectThread(program);
  // A wgmma of one warpgroup ends for all of its threads at once.
  for (const std::vector<size_t> &program : all)
    for (size_t at : program)
      if (const PlanPoint *point = nodes[at].point;
          point && point->kind == Kind::Issue && statementOf(*point).executedBy == Engine::Wgmma &&
          plan.roles[nodes[at].role].warps == 4)
        for (unsigned t = 0; t < threads; ++t)
          if (t != nodes[at].thread)
            edge(ends.at(*point, nodes[at].k, nodes[at].thread), ends.at(*point, nodes[at].k, t));
  // Joins: every thread to every other one of the role, by way of a common node.
  std::map<std::pair<const PlanPoint *, int64_t>, size_t> joins;
  // Waits on each token, and what they wait for.
  std::map<std::pair<BarrierId, int64_t>, std::vector<size_t>> waits;
  for (const auto &program : all)
    for (size_t at : program) {
      if (!nodes[at].point)
        continue;
      const PlanPoint &point = *nodes[at].point;
      int64_t k = nodes[at].k;
      if (point.kind == Kind::Join) {
        auto [join, fresh] = joins.try_emplace({&point, k}, 0);
        if (fresh)
          join->second = add(nullptr, k, nodes[at].role, threads);
        edge(at, join->second, &point, k);
        edge(join->second, at, &point, k);
      } else if (point.kind == Kind::WaitBarrier) {
        waits[{point.barrier, (k == n ? n - 1 : k) - point.distance}].push_back(at);
      }
    }
  for (const auto &program : all)
    for (size_t at : program) {
      if (!nodes[at].point || nodes[at].point->barrier == none)
        continue;
      const PlanPoint &point = *nodes[at].point;
      size_t from = at;
      if (point.kind == Kind::WaitBarrier)
        continue;
      if (point.kind == Kind::Issue || point.kind == Kind::Commit)
        from = ends.at(point, nodes[at].k, nodes[at].thread);
      for (size_t wait : waits[{point.barrier, nodes[at].k}])
        edge(from, wait);
    }
}

bool Instances::holds(const PlanPoint &point, int64_t k, const Facts &facts) const {
  for (const Literal &literal : statementOf(point).guard) {
    auto says = [&](StatementId s, int64_t at) {
      if (s == none || at != k)
        return false;
      const Guard &guard = plan.bound.statements[s].guard;
      return std::find(guard.begin(), guard.end(), literal) != guard.end();
    };
    if (!says(facts.first, facts.k) && !says(facts.second, facts.l))
      return false;
  }
  return true;
}

/// Per node, which sets of fences paths can have passed when they leave it.
std::vector<unsigned char> Instances::walk(size_t from, bool ofWrites, bool timing,
                                           const Facts &facts) const {
  std::vector<unsigned char> seen(nodes.size(), 0); // bit b: reached with set b
  std::vector<std::pair<size_t, unsigned>> open = {{from, 0}};
  bool start = true;
  while (!open.empty()) {
    auto [at, bits] = open.back();
    open.pop_back();
    for (const Edge &e : nodes[at].out) {
      if (e.needs && !holds(*e.needs, e.iteration, facts))
        continue;
      if ((start && ofWrites && !e.ofWrites) || (e.timing && !timing))
        continue;
      unsigned next = bits | e.bits;
      const Node &to = nodes[e.to];
      bool own = to.role == nodes[from].role && to.thread == nodes[from].thread;
      if (to.point && to.point->kind == Kind::Fence && own &&
          (!to.point->guarded || holds(*to.point, to.k, facts))) {
        if (to.point->fence == FenceKind::Proxy)
          next |= ProxyBit;
        if (to.point->fence == FenceKind::Registers)
          next |= RegisterBit;
        if (to.point->fence == FenceKind::TensorBefore)
          next |= BeforeBit;
      }
      if (seen[e.to] >> next & 1)
        continue;
      seen[e.to] = (unsigned char)(seen[e.to] | 1u << next);
      open.emplace_back(e.to, next);
    }
    start = false;
  }
  return seen;
}

const std::vector<unsigned char> &Instances::walked(size_t from, bool ofWrites, bool timing) {
  auto [found, fresh] = cache.try_emplace({from, ofWrites, timing});
  if (fresh)
    found->second = walk(from, ofWrites, timing, {});
  return found->second;
}

bool hasSet(unsigned char seen, unsigned bits) {
  for (unsigned set = 0; set < BitSets; ++set)
    if ((seen >> set & 1) && (set & bits) == bits)
      return true;
  return false;
}

/// Do two boxes share a cell at these iterations?
bool overlap(const Region &x, int64_t k, const Region &y, int64_t l) {
  if (x.kind != Region::Kind::Box || y.kind != Region::Kind::Box || x.box.size() != y.box.size())
    return true;
  for (size_t d = 0; d < x.box.size(); ++d) {
    int64_t a = x.box[d].scale * k + x.box[d].offset, b = y.box[d].scale * l + y.box[d].offset;
    if (a + x.box[d].length <= b || b + y.box[d].length <= a)
      return false;
  }
  return true;
}

void Instances::checkConflict(StatementId i, const Access &x, int64_t k, StatementId j,
                              const Access &y, int64_t l) {
  const Problem &p = plan.bound;
  const PlanPoint *from = nullptr, *to = nullptr;
  unsigned fromRole = 0, toRole = 0;
  for (unsigned r = 0; r < plan.roles.size(); ++r)
    for (const PlanPoint &point : plan.roles[r].points)
      if (point.kind == Kind::Issue) {
        if (point.at == i)
          from = &point, fromRole = r;
        if (point.at == j)
          to = &point, toRole = r;
      }
  const Statement &first = p.statements[i], &second = p.statements[j];
  Space space = p.buffers[x.buffer].space;
  auto fault = [&] { faults.conflicts.insert({i, j, x.buffer}); };
  if (space == Space::Local && fromRole != toRole)
    return fault();
  bool queued = first.async && second.async && first.queue != none && first.queue == second.queue &&
                first.executedBy == second.executedBy && fromRole == toRole &&
                p.queues[first.queue].inOrder &&
                std::count(p.queues[first.queue].orders.begin(), p.queues[first.queue].orders.end(),
                           x.buffer) > 0;
  bool bothAll = !leads(first.executedBy) && !leads(second.executedBy) && fromRole == toRole;
  bool same =
      bothAll && (queued || space == Space::Local || (x.holder == y.holder && x.holder != none));
  Facts facts{i, j, k, l};
  bool timing = x.proxy == Proxy::Async && y.proxy == Proxy::Async &&
                (space == Space::Shared || space == Space::Global);
  for (unsigned t = 0; t < threadsOf(*from); ++t) {
    size_t start =
        queued || synchronous(first.executedBy) ? issues.at(*from, k, t) : ends.at(*from, k, t);
    // Conditions matter only if one of the two statements has one.
    bool conditional = anyGuarded && !(first.guard.empty() && second.guard.empty());
    std::vector<unsigned char> own;
    if (conditional)
      own = walk(start, x.write, timing, facts);
    const std::vector<unsigned char> &seen = conditional ? own : walked(start, x.write, timing);
    for (unsigned u = 0; u < threadsOf(*to); ++u) {
      if (same && t != u)
        continue;
      ++faults.requirements;
      unsigned bits = 0;
      bool after = false;
      if (!queued) {
        if (space == Space::Local && second.executedBy == Engine::Wgmma &&
            first.executedBy != Engine::Wgmma)
          bits = RegisterBit;
        if ((space == Space::Shared || space == Space::Global) && x.proxy == Proxy::Generic &&
            y.proxy == Proxy::Async)
          bits = ProxyBit;
        if (space == Space::Tensor && !(fromRole == toRole && t == u))
          bits = BeforeBit, after = true;
      }
      size_t target = issues.at(*to, l, u);
      bool ok = hasSet(seen[target], bits);
      if (ok && after) {
        ok = false;
        for (size_t at : programs[toRole * threads + u])
          if (nodes[at].order < nodes[target].order && nodes[at].point &&
              nodes[at].point->kind == Kind::Fence &&
              nodes[at].point->fence == FenceKind::TensorAfter &&
              (!nodes[at].point->guarded || holds(*nodes[at].point, nodes[at].k, facts)))
            ok |= hasSet(seen[at], bits);
      }
      if (!ok)
        return fault();
    }
  }
}

void Instances::checkConflicts() {
  const Problem &p = plan.bound;
  for (StatementId i = 0; i < p.statements.size(); ++i)
    for (const Access &x : p.statements[i].accesses)
      for (StatementId j = 0; j < p.statements.size(); ++j)
        for (const Access &y : p.statements[j].accesses)
          for (int64_t k = 0; x.buffer == y.buffer && (x.write || y.write) && k < n; ++k)
            for (int64_t l = i < j ? k : k + 1; l < n; ++l)
              if (k % plan.slots[x.buffer] == l % plan.slots[x.buffer] &&
                  overlap(x.region, k, y.region, l) && !faults.conflicts.count({i, j, x.buffer}))
                checkConflict(i, x, k, j, y, l);
}

void Instances::checkEnds() {
  // What engines arrive with counts as much as what they access.
  for (const PlanRole &role : plan.roles)
    for (const PlanPoint &point : role.points)
      for (int64_t k = 0;
           !plan.bound.enteredOnce && point.kind == Kind::Commit && point.barrier != none && k < n;
           ++k)
        for (unsigned t = 0; t < threadsOf(point); ++t) {
          const auto &seen = walked(ends.at(point, k, t), true, false);
          if (std::none_of(exits.begin(), exits.end(), [&](size_t exit) { return seen[exit]; }))
            faults.inFlight.insert(point.at);
        }
  for (unsigned r = 0; r < plan.roles.size(); ++r)
    for (const PlanPoint &point : plan.roles[r].points)
      for (int64_t k = 0; point.kind == Kind::Issue && k < n; ++k)
        for (unsigned t = 0; t < threadsOf(point); ++t)
          for (const Access &access : statementOf(point).accesses) {
            bool now = synchronous(statementOf(point).executedBy);
            size_t start = now ? issues.at(point, k, t) : ends.at(point, k, t);
            bool conditional = anyGuarded && !statementOf(point).guard.empty();
            std::vector<unsigned char> own;
            if (conditional)
              own = walk(start, access.write, false, {point.at, none, k, 0});
            const auto &seen = conditional ? own : walked(start, access.write, false);
            if (std::none_of(exits.begin(), exits.end(), [&](size_t exit) { return seen[exit]; }))
              faults.inFlight.insert(point.at);
            if (!now &&
                std::any_of(exits.begin(), exits.end(), [&](size_t exit) { return !seen[exit]; }))
              faults.unknownToSome.insert(point.at);
            if (plan.bound.buffers[access.buffer].space != Space::Shared)
              continue;
            for (unsigned by = 0; by < plan.roles.size(); ++by) {
              unsigned known = 0, of = 0;
              for (size_t exit : exits)
                if (nodes[exit].role == by) {
                  known += seen[exit] != 0;
                  ++of;
                }
              if (known == 0)
                faults.unknownTo.insert({point.at, by});
              if (known < of)
                faults.unknownToOneOf.insert({point.at, by});
            }
          }
}

void Instances::checkPhases() {
  struct Arrival {
    size_t done;    ///< when it has arrived
    size_t begins;  ///< the instruction
    bool byThread;  ///< or by an engine
    bool isArrival; ///< or only bytes
  };
  struct Phase {
    std::vector<Arrival> arrivals;
    std::vector<size_t> waits;
  };
  std::map<std::pair<BarrierId, int64_t>, Phase> tokens;
  for (const auto &program : programs)
    for (size_t at : program) {
      if (!nodes[at].point || nodes[at].point->barrier == none)
        continue;
      const PlanPoint &point = *nodes[at].point;
      int64_t k = nodes[at].k;
      if (point.kind == Kind::WaitBarrier) {
        tokens[{point.barrier, (k == n ? n - 1 : k) - point.distance}].waits.push_back(at);
        continue;
      }
      bool engine = point.kind == Kind::Issue || point.kind == Kind::Commit;
      size_t done = engine ? ends.at(point, k, nodes[at].thread) : at;
      tokens[{point.barrier, k}].arrivals.push_back({done, at, !engine, point.kind != Kind::Issue});
    }
  for (auto &[key, phase] : tokens) {
    auto [barrier, token] = key;
    if (token < 0)
      continue;
    auto next = tokens.find({barrier, token + plan.barriers[barrier].slots});
    if (next == tokens.end())
      continue;
    bool fault = false;
    for (const Arrival &a : phase.arrivals) {
      const auto &seen = walked(a.done, true, true);
      for (const Arrival &b : next->second.arrivals)
        fault |= !seen[b.begins];
      // Whether a wait begins late enough shows at the instruction before it.
      for (size_t w : next->second.waits) {
        const auto &program = programs[nodes[w].role * threads + nodes[w].thread];
        size_t order = nodes[w].order;
        fault |= order == 0 || (!seen[program[order - 1]] && program[order - 1] != a.done);
      }
    }
    for (size_t w : phase.waits) {
      if (next->second.arrivals.empty())
        continue;
      const auto &seen = walked(w, true, true);
      fault |= std::none_of(next->second.arrivals.begin(), next->second.arrivals.end(),
                            [&](const Arrival &b) { return b.isArrival && seen[b.begins]; });
    }
    if (fault)
      faults.phases.insert(barrier);
  }
}

} // namespace

SyncFaults checkInstances(const Plan &plan, int64_t most, unsigned threads) {
  SyncFaults faults;
  for (int64_t n = plan.straight ? 1 : 0; n <= (plan.straight ? 1 : most); ++n)
    Instances(plan, n, {n}, threads, faults).check();
  return faults;
}

SyncFaults checkReentered(const Plan &plan, int64_t most, unsigned threads) {
  SyncFaults faults;
  // A bit for each two neighbors: do they belong to different runs?
  for (int64_t n = 2; n <= most; ++n)
    for (uint64_t cuts = 1; cuts < uint64_t(1) << (n - 1); ++cuts) {
      std::vector<int64_t> runs = {1};
      for (int64_t k = 1; k < n; ++k)
        if (cuts >> (k - 1) & 1)
          runs.push_back(1);
        else
          ++runs.back();
      Instances(plan, n, runs, threads, faults).check();
    }
  faults.inFlight.clear(); // what outlives the last run outlives a single one
  return faults;
}

} // namespace penstock::fuzz
