//===- Anchors.h - Libraries that products are compared with ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// benchmarks/install-anchors builds a shared library with this interface against oneDNN
// and MKL, and benchmarks open it if it is there. The project itself needs neither.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_ANCHORS_H
#define PENSTOCK_BENCHMARKS_NATIVE_ANCHORS_H

#include <cstdint>

namespace bench {

enum class AnchorType : int32_t { Bf16, I8, F32, F16 };

/// C = A B: A is M x K and B is K x N, both row-major; C is f32, or i32 for i8.
struct AnchorProblem {
  AnchorType type;
  int64_t m, n, k;
  const void *a, *b;
  void *c;
  int32_t threads;
};

struct Anchor {
  const char *name; ///< with its version
  /// Packs B as the library likes it best. Null: the library has no such product.
  void *(*prepare)(const AnchorProblem *);
  void (*run)(void *);
  void (*release)(void *);
};

/// Name of the function that returns all anchors of the library and their number.
constexpr const char *anchorsFunction = "penstock_anchors";
using AnchorsFunction = const Anchor *(*)(int32_t *count);

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_ANCHORS_H
