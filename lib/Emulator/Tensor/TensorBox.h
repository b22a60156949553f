//===- TensorBox.h - Bytes that a tensor copy moves -------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A box is cut into rows along the innermost dimension. Each row knows its offset in the packed
// box and, as far as it lies inside of the tensor, its bytes in global memory; bytes outside are
// filled by loads and skipped by stores. The swizzle is applied to absolute addresses of shared
// memory.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_EMULATOR_TENSOR_TENSORBOX_H
#define PENSTOCK_EMULATOR_TENSOR_TENSORBOX_H

#include "Emulator/AsyncCopy.h"
#include "Emulator/Tensor/TensorMap.h"

#include <algorithm>

namespace penstock::emu {

/// One row of the box.
struct BoxRow {
  uint64_t global = 0; ///< address of the first byte inside of the tensor
  uint32_t box = 0;    ///< offset of that byte in the packed box
  uint32_t bytes = 0;  ///< bytes inside of the tensor
};

/// Types of less than a byte may be padded: 16 elements in the low bytes of 16.
/// The number of these bytes, or 0 for types that are not padded.
inline uint32_t paddedPayload(const TensorMap &map) {
  return map.dataType == 14 ? 8 : map.dataType == 15 ? 12 : 0;
}

struct TensorBox {
  TensorMap map;
  uint32_t boxBytes = 0; ///< in shared memory
  uint32_t rowBytes = 0;
  std::vector<BoxRow> rows; ///< only those with bytes inside
  bool whole = false;       ///< nothing lies outside

  AsyncWork work(AsyncWork::Engine engine) const {
    AsyncWork work = plainCopy(engine, boxBytes);
    if (rowBytes)
      work.rows = uint64_t(boxBytes / rowBytes) * ((rowBytes + 127) / 128);
    return work;
  }

  /// Calls fn(address in shared memory, offset in the row's bytes, bytes) for the
  /// parts of \p row that stay together in a box at \p start.
  template <class Fn> void forParts(uint32_t start, const BoxRow &row, Fn &&fn) const {
    uint32_t payload = paddedPayload(map);
    for (uint32_t done = 0; done < row.bytes;) {
      uint32_t linear = start + row.box + (payload ? done / payload * 16 : done);
      uint32_t n = std::min(row.bytes - done, payload ? payload : 16 - linear % 16);
      fn(swizzleAddress(linear, map.swizzle), done, n);
      done += n;
    }
  }
};

/// Coordinates of a copy.
struct BoxPosition {
  unsigned rank = 1;
  bool gather = false; ///< rows named one by one: the second coordinate of four boxes of one row
  bool image = false;  ///< im2col
  int64_t at[5] = {};
  uint32_t offsets[3] = {}; ///< im2col: added to the coordinates of the pixels
};

/// Reads the map that \p address points to.
bool readTensorMap(Exec &ex, unsigned lane, uint64_t address, TensorMap &map);

/// Lays out the box of \p box.map at \p position; reports and returns false if it is not legal.
bool layOutBox(Exec &ex, const BoxPosition &position, TensorBox &box);

/// Finds the global memory of all rows.
bool resolveRows(Exec &ex, unsigned lane, const TensorBox &box, std::vector<MemRef> &refs);

} // namespace penstock::emu

#endif // PENSTOCK_EMULATOR_TENSOR_TENSORBOX_H
