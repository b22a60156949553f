//===- EquivalentMutants.cpp - Mutants that are equivalent by their text --===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Mutation/EquivalentMutants.h"

#include <algorithm>

using namespace penstock;

namespace {

/// Atomics that say nothing are relaxed.
bool isRelaxed(std::string_view opcode) {
  return contains(opcode, ".relaxed") || contains(opcode, ".volatile") ||
         ((opcode.starts_with("atom.") || opcode.starts_with("red.")) &&
          !contains(opcode, ".acq_rel"));
}

bool isAtomic(std::string_view opcode) {
  return opcode.starts_with("atom.") || opcode.starts_with("red.");
}

bool names(const ptx::Operand &operand, uint32_t reg) {
  return (operand.kind == ptx::Operand::Kind::Register && operand.index == reg) ||
         std::any_of(operand.elements.begin(), operand.elements.end(),
                     [&](const ptx::Operand &element) { return names(element, reg); });
}

/// Returns whether a strong load or atomic reads memory that others write, and its result is used.
bool polls(const ptx::Function &kernel, const ptx::Instruction &instruction) {
  std::string_view opcode = instruction.opcode;
  bool strongLoad =
      opcode.starts_with("ld.") && (contains(opcode, ".acquire") || isRelaxed(opcode));
  if (!strongLoad && !opcode.starts_with("atom."))
    return false;
  if (instruction.operands.empty() || instruction.operands[0].kind != ptx::Operand::Kind::Register)
    return true;
  uint32_t result = instruction.operands[0].index;
  return std::any_of(kernel.body.begin(), kernel.body.end(), [&](const auto &other) {
    return other.get() != &instruction &&
           std::any_of(other->operands.begin(), other->operands.end(),
                       [&](const ptx::Operand &operand) { return names(operand, result); });
  });
}

} // namespace

EquivalentMutants::EquivalentMutants(const ptx::Function &kernel) : kernel(kernel) {
  bool relaxedAtomic = false, polled = false;
  const auto &size = kernel.requiredCluster;
  cluster = kernel.explicitCluster || std::max({size[0], size[1], size[2]}) > 1;
  for (const auto &instruction : kernel.body) {
    std::string_view opcode = instruction->opcode;
    // Atomics without a reader, such as records of faults, do not synchronize.
    if (isRelaxed(opcode) && !isAtomic(opcode)) {
      bool arrives = contains(opcode, ".arrive") || opcode.starts_with("st.");
      bool waits = contains(opcode, "_wait") || opcode.starts_with("ld.");
      relaxedArrivals |= !waits;
      relaxedWaits |= !arrives;
    }
    relaxedAtomic |= isRelaxed(opcode) && isAtomic(opcode);
    polled |= polls(kernel, *instruction);
    cluster |= opcode.starts_with("barrier.cluster") || opcode.starts_with("mapa") ||
               contains(opcode, ".cta_group::2") || contains(opcode, ".multicast::cluster");
  }
  relaxedArrivals |= relaxedAtomic && polled;
  relaxedWaits |= relaxedAtomic && polled;
}

/// Returns whether the next synchronizing instruction is a barrier of all threads.
bool EquivalentMutants::barrierOfBlockFollows(const ptx::Instruction &instruction) const {
  auto at = std::find_if(kernel.body.begin(), kernel.body.end(),
                         [&](const auto &each) { return each.get() == &instruction; });
  while (at != kernel.body.end() && ++at != kernel.body.end())
    if (syncKindOf((*at)->opcode))
      return std::string_view((*at)->opcode).starts_with("bar.sync") && (*at)->operands.size() == 1;
  return false;
}

/// Returns whether a fence of tensor memory stands beside an instruction: the nearest one before or
/// after it that orders anything.
bool EquivalentMutants::tensorFenceIsBeside(const ptx::Instruction &instruction,
                                            bool before) const {
  auto at = std::find_if(kernel.body.begin(), kernel.body.end(),
                         [&](const auto &each) { return each.get() == &instruction; });
  auto isFence = [](const auto &each) { return syncKindOf(each->opcode).has_value(); };
  if (before) {
    auto fence = std::find_if(std::make_reverse_iterator(at), kernel.body.rend(), isFence);
    return fence != kernel.body.rend() && (*fence)->opcode == "tcgen05.fence::before_thread_sync";
  }
  bool accesses = false;
  const ptx::Instruction *fence = nextSync(instruction, accesses);
  return fence && fence->opcode == "tcgen05.fence::after_thread_sync";
}

