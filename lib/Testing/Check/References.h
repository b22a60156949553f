//===- References.h - References of kernels ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TESTING_CHECK_REFERENCES_H
#define PENSTOCK_TESTING_CHECK_REFERENCES_H

#include "penstock/check.h"

#include <optional>

namespace penstock {

/// The reference that was registered last for a kernel of this name.
std::optional<detail::Reference> referenceFor(const std::string &kernel);

} // namespace penstock

#endif // PENSTOCK_TESTING_CHECK_REFERENCES_H
