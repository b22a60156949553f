//===- ProtocolOracle.cpp - Step lists in every interleaving --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every step of a role and every end of a copy or commit is a transition; all
// orders of all of them are looked at, and nothing is left out because it seems
// to make no difference. What a role knows to be over is a set of accesses, one
// bit each: waits take it from the arrivals of the phase they return for. A race
// is an access whose role does not know of an earlier one. Relaxed arrivals that are
// sent across blocks pass on rumors: they suffice to overwrite what an engine used.
//
//===----------------------------------------------------------------------===//
#include "ProtocolOracle.h"

#include <algorithm>
#include <string>
#include <unordered_set>

using namespace penstock;
using namespace penstock::fuzz;
using namespace penstock::sched;

namespace {

using Kind = ProtocolStep::Kind;
using Facts = uint64_t;

struct Knowledge {
  Facts sure = 0;   ///< for any access
  Facts rumors = 0; ///< for writes after asynchronous accesses; sure facts, too

  Knowledge &operator|=(Facts facts) {
    sure |= facts;
    rumors |= facts;
    return *this;
  }
  Knowledge &operator|=(const Knowledge &other) {
    sure |= other.sure;
    rumors |= other.rumors;
    return *this;
  }
};

/// An access to a tile; each is one bit.
struct StepPosition {
  unsigned role, step;
};

/// A copy or commit that has not ended.
struct Engine {
  uint8_t role, step;
  Knowledge known; ///< when it was issued
};

struct BarrierState {
  int16_t bytes;
  uint8_t pending, phase;
  Knowledge gathered, published;           ///< by all arrivals: of this phase, of the last one
  Knowledge localGathered, localPublished; ///< by those of the barrier's block
};

struct State {
  std::vector<uint8_t> at;        ///< the next step of each role
  std::vector<uint8_t> ownPhases; ///< by role and barrier
  std::vector<Knowledge> known;   ///< by role
  std::vector<BarrierState> barriers;
  std::vector<Engine> engines;

  std::string key() const {
    std::string text(at.begin(), at.end());
    text.append(ownPhases.begin(), ownPhases.end());
    auto put = [&](auto value) {
      text.append(reinterpret_cast<const char *>(&value), sizeof value);
    };
    for (const Knowledge &facts : known)
      put(facts);
    for (const BarrierState &b : barriers) {
      put(b.bytes);
      put(b.pending);
      put(b.phase);
      put(b.gathered);
      put(b.published);
      put(b.localGathered);
      put(b.localPublished);
    }
    for (const Engine &e : engines) {
      put(e.role);
      put(e.step);
      put(e.known);
    }
    return text;
  }
};

bool meet(const ProtocolBox &a, const ProtocolBox &b) {
  bool together = a.tile == b.tile;
  for (unsigned d = 0; d < a.rank && d < b.rank; ++d)
    together = together && a.begin[d] < b.end[d] && b.begin[d] < a.end[d];
  return together;
}

bool keepsOrder(ProtocolQueue queue) {
  return queue == ProtocolQueue::Tensor || queue == ProtocolQueue::AsyncCopy;
}

class Explorer {
public:
  explicit Explorer(const Protocol &protocol) : protocol(protocol) {}
  ListFault run(size_t mostStates);

private:
  const ProtocolStep &stepOf(unsigned role, unsigned step) const {
    return protocol.roles[role].steps[step];
  }
  bool prepare();
  bool enabled(const State &state, unsigned role) const;
  void take(State &state, unsigned role);
  void end(State &state, size_t engine);
  void arrive(State &state, unsigned role, const ProtocolStep &step, const Knowledge &known);
  void access(State &state, unsigned role, unsigned index);
  void checkEnd(const State &state);
  /// Of works that the role started before a step: those that a commit there
  /// waits for, or those in all but the last `count` closed groups.
  Facts committed(unsigned role, unsigned before, ProtocolQueue queue) const;
  Facts awaited(unsigned role, unsigned before, ProtocolQueue queue, int64_t count) const;

