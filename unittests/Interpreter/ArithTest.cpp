//===- ArithTest.cpp - Integer arithmetic against plain C++ ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Harness.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace penstock;
using namespace penstock::test;

namespace {

/// All pairs of interesting values.
template <class T> void pairs(Tensor<T> &a, Tensor<T> &b) {
  std::vector<T> values = interesting<T>(), x, y;
  for (T left : values)
    for (T right : values) {
      x.push_back(left);
      y.push_back(right);
    }
  a = Tensor<T>::with(x);
  b = Tensor<T>::with(y);
}

template <class T>
void testInteger(const char *op, const std::function<std::optional<T>(T, T)> &expected,
                 bool faults = false) {
  SCOPED_TRACE(op);
  constexpr Element element = detail::ElementOf<T>::value;
  Tensor<T> A({0}), B({0});
  pairs(A, B);
  Tensor<T> C({A.length}, T(99));
  InterpretResult result = run(binaryText(op, element, element, mlirName(element)), {A, B, C});
  if (faults) {
    ASSERT_EQ(result.faults.size(), 1u) << summary(result);
    EXPECT_EQ(result.faults[0].code, FaultDivision);
    EXPECT_EQ(result.faults[0].location.line, 9u);
  } else {
    EXPECT_EQ(summary(result), "");
  }
  for (int64_t i = 0; i < A.length; ++i)
    ASSERT_EQ(int64_t(C(i)), int64_t(expected(A(i), B(i)).value_or(T(0))))
        << int64_t(A(i)) << ", " << int64_t(B(i));
}

template <class T> void testIntegers() {
  using U = std::make_unsigned_t<T>;
  using Wide = __int128;
  constexpr int width = sizeof(T) * 8;
  auto fits = [](Wide value) -> std::optional<T> {
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
      return std::nullopt;
    return T(value);
  };
  testInteger<T>("arith.addi", [](T a, T b) { return T(Wide(a) + b); });
  testInteger<T>("arith.subi", [](T a, T b) { return T(Wide(a) - b); });
  testInteger<T>("arith.muli", [](T a, T b) { return T(U((unsigned __int128)(a)*b)); });
  testInteger<T>("arith.andi", [](T a, T b) { return T(a & b); });
  testInteger<T>("arith.ori", [](T a, T b) { return T(a | b); });
  testInteger<T>("arith.xori", [](T a, T b) { return T(a ^ b); });
  testInteger<T>("arith.minsi", [](T a, T b) { return a < b ? a : b; });
  testInteger<T>("arith.maxsi", [](T a, T b) { return a < b ? b : a; });
  testInteger<T>("arith.minui", [](T a, T b) { return U(a) < U(b) ? a : b; });
  testInteger<T>("arith.maxui", [](T a, T b) { return U(a) < U(b) ? b : a; });
  testInteger<T>("arith.shli",
                 [](T a, T b) { return U(b) >= width ? T(0) : T(Wide(U(a)) << int(b)); });
  testInteger<T>("arith.shrui", [](T a, T b) { return U(b) >= width ? T(0) : T(U(a) >> int(b)); });
  testInteger<T>("arith.shrsi",
                 [](T a, T b) { return U(b) >= width ? T(a < 0 ? -1 : 0) : T(a >> int(b)); });
  // Where the result does not exist or does not fit, it is 0.
  auto divide = [&](auto function) {
    return [=](T a, T b) -> std::optional<T> {
      if (b == 0 || !fits(Wide(a) / b))
        return std::nullopt;
      return T(function(Wide(a), Wide(b)));
    };
  };
  testInteger<T>("arith.divsi", divide([](Wide a, Wide b) { return a / b; }), true);
  testInteger<T>("arith.remsi", divide([](Wide a, Wide b) { return a % b; }), true);
  testInteger<T>("arith.floordivsi", divide([](Wide a, Wide b) {
                   Wide q = a / b;
                   return q * b > a != b < 0 && q * b != a ? q - 1 : q;
                 }),
                 true);
  testInteger<T>("arith.ceildivsi", divide([](Wide a, Wide b) {
                   Wide q = a / b;
                   // The least q with q * b >= a, for positive b.
                   if (b < 0)
                     a = -a, b = -b;
                   return q * b < a ? q + 1 : q;
                 }),
                 true);
  testInteger<T>(
      "arith.divui",
      [](T a, T b) -> std::optional<T> { return b ? std::optional(T(U(a) / U(b))) : std::nullopt; },
      true);
  testInteger<T>(
      "arith.remui",
      [](T a, T b) -> std::optional<T> { return b ? std::optional(T(U(a) % U(b))) : std::nullopt; },
      true);
}

TEST(Arith, Integers8) { testIntegers<int8_t>(); }
TEST(Arith, Integers16) { testIntegers<int16_t>(); }
TEST(Arith, Integers32) { testIntegers<int32_t>(); }
TEST(Arith, Integers64) { testIntegers<int64_t>(); }

TEST(Arith, Booleans) {
  Tensor<bool> A({4}), B({4});
  for (int i = 0; i < 4; ++i) {
    A(i) = i & 1;
    B(i) = i & 2;
  }
  std::pair<const char *, bool (*)(bool, bool)> ops[] = {
      {"arith.andi", [](bool a, bool b) { return a && b; }},
      {"arith.ori", [](bool a, bool b) { return a || b; }},
      {"arith.xori", [](bool a, bool b) { return a != b; }},
      {"arith.addi", [](bool a, bool b) { return a != b; }},
      {"arith.muli", [](bool a, bool b) { return a && b; }},
      {"arith.maxui", [](bool a, bool b) { return a || b; }},
      // As a signed number, true is -1.
      {"arith.maxsi", [](bool a, bool b) { return a && b; }},
      {"arith.minsi", [](bool a, bool b) { return a || b; }},
  };
  for (auto [op, expected] : ops) {
    Tensor<bool> C({4});
    runClean(binaryText(op, Element::i1, Element::i1, "i1"), {A, B, C});
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(C(i), expected(A(i), B(i))) << op << i;
  }
}

template <class T> void testCompare() {
  using U = std::make_unsigned_t<T>;
  constexpr Element element = detail::ElementOf<T>::value;
  std::pair<const char *, bool (*)(T, T)> predicates[] = {{"eq", [](T a, T b) { return a == b; }},
                                                          {"ne", [](T a, T b) { return a != b; }},
                                                          {"slt", [](T a, T b) { return a < b; }},
                                                          {"sle", [](T a, T b) { return a <= b; }},
                                                          {"sgt", [](T a, T b) { return a > b; }},
                                                          {"sge", [](T a, T b) { return a >= b; }},
                                                          {"ult", [](T a, T b) { return U(a) < U(b); }},
                                                          {"ule", [](T a, T b) { return U(a) <= U(b); }},
                                                          {"ugt", [](T a, T b) { return U(a) > U(b); }},
                                                          {"uge", [](T a, T b) { return U(a) >= U(b); }}};
  Tensor<T> A({0}), B({0});
  pairs(A, B);
  for (auto [name, expected] : predicates) {
    Tensor<bool> C({A.length});
    runClean(binaryText(std::string("arith.cmpi ") + name + ",", element, Element::i1,
                        mlirName(element)),
             {A, B, C});
    for (int64_t i = 0; i < A.length; ++i)
      ASSERT_EQ(C(i), expected(A(i), B(i))) << name << " " << i;
  }
}

TEST(Arith, CompareIntegers) {
  testCompare<int8_t>();
  testCompare<int16_t>();
  testCompare<int32_t>();
  testCompare<int64_t>();
}

TEST(Arith, IndicesHave64Bits) {
  const char *text = R"(
func.func @index(%a: index, %b: index, %C: !g1i64) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = arith.addi %a, %b : index
  %product = arith.muli %a, %b : index
  %x = arith.index_cast %sum : index to i64
  %y = arith.index_cast %product : index to i64
  tile.store %x, %C[%c0] : i64, !g1i64
  tile.store %y, %C[%c1] : i64, !g1i64
  return
})";
  Tensor<i64> C({2});
  runClean(text, {index(INT64_MAX), index(3), C});
  EXPECT_EQ(C(0), INT64_MIN + 2);
  EXPECT_EQ(C(1), static_cast<int64_t>(uint64_t(INT64_MAX) * 3u));
}

} // namespace
