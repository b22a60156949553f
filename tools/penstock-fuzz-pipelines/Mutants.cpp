//===- Mutants.cpp - Is every rule of the checker seen to matter ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fuzzer that never disagrees may be blind. Each rule of the checker is
// weakened in turn, and cases run until the oracle objects: random kernels and
// random loops of the explicit level, which take less time and come more often.
//
//===----------------------------------------------------------------------===//
#include "Campaign.h"
#include "Compare.h"
#include "Generate.h"

#include <cstdio>
#include <ctime>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

/// A mutant that lives longer counts as not found. Time of the processor: a machine that does other
/// work as well finds as many.
constexpr double secondsForOne = 60;

struct Found {
  bool found = false;
  uint64_t cases = 0;
  double seconds = 0;
  std::string by;
};

Found hunt(sched::Rule rule, uint64_t seed) {
  std::clock_t start = std::clock();
  Found result;
  CompareOptions options;
  options.rules = sched::RuleSet::without(rule);
  options.native = false;
  while (!result.found && result.seconds < secondsForOne) {
    options.seed = seed + result.cases;
    bool kernel = result.cases++ % 5 == 0;
    Comparison comparison = kernel ? compareProgram(generateProgram(options.seed), options)
                                   : compareInstance(generateInstance(options.seed), options);
    // That it gives another reason for the same refusal is not enough.
    result.found = !comparison.disagreement.empty() && !comparison.onlyCodesDiffer;
    result.by = std::string(kernel ? "kernel" : "instance") + " of seed " +
                std::to_string(options.seed) + ": " + comparison.disagreement;
    result.seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  }
  return result;
}

} // namespace

int penstock::fuzz::runMutants(const CampaignOptions &options) {
  size_t mutants = 0, found = 0;
  for (const sched::RuleInfo &rule : sched::allRules()) {
    Found result = hunt(rule.rule, options.seed);
    ++mutants;
    found += result.found;
    std::printf("%-16s %s after %llu cases, %.2f s%s\n", rule.name.c_str(),
                result.found ? "found" : "NOT FOUND", (unsigned long long)result.cases,
                result.seconds, result.found ? (", by " + result.by).c_str() : "");
    std::fflush(stdout);
  }
  std::printf("mutants=%zu found=%zu\n", mutants, found);
  return found == mutants ? 0 : 1;
}
