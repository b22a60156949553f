//===- OnTargets.h - One random kernel on several targets -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modes that compare with plain loops differ in their kernels and in what they expect; where
// a kernel runs, and what may be refused, is the same for all.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_ONTARGETS_H
#define PENSTOCK_FUZZ_ONTARGETS_H

#include "Batches.h"
#include "Random.h"
#include "penstock/cache.h"
#include "penstock/penstock.h"

#include <algorithm>

namespace penstock::fuzz {

/// The first counters of such a mode; its own follow.
enum TargetCounter : int { Refused, Built, Launched, OwnCounters };

/// Runs a kernel on an emulated GPU under a random timing, natively and, if \p interprets, on the
/// interpreter. \p launch gets the compiled kernel, how to launch it and whether it is emulated,
/// and returns what is wrong. Only GPUs may refuse a kernel.
template <class Kernel, class Launch>
CaseResult runOnTargets(const Kernel &kernel, const Target &gpu, bool interprets, Random &random,
                        Counters &counters, Launch launch) {
  struct On {
    const char *name;
    Target target;
  };
  std::vector<On> all = {{"emulated", gpu.emulated()}, {"native", Target::native()}};
  if (interprets)
    all.push_back({"interpreter", Target::interpreter()});
  for (const On &on : all) {
    bool emulated = &on == &all.front();
    auto compiled = try_compile(kernel, on.target, {.cache = &KernelCache::none()});
    if (!compiled) {
      bool internal = std::ranges::any_of(compiled.diagnostics,
                                          [](const Diagnostic &d) { return d.code == 100; });
      counters[Refused] += emulated;
      if (internal || !emulated)
        return {true, to_text(compiled.diagnostics).substr(0, 2000)};
      continue;
    }
    counters[Built] += emulated;
    LaunchOptions timing;
    if (emulated)
      timing = {.completion =
                    random.of({Completion::Eager, Completion::Latest, Completion::Random}),
                .seed = random.next(),
                .starved_warp = int(random.between(-1, 3))};
    std::string wrong = launch(compiled.kernel, timing, emulated);
    if (!wrong.empty())
      return {true, std::string(on.name) + ": " + wrong + "\n" + compiled.kernel.tile_program()};
    counters[Launched] += 1;
  }
  return {};
}

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_ONTARGETS_H
