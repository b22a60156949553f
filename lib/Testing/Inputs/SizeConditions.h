//===- SizeConditions.h - Sizes and scalars that a kernel requires -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conditions of `b.require` that only depend on sizes and integer scalars, and implicit ones:
// divisors are positive, and a size that is divided by another is at least twice it, and a
// multiple. Shapes that check chooses satisfy them.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_INPUTS_SIZECONDITIONS_H
#define PENSTOCK_TESTING_INPUTS_SIZECONDITIONS_H

#include "Testing/Check/TestedProgram.h"

#include <set>

namespace penstock {

class SizeConditions {
public:
  SizeConditions(std::shared_ptr<TestedProgram> program,
                 const std::vector<ArgumentDescription> &arguments);
  ~SizeConditions();
  SizeConditions(SizeConditions &&) noexcept;

  /// Returns whether a kernel accepts a shape.
  bool hold(const Shape &shape) const;
  /// Changes sizes and scalars so that all conditions hold. Names in \p fixed keep their values.
  /// Returns false, with the shape unchanged, if no solution is found.
  bool satisfy(Shape &shape, const std::set<std::string> &fixed) const;
  /// Returns a shape that a kernel accepts and that differs from \p shape in one size or scalar,
  /// with the smallest value for which \p values, after their computation for the shape, are \p
  /// enough. None: no such shape is found, or a value depends on more than sizes and integer
  /// scalars.
  std::optional<Shape> enlarged(const Shape &shape, llvm::ArrayRef<mlir::Value> values,
                                llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> enough) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace penstock

#endif // PENSTOCK_TESTING_INPUTS_SIZECONDITIONS_H
