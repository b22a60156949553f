//===- CheckTest.cpp - Kernels over shapes and timings --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CopyKernel.h"
#include "penstock/gtest.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest-spi.h>

using namespace penstock;

namespace copying {

struct NoReference : Copy {};
struct LikeProgram : Copy {};
struct OtherArguments : Copy {};
struct MatrixAdd {
  static constexpr auto signature = "A[M,N], B[M,N] -> C[M,N]";
  void operator()(Block &b, In<f32, 2> A, In<f32, 2> B, Out<f32, 2> C) const {
    b.grid(ceil_div(A.size(0), 32));
  }
};

struct Doubled {
  static constexpr auto signature = "A[M,N] -> C[M,N]";
  void operator()(Block &b, In<f32, 2> A, Out<f32, 2> C) const {
    auto [bm, bn] = b.grid(ceil_div(A.size(0), 32), ceil_div(A.size(1), 32));
    auto t = b.local<f32>(32, 32);
    b.copy(A.at(bm * 32, bn * 32), t);
    if (exponential)
      b.set(t, exp(t));
    else
      b.set(t, t + t);
    b.copy(t, C.at(bm * 32, bn * 32));
  }
  bool exponential = false;
};
struct Exponentials : Doubled {
  Exponentials() { exponential = true; }
};
PENSTOCK_KERNEL(Doubled, exponential);
PENSTOCK_KERNEL(Exponentials, exponential);
PENSTOCK_KERNEL(Copy, block_m, block_n, wait, shifted);
PENSTOCK_REFERENCE(Copy, copyOnHost);
PENSTOCK_KERNEL(NoReference, wait, shifted);
PENSTOCK_KERNEL(LikeProgram, shifted);
PENSTOCK_REFERENCE(LikeProgram, CopyProgram);
PENSTOCK_KERNEL(OtherArguments);
PENSTOCK_REFERENCE(OtherArguments, MatrixAdd);

// The reference is off by less and by more than what is tolerated.
inline void addToCopy(TensorView<const f32, 2> A, TensorView<f32, 2> C, float more) {
  copyOnHost(A, C);
  for (int64_t i = 0; i < C.sizes[0] * C.sizes[1]; ++i)
    C.data[i] += more;
}
void nearCopy(TensorView<const f32, 2> A, TensorView<f32, 2> C) { addToCopy(A, C, 0.125f); }
void farCopy(TensorView<const f32, 2> A, TensorView<f32, 2> C) { addToCopy(A, C, 0.375f); }
struct NearCopy : Copy {};
struct FarCopy : Copy {};
PENSTOCK_KERNEL(NearCopy);
PENSTOCK_REFERENCE(NearCopy, nearCopy, {.of_largest = 0.125});
PENSTOCK_KERNEL(FarCopy);
PENSTOCK_REFERENCE(FarCopy, farCopy, {.of_largest = 0.125});

struct ChosenShapes : Copy {};
PENSTOCK_KERNEL(ChosenShapes, block_m, block_n);
PENSTOCK_REFERENCE(ChosenShapes, copyOnHost);
PENSTOCK_SHAPES(ChosenShapes, Shape{{"N", 40}}, Shape{{"M", 96}, {"N", 96}});

} // namespace copying

