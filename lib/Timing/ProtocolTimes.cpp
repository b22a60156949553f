//===- ProtocolTimes.cpp - When roles take the steps of a protocol --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/ProtocolTimes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

namespace penstock::timing {
namespace {

using sched::ProtocolStep;
using Kind = ProtocolStep::Kind;

/// Cycles of bar.sync of a few warps.
constexpr double syncCycles = 30;
/// Periods of at most this many iterations are recognized; times that differ by less are
/// equal.
constexpr size_t longestPeriod = 12;
constexpr double sameTime = 1e-3;

class Run {
public:
  Run(const TimedProtocol &timed, const hw::Chip &chip, const Conditions &at)
      : timed(timed), protocol(timed.protocol), chip(chip), at(at),
        numRoles(unsigned(protocol.roles.size())), numBarriers(protocol.barriers.size()) {
    engines.assign(size_t(timed.ranks) * numEngines, 0);
    roles.resize(size_t(at.blocks) * numRoles);
    barriers.resize(size_t(at.blocks) * numBarriers);
    for (size_t i = 0; i < barriers.size(); ++i)
      barriers[i].pending = protocol.barriers[i % numBarriers].count;
    syncs.resize(size_t(at.blocks) * protocol.syncs.size());
    waited.resize(numRoles);
  }

  bool go() {
    // Blocks do not start in step: they were launched one after another.
    double span = 0;
    for (const StepCost &cost : timed.costs)
      span = std::max(span, timing::timesOf(cost.work, chip, at).latency);
    for (size_t i = 0; i < roles.size(); ++i)
      push(double(i / numRoles) * span / double(at.blocks), Event::Go, unsigned(i), 0);
    while (!events.empty()) {
      Event event = events.top();
      events.pop();
      now = event.time;
      switch (event.kind) {
      case Event::Go:
        advance(event.index);
        break;
      case Event::Bytes:
        bring(event.index, event.amount);
        break;
      case Event::Arrive:
        arrive(event.index, event.amount, 0);
        break;
      }
    }
    for (size_t i = 0; i < roles.size(); ++i)
      if (roles[i].next < stepsOf(unsigned(i)).size())
        return false;
    return true;
  }

  void report(ProtocolTimes &times) const {
    for (unsigned r = 0; r < numRoles; ++r)
      times.end = std::max(times.end, roles[r].time);
    double iterations = double(std::max<int64_t>(1, timed.iterations * timed.tiles));
    for (size_t e = 0; e < numEngines; ++e)
      times.busy[e] = busy[e] / iterations;
    for (unsigned r = 0; r < numRoles; ++r)
      for (auto [source, cycles] : isWorker(r) ? waited[r] : std::map<unsigned, double>())
        times.waits.push_back({r, source, cycles / iterations});
    std::sort(times.waits.begin(), times.waits.end(),
              [](const ProtocolWait &a, const ProtocolWait &b) { return a.cycles > b.cycles; });
    if (marks.empty())
      return;
    times.fill = marks.front();
    times.drain = times.end - marks.back();
    size_t perTile = marks.size() / size_t(timed.tiles);
    auto perIteration = std::max<size_t>(1, perTile / size_t(timed.iterations));
    times.interval = steadyInterval(perTile, perIteration);
    if (timed.tiles > 2)
      times.perTile = std::max(0.0, marks[2 * perTile] - marks[perTile] -
                                        times.interval * double(timed.iterations));
  }

private:
  /// Cycles per iteration in the second half of the first tile, which has \p count marks,
  /// \p perIteration in each iteration.
  double steadyInterval(size_t count, size_t perIteration) const {
    size_t half = count / 2, iterations = (count - 1 - half) / perIteration;
    // Rings of several slots are filled in bursts, which repeat after as many iterations.
    for (size_t period = 1; period <= std::min(iterations / 2, longestPeriod); ++period) {
      size_t apart = period * perIteration;
      double span = marks[count - 1] - marks[count - 1 - apart];
      bool repeats = true;
      for (size_t i = half; repeats && i + apart < count; ++i)
        repeats = std::abs(marks[i + apart] - marks[i] - span) < sameTime;
      if (repeats)
        return span / double(period);
    }
    if (!iterations)
      return 0;
    return (marks[count - 1] - marks[count - 1 - iterations * perIteration]) / double(iterations);
  }

