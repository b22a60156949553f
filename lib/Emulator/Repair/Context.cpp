//===- Context.cpp - A kernel with findings, for repairs ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Repair/Context.h"
#include "Emulator/Memory.h"
#include "Emulator/SyncInstructions.h"
#include "PTX/InstructionTable.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace penstock::emu {
namespace {

using ptx::Instruction;

uint64_t mostByOneWarp(const ExecutionProfile::Executions &executions) {
  uint64_t most = 0;
  for (auto [warp, times] : executions.warps)
    most = std::max(most, times);
  return most;
}

} // namespace

const ptx::Operand *mbarrierOperand(const Instruction &inst) {
  const std::string &name = inst.form->name;
  bool completes = inst.opcode.find(".mbarrier::complete_tx") != std::string::npos;
  if (!completes && !name.starts_with("mbarrier.") && !name.starts_with("tcgen05.commit") &&
      !name.starts_with("cp.async.mbarrier"))
    return nullptr;
  const ptx::Operand *found = nullptr;
  for (const ptx::Operand &operand : inst.operands)
    if (operand.kind == ptx::Operand::Kind::Address && (completes || !found))
      found = &operand;
  return found;
}

RepairContext::RepairContext(const ptx::Module &module, const ptx::Function &entry,
                             const ExecutionProfile &profile, std::set<unsigned> codes,
                             const std::set<uint32_t> &lines, uint32_t blockWarps,
                             uint32_t clusterBlocks, bool withinWarp, Effort effort)
    : module(module), profile(profile), codes(std::move(codes)), blockWarps(blockWarps),
      clusterBlocks(clusterBlocks), withinWarp(withinWarp), effort(effort) {
  for (const ptx::Function *function : reachedFunctions(module, entry)) {
    parts.push_back({function, ControlFlow(*function)});
    for (const auto &inst : function->body)
      if ((lines.count(inst->line) && !onlyComputes(*inst)) ||
          profile.waitsInVain.count(inst.get()))
        sides.push_back(inst.get());
  }
  findPoints();
}

/// Labels before an instruction that are followed by another label, and where each ends. A
/// statement between the two is executed by those who branch to the first.
std::vector<std::pair<std::string, size_t>>
RepairContext::innerLabels(const ptx::Function &function, size_t index) const {
  std::vector<std::pair<std::string, size_t>> labels;
  size_t at = index ? textOf(module, *function.body[index - 1]).end : 0;
  size_t end = textOf(module, *function.body[index]).begin;
  auto isName = [](char c) { return isalnum(uint8_t(c)) || c == '_' || c == '$' || c == '%'; };
  std::string word;
  for (; index && at < end; ++at) {
    char c = module.text[at];
    if (c == '/' && module.text[at + 1] == '/') {
      at = std::min(module.text.find('\n', at), end);
      word.clear();
    } else if (isName(c)) {
      word += c;
    } else {
      if (c == ':' && !word.empty())
        labels.emplace_back(word, at + 1);
      word.clear();
    }
  }
  if (!labels.empty())
    labels.pop_back();
  return labels;
}

void RepairContext::findPoints() {
  uint64_t rarest = ~uint64_t(0);
  for (const Instruction *side : sides)
    if (auto *executions = profile.find(*side))
      rarest = std::min(rarest, mostByOneWarp(*executions));
  for (size_t f = 0; f < parts.size(); ++f) {
    const auto &body = parts[f].function->body;
    const ControlFlow &flow = parts[f].flow;
    std::vector<size_t> from;
    for (size_t i = 0; i < body.size(); ++i)
      if (std::count(sides.begin(), sides.end(), body[i].get()))
        from.push_back(i);
    std::vector<unsigned> distance = flow.distances(from);
    auto add = [&](size_t index, bool after, size_t label = 0) {
      const auto *executions = profile.find(*body[index]);
      if (!executions || !executions->count())
        return;
      uint64_t most = mostByOneWarp(*executions);
      bool rare = rarest != ~uint64_t(0) && most < rarest;
      points.push_back({f, index, after, label, from.empty() ? 0 : distance[index], most,
                        executions->wholeWarps, rare});
    };
    for (size_t i = 0; i < body.size(); ++i) {
      if (!onlyComputes(*body[i]))
        add(i, false);
      if (i + 1 < body.size() && flow.isTarget(i + 1) && flow.fallsThrough(i))
        add(i, true);
      if (!flow.isTarget(i))
        continue;
      for (const auto &[name, end] : innerLabels(*parts[f].function, i))
        for (size_t branch : flow.branchesTo(i)) {
          std::string text = textOfInstruction(*body[branch]);
          size_t at = text.find(name);
          bool whole = at != std::string::npos && at && isspace(uint8_t(text[at - 1])) &&
                       (text[at + name.size()] == ';' || isspace(uint8_t(text[at + name.size()])));
          if (!whole)
            continue;
          add(branch, false, end);
          break;
        }
    }
  }
}

