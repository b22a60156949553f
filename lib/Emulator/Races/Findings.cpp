//===- Findings.cpp - Collecting what a launch has to say -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Races/Findings.h"
#include "Diagnostics/Codes.h"
#include "Emulator/Decode/Program.h"
#include "Emulator/Launch.h"

#include <algorithm>
#include <tuple>

namespace penstock::emu {
namespace {

/// Instructions that one launch remembers in conflict with each other.
constexpr size_t maxSites = 1u << 14;

const ptx::Instruction *instruction(const Program &program, uint32_t pc) {
  return pc < program.code.size() ? program.code[pc].source : nullptr;
}

/// Returns whether an instruction has a line in a source, beside that of the PTX.
bool hasSource(const Program &program, const ptx::Instruction &inst) {
  return inst.loc.line && program.module->files.count(inst.loc.file);
}

/// Returns the source line if there is one, otherwise the PTX line.
SourceLocation bestLocation(const Program &program, uint32_t pc) {
  const ptx::Instruction *inst = instruction(program, pc);
  if (!inst)
    return program.module->location(0);
  if (hasSource(program, *inst))
    return {program.module->files.at(inst->loc.file), inst->loc.line, inst->loc.column};
  return program.module->location(inst->line, inst->column);
}

std::string ptxLocation(const Program &program, uint32_t pc) {
  const ptx::Instruction *inst = instruction(program, pc);
  if (!inst)
    return program.module->name;
  return program.module->name + ":" + std::to_string(inst->line) + " `" + inst->opcode + "`";
}

std::array<uint32_t, 3> blockOf(const ExecutionPoint &point) { return {point.z, point.y, point.x}; }

std::string blockText(const std::array<uint32_t, 3> &block) {
  return "(" + std::to_string(block[2]) + "," + std::to_string(block[1]) + "," +
         std::to_string(block[0]) + ")";
}

} // namespace

Findings::Line Findings::lineOf(const Program &program, uint32_t pc) {
  const ptx::Instruction *inst = instruction(program, pc);
  if (!inst)
    return {0, 0};
  return hasSource(program, *inst) ? Line{inst->loc.file + 1, inst->loc.line} : Line{0, inst->line};
}

Findings::Key Findings::keyOf(const Finding &finding) const {
  Line first = lineOf(finding.point.pc);
  Line second = finding.otherProgram ? lineOf(*finding.otherProgram, finding.other->pc)
                : finding.other      ? lineOf(finding.other->pc)
                                     : first;
  if (!finding.otherProgram && second < first)
    std::swap(first, second);
  return {finding.code, first, second, finding.tier.value_or(tierOfCode(finding.code)),
          finding.unusedLoad.has_value()};
}

const Program *Findings::otherOf(const Finding &finding) const {
  return finding.otherProgram ? finding.otherProgram : program;
}

void Findings::merge(Group &group, const Finding &finding) {
  ++group.count;
  group.blocks.insert(blockOf(finding.point));
  if (finding.unusedLoad)
    group.unusedLoads.insert(*finding.unusedLoad);
  if (finding.memory)
    group.memory.add(*finding.memory);
  // The two accesses may come in either order.
  bool swapped = finding.other && !finding.otherProgram &&
                 lineOf(finding.point.pc) != lineOf(group.finding.point.pc);
  auto note = [&](size_t which, const ExecutionPoint &point) {
    Side &side = group.sides[swapped ? 1 - which : which];
    side.warps.insert(point.warp);
    if (finding.sides)
      ((*finding.sides)[which].write ? side.writes : side.reads) = true;
  };
  note(0, finding.point);
  if (!finding.other)
    return;
  note(1, *finding.other);
  bool sameBlock = blockOf(finding.point) == blockOf(*finding.other);
  group.acrossBlocks |= !sameBlock;
  group.withinWarps &=
      !finding.otherProgram && sameBlock && finding.point.warp == finding.other->warp;
}

bool Findings::count(const Finding &finding) {
  std::lock_guard<std::mutex> lock(mutex);
  auto ptxLine = [](const Program &of, uint32_t pc) {
    const ptx::Instruction *inst = instruction(of, pc);
    return inst ? inst->line : 0;
  };
  if (sites.size() < maxSites)
    sites[{finding.code, ptxLine(*program, finding.point.pc),
           finding.other ? ptxLine(*otherOf(finding), finding.other->pc) : 0}]
        .emplace(finding.point.warp, (finding.other ? *finding.other : finding.point).warp);
  Key key = keyOf(finding);
  auto it = groups.find(key);
  if (it == groups.end())
    return crowded(key);
  merge(it->second, finding);
  return true;
}

void Findings::add(Finding finding) {
  if (count(finding))
    return;
  std::lock_guard<std::mutex> lock(mutex);
  Group &group = groups[keyOf(finding)];
  if (!group.count)
    group.finding = finding;
  merge(group, finding);
}

/// One wrong instruction may clash with a hundred others: a few say enough.
bool Findings::crowded(const Key &key) const {
  unsigned alike = 0;
  for (const auto &[other, group] : groups)
    alike += other.code == key.code && (other.first == key.first || other.second == key.first ||
                                        other.first == key.second || other.second == key.second);
  return groups.size() >= limit || alike >= 8;
}

size_t Findings::size() const {
  std::lock_guard<std::mutex> lock(mutex);
  return groups.size();
}

void Findings::settle(bool completed) {
  std::lock_guard<std::mutex> lock(mutex);
  std::map<Key, Group> settled;
  for (auto &[key, group] : groups) {
    auto isUsed = [&](uint32_t load) { return unusedReads.used().count(load) != 0; };
    bool used =
        !completed || std::any_of(group.unusedLoads.begin(), group.unusedLoads.end(), isUsed);
    Key now = key;
    now.maybeUnused = false;
    if (key.maybeUnused && !used) {
      now.code = group.finding.code = EmuUnusedRead;
      now.tier = tierOfCode(EmuUnusedRead);
      group.finding.message = "unordered load and store of ";
      group.finding.reason = "no value that is loaded unordered reaches a store that is executed";
    }
    auto [entry, isNew] = settled.try_emplace(now, std::move(group));
    if (!isNew)
      entry->second.absorb(group, lineOf(group.finding.point.pc) !=
                                      lineOf(entry->second.finding.point.pc));
  }
  groups = std::move(settled);
}

void Findings::Group::absorb(const Group &other, bool swapped) {
  count += other.count;
  for (size_t which = 0; which < 2; ++which) {
    Side &side = sides[swapped ? 1 - which : which];
    side.warps.insert(other.sides[which].warps.begin(), other.sides[which].warps.end());
    side.reads |= other.sides[which].reads;
    side.writes |= other.sides[which].writes;
  }
  blocks.insert(other.blocks.begin(), other.blocks.end());
  memory.add(other.memory);
  withinWarps &= other.withinWarps;
  acrossBlocks |= other.acrossBlocks;
}

/// A read that is in conflict with a write may also come before it. That is the same
/// error, seen once more.
void Findings::foldEarlyReads() {
  std::erase_if(groups, [&](const auto &entry) {
    const auto &[key, early] = entry;
    if (key.code != EmuUninitialized)
      return false;
    for (auto &[other, group] : groups)
      if ((other.code == EmuDataRace || other.code == EmuMissingProxyFence ||
           other.code == EmuGridRace || other.code == EmuUnusedRead) &&
          (other.first == key.first || other.second == key.first) &&
          group.memory.meets(early.memory)) {
        group.early += early.count;
        return true;
      }
    return false;
  });
}

/// "warps 4 to 7 read it", "tcgen05.mma of warp 1 writes it asynchronously".
std::string Findings::sideText(const Group &group, size_t which) const {
  const Side &side = group.sides[which];
  const char *engine = (*group.finding.sides)[which].engine;
  std::string who = warpsText(side.warps);
  if (which && group.finding.otherProgram)
    who += " of kernel `" + demangled(group.finding.otherProgram->kernel->name) + "`";
  else if (group.withinWarps && !engine)
    who = which ? "other lanes of the same " + std::string(side.warps.size() > 1 ? "warps" : "warp")
                : "lanes of " + who;
  else if (which && group.acrossBlocks)
    who += " of other blocks";
  bool plural = !engine && (side.warps.size() > 1 || group.withinWarps);
  std::string does = side.reads && side.writes ? (plural ? "read and write" : "reads and writes")
                     : side.writes             ? (plural ? "write" : "writes")
                                               : (plural ? "read" : "reads");
  return (engine ? std::string(engine) + " of " : "") + who + " " + does + " it" +
         (engine && which ? " asynchronously" : "");
}

/// A line for each step: mark, who, instruction, PTX line, source line; separated by tabs. The mark
/// is `access`, `step`, `completes` or `left out`.
std::string Findings::timelineText(const Finding &finding) const {
  std::string text;
  for (const TimelineStep &step : finding.timeline) {
    if (!text.empty())
      text += "\n";
    if (step.kind == TimelineStep::Left) {
      text += "left out\t\t" + std::to_string(step.times) + " steps\t\t";
      continue;
    }
    uint32_t inCluster = step.warp - finding.firstWarp;
    std::string who = step.kind == TimelineStep::Completed
                          ? "engine"
                          : "warp " + std::to_string(inCluster % warpsPerBlock);
    if (step.kind == TimelineStep::Executed && inCluster >= warpsPerBlock)
      who += " of block " + std::to_string(inCluster / warpsPerBlock) + " of the cluster";
    const ptx::Instruction *inst = instruction(*program, step.pc);
    SourceLocation source = bestLocation(*program, step.pc);
    text +=
        (step.kind == TimelineStep::Completed ? "completes"
         : step.access                        ? "access"
                                              : "step") +
        ("\t" + who) + "\t" + (inst ? inst->opcode : "") +
        (step.times > 1 ? ", " + std::to_string(step.times) + " times" : "") + "\t" +
        std::to_string(inst ? inst->line : 0) + "\t" +
        (inst && hasSource(*program, *inst) ? source.file + ":" + std::to_string(source.line) : "");
  }
  return text;
}

Diagnostic Findings::describe(const Group &group, const std::string &timing) const {
  const Finding &finding = group.finding;
  Diagnostic d;
  d.code = finding.code;
  Tier tier = finding.tier.value_or(tierOfCode(finding.code));
  d.severity = tier == Tier::Note ? Severity::Note : Severity::Error;
  d.location = bestLocation(*program, finding.point.pc);
  d.message = finding.message + group.memory.text() + finding.rest;
  if (finding.sides)
    d.message += ": " + sideText(group, 0);
  else if (!finding.saysWho)
    d.message += ", " + warpsText(group.sides[0].warps);
  if (group.count > 1)
    d.message += ", " + std::to_string(group.count) + " times";
  if (blocks > 1)
    d.message += group.count == 1 ? ", in block " + blockText(*group.blocks.begin())
                 : group.blocks.size() == 1
                     ? " in block " + blockText(*group.blocks.begin())
                     : " in " + std::to_string(group.blocks.size()) + " blocks from " +
                           blockText(*group.blocks.begin()) + " on";
  d.message += ", " + timing;
  const ptx::Instruction *inst = instruction(*program, finding.point.pc);
  if (inst)
    d.label = hasSource(*program, *inst) ? ptxLocation(*program, finding.point.pc) : inst->opcode;
  auto addNote = [&](const Program &of, const ExecutionPoint &point, const std::string &text) {
    DiagnosticNote note;
    note.location = bestLocation(of, point.pc);
    note.message = text + " (" + ptxLocation(of, point.pc) + ")";
    d.notes.push_back(std::move(note));
  };
  if (finding.other)
    addNote(*otherOf(finding), *finding.other,
            finding.sides ? sideText(group, 1) : finding.otherText);
  for (const auto &[point, text] : finding.others)
    addNote(*program, point, text);
  std::string reason = finding.reason;
  if (group.early)
    reason += (reason.empty() ? "" : "; ") + std::to_string(group.early) +
              " reads came before anything was written";
  if (!reason.empty())
    d.helps.push_back(reason);
  auto fact = [&](const char *key, std::string value) { d.facts.emplace_back(key, value); };
  fact("tier", tierName(tier));
  if (!group.memory.empty())
    fact("memory", group.memory.text());
  if (inst)
    fact("ptx_line", std::to_string(inst->line));
  const ptx::Instruction *otherInst =
      finding.other ? instruction(*otherOf(finding), finding.other->pc) : nullptr;
  if (otherInst)
    fact("other_ptx_line", std::to_string(otherInst->line));
  if (finding.otherProgram)
    fact("other_kernel", demangled(finding.otherProgram->kernel->name));
  fact("warps", warpsText(group.sides[0].warps));
  if (finding.other)
    fact("other_warps", warpsText(group.sides[1].warps));
  fact("blocks", std::to_string(group.blocks.size()));
  fact("timing", timing);
  fact("occurrences", std::to_string(group.count));
  if (!finding.timeline.empty())
    fact("timeline", timelineText(finding));
  return d;
}

std::vector<Diagnostic> Findings::take(const std::string &timing) {
  std::lock_guard<std::mutex> lock(mutex);
  foldEarlyReads();
  std::vector<Diagnostic> list;
  for (const auto &[key, group] : groups)
    list.push_back(describe(group, timing));
  groups.clear();
  sortFindings(list);
  return list;
}

std::vector<FindingSite> Findings::takeSites() {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<FindingSite> list;
  for (auto &[site, warps] : sites)
    list.push_back({site[0], site[1], site[2], std::move(warps)});
  sites.clear();
  return list;
}

std::array<SourceLocation, 2> findingLines(const Diagnostic &finding) {
  std::array<SourceLocation, 2> lines = {
      finding.location, finding.notes.empty() ? finding.location : finding.notes[0].location};
  for (SourceLocation &line : lines)
    line.column = 0;
  if (std::tie(lines[1].file, lines[1].line) < std::tie(lines[0].file, lines[0].line))
    std::swap(lines[0], lines[1]);
  return lines;
}

void sortFindings(std::vector<Diagnostic> &findings) {
  std::sort(findings.begin(), findings.end(), [](const Diagnostic &a, const Diagnostic &b) {
    auto orderOf = [](const Diagnostic &d) {
      return std::tie(d.location.file, d.location.line, d.code);
    };
    if (orderOf(a) != orderOf(b))
      return orderOf(a) < orderOf(b);
    SourceLocation first = findingLines(a)[1], second = findingLines(b)[1];
    return std::tie(first.file, first.line, a.message) <
           std::tie(second.file, second.line, b.message);
  });
}

} // namespace penstock::emu
