//===- Control.cpp - Branches, joins, exits, calls to the runtime ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Decode/Decoder.h"
#include "Emulator/Exec/ExecCall.h"
#include "Emulator/Races/BarrierRules.h"
#include "Emulator/Races/HappensBefore.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace penstock::emu {
namespace {

int newJoin(Warp &warp, uint32_t pc, uint32_t expected, int parent) {
  Join join;
  join.pc = pc;
  join.expected = expected;
  join.parent = parent;
  join.used = true;
  for (size_t i = 0; i < warp.joins.size(); ++i)
    if (!warp.joins[i].used) {
      warp.joins[i] = join;
      return int(i);
    }
  warp.joins.push_back(join);
  return int(warp.joins.size() - 1);
}

/// Lets the lanes of a complete join go on together.
void completeJoin(Warp &warp, int index) {
  Join &join = warp.joins[size_t(index)];
  join.used = false;
  if (!join.arrived)
    return;
  Split split;
  split.pc = join.pc;
  split.mask = join.arrived;
  split.join = join.parent;
  warp.splits.push_back(split);
}

} // namespace

void absorbAtJoin(Warp &warp, size_t splitIndex) {
  int index = warp.splits[splitIndex].join;
  Join &join = warp.joins[size_t(index)];
  join.arrived |= warp.splits[splitIndex].mask;
  warp.splits.erase(warp.splits.begin() + int64_t(splitIndex));
  if (join.arrived == join.expected)
    completeJoin(warp, index);
}

void runBranch(Exec &ex, const DInst &inst) {
  Split &split = ex.split();
  uint32_t taken = ex.mask;
  uint32_t stays = split.mask & ~taken;
  ex.advance = false;
  if (!stays) {
    split.pc = inst.target;
    return;
  }
  if (!taken) {
    ++split.pc;
    return;
  }
  // Diverge. Lanes that meet at a join which is already there need no other.
  uint32_t meet = inst.reconverge;
  if (meet != noPc && (split.join < 0 || ex.warp.joins[size_t(split.join)].pc != meet))
    split.join = newJoin(ex.warp, meet, split.mask, split.join);
  Split other = split;
  split.mask = stays;
  ++split.pc;
  other.mask = taken;
  other.pc = inst.target;
  ex.warp.splits.push_back(other);
  ex.yield = true;
}

void runBranchIfIndex(Exec &ex, const DInst &inst) {
  uint32_t taken = 0;
  forLanes(ex.mask, [&](unsigned lane) {
    taken |= uint32_t(ex.value(inst.ops[0], lane) == inst.imm[0]) << lane;
  });
  ex.mask = taken;
  runBranch(ex, inst);
}

void runCheckIndex(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    uint64_t index = ex.value(inst.ops[0], lane);
    if (index >= inst.imm[0] && !ex.cluster.stopped)
      ex.fatal(EmuIllegalOperand, "the index " + std::to_string(index) + " of a branch with " +
                                      std::to_string(inst.imm[0]) + " targets");
  });
}

void runCheckCallee(Exec &ex, const DInst &inst) {
  const std::vector<uint64_t> &known = ex.grid.program->callTables[inst.imm[0]];
  forLanes(ex.mask, [&](unsigned lane) {
    uint64_t address = ex.value(inst.ops[0], lane);
    if (std::find(known.begin(), known.end(), address) == known.end() && !ex.cluster.stopped)
      ex.fatal(EmuIllegalOperand,
               "an indirect call of address " + std::to_string(address) +
                   ": expected a function with these parameters, which may not call itself");
  });
}

void exitLanes(Exec &ex, uint32_t lanes) {
  Warp &warp = ex.warp;
  warp.live &= ~lanes;
  if (ex.grid.checks()) {
    if (!warp.exitView)
      warp.exitView = std::make_unique<View>(ex.cluster.newView());
    releaseInto(ex, lanes, *warp.exitView);
  }
  for (size_t i = 0; i < warp.splits.size();) {
    warp.splits[i].mask &= ~lanes;
    if (!warp.splits[i].mask)
      warp.splits.erase(warp.splits.begin() + int64_t(i));
    else
      ++i;
  }
  // Joins wait for fewer lanes now. Completing one may complete its parent,
  // but only when the new split gets there.
  for (size_t i = 0; i < warp.joins.size(); ++i) {
    Join &join = warp.joins[i];
    if (!join.used)
      continue;
    join.expected &= ~lanes;
    join.arrived &= ~lanes;
    if (join.arrived == join.expected)
      completeJoin(warp, int(i));
  }
  ex.cta.liveThreads -= unsigned(std::popcount(lanes));
  if (!ex.cta.liveThreads)
    trigger(ex.grid, ex.cta);
  if (!warp.live)
    --ex.cluster.liveWarps;
  ++ex.cluster.progress;
  barriersAfterExit(ex, lanes);
}