/// Returns whether all lanes have just completed their accesses to tensor memory: a wait of the
/// whole warp stands before an instruction, with at most fences of tensor memory in between.
bool EquivalentMutants::tensorWaitIsBefore(const ptx::Instruction &instruction) const {
  auto at = std::find_if(kernel.body.begin(), kernel.body.end(),
                         [&](const auto &each) { return each.get() == &instruction; });
  auto before = std::find_if(std::make_reverse_iterator(at), kernel.body.rend(), [](auto &each) {
    auto kind = syncKindOf(each->opcode);
    return kind && *kind != SyncKind::TensorFence;
  });
  return before != kernel.body.rend() && syncKindOf((*before)->opcode) == SyncKind::TensorWait;
}

/// The next instruction that orders anything, where no condition leads elsewhere; null if there
/// is none. \p accesses: whether memory is accessed before it.
const ptx::Instruction *EquivalentMutants::nextSync(const ptx::Instruction &from,
                                                    bool &accesses) const {
  auto at = std::find_if(kernel.body.begin(), kernel.body.end(),
                         [&](const auto &each) { return each.get() == &from; });
  size_t next = size_t(at - kernel.body.begin()) + 1;
  for (size_t steps = 0; next < kernel.body.size() && steps < kernel.body.size(); ++steps) {
    const ptx::Instruction &instruction = *kernel.body[next];
    std::string_view opcode = instruction.opcode;
    if (syncKindOf(opcode))
      return &instruction;
    for (const char *access : {"ld.shared", "ld.global", "ld.local", "st.", "atom.", "red.", "cp.",
                               "wgmma.mma", "tcgen05.", "ldmatrix", "stmatrix"})
      accesses |= opcode.starts_with(access);
    bool always = opcode.starts_with("bra") && !instruction.guarded;
    next = always ? instruction.operands[0].index : next + 1;
  }
  return nullptr;
}

/// Returns whether a wait stands before another one that acquires, and nothing is accessed in
/// between.
bool EquivalentMutants::acquiringWaitFollows(const ptx::Instruction &instruction) const {
  bool accesses = false;
  const ptx::Instruction *next = nextSync(instruction, accesses);
  std::string_view opcode = next ? std::string_view(next->opcode) : std::string_view();
  return !accesses && opcode.starts_with("mbarrier.try_wait") && contains(opcode, ".acquire");
}

std::string EquivalentMutants::reasonFor(const ptx::Instruction &instruction, SyncKind kind,
                                         Change change) const {
  if (change != Change::Removed)
    return "";
  if (kind == SyncKind::TensorFence && !relaxedArrivals && !relaxedWaits)
    return "all synchronization of the kernel releases and acquires, which orders tcgen05 "
           "operations without this fence";
  if (instruction.opcode == "tcgen05.fence::after_thread_sync" && !relaxedWaits)
    return "all waits of the kernel acquire, which orders tcgen05 operations without this fence";
  if (instruction.opcode == "tcgen05.fence::before_thread_sync" && !relaxedArrivals)
    return "all arrivals of the kernel release, which orders tcgen05 operations without this fence";
  if (kind == SyncKind::InitFence && !cluster && barrierOfBlockFollows(instruction))
    return "the barrier of the block that follows orders the initialization, and no other block "
           "uses it";
  return "";
}

std::string EquivalentMutants::reasonIfUnnoticed(const ptx::Instruction &instruction,
                                                 Change change) const {
  // Memory of other kinds would have raced.
  if ((change == Change::NotReleased && tensorFenceIsBeside(instruction, /*before=*/true)) ||
      (change == Change::NotAcquired && tensorFenceIsBeside(instruction, /*before=*/false)))
    return "the fence beside it orders tcgen05 operations at a relaxed barrier, too, and in no "
           "run is anything else published";
  if (change == Change::Removed && syncKindOf(instruction.opcode) == SyncKind::WarpBarrier &&
      tensorWaitIsBefore(instruction))
    return "the wait before it completes the accesses of all lanes to tensor memory, and in no run "
           "is anything else published";
  if (change == Change::NotAcquired && acquiringWaitFollows(instruction))
    return "the wait that follows acquires before anything is accessed; this one awaits that its "
           "phase is complete, and in no run is anything else needed";
  return "";
}
