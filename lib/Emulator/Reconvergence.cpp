//===- Reconvergence.cpp - Joins of diverged lanes ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes of a warp that part at a branch meet at the branch's immediate
// post-dominator. The tree is computed over basic blocks with the iterative
// algorithm of Cooper, Harvey and Kennedy on the reversed graph.
//
//===----------------------------------------------------------------------===//
#include "Emulator/Decode/Decoder.h"
#include "Emulator/Exec/ExecCall.h"

#include <algorithm>

namespace penstock::emu {
namespace {

bool isBranch(const DInst &inst) { return inst.run == runBranch || inst.run == runBranchIfIndex; }
/// Returns whether some lanes may continue after a branch.
bool mayFall(const DInst &inst) { return inst.guarded || inst.run == runBranchIfIndex; }

} // namespace

void findReconvergence(Program &program) {
  std::vector<DInst> &code = program.code;
  uint32_t size = uint32_t(code.size());
  std::vector<bool> leader(size + 1);
  leader[0] = true;
  for (uint32_t pc = 0; pc < size; ++pc) {
    if (isBranch(code[pc])) {
      leader[std::min(code[pc].target, size)] = true;
      leader[pc + 1] = true;
    } else if (code[pc].run == runExit) {
      leader[pc + 1] = true;
    }
  }
  std::vector<uint32_t> blockOf(size + 1);
  std::vector<uint32_t> first;
  for (uint32_t pc = 0; pc < size; ++pc) {
    if (leader[pc])
      first.push_back(pc);
    blockOf[pc] = uint32_t(first.size() - 1);
  }
  uint32_t blocks = uint32_t(first.size());
  uint32_t exit = blocks; // a virtual block behind all others
  auto lastOf = [&](uint32_t block) { return (block + 1 < blocks ? first[block + 1] : size) - 1; };
  std::vector<std::vector<uint32_t>> next(blocks + 1), previous(blocks + 1);
  auto edge = [&](uint32_t from, uint32_t to) {
    next[from].push_back(to);
    previous[to].push_back(from);
  };
  for (uint32_t block = 0; block < blocks; ++block) {
    const DInst &last = code[lastOf(block)];
    bool falls = true;
    if (isBranch(last)) {
      edge(block, last.target < size ? blockOf[last.target] : exit);
      falls = mayFall(last);
    } else if (last.run == runExit) {
      edge(block, exit);
      falls = last.guarded;
    }
    if (falls)
      edge(block, block + 1 < blocks ? block + 1 : exit);
  }
  // Reverse post-order from the exit, without recursion. Blocks that never
  // reach the exit (endless loops) get an edge so that all are numbered.
  std::vector<uint32_t> order(blocks + 1, noPc), sequence;
  auto number = [&](uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> stack = {{root, 0}};
    order[root] = 0;
    while (!stack.empty()) {
      auto &[block, at] = stack.back();
      if (at < previous[block].size()) {
        uint32_t p = previous[block][at++];
        if (order[p] == noPc) {
          order[p] = 0;
          stack.emplace_back(p, 0);
        }
      } else {
        sequence.push_back(block);
        stack.pop_back();
      }
    }
  };
  number(exit);
  for (uint32_t block = blocks; block-- > 0;)
    if (order[block] == noPc) {
      edge(block, exit);
      sequence.pop_back(); // the exit stays last
      number(block);
      sequence.push_back(exit);
    }
  for (uint32_t i = 0; i < sequence.size(); ++i)
    order[sequence[i]] = i;
  std::vector<uint32_t> idom(blocks + 1, noPc);
  idom[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = sequence.size() - 1; i-- > 0;) {
      uint32_t block = sequence[i];
      uint32_t best = noPc;
      for (uint32_t succ : next[block]) {
        if (idom[succ] == noPc)
          continue;
        if (best == noPc) {
          best = succ;
          continue;
        }
        uint32_t a = best, b = succ;
        while (a != b) {
          while (order[a] < order[b])
            a = idom[a];
          while (order[b] < order[a])
            b = idom[b];
        }
        best = a;
      }
      if (best != noPc && idom[block] != best) {
        idom[block] = best;
        changed = true;
      }
    }
  }
  for (uint32_t block = 0; block < blocks; ++block) {
    DInst &last = code[lastOf(block)];
    if (isBranch(last) && mayFall(last)) {
      uint32_t meet = idom[block];
      last.reconverge = meet == noPc || meet == exit ? noPc : first[meet];
    }
  }
}

} // namespace penstock::emu