bool RepairContext::has(std::initializer_list<unsigned> any) const {
  return std::any_of(any.begin(), any.end(), [&](unsigned code) { return codes.count(code); });
}

bool RepairContext::uses(std::string_view opcode) const {
  for (const Part &part : parts)
    for (const auto &inst : part.function->body)
      if (std::string_view(inst->opcode).starts_with(opcode))
        return true;
  return false;
}

bool RepairContext::names(std::string_view opcode) const {
  return std::any_of(sides.begin(), sides.end(), [&](const Instruction *side) {
    return std::string_view(side->opcode).starts_with(opcode);
  });
}

std::vector<std::string> RepairContext::opcodes(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const Part &part : parts)
    for (const auto &inst : part.function->body)
      if (std::string_view(inst->opcode).starts_with(prefix) &&
          !std::count(found.begin(), found.end(), inst->opcode))
        found.push_back(inst->opcode);
  return found;
}

std::set<uint64_t> RepairContext::valuesOf(const Part &part, uint32_t reg, bool &known) const {
  std::set<uint64_t> values;
  known = false;
  for (size_t at : part.flow.definitions(reg))
    if (auto *executions = profile.find(*part.function->body[at])) {
      if (executions->manyValues) {
        known = false;
        return {};
      }
      known |= !executions->values.empty();
      values.insert(executions->values.begin(), executions->values.end());
    }
  return values;
}

bool RepairContext::isLive(const InsertionPoint &point, uint32_t reg) const {
  const Part &part = parts[point.function];
  if (part.flow.isAssigned(point.index, reg))
    return true;
  const auto &defs = part.flow.definitions(reg);
  return point.after && std::count(defs.begin(), defs.end(), point.index);
}

std::vector<RepairContext::Operand>
RepairContext::barriersAt(const InsertionPoint &point, const std::set<uint64_t> &only) const {
  const Part &part = parts[point.function];
  const std::set<uint64_t> &wanted = only.empty() ? profile.barriers : only;
  std::map<std::string, unsigned> found;
  auto offer = [&](const std::string &text, unsigned rank) {
    auto [it, fresh] = found.emplace(text, rank);
    if (!fresh)
      it->second = std::min(it->second, rank);
  };
  auto count = [&](const std::set<uint64_t> &of, const std::set<uint64_t> &values, int64_t offset) {
    return size_t(std::count_if(values.begin(), values.end(), [&](uint64_t value) {
      return of.count((value + uint64_t(offset)) & sharedOffsetMask);
    }));
  };
  auto hits = [&](const std::set<uint64_t> &values, int64_t offset) {
    return count(wanted, values, offset) != 0;
  };
  /// Always an mbarrier, and one that is wanted among them.
  auto fits = [&](const std::set<uint64_t> &values, int64_t offset) {
    return hits(values, offset) && count(profile.barriers, values, offset) == values.size();
  };
  // Addresses that other instructions use.
  std::set<uint32_t> bases;
  for (const auto &inst : part.function->body) {
    const ptx::Operand *operand = mbarrierOperand(*inst);
    if (!operand || operand->elements.empty())
      continue;
    const ptx::Operand &base = operand->elements[0];
    int64_t offset = operand->offset + base.offset;
    std::string plus = offset ? (offset > 0 ? "+" : "") + std::to_string(offset) : "";
    if (base.kind == ptx::Operand::Kind::Variable) {
      const auto &variables = base.isGlobal ? module.variables : part.function->variables;
      offer(variables[base.index].name + plus, 40);
    } else if (base.kind == ptx::Operand::Kind::Register && isLive(point, base.index)) {
      bases.insert(base.index);
      bool known = false;
      std::set<uint64_t> values = valuesOf(part, base.index, known);
      if (!known || hits(values, offset))
        offer(part.function->registers[base.index].name + plus, 20);
    }
  }
  for (uint32_t reg = 0; reg < part.function->registers.size(); ++reg) {
    if (part.function->registers[reg].type == ptx::Type::None || !isLive(point, reg))
      continue;
    bool known = false, unused = !part.flow.isUsed(reg);
    std::set<uint64_t> values = valuesOf(part, reg, known);
    if (values.empty())
      continue;
    // The best is a register that nothing else uses; the next, one that is assigned nearby.
    size_t nearest = ~size_t(0);
    for (size_t at : part.flow.definitions(reg))
      if (at <= point.index)
        nearest = std::min(nearest, point.index - at);
    unsigned rank = unused ? 0 : nearest < 16 ? 10 : 30;
    if (fits(values, 0))
      offer(part.function->registers[reg].name, rank);
    if (bases.count(reg) || (values.size() == 1 && !hits(values, 0)))
      for (uint64_t barrier : wanted) {
        int64_t offset = int64_t(barrier) - int64_t(*values.begin() & sharedOffsetMask);
        if (offset && std::abs(offset) <= 4096 && fits(values, offset))
          offer(part.function->registers[reg].name + (offset > 0 ? "+" : "") +
                    std::to_string(offset),
                rank + 25);
      }
  }
  std::vector<Operand> list;
  for (auto &[text, rank] : found)
    list.push_back({text, rank});
  std::sort(list.begin(), list.end(), [](const Operand &a, const Operand &b) {
    return std::tie(a.rank, a.text) < std::tie(b.rank, b.text);
  });
  return list;
}

