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

#include <string_view>
#include <vector>

namespace penstock {

/// Completion time of asynchronous copies and products on the CPU. A correctly
/// synchronized kernel computes the same results with all of them.
enum class Completion : uint8_t {
  Eager,  ///< immediately
  Latest, ///< as late as the waits allow
  Random  ///< at a random time in between, chosen by the seed
};

struct LaunchOptions {
  Completion completion = Completion::Eager;
  uint64_t seed = 0;
  /// Number of CPU threads; 0: all hardware threads.
  int threads = 0;
  /// Receives output of `print`; empty: standard output.
  Callback<std::string_view> print = {};
  /// GPU only: bytes of the buffer that holds the output of `print` until the launch ends.
  /// Lines that do not fit are counted, and the last line of the output is their number.
  uint64_t print_bytes = uint64_t(1) << 22;
  /// Emulator only: warp of each cluster, counted through its blocks, that runs only when
  /// no other warp and no engine can; negative: none. A correctly synchronized kernel
  /// computes the same results.
  int starved_warp = -1;
};

namespace detail {

/// Type-erased argument of a launch.
struct Argument {
  bool tensor = false;
  Element element = Element::f32;
  void *data = nullptr;              ///< tensors
  std::vector<int64_t> sizes = {};   ///< tensors, in elements
  std::vector<int64_t> strides = {}; ///< tensors, in elements
  uint64_t scalar = 0;               ///< scalars: the value's bits
};

} // namespace detail
} // namespace penstock

#endif // PENSTOCK_LAUNCH_H
