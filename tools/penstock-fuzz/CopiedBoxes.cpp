//===- CopiedBoxes.cpp - Boxes that threads copy by cp.async --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Boxes with random tiles, pieces and threads, at offsets inside the tensor, across its edges,
// before it, beyond it and far beyond it. Rows may be padded; no copy may read the padding.
// Explicit kernels copy with cp.async; for tile programs, the compiler chooses cp.async on GPUs
// without TMA.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "OnTargets.h"

using namespace penstock;
using namespace penstock::fuzz;

namespace {

struct Form {
  int64_t rows, cols, threads, bytes, stages;
  int64_t rowStep, colStep; ///< per iteration; columns in pieces
  bool apart;               ///< rows are along the first dimension of three
  bool looped, l1;
};

/// Returns the number of elements in a piece.
template <class T> int64_t pieceOf(const Form &form) { return form.bytes / int64_t(sizeof(T)); }

template <class T> struct BoxKernel {
  Form form;

  auto box(const In<T, 3> &X, const Index &row, const Index &col, const Index &i) const {
    Index r = row + i * form.rowStep, c = (col + i * form.colStep) * pieceOf<T>(form);
    return form.apart ? X.at(r, 1, c).dims(0, 2) : X.at(1, r, c);
  }
};

/// Copies a box to a tile and the tile to Y, in each iteration.
template <class T> struct ExplicitBoxes : BoxKernel<T> {
  void operator()(Block &b, In<T, 3> X, Out<T, 2> Y, Index row, Index col, Index trips) const {
    const Form &form = this->form;
    b.grid(1);
    b.threads(form.threads);
    auto tile = b.shared<T>(form.rows, form.cols);
    auto own = b.local<T>(form.rows, form.cols);
    auto step = [&](const Index &i) {
      b.cp_async.load(this->box(X, row, col, i), tile, {.bytes = form.bytes, .l1 = form.l1});
      b.cp_async.commit_group();
      b.cp_async.wait_group(0);
      b.sync();
      b.copy(tile, own);
      b.copy(own, Y.at(i * form.rows, 0));
      b.sync();
    };
    if (form.looped)
      for (Index i : b.range(trips))
        step(i);
    else
      step(trips - 1);
  }
};

template <class T> struct PipelinedBoxes : BoxKernel<T> {
  void operator()(Block &b, In<T, 3> X, Out<T, 2> Y, Index row, Index col, Index trips) const {
    const Form &form = this->form;
    b.grid(1);
    auto tile = b.shared<T>(form.rows, form.cols);
    for (Index i : b.pipelined(trips, {.num_stages = int(form.stages)})) {
      b.copy(this->box(X, row, col, i), tile);
      b.copy(tile, Y.at(i * form.rows, 0));
    }
  }
};

/// Compares one launch with plain loops. Returns the difference, or an empty string.
template <class T, class Compiled>
std::string launch(const Form &form, const Compiled &compiled, bool all, uint64_t seed,
                   const LaunchOptions &options) {
  Random random(seed);
  int64_t piece = pieceOf<T>(form);
  int64_t height = random.between(1, 80), width = random.between(1, 150);
  if (random.chance(60))
    width = (width + piece - 1) / piece * piece;
  int64_t pitch = (width + piece - 1 + random.of({0, 0, 8}) * piece) / piece * piece;
  int64_t trips = random.between(1, 4), matrices = 3;
  int64_t row = random.between(-form.rows - 2, height + 2);
  int64_t col = random.between(-form.cols / piece - 2, width / piece + 2);
  int64_t far = random.of({int64_t(1) << 28, (int64_t(1) << 31) - 3, int64_t(1) << 33});
  if (random.chance(10))
    row = random.chance(50) ? far : -far;
  if (random.chance(10))
    col = random.chance(50) ? far : -far;
  std::vector<T> x(size_t(matrices * height * pitch), T(111)),
      y(size_t(trips * form.rows * form.cols), T(-77));
  auto at = [&](int64_t matrix, int64_t r, int64_t c) -> T & {
    return x[size_t(((form.apart ? r * matrices + matrix : matrix * height + r)) * pitch + c)];
  };
  for (int64_t matrix = 0; matrix < matrices; ++matrix)
    for (int64_t r = 0; r < height; ++r)
      for (int64_t c = 0; c < width; ++c)
        at(matrix, r, c) = T(float(random.between(1, 100)));
  auto tensor = form.apart ? view(x.data(), {height, matrices, width}, {matrices * pitch, pitch, 1})
                           : view(x.data(), {matrices, height, width}, {height * pitch, pitch, 1});
  auto found = compiled.try_launch(options, tensor, view(y, {trips * form.rows, form.cols}), row,
                                   col, trips);
  std::string where = "H=" + std::to_string(height) + ", W=" + std::to_string(width) +
                      ", pitch=" + std::to_string(pitch) + ", row=" + std::to_string(row) +
                      ", col=" + std::to_string(col) + ": ";
  if (!found.empty())
    return where + to_text(found);
  for (int64_t i = 0; i < trips; ++i)
    for (int64_t r = 0; r < form.rows; ++r)
      for (int64_t c = 0; c < form.cols; ++c) {
        int64_t fromRow = row + i * form.rowStep + r,
                fromCol = (col + i * form.colStep) * piece + c;
        bool inside = fromRow >= 0 && fromRow < height && fromCol >= 0 && fromCol < width;
        float want = inside ? float(at(1, fromRow, fromCol)) : 0;
        if (!all && i + 1 < trips)
          want = -77;
        float is = float(y[size_t((i * form.rows + r) * form.cols + c)]);
        if (is != want)
          return where + "trip " + std::to_string(i) + ", element " + std::to_string(r) + ", " +
                 std::to_string(c) + " is " + std::to_string(is) + " and should be " +
                 std::to_string(want);
      }
  return {};
}

enum OwnCounter : int { Explicit = OwnCounters };

template <class T> CaseResult compare(uint64_t seed, Counters &counters) {
  Random random(derive(seed, 1));
  Form form;
  form.bytes = sizeof(T) <= 4 ? random.of({16, 16, 16, 8, 4}) : random.of({16, 8});
  int64_t piece = pieceOf<T>(form);
  form.rows = random.of({1, 3, 8, 16, 24, 33, 64, 64, 128});
  form.cols = piece * random.of({1, 2, 3, 4, 8, 8, 16});
  form.threads = random.of({32, 64, 96, 128, 128, 256});
  form.stages = random.between(1, 4);
  form.rowStep = random.of({int64_t(0), int64_t(0), int64_t(1), form.rows, -form.rows});
  form.colStep = random.of({int64_t(0), int64_t(1), form.cols / piece, int64_t(-1)});
  form.apart = random.chance(30);
  form.looped = random.chance(70);
  form.l1 = random.chance(20);
  Target gpu = random.of({Target::sm_80(), Target::sm_80(), Target::sm_86(), Target::sm_89(),
                          Target::sm_120a(), Target::sm_90a(), Target::sm_100a()});
  if (random.chance(50))
    return runOnTargets(PipelinedBoxes<T>{{form}}, gpu, random.chance(10), random, counters,
                        [&](const auto &compiled, const LaunchOptions &timing, bool) {
                          return launch<T>(form, compiled, true, derive(seed, 3), timing);
                        });
  ExplicitBoxes<T> kernel{{form}};
  auto compiled = try_compile(kernel, gpu.emulated(), {.cache = &KernelCache::none()});
  if (!compiled) {
    ++counters[Refused];
    return {hasInternalError(compiled.diagnostics), to_text(compiled.diagnostics)};
  }
  ++counters[Built];
  ++counters[Explicit];
  for (uint64_t run = 0; run < 3; ++run) {
    LaunchOptions timing{.completion =
                             random.of({Completion::Eager, Completion::Latest, Completion::Random}),
                         .seed = random.next()};
    std::string wrong =
        launch<T>(form, compiled.kernel, form.looped, derive(seed, 3 + run), timing);
    if (!wrong.empty())
      return {true, wrong + "\n" + compiled.kernel.ptx()};
    ++counters[Launched];
  }
  return {};
}

CaseResult copiedOne(uint64_t seed, Counters &counters) {
  switch (seed % 4) {
  case 0:
    return compare<float>(seed, counters);
  case 1:
    return compare<i8>(seed, counters);
  case 2:
    return compare<double>(seed, counters);
  default:
    return compare<f16>(seed, counters);
  }
}

} // namespace

int penstock::fuzz::runCopied(const BatchOptions &options) {
  BatchResult result = runBatches(options, copiedOne);
  Counters &c = result.counters;
  return report(result, "--copied", "kernels",
                {{"refused", c[Refused]},
                 {"compiled", c[Built]},
                 {"explicit", c[Explicit]},
                 {"launches", c[Launched]}});
}
