//===- PackedMemory.cpp - Memory of packed operands -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/PackPanels.h"
#include "penstock/pack.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace penstock::detail {

PackedMemory::PackedMemory(const void *data, int64_t rows, int64_t columns, int64_t rowStride,
                           int64_t columnStride, int64_t elementBytes) {
  constexpr size_t largePage = size_t(2) << 20;
  int64_t inGroup = groupBytes / elementBytes;
  int64_t groups = (std::max<int64_t>(rows, 0) + inGroup - 1) / inGroup;
  int64_t panels = (std::max<int64_t>(columns, 0) + panelColumns - 1) / panelColumns;
  size_t bytes = static_cast<size_t>(panels * groups * panelRowBytes);
  if (!bytes)
    return;
  size_t alignment = bytes >= largePage ? largePage : 64;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  memory = std::aligned_alloc(alignment, bytes);
  if (!memory)
    throw std::bad_alloc();
#ifdef __linux__
  if (alignment == largePage)
    madvise(memory, bytes, MADV_HUGEPAGE); // slower without, but correct
#endif
  packPanels({data, rows, columns, rowStride, columnStride, elementBytes}, memory, groups);
}

PackedMemory::~PackedMemory() { std::free(memory); }

} // namespace penstock::detail
