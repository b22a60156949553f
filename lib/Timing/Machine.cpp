//===- Machine.cpp - Event model of one SM --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/Machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace penstock::timing {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
/// Periods of at most this many iterations are recognized.
constexpr int64_t longestPeriod = 12;
/// States that differ by less are equal; rounding accumulates far below it.
constexpr double sameTime = 1e-6;

class Run {
public:
  Run(const Loop &loop, const hw::Chip &chip, const Conditions &at)
      : loop(loop), at(at), numOps(loop.ops.size()), numRoles(loop.roles.size()),
        rolesOps(numRoles) {
    for (unsigned o = 0; o < numOps; ++o) {
      const Op &op = loop.ops[o];
      times.push_back(timesOf(op, chip, at));
      rolesOps[op.role].push_back(o);
      mostAhead = std::max(mostAhead, op.ahead);
      for (const Await &await : op.awaits)
        reach = std::max(reach, await.distance + 1);
    }
    reach += mostAhead + 1;
    length = at.iterations + mostAhead;
    ends.assign(size_t(at.blocks) * numOps * size_t(length), never);
    queueRoom = chip.productQueue.value;
    heads.assign(size_t(at.blocks) * numRoles, {});
    marks.resize(size_t(at.blocks));
    stagger();
  }

  Steady go(std::vector<Instance> *instances) {
    record = instances;
    Steady result;
    result.waits.assign(numOps, 0);
    result.waitsFor.assign(numOps, -1);
    longestWait.assign(numOps, 0);
    waits = &result.waits;
    waitsFor = &result.waitsFor;
    for (int64_t b = 0; b < at.blocks; ++b)
      for (unsigned r = 0; r < numRoles; ++r)
        refresh(b, r);
    while (step()) {
      if (marks[0].size() == states.size() || record)
        continue;
      saveState();
      if (int64_t period = findPeriod()) {
        const auto &m = marks[0];
        result.interval = (m[m.size() - 1] - m[m.size() - 1 - size_t(period)]) / double(period);
        result.exact = true;
        break;
      }
    }
    for (double &w : result.waits)
      w /= std::max(1.0, counted);
    result.fill = marks[0].empty() ? 0 : marks[0].front();
    if (!result.exact)
      result.interval = average();
    return result;
  }

private:
  /// The next operation of a role: prologue instances of skewed operations first.
  struct Head {
    int64_t iteration = 0; ///< of the role's loop; negative in the prologue
    unsigned position = 0; ///< in the role's operations
    double free = 0;
    double ready = 0; ///< all awaited operations have ended; never: not yet known
    int waitsFor = -1;
    bool done = false;
  };

  double &end(int64_t block, unsigned op, int64_t k) {
    return ends[(size_t(block) * numOps + op) * size_t(length) + size_t(k)];
  }
  Head &head(int64_t block, unsigned role) { return heads[size_t(block) * numRoles + role]; }

  /// Blocks do not start in step: they were launched one after another.
  void stagger() {
    double latency = 0, busy = 0;
    for (unsigned o = 0; o < numOps; ++o) {
      if (loop.ops[o].engine == Engine::Tma)
        latency = std::max(latency, times[o].latency);
      if (loop.ops[o].engine == Engine::Tensor)
        busy = std::max(busy, times[o].busy);
    }
    for (int64_t b = 0; b < at.blocks; ++b)
      for (unsigned r = 0; r < numRoles; ++r) {
        Head &h = head(b, r);
        h.free = double(b) * (latency + busy) / double(at.blocks);
        h.iteration = -mostAhead;
        h.done = rolesOps[r].empty();
        skip(h, r);
      }
  }

  /// Moves past operations that do not run in this iteration of the role.
  void skip(Head &h, unsigned r) {
    const auto &ops = rolesOps[r];
    while (!h.done) {
      if (h.position == ops.size()) {
        h.position = 0;
        ++h.iteration;
        if (h.iteration >= at.iterations)
          h.done = true;
        continue;
      }
      if (h.iteration + loop.ops[ops[h.position]].ahead >= 0)
        return;
      ++h.position;
    }
  }

