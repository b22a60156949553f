//===- UserRowsTest.cpp - Users' kernels over rows and elements -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "UserKernels.h"

using namespace user;

namespace {

struct Axpy {
  int block = 1024;
  void operator()(Block &b, Scalar<f32> factor, In<f32, 1> x, InOut<f32, 1> y) const {
    Index first = b.grid(ceil_div(x.size(0), block)) * block;
    auto from = b.local<f32>(block), to = b.local<f32>(block);
    b.copy(x.at(first), from);
    b.copy(y.at(first), to);
    b.set(to, factor * from + to);
    b.copy(to, y.at(first));
  }
};

TEST(UserRows, Axpy) {
  const int64_t n = 5003;
  auto x = numbers<float>(n, 1), y = numbers<float>(n, 2);
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i)
    expected.push_back(2.5 * x[i] + y[i]);
  expectEverywhere(Axpy{}, expected, 1e-6, [&](auto &kernel) {
    auto result = y;
    kernel(2.5f, view(x, {n}), view(result, {n}));
    return result;
  });
}

/// Rows that are longer than a tile.
struct RowSums {
  int rows = 8, cols = 512;
  void operator()(Block &b, In<f32, 2> x, Out<f32, 1> y) const {
    Index first = b.grid(ceil_div(x.size(0), rows)) * rows;
    auto part = b.local<f32>(rows, cols);
    auto sums = b.local<f32>(rows);
    b.fill(sums, 0);
    for (Index c : b.range(0, x.size(1), cols)) {
      b.copy(x.at(first, c), part);
      b.reduce(Sum, part, 1, sums, {.accumulate = true});
    }
    b.copy(sums, y.at(first));
  }
};

TEST(UserRows, Sums) {
  const int64_t R = 37, C = 3001;
  auto x = numbers<float>(R * C, 3);
  std::vector<double> expected(R);
  for (int64_t i = 0; i < R * C; ++i)
    expected[size_t(i / C)] += x[size_t(i)];
  expectEverywhere(RowSums{}, expected, 1e-4, [&](auto &kernel) {
    std::vector<float> y(R);
    kernel(view(x, {R, C}), view(y, {R}));
    return y;
  });
}

struct Transposition {
  int size = 64;
  void operator()(Block &b, In<f16, 2> x, Out<f16, 2> y) const {
    auto [i, j] = b.grid(ceil_div(x.size(0), size), ceil_div(x.size(1), size));
    auto tile = b.shared<f16>(size, size);
    b.copy(x.at(i * size, j * size), tile);
    b.copy(transposed(tile), y.at(j * size, i * size));
  }
};

TEST(UserRows, Transposition) {
  const int64_t M = 200, N = 313;
  auto x = numbers<f16>(M * N, 4);
  std::vector<double> expected(M * N);
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j)
      expected[size_t(j * M + i)] = number(x[size_t(i * N + j)]);
  expectEverywhere(Transposition{}, expected, 0, [&](auto &kernel) {
    std::vector<f16> y(M * N);
    kernel(view(x, {M, N}), view(y, {N, M}));
    return y;
  });
}

/// Softmax of long rows: maxima and sums in one pass, results in a second one.
struct LongSoftmax {
  int rows = 4, cols = 1024;
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    Index first = b.grid(ceil_div(x.size(0), rows)) * rows;
    auto t = b.local<f32>(rows, cols);
    auto top = b.local<f32>(rows), before = b.local<f32>(rows);
    auto sum = b.local<f32>(rows), part = b.local<f32>(rows);
    b.fill(top, -infinity);
    b.fill(sum, 0);
    for (Index c : b.range(0, x.size(1), cols)) {
      b.copy(x.at(first, c), t, {.fill = -infinity});
      b.copy(top, before);
      b.reduce(Max, t, 1, top, {.accumulate = true});
      b.set(t, exp(t - broadcast_rows(top)));
      b.reduce(Sum, t, 1, part);
      b.set(sum, sum * exp(before - top) + part);
    }
    for (Index c : b.range(0, x.size(1), cols)) {
      b.copy(x.at(first, c), t, {.fill = -infinity});
      b.set(t, exp(t - broadcast_rows(top)) / broadcast_rows(sum));
      b.copy(t, y.at(first, c));
    }
  }
};

TEST(UserRows, LongSoftmax) {
  const int64_t R = 10, C = 5003;
  auto x = numbers<float>(R * C, 5);
  for (float &value : x)
    value *= 10;
  std::vector<double> expected;
  for (int64_t r = 0; r < R; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < C; ++c)
      sum += std::exp(double(x[size_t(r * C + c)]));
    for (int64_t c = 0; c < C; ++c)
      expected.push_back(std::exp(double(x[size_t(r * C + c)])) / sum);
  }
  expectEverywhere(LongSoftmax{}, expected, 1e-6, [&](auto &kernel) {
    std::vector<float> y(R * C);
    kernel(view(x, {R, C}), view(y, {R, C}));
    return y;
  });
}

