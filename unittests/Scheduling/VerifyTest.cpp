//===- VerifyTest.cpp - Each rule of a legal schedule ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One schedule that keeps each rule and one that breaks it and nothing else.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Instances.h"
#include "gmock/gmock.h"

using namespace penstock;
using namespace penstock::sched;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

std::string gemm(const std::string &schedule, const std::string &more = "") {
  return R"(loop gemm {
  buffer A global
  buffer As shared bytes 16384 )" +
         more + R"(
  buffer acc local
  statement copy copy reads A[k] writes As at "kernel.cpp" 31
  statement gemm compute reads As reads acc writes acc at "kernel.cpp" 33
  schedule )" +
         schedule + "\n}\n";
}

TEST(Verify, FormOfTheAnnotation) {
  EXPECT_THAT(verdictOf(gemm("stage 0 1 order 0 1")), IsEmpty());
  EXPECT_THAT(verdictOf(gemm("stage 0 order 0 1")), ElementsAre(ScheduleLength));
  EXPECT_THAT(verdictOf(gemm("stage 0 1 order")), ElementsAre(ScheduleLength));
  EXPECT_THAT(verdictOf(gemm("stage -1 1 order 0 1")), ElementsAre(StageOutOfRange));
  EXPECT_THAT(verdictOf(gemm("stage 0 5000 order 0 1")), ElementsAre(StageOutOfRange));
  EXPECT_THAT(verdictOf(gemm("stage 0 1 order 7 7")), ElementsAre(OrderTwice));
  // Orders need be neither dense nor positive.
  EXPECT_THAT(verdictOf(gemm("stage 0 1 order -4 17")), IsEmpty());
}

TEST(Verify, ReadAfterWrite) {
  EXPECT_THAT(verdictOf(gemm("stage 0 0 order 0 1")), IsEmpty());
  EXPECT_THAT(verdictOf(gemm("stage 0 0 order 1 0")), ElementsAre(ReadBeforeWrite));
  EXPECT_THAT(verdictOf(gemm("stage 1 0 order 0 1")), ElementsAre(ReadBeforeWrite));
}

TEST(Verify, WriteAfterReadWithinOneIteration) {
  const char *body = R"(loop l {
  buffer B shared
  buffer out local
  statement first compute writes B
  statement use compute reads B writes out
  statement second compute writes B
  statement last compute reads B, out
  schedule %
})";
  auto with = [&](const std::string &schedule) {
    std::string text = body;
    return verdictOf(text.replace(text.find('%'), 1, schedule));
  };
  EXPECT_THAT(with("stage 0 0 0 0 order 0 1 2 3"), IsEmpty());
  EXPECT_THAT(with("stage 0 0 0 0 order 0 2 1 3"), ElementsAre(WriteBeforeRead));
  EXPECT_THAT(with("stage 0 1 0 1 order 0 1 2 3"), ElementsAre(WriteBeforeRead));
  EXPECT_THAT(with("stage 0 0 0 0 order 2 1 0 3"), testing::Contains(WriteBeforeWrite));
}

TEST(Verify, WriteAfterWriteOnly) {
  EXPECT_THAT(verdictOf(R"(loop l {
  buffer B shared
  buffer out global
  statement a compute writes B
  statement b compute writes B
  statement c compute reads B writes out[k]
  schedule stage 0 0 0 order 1 0 2
})"),
              ElementsAre(WriteBeforeWrite));
}

TEST(Verify, CarriedTileIsNotVersioned) {
  // The tile that iteration k uses was written by iteration k-1.
  auto with = [](const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer A global
  buffer S shared
  buffer acc local
  statement gemm compute reads S, acc writes acc
  statement copy copy reads A[k] writes S
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("stage 0 0 order 0 1"), IsEmpty());
  EXPECT_THAT(with("stage 1 0 order 0 1"), ElementsAre(WriteBeforeRead));
  // The copy may run later than the gemm, up to the next iteration's gemm.
  EXPECT_THAT(with("stage 0 1 order 1 0"), IsEmpty());
  EXPECT_THAT(with("stage 0 1 order 0 1"), ElementsAre(ReadBeforeWrite));
}

