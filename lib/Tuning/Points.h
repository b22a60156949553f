//===- Points.h - Points of a space for tuning ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TUNING_POINTS_H
#define PENSTOCK_TUNING_POINTS_H

#include "Diagnostics/Diagnostic.h"
#include "penstock/tune.h"

#include <memory>

namespace penstock::tuning {

using FieldTexts = std::vector<std::pair<std::string, std::string>>;

/// All points of a kernel's space, in the order of its axes, the last one fastest. The
/// kernel as it is given comes last if no point equals it.
class Points {
public:
  /// Larger spaces are refused.
  static constexpr size_t most = 200000;

  explicit Points(const detail::TunableKernel &kernel);

  /// Errors of the space.
  const std::vector<Diagnostic> &diagnostics() const { return problems; }
  size_t size() const { return count + (hasOther ? 1 : 0); }
  /// The number of the kernel as it is given.
  size_t defaultPoint() const { return given; }

  /// A kernel with the fields of a point.
  std::shared_ptr<void> make(size_t point) const;
  FieldTexts fields(size_t point) const;
  /// Returns whether the conditions of the space hold.
  bool allowed(const void *kernel) const;
  detail::KernelSource source(const void *kernel) const;

  /// Names of all fields in the order of the axes. Those of fields that are not registered
  /// are made up from their offsets.
  const std::vector<std::string> &names() const { return fieldNames; }
  /// The number of the point with these values, in the order of names().
  std::optional<size_t> find(const std::vector<std::string> &values) const;
  /// Axes, values, defaults and excluded points; does not depend on names.
  std::string text() const;
  const detail::TunableKernel &kernel() const { return tunable; }

private:
  std::vector<size_t> choicesOf(size_t point) const;
  std::vector<std::string> valuesOf(size_t point) const;
  void findNames();

  const detail::TunableKernel &tunable;
  size_t count = 1;
  size_t given = 0;
  bool hasOther = false;
  std::vector<std::string> fieldNames, defaults;
  std::vector<Diagnostic> problems;
};

/// "block_m=64 stages=3".
std::string textOf(const FieldTexts &fields);

/// Adds the names of fields if a kernel of this name is registered.
void addFieldNames(detail::TunableKernel &kernel);

/// The registered kernel of this name with its space, or nothing.
std::optional<detail::TunableKernel> findTunable(const std::string &name,
                                                 std::vector<Diagnostic> &diagnostics);

} // namespace penstock::tuning

#endif // PENSTOCK_TUNING_POINTS_H
