//===- Findings.cpp - Collecting what a launch has to say -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Findings.h"
#include "Emulator/Program.h"

#include <tuple>

namespace penstock::emu {
namespace {

auto order(const Place &p) { return std::make_tuple(p.z, p.y, p.x, p.warp, p.lane); }

const ptx::Instruction *instruction(const Program &program, uint32_t pc) {
  return pc < program.code.size() ? program.code[pc].source : nullptr;
}

/// Where a reader wants to look: the source line if there is one, else the PTX.
SourcePlace bestPlace(const Program &program, uint32_t pc) {
  const ptx::Instruction *inst = instruction(program, pc);
  if (!inst)
    return program.module->place(0);
  auto file = program.module->files.find(inst->loc.file);
  if (inst->loc.line && file != program.module->files.end())
    return {file->second, inst->loc.line, inst->loc.column};
  return program.module->place(inst->line, inst->column);
}

std::string ptxPlace(const Program &program, uint32_t pc) {
  const ptx::Instruction *inst = instruction(program, pc);
  if (!inst)
    return program.module->name;
  return program.module->name + ":" + std::to_string(inst->line) + " `" + inst->opcode + "`";
}

} // namespace

std::string describe(const Place &p) {
  return "block (" + std::to_string(p.x) + "," + std::to_string(p.y) + "," + std::to_string(p.z) +
         ") warp " + std::to_string(p.warp) + " lane " + std::to_string(p.lane);
}

void Findings::add(Finding finding) {
  std::lock_guard<std::mutex> lock(mutex);
  Key key{finding.code, finding.place.pc, finding.others.empty() ? 0 : finding.others[0].first.pc};
  auto it = found.find(key);
  if (it == found.end()) {
    if (!crowded(key))
      found.emplace(key, std::make_pair(std::move(finding), 1u));
    return;
  }
  ++it->second.second;
  if (order(finding.place) < order(it->second.first.place))
    it->second.first = std::move(finding);
}

bool Findings::wants(unsigned code, const Place &place, uint32_t other) {
  std::lock_guard<std::mutex> lock(mutex);
  Key key{code, place.pc, other};
  auto it = found.find(key);
  if (it == found.end())
    return !crowded(key);
  if (order(place) < order(it->second.first.place))
    return true;
  ++it->second.second;
  return false;
}

/// One wrong instruction may clash with a hundred others: a few say enough.
bool Findings::crowded(const Key &key) const {
  unsigned alike = 0;
  for (auto at = found.lower_bound(Key{key.code, key.pc, 0});
       at != found.end() && at->first.code == key.code && at->first.pc == key.pc; ++at)
    ++alike;
  return found.size() >= limit || alike >= 4;
}

size_t Findings::size() const {
  std::lock_guard<std::mutex> lock(mutex);
  return found.size();
}

std::vector<Diagnostic> Findings::take(const Program &program, const std::string &timing) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<Diagnostic> list;
  for (auto &[key, entry] : found) {
    Finding &finding = entry.first;
    Diagnostic d;
    d.code = finding.code;
    d.severity = finding.severity;
    d.place = bestPlace(program, finding.place.pc);
    d.message = finding.message + ", " + describe(finding.place) + ", " + timing;
    const ptx::Instruction *inst = instruction(program, finding.place.pc);
    d.label = inst ? inst->opcode : "";
    DiagnosticNote here;
    here.message = "at " + ptxPlace(program, finding.place.pc);
    d.notes.push_back(std::move(here));
    for (auto &[place, text] : finding.others) {
      DiagnosticNote note;
      note.place = bestPlace(program, place.pc);
      note.message = text + " (" + describe(place) + ", " + ptxPlace(program, place.pc) + ")";
      d.notes.push_back(std::move(note));
    }
    if (!finding.reason.empty())
      d.helps.push_back(finding.reason);
    d.facts = finding.facts;
    if (inst)
      d.facts.emplace_back("ptx_line", std::to_string(inst->line));
    if (!finding.others.empty())
      if (auto *other = instruction(program, finding.others[0].first.pc))
        d.facts.emplace_back("other_ptx_line", std::to_string(other->line));
    d.facts.emplace_back("timing", timing);
    d.facts.emplace_back("occurrences", std::to_string(entry.second));
    list.push_back(std::move(d));
  }
  found.clear();
  return list;
}

} // namespace penstock::emu
