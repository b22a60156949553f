//===- Special.cpp - Special registers ------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Machine.h"

namespace penstock::emu {
namespace {

unsigned component(const std::string &name) {
  if (name.size() < 2 || name[name.size() - 2] != '.')
    return 0;
  char c = name.back();
  return c == 'y' ? 1 : c == 'z' ? 2 : c == 'w' ? 3 : 0;
}

uint64_t specialValue(Grid &grid, Warp &warp, unsigned lane, const std::string &name) {
  Cta &cta = *warp.cta;
  std::string stem = name.substr(0, name.find('.'));
  unsigned d = component(name);
  auto at = [&](const uint32_t *v) { return d < 3 ? uint64_t(v[d]) : 0; };
  if (stem == "%tid") {
    uint32_t t = warp.index * 32 + lane;
    const auto &b = grid.config.block;
    uint32_t v[3] = {t % b[0], t / b[0] % b[1], t / b[0] / b[1]};
    return at(v);
  }
  if (stem == "%ntid")
    return at(grid.config.block.data());
  if (stem == "%ctaid")
    return at(cta.id);
  if (stem == "%nctaid")
    return at(grid.config.grid.data());
  if (stem == "%laneid")
    return lane;
  if (stem == "%warpid")
    return warp.index;
  if (stem == "%nwarpid")
    return 64;
  if (stem == "%nsmid")
    return grid.device->numSms;
  if (stem == "%smid")
    return (cta.cluster->index * grid.ctasPerCluster + cta.rank) % grid.device->numSms;
  if (stem == "%lanemask_eq")
    return 1u << lane;
  if (stem == "%lanemask_lt")
    return (1u << lane) - 1;
  if (stem == "%lanemask_le")
    return (2u << lane) - 1;
  if (stem == "%lanemask_gt")
    return uint32_t(~((2u << lane) - 1));
  if (stem == "%lanemask_ge")
    return uint32_t(~((1u << lane) - 1));
  if (stem == "%clusterid") {
    uint32_t v[3];
    for (int i = 0; i < 3; ++i)
      v[i] = cta.id[i] / grid.clusterDim[size_t(i)];
    return at(v);
  }
  if (stem == "%nclusterid") {
    uint32_t v[3];
    for (size_t i = 0; i < 3; ++i)
      v[i] = grid.config.grid[i] / grid.clusterDim[i];
    return at(v);
  }
  if (stem == "%cluster_ctaid") {
    uint32_t v[3];
    for (int i = 0; i < 3; ++i)
      v[i] = cta.id[i] % grid.clusterDim[size_t(i)];
    return at(v);
  }
  if (stem == "%cluster_nctaid")
    return at(grid.clusterDim.data());
  if (stem == "%cluster_ctarank")
    return cta.rank;
  if (stem == "%cluster_nctarank")
    return grid.ctasPerCluster;
  if (stem == "%is_explicit_cluster")
    return grid.ctasPerCluster > 1;
  if (stem == "%dynamic_smem_size")
    return grid.config.dynamicShared;
  if (stem == "%total_smem_size" || stem == "%aggr_smem_size")
    return grid.sharedBytes;
  if (stem == "%reserved_smem_offset_begin")
    return 0;
  return 0; // %gridid, %current_graph_exec
}

} // namespace

void fillSpecialRows(Grid &grid, Warp &warp) {
  for (const SpecialRow &special : grid.program->specials) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint64_t value = 0;
      if (special.what == SpecialRow::What::Special)
        value = specialValue(grid, warp, lane, special.name);
      else if (special.what == SpecialRow::What::SharedAddress)
        value = uint64_t(warp.cta->rank) << rankShift | special.offset;
      uint8_t *row = warp.rows.data() + special.row;
      if (special.bits == 64)
        memcpy(row + lane * 8, &value, 8);
      else
        memcpy(row + lane * 4, &value, 4);
    }
  }
}

void refreshClock(Grid &grid, Warp &warp, uint64_t now) {
  for (const SpecialRow &special : grid.program->specials) {
    if (special.what != SpecialRow::What::Clock)
      continue;
    uint64_t value = now;
    if (special.name == "%clock_hi" || special.name == "%globaltimer_hi")
      value >>= 32;
    uint8_t *row = warp.rows.data() + special.row;
    for (unsigned lane = 0; lane < 32; ++lane)
      memcpy(row + lane * (special.bits / 8), &value, special.bits / 8);
  }
}

} // namespace penstock::emu
