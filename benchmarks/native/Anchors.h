//===- Anchors.h - Libraries that products are compared with ----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// benchmarks/install-anchors builds a module with this interface for each library, and
// benchmarks open those that are there. The project itself needs none.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_ANCHORS_H
#define PENSTOCK_BENCHMARKS_NATIVE_ANCHORS_H

#include <cstdint>
#include <cstdio>

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

/// Name of the function that returns the anchor of a module.
constexpr const char *anchorFunction = "penstock_anchor";
using AnchorFunction = const Anchor *(*)();

/// The functions of an anchor whose state is a class with the member run.
template <class Library, class Failure> Anchor anchor(const char *name) {
  return {name,
          [](const AnchorProblem *problem) -> void * {
            try {
              return new Library(*problem);
            } catch (const Failure &failure) {
              std::fprintf(stderr, "not compared: %s\n", failure.what());
              return nullptr;
            }
          },
          [](void *library) { static_cast<Library *>(library)->run(); },
          [](void *library) { delete static_cast<Library *>(library); }};
}

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_ANCHORS_H
