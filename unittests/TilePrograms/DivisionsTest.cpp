//===- DivisionsTest.cpp - Divisions by launch constants ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks multiply by reciprocals, in 32 bits or 64 bits, with signs or without: by what the
// compiler proves about the dividend. Each form is compared with C++, near all powers of two, near
// multiples of the divisor and for random numbers.
//
//===----------------------------------------------------------------------===//
#include "penstock/penstock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

using namespace penstock;

namespace {

constexpr int64_t least = std::numeric_limits<int64_t>::min(), most = ~least;
constexpr int64_t mostInWord = std::numeric_limits<int32_t>::max();

std::vector<Target> everyTarget() {
  return {Target::interpreter(), Target::native(), Target::sm_80().emulated(),
          Target::sm_90a().emulated(), Target::sm_100a().emulated()};
}

//===----------------------------------------------------------------------===//
// Scalars, and faults
//===----------------------------------------------------------------------===//

template <bool fast> struct Divide {
  void operator()(Block &b, Index n, Index d, Out<i64, 1> y) const {
    b.grid(1);
    auto [quotient, remainder] = fast ? fast_divmod(n, d) : DivMod{n / d, n % d};
    b.store(y.at(0), cast<i64>(quotient));
    b.store(y.at(1), cast<i64>(remainder));
  }
};

template <bool fast> void dividesAsTheOperators() {
  for (const Target &target : everyTarget()) {
    SCOPED_TRACE(int(target.kind));
    auto divide = compile(Divide<fast>{}, target);
    for (int64_t n : {int64_t(0), int64_t(7), int64_t(-7), int64_t(1) << 31, (int64_t(1) << 31) - 1,
                      -(int64_t(1) << 31), least, least + 1, most})
      for (int64_t d : {int64_t(1), int64_t(3), int64_t(-1), int64_t(-3), int64_t(1) << 31,
                        (int64_t(1) << 31) - 1, least, most, int64_t(0)}) {
        std::vector<int64_t> y(2, 99);
        auto faults = divide.try_launch({}, n, d, view(y, {2}));
        bool defined = d != 0 && !(n == least && d == -1);
        EXPECT_EQ(faults.empty(), defined) << n << " / " << d << "\n" << to_text(faults);
        if (fast && !defined) // otherwise one for each operator, where a block continues
          ASSERT_EQ(faults.size(), 1u) << to_text(faults);
        for (const Diagnostic &fault : faults)
          EXPECT_EQ(fault.code, 1403u);
        EXPECT_EQ(y[0], defined ? n / d : 0) << n << " / " << d;
        EXPECT_EQ(y[1], defined ? n % d : 0) << n << " % " << d;
      }
  }
}

TEST(Divisions, FastDivmodDividesAsTheOperators) { dividesAsTheOperators<true>(); }
TEST(Divisions, OperatorsReportFaults) { dividesAsTheOperators<false>(); }

//===----------------------------------------------------------------------===//
// Dividends of which the compiler knows more or less
//===----------------------------------------------------------------------===//

constexpr int64_t perLaunch = 1024;

enum class Known { Word, Natural, Nothing };

/// A divisor of at least 0 for dividends of at least 0: otherwise, the division has signs.
template <Known known> struct DivideAll {
  void operator()(Block &b, In<i64, 1> N, Index divisor, Out<i64, 2> Y) const {
    b.grid(1);
    Index d = known == Known::Nothing ? divisor : max(divisor, 0);
    b.parallel(perLaunch, [&](Index i) {
      Scalar<i64> number = N.load(i);
      Index n = known == Known::Word
                    ? Index(number & mostInWord)
                    : (known == Known::Natural ? max(Index(number), 0) : Index(number));
      auto [quotient, remainder] = fast_divmod(n, d);
      b.store(Y.at(i, 0), cast<i64>(quotient));
      b.store(Y.at(i, 1), cast<i64>(remainder));
      b.store(Y.at(i, 2), cast<i64>(n / d));
      b.store(Y.at(i, 3), cast<i64>(n % d));
    });
  }
};

class Numbers {
public:
  /// Numbers of all sizes, with either sign.
  int64_t any() {
    int64_t magnitude = int64_t(random() >> 1 >> random() % 63);
    return random() & 1 ? magnitude : -magnitude - 1;
  }
  static std::set<int64_t> nearPowersOfTwo() {
    std::set<int64_t> result;
    for (int bit = 0; bit < 64; ++bit)
      for (int64_t offset : {-2, -1, 0, 1, 2}) {
        auto value = int64_t((uint64_t(1) << bit) + uint64_t(offset));
        result.insert({value, int64_t(-uint64_t(value))});
      }
    return result;
  }
  std::vector<int64_t> dividends(int64_t divisor) {
    std::set<int64_t> result = nearPowersOfTwo();
    for (uint64_t i = 0; result.size() + 4 <= perLaunch; ++i) {
      uint64_t multiple = uint64_t(divisor) * (i < 20 ? i : random() >> random() % 64);
      result.insert({int64_t(multiple - 1), int64_t(multiple), int64_t(multiple + 1), any()});
    }
    std::vector<int64_t> list(result.begin(), result.end());
    list.resize(perLaunch);
    return list;
  }

private:
  std::mt19937_64 random{1};
};

template <Known known> void dividesAll() {
  Numbers numbers;
  std::set<int64_t> divisors = Numbers::nearPowersOfTwo();
  for (int i = 0; i < 100; ++i)
    divisors.insert(numbers.any());
  for (const Target &target : everyTarget()) {
    SCOPED_TRACE(int(target.kind));
    bool thorough = target.kind == Target::sm_90a().kind;
    auto divide = compile(DivideAll<known>{}, target);
    int count = 0;
    for (int64_t d : divisors) {
      if (d == 0 || (known != Known::Nothing && d < 0) || (++count % 20 && !thorough))
        continue;
      std::vector<int64_t> all = numbers.dividends(d), y(perLaunch * 4);
      for (int64_t &n : all)
        n = known == Known::Word      ? n & mostInWord
            : known == Known::Natural ? std::max<int64_t>(n, 0)
            : n == least && d == -1   ? 0
                                      : n;
      auto faults = divide.try_launch({}, view(all, {perLaunch}), d, view(y, {perLaunch, 4}));
      ASSERT_TRUE(faults.empty()) << to_text(faults);
      for (size_t i = 0; i < all.size(); ++i)
        for (size_t j = 0; j < 4; ++j)
          ASSERT_EQ(y[4 * i + j], j % 2 ? all[i] % d : all[i] / d)
              << all[i] << (j % 2 ? " % " : " / ") << d << (j < 2 ? " by fast_divmod" : "");
    }
  }
}

TEST(Divisions, OfWords) { dividesAll<Known::Word>(); }
TEST(Divisions, OfNumbersFromZero) { dividesAll<Known::Natural>(); }
TEST(Divisions, OfAllNumbers) { dividesAll<Known::Nothing>(); }

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

/// Blocks of the emulator start in the order of their numbers: each draws its own.
template <int group> struct Swizzled {
  void operator()(Block &b, InOut<i32, 1> next, Out<i32, 2> Y) const {
    auto [row, column] = b.grid(Y.size(0), Y.size(1), swizzled(group));
    b.parallel(1, [&](Index) { b.store(Y.at(row, column), b.atomic(Add, next.at(0), 1)); });
  }
};

template <int group> void numbersBlocks() {
  for (const Target &target : {Target::sm_90a().emulated(), Target::sm_100a().emulated()}) {
    auto kernel = compile(Swizzled<group>{}, target);
    for (auto [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {1, 7}, {7, 1}, {5, 9}, {16, 64}, {3, 261}, {261, 3}, {47, 49}}) {
      std::vector<int32_t> next(1), y(size_t(rows * columns), -1);
      kernel(view(next, {1}), view(y, {rows, columns}));
      int32_t number = 0; // groups of columns, each row by row
      for (int64_t first = 0; first < columns; first += group)
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t column = first; column < std::min<int64_t>(first + group, columns); ++column)
            ASSERT_EQ(y[size_t(row * columns + column)], number++)
                << rows << " x " << columns << ", block (" << row << ", " << column << ")";
    }
  }
}

TEST(Divisions, OfSwizzledGrids) {
  numbersBlocks<1>();
  numbersBlocks<2>();
  numbersBlocks<7>();
  numbersBlocks<8>();
  numbersBlocks<1 << 20>();
}

} // namespace
