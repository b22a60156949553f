//===- tune.cpp - Examples of the C++ reference ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>
#include <penstock/tune.h>
#include <vector>
using namespace penstock;

// example: Space::Space, Space::over, Space::where, Space::classes
struct Copy2 {
  int block_m = 32, block_n = 64;
  static constexpr auto signature = "x[M,N] -> y[M,N]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto [i, j] = b.grid(ceil_div(x.size(0), block_m), ceil_div(x.size(1), block_n));
    auto t = b.local<f32>(block_m, block_n);
    b.copy(x.at(i * block_m, j * block_n), t);
    b.copy(t, y.at(i * block_m, j * block_n));
  }
  static auto space() {
    return Space<Copy2>()
        .over(&Copy2::block_m, {16, 32, 64})
        .over(&Copy2::block_n, {32, 64, 128})
        .where([](const Copy2 &k) { return k.block_m * k.block_n <= 4096; })
        .classes("M:log2, N");
  }
};

// example: tune, to_svg, TuneCandidate::point
std::string fastest() {
  TuneReport report = tune(Copy2{}, Target::native(), {{"M", 4096}, {"N", 4096}});
  std::string picture = to_svg(report);
  return report.best < 0 ? "" : report.candidates[size_t(report.best)].point();
}

// example: tune_registered, tunable_kernels, export_table
void tune_library() {
  std::vector<TuneReport> reports;
  for (const std::string &kernel : tunable_kernels())
    reports.push_back(tune_registered(kernel, Target::native(), {{"M", 4096}, {"N", 4096}}));
  std::vector<Diagnostic> errors = export_table("tuned.table", reports);
}

// example: tuned, TunedOf::operator(), TunedOf::launch, TunedOf::try_launch, TunedOf::prepare,
// TunedOf::choice, TunedOf::diagnostics
void run_tuned(TensorView<const float, 2> x, TensorView<float, 2> y) {
  auto copy = tuned(Copy2{}, Target::native());
  copy.prepare({{"M", 4096}, {"N", 4096}}); // compiles now
  copy(x, y);                               // copy.operator()(x, y)
  copy.launch({.threads = 1}, x, y);
  std::vector<Diagnostic> errors = copy.try_launch({}, x, y), problems = copy.diagnostics();
  TunedChoice choice = copy.choice({{"M", 4096}, {"N", 4096}});
}
