//===- TensorBox.cpp - Bytes that a tensor copy moves ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Tensor/TensorBox.h"
#include "Diagnostics/Codes.h"

namespace penstock::emu {
namespace {

using ptx::Space;

/// A map that a kernel has edited must be ordered before its use, and acquired by
/// this block through the proxy that reads maps.
void checkEdited(Exec &ex, unsigned lane, const MemRef &ref) {
  if (!ex.grid.checks() || ref.space != Space::Global)
    return;
  uint64_t address = ref.allocation->base + ref.offset, edits = 0;
  {
    std::lock_guard<std::mutex> lock(ex.grid.state->mapMutex);
    auto found = ex.grid.state->mapEdits.find(address);
    if (found == ex.grid.state->mapEdits.end())
      return;
    edits = found->second;
  }
  checkAccess(ex, lane, ref, tensorMapBytes, Read);
  auto acquired = ex.cta.acquiredMaps.find(address);
  if (acquired == ex.cta.acquiredMaps.end() || acquired->second < edits)
    ex.report(EmuMissingProxyFence,
              "the tensor map was edited by a kernel, and this block has not acquired it with "
              "fence.proxy.tensormap::generic.acquire since");
}

/// Adds elements [from, to) of the innermost dimension, clipped, to row \p row of the box, where
/// they begin at element \p boxElement. Returns the bytes of the box that they fill.
uint64_t addRow(TensorBox &box, uint64_t address, uint64_t row, int64_t from, int64_t to,
                uint32_t boxElement) {
  const TensorMap &map = box.map;
  unsigned bits = tensorElementBits(map.dataType);
  uint32_t payload = paddedPayload(map);
  int64_t low = std::max<int64_t>(from, 0);
  int64_t high = std::min<int64_t>(to, int64_t(map.dims[0]));
  if (low >= high)
    return 0;
  BoxRow piece;
  piece.global = address + uint64_t(low) * bits / 8;
  uint64_t skipped = boxElement + uint64_t(low - from);
  piece.box = uint32_t(row * box.rowBytes + (payload ? skipped : skipped * bits / 8));
  piece.bytes = uint32_t(uint64_t(high - low) * bits / 8);
  box.rows.push_back(piece);
  return payload ? uint64_t(piece.bytes) * 16 / payload : piece.bytes;
}

constexpr uint64_t maxBoxBytes = 1 << 18;

bool refuseSize(Exec &ex) {
  ex.fatal(EmuTensorMap, "a box of more than 256 KiB");
  return false;
}

bool layOutTiles(Exec &ex, const BoxPosition &position, TensorBox &box) {
  const TensorMap &map = box.map;
  unsigned bits = tensorElementBits(map.dataType);
  bool padded = paddedPayload(map);
  uint32_t counts[5];
  for (unsigned d = 0; d < 5; ++d)
    counts[d] =
        d < position.rank ? (map.box[d] + map.elementStrides[d] - 1) / map.elementStrides[d] : 1;
  if (position.gather) {
    if (map.box[1] != 1) {
      ex.fatal(EmuTensorMap, "gather and scatter need a box of one row");
      return false;
    }
    counts[1] = 4;
  }
  uint32_t rowBytes = padded ? map.box[0] : uint32_t(uint64_t(counts[0]) * bits / 8);
  box.rowBytes = rowBytes;
  uint64_t rows = 1;
  for (unsigned d = 1; d < 5; ++d)
    rows *= counts[d];
  box.boxBytes = uint32_t(rows * rowBytes);
  if (rows * rowBytes > maxBoxBytes)
    return refuseSize(ex);
  uint64_t inside = 0;
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t rest = row;
    uint64_t address = map.base;
    bool out = false;
    for (unsigned d = 1; d < position.rank; ++d) {
      uint64_t index = rest % counts[d];
      rest /= counts[d];
      int64_t c = position.gather && d == 1
                      ? position.at[1 + index]
                      : position.at[d] + int64_t(index * map.elementStrides[d]);
      if (c < 0 || uint64_t(c) >= map.dims[d]) {
        out = true;
        break;
      }
      address += uint64_t(c) * map.strides[d];
    }
    if (out)
      continue;
    if (map.elementStrides[0] == 1)
      inside += addRow(box, address, row, position.at[0], position.at[0] + map.box[0], 0);
    else
      for (uint32_t i = 0; i < counts[0]; ++i) {
        int64_t c = position.at[0] + int64_t(uint64_t(i) * map.elementStrides[0]);
        inside += addRow(box, address, row, c, c + 1, i);
      }
  }
  box.whole = inside == box.boxBytes;
  return true;
}

/// Pixels follow each other along W, H, D and N. The coordinates name the first one; the others
/// begin again at the lower corner of the bounding box where they leave it.
bool layOutImage(Exec &ex, const BoxPosition &position, TensorBox &box) {
  const TensorMap &map = box.map;
  unsigned spatial = map.rank - 2;
  unsigned offsetBits = map.rank == 3 ? 16 : map.rank == 4 ? 8 : 5;
  int64_t pixel[4] = {}; // W, H, D as far as they exist, then N
  for (unsigned d = 0; d < spatial; ++d) {
    pixel[d] = position.at[d + 1];
    if (position.offsets[d] >> offsetBits) {
      ex.fatal(EmuTensorMap, "an im2col offset of a map of rank " + std::to_string(map.rank) +
                                 " must be below " + std::to_string(1u << offsetBits));
      return false;
    }
    if (pixel[d] < map.lower[d] || pixel[d] > map.lastPixel(d)) {
      ex.fatal(EmuTensorMap, "coordinate " + std::to_string(pixel[d]) + " of dimension " +
                                 std::to_string(d + 1) + " lies outside of the bounding box, " +
                                 std::to_string(map.lower[d]) + " to " +
                                 std::to_string(map.lastPixel(d)));
      return false;
    }
  }
  pixel[spatial] = position.at[map.rank - 1];
  box.rowBytes = paddedPayload(map)
                     ? map.box[0]
                     : uint32_t(uint64_t(map.box[0]) * tensorElementBits(map.dataType) / 8);
  box.boxBytes = map.pixels * box.rowBytes;
  if (box.boxBytes > maxBoxBytes)
    return refuseSize(ex);
  uint64_t inside = 0;
  for (uint32_t row = 0; row < map.pixels; ++row) {
    uint64_t address = map.base;
    bool out = false;
    for (unsigned d = 0; d <= spatial; ++d) {
      int64_t c = pixel[d] + (d < spatial ? int64_t(position.offsets[d]) : 0);
      out |= c < 0 || uint64_t(c) >= map.dims[d + 1];
      address += uint64_t(c) * map.strides[d + 1];
    }
    if (!out)
      inside += addRow(box, address, row, position.at[0], position.at[0] + map.box[0], 0);
    unsigned d = 0;
    for (; d < spatial; ++d) {
      pixel[d] += map.elementStrides[d + 1];
      if (pixel[d] <= map.lastPixel(d))
        break;
      pixel[d] = map.lower[d];
    }
    pixel[spatial] += d == spatial;
  }
  box.whole = inside == box.boxBytes;
  return true;
}

} // namespace

