//===- TestData.h - Arguments made from a signature, and their comparison -*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact data are small integers, so that every order of summation gives the same
// bits and results can be compared for equality. Random data use all bits of the
// elements; their bound follows from the longest sum. The magnitude of both varies
// from stripe to stripe of rows. Inputs with a range have values of that range.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_INPUTS_TESTDATA_H
#define PENSTOCK_TESTING_INPUTS_TESTDATA_H

#include "Testing/Inputs/InputRanges.h"

#include <optional>

namespace penstock {

/// The name of a size: from the signature, or else "A0" for the first of `A`.
std::string sizeName(const ArgumentDescription &argument, int dim);
/// A size that the signature states as a number.
std::optional<int64_t> asNumber(const std::string &size);
/// Returns whether a size occurs in inputs only: kernels sum along it.
bool isReduced(const std::vector<ArgumentDescription> &descriptions, const std::string &size);
int64_t longestReduction(const std::vector<ArgumentDescription> &descriptions,
                         const MadeArguments &made);

/// Makes arguments whose inputs have the described values.
MadeArguments makeArguments(const std::vector<ArgumentDescription> &descriptions,
                            const Shape &shape, Data data, uint64_t seed,
                            const InputRanges &ranges);

/// "exact" or "random".
const char *nameOf(Data data);

/// Half the distance between neighbors, relative to the larger; 0 for integers.
double unitOf(Element element);
size_t elementsOf(const detail::Argument &tensor);
/// Fills a tensor that is only written with a value that results rarely have.
void markOutput(detail::Argument &tensor);
/// The same values in memory of their own.
MadeArguments copyOf(const MadeArguments &from);

/// Expected results, and their tolerance.
struct ExpectedResults : MadeArguments {
  ExpectedResults(MadeArguments made, Tolerance tolerance = {})
      : MadeArguments(std::move(made)), tolerance(tolerance) {}
  /// Returns whether results of such data must be bit-identical.
  bool isExact(Data data) const { return data == Data::Exact && tolerance.of_largest == 0; }
  Tolerance tolerance;
};

struct Difference {
  size_t elements = 0;
  std::string first; ///< the first of them, in words
};
Difference compareResults(const std::vector<ArgumentDescription> &descriptions,
                          const MadeArguments &got, const ExpectedResults &want, Data data);

} // namespace penstock

#endif // PENSTOCK_TESTING_INPUTS_TESTDATA_H