  struct Event {
    enum Kind : uint8_t { Arrive, Bytes, Go };
    double time;
    Kind kind;
    uint64_t number;
    unsigned index;
    int64_t amount;
    /// Arrivals before what waits for them, otherwise in the order of creation.
    bool operator<(const Event &other) const {
      if (time != other.time)
        return time > other.time;
      if (kind != other.kind)
        return kind > other.kind;
      return number > other.number;
    }
  };
  struct Queue {
    std::vector<double> groups; ///< ends of closed groups
    double open = 0;            ///< end of what the open group holds
    double all = 0;
  };
  struct RoleState {
    size_t next = 0;
    double time = 0;
    bool parked = false;
    double parkedAt = 0;
    Queue queues[size_t(sched::ProtocolQueue::Count)];
    std::map<unsigned, int64_t> ownPhase;
  };
  struct Barrier {
    int64_t pending = 0;
    int64_t bytes = 0;
    int64_t phase = 0;  ///< completed ones
    double visible = 0; ///< when the last completion is seen
    std::vector<unsigned> waiting;
  };
  struct Sync {
    std::vector<unsigned> waiting;
  };

  /// Returns whether a role loads or issues MMAs. Other roles may wait arbitrarily long.
  bool isWorker(unsigned role) const {
    return std::any_of(stepsOf(role).begin(), stepsOf(role).end(), [&](const ProtocolStep &step) {
      Engine engine = timed.costs[step.source].work.engine;
      return (step.kind == Kind::Copy || step.kind == Kind::Start) &&
             (engine == Engine::Tma || engine == Engine::Tensor);
    });
  }

  const std::vector<ProtocolStep> &stepsOf(unsigned role) const {
    return protocol.roles[role % numRoles].steps;
  }
  unsigned copyOf(unsigned role) const { return role / numRoles; }
  int64_t rankOf(unsigned role) const { return timed.roles[role % numRoles].rank; }
  double &engineOf(int64_t rank, Engine engine) {
    return engines[size_t(rank) * numEngines + size_t(engine)];
  }

  void push(double time, Event::Kind kind, unsigned index, int64_t amount) {
    events.push({time, kind, numEvents++, index, amount});
  }

  double shareOf(unsigned role, const StepCost &cost) const {
    return cost.scopeWarps ? double(timed.roles[role % numRoles].warps) / double(cost.scopeWarps)
                           : 1;
  }

  //===--------------------------------------------------------------------===//
  // Barriers
  //===--------------------------------------------------------------------===//

