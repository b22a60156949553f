//===- Iterations.h - Numbers of iterations in code -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_ITERATIONS_H
#define PENSTOCK_RUNTIME_ITERATIONS_H

#include <cstdint>

namespace penstock {

/// Passed to a wait that ends everything under its name, whenever it was issued.
constexpr int64_t allIterations = INT64_MAX;

} // namespace penstock

#endif // PENSTOCK_RUNTIME_ITERATIONS_H
