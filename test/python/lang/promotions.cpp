//===- promotions.cpp - Results of operators in C++, for penstock.lang ----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the result type of every operator for every pair of operand types, or `-` where the
// headers refuse it. promotions.py compares penstock.lang with this table.
//
//===----------------------------------------------------------------------===//
#include <penstock/penstock.h>

#include <cstdio>

using namespace penstock;

namespace {

template <class T> constexpr const char *nameOfElement() {
  if constexpr (std::is_same_v<T, bool>)
    return "boolean";
  else if constexpr (std::is_same_v<T, int8_t>)
    return "i8";
  else if constexpr (std::is_same_v<T, int16_t>)
    return "i16";
  else if constexpr (std::is_same_v<T, int32_t>)
    return "i32";
  else if constexpr (std::is_same_v<T, uint32_t>)
    return "u32";
  else if constexpr (std::is_same_v<T, int64_t>)
    return "i64";
  else if constexpr (std::is_same_v<T, index_t>)
    return "index_t";
  else if constexpr (std::is_same_v<T, f16>)
    return "f16";
  else if constexpr (std::is_same_v<T, bf16>)
    return "bf16";
  else if constexpr (std::is_same_v<T, float>)
    return "f32";
  else if constexpr (std::is_same_v<T, double>)
    return "f64";
  else if constexpr (std::is_same_v<T, f8e4m3>)
    return "f8e4m3";
  else if constexpr (std::is_same_v<T, f8e5m2>)
    return "f8e5m2";
  else if constexpr (std::is_same_v<T, f4e2m1x2>)
    return "f4e2m1x2";
  else
    return "i4x2";
}

/// Name of an operand or a result: "scalar.f32", "tile.f32".
template <class V> std::string nameOfValue() {
  return std::string(std::is_same_v<V, Scalar<typename V::value_type>> ? "scalar." : "tile.") +
         nameOfElement<typename V::value_type>();
}

template <class R> std::string resultOf() {
  if constexpr (requires { typename R::value_type; })
    return nameOfValue<R>();
  else
    return "-";
}

#define OPERATOR(NAME, EXPRESSION)                                                                 \
  struct NAME {                                                                                    \
    static constexpr const char *name = #NAME;                                                     \
    template <class A, class B> static std::string result() {                                      \
      if constexpr (detail::Differ<A, B>)                                                          \
        return "-";                                                                                \
      else if constexpr (requires(const A &a, const B &b) { EXPRESSION; })                         \
        return resultOf<decltype([](const A &a, const B &b) {                                      \
          return EXPRESSION;                                                                       \
        }(std::declval<A>(), std::declval<B>()))>();                                               \
      else                                                                                         \
        return "-";                                                                                \
    }                                                                                              \
  };
OPERATOR(add, a + b)
OPERATOR(div, a / b)
OPERATOR(rem, a % b)
OPERATOR(bitand_, a &b)
OPERATOR(logical, a &&b)
OPERATOR(xor_, a ^ b)
OPERATOR(shl, a << b)
OPERATOR(eq, a == b)
OPERATOR(lt, a < b)
OPERATOR(min_, min(a, b))
#undef OPERATOR

template <class O, class A, class B> void print() {
  std::printf("%s %s %s %s\n", O::name, nameOfValue<A>().c_str(), nameOfValue<B>().c_str(),
              O::template result<A, B>().c_str());
}

template <class A, class B> void printAll() {
  print<add, A, B>();
  print<div, A, B>();
  print<rem, A, B>();
  print<bitand_, A, B>();
  print<logical, A, B>();
  print<xor_, A, B>();
  print<shl, A, B>();
  print<eq, A, B>();
  print<lt, A, B>();
  print<min_, A, B>();
}

template <class T, class U> void printKinds() {
  printAll<Expr<T>, Expr<U>>();
  if constexpr (!detail::isPacked<T> && !detail::isPacked<U>) {
    printAll<Scalar<T>, Scalar<U>>();
    printAll<Scalar<T>, Expr<U>>();
    printAll<Expr<T>, Scalar<U>>();
  }
}

template <class... T> struct Types {
  template <class U> static void printFor() { (printKinds<U, T>(), ...); }
  static void print() { (printFor<T>(), ...); }
};

} // namespace

int main() {
  Types<bool, int8_t, int16_t, int32_t, uint32_t, int64_t, index_t, f16, bf16, float, double,
        f8e4m3, f8e5m2, f4e2m1x2, i4x2>::print();
}
