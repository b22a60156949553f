//===- scalar.h - Scalars of a kernel ---------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A `Scalar<T>` is an immutable value of the kernel: a C++ assignment would not be
// recorded. A `Var<T>` is mutable and behaves like a C++ variable, also in loops.
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

/// True if a conversion treats its source or target integer as unsigned.
template <class From, class To>
inline constexpr bool convertsUnsigned = isUnsigned<From> || (isFloating<From> && isUnsigned<To>);

/// Host values that convert to a Scalar<T>: C++ numbers and element types.
template <class V, class T>
inline constexpr bool isLiteralOf =
    (std::is_arithmetic_v<V> && !isPacked<T> && (isFloating<T> || std::is_integral_v<V>)) ||
    (std::is_same_v<V, T> && isFloating<T>);

template <class T, class V> Ref literalOf(V value, Loc at) {
  if constexpr (!std::is_arithmetic_v<V>)
    return literal(ElementOf<T>::value, static_cast<double>(static_cast<float>(value)), at);
  else if constexpr (isFloating<T>)
    return literal(ElementOf<T>::value, static_cast<double>(value), at);
  else
    return literal(ElementOf<T>::value, static_cast<int64_t>(value), at);
}

/// Implicit conversions: integers to indices and to wider integers, and conditions to
/// integers. Never both ways, so that mixed expressions are unambiguous.
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

/// Operand of type T with its source location.
template <class T> struct ScalarArg {
  Ref ref;
  Loc at;

  ScalarArg(const Scalar<T> &value, Loc at = here());
  ScalarArg(const Var<T> &value, Loc at = here());
  template <class A>
    requires isLiteralOf<A, T>
  ScalarArg(A value, Loc where = here()) : ref(literalOf<T>(value, where)), at(where) {}
  template <class U>
    requires convertsTo<U, T>
  ScalarArg(const Scalar<U> &value, Loc at = here());
  template <class U>
    requires convertsTo<U, T>
  ScalarArg(const Var<U> &value, Loc at = here());
};

/// Element type of a value of the kernel; void for anything else. Scalars widen,
/// elementwise values do not.
template <class V> struct OperandOf {
  using type = void;
  static constexpr bool isScalar = false;
};
template <class T> struct OperandOf<Scalar<T>> {
  using type = T;
  static constexpr bool isScalar = true;
};
template <class T> struct OperandOf<Var<T>> : OperandOf<Scalar<T>> {};

template <class From, class To> constexpr bool mustBeCast() {
  if constexpr (std::is_same_v<typename OperandOf<From>::type, void>)
    return std::is_arithmetic_v<From> && !isLiteralOf<From, To>;
  else
    return !std::is_same_v<typename OperandOf<From>::type, To> &&
           !(OperandOf<From>::isScalar && convertsTo<typename OperandOf<From>::type, To>);
}

/// Error for a value of another element type.
#define PENSTOCK_NEEDS_CAST                                                                        \
  PENSTOCK_MISUSE("the value has another element type, which is not converted implicitly; use "    \
                  "cast<T>(x)")

/// Parameter of type T with errors for wrong types. Not for operators, which rely on overload
/// resolution.
template <class T> struct ScalarParameter : ScalarArg<T> {
  using ScalarArg<T>::ScalarArg;
  ScalarParameter(const ScalarArg<T> &argument) : ScalarArg<T>(argument) {}
  template <class V>
    requires(mustBeCast<V, T>())
  PENSTOCK_NEEDS_CAST ScalarParameter(const V &value, Loc at = here());
};

/// True if an operator has no common type for two operands.
template <class A, class B> constexpr bool differ() {
  using X = typename OperandOf<A>::type;
  using Y = typename OperandOf<B>::type;
  if constexpr (!std::is_same_v<X, void> && !std::is_same_v<Y, void>)
    return mustBeCast<A, Y>() && mustBeCast<B, X>();
  else if constexpr (!std::is_same_v<X, void>)
    return mustBeCast<B, X>();
  else if constexpr (!std::is_same_v<Y, void>)
    return mustBeCast<A, Y>();
  else
    return false;
}
template <class A, class B>
concept Differ = differ<A, B>();

