//===- view.h - Views of the caller's tensors -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_VIEW_H
#define PENSTOCK_VIEW_H

#include "penstock/elements.h"

#include <array>
#include <cstddef>

namespace penstock {

/// Non-owning tensor. Sizes and strides are in elements.
template <class T, int R> struct TensorView {
  T *data = nullptr;
  std::array<int64_t, R> sizes = {};
  std::array<int64_t, R> strides = {};
  /// Set for tensors of frameworks that are known to be on a GPU.
  bool on_gpu = false;

  TensorView() = default;
  TensorView(T *first, std::array<int64_t, R> extents, std::array<int64_t, R> steps)
      : data(first), sizes(extents), strides(steps) {}
  /// Converts a view of T to a view of const T.
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  TensorView(const TensorView<U, R> &other)
      : data(other.data), sizes(other.sizes), strides(other.strides), on_gpu(other.on_gpu) {}
  template <class U, int S>
    requires(S != R || !std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>>)
  PENSTOCK_MISUSE("the tensor's element type or rank is not that of the kernel's parameter")
  TensorView(const TensorView<U, S> &);
  template <class U>
    requires(std::is_same_v<U, const T>)
  PENSTOCK_MISUSE("the kernel writes this tensor: it must not be const")
  TensorView(const TensorView<U, R> &);
};

/// Returns a view of a contiguous tensor at \p data.
template <class T, size_t R> TensorView<T, int(R)> view(T *data, const int64_t (&sizes)[R]) {
  TensorView<T, int(R)> result{data, {}, {}};
  uint64_t stride = 1; // wraps if the sizes are absurd; the launch rejects them
  for (size_t d = R; d-- > 0;) {
    result.sizes[d] = sizes[d];
    result.strides[d] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(sizes[d]);
  }
  return result;
}

/// Returns a view of a container with data(), e.g. std::vector.
template <class C, size_t R>
  requires requires(C &c) { c.data(); }
auto view(C &container, const int64_t (&sizes)[R]) {
  return view(container.data(), sizes);
}

/// Returns a view with explicit strides; the last one must be 1.
template <class T, size_t R>
TensorView<T, int(R)> view(T *data, const int64_t (&sizes)[R], const int64_t (&strides)[R]) {
  TensorView<T, int(R)> result = view(data, sizes);
  for (size_t d = 0; d < R; ++d)
    result.strides[d] = strides[d];
  return result;
}

} // namespace penstock

#endif // PENSTOCK_VIEW_H
