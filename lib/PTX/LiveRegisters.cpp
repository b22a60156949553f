//===- LiveRegisters.cpp - Registers that hold values ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value is live where it may have been written and may be read. Both are found by a data flow
// analysis over basic blocks; sums inside of blocks are counted backward.
//
//===----------------------------------------------------------------------===//
#include "PTX/LiveRegisters.h"
#include "PTX/InstructionTable.h"
#include "PTX/Registers.h"

#include <algorithm>

using namespace penstock::ptx;

namespace {

class Bits {
public:
  explicit Bits(size_t count = 0) : words((count + 63) / 64) {}
  bool test(uint32_t i) const { return words[i / 64] >> i % 64 & 1; }
  void set(uint32_t i) { words[i / 64] |= uint64_t(1) << i % 64; }
  void reset(uint32_t i) { words[i / 64] &= ~(uint64_t(1) << i % 64); }
  /// Adds the bits of \p other that are not in \p but; returns whether there are new ones.
  bool add(const Bits &other, const Bits *but = nullptr) {
    uint64_t added = 0;
    for (size_t w = 0; w < words.size(); ++w) {
      uint64_t more = other.words[w] & ~words[w] & (but ? ~but->words[w] : ~uint64_t(0));
      words[w] |= more;
      added |= more;
    }
    return added != 0;
  }

private:
  std::vector<uint64_t> words;
};

/// Registers that one instruction reads and writes, as their representatives.
struct Access {
  std::vector<uint32_t> reads, writes;
};

struct BasicBlock {
  size_t begin = 0, end = 0;
  std::vector<size_t> successors;
  /// Read before any write of the block; written in any case; written.
  Bits reads, kills, writes;
  Bits liveOut, assignedIn;
};

class Liveness {
public:
  explicit Liveness(const Function &function)
      : function(function), accesses(function.body.size()),
        representative(function.registers.size()), weights(function.registers.size()),
        accumulates(function.registers.size()) {}

  std::vector<LiveRegisters> run() {
    findRepresentatives();
    findAccesses();
    findBlocks();
    findAssigned();
    findLive();
    return count();
  }

private:
  /// A register that is written once, as a copy of another one that is written once, is that one.
  void findRepresentatives() {
    std::vector<uint32_t> writes(function.registers.size());
    for (const auto &inst : function.body) {
      if (writesFirst(*inst))
        forRegisters(inst->operands[0], [&](uint32_t reg) { ++writes[reg]; });
      for (const Operand &result : inst->results)
        forRegisters(result, [&](uint32_t reg) { ++writes[reg]; });
    }
    for (uint32_t reg = 0; reg < representative.size(); ++reg) {
      representative[reg] = reg;
      weights[reg] = typeBits(function.registers[reg].type) == 1
                         ? 0
                         : std::max(1u, typeBits(function.registers[reg].type) / 32);
    }
    for (const auto &inst : function.body) {
      if (inst->operands.size() < 2 || !writesFirst(*inst) ||
          inst->operands[0].kind != Operand::Kind::Register)
        continue;
      uint32_t reg = inst->operands[0].index;
      if (writes[reg] != 1 || inst->guarded)
        continue;
      const Operand &from = inst->operands[1];
      if (inst->form->name == "mov" && from.kind == Operand::Kind::Register) {
        if (writes[from.index] == 1 && weights[from.index] == weights[reg])
          representative[reg] = rootOf(from.index);
      } else if (isRecomputed(*inst)) {
        weights[reg] = 0;
      }
    }
    for (uint32_t reg = 0; reg < representative.size(); ++reg)
      representative[reg] = rootOf(reg);
  }

  /// Returns whether an instruction's result is read from the constant bank, or is a constant.
  static bool isRecomputed(const Instruction &inst) {
    using Kind = Operand::Kind;
    const std::string &name = inst.form->name;
    if (name == "ld")
      return inst.has(".param");
    return name == "mov" &&
           (inst.operands[1].kind == Kind::Immediate || inst.operands[1].kind == Kind::Float ||
            inst.operands[1].kind == Kind::Special || inst.operands[1].kind == Kind::Variable);
  }

  uint32_t rootOf(uint32_t reg) const {
    while (representative[reg] != reg)
      reg = representative[reg];
    return reg;
  }

  void findAccesses() {
    for (size_t i = 0; i < function.body.size(); ++i) {
      const Instruction &inst = *function.body[i];
      Access &access = accesses[i];
      auto read = [&](uint32_t reg) { access.reads.push_back(representative[reg]); };
      auto write = [&](uint32_t reg) { access.writes.push_back(representative[reg]); };
      bool first = writesFirst(inst);
      bool wgmma = inst.form->name.starts_with("wgmma.mma_async");
      for (size_t k = 0; k < inst.operands.size(); ++k) {
        bool written = k == 0 && first;
        if (written)
          forRegisters(inst.operands[k], write);
        if (!written || wgmma) // the accumulators of wgmma are read, too
          forRegisters(inst.operands[k], read);
      }
      if (wgmma || inst.form->name == "mma.sync")
        for (uint32_t reg : access.writes)
          accumulates[reg] = true;
      for (const Operand &result : inst.results)
        forRegisters(result, write);
      for (const Operand &argument : inst.arguments)
        forRegisters(argument, read);
      if (inst.guarded)
        read(inst.guard);
    }
  }

