//===- Protocol.cpp - Following what roles do, step by step ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every step is an event, and every event knows the set of events that happened
// before it. Two accesses to a tile are in order if the end of one is in the set
// of the other: what the order of this run happened to be does not count.
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol.h"
#include "Diagnostics/Codes.h"

#include <algorithm>
#include <set>

namespace penstock::sched {

bool ProtocolBox::overlaps(const ProtocolBox &other) const {
  if (tile != other.tile)
    return false;
  for (unsigned d = 0; d < std::min(rank, other.rank); ++d)
    if (end[d] <= other.begin[d] || other.end[d] <= begin[d])
      return false;
  return true;
}

namespace {

using Step = ProtocolStep;
using Kind = ProtocolStep::Kind;
constexpr unsigned none = ~0u;

/// How roles and engines share the time of a run.
struct Timing {
  enum class Order { FirstRolesFirst, LastRolesFirst, InTurn } order;
  bool lateEngines; ///< engines complete only when no role can go on
};
constexpr Timing timings[] = {{Timing::Order::FirstRolesFirst, false},
                              {Timing::Order::LastRolesFirst, true},
                              {Timing::Order::InTurn, true}};

/// Engines whose work ends in order, or whose arrivals come after all that was
/// issued before, which is the same for those who wait.
bool endsInOrder(ProtocolQueue queue) {
  return queue == ProtocolQueue::Tensor || queue == ProtocolQueue::AsyncCopy;
}

/// Sets of events, one for each event: what happened before it, and itself.
class Events {
public:
  explicit Events(size_t most) : words((most + 63) / 64) {}

  using Set = std::vector<uint64_t>;
  Set emptySet() const { return Set(words); }
  void include(Set &set, unsigned event) const {
    if (event != none)
      for (size_t w = 0; w < words; ++w)
        set[w] |= before[event * words + w];
  }
  unsigned add(unsigned first, unsigned second = none, const Set *set = nullptr) {
    unsigned event = count++;
    before.resize(count * words);
    uint64_t *mine = &before[event * words];
    for (unsigned other : {first, second})
      if (other != none)
        for (size_t w = 0; w < words; ++w)
          mine[w] |= before[other * words + w];
    if (set)
      for (size_t w = 0; w < words; ++w)
        mine[w] |= (*set)[w];
    mine[event / 64] |= uint64_t(1) << (event % 64);
    return event;
  }
  bool isBefore(unsigned a, unsigned b) const {
    return a != none && (before[b * words + a / 64] >> (a % 64) & 1);
  }

private:
  size_t words;
  unsigned count = 0;
  std::vector<uint64_t> before;
};

class Run {
public:
  Run(const Protocol &protocol, Timing timing);
  /// In order of importance.
  std::vector<Diagnostic> findings();

private:
  /// What an engine does, or an arrival that waits for engines.
  struct Work {
    unsigned role, issued;
    const Step *step;
    unsigned over = none; ///< the event of its completion
  };
  struct Touch {
    unsigned role, source;
    ProtocolQueue queue;
    bool byEngine;
    ProtocolAccess access;
    unsigned event;       ///< at which it begins
    unsigned work = none; ///< of an engine; otherwise it is over at once
  };
  struct Barrier {
    int64_t pending, bytes = 0, phase = 0;
    Events::Set arrived;
    unsigned completed = none; ///< the event of the last phase's completion
  };
  struct Queue {
    std::vector<unsigned> open; ///< works that no group has yet
    std::vector<std::vector<unsigned>> groups;
    unsigned last = none; ///< the last completion, for engines that keep order
  };
  struct RoleState {
    size_t next = 0;
    unsigned last = none; ///< event
    std::array<Queue, size_t(ProtocolQueue::Count)> queues;
  };
  struct SyncState {
    std::vector<unsigned> arrived; ///< roles
    Events::Set before;
  };

  bool finished(unsigned role) const {
    return states[role].next == protocol.roles[role].steps.size();
  }
  /// Takes the role's next step, if it can.
  bool advance(unsigned role);
  bool advanceRoles();
  bool completeOne();
  void complete(unsigned work);
  bool canComplete(unsigned work) const;
  void touch(unsigned role, const Step &step, unsigned event, unsigned work);
  void arrive(unsigned barrier, int64_t count, unsigned event, unsigned source);
  void completePhase(Barrier &barrier);
  bool sync(unsigned role, const Step &step);
  void awaitGroups(unsigned role, const Step &step);

