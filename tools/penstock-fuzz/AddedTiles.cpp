//===- AddedTiles.cpp - Tiles that are added to tensors -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs that add tiles to a tensor, element by element, in and outside of loops,
// pipelined ones among them, after threads, engines or products have written them. GPUs add
// many of them by TMA. Numbers are small integers: sums are exact in any order, and those of
// plain loops are what counts.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "OnTargets.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

enum Counter : int { ByTma = OwnCounters };

/// Y[z, m, n] += the sum over steps k of a tile, at most twice each.
struct AddForm {
  enum Writer { Copied, Computed, Transposed };
  enum Loop { InGrid, Range, Nested, Pipelined };
  enum Guard { Both, Nesting, Shifted, Partial, Missing };
  uint64_t seed = 0;
  int64_t rows = 0, cols = 0;
  Writer writer = Copied;
  Loop loop = InGrid;
  Guard guard = Both;
  int64_t stages = 1, threads = 0;
  bool again = false;    ///< a second tile is added, to the first matrix
  bool cleared = false;  ///< the tile is overwritten after it has been added
  bool alone = false;    ///< a thread also adds to one element alone
  bool oneMatrix = true; ///< all blocks add to the same one

  /// Returns what is added to an element for one step whose operand is \p x.
  int64_t valueOf(int64_t x, int64_t step) const { return writer == Computed ? 2 * x + step : x; }
  /// Returns whether elements of a tile are skipped.
  bool leavesOut(int64_t i, int64_t j) const { return guard == Partial && i == j; }
};

/// Adds a tile to the box of Y at m0, n0.
template <class R>
void add(Block &b, const AddForm &form, const Tile<R, 2> &S, const InOut<R, 3> &Y, const Index &z,
         const Index &m0, const Index &n0) {
  auto [Z, M, N] = Y.sizes();
  b.parallel(form.rows, form.cols, [&](Index i, Index j) {
    auto update = [&] { b.atomic(Add, Y.at(z, m0 + i, n0 + j), b.load(S, i, j)); };
    switch (form.guard) {
    case AddForm::Both:
      if (form.oneMatrix)
        b.when(z < Z && m0 + i < M && n0 + j < N, update);
      else
        b.when(m0 + i < M && n0 + j < N, update);
      break;
    case AddForm::Nesting:
      b.when(m0 + i < M, [&] { b.when(z < Z && N > j + n0, update); });
      break;
    case AddForm::Shifted: // the same, but not in these words
      b.when(i < M - m0 && n0 + j < N, update);
      break;
    case AddForm::Partial:
      b.when(m0 + i < M && n0 + j < N && i != j, update);
      break;
    case AddForm::Missing: // sizes are such that nothing is outside
      b.when(n0 + j < N, update);
      break;
    }
  });
}

template <class R> struct AddedSums {
  static constexpr size_t gridRank = 3;
  AddForm form;
  static constexpr auto signature = "X[K,M,N] -> Y[Z,M,N]";

  void operator()(Block &b, In<R, 3> X, InOut<R, 3> Y) const {
    auto [K, M, N] = X.sizes();
    auto Z = Y.size(0);
    bool inGrid = form.loop == AddForm::InGrid;
    auto [bm, rest, z] =
        b.grid(ceil_div(M, form.rows), inGrid ? ceil_div(N, form.cols) * K : ceil_div(N, form.cols),
               form.oneMatrix ? Index(1) : Index(Z));
    auto [k0, bn] = fast_divmod(rest, max(ceil_div(N, form.cols), 1));
    if (form.threads)
      b.threads(int(form.threads));
    Index m0 = bm * form.rows, n0 = bn * form.cols;
    auto S = b.shared<R>(form.rows, form.cols);
    auto x = b.local<R>(form.rows, form.cols);
    auto t = b.local<R>(form.cols, form.rows);
    Index to = form.oneMatrix ? Index(0) : Index(z);
    if (form.alone)
      b.atomic(Add, Y.at(0, 0, 0), R(0));
    auto body = [&](const Index &k) {
      switch (form.writer) {
      case AddForm::Copied:
        b.copy(X.at(k, m0, n0), S);
        break;
      case AddForm::Computed:
        b.copy(X.at(k, m0, n0), x);
        b.set(S, x * R(2) + cast<R>(cast<i32>(k)));
        break;
      case AddForm::Transposed:
        b.copy(X.at(k, m0, n0), x);
        b.copy(x, transposed(t));
        b.copy(t, transposed(S));
        break;
      }
      add(b, form, S, Y, to, m0, n0);
      if (form.cleared)
        b.fill(S, 0);
      if (form.again)
        add(b, form, S, Y, to, m0, n0);
    };
    switch (form.loop) {
    case AddForm::InGrid:
      body(k0);
      break;
    case AddForm::Range:
      for (Index k : b.range(K))
        body(k);
      break;
    case AddForm::Nested:
      for (Index outer : b.range(2))
        for (Index k : b.range(outer, K, 2))
          body(k);
      break;
    case AddForm::Pipelined:
      for (Index k : b.pipelined(K, {.num_stages = int(form.stages)}))
        body(k);
      break;
    }
  }
};

