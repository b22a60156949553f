//===- ValueOracle.cpp - Checks schedules by what they compute ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ValueOracle.h"
#include "../penstock-fuzz/Random.h"
#include "Cells.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

using namespace penstock::fuzz;

namespace {

using Moment = std::pair<int64_t, int64_t>;
constexpr Moment never = {std::numeric_limits<int64_t>::max(), 0};

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 29)) * 0x94d049bb133111ebu;
  return z ^ (z >> 32);
}

/// A value that no function of other values gives.
uint64_t poison(uint64_t a, uint64_t b) { return mix(mix(0xdeadbeefu, a), b); }

/// Addresses that an action of an instance touches, and what was seen of it.
struct Footprint {
  std::vector<int64_t> reads, writes;
  std::vector<int> readBuffers, writeBuffers; ///< of each address
  uint64_t inputs = 0;
  bool live = false;
  std::vector<int64_t> liveWrites;
};

struct Event {
  int statement = 0;
  int64_t k = 0;
  Moment issue;
  std::vector<Footprint> actions;
  // How it ends.
  Moment readsOver, writesOver;
  // What is unknown because of a race.
  bool tainted = false;
  std::vector<int64_t> unknownWrites;
};

/// One execution of a loop in one world.
class Execution {
public:
  /// With a plan: in its order, with waits that name what \p names says; else
  /// sequentially.
  Execution(const Loop &loop, const World &world, std::vector<int64_t> slots, const Plan *plan,
            const std::vector<std::vector<Naming>> &names)
      : loop(loop), world(world), slots(std::move(slots)), plan(plan), names(names) {
    layOut();
    for (int w = 0; w < loop.size(); ++w)
      addBefore(w);
    for (int64_t k = 0; k < world.trips; ++k)
      for (int i = 0; i < loop.size(); ++i)
        addEvent(i, k);
    if (plan) {
      std::sort(events.begin(), events.end(),
                [](const Event &a, const Event &b) { return a.issue < b.issue; });
      findEnds();
      findRaces();
    }
  }

  void run() {
    for (Event &event : events)
      for (size_t a = 0; a < event.actions.size(); ++a)
        runAction(event, a);
  }

  /// What can be seen after the loop.
  std::vector<uint64_t> observables() const {
    std::vector<uint64_t> seen;
    for (size_t b = 0; b < loop.buffers.size(); ++b) {
      if (!observed(b))
        continue;
      int64_t slot = ((world.trips - 1) % slots[b] + slots[b]) % slots[b];
      for (int64_t cell = 0; cell < cells[b]; ++cell)
        seen.push_back(memory[size_t(base[b] + slot * cells[b] + cell)]);
    }
    return seen;
  }

  /// Marks instances, and cells that they write, whose values are seen in the
  /// end. For sequential executions.
  void findLive() {
    std::vector<bool> wanted(memory.size(), false);
    for (size_t b = 0; b < loop.buffers.size(); ++b)
      if (observed(b))
        std::fill_n(wanted.begin() + base[b], cells[b], true);
    for (auto event = events.rbegin(); event != events.rend(); ++event)
      for (auto action = event->actions.rbegin(); action != event->actions.rend(); ++action) {
        bool used = false;
        for (int64_t address : action->writes)
          if (wanted[size_t(address)]) {
            used = true;
            action->liveWrites.push_back(address);
          }
        for (int64_t address : action->writes)
          wanted[size_t(address)] = false;
        if (used)
          for (int64_t address : action->reads)
            wanted[size_t(address)] = true;
        action->live = used;
      }
  }

  const Event *find(int statement, int64_t k) const {
    for (const Event &event : events)
      if (event.statement == statement && event.k == k)
        return &event;
    return nullptr;
  }

  std::vector<Event> events;

private:
  const LoopStatement &at(int i) const { return loop.statements[size_t(i)]; }

  bool observed(size_t b) const {
    return loop.buffers[b].kind == LoopBuffer::Kind::Tensor || loop.buffers[b].readAfter;
  }

  void layOut() {
    int64_t next = 0;
    for (size_t b = 0; b < loop.buffers.size(); ++b) {
      int64_t count = 1;
      for (int64_t extent : loop.buffers[b].extents)
        count *= extent;
      base.push_back(next);
      cells.push_back(count);
      next += count * slots[b];
    }
    scalarBase = next;
    memory.resize(size_t(next + loop.size()));
    for (size_t b = 0; b < loop.buffers.size(); ++b)
      for (int64_t slot = 0; slot < slots[b]; ++slot)
        for (int64_t cell = 0; cell < cells[b]; ++cell)
          // What was there before the loop is in the last slot.
          memory[size_t(base[b] + slot * cells[b] + cell)] =
              slot == slots[b] - 1 ? mix(b + 1, uint64_t(cell))
                                   : poison(b + 1, uint64_t(slot * 4096 + cell));
  }