void runExit(Exec &ex, const DInst &) {
  uint32_t lanes = ex.mask;
  ex.advance = false;
  ex.yield = true;
  Split &split = ex.split();
  if (split.mask != lanes)
    ++split.pc; // a guard kept some lanes here
  exitLanes(ex, lanes);
}

bool requireAligned(Exec &ex) {
  if (ex.mask == ex.warp.live)
    return true;
  ex.fatal(EmuDivergentAligned,
           "an aligned instruction is executed by " + std::to_string(std::popcount(ex.mask)) +
               " of " + std::to_string(std::popcount(ex.warp.live)) + " threads of the warp");
  return false;
}

bool rendezvous(Exec &ex, uint32_t members, bool anywhere) {
  members &= ex.warp.live;
  if (ex.mask & ~members) {
    ex.fatal(EmuIllegalOperand, "a thread executes this without being in the member mask");
    return false;
  }
  if ((ex.mask & members) == members)
    return true;
  // Others wait at the same instruction (or another of its kind)?
  uint32_t here = ex.mask;
  const DInst *code = ex.grid.program->code.data();
  for (size_t i = 0; i < ex.warp.splits.size(); ++i) {
    Split &other = ex.warp.splits[i];
    if (i == ex.splitIndex || !other.blocked)
      continue;
    if (other.pc == ex.pc || (anywhere && code[other.pc].run == ex.inst->run))
      here |= other.mask & members;
  }
  if (here != members) {
    ex.block("the other lanes of its member mask");
    return false;
  }
  for (size_t i = 0; i < ex.warp.splits.size(); ++i) {
    Split &other = ex.warp.splits[i];
    if (i == ex.splitIndex || !other.blocked || !(other.mask & members))
      continue;
    other.blocked = false;
    ++other.pc;
  }
  ex.mask = members;
  ++ex.cluster.progress;
  return true;
}

void runCopyLocal(Exec &ex, const DInst &inst) {
  uint32_t bytes = ex.grid.program->localBytes;
  forLanes(ex.mask, [&](unsigned lane) {
    uint8_t *frame = ex.warp.local.data() + size_t(lane) * bytes;
    if (inst.imm[0] + inst.imm[2] <= bytes && inst.imm[1] + inst.imm[2] <= bytes)
      memmove(frame + inst.imm[0], frame + inst.imm[1], inst.imm[2]);
  });
}

