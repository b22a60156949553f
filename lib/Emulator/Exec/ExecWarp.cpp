//===- ExecWarp.cpp - Shuffles, votes, elections --------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Lanes.h"
#include "Emulator/Races/HappensBefore.h"

#include <algorithm>
#include <cmath>

namespace penstock::emu {
namespace {

/// The member mask must be the same in all lanes that execute together.
bool gather(Exec &ex, const Opnd &mask) {
  uint32_t members = uint32_t(ex.value(mask, ex.firstLane()));
  return rendezvous(ex, members, false);
}

/// ops: d, p, a, b, c, mask.
void shuffle(Exec &ex, const DInst &inst) {
  if (!gather(ex, inst.ops[5]))
    return;
  auto *a = ex.row<uint32_t>(inst.ops[2]);
  auto *b = ex.row<uint32_t>(inst.ops[3]);
  auto *c = ex.row<uint32_t>(inst.ops[4]);
  uint32_t result[32], inRange = 0;
  forLanes(ex.mask, [&](unsigned lane) {
    unsigned bval = b[lane] & 31, cval = c[lane] & 31;
    unsigned segment = c[lane] >> 8 & 31;
    unsigned maxLane = (lane & segment) | (cval & ~segment);
    unsigned minLane = lane & segment;
    int j;
    bool ok;
    switch (inst.mode) {
    case 0: // up
      j = int(lane) - int(bval);
      ok = j >= int(maxLane);
      break;
    case 1: // down
      j = int(lane + bval);
      ok = j <= int(maxLane);
      break;
    case 2: // bfly
      j = int(lane ^ bval);
      ok = j <= int(maxLane);
      break;
    default: // idx
      j = int(minLane | (bval & ~segment));
      ok = j <= int(maxLane);
      break;
    }
    if (!ok)
      j = int(lane);
    inRange |= uint32_t(ok) << lane;
    result[lane] = a[j & 31];
    if (!(ex.mask >> (j & 31) & 1) && ex.grid.checks())
      ex.report(EmuIllegalOperand,
                "a shuffle reads lane " + std::to_string(j) + ", which does not take part");
  });
  if (inst.ops[0].kind == Opnd::Kind::Row)
    forLanes(ex.mask, [&](unsigned lane) { ex.out<uint32_t>(inst.ops[0])[lane] = result[lane]; });
  ex.setPred(inst.ops[1], inRange);
}

bool decodeShuffle(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.mode = inst.has(".up") ? 0 : inst.has(".down") ? 1 : inst.has(".bfly") ? 2 : 3;
  std::vector<Opnd> ops(6);
  const ptx::Operand &dst = inst.operands[0];
  bool pair = dst.kind == ptx::Operand::Kind::Pair;
  if (!d.destination(inst, pair ? dst.elements[0] : dst, ops[0]) ||
      (pair && !d.destination(inst, dst.elements[1], ops[1])))
    return false;
  for (size_t i = 1; i < 5; ++i)
    if (!d.source(inst, inst.operands[i], 32, ops[i + 1]))
      return false;
  d.setOperands(out, std::move(ops));
  out.run = shuffle;
  return true;
}

/// ops: d, source predicate, mask.
void vote(Exec &ex, const DInst &inst) {
  if (!gather(ex, inst.ops[2]))
    return;
  uint32_t bits = ex.pred(inst.ops[1]) & ex.mask;
  bool all = bits == ex.mask, any = bits != 0;
  switch (inst.mode) {
  case 0:
    ex.setPred(inst.ops[0], all ? ~0u : 0);
    break;
  case 1:
    ex.setPred(inst.ops[0], any ? ~0u : 0);
    break;
  case 2:
    ex.setPred(inst.ops[0], all || !any ? ~0u : 0);
    break;
  default:
    forLanes(ex.mask, [&](unsigned lane) { ex.setValue(inst.ops[0], lane, bits); });
  }
}

bool decodeVote(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.mode = inst.has(".all") ? 0 : inst.has(".any") ? 1 : inst.has(".uni") ? 2 : 3;
  std::vector<Opnd> ops(3);
  if (!d.destination(inst, inst.operands[0], ops[0]) ||
      !d.predicate(inst, inst.operands[1], ops[1]) || !d.source(inst, inst.operands[2], 32, ops[2]))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = vote;
  return true;
}

/// ops: d, p, a, mask.
void match(Exec &ex, const DInst &inst) {
  if (!gather(ex, inst.ops[3]))
    return;
  uint32_t result[32], same = 0;
  forLanes(ex.mask, [&](unsigned lane) {
    uint32_t bits = 0;
    uint64_t mine = ex.value(inst.ops[2], lane);
    forLanes(ex.mask, [&](unsigned other) {
      bits |= uint32_t(ex.value(inst.ops[2], other) == mine) << other;
    });
    bool all = bits == ex.mask;
    result[lane] = inst.mode ? (all ? ex.mask : 0) : bits;
    same |= uint32_t(all) << lane;
  });
  forLanes(ex.mask, [&](unsigned lane) { ex.setValue(inst.ops[0], lane, result[lane]); });
  ex.setPred(inst.ops[1], same);
}

bool decodeMatch(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.mode = inst.form->name == "match.all.sync";
  std::vector<Opnd> ops(4);
  const ptx::Operand &dst = inst.operands[0];
  bool pair = dst.kind == ptx::Operand::Kind::Pair;
  if (!d.destination(inst, pair ? dst.elements[0] : dst, ops[0]) ||
      (pair && !d.destination(inst, dst.elements[1], ops[1])) ||
      !d.source(inst, inst.operands[1], ptx::typeBits(inst.type()), ops[2]) ||
      !d.source(inst, inst.operands[2], 32, ops[3]))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = match;
  return true;
}

void activeMask(Exec &ex, const DInst &inst) {
  uint32_t mask = ex.mask;
  forLanes(mask, [&](unsigned lane) { ex.setValue(inst.ops[0], lane, mask); });
}

bool decodeActiveMask(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  out.run = activeMask;
  return d.plain(inst, out, 32);
}

void reduce(Exec &ex, const DInst &inst) {
  if (!gather(ex, inst.ops[2]))
    return;
  bool first = true;
  uint32_t acc = 0;
  bool isSigned = inst.type == ptx::Type::S32;
  bool isFloat = inst.type == ptx::Type::F32;
  bool nan = false;
  forLanes(ex.mask, [&](unsigned lane) {
    uint32_t v = uint32_t(ex.value(inst.ops[1], lane));
    if (isFloat && inst.flags & 1)
      v &= 0x7fffffff;
    if (isFloat && std::isnan(std::bit_cast<float>(v))) {
      nan = true;
      return;
    }
    if (first) {
      acc = v;
      first = false;
      return;
    }
    auto less = [&](uint32_t x, uint32_t y) {
      return isFloat    ? std::bit_cast<float>(x) < std::bit_cast<float>(y)
             : isSigned ? int32_t(x) < int32_t(y)
                        : x < y;
    };
    switch (inst.mode) {
    case 0:
      acc += v;
      break;
    case 1:
      acc = less(v, acc) ? v : acc;
      break;
    case 2:
      acc = less(acc, v) ? v : acc;
      break;
    case 3:
      acc &= v;
      break;
    case 4:
      acc |= v;
      break;
    default:
      acc ^= v;
    }
  });
  if (isFloat && (first || (nan && inst.flags & 2)))
    acc = 0x7fffffff;
  forLanes(ex.mask, [&](unsigned lane) { ex.setValue(inst.ops[0], lane, acc); });
}

bool decodeReduce(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  static constexpr const char *names[] = {".add", ".min", ".max", ".and", ".or", ".xor"};
  for (uint8_t i = 0; i < 6; ++i)
    if (inst.has(names[i]))
      out.mode = i;
  out.type = inst.type();
  out.flags = uint8_t((inst.has(".abs") ? 1 : 0) | (inst.has(".NaN") ? 2 : 0));
  out.run = reduce;
  return d.plain(inst, out, 32);
}

/// The lowest member is elected: which one is not specified, but it must be the
/// same every time.
void elect(Exec &ex, const DInst &inst) {
  if (!gather(ex, inst.ops[2]))
    return;
  unsigned leader = ex.firstLane();
  forLanes(ex.mask, [&](unsigned lane) { ex.setValue(inst.ops[0], lane, leader); });
  ex.setPred(inst.ops[1], 1u << leader);
}

bool decodeElect(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(3);
  const ptx::Operand &dst = inst.operands[0];
  if (dst.kind != ptx::Operand::Kind::Pair)
    return d.fail(inst, "the destination must be `d|p`");
  if (!d.destination(inst, dst.elements[0], ops[0]) ||
      !d.destination(inst, dst.elements[1], ops[1]) ||
      !d.source(inst, inst.operands[1], 32, ops[2]))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = elect;
  return true;
}

void warpSync(Exec &ex, const DInst &inst) {
  uint32_t members = uint32_t(ex.value(inst.ops[0], ex.firstLane()));
  if (!rendezvous(ex, members, true))
    return;
  if (!ex.grid.checks())
    return;
  View all = ex.cluster.newView();
  releaseInto(ex, ex.mask, all);
  tick(ex);
  acquire(ex, ex.mask, all);
  if (ex.mask == ex.warp.live)
    mergeLanes(ex);
}

bool decodeWarpSync(Decoder &d, const ptx::Instruction &inst, DInst &out) {
  std::vector<Opnd> ops(1);
  if (!d.source(inst, inst.operands[0], 32, ops[0]))
    return false;
  d.setOperands(out, std::move(ops));
  out.run = warpSync;
  return true;
}

} // namespace

void addWarp(DecodeTable &table) {
  table["shfl.sync"] = decodeShuffle;
  table["vote.sync"] = decodeVote;
  table["match.any.sync"] = table["match.all.sync"] = decodeMatch;
  table["activemask"] = decodeActiveMask;
  table["redux.sync"] = decodeReduce;
  table["elect.sync"] = decodeElect;
  table["bar.warp.sync"] = decodeWarpSync;
}

} // namespace penstock::emu