  /// What was issued before the loop and ends at a wait; it touches all versions.
  void addBefore(int wait) {
    const Action &settles = at(wait).settles;
    if (settles.reads.empty() && settles.writes.empty())
      return;
    Event event;
    event.statement = fromBefore(wait);
    event.issue = {-1, wait};
    Footprint &footprint = event.actions.emplace_back();
    auto collect = [&](const Touch &touch, std::vector<int64_t> &to, std::vector<int> &buffers) {
      size_t b = size_t(touch.buffer);
      for (int64_t slot = 0; slot < slots[b]; ++slot)
        forEachCell(loop.buffers[b], touch.box, 0, world, [&](int64_t cell) {
          to.push_back(base[b] + slot * cells[b] + cell);
          buffers.push_back(touch.buffer);
        });
    };
    for (const Touch &touch : settles.reads)
      collect(touch, footprint.reads, footprint.readBuffers);
    for (const Touch &touch : settles.writes)
      collect(touch, footprint.writes, footprint.writeBuffers);
    events.push_back(std::move(event));
  }

  void addEvent(int i, int64_t k) {
    const LoopStatement &s = at(i);
    if (!world.holds(s.guard, k))
      return;
    Event event;
    event.statement = i;
    event.k = k;
    if (plan)
      event.issue = {k + plan->stage[size_t(i)], plan->order[size_t(i)]};
    for (const Action &action : s.actions) {
      if (!world.holds(action.when, k))
        continue;
      Footprint footprint;
      auto collect = [&](const Touch &touch, std::vector<int64_t> &to, std::vector<int> &buffers) {
        size_t b = size_t(touch.buffer);
        forEachCell(loop.buffers[b], touch.box, k, world, [&](int64_t cell) {
          to.push_back(base[b] + (k % slots[b]) * cells[b] + cell);
          buffers.push_back(touch.buffer);
        });
      };
      for (const Touch &touch : action.reads)
        collect(touch, footprint.reads, footprint.readBuffers);
      for (const Touch &touch : action.writes)
        collect(touch, footprint.writes, footprint.writeBuffers);
      event.actions.push_back(std::move(footprint));
    }
    if (event.actions.empty() && s.kind == LoopStatement::Kind::Scalar)
      event.actions.emplace_back();
    if (event.actions.empty())
      return;
    // A scheduled scalar hands its value on through a cell of its own.
    if (s.kind == LoopStatement::Kind::Scalar) {
      event.actions.back().writes.push_back(scalarBase + i);
      event.actions.back().writeBuffers.push_back(-1);
    }
    for (int scalar = 0; scalar < loop.size(); ++scalar)
      if (std::count(at(scalar).users.begin(), at(scalar).users.end(), i)) {
        event.actions.front().reads.push_back(scalarBase + scalar);
        event.actions.front().readBuffers.push_back(-1);
      }
    events.push_back(std::move(event));
  }

  static bool isBefore(const Event &event) { return event.statement < 0; }

  bool inQueue(const Event &event) const {
    if (isBefore(event))
      return false;
    const LoopStatement &s = at(event.statement);
    return s.async && s.queue >= 0 && loop.queues[size_t(s.queue)].inOrder;
  }

  /// When a written wait ends the reads or writes of an instance; its issue if
  /// there is no such wait, which the compiler then adds where it is needed.
  Moment ownEnd(const Event &event, bool writes) const {
    if (isBefore(event)) {
      size_t wait = size_t(fromBefore(event.statement));
      return world.trips > 0 ? Moment(plan->stage[wait], plan->order[wait]) : event.issue;
    }
    if (!at(event.statement).async)
      return event.issue;
    bool awaited = false;
    Moment end = never;
    for (int w = 0; w < loop.size(); ++w) {
      if (at(w).kind != LoopStatement::Kind::Wait)
        continue;
      for (const Naming &name : names[size_t(w)]) {
        if (name.statement != event.statement || !(writes ? name.writes : name.reads))
          continue;
        awaited = true;
        int64_t k = event.k + name.distance;
        if (k < world.trips && !world.holds(at(w).guard, k))
          continue;
        Moment moment = {k + plan->stage[size_t(w)], plan->order[size_t(w)]};
        if (moment > event.issue)
          end = std::min(end, moment);
      }
    }
    return awaited ? end : event.issue;
  }