  void reportOrder(const Touch &first, const Touch &second);
  void reportDeadlock();
  void checkEnd();

  const SourcePlace &place(unsigned source) const { return protocol.sources[source].place; }
  std::string nameOf(unsigned source) const { return "`" + protocol.sources[source].name + "`"; }
  std::string barrierName(unsigned b) const { return "`" + protocol.barriers[b].name + "`"; }
  std::string nameOf(const ProtocolBox &box) const;
  std::string when() const {
    return protocol.circumstances.empty() ? "" : ", with " + protocol.circumstances;
  }
  /// Adds a finding unless one of its kind was reported at this place.
  Diagnostic *report(unsigned code, unsigned source);

  const Protocol &protocol;
  Timing timing;
  Events events;
  std::vector<RoleState> states;
  std::vector<Barrier> barriers;
  std::vector<SyncState> syncs;
  std::vector<Work> works;
  std::vector<unsigned> pending;           ///< works, in the order in which they were issued
  std::vector<std::vector<Touch>> touches; ///< by tile
  std::vector<Diagnostic> found;
  std::set<std::pair<unsigned, unsigned>> known;
};

size_t mostEvents(const Protocol &protocol) {
  size_t steps = 0;
  for (const ProtocolRole &role : protocol.roles)
    steps += role.steps.size();
  // A step, its completion, a phase that ends with it; the beginning and the end.
  return 3 * steps + 2;
}

Run::Run(const Protocol &protocol, Timing timing)
    : protocol(protocol), timing(timing), events(mostEvents(protocol)),
      states(protocol.roles.size()), touches(protocol.tiles.size()) {
  for (const ProtocolBarrier &b : protocol.barriers) {
    barriers.push_back({});
    barriers.back().pending = b.count;
    barriers.back().arrived = events.emptySet();
  }
  for (size_t i = 0; i < protocol.syncs.size(); ++i)
    syncs.push_back({{}, events.emptySet()});
  unsigned start = events.add(none);
  for (RoleState &state : states)
    state.last = start;
}

Diagnostic *Run::report(unsigned code, unsigned source) {
  if (!known.insert({code, source}).second)
    return nullptr;
  found.emplace_back();
  found.back().code = code;
  found.back().place = place(source);
  return &found.back();
}

std::string Run::nameOf(const ProtocolBox &box) const {
  std::string text = protocol.tiles[box.tile].name;
  // The slot of a ring of tiles is what its author thinks in.
  if (box.rank > 2 && box.end[0] == box.begin[0] + 1)
    text += "[" + std::to_string(box.begin[0]) + "]";
  return "`" + text + "`" + protocol.tiles[box.tile].where;
}

void Run::reportOrder(const Touch &first, const Touch &second) {
  Diagnostic *d = report(ProtocolOrder, second.source);
  if (!d)
    return;
  std::string what = nameOf(second.access.box);
  d->message = nameOf(second.source) + (second.access.write ? " writes " : " reads ") + what +
               ", and nothing makes it wait for what " + (first.access.write ? "writes" : "reads") +
               " it before" + when();
  d->label = "by " + protocol.roles[second.role].name;
  d->notes.push_back({place(first.source),
                      std::string(first.access.write ? "written" : "read") + " here by " +
                          nameOf(first.source) + " of " + protocol.roles[first.role].name +
                          (first.byEngine ? ", whose end has to be awaited" : ""),
                      ""});
  d->helps.push_back(second.access.write
                         ? "give the slot back when it has been read, and wait for that before "
                           "it is filled again"
                         : "wait, before reading, for a barrier that the writer arrives on");
}

void Run::touch(unsigned role, const Step &step, unsigned event, unsigned work) {
  for (const ProtocolAccess &access : step.accesses) {
    Touch now{role, step.source, step.queue, work != none, access, event, work};
    auto &list = touches[access.box.tile];
    bool written = access.write || access.maybe;
    // Where there are several, what still reads says more than what wrote before.
    const Touch *unordered = nullptr;
    for (const Touch &old : list) {
      if (!old.access.box.overlaps(access.box) && !old.access.maybe)
        continue;
      written |= old.access.write;
      if (old.access.maybe || access.maybe || !(old.access.write || access.write))
        continue;
      bool shared = old.access.scope >= 0 && old.access.scope == access.scope;
      // One engine does its products one after the other.
      bool queued = old.byEngine && now.byEngine && old.role == role && old.queue == step.queue &&
                    step.queue == ProtocolQueue::Tensor && step.kind == Kind::Start &&
                    works[old.work].step->kind == Kind::Start;
      unsigned over = old.work == none ? old.event : works[old.work].over;
      if (!shared && !queued && !events.isBefore(over, event) &&
          (!unordered || (unordered->access.write && !old.access.write)))
        unordered = &old;
    }
    if (unordered)
      reportOrder(*unordered, now);
    if (!written)
      if (Diagnostic *d = report(ProtocolUninitialised, step.source)) {
        d->message = nameOf(step.source) + " reads " + nameOf(access.box) +
                     ", which nothing has written" + when();
        d->label = "by " + protocol.roles[role].name;
        d->helps.push_back("write it first, or leave out the read where the loop that writes it "
                           "has no iterations");
      }
    list.push_back(now);
  }
}

void Run::completePhase(Barrier &barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.completed = events.add(none, none, &barrier.arrived);
  barrier.arrived = events.emptySet();
  barrier.pending = protocol.barriers[size_t(&barrier - barriers.data())].count;
}

void Run::arrive(unsigned index, int64_t count, unsigned event, unsigned source) {
  Barrier &barrier = barriers[index];
  if (count > barrier.pending) {
    if (Diagnostic *d = report(ProtocolArrivals, source)) {
      d->message = nameOf(source) + " arrives " + std::to_string(count) + " times on " +
                   barrierName(index) + ", which counts " +
                   std::to_string(protocol.barriers[index].count) +
                   (barrier.pending < protocol.barriers[index].count
                        ? " and has room for " + std::to_string(barrier.pending)
                        : "") +
                   when();
      d->helps.push_back("every thread of the scope arrives: put it into elect_one, or count "
                         "all of them");
    }
    count = barrier.pending;
  }
  barrier.pending -= count;
  events.include(barrier.arrived, event);
  completePhase(barrier);
}

bool Run::canComplete(unsigned index) const {
  const Work &work = works[index];
  if (work.step->kind == Kind::Copy || !endsInOrder(work.step->queue))
    return true;
  return std::none_of(pending.begin(), pending.end(), [&](unsigned other) {
    return other < index && works[other].role == work.role &&
           works[other].step->kind != Kind::Copy && works[other].step->queue == work.step->queue;
  });
}

void Run::complete(unsigned index) {
  Work &work = works[index];
  unsigned &last = states[work.role].queues[size_t(work.step->queue)].last;
  if (work.step->kind == Kind::Copy) {
    work.over = events.add(work.issued);
    Barrier &barrier = barriers[work.step->barrier];
    barrier.bytes -= work.step->bytes;
    events.include(barrier.arrived, work.over);
    completePhase(barrier);
    return;
  }
  bool inOrder = endsInOrder(work.step->queue);
  work.over = events.add(work.issued, inOrder ? last : none);
  if (inOrder)
    last = work.over;
  if (work.step->kind == Kind::Commit)
    arrive(work.step->barrier, work.step->count, work.over, work.step->source);
}

bool Run::completeOne() {
  for (size_t i = 0; i < pending.size(); ++i)
    if (unsigned work = pending[i]; canComplete(work)) {
      pending.erase(pending.begin() + std::ptrdiff_t(i));
      complete(work);
      return true;
    }
  return false;
}

bool Run::sync(unsigned role, const Step &step) {
  SyncState &state = syncs[step.barrier];
  if (std::find(state.arrived.begin(), state.arrived.end(), role) == state.arrived.end()) {
    state.arrived.push_back(role);
    events.include(state.before, states[role].last);
  }
  if (state.arrived.size() < protocol.syncs[step.barrier].size())
    return false;
  for (unsigned other : state.arrived) {
    states[other].last = events.add(states[other].last, none, &state.before);
    ++states[other].next;
  }
  state = {{}, events.emptySet()};
  return true;
}

void Run::awaitGroups(unsigned role, const Step &step) {
  Queue &queue = states[role].queues[size_t(step.queue)];
  Events::Set over = events.emptySet();
  while (int64_t(queue.groups.size()) > step.count) {
    for (unsigned work : queue.groups.front()) {
      if (works[work].over == none) {
        pending.erase(std::find(pending.begin(), pending.end(), work));
        complete(work);
      }
      events.include(over, works[work].over);
    }
    queue.groups.erase(queue.groups.begin());
  }
  states[role].last = events.add(states[role].last, none, &over);
}

bool Run::advance(unsigned role) {
  RoleState &state = states[role];
  if (finished(role))
    return false;
  const Step &step = protocol.roles[role].steps[state.next];
  switch (step.kind) {
  case Kind::Sync:
    return sync(role, step);
  case Kind::Wait: {
    Barrier &barrier = barriers[step.barrier];
    if ((barrier.phase & 1) == int64_t(step.parity))
      return false;
    state.last = events.add(state.last, step.relaxed ? none : barrier.completed);
    break;
  }
  case Kind::Touch:
    state.last = events.add(state.last);
    touch(role, step, state.last, none);
    break;
  case Kind::Arrive: {
    state.last = events.add(state.last);
    Barrier &barrier = barriers[step.barrier];
    barrier.bytes += step.bytes;
    arrive(step.barrier, step.count, step.relaxed ? none : state.last, step.source);
    break;
  }
  case Kind::Copy:
  case Kind::Start:
  case Kind::Commit: {
    state.last = events.add(state.last);
    unsigned work = unsigned(works.size());
    works.push_back({role, state.last, &step});
    pending.push_back(work);
    if (step.kind == Kind::Start)
      state.queues[size_t(step.queue)].open.push_back(work);
    if (step.kind != Kind::Commit)
      touch(role, step, state.last, work);
    break;
  }
  case Kind::CloseGroup: {
    Queue &queue = state.queues[size_t(step.queue)];
    queue.groups.push_back(std::move(queue.open));
    queue.open.clear();
    break;
  }
  case Kind::AwaitGroups:
    awaitGroups(role, step);
    break;
  }
  ++state.next;
  if (!timing.lateEngines)
    while (completeOne())
      ;
  return true;
}

bool Run::advanceRoles() {
  bool moved = false;
  auto count = unsigned(protocol.roles.size());
  for (unsigned i = 0; i < count; ++i) {
    unsigned role = timing.order == Timing::Order::LastRolesFirst ? count - 1 - i : i;
    while (advance(role)) {
      moved = true;
      if (timing.order == Timing::Order::InTurn)
        break;
    }
  }
  return moved;
}

void Run::reportDeadlock() {
  // The cause is a wait; what else stands still follows from it.
  std::vector<unsigned> waiting;
  for (unsigned role = 0; role < states.size(); ++role)
    if (!finished(role) && protocol.roles[role].steps[states[role].next].kind == Kind::Wait)
      waiting.push_back(role);
  auto stepOf = [&](unsigned role) -> const Step & {
    return protocol.roles[role].steps[states[role].next];
  };
  auto missing = [&](unsigned role) {
    unsigned index = stepOf(role).barrier;
    const Barrier &b = barriers[index];
    int64_t count = protocol.barriers[index].count;
    return barrierName(index) + " has " + std::to_string(count - b.pending) + " of " +
           std::to_string(count) + " arrivals" +
           (b.bytes > 0   ? " and lacks " + std::to_string(b.bytes) + " bytes"
            : b.bytes < 0 ? " and " + std::to_string(-b.bytes) + " bytes that nobody announced"
                          : "");
  };
  if (waiting.empty()) { // roles that meet at different syncs
    for (unsigned role = 0; role < states.size(); ++role)
      if (!finished(role))
        if (Diagnostic *d = report(ProtocolDeadlock, stepOf(role).source)) {
          d->message = "this wait never ends: other threads do not come" + when();
          d->label = "by " + protocol.roles[role].name;
          d->helps.push_back("all threads of the scope must reach it, equally often");
          return;
        }
    return;
  }
  Diagnostic *d = report(ProtocolDeadlock, stepOf(waiting.front()).source);
  if (!d)
    return;
  d->message = "this wait never ends: " + missing(waiting.front()) + when();
  d->label = "by " + protocol.roles[waiting.front()].name + ", for the phase of parity " +
             std::to_string(stepOf(waiting.front()).parity);
  int64_t count = protocol.barriers[stepOf(waiting.front()).barrier].count;
  d->helps.push_back("each phase needs " + std::to_string(count) +
                     (count == 1 ? " arrival" : " arrivals") +
                     "; whoever waits for the first ones starts with phase 0, whoever may go "
                     "ahead once with phase 1");
  for (size_t i = 1; i < waiting.size(); ++i)
    d->notes.push_back(
        {place(stepOf(waiting[i]).source),
         "nor does this one, by " + protocol.roles[waiting[i]].name + ": " + missing(waiting[i]),
         ""});
}

void Run::checkEnd() {
  Events::Set atEnd = events.emptySet();
  for (const RoleState &state : states)
    events.include(atEnd, state.last);
  unsigned end = events.add(none, none, &atEnd);
  for (const Work &work : works)
    if (work.step->kind == Kind::Copy && !events.isBefore(work.over, end))
      if (Diagnostic *d = report(ProtocolUnfinished, work.step->source)) {
        d->message = nameOf(work.step->source) +
                     " may still be under way when the kernel ends: nobody waits for it" + when();
        d->label = "by " + protocol.roles[work.role].name;
        d->helps.push_back("wait for its barrier, or do not copy what is not used");
      }
}

std::vector<Diagnostic> Run::findings() {
  while (advanceRoles() || completeOne())
    ;
  bool all = true;
  for (unsigned role = 0; role < states.size(); ++role)
    all &= finished(role);
  if (all)
    checkEnd();
  else
    reportDeadlock();
  std::vector<Diagnostic> ordered;
  for (unsigned code : {ProtocolArrivals, ProtocolOrder, ProtocolDeadlock, ProtocolUninitialised,
                        ProtocolUnfinished})
    for (Diagnostic &d : found)
      if (d.code == code)
        ordered.push_back(std::move(d));
  return ordered;
}

/// Barriers that are told of other bytes than come: whatever the order, some phase
/// ends too early or never.
std::vector<Diagnostic> wrongBytes(const Protocol &protocol) {
  struct Sum {
    int64_t expected = 0, brought = 0;
    unsigned expectedAt = none, broughtAt = none; ///< sources
  };
  std::vector<Sum> sums(protocol.barriers.size());
  for (const ProtocolRole &role : protocol.roles)
    for (const Step &step : role.steps)
      if (step.kind == Kind::Arrive && step.count > protocol.barriers[step.barrier].count) {
        return {}; // every thread announces where one was meant: that is the mistake
      } else if (step.kind == Kind::Arrive && step.bytes) {
        sums[step.barrier].expected += step.bytes;
        sums[step.barrier].expectedAt = step.source;
      } else if (step.kind == Kind::Copy) {
        sums[step.barrier].brought += step.bytes;
        sums[step.barrier].broughtAt = step.source;
      }
  for (size_t i = 0; i < sums.size(); ++i) {
    const Sum &sum = sums[i];
    if (sum.expected == sum.brought)
      continue;
    unsigned at = sum.expectedAt != none ? sum.expectedAt : sum.broughtAt;
    Diagnostic d;
    d.code = ProtocolBytes;
    d.place = protocol.sources[at].place;
    d.message = "`" + protocol.barriers[i].name + "` is told to expect " +
                std::to_string(sum.expected) + " bytes in all, and copies bring " +
                std::to_string(sum.brought) +
                (protocol.circumstances.empty() ? "" : ", with " + protocol.circumstances);
    if (sum.broughtAt != none && sum.broughtAt != at)
      d.notes.push_back(
          {protocol.sources[sum.broughtAt].place, "the last copy that arrives on it", ""});
    d.helps.push_back("announce, for each phase, the bytes of all tiles that are copied in it");
    return {d}; // those of other slots say the same
  }
  return {};
}

} // namespace

std::vector<Diagnostic> followProtocol(const Protocol &protocol) {
  if (std::vector<Diagnostic> found = wrongBytes(protocol); !found.empty())
    return found;
  for (Timing timing : timings)
    if (std::vector<Diagnostic> found = Run(protocol, timing).findings(); !found.empty())
      return found;
  return {};
}

} // namespace penstock::sched
