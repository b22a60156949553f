//===- OracleTest.cpp - The fuzzer's oracles on cases known by hand -------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of penstock-fuzz-pipelines decides what the checker should say. It
// is trusted because of these loops, whose verdicts follow from docs/explanation/pipelining.md
// and docs/contributing/scheduling-instances.md by hand, and of nothing else.
//
//===----------------------------------------------------------------------===//
#include "OrderOracle.h"
#include "PlanOracle.h"
#include "ValueOracle.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace penstock::fuzz;

namespace {

using Kind = LoopStatement::Kind;
using Codes = std::set<unsigned>;
using Numbers = std::vector<int64_t>;

Touch all(int buffer) { return {buffer, {}}; }
/// One cell for each iteration, `offset` further on.
Touch moving(int buffer, int64_t offset = 0) {
  return {buffer, {{{Span::Motion::Affine, 1, offset, 1, 1}}}};
}

struct Builder {
  Loop loop;

  int tensor() { return add(LoopBuffer::Kind::Tensor, {64}); }
  int tile() { return add(LoopBuffer::Kind::Tile, {4}); }
  int add(LoopBuffer::Kind kind, std::vector<int64_t> extents) {
    LoopBuffer buffer;
    buffer.kind = kind;
    buffer.extents = std::move(extents);
    loop.buffers.push_back(buffer);
    return int(loop.buffers.size()) - 1;
  }
  LoopStatement &statement(std::vector<Touch> reads, std::vector<Touch> writes,
                           Kind kind = Kind::Effect) {
    LoopStatement &s = loop.statements.emplace_back();
    s.kind = kind;
    s.actions = {Action{std::move(reads), std::move(writes), {}}};
    return s;
  }
  LoopStatement &wait(int statement, int64_t distance = 0) {
    LoopStatement &s = loop.statements.emplace_back();
    s.kind = Kind::Wait;
    s.names = {{statement, distance, true, true}};
    return s;
  }

