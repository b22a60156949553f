//===- Stuck.cpp - Reports of deadlocks -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Machine.h"
#include "Emulator/Profile.h"

#include <algorithm>

namespace penstock::emu {
namespace {

/// Warps that do the same at one instruction.
struct Waiters {
  ExecutionPoint point;
  std::string what; ///< they wait for; empty: they run
  std::set<uint32_t> warps;
  std::set<std::array<uint32_t, 3>> blocks;
};

std::vector<Waiters> waitersOf(const std::vector<Cluster *> &clusters) {
  std::vector<Waiters> list;
  for (const Cluster *cluster : clusters)
    for (const auto &cta : cluster->ctas)
      for (const auto &warp : cta->warps)
        for (const Split &split : warp->splits) {
          // A polling split is somewhere in the loop around its poll.
          bool polls = !split.blocked && split.polls;
          const uint32_t *at = cta->id;
          ExecutionPoint point{polls ? split.pollPc : split.pc,    at[0], at[1], at[2], warp->index,
                               unsigned(__builtin_ctz(split.mask))};
          std::string what = split.blocked || polls ? split.waitsFor : "";
          auto same = std::find_if(list.begin(), list.end(), [&](const Waiters &other) {
            return other.point.pc == point.pc && other.what == what;
          });
          if (same == list.end())
            same = list.insert(list.end(), Waiters{point, what, {}, {}});
          same->warps.insert(warp->index);
          same->blocks.insert({at[0], at[1], at[2]});
        }
  return list;
}

std::string describe(bool oneBlock, const Waiters &waiters) {
  std::string who = warpsText(waiters.warps);
  const ExecutionPoint &at = waiters.point;
  if (!oneBlock)
    who += waiters.blocks.size() > 1 ? " of " + std::to_string(waiters.blocks.size()) + " blocks"
                                     : " of block (" + std::to_string(at.x) + "," +
                                           std::to_string(at.y) + "," + std::to_string(at.z) + ")";
  bool plural = waiters.warps.size() > 1 || waiters.blocks.size() > 1;
  if (waiters.what.empty())
    return who + (plural ? " run" : " runs");
  return who + (plural ? " wait for " : " waits for ") + waiters.what;
}

Finding stuck(const std::vector<Cluster *> &clusters, unsigned code, const std::string &message) {
  constexpr size_t most = 16;
  Finding finding;
  finding.code = code;
  finding.message = message;
  finding.saysWho = true;
  std::vector<Waiters> all = waitersOf(clusters);
  bool oneBlock = clusters.size() == 1 && clusters[0]->ctas.size() == 1;
  for (size_t i = 0; i < std::min(all.size(), most); ++i) {
    std::string text = describe(oneBlock, all[i]);
    if (i) {
      finding.others.emplace_back(all[i].point, text);
    } else {
      finding.point = all[i].point;
      finding.message += text;
    }
  }
  return finding;
}

} // namespace

void Cluster::reportStall() {
  if (grid->options.profile)
    grid->options.profile->noteStuck(*this);
  grid->findings.add(
      stuck({this}, EmuNoProgress, "no progress: the instruction budget is used up; "));
}

void reportDeadlock(const std::vector<Cluster *> &clusters, std::string reason) {
  // Missing arrivals were counted when a split began to wait; more may have arrived since.
  for (Cluster *cluster : clusters)
    for (auto &cta : cluster->ctas)
      for (auto &warp : cta->warps)
        for (size_t s = 0; s < warp->splits.size(); ++s)
          if (warp->splits[s].blocked)
            cluster->runSplit(*warp, s, 1);
  for (const Cluster *cluster : clusters)
    if (cluster->grid->options.profile)
      cluster->grid->options.profile->noteStuck(*cluster);
  Finding finding = stuck(clusters, EmuDeadlock, "deadlock: ");
  finding.reason = std::move(reason);
  Grid &grid = *clusters[0]->grid;
  grid.findings.add(std::move(finding));
  for (Cluster *cluster : clusters)
    cluster->stopped = true;
  grid.abort = true;
}

} // namespace penstock::emu
