//===- Campaign.cpp - Many random cases, and what became of them ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Campaign.h"
#include "Compare.h"
#include "Generate.h"
#include "Shrink.h"
#include "Workers.h"

#include <cstdio>

using namespace penstock::fuzz;

namespace {

/// What is counted: the categories first, in their order.
enum Counter : int { Runs = int(Category::Conservative) + 1, Pipelined, Versioned, Optimal };

/// Below this many cases the shares of interesting ones are left to chance.
constexpr uint64_t enoughForShares = 1000;

constexpr size_t shownFailures = 5;

CaseResult count(const Comparison &comparison, Counters &counters) {
  if (!comparison.disagreement.empty())
    return {true, comparison.disagreement};
  ++counters[int(comparison.category)];
  counters[Runs] += comparison.runs;
  counters[Pipelined] += comparison.category == Category::Legal && comparison.stages > 1;
  counters[Versioned] += comparison.versions > 1;
  counters[Optimal] += comparison.optimal;
  return {};
}

/// Does a case fail in the same manner, in a process of its own?
template <class Run> bool failsLike(const FailedCase &failed, Run run) {
  return runAlone(failed.seed, 60, [&](uint64_t, Counters &counters) {
           return count(run(), counters);
         }).failure == failed.failure;
}

void printFigures(const char *what, BatchResult &result) {
  auto share = [&](int counter) {
    return result.cases ? 100.0 * double(result.counters[counter]) / double(result.cases) : 0.0;
  };
  std::printf("of all: legal-with-two-or-more-stages=%.1f%% more-than-one-version=%.1f%% "
              "scheduled-by-the-exact-solver=%llu\n",
              share(Pipelined), share(Versioned),
              static_cast<unsigned long long>(result.counters[Optimal]));
  std::printf("%s=%llu", what, (unsigned long long)result.cases);
  const char *names[] = {"legal", "illegal", "form", "dead", "exchanged", "wait", "conservative"};
  for (int i = 0; i < Runs; ++i)
    std::printf(" %s=%llu", names[i], (unsigned long long)result.counters[i]);
  std::printf(" runs=%llu disagreements=%zu\n", (unsigned long long)result.counters[Runs],
              result.failures.size());
}

bool sharesReached(BatchResult &result) {
  return result.cases < enoughForShares || (result.counters[Pipelined] * 4 >= result.cases &&
                                            result.counters[Versioned] * 10 >= result.cases);
}

BatchOptions batchesOf(const CampaignOptions &options, const char *what) {
  BatchOptions batches;
  batches.progress = what;
  batches.count = options.count;
  batches.seed = options.seed;
  batches.seconds = options.seconds;
  batches.batch = 500;
  return batches;
}

CompareOptions compareOptions(uint64_t seed, int native) {
  CompareOptions options;
  options.seed = seed;
  options.native = int(seed % 100) < native;
  return options;
}

} // namespace

int penstock::fuzz::runPrograms(const CampaignOptions &options) {
  BatchResult result = runInParallel(
      batchesOf(options, "programs"), options.jobs, [&](uint64_t seed, Counters &counters) {
        return count(compareProgram(generateProgram(seed, options.solved),
                                    compareOptions(seed, options.native)),
                     counters);
      });
  for (size_t i = 0; i < result.failures.size() && i < shownFailures; ++i) {
    const FailedCase &failed = result.failures[i];
    CompareOptions compare = compareOptions(failed.seed, options.native);
    Program small =
        shrinkProgram(generateProgram(failed.seed, options.solved), [&](const Program &program) {
          return failsLike(failed, [&] { return compareProgram(program, compare); });
        });
    FailedCase again = runAlone(failed.seed, 60, [&](uint64_t, Counters &counters) {
      return count(compareProgram(small, compare), counters);
    });
    std::printf("seed %llu, %s: %s\nmade small: %s\n%s\n", (unsigned long long)failed.seed,
                nameOf(failed.failure), failed.message.c_str(), again.message.c_str(),
                emitKernel(small).c_str());
  }
  printFigures("programs", result);
  return result.failures.empty() && (options.solved || sharesReached(result)) ? 0 : 1;
}

