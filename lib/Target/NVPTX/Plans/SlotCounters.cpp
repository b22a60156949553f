//===- SlotCounters.cpp - Slots and phases that a loop carries ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Plans/SlotCounters.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock::nvptx;

SlotCounters::Position SlotCounters::divide(OpBuilder &b, Location loc, int64_t slots,
                                            Value k) const {
  Value token = b.createOrFold<arith::IndexCastOp>(loc, b.getI32Type(), k);
  if (first)
    token = b.createOrFold<arith::AddIOp>(loc, first, token);
  Value count = arith::ConstantIntOp::create(b, loc, slots, 32);
  Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
  Value slot = b.createOrFold<arith::RemUIOp>(loc, token, count);
  Value round = b.createOrFold<arith::DivUIOp>(loc, token, count);
  return {slot, b.createOrFold<arith::AndIOp>(loc, round, one)};
}

void SlotCounters::add(int64_t slots, int64_t ahead, bool awaited) {
  Counter &counter = counters[slots];
  counter.keepsLast |= ahead == -1;
  bool odd = llvm::divideFloorSigned(ahead, slots) % 2;
  counter.awaitsOdd |= awaited && odd && ahead % slots == 0;
  counter.awaitsEven |= awaited && !(odd && ahead % slots == 0);
}

static Value flipped(OpBuilder &b, Location loc, Value phase) {
  return b.createOrFold<arith::XOrIOp>(loc, phase, arith::ConstantIntOp::create(b, loc, 1, 32));
}

SmallVector<Value> SlotCounters::start(OpBuilder &b, Location loc) const {
  SmallVector<Value> values;
  for (const auto &[slots, counter] : counters) {
    Position begin = divide(b, loc, slots, arith::ConstantIndexOp::create(b, loc, 0));
    if (counter.carriesOpposite())
      begin.phase = flipped(b, loc, begin.phase);
    values.append({begin.slot, begin.phase});
    if (!counter.keepsLast)
      continue;
    // One before the first slot of a round is the last one of the round before.
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(b, loc, value, 32);
    };
    Value wraps =
        b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, begin.slot, number(0));
    Value before = b.createOrFold<arith::SubIOp>(loc, begin.slot, number(1));
    values.append(
        {b.createOrFold<arith::SelectOp>(loc, wraps, number(slots - 1), before),
         b.createOrFold<arith::SelectOp>(loc, wraps, flipped(b, loc, begin.phase), begin.phase)});
  }
  return values;
}

size_t SlotCounters::size() const {
  size_t size = 0;
  for (const auto &[slots, counter] : counters)
    size += counter.keepsLast ? 4 : 2;
  return size;
}

void SlotCounters::enter(ValueRange carried) {
  size_t i = 0;
  for (auto &[slots, counter] : counters) {
    counter.now = {carried[i], carried[i + 1]};
    i += 2;
    if (!counter.keepsLast)
      continue;
    counter.last = {carried[i], carried[i + 1]};
    i += 2;
  }
}

SmallVector<Value> SlotCounters::next(OpBuilder &b, Location loc, int64_t by) const {
  SmallVector<Value> values;
  for (const auto &[slots, counter] : counters) {
    Position then = carried(b, loc, slots, by);
    values.append({then.slot, then.phase});
    if (!counter.keepsLast)
      continue;
    Position last = by == 1 ? counter.now : carried(b, loc, slots, by - 1);
    values.append({last.slot, last.phase});
  }
  return values;
}

SlotCounters::Position SlotCounters::carried(OpBuilder &b, Location loc, int64_t slots,
                                             int64_t ahead) const {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  const Counter &counter = counters.at(slots);
  if (ahead == -1 && counter.keepsLast)
    return counter.last;
  Position position = counter.now;
  int64_t rounds = llvm::divideFloorSigned(ahead, slots), more = ahead - rounds * slots;
  if (more) {
    Value sum = arith::AddIOp::create(b, loc, position.slot, number(more));
    bool next = more == 1; // exactly the number of slots, if it wraps
    Value wraps = arith::CmpIOp::create(
        b, loc, next ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge, sum, number(slots));
    Value wrapped = next ? number(0) : Value(arith::SubIOp::create(b, loc, sum, number(slots)));
    position.slot = arith::SelectOp::create(b, loc, wraps, wrapped, sum);
    position.phase =
        arith::SelectOp::create(b, loc, wraps, flipped(b, loc, position.phase), position.phase);
  }
  if (rounds % 2)
    position.phase = flipped(b, loc, position.phase);
  return position;
}

SlotCounters::Position SlotCounters::at(OpBuilder &b, Location loc, int64_t slots,
                                        int64_t ahead) const {
  const Counter &counter = counters.at(slots);
  if (!counter.carriesOpposite())
    return carried(b, loc, slots, ahead);
  if (ahead == -1 && counter.keepsLast)
    return {counter.last.slot, flipped(b, loc, counter.last.phase)};
  // The same slot a round later has the opposite phase.
  return carried(b, loc, slots, ahead + slots);
}
