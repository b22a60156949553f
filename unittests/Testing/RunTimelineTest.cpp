//===- RunTimelineTest.cpp - A run on the emulator as a picture -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CopyKernel.h"
#include "blackwell_matmul/v3.h"
#include "hopper_matmul/steps.h"
#include "penstock/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

using namespace penstock;

namespace copying {

struct CopyToDraw : Copy {};
PENSTOCK_KERNEL(CopyToDraw, wait);
struct RolesToDraw : blackwell::MatmulV3 {};
PENSTOCK_KERNEL(RolesToDraw, stages);
struct GroupsToDraw : hopper::Matmul {};
PENSTOCK_KERNEL(GroupsToDraw, block_m, block_n);

} // namespace copying

namespace {

struct Drawn {
  std::string kind, name;
  int64_t start, end;
  int64_t y; ///< the bars of a row differ by a few pixels
};

std::vector<Drawn> slicesOf(const std::string &svg) {
  static const std::regex slice(
      "<rect class=\"(\\w+)\" data-name=\"([^\"]*)\" "
      "data-iteration=\"\\d+\" data-start=\"(\\d+)\" data-end=\"(\\d+)\" x=\"[\\d.]+\" y=\"(\\d+)");
  std::vector<Drawn> result;
  for (std::sregex_iterator it(svg.begin(), svg.end(), slice), end; it != end; ++it)
    result.push_back(
        {(*it)[1], (*it)[2], std::stoll((*it)[3]), std::stoll((*it)[4]), std::stoll((*it)[5])});
  return result;
}

TEST(RunTimeline, AWaitEndsWhenWhatItWaitsForIsThere) {
  RunPicture picture = draw_run("CopyToDraw", Target::sm_90a(), {{"M", 32}, {"N", 32}});
  EXPECT_TRUE(picture.diagnostics.empty()) << to_text(picture.diagnostics);
  std::vector<Drawn> loads, waits, stores;
  for (const Drawn &slice : slicesOf(picture.svg))
    if (slice.kind != "compute" || slice.name == "store")
      (slice.name == "load" ? loads : slice.name == "wait" ? waits : stores).push_back(slice);
  ASSERT_EQ(loads.size(), 1u) << picture.svg;
  ASSERT_EQ(stores.size(), 1u);
  EXPECT_EQ(stores[0].name, "store");
  // The warp goes on in the moment in which the tile is there, and stores it.
  bool waited = false;
  for (const Drawn &wait : waits)
    waited |= wait.start >= loads[0].start && wait.end == loads[0].end;
  EXPECT_TRUE(waited) << picture.svg;
  // And the wait has the color of what ended it.
  EXPECT_NE(picture.svg.find("fill=\"url(#hatch-copy)\""), std::string::npos);
  EXPECT_NE(picture.svg.find(">wait for loads</text>"), std::string::npos);
  EXPECT_EQ(picture.svg.find("hatch-product"), std::string::npos);
  EXPECT_GE(stores[0].start, loads[0].end);
  EXPECT_NE(picture.trace.find("\"load"), std::string::npos);
}

std::vector<std::string> textsOf(const std::string &svg, const std::string &style) {
  std::regex row("class=\"" + style + "\">([^<]*)</text>");
  std::vector<std::string> texts;
  for (std::sregex_iterator it(svg.begin(), svg.end(), row), end; it != end; ++it)
    texts.push_back((*it)[1]);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(RunTimeline, RowsAreRoles) {
  RunPicture picture =
      draw_run("RolesToDraw", Target::sm_100a(), {{"M", 128}, {"N", 128}, {"K", 512}});
  EXPECT_TRUE(picture.diagnostics.empty()) << to_text(picture.diagnostics);
  EXPECT_EQ(textsOf(picture.svg, "row"),
            (Texts{"load", "MMA", "epilogue", "loads", "tensor core", "stores"}));
  Texts notes = textsOf(picture.svg, "note");
  notes.resize(3);
  EXPECT_EQ(notes, (Texts{"warp 0", "warp 1", "warps 2-3"}));
  // Eight tiles of K, one MMA each.
  std::vector<Drawn> slices = slicesOf(picture.svg);
  EXPECT_EQ(std::ranges::count(slices, "MMA", &Drawn::name), 8);
}

// A warpgroup issues its MMAs together, and is one row.
TEST(RunTimeline, WarpgroupsHaveARowEach) {
  RunPicture picture =
      draw_run("GroupsToDraw", Target::sm_90a(), {{"M", 256}, {"N", 128}, {"K", 512}});
  EXPECT_TRUE(picture.diagnostics.empty()) << to_text(picture.diagnostics);
  Texts rows = textsOf(picture.svg, "row");
  EXPECT_EQ(std::ranges::count(rows, "MMA"), 2) << picture.svg;
  EXPECT_EQ(std::ranges::count(rows, "tensor core"), 1);
  Texts notes = textsOf(picture.svg, "note");
  EXPECT_EQ(std::ranges::count(notes, "warps 4-7"), 1);
  EXPECT_EQ(std::ranges::count(notes, "warps 8-11"), 1);
  std::vector<Drawn> slices = slicesOf(picture.svg);
  EXPECT_EQ(std::ranges::count(slices, "MMA", &Drawn::name), 16);
}

// A row shows the lines that its warps execute, and never work where all of them wait.
TEST(RunTimeline, WarpsWorkWhereTheyDoNotWait) {
  RunPicture picture = draw_run("CopyToDraw", Target::sm_90a(), {{"M", 32}, {"N", 32}});
  std::vector<Drawn> work, waits;
  for (const Drawn &slice : slicesOf(picture.svg)) {
    if (slice.kind == "compute" && slice.name != "store")
      work.push_back(slice);
    if (slice.kind == "wait")
      waits.push_back(slice);
  }
  ASSERT_FALSE(work.empty());
  ASSERT_FALSE(waits.empty());
  const int64_t piece = std::ranges::max(waits, {}, &Drawn::end).end / 200; // they are rounded
  for (const Drawn &slice : work) {
    EXPECT_TRUE(slice.name.starts_with("line")) << slice.name;
    for (const Drawn &wait : waits)
      if (std::abs(wait.y - slice.y) < 10)
        EXPECT_LE(std::min(slice.end, wait.end) - std::max(slice.start, wait.start), piece)
            << slice.name;
  }
}

TEST(RunTimeline, AnyBlockCanBeDrawn) {
  Shape shape = {{"M", 64}, {"N", 32}};
  RunPicture first = draw_run("CopyToDraw", Target::sm_90a(), shape);
  RunPicture second = draw_run("CopyToDraw", Target::sm_90a(), shape, {.block = 1});
  EXPECT_TRUE(second.diagnostics.empty()) << to_text(second.diagnostics);
  // Both blocks do the same.
  EXPECT_EQ(slicesOf(second.svg).size(), slicesOf(first.svg).size());
  EXPECT_NE(second.svg.find("block 1; cycles"), std::string::npos);
  RunPicture none = draw_run("CopyToDraw", Target::sm_90a(), shape, {.block = 2});
  ASSERT_FALSE(none.diagnostics.empty());
  EXPECT_EQ(none.diagnostics.back().message, "there is no block 2; the launch has 2");
  EXPECT_TRUE(none.svg.empty());
}

TEST(RunTimeline, MistakesAreReported) {
  EXPECT_FALSE(draw_run("Nothing", Target::sm_90a(), {}).diagnostics.empty());
  RunPicture open = draw_run("CopyToDraw", Target::sm_90a(), {{"M", 32}});
  EXPECT_FALSE(open.diagnostics.empty());
  EXPECT_TRUE(open.svg.empty());
  // A race is found on this clock too.
  RunPicture race = draw_run("CopyToDraw", Target::sm_90a(), {{"M", 32}, {"N", 32}},
                             {.set = {{"wait", "false"}}});
  EXPECT_TRUE(std::ranges::any_of(race.diagnostics, [](const Diagnostic &d) {
    return d.code == 2101u;
  })) << to_text(race.diagnostics);
}

} // namespace
