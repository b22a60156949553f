//===- Expressions.h - Random expressions of the public headers -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation that an expression over tiles can have, for every kernel that
// has such expressions: tile programs and explicit kernels.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_EXPRESSIONS_H
#define PENSTOCK_FUZZ_EXPRESSIONS_H

#include "Random.h"
#include "penstock/penstock.h"

#include <optional>

namespace penstock::fuzz {

/// What an expression may read. All lists may be empty.
struct Operands {
  std::vector<Tile<f32, 2>> floats = {};
  std::vector<Tile<f16, 2>> halves = {};
  std::vector<Tile<i32, 2>> ints = {};
  /// One value for each row and for each column of the target.
  std::vector<Tile<f32, 1>> rows = {}, cols = {};
  std::vector<Index> indices = {};
  std::vector<Scalar<f32>> scalars = {};
  std::optional<Tensor<f32, 1, Access::In>> vector = {};
  std::optional<Tensor<f32, 2, Access::In>> matrix = {};
  std::optional<Tensor<i32, 1, Access::In>> ids = {};
};

class Expressions {
public:
  /// Which operations there are: those that all targets round alike and have, or
  /// all of them, faults included.
  enum class Kinds { Exact, All };

  Expressions(Random &random, const Operands &from, Kinds kinds)
      : random(random), from(from), kinds(kinds) {}

  template <class T> Expr<T> value(int depth) {
    if (depth <= 0 || random.chance(15))
      return leaf<T>();
    if constexpr (std::is_same_v<T, bool>)
      return condition(depth);
    else
      return number<T>(depth);
  }

  /// The functions that are approximated, of a bounded argument; \p everywhere
  /// takes only those that GPUs have.
  Expr<f32> function(Expr<f32> x, bool everywhere) {
    Expr<f32> bounded = max(min(x, 4), -4);
    Expr<f32> positive = max(bounded, 0.0625f);
    switch (random.below(everywhere ? 2 : 9)) {
    case 0:
      return exp(bounded);
    case 1:
      return exp2(bounded);
    case 2:
      return log(positive);
    case 3:
      return log2(positive);
    case 4:
      return rsqrt(positive);
    case 5:
      return tanh(bounded);
    case 6:
      return erf(bounded);
    case 7:
      return sin(bounded);
    default:
      return cos(bounded);
    }
  }

private:
  template <class T> Expr<T> literal() {
    // An expression needs a value of the kernel's on one side.
    if constexpr (std::is_same_v<T, bool>)
      return Scalar<bool>(random.chance(50)) || Expr<bool>(Scalar<bool>(false).ref);
    else if constexpr (std::is_same_v<T, index_t>)
      return Expr<T>(Index(random.between(-6, 6)).ref);
    else
      return Expr<T>(Scalar<T>(T(static_cast<float>(random.between(-6, 6)))).ref);
  }

  template <class T> Expr<T> leaf() {
    if constexpr (std::is_same_v<T, f32>) {
      switch (random.below(7)) {
      case 0:
        if (!from.rows.empty())
          return broadcast_rows(random.of(from.rows));
        break;
      case 1:
        if (!from.cols.empty())
          return broadcast_cols(random.of(from.cols));
        break;
      case 2:
        if (!from.scalars.empty())
          return Expr<f32>(random.of(from.scalars).ref);
        break;
      case 3:
        if (from.vector)
          return from.vector->gather(position(from.vector->size(0)));
        break;
      case 4:
        if (from.matrix)
          return from.matrix->gather(position(from.matrix->size(0)),
                                     position(from.matrix->size(1)));
        break;
      case 5:
        return literal<f32>();
      default:
        break;
      }
      if (!from.floats.empty())
        return random.of(from.floats) + 0.0f;
    } else if constexpr (std::is_same_v<T, f16>) {
      if (!from.halves.empty() && random.chance(70))
        return random.of(from.halves) + f16(0.0f);
    } else if constexpr (std::is_same_v<T, i32>) {
      if (from.ids && random.chance(25))
        return from.ids->gather(position(from.ids->size(0)));
      if (!from.ints.empty() && random.chance(70))
        return random.of(from.ints) + 0;
    } else if constexpr (std::is_same_v<T, index_t>) {
      if (!from.indices.empty() && random.chance(30))
        return Expr<index_t>(random.of(from.indices).ref);
      return ownIndex();
    }
    return literal<T>();
  }

