//===- launch.h - Launches as plain data ------------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_LAUNCH_H
#define PENSTOCK_LAUNCH_H

#include "penstock/callback.h"
#include "penstock/elements.h"

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace penstock {
namespace gpu {

/// CUDA stream: a CUstream or cudaStream_t, which are the same pointer. Kernels launched
/// on a framework's stream are ordered with the framework's work.
class Stream {
public:
  /// No stream: a launch runs the kernel and waits for it.
  constexpr Stream() = default;
  /// The stream \p handle; null is CUDA's default stream. A launch enqueues the kernel
  /// and returns.
  constexpr Stream(void *handle) : stream(handle), isGiven(true) {}
  /// Returns the `cudaStream_t`.
  constexpr void *handle() const { return stream; }
  /// Returns whether the caller chose a stream.
  constexpr bool given() const { return isGiven; }

private:
  void *stream = nullptr;
  bool isGiven = false;
};

} // namespace gpu

/// Completion time of asynchronous copies and matmuls on the CPU. A correctly
/// synchronized kernel computes the same results with all of them.
enum class Completion : uint8_t {
  Eager,  ///< immediately
  Latest, ///< as late as the waits allow
  Random  ///< at a random time in between, chosen by the seed
};

/// Runs tasks on threads of the caller's choice: calls the function with every number below
/// the first argument, on any threads and in any order, and returns when all calls have
/// returned. Tasks do not wait for each other: the calling thread may run all of them.
using Executor = Callback<int, const Callback<int> &>;

struct LaunchOptions {
  Completion completion = Completion::Eager;
  uint64_t seed = 0;
  /// Number of CPU threads; 0: all that the process may use.
  int threads = 0;
  /// CPU only: runs blocks on the user's thread pool, in `threads` tasks that share them.
  /// Default: the library's threads.
  Executor executor = {};
  /// Receives output of `print`; empty: standard output.
  Callback<std::string_view> print = {};
  /// Emulator only: warp of each cluster, counted through its blocks, that runs only when
  /// no other warp and no engine can; negative: none. A correctly synchronized kernel
  /// computes the same results.
  int starved_warp = -1;
  /// GPU only: enqueues the kernel on this stream.
  gpu::Stream stream = {};
  /// GPU only: bytes of the buffer that holds the output of `print` until the launch ends.
  /// The last line of the output reports the number of lines that did not fit.
  uint64_t print_bytes = uint64_t(1) << 22;
  /// GPU only: the kernel may start before the previous kernel in the stream completes
  /// (programmatic dependent launch). It must call `wait_for_previous` before it accesses
  /// data that the previous kernel writes.
  bool overlap_previous = false;
};

namespace detail {

/// Sizes or strides of a tensor. Launches must not allocate, hence a fixed capacity.
class Extents {
public:
  static constexpr size_t capacity = 8;

  constexpr Extents() = default;
  template <class C, class = decltype(std::declval<const C &>().begin())>
  constexpr Extents(const C &list) {
    assign(list.begin(), list.end());
  }
  constexpr Extents(std::initializer_list<int64_t> list) { assign(list.begin(), list.end()); }
  /// Keeps the first `capacity` elements; the launch rejects tensors whose rank differs from
  /// the kernel's.
  template <class I> constexpr void assign(I first, I last) {
    for (count = 0; first != last && count < capacity; ++first)
      values[count++] = *first;
  }
  constexpr void assign(size_t size, int64_t value) {
    for (count = 0; count < size && count < capacity;)
      values[count++] = value;
  }
  constexpr void push_back(int64_t value) {
    if (count < capacity)
      values[count++] = value;
  }

  constexpr size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr const int64_t *data() const { return values; }
  constexpr int64_t *begin() { return values; }
  constexpr int64_t *end() { return values + count; }
  constexpr const int64_t *begin() const { return values; }
  constexpr const int64_t *end() const { return values + count; }
  constexpr int64_t &operator[](size_t i) { return values[i]; }
  constexpr int64_t operator[](size_t i) const { return values[i]; }
  constexpr int64_t back() const { return values[count - 1]; }
  friend constexpr bool operator==(const Extents &a, const Extents &b) {
    if (a.count != b.count)
      return false;
    for (size_t i = 0; i < a.count; ++i)
      if (a.values[i] != b.values[i])
        return false;
    return true;
  }

private:
  int64_t values[capacity] = {};
  size_t count = 0;
};

/// Type-erased argument of a launch.
struct Argument {
  bool tensor = false;
  Element element = Element::f32;
  void *data = nullptr; ///< tensors
  Extents sizes = {};   ///< tensors, in elements
  Extents strides = {}; ///< tensors, in elements
  uint64_t scalar = 0;  ///< scalars: the value's bits
  bool onGpu = false;   ///< tensors: known to be on a GPU
};

} // namespace detail
} // namespace penstock

#endif // PENSTOCK_LAUNCH_H
