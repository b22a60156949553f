//===- Contest.cpp - Native code beside libraries -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Contest.h"
#include "Measure.h"
#include "OtherLoad.h"
#include "TileProbe.h"
#include "Tuning/SchedulingDelay.h"
#include "VectorProbe.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <span>

using namespace penstock;

/// Restricts libraries to the instructions that PENSTOCK_CPU leaves to native code.
static void restrictLibraries() {
  const char *level = std::getenv("PENSTOCK_CPU");
  if (!level || !*level || level == std::string("amx"))
    return;
  bool narrow = level == std::string("avx2");
  setenv("ONEDNN_MAX_CPU_ISA", narrow ? "AVX2" : "AVX512_CORE", 0);
  setenv("MKL_ENABLE_INSTRUCTIONS", narrow ? "AVX2" : "AVX512", 0);
}

/// Returns all functions of this name in modules.
template <class Function> static std::vector<Function> functions(const char *name) {
  // Threads of a library that has finished do not spin on the cores of the next one.
  setenv("GOMP_SPINCOUNT", "0", 1);
  setenv("OMP_WAIT_POLICY", "passive", 1);
  setenv("KMP_BLOCKTIME", "0", 1);
  setenv("MKL_THREADING_LAYER", "GNU", 1);
  setenv("OPENBLAS_THREAD_TIMEOUT", "4", 1); // 2^4 cycles
  bench::chooseOpenBlasKernels();
  restrictLibraries();
  std::vector<std::string> paths;
  std::error_code none;
  for (const char *folder : {PENSTOCK_ANCHORS, PENSTOCK_BUILT_ANCHORS})
    for (const auto &file : std::filesystem::directory_iterator(folder, none))
      paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Function> found;
  for (const std::string &path : paths) {
    void *module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!module)
      std::fprintf(stderr, "%s\n", dlerror());
    else if (void *function = dlsym(module, name))
      found.push_back(reinterpret_cast<Function>(function));
  }
  return found;
}

std::vector<bench::Anchor> bench::openAnchors() {
  std::vector<Anchor> anchors;
  for (auto anchor : functions<AnchorFunction>(anchorFunction))
    anchors.push_back(*anchor());
  return anchors;
}

const std::vector<const bench::FusedAnchor *> &bench::openFusedAnchors() {
  static const auto anchors = [] {
    std::vector<const FusedAnchor *> all;
    for (auto anchor : functions<FusedAnchorFunction>(fusedAnchorFunction))
      all.push_back(anchor());
    return all;
  }();
  return anchors;
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bench::Unit bench::bestUnit() { return hasTiles() ? Unit::Tiles : Unit::Vectors; }

bench::Result bench::compare(const std::vector<Contender> &contenders, int threads, Unit unit) {
  auto isFast = unit == Unit::Tiles ? tilesAreFast : vectorsAreFast;
  auto peak = unit == Unit::Tiles ? peakOfTiles : peakOfVectors;
  struct Round {
    std::vector<double> seconds;
    double peak;
    bool gated;
  };
  double limit = bench::setting("PENSTOCK_BENCH_GATED_SECONDS", 120);
  double budget = bench::setting("PENSTOCK_BENCH_SECONDS", 2);
  if (budget == 0)
    limit = 0;
  // Short calls are repeated, so that the probes do not evict what a call needs.
  int repeats = int(std::clamp(2e-3 / bench::secondsOf(contenders[0].run), 1.0, 50.0));
  std::vector<Round> rounds;
  size_t gated = 0, inWindow = 0;
  bench::OtherLoad others;
  double start = bench::now(CLOCK_MONOTONIC);
  for (size_t first = 0;; ++first) {
    double elapsed = bench::now(CLOCK_MONOTONIC) - start;
    if (!rounds.empty() && (gated >= 7 ? elapsed >= budget : elapsed >= limit))
      break;
    Round round{std::vector<double>(contenders.size()), peak(), true};
    for (size_t i = 0; i < contenders.size(); ++i) {
      size_t at = (first + i) % contenders.size();
      contenders[at].run(); // brings its own operands back into the caches
      bool fast = isFast(threads);
      double delay = tuning::schedulingDelay();
      round.seconds[at] = bench::secondsOf([&] {
                            for (int r = 0; r < repeats; ++r)
                              contenders[at].run();
                          }) /
                          repeats;
      double waited = tuning::schedulingDelay() - delay;
      fast &= waited < 0.05 * repeats * round.seconds[at];
      round.gated &= fast && isFast(threads);
    }
    rounds.push_back(std::move(round));
    ++inWindow;
    if (others.seconds() < bench::OtherLoad::shortestWindow && budget > 0)
      continue;
    bool quiet = others.wasQuiet();
    for (Round &each : std::span(rounds).last(inWindow))
      gated += each.gated &= quiet;
    inWindow = 0;
  }
  for (Round &unchecked : std::span(rounds).last(inWindow))
    unchecked.gated = false;
  Result result;
  result.gated = gated >= 7;
  std::vector<double> ours, anchors, ratios, peaks;
  std::vector<std::vector<double>> ratiosOf(contenders.size());
  std::vector<size_t> wins(contenders.size());
  for (const Round &round : rounds) {
    if (result.gated && !round.gated)
      continue;
    ours.push_back(round.seconds[0]);
    peaks.push_back(round.peak);
    for (size_t i = 1; i < contenders.size(); ++i)
      ratiosOf[i].push_back(round.seconds[i] / round.seconds[0]);
    auto best = std::min_element(round.seconds.begin() + 1, round.seconds.end());
    if (best == round.seconds.end())
      continue;
    ++wins[size_t(best - round.seconds.begin())];
    anchors.push_back(*best);
    ratios.push_back(*best / round.seconds[0]);
  }
  result.rounds = ours.size();
  result.ours = median(ours);
  result.ofPeak = median(peaks);
  if (anchors.empty())
    return result;
  result.others = median(anchors);
  result.ratio = median(ratios);
  for (size_t i = 1; i < contenders.size(); ++i)
    result.ratios.emplace_back(contenders[i].name, median(ratiosOf[i]));
  result.name = contenders[size_t(std::max_element(wins.begin(), wins.end()) - wins.begin())].name;
  return result;
}