  OrderVerdict check(Numbers stage, Numbers order) const {
    return checkOrder(loop, {std::move(stage), std::move(order)});
  }
  Effect values(Numbers stage, Numbers order) const {
    Plan plan{std::move(stage), std::move(order)};
    return checkValues(loop, plan, checkOrder(loop, plan), 1);
  }
};

/// copyA, copyB, gemm; tiles are buffers 2 and 3, the accumulator 4.
Builder gemm() {
  Builder b;
  int A = b.tensor(), B = b.tensor(), As = b.tile(), Bs = b.tile(), acc = b.tile();
  b.statement({moving(A)}, {all(As)}, Kind::Copy);
  b.statement({moving(B)}, {all(Bs)}, Kind::Copy);
  b.statement({all(As), all(Bs), all(acc)}, {all(acc)});
  b.loop.buffers[size_t(acc)].readAfter = true;
  return b;
}

TEST(PipelineOracle, PlansAndVersionsOfTheTable) {
  Builder b = gemm();
  EXPECT_EQ(planByRule(b.loop, 1), (Plan{{0, 0, 1}, {1, 2, 0}}));
  EXPECT_EQ(planByRule(b.loop, 2), (Plan{{0, 0, 1}, {0, 1, 2}}));
  EXPECT_EQ(planByRule(b.loop, 3), (Plan{{0, 0, 2}, {0, 1, 2}}));
  EXPECT_EQ(b.check({0, 0, 1}, {1, 2, 0}).versions, (Numbers{1, 1, 1, 1, 1}));
  EXPECT_EQ(b.check({0, 0, 1}, {0, 1, 2}).versions, (Numbers{1, 1, 2, 2, 1}));
  EXPECT_EQ(b.check({0, 0, 2}, {0, 1, 2}).versions, (Numbers{1, 1, 3, 3, 1}));
  for (int64_t stages : {1, 2, 3, 4}) {
    Plan plan = *planByRule(b.loop, stages);
    OrderVerdict verdict = checkOrder(b.loop, plan);
    EXPECT_EQ(verdict.codes, Codes());
    EXPECT_EQ(checkValues(b.loop, plan, verdict, 1), Effect::Same);
  }
}

TEST(PipelineOracle, AttentionOfTheTable) {
  Builder b;
  int K = b.tensor(), V = b.tensor(), Ks = b.tile(), Vs = b.tile(), S = b.tile(), O = b.tile();
  b.statement({moving(K)}, {all(Ks)}, Kind::Copy);
  b.statement({all(Ks)}, {all(S)});
  b.statement({all(S)}, {all(S)});
  b.statement({moving(V)}, {all(Vs)}, Kind::Copy);
  b.statement({all(S), all(Vs), all(O)}, {all(O)});
  b.loop.buffers[size_t(O)].readAfter = true;
  EXPECT_EQ(planByRule(b.loop, 2), (Plan{{0, 2, 2, 0, 2}, {1, 0, 2, 4, 3}}));
  OrderVerdict verdict = b.check({0, 2, 2, 0, 2}, {1, 0, 2, 4, 3});
  EXPECT_EQ(verdict.codes, Codes());
  EXPECT_EQ(verdict.versions, (Numbers{1, 1, 2, 2, 1, 1}));
  EXPECT_EQ(b.values({0, 2, 2, 0, 2}, {1, 0, 2, 4, 3}), Effect::Same);
}

TEST(PipelineOracle, ASlotIsReadUntilTheWait) {
  Builder b = gemm();
  b.loop.queues.push_back({true, {4}});
  b.loop.statements[2].async = true;
  b.loop.statements[2].queue = 0;
  b.wait(2);
  OrderVerdict verdict = b.check({0, 0, 2, 3}, {0, 1, 2, 3});
  EXPECT_EQ(verdict.codes, Codes());
  EXPECT_EQ(verdict.versions, (Numbers{1, 1, 4, 4, 1}));
  EXPECT_EQ(b.values({0, 0, 2, 3}, {0, 1, 2, 3}), Effect::Same);
  // Three versions are too few, by order and by values.
  b.loop.buffers[2].statedVersions = 3;
  EXPECT_EQ(b.check({0, 0, 2, 3}, {0, 1, 2, 3}).codes, Codes({1203}));
  EXPECT_EQ(b.values({0, 0, 2, 3}, {0, 1, 2, 3}), Effect::Harmful);
}

TEST(PipelineOracle, WithoutAQueueProductsMustEndBeforeTheNext) {
  Builder b = gemm();
  b.loop.statements[2].async = true;
  b.wait(2);
  EXPECT_EQ(b.check({0, 0, 2, 3}, {0, 1, 2, 3}).codes, Codes({1201, 1202, 1203}));
  EXPECT_EQ(b.values({0, 0, 2, 3}, {0, 1, 2, 3}), Effect::Harmful);
}

/// Four cells from a number on that is fixed before the loop.
Touch from(size_t number, int buffer, int64_t offset) {
  Span span{Span::Motion::Affine, 0, offset, 4, 1};
  span.origin[number] = 1;
  return {buffer, {{span}}};
}

TEST(PipelineOracle, PlacesAreComparedFromOneOrigin) {
  Builder b;
  int A = b.tensor(), T = b.tensor(), U = b.tensor();
  b.statement({moving(A)}, {from(1, T, 0)});
  b.statement({from(1, T, 4)}, {moving(U)});
  // Wherever they lie, they lie apart.
  EXPECT_EQ(b.check({0, 0}, {1, 0}).codes, Codes());
  EXPECT_EQ(b.values({0, 0}, {1, 0}), Effect::Same);
  // From another number on, nobody knows: with 6 and 0 they meet.
  Touch &read = b.loop.statements[1].actions[0].reads[0];
  read = from(2, T, 4);
  read.box.spans[0].motion = Span::Motion::Unrelated;
  EXPECT_EQ(b.check({0, 0}, {1, 0}).codes, Codes({1201}));
  EXPECT_EQ(b.values({0, 0}, {1, 0}), Effect::Harmful);
}

TEST(PipelineOracle, WhatLiesFromAnOriginOnFillsNoTile) {
  Builder b;
  int A = b.tensor(), tile = b.tile(), U = b.tensor();
  b.statement({moving(A)}, {from(1, tile, 0)});
  b.statement({{tile, {{{Span::Motion::Modulo, 1, 0, 1, 4}}}}}, {moving(U)});
  b.loop.buffers[size_t(tile)].absolute = false;
  EXPECT_FALSE(mayHaveVersions(b.loop, tile));
  // Four cells from 0 on are all of it.
  b.loop.statements[0].actions[0].writes[0].box.spans[0].origin = {};
  b.loop.buffers[size_t(tile)].absolute = true;
  EXPECT_TRUE(mayHaveVersions(b.loop, tile));
}

TEST(PipelineOracle, PartsThatAStatementWritesAreItsOwn) {
  auto half = [](int buffer, int64_t offset) {
    return Touch{buffer, {{{Span::Motion::Affine, 0, offset, 2, 1}}}};
  };
  Builder b;
  int A = b.tensor(), S = b.tile();
  b.statement({moving(A)}, {half(S, 0)}).actions.push_back({{moving(A, 1)}, {half(S, 2)}, {}});
  b.loop.statements[0].actions.push_back({{all(S)}, {all(S)}, {}});
  b.statement({all(S)}, {moving(A, 32)});
  OrderVerdict verdict = b.check({0, 1}, {0, 1});
  EXPECT_EQ(verdict.codes, Codes());
  EXPECT_EQ(verdict.versions, (Numbers{1, 2}));
  EXPECT_EQ(b.values({0, 1}, {0, 1}), Effect::Same);
  EXPECT_TRUE(std::ranges::none_of(visibleReads(b.loop, 0),
                                   [&](const Touch &touch) { return touch.buffer == S; }));
  // Without the second half its two cells are those of the iteration before.
  b.loop.statements[0].actions.erase(b.loop.statements[0].actions.begin() + 1);
  EXPECT_EQ(std::ranges::count(visibleReads(b.loop, 0), S, &Touch::buffer), 2);
  EXPECT_EQ(b.check({0, 1}, {0, 1}).codes, Codes({1203}));
  EXPECT_EQ(b.values({0, 1}, {0, 1}), Effect::Harmful);
}

TEST(PipelineOracle, ACarriedTileHasOneVersion) {
  Builder b;
  int A = b.tensor(), S = b.tile(), acc = b.tile();
  b.statement({all(S), all(acc)}, {all(acc)});
  b.statement({moving(A)}, {all(S)}, Kind::Copy);
  b.loop.buffers[size_t(acc)].readAfter = true;
  EXPECT_FALSE(mayHaveVersions(b.loop, S));
  EXPECT_EQ(b.check({1, 0}, {0, 1}).codes, Codes({1203}));
  EXPECT_EQ(b.values({1, 0}, {0, 1}), Effect::Harmful);
}

TEST(PipelineOracle, RecurrenceThroughMemory) {
  Builder b;
  int G = b.tensor(), S = b.tile();
  b.statement({moving(G)}, {all(S)}, Kind::Copy);
  b.statement({all(S)}, {moving(G, 2)});
  EXPECT_EQ(b.check({0, 2}, {1, 0}).codes, Codes());
  EXPECT_EQ(b.check({0, 2}, {1, 0}).versions, (Numbers{1, 2}));
  EXPECT_EQ(b.values({0, 2}, {1, 0}), Effect::Same);
  EXPECT_EQ(b.check({0, 2}, {0, 1}).codes, Codes({1201}));
  EXPECT_EQ(b.check({0, 2}, {0, 1}).versions, (Numbers{1, 3}));
  EXPECT_EQ(b.values({0, 2}, {0, 1}), Effect::Harmful);
}

TEST(PipelineOracle, ACountedWaitKeepsItsBinding) {
  Builder b;
  int A = b.tensor(), As = b.tile(), acc = b.tile();
  b.loop.queues.push_back({true, {acc}});
  b.statement({moving(A)}, {all(As)}, Kind::Copy);
  LoopStatement &product = b.statement({all(As), all(acc)}, {all(acc)});
  product.async = true;
  product.queue = 0;
  LoopStatement &commit = b.loop.statements.emplace_back();
  commit.kind = Kind::Commit;
  commit.queue = 0;
  LoopStatement &wait = b.loop.statements.emplace_back();
  wait.kind = Kind::Wait;
  wait.queue = 0;
  wait.count = 1;
  auto names = namedBy(b.loop, 3);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].statement, 1);
  EXPECT_EQ(names[0].distance, 1);
  EXPECT_EQ(b.check({0, 1, 1, 1}, {0, 1, 2, 3}).codes, Codes());
  EXPECT_EQ(b.check({0, 1, 1, 1}, {0, 1, 2, 3}).versions, (Numbers{1, 3, 1}));
  EXPECT_EQ(b.check({0, 1, 2, 2}, {0, 1, 2, 3}).codes, Codes({1207}));
}