bool readTensorMap(Exec &ex, unsigned lane, uint64_t address, TensorMap &map) {
  MemRef ref;
  if (!resolve(ex, lane, Space::Generic, address, tensorMapBytes, 64, ref))
    return false;
  if (!decodeTensorMap(ref.bytes, map)) {
    ex.fatal(EmuTensorMap, "the bytes at this address are not a tensor map");
    return false;
  }
  checkEdited(ex, lane, ref);
  std::string problem = checkTensorMap(map);
  if (!problem.empty()) {
    ex.fatal(EmuTensorMap, "the tensor map is not legal: " + problem);
    return false;
  }
  if (map.interleave || map.swizzle == 5) {
    ex.fatal(EmuTensorMap, "this mode of tensor maps is not supported");
    return false;
  }
  return true;
}

bool layOutBox(Exec &ex, const BoxPosition &position, TensorBox &box) {
  const TensorMap &map = box.map;
  if (map.rank != position.rank) {
    ex.fatal(EmuTensorMap, "a copy of rank " + std::to_string(position.rank) +
                               " through a tensor map of rank " + std::to_string(map.rank));
    return false;
  }
  if (position.image != bool(map.pixels)) {
    ex.fatal(EmuTensorMap, position.image
                               ? "an im2col copy needs a tensor map of cuTensorMapEncodeIm2col"
                               : "only im2col copies take a tensor map of cuTensorMapEncodeIm2col");
    return false;
  }
  if (paddedPayload(map) && position.at[0] % 128) {
    ex.fatal(EmuTensorMap, "the first coordinate must be a multiple of 128");
    return false;
  }
  if (tensorElementBits(map.dataType) == 4 && position.at[0] % 2) {
    ex.fatal(EmuTensorMap, "the first coordinate of a 4-bit type must be even");
    return false;
  }
  return position.image ? layOutImage(ex, position, box) : layOutTiles(ex, position, box);
}

bool resolveRows(Exec &ex, unsigned lane, const TensorBox &box, std::vector<MemRef> &refs) {
  refs.resize(box.rows.size());
  for (size_t i = 0; i < box.rows.size(); ++i)
    if (!resolve(ex, lane, Space::Global, box.rows[i].global, box.rows[i].bytes, 1, refs[i]))
      return false;
  return true;
}

} // namespace penstock::emu