int penstock::fuzz::runOnDevices(const CampaignOptions &options) {
  enum DeviceCounter : int {
    Compiled,
    Refused,
    Findings,
    Launches,
    Staged,
    ByEngines,
    Specialized,
    Stated,
    RefusedRoles,
    Solved
  };
  auto compare = [](const Program &program, uint64_t seed) {
    CompareOptions how;
    how.seed = seed;
    how.device = true;
    return compareProgram(program, how);
  };
  auto countDevice = [](const Comparison &one, Counters &counters) -> CaseResult {
    counters[Findings] += one.device.findings;
    if (!one.disagreement.empty())
      return {true, one.disagreement};
    counters[Refused] += !one.device.refused.empty();
    counters[Compiled] += one.runs > 0;
    counters[Launches] += one.runs;
    counters[Staged] += one.runs > 0 && one.stages > 1;
    counters[ByEngines] += one.device.engineCopies > 0;
    counters[Specialized] += one.device.specialized;
    counters[Stated] += one.device.stated > 0 && one.device.specialized;
    counters[RefusedRoles] += one.device.refusedRoles;
    counters[Solved] += one.runs > 0 && one.optimal;
    return {};
  };
  BatchResult result = runInParallel(
      batchesOf(options, "programs"), options.jobs, [&](uint64_t seed, Counters &counters) {
        return countDevice(compare(generateProgram(seed, options.solved), seed), counters);
      });
  for (size_t i = 0; i < result.failures.size() && i < shownFailures; ++i) {
    const FailedCase &failed = result.failures[i];
    Program small =
        shrinkProgram(generateProgram(failed.seed, options.solved), [&](const Program &program) {
          return failsLike(failed, [&] { return compare(program, failed.seed); });
        });
    FailedCase again = runAlone(failed.seed, 60, [&](uint64_t, Counters &counters) {
      return countDevice(compare(small, failed.seed), counters);
    });
    std::printf("seed %llu, %s: %s\nmade small: %s\n%s\n", (unsigned long long)failed.seed,
                nameOf(failed.failure), failed.message.c_str(), again.message.c_str(),
                emitKernel(small).c_str());
  }
  auto counted = [&](DeviceCounter counter) {
    return static_cast<unsigned long long>(result.counters[counter]);
  };
  std::printf("compiled=%llu several-stages=%llu copied-by-engines=%llu warp-specialized=%llu "
              "with-stated-roles=%llu refused-roles=%llu scheduled-by-the-exact-solver=%llu "
              "launches=%llu\n",
              counted(Compiled), counted(Staged), counted(ByEngines), counted(Specialized),
              counted(Stated), counted(RefusedRoles), counted(Solved), counted(Launches));
  std::printf("programs=%llu refused=%llu mismatches=%zu findings=%llu\n",
              static_cast<unsigned long long>(result.cases), counted(Refused),
              result.failures.size(), counted(Findings));
  return result.failures.empty() && !counted(Findings) ? 0 : 1;
}

int penstock::fuzz::runPoints(const CampaignOptions &options) {
  enum PointCounter : int { Points, Noticed, Restored, AtEnd };
  BatchResult result = runInParallel(batchesOf(options, "programs"), options.jobs,
                                     [&](uint64_t seed, Counters &counters) -> CaseResult {
                                       PointsLeftOut found =
                                           leaveOutPoints(generateProgram(seed), seed);
                                       counters[Points] += found.points;
                                       counters[Noticed] += found.noticed;
                                       counters[Restored] += found.restored;
                                       counters[AtEnd] += found.atEnd;
                                       return {!found.unnoticed.empty(), found.unnoticed};
                                     });
  for (size_t i = 0; i < result.failures.size() && i < shownFailures; ++i)
    std::printf("seed %llu: %s\n%s\n", (unsigned long long)result.failures[i].seed,
                result.failures[i].message.c_str(),
                emitKernel(generateProgram(result.failures[i].seed)).c_str());
  std::printf("programs=%llu points=%llu noticed=%llu restored=%llu at-end=%llu unnoticed-in=%zu\n",
              static_cast<unsigned long long>(result.cases),
              static_cast<unsigned long long>(result.counters[Points]),
              static_cast<unsigned long long>(result.counters[Noticed]),
              static_cast<unsigned long long>(result.counters[Restored]),
              static_cast<unsigned long long>(result.counters[AtEnd]), result.failures.size());
  return result.failures.empty() ? 0 : 1;
}

int penstock::fuzz::runInstances(const CampaignOptions &options) {
  BatchResult result = runInParallel(
      batchesOf(options, "instances"), options.jobs, [&](uint64_t seed, Counters &counters) {
        return count(compareInstance(generateInstance(seed), compareOptions(seed, 0)), counters);
      });
  for (size_t i = 0; i < result.failures.size() && i < shownFailures; ++i) {
    const FailedCase &failed = result.failures[i];
    CompareOptions compare = compareOptions(failed.seed, 0);
    LoopInstance small =
        shrinkInstance(generateInstance(failed.seed), [&](const LoopInstance &instance) {
          return failsLike(failed, [&] { return compareInstance(instance, compare); });
        });
    FailedCase again = runAlone(failed.seed, 60, [&](uint64_t, Counters &counters) {
      return count(compareInstance(small, compare), counters);
    });
    std::printf("seed %llu, %s: %s\nmade small: %s\n%s\n", (unsigned long long)failed.seed,
                nameOf(failed.failure), failed.message.c_str(), again.message.c_str(),
                emitInstance(small).c_str());
  }
  printFigures("instances", result);
  return result.failures.empty() ? 0 : 1;
}