  void settle(unsigned index, double delay) {
    Barrier &barrier = barriers[index];
    if (barrier.pending > 0 || barrier.bytes > 0)
      return;
    ++barrier.phase;
    barrier.pending += protocol.barriers[index % numBarriers].count;
    barrier.visible = now + delay;
    std::vector<unsigned> waiting;
    waiting.swap(barrier.waiting);
    for (unsigned role : waiting)
      push(barrier.visible, Event::Go, role, 0);
  }
  void arrive(unsigned index, int64_t count, int64_t bytes) {
    barriers[index].pending -= count;
    barriers[index].bytes += bytes;
    settle(index, chip.barrier.value);
  }
  void bring(unsigned index, int64_t bytes) {
    barriers[index].bytes -= bytes;
    settle(index, 0); // the latency of loads was measured with the barrier in it
  }
  bool passed(unsigned role, const ProtocolStep &step, const Barrier &barrier) {
    if (step.own)
      return barrier.phase > roles[role].ownPhase[step.barrier];
    return bool(barrier.phase & 1) != step.parity;
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  /// Takes steps until the role waits or time passes.
  void advance(unsigned role) {
    RoleState &state = roles[role];
    const auto &steps = stepsOf(role);
    if (state.parked) {
      state.parked = false;
      if (role < numRoles && steps[state.next].iteration != 0)
        waited[role][steps[state.next].source] += now - state.parkedAt;
    }
    state.time = std::max(state.time, now);
    while (state.next < steps.size()) {
      const ProtocolStep &step = steps[state.next];
      double until = take(role, step);
      if (until < 0) { // parked
        state.parked = true;
        state.parkedAt = now;
        return;
      }
      ++state.next;
      if (until > now) {
        state.time = until;
        push(until, Event::Go, role, 0);
        return;
      }
    }
  }

  /// Returns when the role goes on; negative: something else ends the step, and it is taken
  /// again then.
  double take(unsigned role, const ProtocolStep &step) {
    RoleState &state = roles[role];
    unsigned base = copyOf(role) * unsigned(numBarriers);
    const StepCost &cost = timed.costs[step.source];
    Queue &queue = state.queues[size_t(step.queue)];
    switch (step.kind) {
    case Kind::Wait: {
      Barrier &barrier = barriers[base + step.barrier];
      if (!passed(role, step, barrier)) {
        barrier.waiting.push_back(role);
        return -1;
      }
      // The first phase of an empty slot has completed long ago.
      if (barrier.phase > 0 && barrier.visible > now && role < numRoles)
        waited[role][step.source] += barrier.visible - now;
      return barrier.phase > 0 ? std::max(now, barrier.visible) : now;
    }
    case Kind::Arrive: {
      state.ownPhase[step.barrier] = barriers[base + step.barrier].phase;
      arrive(base + step.barrier, step.count, step.bytes);
      return now;
    }
    case Kind::Copy:
      return copy(role, step, cost);
    case Kind::Start:
      return start(role, step, cost, queue);
    case Kind::Commit:
      push(std::max(now, queue.all), Event::Arrive, base + step.barrier, step.count);
      return now;
    case Kind::CloseGroup:
      queue.groups.push_back(queue.open);
      queue.open = 0;
      return now;
    case Kind::AwaitGroups: {
      double until = now;
      auto closed = int64_t(queue.groups.size());
      for (int64_t g = std::max<int64_t>(0, closed - step.count - 8); g < closed - step.count; ++g)
        until = std::max(until, queue.groups[size_t(g)]);
      if (role < numRoles && step.iteration != 0)
        waited[role][step.source] += until - now;
      return until;
    }
    case Kind::Sync:
      return meet(role, step);
    case Kind::Touch:
      return compute(role, cost);
    }
    return now;
  }

  double meet(unsigned role, const ProtocolStep &step) {
    size_t index = copyOf(role) * protocol.syncs.size() + step.barrier;
    auto &waiting = syncs[index].waiting;
    waiting.push_back(role);
    if (waiting.size() < protocol.syncs[step.barrier].size())
      return -1; // the last to come moves the others on
    std::vector<unsigned> all;
    all.swap(waiting);
    for (unsigned other : all)
      if (other != role) {
        ++roles[other].next;
        push(now + syncCycles, Event::Go, other, 0);
        roles[other].parked = false;
      }
    return now + syncCycles;
  }

  double copy(unsigned role, const ProtocolStep &step, const StepCost &cost) {
    // Copies that follow each other to one barrier are one load: their bytes arrive one
    // after another, behind one latency.
    RoleState &state = roles[role];
    const auto &steps = stepsOf(role);
    Op work = cost.work;
    int64_t bytes = step.bytes;
    scale(work, 1 / double(cost.receivers));
    while (state.next + 1 < steps.size()) {
      const ProtocolStep &next = steps[state.next + 1];
      if (next.kind != Kind::Copy || next.barrier != step.barrier)
        break;
      Op more = timed.costs[next.source].work;
      scale(more, 1 / double(timed.costs[next.source].receivers));
      merge(work, more);
      bytes += next.bytes;
      ++state.next;
    }
    OpTimes times = timing::timesOf(work, chip, at);
    double &engine = engineOf(rankOf(role), Engine::Tma);
    double begin = std::max(now, engine);
    engine = begin + times.busy;
    count(role, Engine::Tma, times.busy);
    push(begin + times.latency, Event::Bytes, copyOf(role) * unsigned(numBarriers) + step.barrier,
         bytes);
    return now + work.copies * chip.copyIssue.value;
  }

  double start(unsigned role, const ProtocolStep &step, const StepCost &cost, Queue &queue) {
    Op work = cost.work;
    scale(work, shareOf(role, cost));
    if (step.queue == sched::ProtocolQueue::AsyncCopy) {
      // The same for copies by threads.
      RoleState &state = roles[role];
      const auto &steps = stepsOf(role);
      while (state.next + 1 < steps.size() && steps[state.next + 1].kind == Kind::Start &&
             steps[state.next + 1].queue == step.queue) {
        const StepCost &next = timed.costs[steps[++state.next].source];
        Op more = next.work;
        scale(more, shareOf(role, next));
        merge(work, more);
      }
    }
    OpTimes times = timing::timesOf(work, chip, at);
    double begin = now, goesOn = now + work.issueCycles, ends = now + times.latency;
    if (work.engine != Engine::None) {
      bool both = work.engine == Engine::Tensor && timed.pair;
      int64_t first = both ? 0 : rankOf(role), last = both ? timed.ranks - 1 : first;
      for (int64_t rank = first; rank <= last; ++rank)
        begin = std::max(begin, engineOf(rank, work.engine));
      for (int64_t rank = first; rank <= last; ++rank)
        engineOf(rank, work.engine) = begin + times.busy;
      ends = begin + times.latency;
      count(role, work.engine, times.busy);
    }
    if (work.engine == Engine::Tensor) {
      double beyond = std::max(0.0, work.products - chip.productQueue.value);
      goesOn = std::max(goesOn, begin + beyond * work.productCycles);
      if (role < numRoles && (marks.empty() || begin > marks.back()))
        marks.push_back(begin);
    }
    queue.open = std::max(queue.open, ends);
    queue.all = std::max(queue.all, ends);
    return goesOn;
  }

  double compute(unsigned role, const StepCost &cost) {
    // Roles share issue slots and special function units.
    double share = shareOf(role, cost);
    double until = now + cost.work.cycles;
    until = std::max(until, reserve(role, Engine::Cuda, cost.work.cycles * share));
    return std::max(until, reserve(role, Engine::Sfu, cost.exponentialCycles * share));
  }

  /// Returns when an engine that takes the work now ends it.
  double reserve(unsigned role, Engine engine, double cycles) {
    if (cycles <= 0)
      return now;
    double &free = engineOf(rankOf(role), engine);
    free = std::max(now, free) + cycles;
    count(role, engine, cycles);
    return free;
  }

  static void scale(Op &work, double share) {
    work.bytes *= share;
    work.rows *= share;
    work.products *= share;
  }
  static void merge(Op &work, const Op &more) {
    work.bytes += more.bytes;
    work.rows += more.rows;
    work.copies += more.copies;
    work.rowBytes = std::min(work.rowBytes, more.rowBytes);
  }
  void count(unsigned role, Engine engine, double cycles) {
    if (role < numRoles && rankOf(role) == 0)
      busy[size_t(engine)] += cycles;
  }

  const TimedProtocol &timed;
  const sched::Protocol &protocol;
  const hw::Chip &chip;
  const Conditions &at;
  unsigned numRoles;
  size_t numBarriers;
  double now = 0;
  uint64_t numEvents = 0;
  std::priority_queue<Event> events;
  std::vector<RoleState> roles;
  std::vector<Barrier> barriers;
  std::vector<Sync> syncs;
  std::vector<double> engines;
  std::vector<double> marks; ///< starts of products of the first block
  double busy[numEngines] = {};
  std::vector<std::map<unsigned, double>> waited;
};

} // namespace

std::optional<ProtocolTimes> timesOf(const TimedProtocol &timed, const hw::Chip &chip,
                                     const Conditions &at) {
  Run run(timed, chip, at);
  if (!run.go())
    return std::nullopt;
  ProtocolTimes times;
  run.report(times);
  return times;
}

} // namespace penstock::timing