TEST(PipelineOracle, AConditionalWriteKeepsTheOldTile) {
  Builder b;
  int A = b.tensor(), S = b.tile(), G = b.tensor();
  b.loop.conditions = 1;
  b.statement({moving(A)}, {all(S)}, Kind::Copy).guard = {{0, false}};
  b.statement({all(S)}, {moving(G)});
  EXPECT_EQ(b.check({0, 1}, {0, 1}).codes, Codes({1203}));
  EXPECT_EQ(b.values({0, 1}, {0, 1}), Effect::Harmful);
  b.loop.statements[1].guard = {{0, false}};
  EXPECT_EQ(b.check({0, 1}, {0, 1}).codes, Codes());
  EXPECT_EQ(b.check({0, 1}, {0, 1}).versions, (Numbers{1, 2, 1}));
  EXPECT_EQ(b.values({0, 1}, {0, 1}), Effect::Same);
}

TEST(PipelineOracle, FencesScalarsAndForeignGroups) {
  Builder f;
  int S = f.tile(), G = f.tensor();
  f.statement({}, {all(S)});
  LoopStatement &fence = f.loop.statements.emplace_back();
  fence.kind = Kind::Fence;
  fence.from = {Path::Generic};
  fence.to = {Path::Async};
  Touch read = all(S), write = moving(G);
  read.path = write.path = Path::Async;
  f.statement({read}, {write});
  EXPECT_EQ(f.check({0, 0, 0}, {0, 1, 2}).codes, Codes());
  EXPECT_EQ(f.check({0, 0, 0}, {1, 0, 2}).codes, Codes({1210}));

  Builder s;
  S = s.tile(), G = s.tensor();
  s.statement({}, {all(S)});
  s.statement({all(S)}, {}, Kind::Scalar).users = {2};
  s.statement({}, {moving(G)});
  EXPECT_EQ(s.check({0, 0, 1}, {0, 1, 2}).codes, Codes({1205}));
  EXPECT_EQ(s.check({0, 0, 0}, {0, 2, 1}).codes, Codes({1206}));
  EXPECT_EQ(s.check({0, 0, 0}, {0, 1, 2}).codes, Codes());

  Builder g;
  int A = g.tensor(), X = g.tile(), Y = g.tile();
  G = g.tensor();
  g.loop.queues.push_back({});
  auto inQueue = [&](LoopStatement &statement, Kind kind, bool async) {
    statement.kind = kind;
    statement.async = async;
    statement.queue = 0;
  };
  for (int tile : {X, Y}) {
    inQueue(g.statement({moving(A)}, {all(tile)}), Kind::Copy, true);
    inQueue(g.loop.statements.emplace_back(), Kind::Commit, false);
  }
  inQueue(g.loop.statements.emplace_back(), Kind::Wait, false);
  g.loop.statements.back().count = 0;
  g.statement({all(X), all(Y)}, {moving(G)});
  EXPECT_EQ(g.check({0, 0, 0, 0, 1, 1}, {0, 1, 2, 3, 4, 5}).codes, Codes());
  OrderVerdict foreign = g.check({0, 0, 0, 0, 1, 1}, {0, 2, 1, 3, 4, 5});
  EXPECT_EQ(foreign.codes, Codes({1209}));
  EXPECT_EQ(foreign.versions, (Numbers{1, 2, 2, 1}));
  EXPECT_EQ(g.check({0, 0, 0, 0, 1, 1}, {1, 0, 2, 3, 4, 5}).codes, Codes({1208}));
}

