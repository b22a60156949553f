//===- BoxedProducts.cpp - Products of boxes as matrices ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs like convolutions: the rows of an operand, of the sums, or of both are
// those of a box of three or four dimensions. What is not refused runs on an emulated GPU
// under a random timing, natively and, if it is small, on the interpreter, and gives what
// plain loops over the numbers give: these are small integers, and all sums are exact.
//
//===----------------------------------------------------------------------===//
#include "Modes.h"
#include "OnTargets.h"

#include <algorithm>
#include <array>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

using Four = std::array<int64_t, 4>;

/// Y[p, n] = sum over taps t and channels c of X[p + shift(t), c] F[n, t, c], plus what is added,
/// for pixels p of rank 3.
struct Form {
  uint64_t seed = 0;
  Four block = {};      ///< of pixels, and of columns n
  int64_t channels = 0; ///< of a step
  int64_t taps = 0;
  bool deep = false;   ///< tiles have all dimensions of the pixels, else the last two
  bool right = false;  ///< the box is the right operand
  bool matrix = false; ///< sums are a tile of rank 2
  int64_t added =
      0; ///< 0: nothing, 1: to the matrix, 2: the pixel's coordinate to the box, 3: columns
  int64_t stages = 0;

  int64_t shift(int64_t tap, int dim) const { return dim == 2 ? tap % 3 - 1 : tap % 2; }
  int64_t pixels() const { return (deep ? block[0] : 1) * block[1] * block[2]; }
  /// The number that is added to a result at these coordinates in its block.
  int64_t addedAt(int64_t z, int64_t y, int64_t x, int64_t n) const {
    if (added == 1)
      return (z * block[1] + y) * block[2] + x;
    return added == 2 ? 2 * y - x : added == 3 ? n % 4 : 0;
  }
};

template <class E, class R> struct BoxedProduct {
  Form form;

  void operator()(Block &b, In<E, 4> X, In<E, 3> F, Out<R, 4> Y) const {
    if (form.deep)
      write<4>(b, X, F, Y, [&](auto &&slice) { return slice; });
    else
      write<3>(b, X, F, Y, [&](auto &&slice) { return slice.dims(1, 2, 3); });
  }

  template <class T, int Rank>
  static Tile<T, Rank> allocate(Block &b, bool shared, const Four &shape) {
    auto [z, y, x, n] = shape;
    if constexpr (Rank == 4)
      return shared ? b.shared<T>(z, y, x, n) : b.local<T>(z, y, x, n);
    else
      return shared ? b.shared<T>(y, x, n) : b.local<T>(y, x, n);
  }

  template <int Rank, class Slice>
  void write(Block &b, const In<E, 4> &X, const In<E, 3> &F, const Out<R, 4> &Y,
             const Slice &along) const {
    Random random(form.seed);
    auto [bz, by, bx, n] = form.block;
    int64_t depth = form.deep ? bz : 1;
    auto [Z, H, W, N] = Y.sizes();
    auto tilesX = ceil_div(W, bx);
    auto [z, y, rest] = b.grid(ceil_div(Z, depth), ceil_div(H, by), tilesX * ceil_div(N, n));
    b.prefer({.launch_control = random.chance(30)});
    auto [column, x] = fast_divmod(rest, max(tilesX, 1));
    Index z0 = z * depth, y0 = y * by, x0 = x * bx, n0 = column * n;
    auto Xs = allocate<E, Rank>(b, true, {bz, by, bx, form.channels});
    auto Fs = b.shared<E>(n, form.channels);
    auto acc = allocate<R, Rank>(b, false, {bz, by, bx, n});
    int64_t pixels = form.pixels();
    auto sums = form.right    ? b.local<R>(n, pixels)
                : form.matrix ? b.local<R>(pixels, n)
                              : as_matrix(acc);
    if (form.matrix || form.right || random.chance(50))
      b.fill(sums, 0);
    else
      b.fill(acc, 0);
    auto steps = ceil_div(X.size(3), form.channels);
    bool first = random.chance(50);
    for (Index k : b.pipelined(form.taps * steps, {.num_stages = int(form.stages)})) {
      auto [tap, step] = fast_divmod(k, max(steps, 1));
      Index c0 = step * form.channels, even = tap % 2;
      auto loadF = [&] { b.copy(F.at(n0, tap, c0).dims(0, 2), Fs); };
      if (first)
        loadF();
      b.copy(along(X.at(form.deep ? z0 + even : z0, y0 + even, x0 + tap % 3 - 1, c0)), Xs);
      if (!first)
        loadF();
      if (form.right)
        b.gemm(Fs, transposed(as_matrix(Xs)), sums);
      else
        b.gemm(as_matrix(Xs), transposed(Fs), sums);
    }
    if (form.right) {
      auto staged = b.shared<R>(n, pixels);
      b.copy(sums, staged);
      b.copy(transposed(staged), as_matrix(acc));
    } else if (form.matrix) {
      b.copy(sums, as_matrix(acc));
    }
    auto matrix = as_matrix(acc);
    if (form.added == 1)
      b.set(matrix, matrix + cast<R>(row(matrix)));
    if (form.added == 2)
      b.set(acc, acc + cast<R>(index(acc, Rank - 3) * 2 - index(acc, Rank - 2)));
    if (form.added == 3)
      b.set(acc, acc + cast<R>(index(acc, Rank - 1) % 4));
    b.copy(acc, along(Y.at(z0, y0, x0, n0)));
  }
};