/// Layer norm of the sum of two tensors, which is a result as well.
struct ResidualNorm {
  int rows = 4, cols = 512;
  float epsilon = 1e-5f;
  void operator()(Block &b, In<f16, 2> x, In<f16, 2> residual, In<f32, 1> gain, In<f32, 1> bias,
                  Out<f16, 2> sums, Out<f16, 2> y) const {
    auto [R, C] = x.sizes();
    Index first = b.grid(ceil_div(R, rows)) * rows;
    auto a = b.local<f32>(rows, cols), c = b.local<f32>(rows, cols);
    auto g = b.local<f32>(cols), h = b.local<f32>(cols);
    auto mean = b.local<f32>(rows), scale = b.local<f32>(rows);
    auto add = [&](Index at) {
      b.copy(x.at(first, at), a);
      b.copy(residual.at(first, at), c);
      b.set(a, a + c);
    };
    b.fill(mean, 0);
    b.fill(scale, 0);
    for (Index at : b.range(0, C, cols)) {
      add(at);
      b.reduce(Sum, a, 1, mean, {.accumulate = true});
      b.copy(a, sums.at(first, at));
    }
    b.set(mean, mean / cast<f32>(C));
    for (Index at : b.range(0, C, cols)) {
      add(at);
      b.set(a, where(col(a) + at < C, a - broadcast_rows(mean), 0));
      b.set(a, a * a);
      b.reduce(Sum, a, 1, scale, {.accumulate = true});
    }
    b.set(scale, rsqrt(scale / cast<f32>(C) + epsilon));
    for (Index at : b.range(0, C, cols)) {
      add(at);
      b.copy(gain.at(at), g);
      b.copy(bias.at(at), h);
      b.set(a, (a - broadcast_rows(mean)) * broadcast_rows(scale) * broadcast_cols(g) +
                   broadcast_cols(h));
      b.copy(a, y.at(first, at));
    }
  }
};

TEST(UserRows, ResidualNorm) {
  const int64_t R = 9, C = 1100;
  auto x = numbers<f16>(R * C, 6), residual = numbers<f16>(R * C, 7);
  auto gain = numbers<float>(C, 8), bias = numbers<float>(C, 9);
  std::vector<double> expected;
  for (int64_t r = 0; r < R; ++r) {
    std::vector<double> sums;
    double mean = 0, variance = 0;
    for (int64_t i = r * C; i < (r + 1) * C; ++i)
      sums.push_back(number(x[size_t(i)]) + number(residual[size_t(i)]));
    for (double sum : sums)
      mean += sum / double(C);
    for (double sum : sums)
      variance += (sum - mean) * (sum - mean) / double(C);
    for (size_t c = 0; c < sums.size(); ++c)
      expected.push_back((sums[c] - mean) / std::sqrt(variance + 1e-5) * gain[c] + bias[c]);
  }
  expectEverywhere(ResidualNorm{}, expected, 4e-3, [&](auto &kernel) {
    std::vector<f16> sums(R * C), y(R * C);
    kernel(view(x, {R, C}), view(residual, {R, C}), view(gain, {C}), view(bias, {C}),
           view(sums, {R, C}), view(y, {R, C}));
    for (size_t i = 0; i < sums.size(); ++i)
      EXPECT_EQ(number(sums[i]), number(x[i]) + number(residual[i]));
    return y;
  });
}

/// Rotates pairs of elements by angles that a tensor of positions selects.
struct Rotation {
  int tokens = 32, half = 64;
  void operator()(Block &b, In<f16, 3> x, In<f32, 2> cosine, In<f32, 2> sine, In<i32, 1> at,
                  Out<f16, 3> y) const {
    auto [T, H, D] = x.sizes();
    b.require(D == 2 * half, "the size of a head");
    auto [block, head] = b.grid(ceil_div(T, tokens), H);
    Index first = block * tokens;
    auto tile = [&] { return b.local<f32>(tokens, half); };
    auto low = tile(), high = tile(), c = tile(), s = tile(), out = tile();
    auto positions = b.local<i32>(tokens);
    b.copy(at.at(first), positions);
    b.copy(x.at(first, head, 0).dims(0, 2), low);
    b.copy(x.at(first, head, half).dims(0, 2), high);
    b.set(c, cosine.gather(cast<index_t>(broadcast_rows(positions)), col(c)));
    b.set(s, sine.gather(cast<index_t>(broadcast_rows(positions)), col(s)));
    b.set(out, low * c - high * s);
    b.copy(out, y.at(first, head, 0).dims(0, 2));
    b.set(out, high * c + low * s);
    b.copy(out, y.at(first, head, half).dims(0, 2));
  }
};

