//===- BankConflicts.cpp - Accesses of a warp to shared memory ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Layout/BankConflicts.h"

#include <algorithm>
#include <array>
#include <set>

namespace penstock::layout {

namespace {

constexpr int64_t banks = 32, wordBytes = 4, warpLanes = 32, widestBytes = 16;

} // namespace

Wavefronts wavefrontsOf(std::span<const int64_t> addresses, int64_t bytes) {
  Wavefronts all;
  size_t served = size_t(warpLanes * wordBytes / std::max(bytes, wordBytes));
  for (size_t first = 0; first < addresses.size(); first += served) {
    std::array<std::set<int64_t>, banks> words;
    int64_t different = 0;
    for (int64_t address : addresses.subspan(first, std::min(served, addresses.size() - first)))
      for (int64_t byte = 0; address >= 0 && byte < bytes; byte += wordBytes) {
        int64_t word = (address + byte) / wordBytes;
        different += words[size_t(word % banks)].insert(word).second;
      }
    size_t most = 0;
    for (const std::set<int64_t> &bank : words)
      most = std::max(most, bank.size());
    all.taken += int64_t(most);
    all.least += (different + banks - 1) / banks;
  }
  return all;
}

TileAccesses accessesOf(const Distribution &layout, int64_t elementBytes,
                        const std::function<int64_t(int64_t row, int64_t col)> &byteOf) {
  int64_t threads = layout.threads(), registers = layout.registers();
  auto addressOf = [&](int64_t thread, int64_t reg) -> int64_t {
    std::vector<int64_t> at = layout.baseOf(thread), offset = layout.offsetOf(reg);
    for (size_t dim = 0; dim < at.size(); ++dim) {
      at[dim] += offset[dim];
      if (at[dim] >= layout.shape[dim])
        return -1;
    }
    return at.size() == 1 ? byteOf(0, at[0]) : byteOf(at[at.size() - 2], at.back());
  };
  // The widest access whose elements are neighbors in all threads.
  auto isTogether = [&](int64_t run) {
    for (int64_t thread = 0; thread < threads; ++thread)
      for (int64_t reg = 0; reg < registers; reg += run) {
        int64_t first = addressOf(thread, reg);
        if (first % (run * elementBytes) != 0)
          return false;
        for (int64_t i = 1; i < run; ++i)
          if (addressOf(thread, reg + i) != first + i * elementBytes)
            return false;
      }
    return true;
  };
  int64_t run = 1;
  while (run * 2 * elementBytes <= widestBytes && registers % (run * 2) == 0 && isTogether(run * 2))
    run *= 2;
  TileAccesses found{run * elementBytes, {}};
  for (int64_t warp = 0; warp < threads; warp += warpLanes)
    for (int64_t reg = 0; reg < registers; reg += run) {
      std::vector<int64_t> addresses;
      for (int64_t lane = 0; lane < std::min(warpLanes, threads - warp); ++lane)
        addresses.push_back(addressOf(warp + lane, reg));
      Wavefronts one = wavefrontsOf(addresses, found.bytes);
      found.wavefronts.taken += one.taken;
      found.wavefronts.least += one.least;
    }
  return found;
}

} // namespace penstock::layout
