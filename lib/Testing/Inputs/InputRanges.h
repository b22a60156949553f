//===- InputRanges.h - Values that inputs may have --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of an input are described by the caller of check, by the kernel's signature, or
// inferred from the program, in this order. Integers that are indices have the valid
// coordinates as their range, and lengths, which bound loops over coordinates, begin at 1.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_INPUTS_INPUTRANGES_H
#define PENSTOCK_TESTING_INPUTS_INPUTRANGES_H

#include "Dialect/Tile/Signature.h"
#include "Testing/Inputs/ProgramFacts.h"
#include "penstock/check.h"

#include <optional>

namespace penstock {

/// Inclusive range of an input's values for one shape.
struct InputRange {
  double lower = 0, upper = 0;
  InputValues::Order order = InputValues::Any;
};

/// Reads "lengths=1..N": a name and a description. Returns an error text, or "".
std::string splitInput(const std::string &text, std::string &name, InputValues &values);

class InputRanges {
public:
  InputRanges() = default;
  /// \p stated: descriptions by the caller, as splitInput reads them. Errors are added to
  /// \p diagnostics.
  InputRanges(const std::vector<ArgumentDescription> &arguments, const std::string &signature,
              const ProgramFacts &facts, const std::vector<std::string> &stated,
              std::vector<Diagnostic> &diagnostics);

  /// Returns the range of an argument; no value if it has none.
  std::optional<InputRange> rangeOf(size_t argument, const Shape &shape) const;
  /// Returns the shape with values for described scalars that it does not set: the upper bound,
  /// and for odd \p number the middle of the range.
  Shape withScalars(Shape shape, size_t number = 0) const;
  /// Returns why a shape has no valid inputs; empty: it has.
  std::string emptyFor(const Shape &shape) const;
  /// Lists all ranges and where they come from: "`table` in 0..P-1 (inferred)".
  std::string text() const;

private:
  enum class Source : uint8_t { None, Stated, Signature, Inferred };
  struct Input {
    Source source = Source::None;
    InputValues values; ///< unless inferred
    ProgramFacts::Indices indices;
  };
  std::optional<InputRange> inferred(const Input &input, const Shape &shape) const;
  std::string inferredText(const Input &input) const;

  std::vector<ArgumentDescription> arguments;
  std::vector<Input> inputs;
};

} // namespace penstock

#endif // PENSTOCK_TESTING_INPUTS_INPUTRANGES_H
