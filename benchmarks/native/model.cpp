//===- model.cpp - Measurements for the model of CPUs ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   native-model constants     microbenchmarks, for lib/Hardware/Cpu.cpp
//   native-model rows [FILE]   kernels, tiles and shapes drawn at random
//   native-model sweep [FILE]  100 configurations of each of five kernels and shapes
//
// One thread. Configurations take turns in rounds; a sample is 0.2 ms or one run, after a run that
// brings its operands into the caches, between two probes of the core. It counts if both show
// the same clock and no other thread on the core, and is expressed in cycles of that clock, because
// the clock changes with what others do. The result is the least of eight samples; the last
// column is the number of those that counted, fewer if the machine was rarely quiet. Rows of an
// earlier table that have at least three are taken from it.
// benchmarks/measure-native-model writes the tables of unittests/Timing/data.
//
//===----------------------------------------------------------------------===//
#include "CpuProbe.h"
#include "Measure.h"
#include "ModelKernels.h"
#include "Runtime/PackPanels.h"
#include "Runtime/PackTransposed.h"
#include "TileProbe.h"

#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <penstock/check.h>
#include <penstock/inspect.h>
#include <random>

using namespace penstock;

namespace {

struct Configuration {
  std::string kernel;
  std::vector<std::pair<std::string, int64_t>> fields, sizes;
};

std::string textOf(const std::vector<std::pair<std::string, int64_t>> &values) {
  std::string text;
  for (const auto &[name, value] : values)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

using Values = std::vector<int64_t>;

std::vector<Configuration> drawnRows() {
  std::mt19937 random(17);
  auto any = [&](const Values &of) { return of[random() % of.size()]; };
  std::vector<Configuration> rows;
  auto add = [&](Configuration row) {
    for (const Configuration &other : rows)
      if (other.kernel == row.kernel && other.fields == row.fields && other.sizes == row.sizes)
        return;
    rows.push_back(std::move(row));
  };
  // Runs of 0.1 to 1 ms: longer ones are rarely undisturbed on a machine that others use.
  const std::vector<std::array<int64_t, 3>> small = {
      {256, 256, 256}, {128, 512, 256},  {256, 512, 128}, {192, 256, 384},
      {64, 512, 1024}, {32, 1024, 1024}, {384, 128, 256}, {200, 300, 150}};
  const std::vector<std::array<int64_t, 3>> large = {
      {256, 256, 256},  {512, 512, 512}, {512, 768, 256}, {384, 512, 512},
      {128, 1024, 512}, {64, 512, 1024}, {768, 256, 512}, {200, 500, 300}};
  for (auto [kernel, count] : {std::pair("MatmulF32", 60), std::pair("MatmulF16", 40),
                               std::pair("MatmulBf16", 50), std::pair("MatmulI8", 40)})
    for (size_t end = rows.size() + size_t(count); rows.size() < end;) {
      bool vectors = std::string(kernel).find("MatmulF") == 0;
      auto [m, n, k] = (vectors ? small : large)[random() % small.size()];
      int64_t bm = any({16, 32, 48, 64, 96, 128, 192, 256}),
              bn = any({16, 32, 64, 96, 128, 256, 512}), bk = any({32, 64, 128, 256, 512});
      // Padding is work that a tuner would not consider.
      if (bm > 2 * m || bn > 2 * n || bk > 2 * k)
        continue;
      add({kernel,
           {{"block_m", bm}, {"block_n", bn}, {"block_k", bk}},
           {{"M", m}, {"N", n}, {"K", k}}});
    }
  for (size_t end = rows.size() + 36; rows.size() < end;) {
    int64_t columns = any({64, 128, 256, 512, 1024, 2048, 4096, 8192}),
            block = any({1, 2, 4, 8, 16, 32});
    int64_t elements =
        any({int64_t(1) << 14, int64_t(1) << 16, int64_t(1) << 18, int64_t(3) << 18});
    if (elements / columns < block)
      continue;
    add({"Softmax",
         {{"rows", block}, {"columns", columns}},
         {{"R", elements / columns}, {"C", columns}}});
  }
  for (size_t end = rows.size() + 44; rows.size() < end;) {
    int64_t dim = any({32, 64, 128}), m = any({128, 256}), n = any({128, 256, 512});
    int64_t bm = any({8, 16, 32, 64, 96, 128}), bn = any({16, 32, 64, 128, 256});
    add({"Attention",
         {{"block_m", bm}, {"block_n", bn}, {"dim", dim}},
         {{"H", any({1, 2})}, {"M", m}, {"N", n}, {"D", dim}}});
  }
  return rows;
}

std::vector<Configuration> sweptRows() {
  std::vector<Configuration> rows;
  const std::vector<std::pair<const char *, std::array<int64_t, 3>>> products = {
      {"MatmulF32", {256, 512, 256}},
      {"MatmulF16", {256, 512, 256}},
      {"MatmulBf16", {512, 512, 512}},
      {"MatmulI8", {512, 512, 512}}};
  for (auto [kernel, shape] : products)
    for (int64_t bm : {32, 64, 96, 128, 256})
      for (int64_t bn : {32, 64, 128, 256, 512})
        for (int64_t bk : {32, 64, 128, 256})
          rows.push_back({kernel,
                          {{"block_m", bm}, {"block_n", bn}, {"block_k", bk}},
                          {{"M", shape[0]}, {"N", shape[1]}, {"K", shape[2]}}});
  for (int64_t bm : {8, 16, 24, 32, 48, 64, 96, 128, 192, 256})
    for (int64_t bn : {16, 32, 48, 64, 96, 128, 192, 256, 384, 512})
      rows.push_back({"Attention",
                      {{"block_m", bm}, {"block_n", bn}, {"dim", 64}},
                      {{"H", 1}, {"M", 256}, {"N", 512}, {"D", 64}}});
  return rows;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

struct Run {
  const Configuration *configuration;
  AnyKernel kernel;
  MadeArguments *arguments;
  int repeats = 1;
  double best = 1e30, bestAny = 1e30;
  int gated = 0;
};

double seconds() { return bench::now(CLOCK_MONOTONIC); }

void launch(Run &run, int times) {
  LaunchOptions options;
  options.threads = 1;
  for (int i = 0; i < times; ++i)
    if (auto wrong = run.kernel.launch(run.arguments->arguments, options); !wrong.empty()) {
      std::fprintf(stderr, "%s", to_text(wrong).c_str());
      std::exit(1);
    }
}

double timeOf(Run &run, int times) {
  double start = seconds();
  launch(run, times);
  return (seconds() - start) / times;
}

/// The least of fewer samples may be one that was interrupted.
constexpr int leastSamples = 3;

/// Lines of an earlier table with samples that counted, by what they measured.
std::map<std::string, std::string> earlierRows(const char *file) {
  std::map<std::string, std::string> rows;
  std::ifstream input(file ? file : "");
  for (std::string line; std::getline(input, line);) {
    size_t samples = line.rfind(','), cycles = line.rfind(',', samples - 1);
    if (samples != std::string::npos && line[0] != '#' &&
        std::atoi(&line[samples + 1]) >= leastSamples)
      rows[line.substr(0, cycles)] = line;
  }
  return rows;
}

std::string keyOf(const Configuration &row) {
  return row.kernel + "," + textOf(row.fields) + "," + textOf(row.sizes);
}

void measure(const std::vector<Configuration> &configurations, const char *earlier) {
  std::map<std::string, std::string> known = earlierRows(earlier);
  std::map<std::string, std::unique_ptr<MadeArguments>> arguments;
  std::vector<Run> runs;
  for (const Configuration &row : configurations) {
    if (known.count(keyOf(row)))
      continue;
    InspectOptions options;
    for (const auto &[name, value] : row.fields)
      options.set.emplace_back(name, std::to_string(value));
    std::vector<Diagnostic> wrong;
    Run run{&row, compile_registered(row.kernel, options, wrong), nullptr};
    if (!run.kernel) {
      std::fprintf(stderr, "%s", to_text(wrong).c_str());
      std::exit(1);
    }
    auto &made = arguments[row.kernel + " " + textOf(row.sizes)];
    if (!made) {
      Shape shape;
      for (const auto &[name, value] : row.sizes)
        shape.push_back({name, double(value)});
      made = std::make_unique<MadeArguments>(
          make_arguments(run.kernel.arguments(), shape, Data::Random, 1));
      if (!made->diagnostics.empty()) {
        std::fprintf(stderr, "%s", to_text(made->diagnostics).c_str());
        std::exit(1);
      }
    }
    run.arguments = made.get();
    launch(run, 1);
    run.repeats = int(std::clamp(2e-4 / timeOf(run, 1), 1.0, 1000.0));
    runs.push_back(std::move(run));
  }
  // Until every configuration has enough samples, or the patience ends.
  double begin = seconds();
  double limit = bench::setting("PENSTOCK_BENCH_GATED_SECONDS", 900);
  constexpr int enough = 8;
  size_t left = runs.size();
  for (int round = 0; left && seconds() - begin < limit; ++round) {
    left = 0;
    for (Run &run : runs) {
      if (run.gated >= enough)
        continue;
      ++left;
      launch(run, 1);
      bench::CoreState before = bench::coreState();
      for (int sample = 0; sample < 4; ++sample) {
        double taken = timeOf(run, run.repeats);
        bench::CoreState after = bench::coreState();
        double cycles = taken * (before.ghz + after.ghz) / 2 * 1e9;
        run.bestAny = std::min(run.bestAny, cycles);
        if (before.isLike(after)) {
          run.best = std::min(run.best, cycles);
          ++run.gated;
        }
        before = after;
      }
    }
    if (round % 100 == 0)
      std::fprintf(stderr, "round %d: %zu configurations left, %.0f s\n", round, left,
                   seconds() - begin);
  }
  std::printf("kernel,fields,sizes,cycles,samples\n");
  for (const Run &run : runs)
    known[keyOf(*run.configuration)] =
        keyOf(*run.configuration) + "," +
        std::to_string(std::llround(run.gated ? run.best : run.bestAny)) + "," +
        std::to_string(run.gated);
  for (const Configuration &row : configurations)
    std::printf("%s\n", known[keyOf(row)].c_str());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Cycles of one execution of a statement on a tile that is in L1, in a loop of them.
template <class F> double statementCycles(int rows, int columns, F statement) {
  constexpr int64_t trips = 200;
  auto kernel = compile(
      [=](Block &b, In<f32, 2> x, Out<f32, 2> y) {
        auto t = b.local<f32>(rows, columns), u = b.local<f32>(rows, columns);
        auto v = b.local<f32>(rows);
        b.copy(x.at(0, 0), t);
        b.fill(u, 0);
        b.fill(v, 1);
        for ([[maybe_unused]] Index i : b.range(trips))
          statement(b, t, u, v);
        b.copy(u, y.at(0, 0));
        b.set(u, u + broadcast_rows(v));
        b.copy(u, y.at(0, 0));
      },
      Target::native());
  auto x = bench::numbers<float>(size_t(rows) * size_t(columns), 1);
  std::vector<float> y(x.size());
  return bench::cyclesOf(
      [&] { kernel.launch({.threads = 1}, view(x, {rows, columns}), view(y, {rows, columns})); },
      trips);
}

/// Cycles of packing operands that are in L1, by 64 bytes or by 16 x 16 elements.
template <class Line> void packing(const Line &line) {
  constexpr int64_t rows = 64, columns = 64;
  std::vector<uint16_t> from(rows * columns);
  std::vector<float> wide(bench::numbers<float>(rows * columns, 4)), to(rows * columns);
  constexpr int repeats = 200;
  auto per = [&](const char *name, double units, auto pack) {
    line(name, bench::cyclesOf(
                   [&] {
                     for (int i = 0; i < repeats; ++i)
                       pack();
                   },
                   repeats * units));
  };
  double bytes = 2.0 * rows * columns;
  ElementMatrix pairs{from.data(), rows, columns, columns, 1, 2};
  ElementMatrix turned{from.data(), rows, columns, 1, rows, 2};
  ElementMatrix quads{from.data(), rows, 2 * columns, 2 * columns, 1, 1};
  per("pack tiles, 64 bytes", bytes / 64, [&] { packTiles(pairs, to.data(), columns / 32); });
  per("pack panels of bf16, 64 bytes", bytes / 64, [&] { packPanels(pairs, to.data(), rows / 2); });
  per("pack panels of i8, 64 bytes", bytes / 64, [&] { packPanels(quads, to.data(), rows / 4); });
  per("pack transposed panels, 64 bytes", bytes / 64,
      [&] { packPanels(turned, to.data(), rows / 2); });
  ElementMatrix tile{from.data(), 16, 32, columns, 1, 2}, panel{from.data(), 32, 16, columns, 1, 2};
  per("pack one tile", 1, [&] { packTiles(tile, to.data(), 1); });
  per("pack one tile in panels", 1, [&] { packPanels(panel, to.data(), 16); });
  per("transpose f32, 16 x 16", rows * columns / 256.0,
      [&] { packTransposed(PackFrom::F32, wide.data(), columns, to.data(), rows, columns, rows); });
  per("transpose f16, 16 x 16", rows * columns / 256.0,
      [&] { packTransposed(PackFrom::F16, from.data(), columns, to.data(), rows, columns, rows); });
}

void constants() {
  auto line = [](const char *name, double value) {
    std::printf("%-36s %.3f\n", name, value);
    std::fflush(stdout);
  };
  std::vector<double> clocks;
  for (int i = 0; i < 3000; ++i)
    if (bench::CoreState state = bench::coreState(); state.alone)
      clocks.push_back(state.ghz);
  std::sort(clocks.begin(), clocks.end());
  for (size_t percent : {1, 50, 99})
    if (!clocks.empty())
      line("clock, percentiles 1, 50, 99", clocks[clocks.size() * percent / 100]);
  for (int64_t bytes : {int64_t(24) << 10, int64_t(256) << 10, int64_t(1) << 20, int64_t(8) << 20,
                        int64_t(32) << 20}) {
    std::printf("-- %ld KB\n", long(bytes >> 10));
    line("read", bench::readRate(bytes, bytes, bytes));
    line("write", bench::writeRate(bytes));
    line("copy to 16 KB", bench::copyRate(bytes, 16 << 10, bytes / 64, bytes / 64));
    line("copy to 128 KB", bench::copyRate(bytes, 128 << 10, bytes / 64, bytes / 64));
    for (int64_t row : {128, 256, 512, 1024})
      for (int64_t stride : {2048, 4096})
        line(("read rows of " + std::to_string(row) + " by " + std::to_string(stride)).c_str(),
             bench::readRate(bytes / (stride / row), row, stride));
  }
  if (bench::hasTiles())
    line("tile configuration", bench::tileConfiguration());
  if (bench::hasTiles())
    for (int64_t steps : {1, 2, 4, 8, 16, 32})
      for (bool sums : {false, true})
        for (int64_t left : {int64_t(16) << 10, int64_t(512) << 10, int64_t(16) << 20})
          line(("tiles " + std::to_string(steps) + (sums ? " sums " : " ") +
                std::to_string(left >> 10) + "K")
                   .c_str(),
               bench::tileBlock(steps, left, sums));
  for (int columns : {16, 64, 256, 1024}) {
    int rows = 2048 / columns;
    std::printf("-- rows of %d\n", columns);
    auto per = [&](const char *name, auto statement) {
      line(name, statementCycles(rows, columns, statement) / rows);
    };
    per("copy", [](Block &b, auto &t, auto &u, auto &) { b.copy(t, u); });
    per("add", [](Block &b, auto &t, auto &u, auto &) { b.set(u, u + t); });
    per("exp", [](Block &b, auto &t, auto &u, auto &) { b.set(u, exp(t)); });
    per("divide", [](Block &b, auto &t, auto &u, auto &v) { b.set(u, t / broadcast_rows(v)); });
    per("maximum of elements", [](Block &b, auto &t, auto &u, auto &) { b.set(u, max(u, t)); });
    per("sum of rows", [](Block &b, auto &t, auto &, auto &v) { b.reduce(Sum, t, 1, v); });
    per("maximum of rows", [](Block &b, auto &t, auto &, auto &v) { b.reduce(Max, t, 1, v); });
  }
  packing(line);
  // A launch of one block that does nothing, and of a thousand.
  auto nothing = compile(
      [](Block &b, In<f32, 1> x, Out<f32, 1> y) {
        auto i = b.grid(y.size(0));
        auto t = b.local<f32>(1);
        b.copy(x.at(i), t);
        b.copy(t, y.at(i));
      },
      Target::native());
  std::vector<float> x(1000), y(1000);
  auto empty = [&](int64_t blocks) {
    return bench::cyclesOf(
        [&] { nothing.launch({.threads = 1}, view(x, {1000}), view(y, {blocks})); }, 1);
  };
  line("launch", empty(1));
  line("block", (empty(1000) - empty(1)) / 999);
}

} // namespace

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "constants")
    constants();
  else if (mode == "rows")
    measure(drawnRows(), argc > 2 ? argv[2] : nullptr);
  else if (mode == "sweep")
    measure(sweptRows(), argc > 2 ? argv[2] : nullptr);
  else {
    std::fprintf(stderr, "usage: native-model constants|rows|sweep [FILE]\n");
    return 2;
  }
}
