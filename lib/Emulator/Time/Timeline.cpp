//===- Timeline.cpp - Events between two conflicting accesses -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Time/Timeline.h"
#include "Emulator/Decode/Program.h"
#include "PTX/InstructionTable.h"

#include <algorithm>
#include <set>

namespace penstock::emu {
namespace {

/// Steps that a cluster remembers.
constexpr size_t maxSteps = 1u << 14;
/// Steps that a finding quotes: the first, and the last.
constexpr size_t firstShown = 12, lastShown = 28;

bool startsWithAny(const std::string &name, std::initializer_list<const char *> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char *prefix) { return name.starts_with(prefix); });
}

/// Synchronizes, or issues asynchronous work.
bool isShown(const ptx::Instruction &inst) {
  if (startsWithAny(inst.form->name, {"bar", "fence", "membar", "mbarrier", "wgmma", "tcgen05",
                                      "cp.", "griddepcontrol", "clusterlaunchcontrol", "st.async"}))
    return true;
  return inst.has(".acquire") || inst.has(".release") || inst.has(".acq_rel") ||
         inst.has(".relaxed") || inst.has(".volatile");
}

bool isAccess(const ptx::Instruction &inst) {
  return startsWithAny(inst.form->name, {"ld", "st", "atom", "red"});
}

} // namespace

Timeline::Timeline(const Program &program) : uses(program.code.size(), Use::None) {
  for (size_t pc = 0; pc < uses.size(); ++pc)
    if (const ptx::Instruction *inst = program.code[pc].source; inst && inst->form)
      uses[pc] = isShown(*inst) ? Use::Shown : isAccess(*inst) ? Use::Access : Use::None;
}

void Timeline::add(const TimelineStep &step) {
  if (steps.size() == maxSteps) {
    steps.pop_front();
    ++dropped;
  }
  steps.push_back(step);
}

void Timeline::executes(uint32_t warp, uint32_t pc, uint32_t count) {
  if (uses[pc] != Use::None)
    add({TimelineStep::Executed, false, warp, pc, count});
}

void Timeline::blocked(uint32_t pc) {
  if (uses[pc] != Use::None)
    steps.pop_back();
}

void Timeline::completed(uint32_t pc) { add({TimelineStep::Completed, false, 0, pc}); }

std::optional<uint64_t> Timeline::find(uint32_t warp, uint32_t pc, uint32_t count) const {
  for (size_t i = steps.size(); i-- > 0;)
    if (steps[i].kind == TimelineStep::Executed && steps[i].warp == warp && steps[i].pc == pc &&
        steps[i].count == count)
      return dropped + i;
  return {};
}

std::vector<TimelineStep> Timeline::between(uint64_t first, uint32_t firstWarp,
                                            const TimelineStep &last) const {
  if (first < dropped || first - dropped >= steps.size())
    return {};
  std::vector<TimelineStep> shown;
  auto show = [&](const TimelineStep &step) {
    if (!shown.empty() && !shown.back().access && shown.back().kind == step.kind &&
        shown.back().warp == step.warp && shown.back().pc == step.pc)
      ++shown.back().times;
    else
      shown.push_back(step);
  };
  std::set<uint32_t> issued; // by the two warps, from the first access on
  for (size_t i = size_t(first - dropped); i < steps.size(); ++i) {
    const TimelineStep &step = steps[i];
    bool isFirst = i == size_t(first - dropped);
    if (step.kind == TimelineStep::Completed) {
      if (issued.count(step.pc))
        show(step);
      continue;
    }
    if (step.warp != firstWarp && step.warp != last.warp)
      continue;
    issued.insert(step.pc);
    if (isFirst || uses[step.pc] == Use::Shown)
      show(step);
    shown.front().access = true;
  }
  // The second access is under way, and the last step of the log if it is shown there.
  if (shown.size() > 1 && shown.back().kind == TimelineStep::Executed &&
      shown.back().warp == last.warp && shown.back().pc == last.pc)
    shown.pop_back();
  shown.push_back(last);
  shown.back().access = true;
  if (shown.size() > firstShown + lastShown + 1) {
    size_t left = shown.size() - firstShown - lastShown;
    TimelineStep gap;
    gap.kind = TimelineStep::Left;
    gap.times = uint32_t(left);
    shown.erase(shown.begin() + firstShown, shown.begin() + int64_t(firstShown + left));
    shown.insert(shown.begin() + firstShown, gap);
  }
  return shown;
}

} // namespace penstock::emu
