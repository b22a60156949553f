//===- PlanCampaign.cpp - Plans: verifier against instances ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Campaign.h"
#include "RandomSyncPlan.h"
#include "Scheduling/Schedule/VerifySchedule.h"
#include "SyncOracle.h"
#include "Workers.h"

#include <cstdio>

using namespace penstock;
using namespace penstock::fuzz;
using namespace penstock::sched;

namespace {

enum Counter : int {
  Requirements,
  Covered,
  Legal,
  Derived,
  NotDerived,
  Changes,
  Noticed,
  Unnoticed,
  Reentered,
  Ending,
  EndingInEach,
  KnownToAll
};

/// Of how many derived plans one has all of its points left out and changed.
constexpr uint64_t changedEvery = 8;

/// Of how many plans one is checked in several runs of its loop.
constexpr uint64_t reenteredEvery = 4;

constexpr size_t shownFailures = 5;

SyncFaults verifierSays(const Plan &plan, bool &malformed) {
  SyncFaults faults;
  for (const Uncovered &u : uncovered(plan))
    switch (u.kind) {
    case Uncovered::Conflict:
    case Uncovered::MissingFence:
      faults.conflicts.insert({u.first, u.second, u.buffer});
      break;
    case Uncovered::InFlight:
      faults.inFlight.insert(u.first);
      break;
    case Uncovered::Phase:
      faults.phases.insert(u.barrier);
      break;
    case Uncovered::Malformed:
      malformed = true;
      break;
    }
  return faults;
}

std::string compare(const Plan &plan, Counters &counters) {
  bool malformed = false;
  SyncFaults verifier = verifierSays(plan, malformed);
  if (malformed)
    return "the generator made a malformed plan: " + uncovered(plan).front().what;
  SyncFaults oracle = checkInstances(plan);
  counters[Requirements] += oracle.requirements;
  counters[Covered] += !oracle.any();
  std::string out;
  auto differ = [&](const auto &a, const auto &b, const char *text, auto &&print) {
    for (const auto &x : a)
      if (!b.count(x))
        out += std::string(text) + print(x) + "; ";
  };
  auto pair = [](const std::tuple<unsigned, unsigned, unsigned> &x) {
    return "s" + std::to_string(std::get<0>(x)) + ", s" + std::to_string(std::get<1>(x)) + ", b" +
           std::to_string(std::get<2>(x));
  };
  auto id = [](unsigned x) { return std::to_string(x); };
  differ(verifier.conflicts, oracle.conflicts, "refused wrongly: ", pair);
  differ(oracle.conflicts, verifier.conflicts, "accepted wrongly: ", pair);
  differ(verifier.inFlight, oracle.inFlight, "ends, but refused: s", id);
  differ(oracle.inFlight, verifier.inFlight, "in flight, but accepted: s", id);
  differ(verifier.phases, oracle.phases, "phases refused wrongly: ", id);
  differ(oracle.phases, verifier.phases, "phases accepted wrongly: ", id);
  for (unsigned role = 0; role < plan.roles.size(); ++role) {
    bool ends = endsInRole(plan, role);
    counters[Ending] += ends;
    for (auto [statement, by] : oracle.unknownTo)
      if (ends && by == role)
        out += "role " + id(role) + " does not know the end of s" + id(statement) + "; ";
    bool inEach = endsInRole(plan, role, /*inEach=*/true);
    counters[EndingInEach] += inEach;
    for (auto [statement, by] : oracle.unknownToOneOf)
      if (inEach && by == role)
        out +=
            "a thread of role " + id(role) + " does not know the end of s" + id(statement) + "; ";
  }
  bool known = endsInAllThreads(plan);
  counters[KnownToAll] += known;
  for (unsigned statement : oracle.unknownToSome)
    if (known)
      out += "a thread does not know the end of s" + id(statement) + "; ";
  return out;
}

/// What the verifier says of loops that are entered again is sound, and not complete.
std::string compareReentered(const Plan &plan, Counters &counters) {
  if (!isCoveredIfReentered(plan))
    return "";
  ++counters[Reentered];
  return checkReentered(plan).any() ? "accepted wrongly if the loop is entered again; " : "";
}

/// Each change of a derived plan must be noticed, unless it does no harm.
std::string tryChanges(const Plan &plan, Counters &counters) {
  for (const ChangedPlan &changed : changesOf(plan)) {
    ++counters[Changes];
    if (!isCovered(changed.plan)) {
      ++counters[Noticed];
      continue;
    }
    if (checkInstances(changed.plan, 7, 4).any()) {
      ++counters[Unnoticed];
      return "not noticed: " + changed.what + "; ";
    }
  }
  return "";
}

CaseResult checkOne(uint64_t seed, Counters &counters) {
  // Points that are sprinkled at random, and loops whose points are derived.
  std::string message = compare(randomSyncPlan(seed), counters);
  if (seed % reenteredEvery == 0)
    message += compareReentered(randomSyncPlan(seed), counters);
  BoundLoop loop = randomBoundLoop(seed);
  if (message.empty() && checkProblem(loop.problem).empty() &&
      (loop.straight || verifySchedule(loop.problem, loop.schedule).legal())) {
    ++counters[Legal];
    Plan plan = loop.straight ? deriveStraight(loop.problem, loop.roles, loop.sizes)
                              : derive(loop.problem, loop.schedule, loop.roles, loop.sizes);
    if (plan.diagnostics.empty()) {
      ++counters[Derived];
      message = compare(plan, counters);
      if (seed % reenteredEvery == 0)
        message += compareReentered(plan, counters);
      if (!isCovered(plan))
        message += "a derived plan has gaps; ";
      if (!checkRoles(systemOf(plan)).live)
        message += "a derived plan can hang; ";
      else if (!plan.straight && !checkParity(systemOf(plan)).exact)
        message += "a derived plan can confuse phases; ";
      if (message.empty() && seed % changedEvery == 0)
        message = tryChanges(plan, counters);
      if (!message.empty())
        message += "derived:\n" + printPlan(plan);
    } else {
      ++counters[NotDerived];
    }
  }
  return {!message.empty(), message};
}

} // namespace

