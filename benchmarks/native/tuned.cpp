//===- tuned.cpp - Tuned tiles against chosen ones ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tunes the README's matmul natively and compares it, in interleaved rounds, with tiles
// chosen by hand (tune/hand) and with the default (tune/default, ten shapes that were
// fixed before anything was measured; tune/default-mean is their geometric mean). Ratios
// are the median over 15 rounds of their time divided by ours. A round counts if a probe
// between all runs and the scheduler show that no other process used the cores; after
// PENSTOCK_BENCH_GATED_SECONDS (60) without 15 such rounds, all of them count and the line
// says so.
//
//===----------------------------------------------------------------------===//
#include "Measure.h"
#include "ReadmeMatmul.h"
#include "TileProbe.h"
#include "Tuning/SchedulingDelay.h"

#include <filesystem>
#include <penstock/penstock.h>
#include <penstock/tune.h>

using namespace penstock;

namespace {

struct Matmul : bench::Matmul {
  static auto space() {
    return Space<Matmul>()
        .over(&Matmul::block_m, {32, 64, 128, 256})
        .over(&Matmul::block_n, {64, 128, 256, 512})
        .over(&Matmul::block_k, {64, 128, 256})
        .where([](const Matmul &k) { return k.block_m * k.block_n <= 256 * 256; });
  }
};

/// The tiles of native/matmul-f16, which were chosen by hand for 1024 x 1024 x 1024.
constexpr Matmul byHand = {{.block_m = 128, .block_n = 256, .block_k = 128}};

struct Size {
  int64_t m, n, k;
};
constexpr Size handSize = {1024, 1024, 1024};
constexpr Size others[] = {{256, 256, 256},  {512, 512, 512},  {768, 768, 768},   {1024, 1024, 256},
                           {2048, 512, 512}, {512, 2048, 512}, {128, 2048, 1024}, {2048, 128, 1024},
                           {64, 1024, 1024}, {1536, 384, 768}};
constexpr size_t rounds = 15;

/// Seconds of both kernels.
struct Round {
  double ours = 0, theirs = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Time of the other kernel divided by that of the tuned one.
double compare(const std::string &name, Size size, const Matmul &other, KernelCache &cache) {
  auto [M, N, K] = size;
  Shape shape = {{"M", M}, {"N", N}, {"K", K}};
  TuneOptions options;
  options.cache = &cache;
  options.seconds = bench::setting("PENSTOCK_BENCH_TUNE_SECONDS", 20);
  TuneReport report = tune(Matmul{}, Target::native(), shape, options);
  if (report.best < 0) {
    std::fprintf(stderr, "%s", to_text(report.diagnostics).c_str());
    std::exit(1);
  }
  auto ours = tuned(Matmul{}, Target::native(), {.cache = &cache});
  auto theirs = compile(other, Target::native());
  auto a = bench::numbers<f16>(size_t(M * K), 1), b = bench::numbers<f16>(size_t(N * K), 2);
  // One result for both: two allocations of the same size differ by up to 9 % in time.
  std::vector<f16> c(size_t(M * N));
  auto runOurs = [&] { ours(view(a, {M, K}), view(b, {N, K}), view(c, {M, N})); };
  auto runTheirs = [&] { theirs(view(a, {M, K}), view(b, {N, K}), view(c, {M, N})); };
  runOurs();
  std::vector<float> left(c.begin(), c.end());
  runTheirs();
  std::vector<float> right(c.begin(), c.end());
  bench::expectClose(name, left, right, 0.05 * std::sqrt(double(K)));
  // Short runs are repeated, and each round takes both in either order.
  int repeats = int(std::clamp(2e-3 / bench::secondsOf(runTheirs), 1.0, 1000.0));
  auto timeOf = [&](auto &run) {
    return bench::secondsOf([&] {
      for (int i = 0; i < repeats; ++i)
        run();
    });
  };
  // Rounds beside which the cores were shared with others do not count, if there are enough
  // without.
  double begin = bench::now(CLOCK_MONOTONIC);
  double limit = bench::setting("PENSTOCK_BENCH_GATED_SECONDS", 60);
  auto isQuiet = [] { return !bench::hasTiles() || bench::tilesAreFast(bench::threads()); };
  std::vector<Round> all, quiet;
  while (quiet.size() < rounds &&
         (all.size() < rounds || bench::now(CLOCK_MONOTONIC) - begin < limit)) {
    Round round;
    bool gated = isQuiet();
    for (bool isOurs : {all.size() % 2 == 1, all.size() % 2 == 0}) {
      double delay = tuning::schedulingDelay();
      double seconds = isOurs ? timeOf(runOurs) : timeOf(runTheirs);
      gated &= tuning::schedulingDelay() - delay < 0.05 * seconds;
      (isOurs ? round.ours : round.theirs) = seconds;
      gated &= isQuiet();
    }
    all.push_back(round);
    if (gated)
      quiet.push_back(round);
  }
  bool gated = quiet.size() >= rounds;
  std::vector<double> ratios, times, theirTimes;
  for (const Round &round : gated ? quiet : all) {
    times.push_back(1e3 * round.ours / repeats);
    theirTimes.push_back(1e3 * round.theirs / repeats);
    ratios.push_back(round.theirs / round.ours);
  }
  bench::line(name, median(times), median(theirTimes), median(ratios),
              gated ? "ms" : "ms, NOT gated: the machine was busy");
  const TuneCandidate &best = report.candidates[size_t(report.best)];
  double standard = 0;
  for (const TuneCandidate &candidate : report.candidates)
    if (candidate.is_default)
      standard = candidate.seconds;
  std::fprintf(stderr, "  %s, %.3f of the default when tuned; %zu of %zu rounds were quiet\n",
               best.point().c_str(), standard / best.seconds, quiet.size(), all.size());
  return median(ratios);
}

std::string textOf(Size size) {
  return std::to_string(size.m) + "x" + std::to_string(size.n) + "x" + std::to_string(size.k);
}

} // namespace

int main(int argc, char **argv) {
  // Records of earlier runs would be those of another state of the machine.
  std::string folder = (std::filesystem::temp_directory_path() / "penstock-tuned-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return 1;
  CacheOptions where;
  where.directory = folder;
  {
    KernelCache cache = KernelCache::open(where);
    if (bench::wanted(argc, argv, "tune/hand"))
      compare("tune/hand/" + textOf(handSize), handSize, byHand, cache);
    double logarithms = 0;
    int count = 0;
    for (Size size : others)
      if (std::string name = "tune/default/" + textOf(size); bench::wanted(argc, argv, name)) {
        logarithms += std::log(compare(name, size, Matmul{}, cache));
        ++count;
      }
    if (count)
      bench::line("tune/default-mean", std::exp(logarithms / count), 1.1,
                  std::exp(logarithms / count), "geometric mean");
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
