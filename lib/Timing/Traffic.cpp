//===- Traffic.cpp - Occupancy, and strips of operands in L2 --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Timing/Predict.h"

#include <algorithm>

namespace penstock::timing {

Occupancy occupancyOf(const Resources &needs, const hw::Chip &chip) {
  if (needs.fixed)
    return {needs.fixed, "the kernel's request"};
  Occupancy result{std::min(needs.most, chip.maxBlocks),
                   needs.most < chip.maxBlocks ? "threads" : "the SM's limit"};
  auto limit = [&](int64_t blocks, std::string_view by) {
    if (blocks < result.blocks)
      result = {std::max<int64_t>(1, blocks), by};
  };
  // The system takes a kilobyte of each block; barriers take a few more bytes.
  if (needs.sharedBytes)
    limit(chip.sharedBytes / (needs.sharedBytes + 1024 + 256), "shared memory");
  if (int64_t columns = chip.architecture->limits.tensorColumns; columns && needs.tensorColumns) {
    int64_t taken = 32; // allocations are powers of two
    while (taken < needs.tensorColumns)
      taken *= 2;
    limit(columns / taken, "tensor memory");
  }
  if (needs.registers && needs.threads)
    limit(chip.registers / (needs.registers * needs.threads), "registers");
  return result;
}

namespace {

/// The strips of one side of the grid: when each was last read.
class Strips {
public:
  explicit Strips(int64_t count) : last(size_t(count), -1) {}

  /// Marks a strip; true if this wave had not read it yet.
  bool touch(int64_t strip, int64_t wave, int64_t &previous) {
    int64_t &at = last[size_t(strip)];
    previous = at;
    at = wave;
    return previous != wave;
  }

private:
  std::vector<int64_t> last;
};

} // namespace

/// The same for listed strips.
static Traffic trafficOfList(const Raster &raster, int64_t tilesPerWave, double usable) {
  int64_t total = raster.tilesM * raster.tilesN;
  auto listed = int64_t(raster.reads.size() / raster.perTile);
  // Of a sample, only whole waves count.
  if (listed < total && listed > tilesPerWave)
    listed = listed / tilesPerWave * tilesPerWave;
  Strips strips(int64_t(raster.stripBytes.size()));
  bool allFit = raster.totalBytes <= usable;
  double first = 0, hbm = 0, unique = 0, asked = 0;
  for (int64_t wave = 0, i = 0; i < listed; ++wave) {
    int64_t end = std::min(listed, i + tilesPerWave);
    double size = 0, brought = 0;
    for (size_t r = size_t(i) * raster.perTile; r < size_t(end) * raster.perTile; ++r) {
      double bytes = raster.stripBytes[raster.reads[r]];
      asked += bytes;
      int64_t previous = 0;
      if (!strips.touch(raster.reads[r], wave, previous))
        continue;
      size += bytes;
      if (!(allFit ? previous >= 0 : previous >= 0 && previous == wave - 1))
        brought += bytes;
    }
    hbm += allFit || size <= usable ? brought : size;
    unique += size;
    i = end;
    if (wave == 0)
      first = hbm;
  }
  Traffic traffic;
  double more = listed ? double(total) / double(listed) : 1;
  // Later waves go on like those that were listed, without the first, which finds nothing.
  if (more > 1 && listed > tilesPerWave) {
    double perTile = (hbm - first) / double(listed - tilesPerWave);
    hbm += perTile * double(total - listed);
  } else {
    hbm *= more;
  }
  asked *= more;
  unique *= more;
  // Data that fits in L2 is read once, for any number of tiles.
  if (allFit)
    hbm = std::min(hbm, raster.totalBytes);
  traffic.hbmBytes = hbm;
  traffic.hit = 1 - hbm / std::max(asked, 1.0);
  traffic.cold = unique > 0 ? std::min(1.0, hbm / unique) : 0;
  return traffic;
}

Traffic trafficOf(const Raster &raster, int64_t tilesPerWave, double usable) {
  int64_t total = raster.tilesM * raster.tilesN;
  tilesPerWave = std::max<int64_t>(1, tilesPerWave);
  if (raster.perTile)
    return trafficOfList(raster, tilesPerWave, usable);
  Strips rows(raster.tilesM), columns(raster.tilesN);
  bool allFit = raster.totalBytes <= usable;
  double hbm = 0, unique = 0, asked = 0;
  int64_t group = std::min(raster.group, raster.tilesN);
  int64_t perGroup = raster.tilesM * group;
  int64_t m = 0, n = 0;
  for (int64_t wave = 0, i = 0; i < total; ++wave) {
    int64_t end = std::min(total, i + tilesPerWave);
    double size = 0, brought = 0;
    asked += double(end - i) * (raster.stripM + raster.stripN + raster.ownBytes);
    size += double(end - i) * raster.ownBytes;
    brought += double(end - i) * raster.ownBytes;
    for (; i < end; ++i) {
      if (group <= 0) {
        m = i / raster.tilesN;
        n = i % raster.tilesN;
      } else {
        int64_t g = i / perGroup, rest = i % perGroup;
        int64_t width = std::min(group, raster.tilesN - g * group);
        m = rest / width;
        n = g * group + rest % width;
      }
      int64_t previous = 0;
      auto count = [&](double bytes) {
        size += bytes;
        // Reads of the previous wave are still in L2 if a wave fits.
        bool kept = allFit ? previous >= 0 : previous == wave - 1 && previous >= 0;
        if (!kept)
          brought += bytes;
      };
      if (rows.touch(m, wave, previous))
        count(raster.stripM);
      if (columns.touch(n, wave, previous))
        count(raster.stripN);
    }
    hbm += allFit || size <= usable ? brought : size;
    unique += size;
  }
  Traffic traffic;
  traffic.hbmBytes = hbm;
  traffic.hit = 1 - hbm / std::max(asked, 1.0);
  // Blocks that share a line wait for one miss together. So the latency follows the
  // strips that a wave brings in, not the hit rate.
  traffic.cold = unique > 0 ? std::min(1.0, hbm / unique) : 0;
  return traffic;
}

} // namespace penstock::timing