/// Each step of a product is added by itself.
template <class E, class R> struct AddedProducts {
  static constexpr size_t gridRank = 3;
  AddForm form;
  static constexpr auto signature = "A[M,C], B[N,C] -> Y[Z,M,N]";

  void operator()(Block &b, In<E, 2> A, In<E, 2> B, InOut<R, 3> Y) const {
    auto [M, C] = A.sizes();
    auto [bm, bn, z] = b.grid(ceil_div(M, form.rows), ceil_div(B.size(0), form.cols),
                              form.oneMatrix ? Index(1) : Index(Y.size(0)));
    Index m0 = bm * form.rows, n0 = bn * form.cols;
    Index to = form.oneMatrix ? Index(0) : Index(z);
    auto As = b.shared<E>(form.rows, 64), Bs = b.shared<E>(form.cols, 64);
    auto acc = b.local<R>(form.rows, form.cols);
    auto turned = b.local<R>(form.cols, form.rows);
    auto S = b.shared<R>(form.rows, form.cols);
    bool last = form.loop == AddForm::InGrid; // one addition, after the loop
    b.fill(acc, 0);
    auto finish = [&] {
      if (form.writer == AddForm::Transposed)
        b.copy(turned, transposed(S));
      else
        b.copy(acc, S);
      add(b, form, S, Y, to, m0, n0);
      if (form.cleared)
        b.fill(S, 0);
      if (form.again)
        add(b, form, S, Y, to, m0, n0);
    };
    for (Index k : b.pipelined(ceil_div(C, 64), {.num_stages = int(form.stages)})) {
      b.copy(A.at(m0, k * 64), As);
      b.copy(B.at(n0, k * 64), Bs);
      if (form.writer == AddForm::Transposed)
        b.gemm(Bs, transposed(As), turned, {.accumulate = false});
      else
        b.gemm(As, transposed(Bs), acc, {.accumulate = last});
      if (!last)
        b.statement("add", finish);
    }
    if (last)
      finish();
  }
};

template <class T> std::vector<T> numbers(Random &random, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T &value : values)
    value = T(float(random.between(-2, 2)));
  return values;
}

/// The first element of Y that is wrong; \p sum gives what is added to one of a matrix.
template <class R, class Sum>
std::string compareY(const AddForm &form, const std::vector<R> &before, const std::vector<R> &after,
                     int64_t Z, int64_t M, int64_t N, Sum sum) {
  for (int64_t i = 0; i < Z * M * N; ++i) {
    int64_t n = i % N, m = i / N % M, z = i / N / M;
    int64_t times = (form.oneMatrix && z ? 0 : 1) * (form.again && !form.cleared ? 2 : 1);
    if (form.leavesOut(m % form.rows, n % form.cols))
      times = 0;
    int64_t want = int64_t(before[size_t(i)]) + times * sum(m, n);
    if (int64_t(after[size_t(i)]) != want)
      return "Z=" + std::to_string(Z) + ", M=" + std::to_string(M) + ", N=" + std::to_string(N) +
             ": element " + std::to_string(i) + " is " + std::to_string(int64_t(after[size_t(i)])) +
             " and should be " + std::to_string(want);
  }
  return {};
}

struct Sizes {
  int64_t Z, M, N, K;
};

/// Rows are mostly such that TMA takes them.
Sizes sizesOf(const AddForm &form, Random &random) {
  int64_t grain = random.chance(80) ? 4 : 1;
  Sizes s{random.between(1, 3), random.between(1, 2 * form.rows + 5),
          random.between(1, (2 * form.cols + 9) / grain + 1) * grain, random.between(0, 5)};
  if (form.guard == AddForm::Missing)
    s.M = random.between(1, 2) * form.rows;
  return s;
}