TEST(Verify, GlobalRecurrence) {
  auto with = [](const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer G global
  buffer S shared
  statement load copy reads G[k] writes S
  statement compute compute reads S writes S
  statement store compute reads S writes G[k+1]
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("stage 0 0 0 order 0 1 2"), IsEmpty());
  EXPECT_THAT(with("stage 0 1 1 order 2 0 1"), IsEmpty());
  EXPECT_THAT(with("stage 0 1 1 order 0 1 2"), ElementsAre(ReadBeforeWrite));
}

TEST(Verify, DisjointSlicesOfOneTensor) {
  auto with = [](const std::string &read) {
    return verdictOf("loop l {\n  buffer G global\n  buffer S shared\n"
                     "  statement load copy reads G" +
                     read +
                     " writes S\n"
                     "  statement store compute reads S writes G[2*k:1]\n"
                     "  schedule stage 0 3 order 0 1\n}");
  };
  EXPECT_THAT(with("[2*k+1:1]"), IsEmpty());
  EXPECT_THAT(with("[2*k:1]"), IsEmpty()); // only its own iteration
  // The store of iteration k-3 runs in the step of load k, after it.
  EXPECT_THAT(with("[2*k-8:1]"), IsEmpty());
  EXPECT_THAT(with("[2*k-6:1]"), ElementsAre(ReadBeforeWrite));
  EXPECT_THAT(with("[?]"), ElementsAre(ReadBeforeWrite));
}

TEST(Verify, CompletionCountsNotIssue) {
  auto with = [](const std::string &schedule, const std::string &stated) {
    return verdictOf(R"(loop l {
  buffer A global
  buffer As shared )" +
                     stated + R"(
  buffer acc local
  queue mma inorder acc
  statement copy copy reads A[k] writes As
  statement gemm compute async queue mma reads As, acc writes acc
  statement wait wait awaits gemm@0
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("stage 0 2 3 order 0 1 2", "versions 4"), IsEmpty());
  EXPECT_THAT(with("stage 0 2 3 order 0 1 2", "versions 3"), ElementsAre(WriteBeforeRead));
  EXPECT_THAT(with("stage 0 2 2 order 0 1 2", "versions 3"), IsEmpty());
  EXPECT_THAT(with("stage 0 2 2 order 0 2 1", "versions 5"), ElementsAre(WaitBeforeIssue));
}

TEST(Verify, VersionsStated) {
  EXPECT_THAT(verdictOf(gemm("stage 0 2 order 0 1", "versions 3")), IsEmpty());
  EXPECT_THAT(verdictOf(gemm("stage 0 2 order 0 1", "versions 5")), IsEmpty());
  EXPECT_THAT(verdictOf(gemm("stage 0 2 order 0 1", "versions 2")), ElementsAre(WriteBeforeRead));
  // Slices that move never meet, so two versions would do; the rule does not
  // look for that.
  EXPECT_THAT(verdictOf(R"(loop l {
  buffer S shared versions 1
  buffer G global
  statement a compute writes S[k]
  statement b compute reads S[k] writes G[k]
  schedule stage 0 1 order 0 1
})"),
              ElementsAre(VersionsTooFew));
  EXPECT_THAT(verdictOf(R"(loop l {
  buffer acc local versions 2
  statement a compute reads acc writes acc
  schedule stage 0 order 0
})"),
              ElementsAre(VersionsOnFixed));
}

TEST(Verify, ReadsAndWritesCompleteApart) {
  // A store that reads B until `read_done`, and writes G until the end.
  auto with = [](const std::string &what, const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer B shared versions 1
  buffer G global
  queue bulk
  statement fill compute writes B
  statement store compute async queue bulk reads B writes G[0:4]
  statement done wait awaits store@0)" +
                     what + R"(
  statement reuse compute writes B
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with(":reads", "stage 0 0 0 0 order 0 1 2 3"), IsEmpty());
  EXPECT_THAT(with("", "stage 0 0 0 0 order 0 1 2 3"), IsEmpty());
  EXPECT_THAT(with("", "stage 0 0 0 0 order 0 1 3 2"), ElementsAre(WriteBeforeRead));
  // Without a wait for reads, the implicit wait goes before `reuse`.
  EXPECT_THAT(with(":writes", "stage 0 0 0 0 order 0 1 3 2"), IsEmpty());
}

