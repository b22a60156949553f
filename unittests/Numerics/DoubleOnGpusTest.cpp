//===- DoubleOnGpusTest.cpp - Functions of f64 on GPUs --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The polynomials of GPU kernels on the emulator, beside the C library's functions
// of long double, which has 64 bits. Bounds are in units in the last place of the
// exact result; docs/reference/numerics.md states them.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace penstock;

static_assert(std::numeric_limits<long double>::digits >= 64);

namespace {

constexpr f64 infinite = std::numeric_limits<f64>::infinity();

/// Numbers of every exponent and sign, with many bits; dense where functions change.
const std::vector<f64> &sweep() {
  static const std::vector<f64> values = [] {
    std::vector<f64> x = {0.0, -0.0, NAN, infinite, -infinite};
    uint64_t state = 1;
    auto bits = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
    for (uint64_t exponent = 0; exponent < 2047; ++exponent)
      for (int i = 0; i < 8; ++i) {
        uint64_t number = exponent << 52 | bits() >> 12;
        x.push_back(detail::bits<f64>(number | uint64_t(i & 1) << 63));
      }
    for (int i = -6000; i <= 6000; ++i)
      for (f64 step : {0x1.234567p-3, 0x1.89abcdp-8, 0x1.fedcbap-12})
        x.push_back(i * step);
    for (int i = -2000; i <= 2000; ++i) // log is near zero around one
      x.push_back(1 + i * 0x1p-52);
    for (int i = 1; i <= 2000; ++i) // close to multiples of pi/2
      for (f64 at : {i * 1.5707963267948966, i * 7853981633974.483})
        x.insert(x.end(), {at, -at});
    for (int i = -1074; i < 1024; ++i) // logarithms that are integers
      x.push_back(std::ldexp(1.0, i));
    for (f64 edge : {709.782712893384, 708.3964185322641, 744.4400719213812, 745.1332191019412,
                     1024.0, 1022.0, 1074.0, 1075.0, 0.55, 1.0, 6.0, 0x1p-1022})
      for (f64 near : {std::nextafter(edge, 0.0), edge, std::nextafter(edge, infinite)})
        x.insert(x.end(), {near, -near});
    return x;
  }();
  return values;
}

template <class Function> std::vector<f64> run(Function function) {
  constexpr int block = 256;
  auto kernel = compile(
      [=](Block &b, In<f64, 1> X, Out<f64, 1> Y) {
        Index at = b.grid(ceil_div(X.size(0), block)) * block;
        auto x = b.local<f64>(block);
        b.copy(X.at(at), x);
        b.set(x, function(x));
        b.copy(x, Y.at(at));
      },
      Target::sm_90a().emulated());
  std::vector<f64> x = sweep(), y(x.size());
  auto size = static_cast<int64_t>(x.size());
  kernel(view(x, {size}), view(y, {size}));
  return y;
}

long double unitInLastPlace(long double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0L, std::max(exponent - 53, -1074));
}

template <class Function>
void expectWithin(Function onDevice, long double (*exact)(long double), double bound,
                  f64 limit = infinite) {
  std::vector<f64> y = run(onDevice);
  double worst = 0;
  int wrong = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    f64 x = sweep()[i];
    if (std::fabs(x) > limit && !std::isinf(x))
      continue;
    long double expected = exact(x);
    auto rounded = static_cast<f64>(expected);
    if (std::isnan(expected) || std::isinf(rounded) || rounded == 0) {
      bool same = std::isnan(rounded) ? std::isnan(y[i]) : y[i] == rounded;
      // The sign of zero counts where the exact result is zero.
      if (expected == 0)
        same &= std::signbit(y[i]) == std::signbit(rounded);
      // Half of the smallest number may round to it.
      if (rounded == 0 && expected != 0)
        same = std::fabs(y[i]) <= std::numeric_limits<f64>::denorm_min();
      EXPECT_TRUE(same || ++wrong > 5) << "of " << x << ": " << y[i] << ", expected " << rounded;
      continue;
    }
    auto error = static_cast<double>(std::fabs(y[i] - expected) / unitInLastPlace(expected));
    EXPECT_TRUE(error <= bound || ++wrong > 5)
        << "of " << x << ": " << y[i] << ", expected " << rounded << ", " << error << " ULP";
    worst = std::max(worst, error);
  }
  std::printf("largest error: %.2f ULP\n", worst);
}

#define WITHIN(NAME, FUNCTION, EXACT, ...)                                                         \
  TEST(DoubleOnGpus, NAME) {                                                                       \
    expectWithin([](auto &x) { return FUNCTION(x); }, [](long double x) { return EXACT(x); },      \
                 __VA_ARGS__);                                                                     \
  }

WITHIN(Exp, exp, std::exp, 1)
WITHIN(Exp2, exp2, std::exp2, 1)
WITHIN(Log, log, std::log, 1)
WITHIN(Log2, log2, std::log2, 1)
WITHIN(Tanh, tanh, std::tanh, 1.5)
WITHIN(Erf, erf, std::erf, 1.5)
WITHIN(Sin, sin, std::sin, 1.5, 0x1p40)
WITHIN(Cos, cos, std::cos, 1.5, 0x1p40)
WITHIN(Sqrt, sqrt, std::sqrt, 0.5)
WITHIN(Rsqrt, rsqrt, 1 / std::sqrt, 1.5)

/// C's fmod is exact, however large the quotient is.
TEST(DoubleOnGpus, RemaindersAreExact) {
  auto kernel = compile(
      [](Block &b, In<f64, 1> X, In<f64, 1> Y, Out<f64, 1> Z) {
        Index at = b.grid(ceil_div(X.size(0), 256)) * 256;
        auto x = b.local<f64>(256), y = b.local<f64>(256);
        b.copy(X.at(at), x);
        b.copy(Y.at(at), y);
        b.set(x, x % y);
        b.copy(x, Z.at(at));
      },
      Target::sm_90a().emulated());
  std::vector<f64> x, y;
  const std::vector<f64> special = {0.0,         -0.0,      1.0,  -1.5,  infinite,
                                    -infinite,   NAN,       3.0,  1e308, 0x1p-1074,
                                    0x1.8p-1050, 0x1p-1022, -7.5, 2.0,   1e-300};
  for (f64 a : special)
    for (f64 c : special) {
      x.push_back(a);
      y.push_back(c);
    }
  for (size_t i = 0; i < 8000; ++i) {
    x.push_back(sweep()[i * 7]);
    y.push_back(sweep()[(i * 2654435761u) % sweep().size()]);
  }
  std::vector<f64> z(x.size());
  auto size = static_cast<int64_t>(x.size());
  kernel(view(x, {size}), view(y, {size}), view(z, {size}));
  for (size_t i = 0; i < x.size(); ++i) {
    f64 expected = std::fmod(x[i], y[i]);
    bool same = std::isnan(expected)
                    ? std::isnan(z[i])
                    : z[i] == expected && std::signbit(z[i]) == std::signbit(expected);
    ASSERT_TRUE(same) << x[i] << " % " << y[i] << " = " << z[i] << ", expected " << expected;
  }
}

} // namespace
