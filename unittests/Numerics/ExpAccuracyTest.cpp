//===- ExpAccuracyTest.cpp - Mathematical functions against libm ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of f32 in native code, beside the C library's in double precision.
// The sweep has floats of every exponent and sign, subnormal numbers, zeros,
// infinities and NaN, and is dense where functions change. Bounds are in units
// in the last place of the exact result; docs/reference/numerics.md states them.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <gtest/gtest.h>

#include <cmath>

using namespace penstock;

namespace {

const std::vector<f32> &sweep() {
  static const std::vector<f32> values = [] {
    std::vector<f32> x;
    // Every 4099th pattern of bits: about a million, 2046 for each exponent.
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 4099)
      x.push_back(detail::bits<f32>(static_cast<uint32_t>(bits)));
    for (int i = -400000; i <= 400000; ++i) // where exp and tanh do not saturate
      x.push_back(static_cast<f32>(i) * 4e-4f);
    for (int i = -200000; i <= 200000; ++i) // tanh and erf bend here
      x.push_back(static_cast<f32>(i) * 2e-5f);
    for (int i = -50000; i <= 50000; ++i) // log is near zero around one
      x.push_back(1 + static_cast<f32>(i) * 0x1p-23f);
    for (uint32_t bits = 0; bits < 1000; ++bits) // the smallest subnormal numbers
      for (uint32_t sign : {0u, 0x80000000u})
        x.push_back(detail::bits<f32>(sign | bits));
    for (f32 edge : {INFINITY, 88.72283f, 87.33655f, 103.97208f, 104.0f, 127.99999f, 128.0f, 126.0f,
                     149.0f, 149.5f, 150.0f})
      for (f32 near : {std::nextafter(edge, 0.0f), edge, std::nextafter(edge, INFINITY)})
        x.insert(x.end(), {near, -near});
    x.push_back(NAN);
    return x;
  }();
  return values;
}

double unitInLastPlace(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Some of them, for emulated GPUs.
const std::vector<f32> &shortSweep() {
  static const std::vector<f32> values = [] {
    std::vector<f32> x;
    for (size_t i = 0; i < sweep().size(); i += 31)
      x.push_back(sweep()[i]);
    for (f32 edge : {0.5625f, 1.0f, 4.0f, INFINITY, 0.0f})
      for (f32 near : {std::nextafter(edge, 0.0f), edge, std::nextafter(edge, INFINITY)})
        x.insert(x.end(), {near, -near});
    x.push_back(NAN);
    return x;
  }();
  return values;
}

template <class Function>
std::vector<f32> run(Function function, const std::vector<f32> &x, Target target) {
  constexpr int block = 4096;
  auto kernel = compile(
      [=](Block &b, In<f32, 1> X, Out<f32, 1> Y) {
        Index at = b.grid(ceil_div(X.size(0), block)) * block;
        auto x = b.local<f32>(block);
        b.copy(X.at(at), x);
        b.set(x, function(x));
        b.copy(x, Y.at(at));
      },
      target);
  int64_t n = static_cast<int64_t>(x.size());
  std::vector<f32> y(x.size());
  kernel(view(x, {n}), view(y, {n}));
  return y;
}

/// Where the exact result is no number, or rounds to an infinity, so must be
/// ours; zeros must have the right sign.
template <class Function>
void expectWithin(double bound, Function function, double (*exact)(double),
                  Target target = Target::native()) {
  const std::vector<f32> &x = target.kind == Target::Kind::Native ? sweep() : shortSweep();
  std::vector<f32> y = run(function, x, target);
  double worst = 0;
  f32 worstAt = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double want = exact(x[i]);
    if (std::isnan(want) || std::isinf(static_cast<f32>(want))) {
      ASSERT_TRUE(std::isnan(want) ? std::isnan(y[i]) : y[i] == static_cast<f32>(want))
          << "at " << x[i] << ": " << y[i] << " instead of " << want;
      continue;
    }
    ASSERT_EQ(std::signbit(want), std::signbit(y[i])) << "at " << x[i] << ": " << y[i];
    double error = std::fabs(y[i] - want) / unitInLastPlace(want);
    if (!(error <= worst)) { // NaN too
      worst = error;
      worstAt = x[i];
    }
  }
  EXPECT_LE(worst, bound) << "at " << worstAt;
  testing::Test::RecordProperty("worst_ulp", std::to_string(worst));
  std::printf("  largest error %.3f units in the last place, at %.9g\n", worst, worstAt);
}

} // namespace

TEST(ExpAccuracy, Exp) {
  expectWithin(1, [](auto x) { return exp(x); }, std::exp);
}
TEST(ExpAccuracy, Exp2) {
  expectWithin(1, [](auto x) { return exp2(x); }, std::exp2);
}
TEST(ExpAccuracy, Log) {
  expectWithin(1, [](auto x) { return log(x); }, std::log);
}
TEST(ExpAccuracy, Log2) {
  expectWithin(1, [](auto x) { return log2(x); }, std::log2);
}
TEST(ExpAccuracy, Tanh) {
  expectWithin(2, [](auto x) { return tanh(x); }, std::tanh);
}
TEST(ExpAccuracy, Erf) {
  expectWithin(1.5, [](auto x) { return erf(x); }, std::erf);
}
// Correctly rounded; the inverse is two operations.
TEST(ExpAccuracy, Sqrt) {
  expectWithin(0.5, [](auto x) { return sqrt(x); }, std::sqrt);
}
TEST(ExpAccuracy, Rsqrt) {
  expectWithin(1.5, [](auto x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); });
}

// Two ULP of the power of 2 make most of it: the emulator's is exact, and the errors
// seen here are less than the bounds by that.
TEST(ExpAccuracy, ErfOnGpus) {
  expectWithin(1.5, [](auto x) { return erf(x); }, std::erf, Target::sm_90a().emulated());
}
TEST(ExpAccuracy, TanhOnGpus) {
  expectWithin(2, [](auto x) { return tanh(x); }, std::tanh, Target::sm_90a().emulated());
}