TEST(Verify, QueueKeepsItsAccumulatorInOrder) {
  auto with = [](const std::string &queue, const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer acc local
  buffer other local
  queue mma )" + queue +
                     R"(
  statement one compute async queue mma reads acc writes acc
  statement two compute async queue mma reads acc writes acc
  statement done wait awaits one@1, two@1
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("inorder acc", "stage 0 0 1 order 0 1 2"), IsEmpty());
  EXPECT_THAT(with("", "stage 0 0 1 order 0 1 2"), testing::Not(IsEmpty()));
  EXPECT_THAT(with("inorder other", "stage 0 0 1 order 0 1 2"), testing::Not(IsEmpty()));
  EXPECT_THAT(with("inorder acc", "stage 0 0 1 order 1 0 2"), testing::Not(IsEmpty()));
}

TEST(Verify, WaitForALaterMemberCompletesAnEarlierOne) {
  // `one` is awaited two iterations later, `two` at once.
  auto with = [](const std::string &guard, const std::string &twoWait) {
    return verdictOf(R"(loop l {
  buffer X shared versions 1
  buffer a local
  buffer b local
  queue mma inorder a, b
  statement fill compute writes X
  statement one compute async queue mma reads X, a writes a
  statement two compute async queue mma reads b writes b )" +
                     guard + R"(
  statement early wait awaits two@0 )" +
                     twoWait + R"(
  statement late wait awaits one@2
  statement again compute writes X
  schedule stage 0 0 0 0 0 0 order 0 1 2 3 4 5
})");
  };
  EXPECT_THAT(with("", ""), IsEmpty());
  EXPECT_THAT(with("when c", "when c"), testing::Not(IsEmpty()));
}

TEST(Verify, Commits) {
  auto with = [](const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer A global
  buffer X shared
  buffer Y shared
  buffer G global
  queue cp
  statement x copy async queue cp reads A[k] writes X
  statement cx commit queue cp
  statement y copy async queue cp reads A[k] writes Y
  statement cy commit queue cp
  statement w wait queue cp count 0
  statement use compute reads X, Y writes G[k]
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("stage 0 0 0 0 1 1 order 0 1 2 3 4 5"), IsEmpty());
  EXPECT_THAT(with("stage 0 1 0 0 1 1 order 0 1 2 3 4 5"), ElementsAre(CommitOtherStage));
  EXPECT_THAT(with("stage 0 0 0 0 1 1 order 1 0 2 3 4 5"), ElementsAre(CommitBeforeGroup));
  EXPECT_THAT(with("stage 0 0 0 0 1 1 order 0 2 1 3 4 5"),
              ElementsAre(CommitNotAlone, CommitNotAlone));
  // Another stage does not help: all of a step is one instruction stream.
  EXPECT_THAT(with("stage 0 0 1 1 2 2 order 0 3 1 2 4 5"),
              ElementsAre(CommitNotAlone, CommitNotAlone));
}

TEST(Verify, CountedWaitIsBoundBySourceOrder) {
  // wait<1> after this iteration's commit awaits the group of k-1.
  auto with = [](const std::string &count, const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer A global
  buffer As shared versions 2
  buffer acc local
  queue mma inorder acc
  statement copy copy reads A[k] writes As
  statement gemm compute async queue mma reads As, acc writes acc
  statement commit commit queue mma
  statement wait wait queue mma count )" +
                     count + "\n  schedule " + schedule + "\n}");
  };
  EXPECT_THAT(with("0", "stage 0 1 1 1 order 0 1 2 3"), IsEmpty());
  EXPECT_THAT(with("1", "stage 0 1 1 1 order 0 1 2 3"), ElementsAre(WriteBeforeRead));
  EXPECT_THAT(with("1", "stage 0 0 0 0 order 0 1 2 3"), IsEmpty());
  EXPECT_THAT(with("2", "stage 0 0 0 0 order 0 1 2 3"), ElementsAre(WriteBeforeRead));
}

TEST(Verify, CountedWaitFollowsTheCommit) {
  // The wait of the next iteration awaits this iteration's group.
  auto with = [](const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer X shared
  queue cp
  statement wait wait queue cp count 0
  statement x compute async queue cp writes X
  statement close commit queue cp
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("stage 0 0 0 order 0 1 2"), IsEmpty());
  // One step later both come before the wait, or both after it, or only the
  // copy does.
  EXPECT_THAT(with("stage 0 1 1 order 2 0 1"), IsEmpty());
  EXPECT_THAT(with("stage 0 1 1 order 0 1 2"), ElementsAre(WaitBeforeIssue, WaitBeforeIssue));
  EXPECT_THAT(with("stage 0 1 1 order 1 0 2"), ElementsAre(WaitBeforeIssue));
}