template <class T> std::vector<T> numbers(Random &random, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T &value : values)
    value = T(float(random.between(-2, 2)));
  return values;
}

/// One launch against plain loops; what is wrong, or nothing.
template <class E, class R, class Compiled>
std::string launch(const Form &form, const Compiled &compiled, uint64_t seed,
                   const LaunchOptions &options, bool tiny) {
  Random random(seed);
  int64_t grain = random.chance(70) ? 16 : 1;
  int64_t Z = random.between(1, tiny ? 2 : 3), H = random.between(1, tiny ? 5 : 12),
          W = random.between(1, tiny ? 9 : 40),
          C = random.between(0, (tiny ? 32 : 96) / grain) * grain,
          N = random.between(1, (tiny ? 32 : 150) / grain) * grain;
  auto x = numbers<E>(random, Z * H * W * C), f = numbers<E>(random, N * form.taps * C);
  std::vector<R> y(size_t(Z * H * W * N), R(-777));
  auto found = compiled.try_launch(options, view(x, {Z, H, W, C}), view(f, {N, form.taps, C}),
                                   view(y, {Z, H, W, N}));
  if (!found.empty())
    return to_text(found);
  std::vector<float> xs(x.size()), fs(f.size());
  std::ranges::transform(x, xs.begin(), [](E value) { return float(value); });
  std::ranges::transform(f, fs.begin(), [](E value) { return float(value); });
  for (int64_t i = 0; i < Z * H * W * N; ++i) {
    int64_t n = i % N, w = i / N % W, h = i / N / W % H, z = i / N / W / H;
    const Four &block = form.block;
    int64_t want =
        form.addedAt(form.deep ? z % block[0] : 0, h % block[1], w % block[2], n % block[3]);
    for (int64_t t = 0; t < form.taps; ++t) {
      int64_t zt = z + (form.deep ? form.shift(t, 0) : 0), ht = h + form.shift(t, 1),
              wt = w + form.shift(t, 2);
      if (zt < 0 || zt >= Z || ht < 0 || ht >= H || wt < 0 || wt >= W)
        continue;
      for (int64_t c = 0; c < C; ++c)
        want += int64_t(xs[size_t(((zt * H + ht) * W + wt) * C + c)] *
                        fs[size_t((n * form.taps + t) * C + c)]);
    }
    if (double(y[size_t(i)]) != double(want))
      return "Z=" + std::to_string(Z) + ", H=" + std::to_string(H) + ", W=" + std::to_string(W) +
             ", C=" + std::to_string(C) + ", N=" + std::to_string(N) + ": result " +
             std::to_string(i) + " is " + std::to_string(double(y[size_t(i)])) + " and should be " +
             std::to_string(want);
  }
  return {};
}

template <class E, class R>
CaseResult compare(uint64_t seed, Counters &counters, const Preferences *imposed) {
  Random random(derive(seed, 1));
  Form form;
  form.seed = derive(seed, 2);
  bool ofWarps = random.chance(40);
  form.deep = random.chance(30);
  // Mostly as many pixels as tensor cores have rows.
  bool fits = random.chance(75);
  int64_t w = fits ? random.of({4, 8, 16, 32}) : random.between(1, 17);
  int64_t z = form.deep ? random.between(1, 2) : 1;
  int64_t pixels = ofWarps ? random.of({16, 32, 64, 96, 128}) : random.of({64, 128, 128});
  int64_t h = fits ? std::max<int64_t>(1, pixels / w / z) : random.between(1, 7);
  form.block = {z, h, w, random.of({8, 16, 32, 64, 128})};
  if (ofWarps) // odd numbers of blocks of columns
    form.block[3] = random.of({8, 24, 40, 64, 72, 128});
  form.channels = random.of({16, 32, 64, 64});
  form.taps = random.of({1, 2, 6, 9});
  form.right = random.chance(20);
  form.matrix = random.chance(20);
  form.added = random.below(4);
  form.stages = random.between(1, 4);
  BoxedProduct<E, R> kernel{form};
  Target gpu = ofWarps             ? withMmaSync(random)
               : random.chance(50) ? Target::sm_100a()
                                   : Target::sm_90a();
  bool tiny = random.chance(30);
  return runOnTargets(
      kernel, gpu, tiny, random, counters,
      [&](const auto &compiled, const LaunchOptions &timing, bool) {
        return launch<E, R>(form, compiled, derive(seed, 3), timing, tiny);
      },
      imposed);
}

} // namespace

CaseResult penstock::fuzz::boxedOne(uint64_t seed, Counters &counters, const Preferences *imposed) {
  switch (seed % 4) {
  case 0:
    return compare<bf16, f32>(seed, counters, imposed);
  case 1:
    return compare<i8, i32>(seed, counters, imposed);
  case 2:
    return compare<f8e4m3, f32>(seed, counters, imposed);
  default:
    return compare<f16, f32>(seed, counters, imposed);
  }
}

int penstock::fuzz::runBoxed(const BatchOptions &options) {
  BatchResult result = runFamily(options, boxedOne);
  Counters &c = result.counters;
  return report(result, "--boxed", "products",
                {{"refused", c[Refused]}, {"compiled", c[Built]}, {"launches", c[Launched]}});
}
