//===- amx.cpp - Products of bf16 and i8 beside oneDNN and MKL ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native/amx-bf16-SHAPE, native/amx-i8-SHAPE     C = A B, f32 or i32 results; `-1t` on one
//                                                thread, else two. B is packed before.
//
// All contenders take turns in one process, and each round starts with another one. The
// ratio is the median over rounds of the fastest anchor's time by ours. A round counts
// if the tile unit was in its fast state before and after each of its samples and other
// processes left the cores alone; after PENSTOCK_BENCH_GATED_SECONDS (120) without seven
// such rounds, all of them count and the unit says so.
//
//===----------------------------------------------------------------------===//
#include "Anchors.h"
#include "Measure.h"
#include "OtherLoad.h"
#include "TileProbe.h"
#include "Tuning/SchedulingDelay.h"

#include <dlfcn.h>
#include <functional>
#include <optional>
#include <penstock/penstock.h>
#include <span>

using namespace penstock;

namespace {

struct Size {
  int64_t m, n, k;
};
struct Blocks {
  int m, n, k;
};

template <class T, class S> struct PackedMatmul {
  Blocks block;

  void operator()(Block &b, In<T, 2> A, In<T, 4> B, Out<S, 2> C) const {
    constexpr int group = 4 / int(sizeof(T));
    auto [M, K] = A.sizes();
    auto [bm, bn] = b.grid(ceil_div(M, block.m), ceil_div(C.size(1), block.n));
    auto As = b.shared<T>(block.m, block.k);
    auto Bs = packed_tile<T>(b, block.k, block.n);
    auto acc = b.local<S>(block.m, block.n);
    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(K, block.k))) {
      b.copy(A.at(bm * block.m, ko * block.k), As);
      b.copy(B.at(bn * (block.n / 16), ko * (block.k / group), 0, 0), Bs);
      b.gemm(As, Bs, acc);
    }
    b.copy(acc, C.at(bm * block.m, bn * block.n));
  }
};