TEST(UserRows, Rotation) {
  const int64_t T = 45, H = 3, D = 128, S = 100, E = 64;
  auto x = numbers<f16>(T * H * D, 10);
  auto cosine = numbers<float>(S * E, 11), sine = numbers<float>(S * E, 12);
  std::vector<int32_t> at;
  for (int t = 0; t < T; ++t)
    at.push_back(int32_t(t * 37 % S));
  std::vector<double> expected(T * H * D);
  for (int64_t i = 0; i < T * H; ++i)
    for (int64_t e = 0; e < E; ++e) {
      double low = number(x[size_t(i * D + e)]), high = number(x[size_t(i * D + E + e)]);
      size_t angle = size_t(at[size_t(i / H)] * E + e);
      expected[size_t(i * D + e)] = low * cosine[angle] - high * sine[angle];
      expected[size_t(i * D + E + e)] = high * cosine[angle] + low * sine[angle];
    }
  expectEverywhere(Rotation{}, expected, 2e-3, [&](auto &kernel) {
    std::vector<f16> y(T * H * D);
    kernel(view(x, {T, H, D}), view(cosine, {S, E}), view(sine, {S, E}), view(at, {T}),
           view(y, {T, H, D}));
    return y;
  });
}

/// The first largest element of each row.
struct LargestAt {
  int rows = 4, cols = 512;
  void operator()(Block &b, In<f32, 2> x, Out<i32, 1> at) const {
    auto [R, C] = x.sizes();
    Index first = b.grid(ceil_div(R, rows)) * rows;
    auto t = b.local<f32>(rows, cols);
    auto candidates = b.local<i32>(rows, cols);
    auto top = b.local<f32>(rows), best = b.local<f32>(rows);
    auto here = b.local<i32>(rows), found = b.local<i32>(rows);
    b.fill(best, -infinity);
    b.fill(found, 0);
    for (Index c : b.range(0, C, cols)) {
      b.copy(x.at(first, c), t, {.fill = -infinity});
      b.reduce(Max, t, 1, top);
      b.set(candidates, where(t == broadcast_rows(top), cast<i32>(col(t) + c), 1 << 30));
      b.reduce(Min, candidates, 1, here);
      b.set(found, where(top > best, here, found));
      b.set(best, max(top, best));
    }
    b.copy(found, at.at(first));
  }
};

TEST(UserRows, LargestAt) {
  const int64_t R = 11, C = 3000;
  auto x = numbers<float>(R * C, 13);
  std::vector<double> expected;
  for (int64_t r = 0; r < R; ++r)
    expected.push_back(
        double(std::max_element(&x[size_t(r * C)], &x[size_t(r * C)] + C) - &x[size_t(r * C)]));
  expectEverywhere(LargestAt{}, expected, 0, [&](auto &kernel) {
    std::vector<int32_t> at(R);
    kernel(view(x, {R, C}), view(at, {R}));
    return at;
  });
}

/// A 3 x 3 filter for each channel; channels are the last dimension.
struct Depthwise {
  int across = 16, channels = 64;
  void operator()(Block &b, In<f16, 4> x, In<f16, 2> filter, In<f32, 1> bias, Out<f16, 4> y) const {
    auto [N, H, W, C] = x.sizes();
    auto parts = ceil_div(C, channels);
    auto [column, line, rest] = b.grid(ceil_div(W, across), H, N * parts);
    Index image = rest / parts, c = rest % parts * channels, left = column * across;
    auto t = b.local<f32>(across, channels), sum = b.local<f32>(across, channels);
    auto f = b.local<f32>(channels);
    b.copy(bias.at(c), f);
    b.set(sum, broadcast_cols(f));
    for (int tap = 0; tap < 9; ++tap) {
      b.copy(x.at(image, line + (tap / 3 - 1), left + (tap % 3 - 1), c), t);
      b.copy(filter.at(tap, c), f);
      b.set(sum, sum + t * broadcast_cols(f));
    }
    b.copy(sum, y.at(image, line, left, c));
  }
};

TEST(UserRows, Depthwise) {
  const int64_t N = 2, H = 9, W = 21, C = 72;
  auto x = numbers<f16>(N * H * W * C, 14), filter = numbers<f16>(9 * C, 15);
  auto bias = numbers<float>(C, 16);
  std::vector<double> expected;
  for (int64_t i = 0; i < N * H * W * C; ++i) {
    int64_t c = i % C, column = i / C % W, line = i / C / W % H, image = i / C / W / H;
    double sum = bias[size_t(c)];
    for (int64_t tap = 0; tap < 9; ++tap) {
      int64_t from = line + tap / 3 - 1, left = column + tap % 3 - 1;
      if (from >= 0 && from < H && left >= 0 && left < W)
        sum += number(x[size_t(((image * H + from) * W + left) * C + c)]) *
               number(filter[size_t(tap * C + c)]);
    }
    expected.push_back(sum);
  }
  expectEverywhere(Depthwise{}, expected, 4e-3, [&](auto &kernel) {
    std::vector<f16> y(N * H * W * C);
    kernel(view(x, {N, H, W, C}), view(filter, {9, C}), view(bias, {C}), view(y, {N, H, W, C}));
    return y;
  });
}

} // namespace
