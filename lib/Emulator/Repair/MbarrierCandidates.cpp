//===- MbarrierCandidates.cpp - Missing waits, arrivals and counts --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Repair/Generators.h"
#include "PTX/InstructionTable.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace penstock::emu {
namespace {

/// Limits of what is tried at one point, and of points, the nearest first.
constexpr size_t maxPoints = 24, maxAddresses = 5, maxParities = 6;

std::vector<InsertionPoint> nearest(const RepairContext &context, size_t limit) {
  std::vector<InsertionPoint> points = context.points;
  std::sort(points.begin(), points.end(), [](const InsertionPoint &a, const InsertionPoint &b) {
    return std::tie(a.tooRare, a.distance, a.function, a.index, a.after) <
           std::tie(b.tooRare, b.distance, b.function, b.index, b.after);
  });
  if (points.size() > limit)
    points.resize(limit);
  return points;
}

std::string waitOpcode(const RepairContext &context) {
  for (const std::string &opcode : context.opcodes("mbarrier.try_wait.parity"))
    if (opcode.find(".relaxed") == std::string::npos)
      return opcode;
  if (context.module.arch >= 90)
    return "mbarrier.try_wait.parity.shared::cta.b64";
  return "mbarrier.test_wait.parity.shared.b64";
}

std::string waitLoop(const std::string &opcode, const std::string &address,
                     const std::string &parity, const std::string &before = "",
                     const std::string &after = "") {
  return "{ .reg .pred penstock_over; " + before + "penstock_wait: " + opcode +
         " penstock_over, [" + address + "], " + parity + "; @!penstock_over bra penstock_wait; " +
         after + "}";
}

/// Variants of an instruction for one thread that executes a point, and for all.
std::vector<std::pair<std::string, int>>
guarded(const RepairContext &context, const InsertionPoint &point, const std::string &text) {
  std::vector<std::pair<std::string, int>> variants;
  if (context.executionsAt(point).oneLane)
    return {{text, 0}};
  for (const std::string &guard : context.singleGuardsAt(point))
    variants.emplace_back(guard + text, 0);
  if (point.wholeWarps && context.module.arch >= 90)
    variants.emplace_back("{ .reg .pred penstock_one; elect.sync _|penstock_one, 0xffffffff; "
                          "@penstock_one " +
                              text + " }",
                          1);
  variants.emplace_back(text, 2);
  return variants;
}

} // namespace

void proposeWaits(const RepairContext &context, Candidates &out) {
  bool likely = context.has({EmuDataRace, EmuUninitialized, EmuTensorMemoryMisuse,
                             EmuInFlightAtExit, EmuRegisterInFlight, EmuOutOfBounds,
                             EmuIllegalDescriptor, EmuIllegalOperand, EmuMissingProxyFence});
  // A phase may also pass too early, and be waited for or arrived at too often.
  bool possible = context.effort != Effort::Likely &&
                  context.has({EmuMbarrierMisuse, EmuMissedPhase, EmuDeadlock, EmuNoProgress});
  if ((!likely && !possible) || !context.uses("mbarrier.init"))
    return;
  std::string opcode = waitOpcode(context);
  size_t counters = 0;
  for (const InsertionPoint &point : nearest(context, maxPoints)) {
    auto addresses = context.barriersAt(point, {});
    auto parities = context.paritiesAt(point);
    addresses.resize(std::min(addresses.size(), maxAddresses));
    parities.resize(std::min(parities.size(), maxParities));
    auto add = [&](const std::string &text, unsigned rank) {
      Candidate candidate = context.insertion(point, Strength::BarrierWait, text);
      // Nearby points first, not those that run least often.
      candidate.executions = point.distance + rank;
      out.push_back(candidate);
      return &out.back();
    };
    for (const auto &address : addresses) {
      for (const auto &parity : parities) {
        add(waitLoop(opcode, address.text, parity.text), address.rank + parity.rank);
        // The other parity: a slot is free before it has been filled.
        add(waitLoop(opcode, address.text, "penstock_other",
                     ".reg .b32 penstock_other; xor.b32 penstock_other, " + parity.text + ", 1; "),
            address.rank + parity.rank + 3);
      }
      for (const char *parity : {"0", "1"})
        add(waitLoop(opcode, address.text, parity),
            address.rank + (point.executions == 1 ? 0 : 20));
      if (point.executions == 1)
        continue;
      // A counter of phases.
      for (const char *first : {"0", "1"}) {
        std::string name = "%penstock_phase" + std::to_string(counters++);
        Candidate *candidate =
            add(waitLoop(opcode, address.text, name, "", "xor.b32 " + name + ", " + name + ", 1; "),
                address.rank + 8);
        size_t begin = context.bodyOf(*context.parts[point.function].function);
        candidate->edits.push_back(
            {begin, begin, ".reg .b32 " + name + "; mov.b32 " + name + ", " + first + ";"});
      }
    }
  }
}

