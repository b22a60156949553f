//===- RoundedOnGpusTest.cpp - Quotients and roots of f32 in kernels ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels on the emulator, beside the host's division and square root. RoundedFormulasTest.cpp
// covers the sequences; these numbers take all paths of each.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace penstock;

namespace {

constexpr f32 infinite = std::numeric_limits<f32>::infinity();

/// All pairs of these numbers: every 8th power of two with its neighbors, and special numbers.
struct Pairs {
  std::vector<f32> a, b;

  Pairs() {
    std::vector<f32> values = {0, infinite, NAN, 1, 3, 0x1.fffffep+0f, 0x1.fffffep+127f, 0x1p-149f};
    for (int exponent = -149; exponent < 128; exponent += 8) {
      f32 power = std::ldexp(1.0f, exponent);
      values.insert(values.end(), {power, power * 1.75f, std::nextafter(power, infinite)});
    }
    size_t positive = values.size();
    for (size_t i = 0; i < positive; ++i)
      values.push_back(-values[i]);
    for (f32 x : values)
      for (f32 y : values) {
        a.push_back(x);
        b.push_back(y);
      }
  }
};

const Pairs &pairs() {
  static const Pairs all;
  return all;
}

template <class Function> std::vector<f32> run(Function function) {
  constexpr int block = 256;
  auto kernel = compile(
      [=](Block &b, In<f32, 1> X, In<f32, 1> Y, Out<f32, 1> Z) {
        Index at = b.grid(ceil_div(X.size(0), block)) * block;
        auto x = b.local<f32>(block), y = b.local<f32>(block);
        b.copy(X.at(at), x);
        b.copy(Y.at(at), y);
        b.set(x, function(x, y));
        b.copy(x, Z.at(at));
      },
      Target::sm_90a().emulated());
  std::vector<f32> x = pairs().a, y = pairs().b, z(x.size());
  auto size = static_cast<int64_t>(x.size());
  kernel(view(x, {size}), view(y, {size}), view(z, {size}));
  return z;
}

template <class Device, class Host> void expectEqual(Device onDevice, Host onHost) {
  std::vector<f32> z = run(onDevice);
  int wrong = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    f32 a = pairs().a[i], b = pairs().b[i], expected = onHost(a, b);
    bool same = std::isnan(expected)
                    ? std::isnan(z[i])
                    : z[i] == expected && std::signbit(z[i]) == std::signbit(expected);
    EXPECT_TRUE(same || ++wrong > 5)
        << std::hexfloat << "of " << a << " and " << b << ": " << z[i] << ", expected " << expected;
  }
}

TEST(RoundedOnGpus, Quotients) {
  expectEqual([](auto &x, auto &y) { return x / y; }, [](f32 a, f32 b) { return a / b; });
}

TEST(RoundedOnGpus, Reciprocals) {
  expectEqual([](auto &, auto &y) { return 1.0f / y; }, [](f32, f32 b) { return 1 / b; });
}

// Divisors of each kind: with a reciprocal that is rounded, that is exact, and that is subnormal.
TEST(RoundedOnGpus, ConstantDivisors) {
  expectEqual([](auto &x, auto &) { return x / 3.0f; }, [](f32 a, f32) { return a / 3; });
  expectEqual([](auto &x, auto &) { return x / -0x1p-20f; },
              [](f32 a, f32) { return a / -0x1p-20f; });
  expectEqual([](auto &x, auto &) { return x / 0x1.8p+127f; },
              [](f32 a, f32) { return a / 0x1.8p+127f; });
}

TEST(RoundedOnGpus, Roots) {
  expectEqual([](auto &x, auto &) { return sqrt(x); }, [](f32 a, f32) { return std::sqrt(a); });
}

// All f16, so that results are subnormal, too.
TEST(RoundedOnGpus, Halves) {
  constexpr int block = 1024;
  auto kernel = compile(
      [=](Block &b, In<f16, 1> X, Out<f16, 1> Thirds, Out<f16, 1> Roots) {
        Index at = b.grid(ceil_div(X.size(0), block)) * block;
        auto x = b.local<f16>(block), y = b.local<f16>(block);
        b.copy(X.at(at), x);
        b.set(y, x / 3);
        b.copy(y, Thirds.at(at));
        b.set(y, sqrt(x));
        b.copy(y, Roots.at(at));
      },
      Target::sm_90a().emulated());
  std::vector<f16> x, thirds(1 << 16), roots(1 << 16);
  for (uint32_t i = 0; i < 1 << 16; ++i)
    x.push_back(detail::bits<f16>(static_cast<uint16_t>(i)));
  kernel(view(x, {1 << 16}), view(thirds, {1 << 16}), view(roots, {1 << 16}));
  auto expectSame = [](f16 value, double exact, f16 of) {
    f32 result(value), expected(f16(static_cast<f32>(exact)));
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(result) : result == expected)
        << "of " << f32(of) << ": " << result << ", expected " << expected;
  };
  for (size_t i = 0; i < x.size(); ++i) {
    expectSame(thirds[i], f32(x[i]) / 3.0, x[i]);
    expectSame(roots[i], std::sqrt(static_cast<double>(f32(x[i]))), x[i]);
  }
}

} // namespace