  void findBlocks() {
    size_t count = function.body.size();
    std::vector<bool> starts(count + 1);
    starts[0] = true;
    auto targetsOf = [&](const Instruction &inst) {
      std::vector<uint32_t> targets;
      for (const Operand &operand : inst.operands) {
        if (operand.kind == Operand::Kind::Label)
          targets.push_back(operand.index);
        if (operand.kind == Operand::Kind::Targets && operand.index < function.branchTargets.size())
          targets.insert(targets.end(), function.branchTargets[operand.index].begin(),
                         function.branchTargets[operand.index].end());
      }
      std::erase_if(targets, [&](uint32_t to) { return to >= count; });
      return targets;
    };
    for (size_t i = 0; i < count; ++i) {
      std::vector<uint32_t> targets = targetsOf(*function.body[i]);
      for (uint32_t to : targets)
        starts[to] = true;
      if (!targets.empty() || !fallsThrough(*function.body[i]))
        starts[i + 1] = true;
    }
    std::vector<size_t> blockAt(count);
    for (size_t i = 0; i < count; ++i) {
      if (starts[i])
        blocks.push_back({i,
                          i,
                          {},
                          Bits(registers()),
                          Bits(registers()),
                          Bits(registers()),
                          Bits(registers()),
                          Bits(registers())});
      blocks.back().end = i + 1;
      blockAt[i] = blocks.size() - 1;
    }
    for (BasicBlock &block : blocks) {
      const Instruction &last = *function.body[block.end - 1];
      for (uint32_t to : targetsOf(last))
        block.successors.push_back(blockAt[to]);
      if (fallsThrough(last) && block.end < count)
        block.successors.push_back(blockAt[block.end]);
      for (size_t i = block.begin; i < block.end; ++i) {
        for (uint32_t reg : accesses[i].reads)
          if (!block.kills.test(reg))
            block.reads.set(reg);
        for (uint32_t reg : accesses[i].writes) {
          block.writes.set(reg);
          if (!function.body[i]->guarded)
            block.kills.set(reg);
        }
      }
    }
  }

  void findAssigned() {
    reached.assign(blocks.size(), false);
    if (blocks.empty())
      return;
    std::vector<size_t> open = {0};
    reached[0] = true;
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      Bits out = blocks[at].assignedIn;
      out.add(blocks[at].writes);
      for (size_t to : blocks[at].successors) {
        bool changed = blocks[to].assignedIn.add(out) || !reached[to];
        reached[to] = true;
        if (changed)
          open.push_back(to);
      }
    }
  }

  void findLive() {
    std::vector<std::vector<size_t>> predecessors(blocks.size());
    for (size_t i = 0; i < blocks.size(); ++i)
      for (size_t to : blocks[i].successors)
        predecessors[to].push_back(i);
    std::vector<size_t> open(blocks.size());
    std::vector<bool> queued(blocks.size(), true);
    for (size_t i = 0; i < open.size(); ++i)
      open[i] = i; // the last ones first
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      queued[at] = false;
      Bits in = blocks[at].reads;
      in.add(blocks[at].liveOut, &blocks[at].kills);
      for (size_t from : predecessors[at])
        if (blocks[from].liveOut.add(in) && !queued[from]) {
          queued[from] = true;
          open.push_back(from);
        }
    }
  }

  std::vector<LiveRegisters> count() {
    std::vector<LiveRegisters> result(function.body.size());
    std::vector<size_t> firstWrites(registers());
    for (size_t b = 0; b < blocks.size(); ++b) {
      const BasicBlock &block = blocks[b];
      if (!reached[b])
        continue;
      for (size_t i = block.end; i-- > block.begin;)
        for (uint32_t reg : accesses[i].writes)
          firstWrites[reg] = i;
      auto isAssigned = [&](uint32_t reg, size_t before) {
        return block.assignedIn.test(reg) || (block.writes.test(reg) && firstWrites[reg] < before);
      };
      Bits live(registers());
      LiveRegisters now;
      auto set = [&](uint32_t reg, bool value) {
        if (live.test(reg) == value)
          return;
        value ? live.set(reg) : live.reset(reg);
        change(now, reg, value);
      };
      for (uint32_t reg = 0; reg < registers(); ++reg)
        if (block.liveOut.test(reg) && isAssigned(reg, block.end))
          set(reg, true);
      for (size_t i = block.end; i-- > block.begin;) {
        std::vector<uint32_t> unread; // occupy a register only after this instruction
        for (uint32_t reg : accesses[i].writes)
          if (!live.test(reg)) {
            unread.push_back(reg);
            set(reg, true);
          }
        LiveRegisters after = now;
        for (uint32_t reg : unread)
          set(reg, false);
        for (uint32_t reg : accesses[i].writes)
          if (!function.body[i]->guarded || !isAssigned(reg, i))
            set(reg, false);
        for (uint32_t reg : accesses[i].reads)
          if (isAssigned(reg, i))
            set(reg, true);
        result[i] = now.words > after.words ? now : after;
      }
    }
    return result;
  }

  void change(LiveRegisters &now, uint32_t reg, bool live) const {
    uint32_t words = weights[reg];
    now.words += live ? words : -words;
    if (accumulates[reg])
      now.accumulators += live ? words : -words;
  }

  uint32_t registers() const { return uint32_t(function.registers.size()); }

  const Function &function;
  std::vector<Access> accesses;
  std::vector<uint32_t> representative, weights;
  std::vector<bool> accumulates;
  std::vector<BasicBlock> blocks;
  std::vector<bool> reached;
};

} // namespace

std::vector<LiveRegisters> penstock::ptx::liveRegisters(const Function &function) {
  return Liveness(function).run();
}
