//===- DrawTest.cpp - Gantt charts and traces -----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../Scheduling/Kernels.h"
#include "Draw/PredictedTimeline.h"
#include "Draw/Svg.h"
#include "Draw/Trace.h"
#include "Scheduling/Schedule/Infer.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

using namespace penstock;
using namespace penstock::draw;

namespace {

using Shown =
    std::multiset<std::tuple<std::string, std::string, int64_t, int64_t, int64_t>>; // kind, name,
                                                                                    // k, ...

Shown slicesOfSvg(const std::string &svg) {
  Shown shown;
  static const std::regex rect(
      "<rect class=\"(work|flight|wait)\" data-name=\"([^\"]*)\" "
      "data-iteration=\"(\\d+)\" data-start=\"(\\d+)\" data-end=\"(\\d+)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), rect), end; at != end; ++at)
    shown.emplace((*at)[1], (*at)[2], std::stoll((*at)[3]), std::stoll((*at)[4]),
                  std::stoll((*at)[5]));
  return shown;
}

Shown slicesOfTrace(const std::string &trace) {
  Shown shown;
  static const std::regex event(
      "\"ph\":\"X\",\"pid\":1,\"tid\":\\d+,\"name\":\"([^\"]*)\",\"cat\":\"("
      "\\w+)"
      "\",\"ts\":(\\d+),\"dur\":(\\d+),\"cname\":\"\\w+\",\"args\":\\{"
      "\"iteration\":(\\d+)");
  for (std::sregex_iterator at(trace.begin(), trace.end(), event), end; at != end; ++at)
    shown.emplace((*at)[2], (*at)[1], std::stoll((*at)[5]), std::stoll((*at)[3]),
                  std::stoll((*at)[3]) + std::stoll((*at)[4]));
  return shown;
}

const hw::Architecture &hopper() { return *hw::findArchitecture("sm_90a"); }

Timeline gemm(int64_t stages) {
  sched::Problem p = sched::gemmProblem(hopper());
  sched::Inferred plan = sched::infer(p, stages);
  Timeline t = predictTimeline(p, plan.schedule.value(), 8);
  t.title = "GEMM 128x128x64 on sm_90a, num_stages = " + std::to_string(stages);
  return t;
}

Timeline attention(bool ownRescale, bool solved) {
  sched::Problem p = sched::attentionProblem(hopper(), ownRescale);
  Timeline t;
  if (!solved) {
    t = predictTimeline(p, *sched::infer(p, 2).schedule, 6);
    t.title = "Attention on sm_90a, num_stages = 2";
    return t;
  }
  sched::ModuloFromLoop modulo = sched::moduloProblem(p);
  sched::ModuloResult result = sched::solveExact(*modulo.problem);
  if (!result.schedule)
    result = sched::solveHeuristic(*modulo.problem);
  t = predictTimeline(sched::withVersions(p, modulo, *result.schedule),
                      sched::toSchedule(*result.schedule), 6,
                      sched::assignRoles(p, *result.schedule));
  t.title = std::string("Attention on sm_90a, shortest interval") +
            (ownRescale ? ", rescaling as its own statement" : "");
  return t;
}

TEST(Draw, TraceAndSvgShowTheSameSlices) {
  for (const Timeline &t :
       {gemm(2), gemm(3), gemm(4), attention(false, false), attention(true, true)}) {
    Shown svg = slicesOfSvg(toSvg(t)), trace = slicesOfTrace(toTrace(t));
    EXPECT_EQ(svg.size(), t.slices.size());
    EXPECT_EQ(svg, trace);
    Shown expected;
    for (const Slice &s : t.slices)
      expected.emplace(s.kind == Slice::Kind::Work     ? "work"
                       : s.kind == Slice::Kind::Flight ? "flight"
                                                       : "wait",
                       s.name, s.iteration, s.start, s.end);
    EXPECT_EQ(svg, expected);
  }
}

TEST(Draw, TextIsEscaped) {
  Timeline t;
  t.title = "a < b & \"c\"";
  t.rows = {{"r<1>", ""}};
  t.slices = {{Slice::Kind::Work, 0, "x\"<&>", 0, 0, 10, "\x01"}};
  std::string svg = toSvg(t);
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("x\"<&>"), std::string::npos);
  EXPECT_NE(toTrace(t).find("\"x\\\"<&>\""), std::string::npos);
}

TEST(Draw, EmptyTimeline) {
  EXPECT_NE(toSvg({}).find("</svg>"), std::string::npos);
  EXPECT_NE(toTrace({}).find("traceEvents"), std::string::npos);
}

/// Slices of one thread of a trace must not overlap, or viewers drop them.
TEST(Draw, LanesOfTheTraceDoNotOverlap) {
  std::string trace = toTrace(gemm(4));
  static const std::regex event(
      "\"ph\":\"X\",\"pid\":1,\"tid\":(\\d+),.*?\"ts\":(\\d+),\"dur\":(\\d+)");
  std::map<int, std::vector<std::pair<int64_t, int64_t>>> threads;
  for (std::sregex_iterator at(trace.begin(), trace.end(), event), end; at != end; ++at)
    threads[std::stoi((*at)[1])].emplace_back(std::stoll((*at)[2]),
                                              std::stoll((*at)[2]) + std::stoll((*at)[3]));
  EXPECT_GE(threads.size(), 3u);
  for (auto &[thread, spans] : threads) {
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); ++i)
      EXPECT_LE(spans[i - 1].second, spans[i].first);
  }
}

std::string stored(const std::string &file) {
  std::ifstream in(PENSTOCK_SOURCE_DIR "/docs/pictures/" + file);
  EXPECT_TRUE(in) << file;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// With PENSTOCK_UPDATE_PICTURES=1 the pictures are written instead.
bool update(const std::string &file, const Timeline &timeline) {
  if (!std::getenv("PENSTOCK_UPDATE_PICTURES"))
    return false;
  std::ofstream(PENSTOCK_SOURCE_DIR "/docs/pictures/" + file) << toSvg(timeline);
  return true;
}

/// The pictures in the documentation are what the library draws today.
TEST(Draw, PicturesOfTheDocumentation) {
  for (auto &[file, timeline] : std::vector<std::pair<std::string, Timeline>>{
           {"gemm-2-stages.svg", gemm(2)},
           {"gemm-3-stages.svg", gemm(3)},
           {"gemm-4-stages.svg", gemm(4)},
           {"attention-2-stages.svg", attention(false, false)}})
    if (!update(file, timeline))
      EXPECT_EQ(toSvg(timeline), stored(file)) << file;
}

TEST(Draw, PicturesOfTheExactSolver) {
  if (!sched::exactSolverBuilt())
    GTEST_SKIP() << "this build has no exact solver (Z3 was not found)";
  for (auto &[file, timeline] : std::vector<std::pair<std::string, Timeline>>{
           {"attention-solved.svg", attention(false, true)},
           {"attention-rescale-solved.svg", attention(true, true)}}) {
    if (update(file, timeline))
      continue;
    // Another release of the solver may choose other start times of the same
    // interval.
    std::string svg = stored(file);
    EXPECT_NE(svg.find(std::to_string(timeline.interval) + " cycles per iteration"),
              std::string::npos);
    EXPECT_FALSE(slicesOfSvg(svg).empty());
  }
}

} // namespace