void proposeArrivals(const RepairContext &context, Candidates &out) {
  bool likely = context.has({EmuDeadlock, EmuNoProgress, EmuMissedPhase});
  bool possible = context.thorough() && context.has({EmuMbarrierMisuse});
  if ((!likely && !possible) || !context.uses("mbarrier.init"))
    return;
  const std::set<uint64_t> &awaited = context.profile.awaited;
  std::set<int64_t> bytes; // that came and were not expected
  for (const ExecutionProfile::Barrier &barrier : context.profile.stuck)
    if (barrier.bytes < 0)
      bytes.insert(-barrier.bytes);
  std::vector<std::string> arrivals;
  for (const std::string &opcode : context.opcodes("mbarrier.arrive."))
    if (opcode.find(".expect_tx") == std::string::npos &&
        opcode.find(".noComplete") == std::string::npos)
      arrivals.push_back(opcode);
  std::string usual =
      context.module.arch >= 90 ? "mbarrier.arrive.shared::cta.b64" : "mbarrier.arrive.shared.b64";
  if (!std::count(arrivals.begin(), arrivals.end(), usual))
    arrivals.push_back(usual);
  std::vector<std::string> commits;
  if (context.uses("tcgen05.mma") || context.uses("tcgen05.cp")) {
    commits = context.opcodes("tcgen05.commit");
    std::erase_if(commits, [](const std::string &opcode) {
      return opcode.find(".multicast") != std::string::npos;
    });
    if (commits.empty())
      commits = {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"};
  }
  for (const InsertionPoint &point : context.points) {
    auto addresses = context.barriersAt(point, awaited);
    addresses.resize(std::min(addresses.size(), maxAddresses));
    auto add = [&](Strength strength, const std::string &text, unsigned rank, int detail) {
      for (const auto &[variant, wide] : guarded(context, point, text)) {
        Candidate candidate = context.insertion(point, strength, variant, detail + wide);
        candidate.executions = rank;
        out.push_back(candidate);
      }
    };
    for (const auto &address : addresses) {
      for (const std::string &opcode : commits)
        add(Strength::Commit, opcode + " [" + address.text + "];", address.rank, 0);
      if (context.uses("cp.async.c"))
        add(Strength::Commit, "cp.async.mbarrier.arrive.noinc.shared.b64 [" + address.text + "];",
            address.rank, 1);
      for (int64_t count : bytes)
        add(Strength::Arrival,
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [" + address.text + "], " +
                std::to_string(count) + ";",
            address.rank, 0);
      for (const std::string &opcode : arrivals) {
        add(Strength::Arrival, opcode + " _, [" + address.text + "];", address.rank, 4);
      }
    }
  }
}

void proposeCounts(const RepairContext &context, Candidates &out) {
  if (!context.has({EmuDeadlock, EmuNoProgress, EmuMbarrierMisuse}))
    return;
  std::set<uint64_t> counts;
  std::set<int64_t> more;
  for (const ExecutionProfile::Barrier &barrier : context.profile.stuck) {
    if (!context.profile.awaited.count(barrier.offset))
      continue;
    if (barrier.pending > 0 && barrier.pending < int64_t(barrier.expected))
      counts.insert(barrier.expected - uint64_t(barrier.pending));
    if (barrier.bytes)
      more.insert(-barrier.bytes);
  }
  for (const RepairContext::Part &part : context.parts)
    for (const auto &inst : part.function->body) {
      const std::string &name = inst->form->name;
      bool init = name == "mbarrier.init", expects = name.find("expect_tx") != std::string::npos;
      if ((!init && !expects) || !context.profile.find(*inst))
        continue;
      const ptx::Operand &last = inst->operands.back();
      if (last.kind != ptx::Operand::Kind::Immediate)
        continue;
      std::set<uint64_t> values;
      if (init) {
        values = counts;
        if (context.has({EmuMbarrierMisuse}))
          for (uint64_t count :
               {last.value + 1, 2 * last.value, 32 * last.value, uint64_t(32) * context.blockWarps})
            values.insert(count);
      } else {
        for (int64_t bytes : more)
          if (int64_t(last.value) + bytes > 0)
            values.insert(uint64_t(int64_t(last.value) + bytes));
      }
      values.erase(last.value);
      std::string text = context.textOfInstruction(*inst);
      size_t comma = text.rfind(',');
      for (uint64_t value : values)
        out.push_back(context.replacement(
            *inst, Strength::Count, text.substr(0, comma) + ", " + std::to_string(value) + ";"));
    }
}

} // namespace penstock::emu