  /// Computes when the next operation of a role can be issued.
  void refresh(int64_t block, unsigned r) {
    Head &h = head(block, r);
    if (h.done) {
      h.ready = never;
      return;
    }
    const Op &op = loop.ops[rolesOps[r][h.position]];
    int64_t k = h.iteration + op.ahead;
    h.ready = h.free;
    h.waitsFor = -1;
    for (const Await &await : op.awaits) {
      int64_t from = k - await.distance;
      if (k < await.from || from < 0)
        continue;
      double t = end(block, await.op, from);
      if (t == never) {
        h.ready = never;
        return;
      }
      if (t + await.delay > h.ready) {
        h.ready = t + await.delay;
        h.waitsFor = int(await.op);
      }
    }
  }

  /// Issues the operation that becomes ready first; false at the end.
  bool step() {
    double first = never;
    size_t chosen = 0;
    for (size_t i = 0; i < heads.size(); ++i)
      if (heads[i].ready < first) {
        first = heads[i].ready;
        chosen = i;
      }
    if (first == never)
      return false;
    int64_t block = int64_t(chosen / numRoles);
    auto role = unsigned(chosen % numRoles);
    issue(block, role);
    for (unsigned r = 0; r < numRoles; ++r)
      if (r == role || head(block, r).ready == never)
        refresh(block, r);
    return true;
  }

  void issue(int64_t block, unsigned role) {
    Head &h = head(block, role);
    unsigned o = rolesOps[role][h.position];
    const Op &op = loop.ops[o];
    int64_t k = h.iteration + op.ahead;
    double t = h.ready, start = t, goesOn = t + op.issueCycles;
    double &engine = engines[size_t(op.engine)];
    if (op.engine != Engine::None) {
      start = std::max(t + op.issueDelay, engine);
      engine = start + times[o].busy;
    }
    double ended = start + times[o].latency;
    if (op.engine == Engine::Tensor) {
      // Issue blocks while more products are outstanding than the queue holds.
      double beyond = std::max(0.0, op.products - queueRoom);
      goesOn = std::max(goesOn, start + beyond * op.productCycles);
    }
    if (op.blocking)
      goesOn = ended;
    if (k < length)
      end(block, o, k) = ended;
    if (block == 0 && k > 0) {
      double wait = t - h.free + (op.blocking ? start - t : 0);
      (*waits)[o] += wait;
      if (wait > longestWait[o]) {
        longestWait[o] = wait;
        (*waitsFor)[o] = h.waitsFor;
      }
    }
    if (record)
      record->push_back({o, block, k, h.free, t, start, start + times[o].busy, ended, h.waitsFor});
    if (o == loop.paced) {
      marks[size_t(block)].push_back(t);
      if (block == 0 && k > 0)
        counted += 1;
    }
    h.free = goesOn + op.handOver;
    ++h.position;
    skip(h, role);
  }

  /// Everything that decides the future, relative to the last mark of the first block.
  void saveState() {
    std::vector<double> state;
    double now = marks[0].back();
    // An engine that was free before any role goes on might as well be free then.
    double earliest = never;
    for (const Head &h : heads)
      earliest = std::min(earliest, h.free);
    for (double engine : engines)
      state.push_back(std::max(engine, earliest) - now);
    int64_t done = int64_t(marks[0].size());
    for (size_t i = 0; i < heads.size(); ++i) {
      const Head &h = heads[i];
      state.push_back(h.free - now);
      state.push_back(double(h.iteration - done));
      state.push_back(double(h.position));
      int64_t block = int64_t(i / numRoles);
      for (unsigned o : rolesOps[i % numRoles])
        for (int64_t back = 0; back < reach; ++back) {
          int64_t k = h.iteration + loop.ops[o].ahead - back;
          double t = k >= 0 && k < length ? end(block, o, k) : 0;
          state.push_back(t == never ? 1e12 : k >= 0 ? t - now : -1e9);
        }
    }
    states.push_back(std::move(state));
  }

