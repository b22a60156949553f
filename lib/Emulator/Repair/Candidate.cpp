//===- Candidate.cpp - One way to add synchronization ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Repair/Candidate.h"

#include <algorithm>
#include <tuple>

namespace penstock::emu {

const char *nameOf(Strength strength) {
  switch (strength) {
  case Strength::InitFence:
    return "fence.mbarrier_init";
  case Strength::NarrowProxyFence:
    return "fence.proxy.async of one state space";
  case Strength::ProxyFence:
    return "fence.proxy.async";
  case Strength::TensorFence:
    return "tcgen05.fence";
  case Strength::WgmmaFence:
    return "wgmma.fence";
  case Strength::Commit:
    return "commit";
  case Strength::GroupWait:
    return "wait_group";
  case Strength::TensorWait:
    return "tcgen05.wait";
  case Strength::WarpBarrier:
    return "bar.warp.sync";
  case Strength::Count:
    return "arrival count or bytes";
  case Strength::Arrival:
    return "mbarrier.arrive";
  case Strength::BarrierWait:
    return "mbarrier wait";
  case Strength::NamedBarrier:
    return "named barrier";
  case Strength::BlockBarrier:
    return "bar.sync";
  case Strength::ClusterBarrier:
    return "barrier.cluster";
  case Strength::MemoryOrder:
    return "memory order or scope";
  case Strength::FenceBlock:
    return "fence.acq_rel.cta";
  case Strength::FenceCluster:
    return "fence.acq_rel.cluster";
  case Strength::FenceDevice:
    return "fence.acq_rel.gpu";
  case Strength::FenceSystem:
    return "fence.acq_rel.sys";
  }
  return "";
}

std::string applyEdits(const std::string &text, std::vector<Edit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const Edit &a, const Edit &b) { return a.begin > b.begin; });
  std::string result = text;
  for (const Edit &edit : edits) {
    if (edit.end > edit.begin) {
      result.replace(edit.begin, edit.end - edit.begin, edit.text);
      continue;
    }
    size_t line = edit.begin ? result.rfind('\n', edit.begin - 1) : std::string::npos;
    line = line == std::string::npos ? 0 : line + 1;
    std::string indent = result.substr(line, edit.begin - line);
    if (indent.find_first_not_of(" \t") == std::string::npos)
      result.insert(edit.begin, edit.text + "\n" + indent);
    else if (edit.begin < result.size() && result[edit.begin] == '\n') // after the line's last
      result.insert(edit.begin,
                    "\n" + indent.substr(0, indent.find_first_not_of(" \t")) + edit.text);
    else
      result.insert(edit.begin, " " + edit.text + " ");
  }
  return result;
}

void sortCandidates(std::vector<Candidate> &candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
    auto key = [](const Candidate &c) {
      return std::tuple(c.strength, c.tooRare, c.detail, c.executions, c.distance, c.edits[0].begin,
                        c.what);
    };
    return key(a) < key(b);
  });
}

} // namespace penstock::emu
