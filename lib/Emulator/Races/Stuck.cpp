//===- Stuck.cpp - Reports of deadlocks -----------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Machine.h"

#include <algorithm>

namespace penstock::emu {
namespace {

/// Warps that do the same at one instruction.
struct Waiters {
  ExecutionPoint point;
  std::string what; ///< they wait for; empty: they run
  std::set<uint32_t> warps;
  std::set<uint32_t> blocks; ///< ranks in the cluster
};

std::vector<Waiters> waitersOf(const Cluster &cluster) {
  std::vector<Waiters> list;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      for (const Split &split : warp->splits) {
        // A polling split is somewhere in the loop around its poll.
        bool polls = !split.blocked && split.polls;
        ExecutionPoint point{
            polls ? split.pollPc : split.pc,    cta->id[0], cta->id[1], cta->id[2], warp->index,
            unsigned(__builtin_ctz(split.mask))};
        std::string what = split.blocked || polls ? split.waitsFor : "";
        auto same = std::find_if(list.begin(), list.end(), [&](const Waiters &other) {
          return other.point.pc == point.pc && other.what == what;
        });
        if (same == list.end())
          same = list.insert(list.end(), Waiters{point, what, {}, {}});
        same->warps.insert(warp->index);
        same->blocks.insert(cta->rank);
      }
  return list;
}

std::string describe(const Cluster &cluster, const Waiters &waiters) {
  std::string who = warpsText(waiters.warps);
  const ExecutionPoint &at = waiters.point;
  if (cluster.ctas.size() > 1)
    who += waiters.blocks.size() > 1 ? " of " + std::to_string(waiters.blocks.size()) + " blocks"
                                     : " of block (" + std::to_string(at.x) + "," +
                                           std::to_string(at.y) + "," + std::to_string(at.z) + ")";
  bool plural = waiters.warps.size() > 1 || waiters.blocks.size() > 1;
  if (waiters.what.empty())
    return who + (plural ? " run" : " runs");
  return who + (plural ? " wait for " : " waits for ") + waiters.what;
}

Finding stuck(const Cluster &cluster, unsigned code, const std::string &message) {
  constexpr size_t most = 16;
  Finding finding;
  finding.code = code;
  finding.message = message;
  finding.saysWho = true;
  std::vector<Waiters> all = waitersOf(cluster);
  for (size_t i = 0; i < std::min(all.size(), most); ++i) {
    std::string text = describe(cluster, all[i]);
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
  grid->findings.add(
      stuck(*this, EmuNoProgress, "no progress: the instruction budget is used up; "));
}

void Cluster::reportDeadlock() {
  // Missing arrivals were counted when a split began to wait; more may have arrived since.
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      for (size_t s = 0; s < warp->splits.size(); ++s)
        if (warp->splits[s].blocked)
          runSplit(*warp, s, 1);
  Finding finding = stuck(*this, EmuDeadlock, "deadlock: ");
  finding.reason = "no thread can run and nothing is in flight that could wake one";
  grid->findings.add(std::move(finding));
}

} // namespace penstock::emu