  /// The element's own row or column.
  Expr<index_t> ownIndex() {
    if (from.floats.empty())
      return literal<index_t>();
    const Tile<f32, 2> &tile = random.of(from.floats);
    int64_t kind = random.below(3);
    return kind == 0 ? row(tile) : kind == 1 ? col(tile) : index(tile, int(random.below(2)));
  }

  /// An index along a dimension: inside, unless faults are wanted.
  Expr<index_t> position(const Index &size) {
    Expr<index_t> any = random.chance(50) ? ownIndex() : value<index_t>(1);
    if (kinds == Kinds::All && random.chance(30))
      return any;
    return max(min(any, size - 1), 0);
  }

  Expr<bool> condition(int depth) {
    switch (random.below(4)) {
    case 0:
      return value<bool>(depth - 1) && value<bool>(depth - 1);
    case 1:
      return value<bool>(depth - 1) || value<bool>(depth - 1);
    case 2:
      return !value<bool>(depth - 1);
    default:
      break;
    }
    switch (random.below(4)) {
    case 0:
      return compare<i32>(depth);
    case 1:
      return compare<index_t>(depth);
    case 2:
      return compare<f16>(depth);
    default:
      return compare<f32>(depth);
    }
  }

  template <class T> Expr<bool> compare(int depth) {
    Expr<T> a = value<T>(depth - 1), b = value<T>(depth - 1);
    switch (random.below(6)) {
    case 0:
      return a == b;
    case 1:
      return a != b;
    case 2:
      return a < b;
    case 3:
      return a <= b;
    case 4:
      return a > b;
    default:
      return a >= b;
    }
  }

  template <class To> Expr<To> converted(int depth) {
    switch (random.below(4)) {
    case 0:
      return cast<To>(value<i32>(depth - 1));
    case 1:
      return cast<To>(value<index_t>(depth - 1));
    case 2:
      return cast<To>(value<f16>(depth - 1));
    default:
      return cast<To>(value<f32>(depth - 1));
    }
  }

  template <class T> Expr<T> number(int depth) {
    switch (random.below(6)) {
    case 0:
      return where(value<bool>(depth - 1), value<T>(depth - 1), value<T>(depth - 1));
    case 1:
      return converted<T>(depth);
    case 2:
      return random.chance(50) ? -value<T>(depth - 1) : abs(value<T>(depth - 1));
    default:
      break;
    }
    Expr<T> a = value<T>(depth - 1), b = value<T>(depth - 1);
    switch (random.below(5)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return min(a, b);
    default:
      break;
    }
    if constexpr (detail::isFloating<T>) {
      switch (random.below(6)) {
      case 0:
        return floor(a);
      case 1:
        return ceil(a);
      case 2:
        return round(a);
      case 3:
        return sqrt(a);
      case 4:
        if (kinds == Kinds::All)
          return a % b;
        return max(a, b);
      default:
        return a / b;
      }
    } else {
      // Division by zero, and one that does not fit, is a fault.
      bool faults = kinds == Kinds::All && random.chance(20);
      switch (random.below(6)) {
      case 0:
        return a & b;
      case 1:
        return a | b;
      case 2:
        return a ^ b;
      case 3:
        return faults ? a / b : a / max(b & 7, 1);
      case 4:
        return faults ? a % b : a % max(b & 7, 1);
      default:
        return max(a, b);
      }
    }
  }

  Random &random;
  const Operands &from;
  Kinds kinds;
};

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_EXPRESSIONS_H