namespace {

/// A string in device or local memory, cut at 4096 bytes.
std::string readString(Exec &ex, unsigned lane, uint64_t address) {
  std::string text;
  for (unsigned i = 0; i < 4096; ++i) {
    uint8_t *byte = nullptr;
    if ((address & windowMask) == localWindow) {
      uint64_t at = (address & ~windowMask) + i;
      if (at < ex.grid.program->localBytes)
        byte = ex.warp.local.data() + size_t(lane) * ex.grid.program->localBytes + at;
    } else {
      byte = ex.grid.device->memory.host(address + i, 1);
    }
    if (!byte || !*byte)
      break;
    text += char(*byte);
  }
  return text;
}

uint64_t localWord(Exec &ex, unsigned lane, uint64_t at) {
  uint64_t value = 0;
  if (at + 8 <= ex.grid.program->localBytes)
    memcpy(&value, ex.warp.local.data() + size_t(lane) * ex.grid.program->localBytes + at, 8);
  return value;
}

/// printf with its arguments packed in memory, each aligned to its size.
std::string format(Exec &ex, unsigned lane, const std::string &pattern, uint64_t arguments) {
  std::string out;
  uint64_t at = arguments;
  auto fetch = [&](unsigned size) -> uint64_t {
    at = (at + size - 1) / size * size;
    uint64_t value = 0;
    MemRef ref;
    if (resolve(ex, lane, ptx::Space::Generic, at, size, 1, ref))
      memcpy(&value, ref.bytes, size);
    at += size;
    return value;
  };
  for (size_t i = 0; i < pattern.size() && !ex.cluster.stopped; ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::string spec = "%";
    unsigned longs = 0;
    for (++i; i < pattern.size(); ++i) {
      char c = pattern[i];
      if (c == 'l' || c == 'z' || c == 'j' || c == 't')
        longs += c == 'l' ? 1 : 2;
      else if (c != 'h')
        spec += c;
      if (isalpha((unsigned char)c) && c != 'l' && c != 'h' && c != 'z' && c != 'j' && c != 't')
        break;
      if (c == '%' || spec.size() > 20)
        break;
    }
    char kind = spec.back();
    char text[512];
    text[0] = 0;
    switch (kind) {
    case '%':
      out += '%';
      continue;
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
    case 'c': {
      bool wide = longs > 0;
      uint64_t value = fetch(wide ? 8 : 4);
      if (kind == 'c') {
        snprintf(text, sizeof text, "%c", int(value));
        break;
      }
      spec.insert(spec.size() - 1, "ll");
      int64_t number =
          (kind == 'd' || kind == 'i') && !wide ? int64_t(int32_t(value)) : int64_t(value);
      if (spec.find('*') == std::string::npos)
        snprintf(text, sizeof text, spec.c_str(), (long long)number);
      break;
    }
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a': {
      uint64_t bits = fetch(8);
      if (spec.find('*') == std::string::npos)
        snprintf(text, sizeof text, spec.c_str(), std::bit_cast<double>(bits));
      break;
    }
    case 'p':
      snprintf(text, sizeof text, "0x%llx", (unsigned long long)fetch(8));
      break;
    case 's':
      out += readString(ex, lane, fetch(8));
      continue;
    default:
      out += spec;
      continue;
    }
    out += text;
  }
  return out;
}

void runTrap(Exec &ex, const DInst &) { ex.fatal(EmuTrap, "the kernel executed a trap"); }

void runBreakpoint(Exec &ex, const DInst &) {
  ex.fatal(EmuTrap, "the kernel executed a breakpoint");
}

void runNothing(Exec &, const DInst &) {}

void runSleep(Exec &ex, const DInst &) { ex.yield = true; }

template <Handler H> bool decodeTo(Decoder &, const ptx::Instruction &, DInst &out) {
  out.run = H;
  return true;
}

} // namespace

void runPrintf(Exec &ex, const DInst &inst) {
  forLanes(ex.mask, [&](unsigned lane) {
    uint64_t pattern = localWord(ex, lane, inst.imm[0]);
    uint64_t arguments = localWord(ex, lane, inst.imm[1]);
    std::string text = format(ex, lane, readString(ex, lane, pattern), arguments);
    if (ex.grid.options.print) {
      std::lock_guard<std::mutex> lock(ex.grid.state->atomicMutex);
      ex.grid.options.print(text);
    }
    uint32_t zero = 0, bytes = ex.grid.program->localBytes;
    if (inst.imm[2] + 4 <= bytes)
      memcpy(ex.warp.local.data() + size_t(lane) * bytes + inst.imm[2], &zero, 4);
  });
}

void runAssertFail(Exec &ex, const DInst &inst) {
  unsigned lane = ex.firstLane();
  uint64_t line = localWord(ex, lane, inst.imm[2]) & 0xffffffff;
  ex.fatal(EmuTrap, "assertion `" + readString(ex, lane, localWord(ex, lane, inst.imm[0])) +
                        "` failed at " + readString(ex, lane, localWord(ex, lane, inst.imm[1])) +
                        ":" + std::to_string(line));
}

void addControl(DecodeTable &table) {
  table["exit"] = decodeTo<runExit>;
  table["trap"] = decodeTo<runTrap>;
  table["brkpt"] = decodeTo<runBreakpoint>;
  table["nanosleep"] = decodeTo<runSleep>;
  table["pmevent"] = decodeTo<runNothing>;
  // The decoder emits these itself; the entries count them as executed.
  table["bra"] = table["brx.idx"] = decodeTo<runBranch>;
  table["ret"] = decodeTo<runExit>;
  table["call"] = decodeTo<runNothing>;
}

} // namespace penstock::emu
