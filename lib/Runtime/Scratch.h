//===- Scratch.h - Memory for the tiles of a block --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_SCRATCH_H
#define PENSTOCK_RUNTIME_SCRATCH_H

#include <cstddef>

namespace penstock {

/// Memory for one block on this thread, aligned to cache lines. A thread keeps its memory for
/// later blocks and launches: to allocate and touch it takes longer than many kernels. What a
/// block finds in it is unspecified.
class Scratch {
public:
  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  /// Null if there is no memory.
  char *data() const { return memory; }

private:
  char *memory = nullptr;
  bool own = false; ///< a kernel that runs within another one has its own
};

} // namespace penstock

#endif // PENSTOCK_RUNTIME_SCRATCH_H