TEST(PipelineOracle, WaitsForReadsAlone) {
  Builder b;
  int S = b.tile(), G = b.tensor(), H = b.tensor();
  b.statement({}, {all(S)});
  LoopStatement &store = b.statement({all(S)}, {moving(G)});
  store.async = true;
  b.wait(1).names[0].writes = false;
  b.wait(1, 1).names[0].reads = false;
  b.statement({moving(G)}, {moving(H)}); // reads what is still being written
  EXPECT_EQ(b.check({0, 0, 0, 0, 0}, {0, 1, 2, 3, 4}).codes, Codes({1201}));
  EXPECT_EQ(b.values({0, 0, 0, 0, 0}, {0, 1, 2, 3, 4}), Effect::Harmful);
  EXPECT_EQ(b.check({0, 0, 0, 0, 1}, {0, 1, 2, 3, 4}).codes, Codes());
  EXPECT_EQ(b.values({0, 0, 0, 0, 1}, {0, 1, 2, 3, 4}), Effect::Same);
}

TEST(PipelineOracle, KindsOfHarmlessRefusals) {
  // Two writes of which the first is never seen.
  Builder dead;
  int S = dead.tile(), G = dead.tensor();
  dead.statement({}, {all(S)});
  dead.statement({}, {all(S)});
  dead.statement({}, {moving(G)});
  EXPECT_EQ(dead.check({0, 0, 0}, {1, 0, 2}).codes, Codes({1202}));
  EXPECT_EQ(dead.values({0, 0, 0}, {1, 0, 2}), Effect::Dead);

  // Fill, use, fill, use: the second pair may come first.
  Builder exchanged;
  S = exchanged.tile(), G = exchanged.tensor();
  int H = exchanged.tensor();
  exchanged.statement({}, {all(S)});
  exchanged.statement({all(S)}, {moving(G)});
  exchanged.statement({}, {all(S)});
  exchanged.statement({all(S)}, {moving(H)});
  EXPECT_FALSE(exchanged.check({0, 0, 0, 0}, {2, 3, 0, 1}).legal());
  EXPECT_EQ(exchanged.values({0, 0, 0, 0}, {2, 3, 0, 1}), Effect::Exchanged);
  EXPECT_EQ(exchanged.values({0, 0, 0, 0}, {2, 1, 0, 3}), Effect::Harmful);

  // Slots of a ring, chosen by numbers that happen to differ.
  Builder ring;
  int R = ring.tile();
  G = ring.tensor();
  Touch first{R, {{{Span::Motion::Modulo, 2, 0, 2, 1}}}};
  Touch second{R, {{{Span::Motion::Modulo, 2, 2, 2, 1}}}};
  ring.statement({}, {second});
  ring.statement({first}, {moving(G)});
  ring.loop.buffers[size_t(R)].readAfter = true;
  EXPECT_EQ(ring.check({0, 0}, {1, 0}).codes, Codes({1201}));
  EXPECT_EQ(ring.values({0, 0}, {1, 0}), Effect::Conservative);
}