std::vector<bench::Anchor> openAnchors() {
  // Threads of a library that has finished do not spin on the cores of the next one.
  setenv("GOMP_SPINCOUNT", "0", 1);
  setenv("OMP_WAIT_POLICY", "passive", 1);
  setenv("KMP_BLOCKTIME", "0", 1);
  setenv("MKL_THREADING_LAYER", "GNU", 1);
  void *library = dlopen(PENSTOCK_ANCHORS, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return {};
  auto all = reinterpret_cast<bench::AnchorsFunction>(dlsym(library, bench::anchorsFunction));
  int32_t count = 0;
  const bench::Anchor *first = all ? all(&count) : nullptr;
  return {first, first + count};
}

struct Contender {
  std::string name;
  std::function<void()> run;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Result {
  double ours = 0, anchor = 0, ratio = 0, ofPeak = 0;
  size_t rounds = 0;
  bool gated = true;
  std::string name; ///< of the anchor that was fastest most often
};

/// The first contender is ours.
Result compare(const std::vector<Contender> &contenders, int threads) {
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
    Round round{std::vector<double>(contenders.size()), bench::peakOfTiles(), true};
    for (size_t i = 0; i < contenders.size(); ++i) {
      size_t at = (first + i) % contenders.size();
      contenders[at].run(); // brings its own operands back into the caches
      bool fast = bench::tilesAreFast(threads);
      double delay = tuning::schedulingDelay();
      round.seconds[at] = bench::secondsOf([&] {
                            for (int r = 0; r < repeats; ++r)
                              contenders[at].run();
                          }) /
                          repeats;
      double waited = tuning::schedulingDelay() - delay;
      fast &= waited < 0.05 * repeats * round.seconds[at];
      round.gated &= fast && bench::tilesAreFast(threads);
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
  std::vector<size_t> wins(contenders.size());
  for (const Round &round : rounds) {
    if (result.gated && !round.gated)
      continue;
    auto best = std::min_element(round.seconds.begin() + 1, round.seconds.end());
    ++wins[size_t(best - round.seconds.begin())];
    ours.push_back(round.seconds[0]);
    anchors.push_back(*best);
    ratios.push_back(*best / round.seconds[0]);
    peaks.push_back(round.peak);
  }
  result.rounds = ours.size();
  result.ours = median(ours);
  result.anchor = median(anchors);
  result.ratio = median(ratios);
  result.ofPeak = median(peaks);
  result.name = contenders[size_t(std::max_element(wins.begin(), wins.end()) - wins.begin())].name;
  return result;
}

template <class T, class S>
void run(const std::string &name, Size size, Blocks block, int threads,
         const std::vector<bench::Anchor> &anchors) {
  auto [m, n, k] = size;
  if (!bench::hasTiles())
    return bench::skipped(name, "this processor or process has no AMX");
  if (anchors.empty())
    return bench::skipped(name, "no anchors; benchmarks/install-anchors installs them");
  constexpr bool isInt = std::is_same_v<T, i8>;
  auto numbers = [](size_t count, uint32_t seed) {
    std::vector<T> result(count);
    auto from = bench::numbers<float>(count, seed);
    // A from 0 to 127 is the same number with and without a sign.
    for (size_t i = 0; i < count; ++i)
      result[i] = isInt ? T(int(std::abs(from[i]) * 127)) : T(from[i]);
    return result;
  };
  auto a = numbers(size_t(m * k), 1), b = numbers(size_t(k * n), 2);
  std::vector<S> c(size_t(m * n)), theirs(size_t(m * n));
  auto packed = pack(view(b, {k, n}));
  auto kernel = compile(PackedMatmul<T, S>{block}, Target::native(), {.name = "matmul"});
  std::vector<Contender> contenders = {{"", [&] {
                                          kernel.launch({.threads = threads}, view(a, {m, k}),
                                                        packed.view(), view(c, {m, n}));
                                        }}};
  contenders[0].run();
  bench::AnchorProblem problem{isInt ? bench::AnchorType::I8 : bench::AnchorType::Bf16,
                               m,
                               n,
                               k,
                               a.data(),
                               b.data(),
                               theirs.data(),
                               threads};
  std::vector<std::pair<const bench::Anchor *, void *>> prepared;
  for (const bench::Anchor &anchor : anchors)
    if (void *state = anchor.prepare(&problem)) {
      prepared.emplace_back(&anchor, state);
      contenders.push_back({anchor.name, [run = anchor.run, state] { run(state); }});
      contenders.back().run();
      bench::expectClose(name + ", " + anchor.name, c, theirs, isInt ? 0 : 1e-3 * double(k));
    }
  Result result = compare(contenders, threads);
  double work = 2e-9 * double(m) * double(n) * double(k);
  // One product of tiles is 16 x 16 x 32 x 2 operations; i8 has twice as many.
  double peak = threads * (isInt ? 2 : 1) * 16384 / result.ofPeak;
  char unit[200];
  std::snprintf(unit, sizeof unit, "GFLOP/s (%s; ours %.2f of the register peak; %zu rounds%s)",
                result.name.c_str(), work / result.ours / peak, result.rounds,
                result.gated ? "" : ", NOT gated: the machine was busy");
  bench::line(name, work / result.ours, work / result.anchor, result.ratio, unit);
  for (auto [anchor, state] : prepared)
    anchor->release(state);
}

struct Shape {
  const char *name;
  Size size;
  Blocks bf16, i8;
};

// Blocks were chosen among a handful, in bf16 on Granite Rapids; those of i8 have the same bytes.
// All of them divide their shapes: at edges tiles are copied.
constexpr Shape shapes[] = {
    {"512", {512, 512, 512}, {128, 512, 512}, {128, 512, 512}},
    {"1024", {1024, 1024, 1024}, {256, 1024, 512}, {256, 1024, 1024}},
    {"2048", {2048, 2048, 2048}, {256, 2048, 512}, {256, 2048, 1024}},
    {"4096", {4096, 4096, 4096}, {256, 1024, 512}, {256, 1024, 1024}},
    {"256x11008x4096", {256, 11008, 4096}, {256, 1376, 512}, {256, 1376, 1024}},
};

} // namespace

int main(int argc, char **argv) {
  std::vector<bench::Anchor> anchors = openAnchors();
  for (bool isInt : {false, true})
    for (const Shape &shape : shapes)
      for (int threads : {2, 1}) {
        std::string name = std::string("native/amx-") + (isInt ? "i8-" : "bf16-") + shape.name +
                           (threads == 1 ? "-1t" : "");
        if (!bench::wanted(argc, argv, name))
          continue;
        if (isInt)
          run<i8, i32>(name, shape.size, shape.i8, threads, anchors);
        else
          run<bf16, f32>(name, shape.size, shape.bf16, threads, anchors);
      }
}
