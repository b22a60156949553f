//===- Signature.h - "A[M,K], B[N,K] -> C[M,N]" -----------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A signature names a kernel's arguments, in order, and their sizes. The arrow
// may stand anywhere between arguments; it is for the reader. A scalar is a
// bare name. A size is a name, equal wherever it occurs, or a number. After its
// sizes an input may describe its values, for tests:
//
//   lengths[B] in 1..N*L      integers of an inclusive range
//   starts[S] in 0..T ascending
//   order[N] permutation      in 0..N-1 unless a range is stated
//   rows[G] in 0..T partition at least 0, with the sum T
//
// A bound is a sum of products of integers, sizes and integer scalars.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_SIGNATURE_H
#define PENSTOCK_DIALECT_TILE_SIGNATURE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Sum of products of integers and names: "N*L-1".
struct SizeExpression {
  struct Term {
    int64_t factor = 1;
    std::vector<std::string> names;
  };
  std::vector<Term> terms;

  /// Evaluates with the values of names; no value if a name has none or the result
  /// overflows.
  std::optional<int64_t>
  evaluate(const std::function<std::optional<int64_t>(const std::string &)> &valueOf) const;
  std::vector<std::string> names() const;
};

/// Description of an input's values: "1..N ascending".
struct InputValues {
  enum Order : uint8_t {
    Any,
    Ascending,   ///< along the last dimension, from the lower bound to the upper
    Permutation, ///< of consecutive integers, along the last dimension
    Partition    ///< at least the lower bound; the upper bound is the sum of all
  };
  bool ranged = false; ///< has bounds
  SizeExpression lower, upper;
  Order order = Any;
  std::string text; ///< as it was written; empty: not described
};

struct SignatureArgument {
  std::string name;
  bool tensor = false;
  std::vector<std::string> sizes;
  InputValues values = {};
};

struct Signature {
  std::vector<SignatureArgument> arguments;
  std::string error; ///< empty if the text could be read
};

Signature parseSignature(std::string_view text);

/// Reads a description of values, without `in`: "1..N ascending". Errors are returned in
/// \p error.
InputValues parseInputValues(std::string_view text, std::string &error);
/// Returns the error in a description of an argument of \p signature; empty: none.
std::string checkInputValues(const Signature &signature, const InputValues &values, bool integer,
                             bool tensor);

} // namespace penstock

#endif // PENSTOCK_DIALECT_TILE_SIGNATURE_H
