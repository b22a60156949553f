//===- RuleSet.h - The rules of a legal schedule, one bit each --*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checker whose rules are never seen to matter may have lost one without
// anybody noticing. Each rule can therefore be weakened alone, and the fuzzer
// must find every such mutant. Nothing else may pass a RuleSet.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCHEDULING_PROBLEM_RULESET_H
#define PENSTOCK_SCHEDULING_PROBLEM_RULESET_H

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::sched {

// PENSTOCK_RULE(name, what the weakened checker does instead)
#define PENSTOCK_RULES(RULE)                                                                       \
  RULE(ReadAfterWrite, "reads may run before the write they need")                                 \
  RULE(WriteAfterRead, "writes may run before earlier reads")                                      \
  RULE(WriteAfterWrite, "writes may be exchanged")                                                 \
  RULE(SameIteration, "pairs of one iteration are not looked at")                                  \
  RULE(CarriedPairs, "pairs of different iterations are not looked at")                            \
  RULE(SelfPairs, "a statement never conflicts with itself")                                       \
  RULE(Completion, "issue counts as completion")                                                   \
  RULE(ReadCompletion, "a wait for reads ends the writes too")                                     \
  RULE(WaitDistance, "waits count as if they awaited their own iteration")                         \
  RULE(WaitAfterIssue, "a wait may run before what it awaits is issued")                           \
  RULE(WaitBefore, "what was issued before the loop orders nothing")                               \
  RULE(CountedBinding, "a counted wait awaits all groups")                                         \
  RULE(QueueIssueOrder, "members of a queue are in order whatever the issue")                      \
  RULE(QueueBuffers, "a queue orders all buffers, not its accumulators only")                      \
  RULE(QueueInOrder, "every queue is taken to be in order")                                        \
  RULE(QueueRange, "any later member of a queue completes an earlier one")                         \
  RULE(QueueGuard, "a member that may not exist completes an earlier one")                         \
  RULE(CommitStage, "a commit may have another stage than its group")                              \
  RULE(CommitOrder, "a commit may come before its group")                                          \
  RULE(CommitAlone, "other groups may stand between a group and its commit")                       \
  RULE(FenceKept, "a fence may leave the pair that it separates")                                  \
  RULE(ScalarStage, "a scheduled scalar may be used from another stage")                           \
  RULE(ScalarOrder, "a scheduled scalar may be used before it is defined")                         \
  RULE(Versionable, "every allocated buffer may be versioned")                                     \
  RULE(VersionOrder, "the order inside a step adds no version")                                    \
  RULE(StatedVersions, "a stated number of versions is believed")                                  \
  RULE(GuardDistance, "opposite conditions exclude other iterations too")                          \
  RULE(OrderUnique, "two statements may share an order")

enum class Rule : unsigned {
#define PENSTOCK_RULE(NAME, WEAKENED) NAME,
  PENSTOCK_RULES(PENSTOCK_RULE)
#undef PENSTOCK_RULE
};

class RuleSet {
public:
  /// All rules hold.
  RuleSet() = default;
  static RuleSet without(Rule rule) {
    RuleSet set;
    set.weak = uint64_t(1) << unsigned(rule);
    return set;
  }
  bool has(Rule rule) const { return !(weak >> unsigned(rule) & 1); }

private:
  uint64_t weak = 0;
};

struct RuleInfo {
  Rule rule;
  std::string name;
  std::string weakened;
};

inline std::vector<RuleInfo> allRules() {
  return {
#define PENSTOCK_RULE(NAME, WEAKENED) {Rule::NAME, #NAME, WEAKENED},
      PENSTOCK_RULES(PENSTOCK_RULE)
#undef PENSTOCK_RULE
  };
}

} // namespace penstock::sched

#endif // PENSTOCK_SCHEDULING_PROBLEM_RULESET_H
