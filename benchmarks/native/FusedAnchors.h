//===- FusedAnchors.h - Libraries beside fused kernels ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same as Anchors.h for kernels that do more than one product. The module with oneDNN
// and MKL has this interface too, and a second one has it for torch.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_NATIVE_FUSEDANCHORS_H
#define PENSTOCK_BENCHMARKS_NATIVE_FUSEDANCHORS_H

#include <cstdint>
#include <cstdio>

namespace bench {

/// Tensors are row-major and, if nothing else is stated, of bf16.
enum class FusedKind : int32_t {
  LinearGelu, ///< x[m,k], w[k,n], bias[n] -> y[m,n], the GELU with erf
  Weights,    ///< x[m,k], w[k,n] of i8, scales[k / group,n] -> y[m,n]
  WeightsI4,  ///< the same with w from -8 to 7, which libraries pack in 4 bits
  Attention,  ///< q[heads,m,k], keys[heads,n,k], values[heads,n,k] -> y[heads,m,k], not causal
  RmsNorm,    ///< x[m,n], weight[n] -> y[m,n], epsilon 1e-5
  Softmax     ///< x[m,n] -> y[m,n] of f32
};

struct FusedProblem {
  FusedKind kind;
  int64_t heads, m, n, k, group;
  const void *inputs[3];
  void *result;
  int32_t threads;
};

struct FusedAnchor {
  /// Packs weights as the library likes it best. Null: the library has no such kernel.
  void *(*prepare)(const FusedProblem *);
  const char *(*name)(void *); ///< with its version, and the kernel where the library tells
  void (*run)(void *);
  void (*finish)(void *); ///< stores the result of the last run in FusedProblem::result
  void (*release)(void *);
};

/// Name of the function that returns the anchor of a module.
constexpr const char *fusedAnchorFunction = "penstock_fused_anchor";
using FusedAnchorFunction = const FusedAnchor *(*)();

/// The functions of an anchor whose state is a class with the members name, run and finish.
template <class Library, class Failure> FusedAnchor fusedAnchor() {
  return {[](const FusedProblem *problem) -> void * {
            try {
              return new Library(*problem);
            } catch (const Failure &failure) {
              std::fprintf(stderr, "not compared: %s\n", failure.what());
              return nullptr;
            }
          },
          [](void *library) { return static_cast<Library *>(library)->name.c_str(); },
          [](void *library) { static_cast<Library *>(library)->run(); },
          [](void *library) { static_cast<Library *>(library)->finish(); },
          [](void *library) { delete static_cast<Library *>(library); }};
}

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_NATIVE_FUSEDANCHORS_H
