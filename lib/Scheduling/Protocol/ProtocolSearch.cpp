//===- ProtocolSearch.cpp - All orders in which steps can be taken --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A depth-first search through the states of a protocol. Steps that concern
// nobody else are taken at once: they commute with all others, and clocks tell
// whether two accesses are ordered whichever came first. Of states that were seen
// only hashes of 128 bits are kept.
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Protocol/ProtocolRun.h"

#include <algorithm>
#include <unordered_set>

namespace penstock::sched {
namespace {

using Step = ProtocolStep;
using Kind = ProtocolStep::Kind;

/// A search ends after so many states, or words of states: that is a fraction of a
/// second.
constexpr size_t mostSteps = 3000, leastStates = 2000, largestSearch = 200000, mostWords = 20000000;

struct Hash {
  uint64_t low, high;
  bool operator==(const Hash &) const = default;
};
struct HashOfHash {
  size_t operator()(const Hash &hash) const { return size_t(hash.low); }
};

uint64_t mix(uint64_t a, uint64_t b) {
  auto product = static_cast<unsigned __int128>(a) * b;
  return uint64_t(product) ^ uint64_t(product >> 64);
}

Hash hashOf(const ProtocolState &state) {
  Hash hash{0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F};
  auto add = [&](const std::vector<uint32_t> &words) {
    for (uint32_t word : words) {
      hash.low = mix(hash.low ^ word, 0xA0761D6478BD642F) + word;
      hash.high = mix(hash.high + word, 0xE7037ED1A0B428DB) ^ (hash.high << 7);
    }
  };
  add(state.words);
  add(state.flying);
  return hash;
}

class Search : public ProtocolWatcher {
public:
  explicit Search(const ProtocolNumbers &numbers)
      : numbers(numbers), machine(numbers, *this),
        result{Verdict::Right, ProtocolFindings(numbers)} {
    relate();
  }

  ProtocolSearchResult run();

  void access(const ProtocolState &state, StepRef step, const uint32_t *clock) override;
  void overflow(StepRef step, int64_t room) override {
    result.findings.overflow(step, room);
    wrong();
  }

private:
  using Verdict = ProtocolSearchResult::Verdict;
  /// Accesses of a step, and those of others that they must be ordered with.
  struct Relation {
    size_t access;
    StepRef other;
    size_t otherAccess;
  };
  struct StepRelations {
    std::vector<Relation> conflicts;
    /// For each access, steps that write what it reads; no value: it needs none.
    std::vector<std::optional<std::vector<StepRef>>> writers;
  };

  void relate();
  void wrong() { result.verdict = Verdict::Wrong; }
  bool taken(const ProtocolState &state, StepRef step) const {
    return step.index < machine.next(state, step.role);
  }
  void takeLocalSteps(ProtocolState &state);
  void checkEnd(const ProtocolState &state);
  /// Adds the state unless it was seen.
  void visit(ProtocolState state);