template <class R, class Compiled>
std::string launchSums(const AddForm &form, const Compiled &compiled, uint64_t seed,
                       const LaunchOptions &options) {
  Random random(seed);
  auto [Z, M, N, K] = sizesOf(form, random);
  auto x = numbers<R>(random, K * M * N), y = numbers<R>(random, Z * M * N);
  std::vector<R> before = y;
  auto found = compiled.try_launch(options, view(x, {K, M, N}), view(y, {Z, M, N}));
  if (!found.empty())
    return to_text(found);
  return compareY(form, before, y, Z, M, N, [&, M = M, N = N, K = K](int64_t m, int64_t n) {
    int64_t sum = 0;
    for (int64_t k = 0; k < K; ++k)
      sum += form.valueOf(int64_t(x[size_t((k * M + m) * N + n)]), k);
    return sum;
  });
}

template <class E, class R, class Compiled>
std::string launchProducts(const AddForm &form, const Compiled &compiled, uint64_t seed,
                           const LaunchOptions &options) {
  Random random(seed);
  auto [Z, M, N, K] = sizesOf(form, random);
  int64_t C = random.chance(80) ? K * 48 : K * 41;
  auto a = numbers<E>(random, M * C), c = numbers<E>(random, N * C);
  auto y = numbers<R>(random, Z * M * N);
  std::vector<R> before = y;
  auto found = compiled.try_launch(options, view(a, {M, C}), view(c, {N, C}), view(y, {Z, M, N}));
  if (!found.empty())
    return to_text(found);
  return compareY(form, before, y, Z, M, N, [&](int64_t m, int64_t n) {
    int64_t sum = 0;
    for (int64_t k = 0; k < C; ++k)
      sum += int64_t(float(a[size_t(m * C + k)])) * int64_t(float(c[size_t(n * C + k)]));
    return sum;
  });
}

} // namespace

CaseResult penstock::fuzz::addedOne(uint64_t seed, Counters &counters, const Preferences *imposed) {
  Random random(derive(seed, 1));
  AddForm form;
  form.seed = derive(seed, 2);
  bool product = random.chance(40);
  form.rows = product ? random.of({64, 64, 128}) : random.of({1, 3, 8, 16, 64, 130});
  form.cols = product ? random.of({64, 64, 128}) : random.of({2, 4, 16, 32, 64, 72});
  form.writer = random.of({AddForm::Copied, AddForm::Computed, AddForm::Transposed});
  form.loop = random.of({AddForm::InGrid, AddForm::Range, AddForm::Nested, AddForm::Pipelined});
  form.guard =
      random.chance(70)
          ? random.of({AddForm::Both, AddForm::Both, AddForm::Nesting})
          : random.of({AddForm::Both, AddForm::Shifted, AddForm::Partial, AddForm::Missing});
  form.stages = random.between(1, 3);
  // Without a pipelined loop, a kernel that states its threads also states their barriers.
  form.threads = !product && form.loop == AddForm::Pipelined ? random.of({0, 0, 128, 256}) : 0;
  form.again = random.chance(20);
  form.cleared = random.chance(25);
  form.alone = random.chance(8);
  form.oneMatrix = random.chance(50);
  uint64_t data = derive(seed, 3);
  auto run = [&](const auto &kernel, auto launch) {
    Target gpu = anyGpu(random);
    return runOnTargets(
        kernel, gpu, /*interprets=*/false, random, counters,
        [&](const auto &compiled, const LaunchOptions &timing, bool emulated) {
          counters[ByTma] +=
              emulated && compiled.ptx().find("cp.reduce.async.bulk.tensor") != std::string::npos;
          return launch(compiled, timing);
        },
        imposed);
  };
  auto sums = [&]<class R>(R) {
    return run(AddedSums<R>{form}, [&](const auto &compiled, const LaunchOptions &timing) {
      return launchSums<R>(form, compiled, data, timing);
    });
  };
  auto products = [&]<class E, class R>(E, R) {
    if (form.loop == AddForm::InGrid && form.writer == AddForm::Transposed)
      form.writer = AddForm::Copied;
    return run(AddedProducts<E, R>{form}, [&](const auto &compiled, const LaunchOptions &timing) {
      return launchProducts<E, R>(form, compiled, data, timing);
    });
  };
  if (product)
    return random.chance(25) ? products(i8(), i32()) : products(f16(), f32());
  switch (random.below(3)) {
  case 0:
    return sums(i32());
  case 1:
    return sums(i64());
  default:
    return sums(f32());
  }
}

int penstock::fuzz::runAdded(const BatchOptions &options) {
  BatchResult result = runFamily(options, addedOne);
  Counters &c = result.counters;
  return report(result, "--added", "programs",
                {{"refused", c[Refused]},
                 {"compiled", c[Built]},
                 {"by_tma", c[ByTma]},
                 {"launches", c[Launched]}});
}
