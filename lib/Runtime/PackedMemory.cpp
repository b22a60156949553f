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
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace penstock::detail {

PackedMemory::PackedMemory(const void *data, int64_t rows, int64_t columns, int64_t rowStride,
                           int64_t columnStride, int64_t elementBytes, int64_t group) {
  constexpr size_t largePage = size_t(2) << 20;
  int64_t groups = (std::max<int64_t>(rows, 0) + group - 1) / group;
  int64_t panels = (std::max<int64_t>(columns, 0) + panelColumns - 1) / panelColumns;
  size_t bytes = static_cast<size_t>(panels * groups * panelColumns * group * elementBytes);
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
  if (group * elementBytes == groupBytes) {
    packPanels({data, rows, columns, rowStride, columnStride, elementBytes}, memory, groups);
    return;
  }
  // Bytes in groups of two: packed as elements of two bytes, of which one remains.
  std::vector<uint16_t> wide(static_cast<size_t>(rows * columns)),
      panelsOfWide(static_cast<size_t>(panels * groups * panelColumns * group));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      wide[size_t(row * columns + column)] =
          static_cast<const uint8_t *>(data)[row * rowStride + column * columnStride];
  packPanels({wide.data(), rows, columns, columns, 1, 2}, panelsOfWide.data(), groups);
  std::transform(panelsOfWide.begin(), panelsOfWide.end(), static_cast<uint8_t *>(memory),
                 [](uint16_t element) { return uint8_t(element); });
}

PackedMemory::~PackedMemory() { std::free(memory); }

} // namespace penstock::detail
