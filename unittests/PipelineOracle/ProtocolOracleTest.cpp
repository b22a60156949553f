//===- ProtocolOracleTest.cpp - Step lists whose faults are known ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handful of lists, small enough that every interleaving can be written down,
// make the oracle itself trustworthy.
//
//===----------------------------------------------------------------------===//
#include "ProtocolOracle.h"
#include "gtest/gtest.h"

using namespace penstock::fuzz;
using namespace penstock::sched;

namespace {

using Kind = ProtocolStep::Kind;

ProtocolStep arrive(unsigned barrier, int64_t bytes = 0) {
  ProtocolStep step;
  step.kind = Kind::Arrive;
  step.barrier = barrier;
  step.count = 1;
  step.bytes = bytes;
  return step;
}

ProtocolStep wait(unsigned barrier, bool parity) {
  ProtocolStep step;
  step.kind = Kind::Wait;
  step.barrier = barrier;
  step.parity = parity;
  return step;
}

/// Touches the only tile, or copies into it.
ProtocolStep access(Kind kind, bool write, unsigned barrier = 0) {
  ProtocolStep step;
  step.kind = kind;
  step.barrier = barrier;
  step.bytes = kind == Kind::Copy ? 1 : 0;
  step.accesses.emplace_back();
  step.accesses[0].write = write;
  return step;
}
ProtocolStep write() { return access(Kind::Touch, true); }
ProtocolStep read() { return access(Kind::Touch, false); }
ProtocolStep copy(unsigned barrier) { return access(Kind::Copy, true, barrier); }

ProtocolStep queued(Kind kind, ProtocolQueue queue, int64_t count = 0, unsigned barrier = 0) {
  ProtocolStep step;
  step.kind = kind;
  step.queue = queue;
  step.count = count;
  step.barrier = barrier;
  return step;
}

ListFault faultOf(const std::vector<int64_t> &counts,
                  const std::vector<std::vector<ProtocolStep>> &roles) {
  Protocol p;
  p.sources = {{"step", {}}};
  p.tiles = {{"t", ""}};
  for (int64_t count : counts)
    p.barriers.push_back({"b", 0, 0, count});
  for (const auto &steps : roles)
    p.roles.push_back({"role", steps});
  return explore(p);
}

TEST(ProtocolOracle, Deadlocks) {
  EXPECT_EQ(faultOf({1}, {{wait(0, false)}}), ListFault::Deadlock);
  EXPECT_EQ(faultOf({1}, {{wait(0, false)}, {arrive(0)}}), ListFault::None);
  EXPECT_EQ(faultOf({2}, {{wait(0, false)}, {arrive(0)}}), ListFault::Deadlock);
  EXPECT_EQ(faultOf({1}, {{wait(0, true)}}), ListFault::None); // the phase before the first
  // Only if both arrivals come before the wait.
  EXPECT_EQ(faultOf({1}, {{wait(0, false)}, {arrive(0), arrive(0)}}), ListFault::Deadlock);
}

TEST(ProtocolOracle, TooManyArrivals) {
  ProtocolStep both = arrive(0);
  both.count = 2;
  EXPECT_EQ(faultOf({1}, {{both}}), ListFault::Overflow);
  EXPECT_EQ(faultOf({2}, {{both}}), ListFault::None);
  EXPECT_EQ(faultOf({2}, {{both}, {arrive(0), arrive(0)}}), ListFault::Overflow);
}

TEST(ProtocolOracle, Copies) {
  EXPECT_EQ(faultOf({1}, {{arrive(0, 1), copy(0), wait(0, false), read()}}), ListFault::None);
  EXPECT_EQ(faultOf({1}, {{copy(0), arrive(0, 1), wait(0, false), read()}}), ListFault::None);
  EXPECT_EQ(faultOf({1}, {{arrive(0, 1), copy(0), read(), wait(0, false)}}), ListFault::Race);
  EXPECT_EQ(faultOf({1}, {{arrive(0, 1), copy(0)}}), ListFault::Unfinished);
  EXPECT_EQ(faultOf({1}, {{arrive(0, 2), copy(0)}}), ListFault::Unfinished);
  EXPECT_EQ(faultOf({1, 1}, {{arrive(0, 1), copy(0), wait(0, false), arrive(1, 1)}}),
            ListFault::Bytes);
}

TEST(ProtocolOracle, Races) {
  EXPECT_EQ(faultOf({1}, {{write(), arrive(0)}, {wait(0, false), read()}}), ListFault::None);
  EXPECT_EQ(faultOf({1}, {{write(), arrive(0)}, {write()}}), ListFault::Race);
  EXPECT_EQ(faultOf({1}, {{arrive(0), write()}, {wait(0, false), write()}}), ListFault::Race);
  ProtocolStep relaxed = arrive(0);
  relaxed.relaxed = true;
  EXPECT_EQ(faultOf({1}, {{write(), relaxed}, {wait(0, false), read()}}), ListFault::Race);
  EXPECT_EQ(faultOf({}, {{read()}}), ListFault::Uninitialized);
}

TEST(ProtocolOracle, Engines) {
  ProtocolStep product = queued(Kind::Start, ProtocolQueue::Tensor);
  product.accesses = {write().accesses[0]};
  ProtocolStep commit = queued(Kind::Commit, ProtocolQueue::Tensor, 1, 0);
  EXPECT_EQ(faultOf({1}, {{product, product, commit, wait(0, false), read()}}), ListFault::None);
  EXPECT_EQ(faultOf({1}, {{product, commit, product, wait(0, false), read()}}), ListFault::Race);
  ProtocolStep group = queued(Kind::Start, ProtocolQueue::Wgmma);
  group.accesses = {write().accesses[0]};
  ProtocolStep close = queued(Kind::CloseGroup, ProtocolQueue::Wgmma);
  ProtocolStep all = queued(Kind::AwaitGroups, ProtocolQueue::Wgmma, 0);
  ProtocolStep butOne = queued(Kind::AwaitGroups, ProtocolQueue::Wgmma, 1);
  EXPECT_EQ(faultOf({}, {{group, close, all, read()}}), ListFault::None);
  EXPECT_EQ(faultOf({}, {{group, close, butOne, read()}}), ListFault::Race);
  EXPECT_EQ(faultOf({}, {{group, all, read()}}), ListFault::Race); // no group has it
}

TEST(ProtocolOracle, OwnPhases) {
  ProtocolStep own = wait(0, false);
  own.own = true;
  EXPECT_EQ(faultOf({2}, {{arrive(0), own}, {arrive(0), own}}), ListFault::None);
  EXPECT_EQ(faultOf({2}, {{arrive(0), own}, {}}), ListFault::Deadlock);
}

} // namespace