std::vector<RepairContext::Operand> RepairContext::paritiesAt(const InsertionPoint &point) const {
  const Part &part = parts[point.function];
  std::set<uint32_t> inUse;
  for (const auto &inst : part.function->body)
    if (inst->form->name.starts_with("mbarrier.") && inst->has(".parity") &&
        inst->operands.size() > 2 && inst->operands[2].kind == ptx::Operand::Kind::Register)
      inUse.insert(inst->operands[2].index);
  std::vector<Operand> list;
  for (uint32_t reg = 0; reg < part.function->registers.size(); ++reg) {
    bool known = false;
    std::set<uint64_t> values = valuesOf(part, reg, known);
    if (values.empty() || *values.rbegin() > 1 || !isLive(point, reg))
      continue;
    unsigned rank = !part.flow.isUsed(reg) ? 0 : inUse.count(reg) ? 2 : 4;
    list.push_back({part.function->registers[reg].name, rank});
  }
  std::sort(list.begin(), list.end(), [](const Operand &a, const Operand &b) {
    return std::tie(a.rank, a.text) < std::tie(b.rank, b.text);
  });
  return list;
}

std::vector<std::string> RepairContext::singleGuardsAt(const InsertionPoint &point) const {
  const Part &part = parts[point.function];
  struct Guard {
    std::string text;
    unsigned rank;
  };
  std::vector<Guard> guards;
  for (uint32_t reg = 0; reg < part.function->registers.size(); ++reg) {
    if (!isLive(point, reg))
      continue;
    bool executed = false, single = true;
    for (size_t at : part.flow.definitions(reg))
      if (auto *executions = profile.find(*part.function->body[at])) {
        executed |= !executions->trueWarps.empty();
        single &= executions->mostLanes <= 1;
      }
    if (executed && single)
      guards.push_back(
          {"@" + part.function->registers[reg].name + " ", part.flow.isUsed(reg) ? 1u : 0u});
  }
  std::sort(guards.begin(), guards.end(), [](const Guard &a, const Guard &b) {
    return std::tie(a.rank, a.text) < std::tie(b.rank, b.text);
  });
  std::vector<std::string> list;
  for (const Guard &guard : guards)
    if (list.size() < 3)
      list.push_back(guard.text);
  return list;
}

std::string RepairContext::textOfInstruction(const Instruction &inst) const {
  TextRange range = textOf(module, inst);
  return module.text.substr(range.begin, range.end - range.begin);
}

size_t RepairContext::bodyOf(const ptx::Function &function) const {
  return function.body.empty() ? 0 : textOf(module, *function.body[0]).begin;
}

Candidate RepairContext::insertion(const InsertionPoint &point, Strength strength,
                                   const std::string &text, int detail) const {
  Candidate candidate;
  candidate.strength = strength;
  candidate.detail = detail;
  candidate.what = text;
  candidate.anchor = &at(point);
  candidate.executions = point.executions;
  candidate.distance = point.distance;
  candidate.tooRare = point.tooRare;
  TextRange range = textOf(module, at(point));
  size_t where = point.label ? point.label : point.after ? range.end : range.begin;
  candidate.edits.push_back({where, where, text});
  return candidate;
}

Candidate RepairContext::replacement(const Instruction &inst, Strength strength,
                                     const std::string &text, int detail) const {
  Candidate candidate;
  candidate.strength = strength;
  candidate.detail = detail;
  candidate.what = text;
  candidate.anchor = &inst;
  TextRange range = textOf(module, inst);
  candidate.edits.push_back({range.begin, range.end, text});
  return candidate;
}

} // namespace penstock::emu