  void findEnds() {
    for (Event &event : events) {
      event.readsOver = ownEnd(event, false);
      event.writesOver = ownEnd(event, true);
    }
    // A wait for a later member of a queue ends the earlier ones as well.
    for (size_t q = 0; q < loop.queues.size(); ++q) {
      if (!loop.queues[q].inOrder)
        continue;
      Moment reads = never, writes = never;
      for (auto event = events.rbegin(); event != events.rend(); ++event) {
        if (!inQueue(*event) || at(event->statement).queue != int(q))
          continue;
        if (event->readsOver > event->issue)
          event->readsOver = reads = std::min(reads, event->readsOver);
        if (event->writesOver > event->issue)
          event->writesOver = writes = std::min(writes, event->writesOver);
      }
    }
  }

  /// Does the queue of two events keep their accesses to a buffer in order?
  bool queueOrders(const Event &a, const Event &b, int buffer) const {
    if (!inQueue(a) || !inQueue(b) || at(a.statement).queue != at(b.statement).queue)
      return false;
    const auto &orders = loop.queues[size_t(at(a.statement).queue)].orders;
    return std::count(orders.begin(), orders.end(), buffer) != 0;
  }

  void findRaces() {
    std::vector<char> reading(memory.size(), 0), writing(memory.size(), 0);
    for (size_t y = 0; y < events.size(); ++y) {
      Event &flying = events[y];
      bool readsFly = flying.readsOver > flying.issue, writesFly = flying.writesOver > flying.issue;
      if (!readsFly && !writesFly)
        continue;
      auto mark = [&](char value) {
        for (const Footprint &action : flying.actions) {
          for (int64_t address : action.reads)
            reading[size_t(address)] = value && readsFly;
          for (int64_t address : action.writes)
            writing[size_t(address)] = value && writesFly;
        }
      };
      mark(1);
      for (size_t x = y + 1; x < events.size(); ++x) {
        Event &other = events[x];
        bool beforeReads = other.issue < flying.readsOver,
             beforeWrites = other.issue < flying.writesOver;
        if (!beforeReads && !beforeWrites)
          break;
        for (Footprint &action : other.actions) {
          for (size_t r = 0; r < action.reads.size(); ++r)
            if (beforeWrites && writing[size_t(action.reads[r])] &&
                !queueOrders(flying, other, action.readBuffers[r]))
              other.tainted = true;
          for (size_t w = 0; w < action.writes.size(); ++w) {
            if (queueOrders(flying, other, action.writeBuffers[w]))
              continue;
            if (beforeReads && reading[size_t(action.writes[w])])
              flying.tainted = true;
            if (beforeWrites && writing[size_t(action.writes[w])])
              other.unknownWrites.push_back(action.writes[w]);
          }
        }
      }
      mark(0);
    }
  }

  void runAction(Event &event, size_t a) {
    Footprint &action = event.actions[a];
    uint64_t in = mix(mix(uint64_t(event.statement) + 77, a), uint64_t(event.k));
    // What was read before the loop does not depend on its order.
    for (int64_t address : action.reads)
      if (!isBefore(event))
        in = mix(in, memory[size_t(address)]);
    if (event.tainted)
      in = poison(in, uint64_t(event.k));
    action.inputs = in;
    uint64_t number = 0;
    for (size_t w = 0; w < action.writes.size(); ++w) {
      int64_t address = action.writes[w];
      // All versions of a cell get the same.
      if (isBefore(event)) {
        size_t b = size_t(action.writeBuffers[w]);
        number = uint64_t((address - base[b]) % cells[b]);
      }
      memory[size_t(address)] = mix(in, ++number);
    }
    for (int64_t address : event.unknownWrites)
      memory[size_t(address)] = poison(in, uint64_t(address));
  }

  const Loop &loop;
  const World &world;
  std::vector<int64_t> slots;
  const Plan *plan;
  const std::vector<std::vector<Naming>> &names; ///< by wait
  std::vector<int64_t> base, cells;
  int64_t scalarBase = 0;
  std::vector<uint64_t> memory;
};