TEST(Verify, FenceStaysBetween) {
  auto with = [](const std::string &fence, const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer S shared
  buffer G global
  statement fill compute writes S
  statement fence fence )" +
                     fence + R"(
  statement store compute reads S~async writes G[k]~async
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("", "stage 0 0 0 order 0 1 2"), IsEmpty());
  EXPECT_THAT(with("", "stage 0 1 1 order 2 0 1"), IsEmpty());
  EXPECT_THAT(with("", "stage 0 0 0 order 1 0 2"), ElementsAre(FenceMoved));
  // fill -> store of one iteration, and fill -> fill of the next.
  EXPECT_THAT(with("", "stage 0 1 0 order 0 2 1"), ElementsAre(FenceMoved, FenceMoved));
  EXPECT_THAT(with("to async", "stage 0 1 0 order 0 2 1"), ElementsAre(FenceMoved));
  EXPECT_THAT(with("from async to generic", "stage 0 0 0 order 1 0 2"), IsEmpty());
  EXPECT_THAT(with("from generic to async", "stage 0 0 0 order 1 0 2"), ElementsAre(FenceMoved));
  EXPECT_THAT(with("in tensor", "stage 0 0 0 order 1 0 2"), IsEmpty());
}

TEST(Verify, ScheduledScalars) {
  auto with = [](const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer S shared
  buffer G global
  statement fill compute writes S
  statement value scalar reads S users store
  statement store compute writes G[k]
  schedule )" + schedule +
                     "\n}");
  };
  EXPECT_THAT(with("stage 0 1 1 order 0 1 2"), IsEmpty());
  EXPECT_THAT(with("stage 0 0 1 order 0 1 2"), ElementsAre(ScalarOtherStage));
  EXPECT_THAT(with("stage 0 1 1 order 0 2 1"), ElementsAre(ScalarBeforeUse));
}

TEST(Verify, OppositeConditionsShareNoIteration) {
  auto with = [](const std::string &second, const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer S shared fixed "test"
  statement a compute when c writes S
  statement b compute when )" +
                     second + " writes S\n  schedule " + schedule + "\n}");
  };
  EXPECT_THAT(with("!c", "stage 0 0 order 1 0"), IsEmpty());
  EXPECT_THAT(with("d", "stage 0 0 order 1 0"), ElementsAre(WriteBeforeWrite));
  // Another iteration's condition is another value.
  EXPECT_THAT(with("!c", "stage 0 1 order 0 1"), ElementsAre(WriteBeforeWrite));
}

TEST(Verify, CapacityNamesWhatFits) {
  Instance i = parseOne(R"(loop l {
  capacity shared 100000
  buffer A global
  buffer As shared bytes 30000
  buffer G global
  statement copy copy reads A[k] writes As
  statement use compute reads As writes G[k]
  schedule stage 0 3 order 0 1
})");
  Verdict verdict = verifySchedule(i.problem, *i.schedule);
  ASSERT_THAT(codesOf(verdict), ElementsAre(VersionsDoNotFit));
  EXPECT_EQ(versionsOf(i, verdict, "As"), 4u);
  EXPECT_EQ(verdict.violations[0].overflow.fits, 3u);
  Diagnostic d = toDiagnostic(i.problem, *i.schedule, verdict, verdict.violations[0]);
  EXPECT_THAT(d.helps, ElementsAre("at most 3 versions of each buffer fit"));
}

TEST(Verify, GivenConflictsReplaceRegions) {
  auto with = [](const std::string &distance, const std::string &schedule) {
    return verdictOf(R"(loop l {
  buffer G global given
  buffer S shared
  statement load copy writes S
  statement store compute reads S
  conflict store writes -> load reads on G distance )" +
                     distance + "\n  schedule " + schedule + "\n}");
  };
  EXPECT_THAT(with("1", "stage 0 1 order 0 1"), ElementsAre(ReadBeforeWrite));
  EXPECT_THAT(with("2..", "stage 0 1 order 0 1"), IsEmpty());
  EXPECT_THAT(with("2..", "stage 0 2 order 0 1"), ElementsAre(ReadBeforeWrite));
  EXPECT_THAT(with("3..9/3", "stage 0 2 order 0 1"), IsEmpty());
}