  const Protocol &protocol;
  std::vector<StepPosition> positions;
  std::vector<std::vector<Facts>> bits; ///< of each step; 0 if it has no access
  ListFault fault = ListFault::None;
};

bool Explorer::prepare() {
  for (unsigned r = 0; r < protocol.roles.size(); ++r) {
    const auto &steps = protocol.roles[r].steps;
    bits.emplace_back(steps.size(), 0);
    if (steps.size() > 200)
      return false;
    for (unsigned i = 0; i < steps.size(); ++i) {
      // A copy without an access has an end that somebody must await, too.
      if (steps[i].accesses.empty() && steps[i].kind != Kind::Copy)
        continue;
      if (positions.size() == 64)
        return false;
      bits[r][i] = Facts(1) << positions.size();
      positions.push_back({r, i});
    }
  }
  return true;
}

Facts Explorer::committed(unsigned role, unsigned before, ProtocolQueue queue) const {
  Facts facts = 0;
  for (unsigned i = 0; i < before; ++i)
    if (stepOf(role, i).kind == Kind::Start && stepOf(role, i).queue == queue)
      facts |= bits[role][i];
  return facts;
}

Facts Explorer::awaited(unsigned role, unsigned before, ProtocolQueue queue, int64_t count) const {
  int64_t closed = 0;
  for (unsigned i = 0; i < before; ++i)
    closed += stepOf(role, i).kind == Kind::CloseGroup && stepOf(role, i).queue == queue;
  Facts facts = 0, open = 0;
  for (unsigned i = 0; i < before; ++i) {
    const ProtocolStep &step = stepOf(role, i);
    if (step.queue != queue)
      continue;
    if (step.kind == Kind::Start)
      open |= bits[role][i];
    if (step.kind == Kind::CloseGroup && closed-- > count) {
      facts |= open;
      open = 0;
    }
  }
  return facts;
}

bool Explorer::enabled(const State &state, unsigned role) const {
  if (state.at[role] == protocol.roles[role].steps.size())
    return false;
  const ProtocolStep &step = stepOf(role, state.at[role]);
  if (step.kind == Kind::Wait) {
    unsigned phase = state.barriers[step.barrier].phase;
    if (step.own)
      return phase >= state.ownPhases[role * protocol.barriers.size() + step.barrier];
    return phase % 2 != unsigned(step.parity);
  }
  if (step.kind == Kind::Sync)
    for (unsigned other : protocol.syncs[step.barrier]) {
      if (state.at[other] == protocol.roles[other].steps.size())
        return false;
      const ProtocolStep &its = stepOf(other, state.at[other]);
      if (its.kind != Kind::Sync || its.barrier != step.barrier)
        return false;
    }
  return true;
}

void Explorer::access(State &state, unsigned role, unsigned index) {
  const ProtocolStep &step = stepOf(role, index);
  for (size_t a = 0; a < step.accesses.size(); ++a) {
    const ProtocolAccess &mine = step.accesses[a];
    bool written = mine.write || mine.maybe;
    for (size_t p = 0; p < positions.size(); ++p) {
      StepPosition position = positions[p];
      bool itself = position.role == role && position.step == index;
      const ProtocolStep &other = stepOf(position.role, position.step);
      // Nobody knows when, or whether, another role does this.
      for (const ProtocolAccess &theirs : other.accesses)
        written |= position.role != role && theirs.write && theirs.maybe &&
                   theirs.box.tile == mine.box.tile;
      if (!itself && position.step >= state.at[position.role])
        continue; // not yet
      for (size_t b = 0; b < (itself ? a : other.accesses.size()); ++b) {
        const ProtocolAccess &theirs = other.accesses[b];
        if (theirs.write && theirs.box.tile == mine.box.tile &&
            (theirs.maybe || meet(theirs.box, mine.box)))
          written = true;
        if (itself || mine.maybe || theirs.maybe || !(mine.write || theirs.write) ||
            !meet(mine.box, theirs.box))
          continue;
        bool divided = mine.scope >= 0 && mine.scope == theirs.scope;
        bool inOneEngine = position.role == role && step.kind == Kind::Start &&
                           other.kind == Kind::Start && step.queue == ProtocolQueue::Tensor &&
                           other.queue == ProtocolQueue::Tensor;
        bool ends = other.kind == Kind::Start || other.kind == Kind::Copy;
        const Knowledge &known = state.known[role];
        if (!divided && !inOneEngine &&
            !((mine.write && ends ? known.rumors : known.sure) >> p & 1))
          fault = ListFault::Race;
      }
    }
    if (!written && fault == ListFault::None)
      fault = ListFault::Uninitialized;
  }
}

void Explorer::arrive(State &state, unsigned role, const ProtocolStep &step,
                      const Knowledge &known) {
  BarrierState &barrier = state.barriers[step.barrier];
  if (step.kind == Kind::Copy) {
    barrier.bytes = int16_t(barrier.bytes - step.bytes);
  } else {
    if (step.count > barrier.pending) {
      fault = ListFault::Overflow;
      return;
    }
    barrier.pending = uint8_t(barrier.pending - step.count);
    barrier.bytes = int16_t(barrier.bytes + step.bytes);
    if (step.kind == Kind::Arrive)
      state.ownPhases[role * protocol.barriers.size() + step.barrier] = uint8_t(barrier.phase + 1);
  }
  Knowledge passed = known;
  if (step.relaxed)
    passed.sure = 0;
  if (step.relaxed && !step.sent)
    passed.rumors = 0;
  barrier.gathered |= passed;
  if (step.remote)
    passed.sure = 0;
  barrier.localGathered |= passed;
  if (barrier.pending == 0 && barrier.bytes == 0) {
    ++barrier.phase;
    barrier.pending = uint8_t(protocol.barriers[step.barrier].count);
    barrier.published = barrier.gathered;
    barrier.gathered = Knowledge();
    barrier.localPublished = barrier.localGathered;
    barrier.localGathered = Knowledge();
  }
}

void Explorer::take(State &state, unsigned role) {
  unsigned index = state.at[role]++;
  const ProtocolStep &step = stepOf(role, index);
  Knowledge &known = state.known[role];
  switch (step.kind) {
  case Kind::Touch:
    access(state, role, index);
    known |= bits[role][index];
    break;
  case Kind::Start:
    access(state, role, index);
    break;
  case Kind::Copy:
  case Kind::Commit: {
    access(state, role, index);
    // Bytes release nothing: what the issuer knows, its own arrival on the barrier says.
    const auto &steps = protocol.roles[role].steps;
    bool tells = step.kind == Kind::Commit ||
                 std::any_of(steps.begin(), steps.end(), [&](const ProtocolStep &other) {
                   return other.kind == Kind::Arrive && other.barrier == step.barrier;
                 });
    Engine made{uint8_t(role), uint8_t(index), tells ? known : Knowledge()};
    auto at = std::find_if(state.engines.begin(), state.engines.end(), [&](const Engine &e) {
      return std::pair(e.role, e.step) > std::pair(made.role, made.step);
    });
    state.engines.insert(at, made);
    break;
  }
  case Kind::Arrive:
    arrive(state, role, step, known);
    break;
  case Kind::Wait:
    if (!step.relaxed)
      known |= step.narrow ? state.barriers[step.barrier].localPublished
                           : state.barriers[step.barrier].published;
    break;
  case Kind::CloseGroup:
    break;
  case Kind::AwaitGroups:
    known |= awaited(role, index, step.queue, step.count);
    break;
  case Kind::Sync: {
    Knowledge all;
    for (unsigned other : protocol.syncs[step.barrier])
      all |= state.known[other];
    for (unsigned other : protocol.syncs[step.barrier]) {
      state.known[other] = all;
      state.at[other] = uint8_t(state.at[other] + (other != role));
    }
    break;
  }
  }
}

void Explorer::end(State &state, size_t index) {
  Engine engine = state.engines[index];
  state.engines.erase(state.engines.begin() + std::ptrdiff_t(index));
  const ProtocolStep &step = stepOf(engine.role, engine.step);
  Knowledge known = engine.known;
  known |= bits[engine.role][engine.step];
  if (step.kind == Kind::Commit)
    known |= committed(engine.role, engine.step, step.queue);
  arrive(state, engine.role, step, known);
}

void Explorer::checkEnd(const State &state) {
  Knowledge known;
  for (const Knowledge &facts : state.known)
    known |= facts;
  for (size_t p = 0; p < positions.size(); ++p)
    if (stepOf(positions[p].role, positions[p].step).kind == Kind::Copy && !(known.sure >> p & 1))
      fault = ListFault::Unfinished;
  for (const BarrierState &barrier : state.barriers)
    if (state.engines.empty() && barrier.bytes != 0)
      fault = ListFault::Bytes;
}

ListFault Explorer::run(size_t mostStates) {
  if (!prepare())
    return ListFault::TooLarge;
  State first;
  first.at.resize(protocol.roles.size());
  first.known.resize(protocol.roles.size());
  first.ownPhases.resize(protocol.roles.size() * protocol.barriers.size());
  for (const ProtocolBarrier &barrier : protocol.barriers)
    first.barriers.push_back({0, uint8_t(barrier.count), 0, {}, {}, {}, {}});
  std::unordered_set<std::string> seen;
  std::vector<State> open;
  auto visit = [&](State state) {
    if (fault == ListFault::None && seen.insert(state.key()).second)
      open.push_back(std::move(state));
  };
  visit(std::move(first));
  while (!open.empty() && fault == ListFault::None) {
    if (seen.size() > mostStates)
      return ListFault::TooLarge;
    State state = std::move(open.back());
    open.pop_back();
    bool finished = true, stuck = true;
    for (unsigned role = 0; role < protocol.roles.size(); ++role) {
      finished &= state.at[role] == protocol.roles[role].steps.size();
      if (enabled(state, role)) {
        stuck = false;
        State after = state;
        take(after, role);
        visit(std::move(after));
      }
    }
    for (size_t i = 0; i < state.engines.size(); ++i) {
      // Commits of an engine that keeps order end in their order.
      const Engine &engine = state.engines[i];
      const ProtocolStep &step = stepOf(engine.role, engine.step);
      bool behind = false;
      for (size_t j = 0; j < i && step.kind == Kind::Commit && keepsOrder(step.queue); ++j) {
        const Engine &earlier = state.engines[j];
        behind |= earlier.role == engine.role &&
                  stepOf(earlier.role, earlier.step).kind == Kind::Commit &&
                  stepOf(earlier.role, earlier.step).queue == step.queue;
      }
      if (behind)
        continue;
      stuck = false;
      State after = state;
      end(after, i);
      visit(std::move(after));
    }
    if (fault != ListFault::None)
      break;
    if (finished)
      checkEnd(state);
    else if (stuck)
      fault = ListFault::Deadlock;
  }
  return fault;
}

} // namespace

ListFault penstock::fuzz::explore(const Protocol &protocol, size_t mostStates) {
  return Explorer(protocol).run(mostStates);
}

const char *penstock::fuzz::nameOf(ListFault fault) {
  switch (fault) {
  case ListFault::None:
    return "right";
  case ListFault::Deadlock:
    return "deadlock";
  case ListFault::Overflow:
    return "too many arrivals";
  case ListFault::Bytes:
    return "wrong bytes";
  case ListFault::Race:
    return "race";
  case ListFault::Uninitialized:
    return "read of nothing";
  case ListFault::Unfinished:
    return "copy that is not awaited";
  case ListFault::TooLarge:
    return "too large";
  }
  return "";
}