  /// The length of the cycle of states that the run has entered, or 0.
  int64_t findPeriod() const {
    const auto &now = states.back();
    for (int64_t p = 1; p <= longestPeriod && p < int64_t(states.size()); ++p) {
      const auto &then = states[states.size() - 1 - size_t(p)];
      bool same = then.size() == now.size();
      for (size_t i = 0; same && i < now.size(); ++i)
        same = std::abs(now[i] - then[i]) < sameTime;
      if (same)
        return p;
    }
    return 0;
  }

  /// The interval of the second half of the run, over all blocks.
  double average() const {
    size_t steps = marks[0].size();
    for (const auto &m : marks)
      steps = std::min(steps, m.size());
    if (steps < 2)
      return 0;
    size_t half = steps / 2, last = steps - 1;
    if (half == last)
      half = 0;
    double sum = 0;
    for (const auto &m : marks)
      sum += (m[last] - m[half]) / double(last - half);
    return sum / double(marks.size());
  }

  const Loop &loop;
  const Conditions &at;
  size_t numOps;
  unsigned numRoles;
  std::vector<OpTimes> times;
  std::vector<std::vector<unsigned>> rolesOps;
  int64_t mostAhead = 0;
  int64_t reach = 0;
  int64_t length = 0;
  double queueRoom = 0;
  std::vector<double> ends;
  std::vector<Head> heads;
  std::array<double, numEngines> engines = {};
  std::vector<std::vector<double>> marks;
  std::vector<std::vector<double>> states;
  std::vector<Instance> *record = nullptr;
  std::vector<double> *waits = nullptr;
  std::vector<int> *waitsFor = nullptr;
  std::vector<double> longestWait;
  double counted = 0;
};

OpTimes loadTimes(const Op &op, const hw::Chip &chip, const Conditions &at) {
  double narrow = op.rowBytes < 128 ? chip.narrowRows.value : 1;
  double port = chip.loadRate.value;
  double share = chip.fabric.value / double(chip.architecture->limits.multiprocessors);
  // While bursts of the SMs coincide, each gets its share of the fabric.
  double coincide = at.alone ? 0 : chip.coincidence.value;
  double rate = 1 / ((1 - coincide) / port + coincide / std::min(port, share));
  OpTimes times;
  times.busy = std::max({op.rows * chip.rowCycles.value, op.copies * chip.copyCycles.value,
                         op.bytes / (chip.streamRate.value * narrow)});
  double atLeast = op.rowBytes >= 32 ? op.rows * chip.leastRowBytes.value : 0;
  double ns = chip.loadLatency.value + at.cold * chip.missLatency.value +
              std::max(op.bytes, atLeast) / (rate * narrow);
  times.latency = std::max(ns * at.ghz, times.busy + chip.loadLatency.value * at.ghz);
  if (op.byThreads)
    times.busy = std::max(times.busy, op.bytes / chip.threadCopyRate.value);
  return times;
}

} // namespace

OpTimes timesOf(const Op &op, const hw::Chip &chip, const Conditions &at) {
  switch (op.engine) {
  case Engine::None:
    return {0, op.cycles};
  case Engine::Tma:
    return loadTimes(op, chip, at);
  case Engine::Tensor:
    return {op.products * op.productCycles, op.products * op.productCycles + op.tail};
  case Engine::Cuda:
  case Engine::Sfu:
    return {op.cycles, op.cycles};
  }
  return {};
}

Steady steadyState(const Loop &loop, const hw::Chip &chip, const Conditions &at,
                   std::vector<Instance> *instances) {
  if (loop.ops.empty() || loop.roles.empty() || at.blocks < 1)
    return {};
  return Run(loop, chip, at).go(instances);
}

} // namespace penstock::timing