/// Looks for the reason why a refused schedule does no harm in a world.
class Explanation {
public:
  void add(const OrderVerdict &verdict, const World &world, Execution &sequential,
           const Execution &scheduled, bool pairs) {
    sequential.findLive();
    for (const Event &event : sequential.events) {
      const Event *other = scheduled.find(event.statement, event.k);
      for (size_t a = 0; a < event.actions.size(); ++a)
        if (event.actions[a].live && other->actions[a].inputs != event.actions[a].inputs)
          unexplained = true;
    }
    for (const BrokenPair &pair : verdict.broken)
      for (int64_t k = 0; pairs && k + pair.distance < world.trips; ++k) {
        const Event *x = sequential.find(pair.first, k);
        const Event *y = sequential.find(pair.second, k + pair.distance);
        if (x && y)
          addPair(pair, *x, *y, sequential);
      }
  }

  Effect effect(const OrderVerdict &verdict) const {
    if (unexplained)
      return Effect::Unexplained;
    if (exchanged)
      return Effect::Exchanged;
    if (dead)
      return Effect::Dead;
    bool opaque = std::any_of(verdict.broken.begin(), verdict.broken.end(),
                              [](const BrokenPair &pair) { return pair.opaque; });
    return opaque ? Effect::Conservative : Effect::Unexplained;
  }

private:
  /// Looks at the cells that both instances touch.
  void addPair(const BrokenPair &pair, const Event &x, const Event &y,
               const Execution &sequential) {
    for (size_t f = 0; f < x.actions.size(); ++f)
      for (size_t g = 0; g < y.actions.size(); ++g) {
        const Footprint &first = x.actions[f], &second = y.actions[g];
        for (int64_t address : addresses(first, pair.buffer, pair.firstWrites)) {
          auto others = addresses(second, pair.buffer, pair.secondWrites);
          if (!std::count(others.begin(), others.end(), address))
            continue;
          // What an instance reads of its own writes, it reads of nobody else's.
          if ((!pair.firstWrites && wroteBefore(x, f, address)) ||
              (!pair.secondWrites && wroteBefore(y, g, address)))
            continue;
          auto seen = [&](const Footprint &action, bool writes) {
            return writes ? std::count(action.liveWrites.begin(), action.liveWrites.end(),
                                       address) != 0
                          : action.live;
          };
          if (!seen(first, pair.firstWrites) || !seen(second, pair.secondWrites))
            dead = true;
          else if (pair.firstWrites && !pair.secondWrites &&
                   lastWriter(sequential, y, address) == &x)
            unexplained = true; // a live read before the write that it needs
          else
            exchanged = true;
        }
      }
  }

  static bool wroteBefore(const Event &event, size_t action, int64_t address) {
    for (size_t a = 0; a < action; ++a)
      if (std::count(event.actions[a].writes.begin(), event.actions[a].writes.end(), address))
        return true;
    return false;
  }

  static std::vector<int64_t> addresses(const Footprint &action, int buffer, bool writes) {
    std::vector<int64_t> all;
    const auto &from = writes ? action.writes : action.reads;
    const auto &buffers = writes ? action.writeBuffers : action.readBuffers;
    for (size_t i = 0; i < from.size(); ++i)
      if (buffers[i] == buffer)
        all.push_back(from[i]);
    return all;
  }

  static const Event *lastWriter(const Execution &sequential, const Event &reader,
                                 int64_t address) {
    const Event *last = nullptr;
    for (const Event &event : sequential.events) {
      if (&event == &reader)
        break;
      for (const Footprint &action : event.actions)
        if (std::count(action.writes.begin(), action.writes.end(), address))
          last = &event;
    }
    return last;
  }

  bool dead = false, exchanged = false, unexplained = false;
};

/// Worlds in which a schedule is tried, from the plainest on.
class Worlds {
public:
  Worlds(const Loop &loop, const OrderVerdict &verdict, uint64_t seed)
      : loop(loop), verdict(verdict), random(seed) {}

  int perTripCount() const {
    bool anywhere = false;
    for (const LoopStatement &s : loop.statements)
      for (const Action &action : s.actions)
        for (const auto *side : {&action.reads, &action.writes})
          for (const Touch &touch : *side)
            for (const Span &span : touch.box.spans)
              anywhere |=
                  span.motion == Span::Motion::Loaded || span.motion == Span::Motion::Unrelated;
    if (!loop.conditions)
      return anywhere ? 4 : 1;
    return verdict.legal() ? 4 : 12;
  }

