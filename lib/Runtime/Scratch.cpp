//===- Scratch.cpp - Memory for the tiles of a block ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/Scratch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace penstock {
namespace {

constexpr size_t largePage = size_t(2) << 20;
/// A thread returns larger memory when its block ends.
constexpr size_t keptBytes = size_t(64) << 20;

/// Filled with a pattern that is NaN for every floating-point type, so that a first block that
/// reads what nothing wrote is seen; also, the thread that uses the memory touches it first.
char *allocate(size_t bytes) {
  size_t alignment = bytes >= largePage / 4 ? largePage : 64;
  bytes = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  auto *memory = static_cast<char *>(std::aligned_alloc(alignment, bytes));
  if (!memory)
    return nullptr;
#ifdef __linux__
  if (alignment == largePage)
    madvise(memory, bytes, MADV_HUGEPAGE); // slower without, but correct
#endif
  std::memset(memory, 0xff, bytes);
  return memory;
}

struct Kept {
  ~Kept() { std::free(memory); }
  char *memory = nullptr;
  size_t bytes = 0;
  bool inUse = false;
};
thread_local Kept kept;

} // namespace

Scratch::Scratch(size_t bytes) {
  own = kept.inUse || bytes > keptBytes;
  if (own) {
    memory = allocate(bytes);
    return;
  }
  if (!kept.memory || kept.bytes < bytes) {
    std::free(kept.memory);
    kept.memory = allocate(bytes);
    kept.bytes = kept.memory ? bytes : 0;
  }
  memory = kept.memory;
  kept.inUse = memory != nullptr;
}

Scratch::~Scratch() {
  if (own)
    std::free(memory);
  else if (memory)
    kept.inUse = false;
}

} // namespace penstock