  const ProtocolNumbers &numbers;
  ProtocolMachine machine;
  std::vector<std::vector<StepRelations>> relations;
  std::vector<StepRef> copies;
  std::unordered_set<Hash, HashOfHash> seen;
  std::vector<ProtocolState> open;
  ProtocolSearchResult result;
};

void Search::relate() {
  std::vector<StepRef> accessing;
  for (unsigned role = 0; role < numbers.protocol.roles.size(); ++role) {
    const auto &steps = numbers.protocol.roles[role].steps;
    relations.emplace_back(steps.size());
    for (unsigned i = 0; i < steps.size(); ++i) {
      if (!steps[i].accesses.empty())
        accessing.push_back({role, i});
      if (steps[i].kind == Kind::Copy)
        copies.push_back({role, i});
    }
  }
  for (StepRef ref : accessing) {
    StepRelations &of = relations[ref.role][ref.index];
    const auto &accesses = numbers.step(ref).accesses;
    of.writers.resize(accesses.size());
    for (size_t a = 0; a < accesses.size(); ++a) {
      bool needs = !accesses[a].write && !accesses[a].maybe &&
                   !numbers.mayBeWritten(accesses[a].box.tile, ref.role);
      std::vector<StepRef> writers;
      for (StepRef other : accessing) {
        bool itself = other.role == ref.role && other.index == ref.index;
        const auto &theirs = numbers.step(other).accesses;
        for (size_t b = 0; b < theirs.size(); ++b) {
          bool writes = theirs[b].write && theirs[b].box.tile == accesses[a].box.tile &&
                        (theirs[b].maybe || theirs[b].box.overlaps(accesses[a].box));
          if (writes && itself)
            needs &= b > a;
          else if (writes)
            writers.push_back(other);
          if (!itself && conflict(numbers, other, theirs[b], ref, accesses[a]))
            of.conflicts.push_back({a, other, b});
        }
      }
      if (needs)
        of.writers[a] = std::move(writers);
    }
  }
}

void Search::access(const ProtocolState &state, StepRef step, const uint32_t *clock) {
  const StepRelations &of = relations[step.role][step.index];
  const std::vector<ProtocolAccess> &accesses = numbers.step(step).accesses;
  for (const Relation &relation : of.conflicts)
    if (taken(state, relation.other) &&
        !numbers.of(relation.other)
             .over.knownTo(numbers.clockFor(relation.other, accesses[relation.access], clock))) {
      result.findings.unordered(
          relation.other, numbers.step(relation.other).accesses[relation.otherAccess], step,
          accesses[relation.access], numbers.of(relation.other).over.knownTo(clock));
      return wrong();
    }
  for (size_t a = 0; a < accesses.size(); ++a)
    if (of.writers[a] && std::none_of(of.writers[a]->begin(), of.writers[a]->end(),
                                      [&](StepRef writer) { return taken(state, writer); })) {
      result.findings.uninitialized(step, accesses[a]);
      return wrong();
    }
}

void Search::takeLocalSteps(ProtocolState &state) {
  for (unsigned role = 0; role < numbers.protocol.roles.size(); ++role)
    while (result.verdict == Verdict::Right && machine.isLocal(state, role))
      machine.step(state, role);
}

void Search::checkEnd(const ProtocolState &state) {
  for (const StepRef &copy : copies) {
    bool awaited = false;
    for (unsigned role = 0; role < numbers.protocol.roles.size(); ++role)
      awaited |= numbers.of(copy).over.knownTo(machine.clock(state, role) + numbers.memory);
    if (!awaited) {
      result.findings.unfinished(copy);
      return wrong();
    }
  }
}

void Search::visit(ProtocolState state) {
  takeLocalSteps(state);
  if (result.verdict == Verdict::Right && seen.insert(hashOf(state)).second)
    open.push_back(std::move(state));
}

ProtocolSearchResult Search::run() {
  ProtocolState first = machine.start();
  size_t mostStates = std::clamp(mostWords / (first.words.size() + 1), leastStates, largestSearch);
  visit(std::move(first));
  while (!open.empty() && result.verdict == Verdict::Right) {
    if (seen.size() > mostStates) {
      result.verdict = Verdict::Undecided;
      break;
    }
    ProtocolState state = std::move(open.back());
    open.pop_back();
    bool stuck = true;
    for (size_t i = 0; i < machine.flying(state); ++i)
      if (machine.canComplete(state, i)) {
        stuck = false;
        ProtocolState after = state;
        machine.complete(after, i);
        visit(std::move(after));
      }
    for (unsigned role = 0; role < numbers.protocol.roles.size(); ++role)
      if (machine.canStep(state, role)) {
        stuck = false;
        ProtocolState after = state;
        machine.step(after, role);
        visit(std::move(after));
      }
    if (result.verdict != Verdict::Right)
      break;
    if (machine.allFinished(state)) {
      checkEnd(state);
    } else if (stuck) {
      result.findings.deadlock(machine, state);
      wrong();
    }
  }
  return std::move(result);
}

} // namespace

ProtocolSearchResult searchProtocol(const ProtocolNumbers &numbers) {
  if (numbers.steps() > mostSteps)
    return {ProtocolSearchResult::Verdict::Undecided, ProtocolFindings(numbers)};
  return Search(numbers).run();
}

} // namespace penstock::sched