/// Result type of such an operator, to suppress further errors.
template <class A, class B>
using OneOf = std::conditional_t<std::is_same_v<typename OperandOf<A>::type, void>, B, A>;

#define PENSTOCK_DIFFERENT_OPERANDS                                                                \
  PENSTOCK_MISUSE("the operands have different element types; convert one of them with "           \
                  "cast<T>(x)")
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS OneOf<A, B> operator+(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS OneOf<A, B> operator-(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS OneOf<A, B> operator*(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS OneOf<A, B> operator/(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS OneOf<A, B> operator%(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS Scalar<bool> operator==(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS Scalar<bool> operator!=(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS Scalar<bool> operator<(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS Scalar<bool> operator<=(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS Scalar<bool> operator>(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS Scalar<bool> operator>=(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS OneOf<A, B> min(const A &, const B &);
template <class A, class B>
  requires Differ<A, B>
PENSTOCK_DIFFERENT_OPERANDS OneOf<A, B> max(const A &, const B &);

/// Bool as a dependent name, which is looked up when it is complete.
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
  friend Condition operator==(Arg a, Arg b) { return Condition(apply(Op::Eq, a, b), a.at); }
  friend Condition operator!=(Arg a, Arg b) { return Condition(apply(Op::Ne, a, b), a.at); }
  friend Condition operator<(Arg a, Arg b) { return Condition(apply(Op::Lt, a, b), a.at); }
  friend Condition operator<=(Arg a, Arg b) { return Condition(apply(Op::Le, a, b), a.at); }
  friend Condition operator>(Arg a, Arg b) { return Condition(apply(Op::Gt, a, b), a.at); }
  friend Condition operator>=(Arg a, Arg b) { return Condition(apply(Op::Ge, a, b), a.at); }
  friend Scalar<T> min(Arg a, Arg b) { return Scalar<T>(apply(Op::Min, a, b)); }
  friend Scalar<T> max(Arg a, Arg b) { return Scalar<T>(apply(Op::Max, a, b)); }
};

/// Logical operators of conditions. Hidden friends, so that they do not compete with
/// those of masks (tile.h). They take conditions by value, which is a better match
/// than the built-in && of two bools; the copy records the source location.
template <class T> class ScalarLogic {
  using Arg = ScalarArg<T>;
  using Condition = typename ConditionOf<T>::type;
  static Condition apply(Op op, const Condition &a, const Condition &b) {
    return Condition(binary(op, false, a.ref, b.ref, a.at), a.at);
  }

public:
  friend Condition operator&&(Condition a, Condition b) { return apply(Op::And, a, b); }
  friend Condition operator&&(Condition a, bool b) { return apply(Op::And, a, {b, a.at}); }
  friend Condition operator&&(bool a, Condition b) { return apply(Op::And, {a, b.at}, b); }
  friend Condition operator||(Condition a, Condition b) { return apply(Op::Or, a, b); }
  friend Condition operator||(Condition a, bool b) { return apply(Op::Or, a, {b, a.at}); }
  friend Condition operator||(bool a, Condition b) { return apply(Op::Or, {a, b.at}, b); }
  friend Condition operator!(Condition a) { return Condition(unary(Op::Not, a.ref, a.at), a.at); }
  friend Condition operator==(Arg a, Arg b) {
    return Condition(binary(Op::Eq, false, a.ref, b.ref, a.at), a.at);
  }
  friend Condition operator!=(Arg a, Arg b) {
    return Condition(binary(Op::Ne, false, a.ref, b.ref, a.at), a.at);
  }
};
template <> class ScalarOps<bool> : public ScalarLogic<bool> {};

#define PENSTOCK_NOT_ASSIGNED                                                                      \
  PENSTOCK_MISUSE("a scalar of the kernel is immutable; declare it as `Var<T>` "                   \
                  "(`Var<int64_t>` for an Index)")
#define PENSTOCK_NOT_A_BOOL                                                                        \
  PENSTOCK_MISUSE("a value of the kernel is not known while the kernel is recorded; use "          \
                  "`b.when(condition, [&] {..})` for an `if`, `select(c, x, y)` for `c ? x : y`")

/// Errors for assignments to a scalar.
template <class S> class Unchanging {
public:
  template <class V> PENSTOCK_NOT_ASSIGNED S &operator+=(const V &);
  template <class V> PENSTOCK_NOT_ASSIGNED S &operator-=(const V &);
  template <class V> PENSTOCK_NOT_ASSIGNED S &operator*=(const V &);
  template <class V> PENSTOCK_NOT_ASSIGNED S &operator/=(const V &);
  template <class V> PENSTOCK_NOT_ASSIGNED S &operator%=(const V &);
  PENSTOCK_NOT_ASSIGNED S &operator++();
  PENSTOCK_NOT_ASSIGNED S operator++(int);
  PENSTOCK_NOT_ASSIGNED S &operator--();
  PENSTOCK_NOT_ASSIGNED S operator--(int);
};

} // namespace detail

/// Immutable value of the kernel. Use a Var for loop-carried values.
template <class T>
class Scalar : public detail::ScalarOps<T>, public detail::Unchanging<Scalar<T>> {
  static_assert(detail::ElementOf<T>::known,
                "a scalar is an index, a bool, an integer or a floating-point "
                "type of penstock/elements.h");

public:
  using value_type = T;

  /// Converts from a C++ number, another scalar that converts without loss, or a `Var`.
  Scalar() = default;
  Scalar(const Scalar &) = default;
  PENSTOCK_NOT_ASSIGNED Scalar &operator=(const Scalar &);
  template <class V> PENSTOCK_NOT_ASSIGNED Scalar &operator=(const V &);
  PENSTOCK_NOT_A_BOOL explicit operator bool() const;
  explicit Scalar(detail::Ref made) : ref(made) {}
  template <class A>
    requires detail::isLiteralOf<A, T>
  Scalar(A value, Loc at = here()) : ref(detail::literalOf<T>(value, at)) {}
  template <class U>
    requires detail::convertsTo<U, T>
  Scalar(const Scalar<U> &value, Loc at = here())
      : ref(detail::convert(value.ref, detail::ElementOf<T>::value, detail::isUnsigned<U>, at)) {}
  template <class U>
    requires(detail::convertsTo<U, T> && !std::is_same_v<U, T>)
  Scalar(const Var<U> &value, Loc at = here()) : ref(detail::ScalarArg<T>(value, at).ref) {}
  template <class V>
    requires(detail::mustBeCast<V, T>())
  PENSTOCK_NEEDS_CAST Scalar(const V &value, Loc at = here());

  detail::Ref ref;
};

/// Condition of the kernel. Stores the location where it was created or copied, for the
/// operators that take it by value.
template <>
class Scalar<bool> : public detail::ScalarOps<bool>, public detail::Unchanging<Scalar<bool>> {
public:
  using value_type = bool;

  /// Converts from a C++ `bool` or another condition.
  Scalar() = default;
  Scalar(const Scalar &other, Loc where = here()) : ref(other.ref), at(where) {}
  PENSTOCK_NOT_ASSIGNED Scalar &operator=(const Scalar &);
  template <class V> PENSTOCK_NOT_ASSIGNED Scalar &operator=(const V &);
  PENSTOCK_NOT_A_BOOL explicit operator bool() const;
  explicit Scalar(detail::Ref made, Loc where = here()) : ref(made), at(where) {}
  template <class A>
    requires detail::isLiteralOf<A, bool>
  Scalar(A value, Loc where = here()) : ref(detail::literalOf<bool>(value, where)), at(where) {}
  template <class V>
    requires(detail::mustBeCast<V, bool>())
  PENSTOCK_NEEDS_CAST Scalar(const V &value, Loc where = here());

  detail::Ref ref;
  Loc at;
};

/// Mutable scalar: one element of storage of the block.
template <class T> class Var : public detail::ScalarOps<T> {
public:
  using value_type = T;

  /// Allocates the storage and sets it to a first value.
  Var(Block &b, detail::ScalarParameter<T> initial, Loc at = here());
  Var(const Var &) = delete;
  /// Assigns a value.
  Var &operator=(const Var &other) { return *this = Scalar<T>(other); }
  Var &operator=(detail::ScalarParameter<T> value) { return set(value.ref, value.at); }
  /// Loads the value.
  operator Scalar<T>() const { return Scalar<T>(detail::load(slot, {}, at)); }

  /// Updates the value.
  Var &operator+=(detail::ScalarParameter<T> v) { return update(detail::Op::Add, v); }
  /// Updates the value.
  Var &operator-=(detail::ScalarParameter<T> v) { return update(detail::Op::Sub, v); }
  /// Updates the value.
  Var &operator*=(detail::ScalarParameter<T> v) { return update(detail::Op::Mul, v); }
  /// Updates the value.
  Var &operator^=(detail::ScalarParameter<T> v) { return update(detail::Op::Xor, v); }
  /// Updates the value.
  Var &operator|=(detail::ScalarParameter<T> v) { return update(detail::Op::Or, v); }
  /// Updates the value.
  Var &operator&=(detail::ScalarParameter<T> v) { return update(detail::Op::And, v); }

  detail::Ref slot;

private:
  Var &set(detail::Ref value, Loc where) {
    detail::store(value, slot, {}, where);
    return *this;
  }
  /// Records all operations at the line of the update.
  Var &update(detail::Op op, const detail::ScalarArg<T> &value) {
    detail::Ref old = detail::load(slot, {}, value.at);
    return set(detail::binary(op, detail::isUnsigned<T>, old, value.ref, value.at), value.at);
  }

  Loc at;
};

namespace detail {

template <class T>
ScalarArg<T>::ScalarArg(const Scalar<T> &value, Loc where) : ref(value.ref), at(where) {}
template <class T>
ScalarArg<T>::ScalarArg(const Var<T> &value, Loc where)
    : ref(load(value.slot, {}, where)), at(where) {}
template <class T>
template <class U>
  requires convertsTo<U, T>
ScalarArg<T>::ScalarArg(const Scalar<U> &value, Loc where)
    : ref(convert(value.ref, ElementOf<T>::value, isUnsigned<U>, where)), at(where) {}
template <class T>
template <class U>
  requires convertsTo<U, T>
ScalarArg<T>::ScalarArg(const Var<U> &value, Loc where)
    : ScalarArg(Scalar<U>(load(value.slot, {}, where)), where) {}

using IndexArg = ScalarParameter<index_t>;

} // namespace detail

/// Rounds a / b up, for a >= 0 and b > 0.
inline Index ceil_div(detail::IndexArg a, detail::IndexArg b) {
  return Index(detail::binary(detail::Op::CeilDiv, false, a.ref, b.ref, a.at));
}

struct DivMod {
  Index quotient, remainder;
};
/// Quotient and remainder by a launch constant, equal to `/` and `%`. The multiplier that replaces
/// the division is computed once per launch.
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
template <class T>
Scalar<T> select(detail::ScalarArg<bool> c, const Var<T> &x,
                 std::type_identity_t<detail::ScalarArg<T>> y) {
  return select(c, Scalar<T>(detail::load(x.slot, {}, c.at)), y);
}
/// The same with a C++ number for x: `select(c, 0, y)`.
template <class A, class Y, class T = typename detail::OperandOf<Y>::type>
  requires(std::is_arithmetic_v<A> && detail::OperandOf<Y>::isScalar)
Scalar<T> select(detail::ScalarArg<bool> c, A x, const Y &y) {
  detail::ScalarParameter<T> then(x, c.at);
  detail::ScalarArg<T> otherwise(y, c.at);
  return Scalar<T>(detail::select(c.ref, then.ref, otherwise.ref, c.at));
}

/// Converts a scalar: rounds floating point to nearest even, truncates floating
/// point to integers toward zero and saturates there.
template <class To, class From> Scalar<To> cast(const Scalar<From> &value, Loc at = here()) {
  return Scalar<To>(detail::convert(value.ref, detail::ElementOf<To>::value,
                                    detail::convertsUnsigned<From, To>, at));
}
template <class To, class From> Scalar<To> cast(const Var<From> &value, Loc at = here()) {
  return cast<To>(Scalar<From>(detail::load(value.slot, {}, at)), at);
}

} // namespace penstock

#endif // PENSTOCK_SCALAR_H