TEST(PipelineOracle, FormsOfSchedules) {
  Builder b = gemm();
  EXPECT_EQ(b.check({0, 0}, {0, 1}).codes, Codes({1200}));
  EXPECT_EQ(b.check({0, 0, -1}, {0, 1, 1}).codes, Codes({1211, 1212}));
  b.loop.buffers[4].statedVersions = 2;
  EXPECT_EQ(b.check({0, 0, 0}, {0, 1, 2}).codes, Codes({1217}));
}

/// Two cells of a tile, from `offset` on.
Touch half(int tile, int64_t offset) { return {tile, {{{Span::Motion::Affine, 0, offset, 2, 1}}}}; }

TEST(Values, AnInstanceMayReadWhatItWroteItself) {
  // The last statement reads half of the tile for nothing, and the other half as it has
  // just written it. Run two iterations early, it only trades places with the others.
  Builder b;
  int A = b.tensor(), B = b.tensor(), C = b.tensor(), t = b.tile();
  b.statement({moving(A)}, {all(t)});
  b.statement({all(t)}, {moving(B)});
  LoopStatement &last = b.statement({}, {half(t, 2)});
  last.actions.push_back(Action{{half(t, 0)}, {moving(C)}, {}});
  last.actions.push_back(Action{{half(t, 2)}, {moving(C)}, {}});
  EXPECT_EQ(b.check({2, 2, 0}, {1, 2, 0}).codes, (Codes{1201, 1202, 1203}));
  EXPECT_EQ(b.values({2, 2, 0}, {1, 2, 0}), Effect::Exchanged);
}

TEST(Order, WhatWasIssuedBeforeTheLoopEndsAtItsWait) {
  // A copy fills the tile before the loop; the first statement waits for it, the second
  // reads the tile.
  Builder b;
  int A = b.tensor(), B = b.tensor(), t = b.tile();
  LoopStatement wait;
  wait.kind = Kind::Wait;
  wait.before = true;
  wait.settles = Action{{moving(A)}, {all(t)}, {}};
  b.loop.statements.push_back(wait);
  b.statement({all(t)}, {moving(B)});
  EXPECT_TRUE(b.check({0, 1}, {0, 1}).legal());
  EXPECT_EQ(b.values({0, 1}, {0, 1}), Effect::Same);
  EXPECT_EQ(b.check({0, 0}, {1, 0}).codes, Codes{1201});
  EXPECT_EQ(b.values({0, 0}, {1, 0}), Effect::Harmful);
  EXPECT_EQ(b.check({1, 0}, {0, 1}).codes, Codes{1201});
  // What stands before the wait in the body follows it from the second iteration on.
  std::swap(b.loop.statements[0], b.loop.statements[1]);
  EXPECT_TRUE(b.check({0, 0}, {0, 1}).legal());
  EXPECT_EQ(b.check({0, 1}, {0, 1}).codes, Codes{1201});
  // Under a condition, nothing says that it is ever ended.
  b.loop.conditions = 1;
  b.loop.statements[1].guard = {{0, false}};
  EXPECT_EQ(checkForm(b.loop), Codes{1222});
}

} // namespace