  World make(int64_t trips, int number) {
    World world;
    world.trips = trips;
    world.origin = drawOrigin(random);
    for (int64_t k = 0; k < maxTrips + 1; ++k)
      world.table.push_back(random.below(64));
    for (int c = 0; c < loop.conditions; ++c) {
      std::vector<bool> values;
      for (int64_t k = 0; k < maxTrips + 1; ++k)
        values.push_back(number == 0   ? true
                         : number == 1 ? false
                                       : random.chance(number % 3 == 2 ? 75 : 50));
      world.conditions.push_back(values);
    }
    if (number >= 2 && number % 2 == 0 && !verdict.broken.empty())
      showPair(world, random.of(verdict.broken));
    return world;
  }

private:
  /// Does the pair touch a common cell in iterations \p k and that of its distance, as
  /// far as positions are known?
  bool meets(const BrokenPair &pair, int64_t k) const {
    auto cellsOf = [&](int statement, int64_t iteration) {
      std::set<int64_t> cells;
      std::vector<Action> actions =
          statement < 0 ? std::vector{loop.statements[size_t(fromBefore(statement))].settles}
                        : loop.statements[size_t(statement)].actions;
      for (const Action &action : actions)
        for (const auto *side : {&action.reads, &action.writes})
          for (const Touch &touch : *side)
            if (touch.buffer == pair.buffer && !touch.box.opaque())
              forEachCell(loop.buffers[size_t(touch.buffer)], touch.box, iteration, World(),
                          [&](int64_t cell) { cells.insert(cell); });
      return cells;
    };
    std::set<int64_t> earlier = cellsOf(pair.first, k),
                      later = cellsOf(pair.second, k + pair.distance);
    return std::any_of(later.begin(), later.end(),
                       [&](int64_t cell) { return earlier.contains(cell); });
  }

  /// Makes both instances of a broken pair exist, where they meet if that is known.
  void showPair(World &world, const BrokenPair &pair) {
    if (world.trips <= pair.distance)
      return;
    std::vector<int64_t> positions;
    // What was issued before the loop is there once.
    int64_t last = pair.first < 0 ? 1 : world.trips - pair.distance;
    for (int64_t at = 0; at < last; ++at)
      if (meets(pair, at))
        positions.push_back(at);
    int64_t k = positions.empty() ? random.below(last) : random.of(positions);
    auto force = [&](int statement, int64_t iteration) {
      if (statement < 0)
        return;
      const LoopStatement &s = loop.statements[size_t(statement)];
      for (const Term &term : s.guard)
        world.conditions[size_t(term.condition)][size_t(iteration)] = !term.negated;
    };
    force(pair.first, k);
    force(pair.second, k + pair.distance);
  }

  const Loop &loop;
  const OrderVerdict &verdict;
  Random random;
};

/// How many iterations show what a schedule does: enough to fill and empty the
/// pipeline, and for boxes of different speed to meet.
int64_t tripsToTry(const Loop &loop, const Plan &plan) {
  std::vector<std::set<int64_t>> speeds(loop.buffers.size());
  for (const LoopStatement &s : loop.statements)
    for (const Action &action : s.actions)
      for (const auto *side : {&action.reads, &action.writes})
        for (const Touch &touch : *side)
          if (!touch.box.whole())
            speeds[size_t(touch.buffer)].insert(touch.box.spans[0].scale);
  for (const auto &all : speeds)
    if (all.size() > 1)
      return maxTrips;
  return std::min(maxTrips, 2 * plan.stages() + 4);
}

} // namespace

Effect penstock::fuzz::checkValues(const Loop &loop, const Plan &plan, const OrderVerdict &verdict,
                                   uint64_t seed) {
  Worlds worlds(loop, verdict, seed);
  Explanation explanation;
  std::vector<int64_t> one(loop.buffers.size(), 1);
  int64_t most = tripsToTry(loop, plan);
  std::vector<std::vector<Naming>> names;
  for (int i = 0; i < loop.size(); ++i)
    names.push_back(loop.statements[size_t(i)].kind == LoopStatement::Kind::Wait
                        ? namedBy(loop, i)
                        : std::vector<Naming>());
  for (int64_t trips = 0; trips <= most; ++trips)
    for (int number = 0, end = worlds.perTripCount(); number < end; ++number) {
      World world = worlds.make(trips, number);
      Execution sequential(loop, world, one, nullptr, names);
      Execution scheduled(loop, world, verdict.slots, &plan, names);
      sequential.run();
      scheduled.run();
      if (sequential.observables() != scheduled.observables())
        return verdict.legal() ? Effect::Unexplained : Effect::Harmful;
      // The longest run shows all pairs; in the others it is enough that what
      // is seen in the end was computed from the same.
      if (!verdict.legal())
        explanation.add(verdict, world, sequential, scheduled, trips == most || number == 0);
    }
  return verdict.legal() ? Effect::Same : explanation.effect(verdict);
}