namespace {

const Shape fourBlocks = {{"M", 64}, {"N", 48}};

/// Four timings, and two more that starve one of the two warps of `Copy`.
CheckOptions quick() {
  CheckOptions options;
  options.shapes = {fourBlocks};
  options.timings = 4;
  options.data = {Data::Exact};
  return options;
}

TEST(Check, AKernelThatIsRightIsSound) {
  CheckReport report = check_registered("Copy", Target::sm_90a(), quick());
  ASSERT_EQ(report.shapes.size(), 1u) << to_text(report);
  const CheckedShape &shape = report.shapes[0];
  EXPECT_TRUE(report.sound()) << to_text(report);
  EXPECT_EQ(shape.blocks, 4u);
  EXPECT_EQ(shape.warps, 2u);
  EXPECT_EQ(shape.runs, 6);
  EXPECT_EQ(shape.wrong, 0);
  EXPECT_EQ(shape.reference, "copyOnHost");
  EXPECT_EQ(summary_of(report), "kernels=1 shapes=1 runs=6 wrong=0 findings=0\n");
  EXPECT_NE(to_text(report).find("Copy  sm_90a  M=64,N=48  4 blocks x 2 warps  6 runs  "
                                 "results equal to copyOnHost  0 races  0 deadlocks  0 misuse"),
            std::string::npos)
      << to_text(report);
}

TEST(Check, ARemovedWaitIsARaceAtTheUsersLines) {
  CheckOptions options = quick();
  options.set = {{"wait", "false"}};
  CheckReport report = check_registered("Copy", Target::sm_90a(), options);
  EXPECT_FALSE(report.sound());
  bool found = false;
  for (const Diagnostic &d : report.shapes.at(0).findings) {
    std::vector<unsigned> lines = {d.location.line};
    for (const DiagnosticNote &note : d.notes)
      lines.push_back(note.location.line);
    bool load = std::count(lines.begin(), lines.end(), copying::loadLine);
    bool store = std::count(lines.begin(), lines.end(), copying::storeLine);
    found |= d.code == 2101 && load && store && d.location.file.ends_with("CopyKernel.h");
  }
  EXPECT_TRUE(found) << to_text(report);
}

TEST(Check, AWrongResultIsReportedForEveryTiming) {
  CheckOptions options = quick();
  options.set = {{"shifted", "true"}};
  for (const char *kernel : {"Copy", "LikeProgram"}) {
    CheckReport report = check_registered(kernel, Target::sm_90a(), options);
    ASSERT_EQ(report.shapes.size(), 1u) << to_text(report);
    EXPECT_FALSE(report.sound());
    EXPECT_EQ(report.shapes[0].wrong, 6);
    ASSERT_EQ(report.shapes[0].findings.size(), 1u);
    EXPECT_EQ(report.shapes[0].findings[0].code, 2201u);
    EXPECT_EQ(summary_of(report), "kernels=1 shapes=1 runs=6 wrong=6 findings=0\n");
  }
}

TEST(Check, RandomDataAreComparedToo) {
  CheckOptions options = quick();
  options.data = {Data::Random};
  EXPECT_TRUE(check_registered("LikeProgram", Target::sm_90a(), options).sound());
  options.set = {{"shifted", "true"}};
  EXPECT_EQ(check_registered("LikeProgram", Target::sm_90a(), options).shapes.at(0).wrong, 6);
}

TEST(Check, EveryTimingRunsWithEachKindOfData) {
  CheckOptions options = quick();
  options.data = CheckOptions().data;
  CheckReport report = check_registered("Copy", Target::sm_90a(), options);
  ASSERT_EQ(report.shapes.size(), 1u) << to_text(report);
  // Who is starved does not depend on data: those two run with the first kind alone.
  EXPECT_EQ(report.shapes[0].runs, 10);
  EXPECT_NE(to_text(report).find("10 runs  results equal to and within bounds of copyOnHost"),
            std::string::npos)
      << to_text(report);
  options.data = {};
  EXPECT_FALSE(check_registered("Copy", Target::sm_90a(), options).sound());
}

TEST(Check, AToleranceIsAPartOfTheLargestInput) {
  // Small integers: the largest is 2.
  CheckReport near = check_registered("NearCopy", Target::sm_90a(), quick());
  EXPECT_TRUE(near.sound()) << to_text(near);
  EXPECT_NE(to_text(near).find("results within bounds of nearCopy"), std::string::npos);
  CheckReport far = check_registered("FarCopy", Target::sm_90a(), quick());
  EXPECT_EQ(far.shapes.at(0).wrong, 6);
  EXPECT_NE(to_text(far).find("within 0.25"), std::string::npos) << to_text(far);
}

TEST(Check, RegisteredShapesAreTakenIfNoneIsAskedFor) {
  CheckOptions options = quick();
  EXPECT_EQ(check_registered("ChosenShapes", Target::sm_90a(), options).shapes.size(), 1u);
  options.shapes = {};
  CheckReport report = check_registered("ChosenShapes", Target::sm_90a(), options);
  EXPECT_TRUE(report.sound()) << to_text(report);
  std::vector<std::string> shapes;
  for (const CheckedShape &shape : report.shapes)
    shapes.push_back(shape.shape);
  ASSERT_GT(shapes.size(), 2u);
  EXPECT_EQ(shapes.back(), "M=96,N=96");
  shapes.pop_back();
  for (const std::string &shape : shapes)
    EXPECT_TRUE(shape.ends_with(",N=40")) << shape;
}

TEST(Check, WithoutAReferenceItSaysSo) {
  CheckOptions options = quick();
  options.set = {{"shifted", "true"}};
  CheckReport report = check_registered("NoReference", Target::sm_90a(), options);
  EXPECT_TRUE(report.sound());
  EXPECT_NE(to_text(report).find("no reference, findings only"), std::string::npos);
}

TEST(Check, ATileProgramIsComparedWithItsInterpretation) {
  CheckReport report = check_registered("Doubled", Target::sm_90a(), quick());
  EXPECT_TRUE(report.sound()) << to_text(report);
  EXPECT_NE(to_text(report).find("results equal to Doubled"), std::string::npos) << to_text(report);
  // Sums of elementary functions have no order in which they are exact.
  CheckReport inexact = check_registered("Exponentials", Target::sm_90a(), quick());
  EXPECT_TRUE(inexact.sound()) << to_text(inexact);
  EXPECT_NE(to_text(inexact).find("results within bounds of Exponentials"), std::string::npos)
      << to_text(inexact);
}

TEST(Check, AReferenceTakesTheSameArguments) {
  CheckReport report = check_registered("OtherArguments", Target::sm_90a(), quick());
  EXPECT_FALSE(report.sound());
  ASSERT_EQ(report.diagnostics.size(), 1u) << to_text(report);
  EXPECT_EQ(report.diagnostics[0].code, 1501u);
}

TEST(Check, PassedRunsAreLeftOutAndChangedKernelsAreNot) {
  std::string file = testing::TempDir() + "/penstock-passed-runs";
  std::remove(file.c_str());
  CheckOptions options = quick();
  options.state = file;
  EXPECT_EQ(check_registered("Copy", Target::sm_90a(), options).shapes.at(0).runs, 6);
  options.timings = 6;
  CheckReport again = check_registered("Copy", Target::sm_90a(), options);
  EXPECT_EQ(again.shapes.at(0).skipped, 6);
  EXPECT_EQ(again.shapes.at(0).runs, 2);
  EXPECT_TRUE(again.sound());
  // Another tile is another text.
  options.set = {{"block_m", "16"}};
  EXPECT_EQ(check_registered("Copy", Target::sm_90a(), options).shapes.at(0).skipped, 0);
  // What failed is tried again.
  options.set = {{"wait", "false"}};
  check_registered("Copy", Target::sm_90a(), options);
  EXPECT_EQ(check_registered("Copy", Target::sm_90a(), options).shapes.at(0).skipped, 0);
  // A line that was cut off does not spoil the next.
  std::ofstream(file, std::ios::app) << "Copy sm_9";
  options.set = {};
  EXPECT_EQ(check_registered("Copy", Target::sm_90a(), options).shapes.at(0).skipped, 8);
  std::remove(file.c_str());
}

TEST(Check, CanBeCancelled) {
  CheckOptions options = quick();
  int calls = 0;
  options.progress = [&calls](CheckProgress &progress) {
    EXPECT_EQ(progress.kernel, "Copy");
    if (progress.total == 0) // the reference
      return;
    EXPECT_EQ(progress.what, "M=64,N=48");
    EXPECT_EQ(progress.total, 6);
    progress.cancel = ++calls == 2;
  };
  CheckReport report = check_registered("Copy", Target::sm_90a(), options);
  EXPECT_TRUE(report.cancelled);
  EXPECT_FALSE(report.sound());
  EXPECT_EQ(report.shapes.at(0).runs, 1);
  EXPECT_NE(summary_of(report).find("(cancelled)"), std::string::npos);
}

TEST(Check, MistakesOfTheCallAreDiagnostics) {
  auto code = [](const CheckReport &report) {
    return report.diagnostics.empty() ? 0 : report.diagnostics[0].code;
  };
  EXPECT_EQ(code(check_registered("Nothing", Target::sm_90a(), quick())), 1503u);
  EXPECT_EQ(code(check_registered("Copy", Target::native(), quick())), 1501u);
  CheckOptions options = quick();
  options.timings = 0;
  EXPECT_EQ(code(check_registered("Copy", Target::sm_90a(), options)), 1501u);
  options = quick();
  for (const char *file : {"/nonexistent/file", "/", "/dev/zero"}) {
    options.state = file;
    EXPECT_EQ(code(check_registered("Copy", Target::sm_90a(), options)), 1502u) << file;
  }
  // A size that is not given, and rows that TMA cannot copy.
  options = quick();
  options.shapes = {{{"M", 64}}};
  CheckReport report = check_registered("Copy", Target::sm_90a(), options);
  EXPECT_FALSE(report.sound());
  EXPECT_EQ(report.shapes.at(0).findings.at(0).code, 1501u);
  options.shapes = {{{"M", 64}, {"N", 7}}};
  report = check_registered("Copy", Target::sm_90a(), options);
  EXPECT_FALSE(report.sound());
  EXPECT_EQ(report.shapes.at(0).findings.at(0).code, 1608u);
}

TEST(Check, ShapesThatNobodyAskedForMayBeRefused) {
  CheckOptions options;
  options.timings = 1;
  CheckReport report = check_registered("Copy", Target::sm_90a(), options);
  EXPECT_TRUE(report.sound()) << to_text(report);
  size_t refused = 0;
  for (const CheckedShape &shape : report.shapes)
    refused += !shape.refused.empty();
  EXPECT_EQ(refused, 1u) << to_text(report);
}

TEST(Check, WhatOneShapeHasShownIsOnlyCountedForTheNext) {
  CheckOptions options = quick();
  options.set = {{"wait", "false"}};
  options.shapes = {fourBlocks, {{"M", 32}, {"N", 32}}};
  CheckReport report = check_registered("Copy", Target::sm_90a(), options);
  ASSERT_EQ(report.shapes.size(), 2u);
  size_t shown = report.shapes[0].findings.size();
  ASSERT_EQ(report.shapes[1].findings.size(), shown) << to_text(report);
  std::string text = to_text(report), race = "error PS2101";
  EXPECT_EQ(text.find(race, text.find(race) + 1), std::string::npos) << text;
  EXPECT_NE(text.find("as for M=64,N=48\n"), std::string::npos) << text;
  EXPECT_NE(to_json(report).find("\"first_shape\":\"M=64,N=48\""), std::string::npos);
}

TEST(Check, TheTextIsTheSameInEveryRun) {
  CheckOptions options = quick();
  options.set = {{"wait", "false"}};
  options.timings = 12;
  std::string first;
  for (int run = 0; run < 4; ++run) {
    options.jobs = run ? 4 : 1;
    CheckReport report = check_registered("Copy", Target::sm_90a(), options);
    std::string text = to_text(report.shapes.at(0).findings);
    EXPECT_FALSE(text.empty());
    if (run)
      EXPECT_EQ(text, first);
    first = text;
  }
}

TEST(Check, ReportsAreJsonAndSarif) {
  CheckOptions options = quick();
  options.set = {{"wait", "false"}};
  CheckReport report = check_registered("Copy", Target::sm_90a(), options);
  EXPECT_NE(to_json(report).find("\"kernel\":\"Copy\""), std::string::npos);
  EXPECT_NE(to_json(report).find("\"sound\":false"), std::string::npos);
  EXPECT_NE(to_sarif(report).find("\"ruleId\":\"PS2101\""), std::string::npos);
}

TEST(ExpectSound, PassesAndFails) {
  EXPECT_SOUND(copying::Copy{}, Target::sm_90a(), fourBlocks, Shape{{"M", 8}, {"N", 8}});
  EXPECT_NONFATAL_FAILURE(EXPECT_SOUND(copying::Copy{.wait = false}, Target::sm_90a(), fourBlocks),
                          "PS2101");
}

} // namespace