TEST(Check, Forms) {
  EXPECT_THAT(checkCodes(R"(loop l {
  queue q
  statement c commit queue q when p
})"),
              ElementsAre(ConditionalCommit));
  EXPECT_THAT(checkCodes(R"(loop l {
  buffer B shared
  queue q
  statement a compute async queue q writes B
  statement w wait awaits a@0 when p
})"),
              ElementsAre(ConditionalWait));
  EXPECT_THAT(checkCodes(R"(loop l {
  buffer B shared
  queue q
  statement a compute async queue q writes B when p
  statement w wait awaits a@0 when p
})"),
              IsEmpty());
  EXPECT_THAT(checkCodes(R"(loop l {
  buffer B shared
  queue q
  statement c commit queue q
  statement a compute async queue q writes B
})"),
              ElementsAre(NeverCommitted));
  EXPECT_THAT(checkCodes(R"(loop l {
  queue q
  statement w wait queue q count 0
})"),
              ElementsAre(AwaitsNothing));
  EXPECT_THAT(checkCodes("loop l {\n  statement w wait\n}"), ElementsAre(AwaitsNothing));
  EXPECT_THAT(checkCodes(R"(loop l {
  buffer B shared
  statement w wait awaits a@0
  statement a compute async writes B
})"),
              ElementsAre(AwaitsUnissued));
  EXPECT_THAT(checkCodes(R"(loop l {
  buffer B shared
  statement a compute reads B
  statement s scalar reads B users a
})"),
              ElementsAre(ScalarUserBefore));
  EXPECT_THAT(checkCodes(R"(loop l {
  buffer B shared [4, 4]
  statement a compute writes B[0:4]
})"),
              ElementsAre(ProblemMalformed));
}

TEST(Report, NamesLinesIterationsAndCure) {
  Instance i = parseOne(gemm("stage 0 2 order 0 1", "versions 2 at \"kernel.cpp\" 12"));
  i.problem.capacity[size_t(Space::Shared)] = 232448;
  Verdict verdict = verifySchedule(i.problem, *i.schedule);
  ASSERT_EQ(verdict.violations.size(), 1u);
  RenderOptions options;
  options.sourceLine = [](const std::string &, uint32_t line) {
    return std::optional<std::string>(line == 31 ? "  b.copy(A.at(k), As);" : "  b.gemm(As, acc);");
  };
  EXPECT_EQ(render(toDiagnostics(i.problem, *i.schedule, verdict), options),
            "kernel.cpp:31: error PS1203: this schedule lets `copy` overwrite `As` "
            "while `gemm` still reads it\n"
            "   31 |   b.copy(A.at(k), As);\n"
            "      |   ^ writes As for iteration k+2 at stage 0, order 0\n"
            "kernel.cpp:33: note: still reading As for iteration k\n"
            "   33 |   b.gemm(As, acc);\n"
            "      |   ^ at stage 2, order 1\n"
            "  help: As needs 3 versions and is declared with 2 (16384 more bytes; "
            "32 "
            "KiB of 227 KiB of shared memory are used); or order `copy` after "
            "`gemm`\n");
}

/// Each violation that a test above provokes has a message of its own: both
/// statements by name, and help.
TEST(Report, EveryHazardHasACure) {
  for (const char *schedule :
       {"stage 0 0 order 1 0", "stage 1 0 order 0 1", "stage 3 1 order 0 1"}) {
    Instance i = parseOne(gemm(schedule));
    Verdict verdict = verifySchedule(i.problem, *i.schedule);
    ASSERT_EQ(verdict.violations.size(), 1u);
    Diagnostic d = toDiagnostics(i.problem, *i.schedule, verdict).at(0);
    EXPECT_THAT(d.message, testing::HasSubstr("`copy`"));
    EXPECT_THAT(d.message, testing::HasSubstr("`gemm`"));
    EXPECT_EQ(d.location.line, 33u);
    ASSERT_EQ(d.notes.size(), 1u);
    EXPECT_EQ(d.notes[0].location.line, 31u);
    ASSERT_FALSE(d.helps.empty());
    // The cure cures: follow "give `gemm` stage N or later".
    auto at = d.helps[0].find("stage ");
    ASSERT_NE(at, std::string::npos);
    Schedule cured = *i.schedule;
    cured.stage[1] = std::stoi(d.helps[0].substr(at + 6));
    EXPECT_TRUE(verifySchedule(i.problem, cured).legal());
  }
}

} // namespace
