//===- GroupCandidates.cpp - Missing commits and waits of groups ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Repair/Generators.h"
#include "PTX/InstructionTable.h"

#include <algorithm>

namespace penstock::emu {
namespace {

/// Groups in flight that a wait may allow.
constexpr int mostPending = 2;

/// Instructions of one kind of asynchronous groups.
struct GroupKind {
  const char *issues;  ///< what the kernel uses
  const char *commits; ///< the opcode
  const char *waits;
  const char *readWaits; ///< waits until sources have been read; null: there is none
  bool aligned;
};

constexpr GroupKind kinds[] = {
    {"cp.async.c", "cp.async.commit_group", "cp.async.wait_group", nullptr, false},
    {"cp.async.bulk", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group",
     "cp.async.bulk.wait_group.read", false},
    {"cp.reduce.async.bulk", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group",
     "cp.async.bulk.wait_group.read", false},
    {"wgmma.mma_async", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned", nullptr,
     true}};

} // namespace

void proposeGroups(const RepairContext &context, Candidates &out) {
  if (!context.has({EmuDataRace, EmuInFlightAtExit, EmuRegisterInFlight, EmuUninitialized,
                    EmuMissingProxyFence, EmuTensorMemoryMisuse, EmuOutOfBounds, EmuIllegalOperand,
                    EmuDeadlock}))
    return;
  for (const GroupKind &kind : kinds) {
    bool named = context.names(kind.issues) || context.names(kind.waits) ||
                 context.has({EmuInFlightAtExit, EmuRegisterInFlight});
    if (!context.uses(kind.issues) || !(context.thorough() || named))
      continue;
    // Bulk copies that complete on mbarriers are in no group.
    bool bulk = kind.readWaits;
    auto inGroups = [&](const std::string &opcode) {
      return opcode.find(".bulk_group") != std::string::npos;
    };
    std::vector<std::string> issued = context.opcodes(kind.issues);
    if (bulk && std::none_of(issued.begin(), issued.end(), inGroups))
      continue;
    std::string commit = std::string(kind.commits) + ";";
    for (const InsertionPoint &point : context.points) {
      if (kind.aligned && !point.wholeWarps)
        continue;
      out.push_back(context.insertion(point, Strength::Commit, commit));
      for (int pending = mostPending; pending >= 0; --pending)
        for (const char *wait : {kind.readWaits, kind.waits}) {
          if (!wait)
            continue;
          int detail = 4 * (mostPending - pending) + (wait == kind.waits ? 1 : 0);
          std::string text = std::string(wait) + " " + std::to_string(pending) + ";";
          out.push_back(context.insertion(point, Strength::GroupWait, text, detail));
          if (pending == 0 && !context.uses(kind.commits))
            out.push_back(
                context.insertion(point, Strength::GroupWait, commit + " " + text, detail + 20));
        }
    }
    // An existing wait that lets fewer groups be in flight.
    for (const RepairContext::Part &part : context.parts)
      for (const auto &inst : part.function->body)
        if (std::string_view(inst->opcode).starts_with(kind.waits) && !inst->operands.empty() &&
            inst->operands[0].kind == ptx::Operand::Kind::Immediate &&
            inst->operands[0].value <= 16)
          for (uint64_t pending = inst->operands[0].value; pending-- > 0;)
            out.push_back(context.replacement(
                *inst, Strength::GroupWait, inst->opcode + " " + std::to_string(pending) + ";",
                int(mostPending > pending ? 4 * (mostPending - pending) : 0)));
  }
  for (const char *kind : {"ld", "st"})
    if (context.uses(std::string("tcgen05.") + kind) &&
        (context.thorough() || context.names("tcgen05.") ||
         context.has({EmuRegisterInFlight, EmuInFlightAtExit, EmuTensorMemoryMisuse})))
      for (const InsertionPoint &point : context.points)
        if (point.wholeWarps)
          out.push_back(context.insertion(point, Strength::TensorWait,
                                          std::string("tcgen05.wait::") + kind + ".sync.aligned;"));
}

} // namespace penstock::emu
