//===- scalar.h - Scalars of a kernel ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `Scalar<T>` is a value that the kernel computes; it is never assigned a
// second time, because the recorded program would not follow. A `Var<T>` is
// mutable and behaves like a C++ variable, in loops too.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_SCALAR_H
#define PENSTOCK_SCALAR_H

#include "penstock/record.h"

namespace penstock {

template <class T> class Scalar;
template <class T> class Var;
class Block;
using Index = Scalar<index_t>;
using Bool = Scalar<bool>;

namespace detail {

template <class T>
inline constexpr bool isUnsigned = std::is_unsigned_v<T> && !std::is_same_v<T, bool>;

/// Whether a conversion treats the integer on one of its sides as unsigned.
template <class From, class To>
inline constexpr bool convertsUnsigned = isUnsigned<From> || (isFloating<From> && isUnsigned<To>);

/// Numbers of the host that stand for a Scalar<T>: those of C++, and elements.
template <class V, class T>
inline constexpr bool isLiteralOf =
    (std::is_arithmetic_v<V> && (isFloating<T> || std::is_integral_v<V>)) ||
    (std::is_same_v<V, T> && isFloating<T>);

template <class T, class V> Ref literalOf(V value, Loc at) {
  if constexpr (!std::is_arithmetic_v<V>)
    return literal(ElementOf<T>::value, static_cast<double>(static_cast<float>(value)), at);
  else if constexpr (isFloating<T>)
    return literal(ElementOf<T>::value, static_cast<double>(value), at);
  else
    return literal(ElementOf<T>::value, static_cast<int64_t>(value), at);
}

/// What converts to a Scalar<T> without being asked: integers to indices and to
/// wider integers, and conditions to integers. Only one way, so that an
/// expression of two types has one meaning.
template <class From, class To> constexpr bool widens() {
  if constexpr (std::is_same_v<From, To> || !isInteger<To>)
    return false;
  else if constexpr (std::is_same_v<From, bool>)
    return true;
  else if constexpr (std::is_same_v<To, index_t>)
    return std::is_integral_v<From>;
  else
    return std::is_integral_v<From> && sizeof(From) < sizeof(To);
}
template <class From, class To> inline constexpr bool convertsTo = widens<From, To>();

/// An operand of type T, with the place where it was written.
template <class T> struct ScalarArg {
  Ref ref;
  Loc at;

  ScalarArg(const Scalar<T> &value, Loc at = here());
  ScalarArg(const Var<T> &value, Loc at = here());
  template <class A>
    requires isLiteralOf<A, T>
  ScalarArg(A value, Loc at = here()) : ref(literalOf<T>(value, at)), at(at) {}
  template <class U>
    requires convertsTo<U, T>
  ScalarArg(const Scalar<U> &value, Loc at = here());
  template <class U>
    requires convertsTo<U, T>
  ScalarArg(const Var<U> &value, Loc at = here());
};

/// Bool, as a name that is looked up only when it is complete.
template <class T> struct ConditionOf {
  using type = Scalar<bool>;
};

/// Operators of scalars, found through their operands.
template <class T> class ScalarOps {
  using Arg = ScalarArg<T>;
  using Condition = typename ConditionOf<T>::type;
  static Ref apply(Op op, const Arg &a, const Arg &b) {
    return binary(op, isUnsigned<T>, a.ref, b.ref, a.at);
  }

public:
  friend Scalar<T> operator+(Arg a, Arg b) { return Scalar<T>(apply(Op::Add, a, b)); }
  friend Scalar<T> operator-(Arg a, Arg b) { return Scalar<T>(apply(Op::Sub, a, b)); }
  friend Scalar<T> operator*(Arg a, Arg b) { return Scalar<T>(apply(Op::Mul, a, b)); }
  friend Scalar<T> operator/(Arg a, Arg b) { return Scalar<T>(apply(Op::Div, a, b)); }
  friend Scalar<T> operator%(Arg a, Arg b) { return Scalar<T>(apply(Op::Rem, a, b)); }
  friend Scalar<T> operator&(Arg a, Arg b) { return Scalar<T>(apply(Op::And, a, b)); }
  friend Scalar<T> operator|(Arg a, Arg b) { return Scalar<T>(apply(Op::Or, a, b)); }
  friend Scalar<T> operator^(Arg a, Arg b) { return Scalar<T>(apply(Op::Xor, a, b)); }
  friend Scalar<T> operator<<(Arg a, Arg b) { return Scalar<T>(apply(Op::Shl, a, b)); }
  friend Scalar<T> operator>>(Arg a, Arg b) { return Scalar<T>(apply(Op::Shr, a, b)); }
  friend Scalar<T> operator-(Arg a) { return Scalar<T>(unary(Op::Neg, a.ref, a.at)); }
  friend Condition operator==(Arg a, Arg b) { return Condition(apply(Op::Eq, a, b)); }
  friend Condition operator!=(Arg a, Arg b) { return Condition(apply(Op::Ne, a, b)); }
  friend Condition operator<(Arg a, Arg b) { return Condition(apply(Op::Lt, a, b)); }
  friend Condition operator<=(Arg a, Arg b) { return Condition(apply(Op::Le, a, b)); }
  friend Condition operator>(Arg a, Arg b) { return Condition(apply(Op::Gt, a, b)); }
  friend Condition operator>=(Arg a, Arg b) { return Condition(apply(Op::Ge, a, b)); }
  friend Scalar<T> min(Arg a, Arg b) { return Scalar<T>(apply(Op::Min, a, b)); }
  friend Scalar<T> max(Arg a, Arg b) { return Scalar<T>(apply(Op::Max, a, b)); }
};

/// Conditions combine by logic, not by arithmetic. The functions are friends and
/// nothing else, so that they do not compete with those of masks (tile.h).
template <class T> class ScalarLogic {
  using Arg = ScalarArg<T>;
  using Condition = typename ConditionOf<T>::type;
  static Condition apply(Op op, const Arg &a, const Arg &b) {
    return Condition(binary(op, false, a.ref, b.ref, a.at));
  }

public:
  friend Condition operator&&(Arg a, Arg b) { return apply(Op::And, a, b); }
  friend Condition operator||(Arg a, Arg b) { return apply(Op::Or, a, b); }
  friend Condition operator==(Arg a, Arg b) { return apply(Op::Eq, a, b); }
  friend Condition operator!=(Arg a, Arg b) { return apply(Op::Ne, a, b); }
  friend Condition operator!(Arg a) { return Condition(unary(Op::Not, a.ref, a.at)); }
};
template <> class ScalarOps<bool> : public ScalarLogic<bool> {};

} // namespace detail

/// A value of the kernel. There is no assignment: a second value is a second
/// C++ variable, and what changes from iteration to iteration is a Var.
template <class T> class Scalar : public detail::ScalarOps<T> {
  static_assert(detail::ElementOf<T>::known,
                "a scalar is an index, a bool, an integer or a floating-point "
                "type of penstock/elements.h");

public:
  using value_type = T;

  Scalar() = default;
  Scalar(const Scalar &) = default;
  Scalar &operator=(const Scalar &) = delete;
  explicit Scalar(detail::Ref ref) : ref(ref) {}
  template <class A>
    requires detail::isLiteralOf<A, T>
  Scalar(A value, Loc at = here()) : ref(detail::literalOf<T>(value, at)) {}
  template <class U>
    requires detail::convertsTo<U, T>
  Scalar(const Scalar<U> &value, Loc at = here())
      : ref(detail::convert(value.ref, detail::ElementOf<T>::value, detail::isUnsigned<U>, at)) {}

  detail::Ref ref;
};

/// A mutable scalar: one element of storage of the block.
template <class T> class Var : public detail::ScalarOps<T> {
public:
  using value_type = T;

  Var(Block &b, detail::ScalarArg<T> initial, Loc at = here());
  Var(const Var &) = delete;
  Var &operator=(const Var &other) { return *this = Scalar<T>(other); }
  Var &operator=(detail::ScalarArg<T> value) {
    detail::store(value.ref, slot, {}, value.at);
    return *this;
  }
  operator Scalar<T>() const { return Scalar<T>(detail::load(slot, {}, at)); }

  Var &operator+=(detail::ScalarArg<T> v) { return *this = *this + v; }
  Var &operator-=(detail::ScalarArg<T> v) { return *this = *this - v; }
  Var &operator*=(detail::ScalarArg<T> v) { return *this = *this * v; }
  Var &operator^=(detail::ScalarArg<T> v) { return *this = *this ^ v; }
  Var &operator|=(detail::ScalarArg<T> v) { return *this = *this | v; }
  Var &operator&=(detail::ScalarArg<T> v) { return *this = *this & v; }

  detail::Ref slot;

private:
  Loc at;
};

namespace detail {

template <class T>
ScalarArg<T>::ScalarArg(const Scalar<T> &value, Loc at) : ref(value.ref), at(at) {}
template <class T>
ScalarArg<T>::ScalarArg(const Var<T> &value, Loc at) : ref(load(value.slot, {}, at)), at(at) {}
template <class T>
template <class U>
  requires convertsTo<U, T>
ScalarArg<T>::ScalarArg(const Scalar<U> &value, Loc at)
    : ref(convert(value.ref, ElementOf<T>::value, isUnsigned<U>, at)), at(at) {}
template <class T>
template <class U>
  requires convertsTo<U, T>
ScalarArg<T>::ScalarArg(const Var<U> &value, Loc at)
    : ScalarArg(Scalar<U>(load(value.slot, {}, at)), at) {}

using IndexArg = ScalarArg<index_t>;

} // namespace detail

/// Smallest integer not below a / b, for a >= 0 and b > 0.
inline Index ceil_div(detail::IndexArg a, detail::IndexArg b) {
  return Index(detail::binary(detail::Op::CeilDiv, false, a.ref, b.ref, a.at));
}

struct DivMod {
  Index quotient, remainder;
};
/// Quotient and remainder by a value that is the same for the whole launch; the
/// multiplier that replaces the division is computed once per launch.
inline DivMod fast_divmod(detail::IndexArg a, detail::IndexArg b) {
  detail::Ref result[2];
  detail::divmod(a.ref, b.ref, result, a.at);
  return {Index(result[0]), Index(result[1])};
}

/// `c ? x : y` for values of the kernel.
template <class T>
Scalar<T> select(detail::ScalarArg<bool> c, Scalar<T> x,
                 std::type_identity_t<detail::ScalarArg<T>> y) {
  return Scalar<T>(detail::select(c.ref, x.ref, y.ref, c.at));
}

/// Converts a scalar: rounds floating point to nearest even, truncates floating
/// point to integers toward zero and saturates there.
template <class To, class From> Scalar<To> cast(const Scalar<From> &value, Loc at = here()) {
  return Scalar<To>(detail::convert(value.ref, detail::ElementOf<To>::value,
                                    detail::convertsUnsigned<From, To>, at));
}

} // namespace penstock

#endif // PENSTOCK_SCALAR_H
