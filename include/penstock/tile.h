//===- tile.h - Tiles, tensors, and expressions over their elements -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TILE_H
#define PENSTOCK_TILE_H

#include "penstock/scalar.h"

#include <array>
#include <limits>

namespace penstock {

template <class T> class Expr;
template <class T, int R> class Tile;

/// Kinds of reductions.
enum Reduction : uint8_t { Sum, Prod, Max, Min };

inline constexpr float infinity = std::numeric_limits<float>::infinity();

namespace detail {

/// Operand of an elementwise expression with its source location.
template <class T> struct ExprArg {
  Ref ref;
  Loc at;

  ExprArg(const Expr<T> &value, Loc at = here());
  template <int R> ExprArg(const Tile<T, R> &value, Loc at = here());
  ExprArg(const Scalar<T> &value, Loc where = here()) : ref(value.ref), at(where) {}
  ExprArg(const Var<T> &value, Loc where = here())
      : ref(ScalarArg<T>(value, where).ref), at(where) {}
  template <class A>
    requires isLiteralOf<A, T>
  ExprArg(A value, Loc where = here()) : ref(literalOf<T>(value, where)), at(where) {}
  template <class U>
    requires convertsTo<U, T>
  ExprArg(const Scalar<U> &value, Loc where = here())
      : ref(ScalarArg<T>(value, where).ref), at(where) {}
};

template <class T> struct OperandOf<Expr<T>> {
  using type = T;
  static constexpr bool isScalar = false;
};
template <class T, int R> struct OperandOf<Tile<T, R>> : OperandOf<Expr<T>> {};

template <class T> struct ExprConditionOf {
  using type = Expr<bool>;
};

/// Operators of expressions over tiles, found by argument-dependent lookup.
template <class T> class ExprOps {
  using Arg = ExprArg<T>;
  using Condition = typename ExprConditionOf<T>::type;
  static Ref apply(Op op, const Arg &a, const Arg &b) {
    return binary(op, isUnsigned<T>, a.ref, b.ref, a.at);
  }
  static Expr<T> function(Op op, const Arg &a) { return Expr<T>(unary(op, a.ref, a.at)); }

public:
  friend Expr<T> operator+(Arg a, Arg b) { return Expr<T>(apply(Op::Add, a, b)); }
  friend Expr<T> operator-(Arg a, Arg b) { return Expr<T>(apply(Op::Sub, a, b)); }
  friend Expr<T> operator*(Arg a, Arg b) { return Expr<T>(apply(Op::Mul, a, b)); }
  friend Expr<T> operator/(Arg a, Arg b) { return Expr<T>(apply(Op::Div, a, b)); }
  friend Expr<T> operator%(Arg a, Arg b) { return Expr<T>(apply(Op::Rem, a, b)); }
  friend Expr<T> operator&(Arg a, Arg b) { return Expr<T>(apply(Op::And, a, b)); }
  friend Expr<T> operator|(Arg a, Arg b) { return Expr<T>(apply(Op::Or, a, b)); }
  friend Expr<T> operator^(Arg a, Arg b) { return Expr<T>(apply(Op::Xor, a, b)); }
  friend Expr<T> operator-(Arg a) { return function(Op::Neg, a); }
  friend Condition operator==(Arg a, Arg b) { return Condition(apply(Op::Eq, a, b)); }
  friend Condition operator!=(Arg a, Arg b) { return Condition(apply(Op::Ne, a, b)); }
  friend Condition operator<(Arg a, Arg b) { return Condition(apply(Op::Lt, a, b)); }
  friend Condition operator<=(Arg a, Arg b) { return Condition(apply(Op::Le, a, b)); }
  friend Condition operator>(Arg a, Arg b) { return Condition(apply(Op::Gt, a, b)); }
  friend Condition operator>=(Arg a, Arg b) { return Condition(apply(Op::Ge, a, b)); }
  /// Propagates NaN.
  friend Expr<T> min(Arg a, Arg b) { return Expr<T>(apply(Op::Min, a, b)); }
  friend Expr<T> max(Arg a, Arg b) { return Expr<T>(apply(Op::Max, a, b)); }
  friend Expr<T> abs(Arg a) { return function(Op::Abs, a); }
  friend Expr<T> exp(Arg a) { return function(Op::Exp, a); }
  friend Expr<T> exp2(Arg a) { return function(Op::Exp2, a); }
  friend Expr<T> log(Arg a) { return function(Op::Log, a); }
  friend Expr<T> log2(Arg a) { return function(Op::Log2, a); }
  friend Expr<T> sqrt(Arg a) { return function(Op::Sqrt, a); }
  friend Expr<T> rsqrt(Arg a) { return function(Op::Rsqrt, a); }
  friend Expr<T> tanh(Arg a) { return function(Op::Tanh, a); }
  friend Expr<T> erf(Arg a) { return function(Op::Erf, a); }
  friend Expr<T> sin(Arg a) { return function(Op::Sin, a); }
  friend Expr<T> cos(Arg a) { return function(Op::Cos, a); }
  friend Expr<T> floor(Arg a) { return function(Op::Floor, a); }
  friend Expr<T> ceil(Arg a) { return function(Op::Ceil, a); }
  /// Rounds to the nearest integer, ties to even.
  friend Expr<T> round(Arg a) { return function(Op::Round, a); }
};

/// Logical operators of masks.
template <class T> class ExprLogic {
  using Arg = ExprArg<T>;
  using Condition = typename ExprConditionOf<T>::type;
  static Condition apply(Op op, const Arg &a, const Arg &b) {
    return Condition(binary(op, false, a.ref, b.ref, a.at));
  }

public:
  friend Condition operator&&(Arg a, Arg b) { return apply(Op::And, a, b); }
  friend Condition operator||(Arg a, Arg b) { return apply(Op::Or, a, b); }
  friend Condition operator!(Arg a) { return Condition(unary(Op::Not, a.ref, a.at)); }
};
template <> class ExprOps<bool> : public ExprLogic<bool> {};
/// Packed elements have no operators.
template <> class ExprOps<f4e2m1x2> {};
template <> class ExprOps<i4x2> {};
template <> class ExprOps<f6e2m3_packed> {};
template <> class ExprOps<f6e3m2_packed> {};

template <class V> struct ValueOf {
  using type = typename V::value_type;
};
template <class V>
  requires std::is_arithmetic_v<V>
struct ValueOf<V> {
  using type = void;
};

/// The element type of the first operand that has one.
template <class A, class B>
using CommonElement = std::conditional_t<std::is_arithmetic_v<A>, typename ValueOf<B>::type,
                                         typename ValueOf<A>::type>;

} // namespace detail

/// Elementwise expression: a value for each element of the destination tile.
template <class T> class Expr : public detail::ExprOps<T> {
public:
  using value_type = T;
  explicit Expr(detail::Ref made) : ref(made) {}
  detail::Ref ref;
};

/// Tile of the block, or a view of one. Copies refer to the same tile.
template <class T, int R> class Tile : public detail::ExprOps<T> {
public:
  using value_type = T;
  static constexpr int rank = R;

  /// Creates an empty handle; assign a tile before its first use.
  Tile() = default;
  explicit Tile(detail::Ref made) : ref(made) {}

  /// Names the tile in messages; default: the name of the variable.
  const Tile &named(std::string_view text, Loc at = here()) const {
    detail::name(ref, text, at);
    return *this;
  }
  /// Returns the extent of one dimension.
  int64_t extent(int dim, Loc at = here()) const { return detail::extent(ref, dim, at); }
  /// Returns the number of elements.
  int64_t elements(Loc at = here()) const {
    int64_t product = 1;
    for (int d = 0; d < R; ++d)
      product *= extent(d, at);
    return product;
  }
  /// Returns the bytes of all elements, e.g. those that a barrier expects of a TMA load.
  int64_t bytes(Loc at = here()) const { return elements(at) * int64_t(sizeof(T)); }

  /// Slice at one index of the first dimension, e.g. one slot of a ring.
  Tile<T, R - 1> operator[](detail::IndexArg index) const
    requires(R > 1)
  {
    detail::Ref offsets[R];
    int64_t sizes[R];
    for (int d = 0; d < R; ++d) {
      offsets[d] = d ? detail::literal(Element::index, int64_t(0), index.at) : index.ref;
      sizes[d] = d ? extent(d, index.at) : 1;
    }
    return Tile<T, R - 1>(detail::slice(ref, offsets, sizes, true, index.at));
  }

  detail::Ref ref;
};

/// Slice of a tile with a constant shape; offsets may be values.
template <class T, int R>
Tile<T, R> slice(const Tile<T, R> &tile, const std::type_identity_t<detail::IndexArg> (&offsets)[R],
                 const int64_t (&sizes)[R], Loc at = here()) {
  detail::Ref refs[R];
  for (int d = 0; d < R; ++d)
    refs[d] = offsets[d].ref;
  return Tile<T, R>(detail::slice(tile.ref, refs, sizes, false, at));
}

/// Scales of a matmul operand, in the blocked layout of cuBLAS: a tile of shape
/// [rows / 128, K / (4 * block), 32, 16], where the scale of row r and block j of k is at
/// [r / 128, j / 4, r % 32, r / 32 % 4 * 4 + j % 4].
struct Scales {
  /// No scales, or those in a tile.
  Scales() = default;
  template <class T> Scales(const Tile<T, 4> &tile) : ref(tile.ref) {
    static_assert(std::is_same_v<T, f8e8m0> || std::is_same_v<T, f8e4m3>,
                  "scales are f8e8m0, or f8e4m3 for blocks of 16 values");
  }
  detail::Ref ref;
};

/// Transposed view of a tile.
template <class T> Tile<T, 2> transposed(const Tile<T, 2> &tile, Loc at = here()) {
  return Tile<T, 2>(detail::transpose(tile.ref, at));
}

/// View of a tile as a matrix: all dimensions but the last become its rows, in row-major order.
template <class T, int R> Tile<T, 2> as_matrix(const Tile<T, R> &tile, Loc at = here()) {
  static_assert(R >= 2, "a matrix has two dimensions");
  if constexpr (R == 2)
    return tile;
  else
    return Tile<T, 2>(detail::asMatrix(tile.ref, at));
}

/// Broadcasts v over rows: v[i] for element (i, j).
template <class T> Expr<T> broadcast_rows(const Tile<T, 1> &v, Loc at = here()) {
  static constexpr int64_t dims[] = {0};
  return Expr<T>(detail::elements(v.ref, dims, at));
}
/// Broadcasts v over columns: v[j] for element (i, j).
template <class T> Expr<T> broadcast_cols(const Tile<T, 1> &v, Loc at = here()) {
  static constexpr int64_t dims[] = {1};
  return Expr<T>(detail::elements(v.ref, dims, at));
}
#define PENSTOCK_BROADCASTS_VECTORS                                                                \
  PENSTOCK_MISUSE("a broadcast takes a tile of rank 1; copy a column of a tensor into one with "   \
                  "`b.copy(x.at(i, 0).dims(0), v)`, a row with `.dims(1)`")
template <class T> PENSTOCK_BROADCASTS_VECTORS Expr<T> broadcast_rows(const Tile<T, 2> &);
template <class T> PENSTOCK_BROADCASTS_VECTORS Expr<T> broadcast_cols(const Tile<T, 2> &);
template <class T> PENSTOCK_BROADCASTS_VECTORS Expr<T> rows(const Tile<T, 2> &);
template <class T> PENSTOCK_BROADCASTS_VECTORS Expr<T> cols(const Tile<T, 2> &);
#undef PENSTOCK_BROADCASTS_VECTORS
/// Deprecated: broadcast_rows and broadcast_cols, which do not collide with fields of a kernel.
template <class T> Expr<T> rows(const Tile<T, 1> &v, Loc at = here()) {
  return broadcast_rows(v, at);
}
/// Deprecated: broadcast_cols.
template <class T> Expr<T> cols(const Tile<T, 1> &v, Loc at = here()) {
  return broadcast_cols(v, at);
}
/// Row, column, or index along a dimension of the current element.
template <class T, int R> Expr<index_t> row(const Tile<T, R> &, Loc at = here()) {
  return Expr<index_t>(detail::elementIndex(0, at));
}
/// Column of the current element.
template <class T, int R> Expr<index_t> col(const Tile<T, R> &, Loc at = here()) {
  static_assert(R >= 2, "a tile with columns has at least two dimensions");
  return Expr<index_t>(detail::elementIndex(1, at));
}
/// Index of the current element along dimension \p dim.
template <class T, int R> Expr<index_t> index(const Tile<T, R> &, int dim, Loc at = here()) {
  return Expr<index_t>(detail::elementIndex(dim, at));
}

/// Elementwise select.
template <class A, class B, class T = detail::CommonElement<A, B>>
Expr<T> where(detail::ExprArg<bool> condition, const A &then, const B &otherwise) {
  detail::ExprArg<T> a(then, condition.at), b(otherwise, condition.at);
  return Expr<T>(detail::select(condition.ref, a.ref, b.ref, condition.at));
}

/// Converts each element; see cast of scalars.
template <class To, class From> Expr<To> cast(const Expr<From> &value, Loc at = here()) {
  return Expr<To>(detail::convert(value.ref, detail::ElementOf<To>::value,
                                  detail::convertsUnsigned<From, To>, at));
}
template <class To, class From, int R> Expr<To> cast(const Tile<From, R> &value, Loc at = here()) {
  static_assert(!detail::isPacked<From> && !detail::isPacked<To>,
                "packed elements are not numbers; unpack the tile with b.unpack(packed, values)");
  return cast<To>(Expr<From>(detail::elements(value.ref, {}, at)), at);
}

namespace detail {

template <class T>
ExprArg<T>::ExprArg(const Expr<T> &value, Loc where) : ref(value.ref), at(where) {}
template <class T>
template <int R>
ExprArg<T>::ExprArg(const Tile<T, R> &value, Loc where)
    : ref(elements(value.ref, {}, where)), at(where) {}

} // namespace detail

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

enum class Access : uint8_t { In, Out, InOut };

/// Slice of a tensor that starts at given offsets: source or destination of a tile copy, or one
/// element.
template <class T, int R, Access A> struct TensorSlice {
  detail::Ref tensor;
  std::array<detail::Ref, R> offsets;
  std::array<int64_t, R> dimensions = {};
  int count = 0;

  /// Selects the tensor's dimensions for a tile of lower rank; default: the last ones.
  template <class... I> TensorSlice dims(I... d) const {
    static_assert(sizeof...(I) <= R, "dims() names dimensions of the tensor");
    TensorSlice result = *this;
    result.dimensions = {int64_t(d)...};
    result.count = sizeof...(I);
    return result;
  }
};

/// Deprecated: TensorSlice.
template <class T, int R, Access A> using Place = TensorSlice<T, R, A>;

/// Tensor argument of a kernel: the caller's memory with run-time sizes.
template <class T, int R, Access A> class Tensor {
  static_assert(detail::ElementOf<T>::known && !std::is_same_v<T, index_t>,
                "this is not an element type of penstock/elements.h");
  static_assert(R >= 1 && R <= 5, "tensors have one to five dimensions");

public:
  using value_type = T;
  static constexpr int rank = R;
  static constexpr Access access = A;

  explicit Tensor(detail::Ref argument) : ref(argument) {}

  /// Returns the size of one dimension.
  Index size(int dim, Loc at = here()) const { return Index(detail::size(ref, dim, at)); }
  /// Returns all sizes: `auto [M, K] = A.sizes();`.
  std::array<Index, R> sizes(Loc at = here()) const {
    return sizesOf(at, std::make_integer_sequence<int, R>());
  }

  using Arg = detail::IndexArg;
  /// Returns the slice that starts at these offsets. A copy takes its shape from the tile.
  TensorSlice<T, R, A> at(Arg a) const
    requires(R == 1)
  {
    return {ref, {a.ref}};
  }
  TensorSlice<T, R, A> at(Arg a, Arg b) const
    requires(R == 2)
  {
    return {ref, {a.ref, b.ref}};
  }
  TensorSlice<T, R, A> at(Arg a, Arg b, Arg c) const
    requires(R == 3)
  {
    return {ref, {a.ref, b.ref, c.ref}};
  }
  TensorSlice<T, R, A> at(Arg a, Arg b, Arg c, Arg d) const
    requires(R == 4)
  {
    return {ref, {a.ref, b.ref, c.ref, d.ref}};
  }
  TensorSlice<T, R, A> at(Arg a, Arg b, Arg c, Arg d, Arg e) const
    requires(R == 5)
  {
    return {ref, {a.ref, b.ref, c.ref, d.ref, e.ref}};
  }

  /// Loads one element.
  Scalar<T> load(Arg a) const
    requires(R == 1)
  {
    return element({a.ref}, a.at);
  }
  Scalar<T> load(Arg a, Arg b) const
    requires(R == 2)
  {
    return element({a.ref, b.ref}, a.at);
  }
  Scalar<T> load(Arg a, Arg b, Arg c) const
    requires(R == 3)
  {
    return element({a.ref, b.ref, c.ref}, a.at);
  }

  /// Elementwise load at computed indices.
  using ExprIndex = detail::ExprArg<index_t>;
  /// Loads the element at a computed index for each element of the destination tile.
  Expr<T> gather(ExprIndex a) const
    requires(R == 1)
  {
    return Expr<T>(element({a.ref}, a.at).ref);
  }
  Expr<T> gather(ExprIndex a, ExprIndex b) const
    requires(R == 2)
  {
    return Expr<T>(element({a.ref, b.ref}, a.at).ref);
  }

  detail::Ref ref;

private:
  Scalar<T> element(std::array<detail::Ref, R> indices, Loc at) const {
    return Scalar<T>(detail::load(ref, indices, at));
  }
  template <int... D> std::array<Index, R> sizesOf(Loc at, std::integer_sequence<int, D...>) const {
    return {size(D, at)...};
  }
};

/// Tensors that a kernel reads, writes, or both. Written tensors must not overlap other
/// arguments; the launch checks this.
template <class T, int R> struct In : Tensor<T, R, Access::In> {
  using Tensor<T, R, Access::In>::Tensor;
};
template <class T, int R> struct Out : Tensor<T, R, Access::Out> {
  using Tensor<T, R, Access::Out>::Tensor;
};
template <class T, int R> struct InOut : Tensor<T, R, Access::InOut> {
  using Tensor<T, R, Access::InOut>::Tensor;
};

} // namespace penstock

#endif // PENSTOCK_TILE_H
