//===- ShapeClasses.h - Shapes that share a record --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_SHAPECLASSES_H
#define PENSTOCK_TUNING_SHAPECLASSES_H

#include "Diagnostics/Diagnostic.h"
#include "penstock/check.h"

#include <map>
#include <optional>

namespace penstock::tuning {

using Sizes = std::map<std::string, int64_t>;

/// Reads "M:log2, N, K" and maps shapes to classes.
class ShapeClasses {
public:
  /// Sizes of the signature are checked. No text: all of them, each for itself.
  static std::optional<ShapeClasses> parse(const std::string &text, const std::string &signature,
                                           Loc at, std::vector<Diagnostic> &diagnostics);

  /// "M=2^12 N=4096"; no value, with the reason, if the shape lacks a size.
  std::optional<std::string> of(const Sizes &shape, std::vector<Diagnostic> &diagnostics) const;
  /// Distance of a shape from a class: the sum of differences of logarithms; infinite for
  /// what is not a class of this space.
  double distance(const Sizes &shape, const std::string &shapeClass) const;

private:
  struct Term {
    std::string size;
    bool log2 = false;
  };
  std::vector<Term> terms;
  Loc at;
};

/// Sizes of a shape as whole numbers; what is not one is left out.
Sizes sizesOf(const Shape &shape);
/// "M=4096,N=512".
std::string textOf(const Sizes &sizes);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_SHAPECLASSES_H
