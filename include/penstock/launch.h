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

/// When asynchronous copies and products take effect on the CPU. A kernel whose
/// waits are right gives the same results under all of them.
enum class Completion : uint8_t {
  Eager,  ///< at once
  Latest, ///< as late as the waits allow
  Random  ///< at any moment in between, chosen by the seed
};

struct LaunchOptions {
  Completion completion = Completion::Eager;
  uint64_t seed = 0;
  /// Threads to run blocks on; 0: as many as the machine has.
  int threads = 0;
  /// Receives what the kernel prints; empty: standard output.
  Callback<std::string_view> print = {};
  /// On the emulator: a warp of each cluster, counted through its blocks, that runs only
  /// when no other warp and no engine can; negative: none. A kernel whose
  /// synchronization is right gives the same results.
  int starved_warp = -1;
};

namespace detail {

/// One argument of a launch without its C++ type.
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
