//===- AnnotationsTest.cpp - num_stages, stage/order, raw marks -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scheduling/Problem/Annotations.h"
#include "Diagnostics/Codes.h"
#include "Instances.h"
#include "gmock/gmock.h"

using namespace penstock;
using namespace penstock::sched;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

using Numbers = std::vector<int64_t>;

Problem copyAndStore() {
  return parseOne(R"(loop l {
  buffer A global
  buffer B global
  buffer As shared
  statement copy copy reads A[k] writes As at "k.cpp" 5
  statement store compute reads As writes B[k] at "k.cpp" 6
})")
      .problem;
}

std::vector<unsigned> codes(const PipelinedLoop &loop) {
  std::vector<unsigned> out;
  for (const Diagnostic &d : loop.diagnostics)
    out.push_back(d.code);
  return out;
}

TEST(Annotations, OneWayOrTheOther) {
  Problem p = copyAndStore();
  LoopAnnotations a;
  EXPECT_FALSE(resolve(p, a).schedule); // nothing asked for, nothing said
  EXPECT_THAT(codes(resolve(p, a)), IsEmpty());
  a.numStages = 2;
  EXPECT_TRUE(resolve(p, a).schedule);
  a.stage = Numbers{0, 1};
  EXPECT_THAT(codes(resolve(p, a)), ElementsAre(StageAndNumStages));
  a.numStages.reset();
  EXPECT_THAT(codes(resolve(p, a)), ElementsAre(StageWithoutOrder));
  a.order = Numbers{1, 0};
  PipelinedLoop loop = resolve(p, a);
  ASSERT_TRUE(loop.schedule);
  EXPECT_EQ(loop.schedule->stage, (Numbers{0, 1}));
  EXPECT_EQ(loop.schedule->order, (Numbers{1, 0}));
  a.stage.reset();
  EXPECT_THAT(codes(resolve(p, a)), ElementsAre(StageWithoutOrder));
  LoopAnnotations zero;
  zero.numStages = 0;
  EXPECT_THAT(codes(resolve(p, zero)), ElementsAre(NumStagesTooSmall));
}

TEST(Annotations, EmptyArraysAreStatedToo) {
  LoopAnnotations a;
  a.stage = Numbers{};
  a.order = Numbers{};
  EXPECT_THAT(codes(resolve(copyAndStore(), a)), ElementsAre(ScheduleLength));
}

TEST(Annotations, OlderFormIgnoresScalars) {
  // base is defined first and used by both statements.
  Problem p = copyAndStore();
  std::vector<NamedScalar> scalars = {{"base", {"k.cpp", 4, 0}, 0, {0, 1}}};
  LoopAnnotations a;
  a.stage = Numbers{3, 0, 1};
  a.order = Numbers{1, 2, 0};
  PipelinedLoop loop = resolve(p, a, scalars);
  ASSERT_TRUE(loop.schedule);
  EXPECT_EQ(loop.schedule->stage, (Numbers{0, 1}));
  EXPECT_EQ(loop.schedule->order, (Numbers{2, 0}));
  EXPECT_THAT(codes(loop), ElementsAre(ScalarEntryIgnored));
  EXPECT_EQ(loop.diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(loop.diagnostics[0].location.line, 4u);
  // Used from one stage only: no warning. Its entry may even repeat an order.
  scalars[0].users = {1};
  a.order = Numbers{2, 2, 0};
  loop = resolve(p, a, scalars);
  EXPECT_TRUE(loop.schedule);
  EXPECT_THAT(codes(loop), IsEmpty());
  // Scalars between and after the statements.
  scalars = {{"x", {}, 1, {1}}, {"y", {}, 2, {}}};
  a.stage = Numbers{0, 9, 1, 9};
  a.order = Numbers{1, 9, 0, 9};
  loop = resolve(p, a, scalars);
  ASSERT_TRUE(loop.schedule);
  EXPECT_EQ(loop.schedule->stage, (Numbers{0, 1}));
  EXPECT_EQ(loop.schedule->order, (Numbers{1, 0}));
  a.stage = Numbers{0, 1, 2};
  EXPECT_THAT(codes(resolve(p, a, scalars)), ElementsAre(ScheduleLength));
}

TEST(Annotations, RawMarks) {
  Problem p = copyAndStore();
  LoopAnnotations a;
  a.stage = Numbers{0, 1};
  a.order = Numbers{1, 0};
  a.asyncStages = Numbers{0};
  PipelinedLoop loop = resolve(p, a);
  ASSERT_TRUE(loop.schedule) << render(loop.diagnostics);
  EXPECT_TRUE(loop.problem.statements[0].async);
  EXPECT_FALSE(loop.problem.statements[1].async);
  a.asyncStages = Numbers{1}; // no copy there
  EXPECT_THAT(codes(resolve(p, a)), ElementsAre(AsyncAnnotation));
  a.asyncStages.reset();
  a.asyncProducers = Numbers{1, 0};
  a.asyncProducerGroups = Numbers{0, -1};
  loop = resolve(p, a);
  ASSERT_TRUE(loop.schedule) << render(loop.diagnostics);
  EXPECT_TRUE(loop.problem.statements[0].async);
  EXPECT_EQ(loop.problem.statements[0].group, 0);
  for (const Numbers &bad : {Numbers{0, 1}, Numbers{2, 0}, Numbers{-1, 0}}) {
    a.asyncProducers = bad;
    EXPECT_THAT(codes(resolve(p, a)), ElementsAre(AsyncAnnotation));
  }
  a.asyncProducers = Numbers{1};
  EXPECT_THAT(codes(resolve(p, a)), ElementsAre(ScheduleLength));
  a.asyncProducers = Numbers{1, 0};
  for (const Numbers &bad : {Numbers{0, 0}, Numbers{-2, -1}}) {
    a.asyncProducerGroups = bad;
    EXPECT_THAT(codes(resolve(p, a)), ElementsAre(AsyncAnnotation));
  }
}

TEST(Annotations, GroupsStayTogether) {
  auto with = [](const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer A global
  buffer X shared
  buffer Y shared
  buffer Z shared
  buffer G global
  statement x copy async group 0 reads A[k] writes X
  statement y copy async group 0 reads A[k] writes Y
  statement z copy async group 1 reads A[k] writes Z
  statement use compute reads X, Y, Z writes G[k]
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("stage 0 0 0 1 order 0 1 2 3"), IsEmpty());
  EXPECT_THAT(with("stage 0 0 1 2 order 1 2 0 3"), IsEmpty());
  EXPECT_THAT(with("stage 0 0 0 1 order 0 2 1 3"), ElementsAre(CommitNotAlone));
  EXPECT_THAT(with("stage 0 1 0 2 order 0 1 2 3"), ElementsAre(CommitOtherStage));
}

TEST(Annotations, IllegalSchedulesComeWithTheirReasons) {
  LoopAnnotations a;
  a.stage = Numbers{1, 0};
  a.order = Numbers{0, 1};
  PipelinedLoop loop = resolve(copyAndStore(), a);
  EXPECT_FALSE(loop.schedule);
  ASSERT_THAT(codes(loop), ElementsAre(ReadBeforeWrite));
  EXPECT_EQ(loop.diagnostics[0].location.line, 6u);
  EXPECT_EQ(loop.diagnostics[0].notes.at(0).location.line, 5u);
}

} // namespace