int penstock::fuzz::runPlans(const CampaignOptions &options, bool print) {
  if (print)
    std::fputs(printPlan(randomSyncPlan(options.seed)).c_str(), stdout);
  BatchOptions batches;
  batches.progress = "plans";
  batches.count = options.count;
  batches.seed = options.seed;
  batches.seconds = options.seconds;
  batches.batch = 200;
  BatchResult result = runInParallel(batches, options.jobs, checkOne);
  for (size_t i = 0; i < result.failures.size() && i < shownFailures; ++i)
    std::printf("seed %llu, %s: %s\n", (unsigned long long)result.failures[i].seed,
                nameOf(result.failures[i].failure), result.failures[i].message.c_str());
  auto figure = [&](Counter counter) { return (unsigned long long)result.counters[counter]; };
  uint64_t unnoticed = figure(Unnoticed);
  std::printf("of all: covered=%llu legal=%llu derived=%llu not-derived=%llu noticed=%llu "
              "reentered=%llu ending=%llu ending-in-each=%llu known-to-all=%llu\n",
              figure(Covered), figure(Legal), figure(Derived), figure(NotDerived), figure(Noticed),
              figure(Reentered), figure(Ending), figure(EndingInEach), figure(KnownToAll));
  std::printf("plans=%llu requirements=%llu disagreements=%zu deletions=%llu unnoticed=%llu\n",
              (unsigned long long)result.cases, figure(Requirements),
              result.failures.size() - size_t(unnoticed), figure(Changes), figure(Unnoticed));
  return result.failures.empty() ? 0 : 1;
}
