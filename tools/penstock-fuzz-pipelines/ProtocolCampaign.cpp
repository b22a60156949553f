//===- ProtocolCampaign.cpp - Step lists: checker against oracle ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Campaign.h"
#include "ProtocolLists.h"
#include "ProtocolOracle.h"
#include "Workers.h"

#include <cstdio>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum Counter : int { Right, Faulty, FalseRefusals, TooLarge };

constexpr size_t shownFailures = 5;

bool refused(const sched::Protocol &protocol) { return !sched::simulateProtocol(protocol).empty(); }

bool faulty(ListFault fault) { return fault != ListFault::None && fault != ListFault::TooLarge; }

CaseResult check(uint64_t seed, Counters &counters) {
  sched::Protocol protocol = generateLists(seed);
  ListFault fault = explore(protocol);
  if (fault == ListFault::TooLarge) {
    ++counters[TooLarge];
    return {};
  }
  ++counters[faulty(fault) ? Faulty : Right];
  bool accepted = !refused(protocol);
  if (faulty(fault) && accepted)
    return {true, std::string("accepted, but: ") + nameOf(fault)};
  if (!faulty(fault) && !accepted) {
    ++counters[FalseRefusals];
    std::fprintf(stderr, "protocols: seed %llu is refused, but right\n", (unsigned long long)seed);
  }
  return {};
}

} // namespace

int penstock::fuzz::runProtocols(const CampaignOptions &options, bool print) {
  if (print) {
    sched::Protocol first = generateLists(options.seed);
    std::printf("%s  %s\n", printLists(first).c_str(), nameOf(explore(first)));
  }
  BatchOptions batches;
  batches.progress = "protocols";
  batches.count = options.count;
  batches.seed = options.seed;
  batches.seconds = options.seconds;
  batches.batch = 500;
  BatchResult result = runInParallel(batches, options.jobs, check);
  for (size_t i = 0; i < result.failures.size() && i < shownFailures; ++i) {
    const FailedCase &failed = result.failures[i];
    std::printf("seed %llu, %s: %s\n", (unsigned long long)failed.seed, nameOf(failed.failure),
                failed.message.c_str());
    if (failed.failure != Failure::Mismatch)
      continue; // it cannot be run again here
    sched::Protocol small =
        shrinkLists(generateLists(failed.seed), [](const sched::Protocol &protocol) {
          return faulty(explore(protocol)) && !refused(protocol);
        });
    std::printf("made small: %s\n%s", nameOf(explore(small)), printLists(small).c_str());
  }
  uint64_t right = result.counters[Right], wrongly = result.counters[FalseRefusals];
  std::printf("of all: right=%llu too-large=%llu\n", (unsigned long long)right,
              (unsigned long long)result.counters[TooLarge]);
  std::printf("lists=%llu faulty=%llu missed=%zu false_refusals=%llu\n",
              (unsigned long long)result.cases, (unsigned long long)result.counters[Faulty],
              result.failures.size(), (unsigned long long)wrongly);
  return result.failures.empty() && wrongly * 100 <= right ? 0 : 1;
}
