//===- LayoutPictureTest.cpp - Pictures show what layouts say -------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/LayoutPicture.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>

using namespace penstock;
using namespace penstock::draw;
using namespace penstock::layout;

namespace {

/// The numbers of the cells as they are in a picture.
std::map<std::pair<int64_t, int64_t>, int64_t> shown(const std::string &svg) {
  std::map<std::pair<int64_t, int64_t>, int64_t> cells;
  static const std::regex cell("<rect class=\"cell\" data-row=\"(\\d+)\" data-col=\"(\\d+)\" "
                               "data-number=\"(-?\\d+)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), cell), end; at != end; ++at)
    cells[{std::stoll((*at)[1]), std::stoll((*at)[2])}] = std::stoll((*at)[3]);
  return cells;
}

TEST(Picture, ThreadsOfAFragment) {
  Fragment f = wgmmaAccumulator(64, 32);
  auto cells = shown(toSvg(threadPicture(f, {16, 16, 8, 24})));
  EXPECT_EQ(cells.size(), 16u * 24u);
  for (int64_t t = 0; t < 128; ++t)
    for (int64_t r = 0; r < 16; ++r) {
      Coordinate c = f.at(t, r);
      if (c.row >= 16 && c.row < 32 && c.col >= 8) {
        ASSERT_EQ((cells[{c.row - 16, c.col - 8}]), t);
      }
    }
  // The layout of the fragment gives the same picture.
  EXPECT_EQ(toSvg(threadPicture(*layoutOf(f), 64)), toSvg(threadPicture(f)));
}

TEST(Picture, HolesAndCopies) {
  // Two threads hold columns 0 and 1, two others column 0 again; none column 2.
  Fragment f;
  f.rows = 1;
  f.cols = 3;
  f.threads = 4;
  f.registers = 1;
  f.colTerms = {{1, 2, 1}};
  draw::Grid grid = threadPicture(f);
  EXPECT_EQ(grid.at(0, 0).number, 0);
  EXPECT_EQ(grid.at(0, 0).second, "r0+");
  EXPECT_EQ(grid.at(0, 1).number, 1);
  EXPECT_EQ(grid.at(0, 2).number, -1);
  EXPECT_EQ(shown(toSvg(grid)).size(), 3u);
}

TEST(Picture, BanksOfATile) {
  SharedTile tile = *sharedTileFor(8, 64, 16);
  draw::Grid grid = bankPicture(layoutOf(tile));
  EXPECT_EQ(grid.cols(), 32);
  auto cells = shown(toSvg(grid));
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t col = 0; col < 64; ++col)
      ASSERT_EQ((cells[{row, col / 2}]), tile.byteOffset(row, col) / 4 % 32);
  // Columns of a row-major tile are columns of memory, so nothing can be joined when the
  // tile is read along its other dimension.
  SwizzledLayout across{{}, 16, Layout({Layout(8, 1), Layout(64, 8)})};
  EXPECT_EQ(bankPicture(across).cols(), 64);
}

TEST(Picture, OffsetsOfALayout) {
  Layout layout = *parseLayout("(4,(2,3)):(6,(1,2))").value;
  auto cells = shown(toSvg(offsetPicture(layout)));
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t col = 0; col < 6; ++col)
      ASSERT_EQ((cells[{row, col}]), row * 6 + col);
  EXPECT_EQ(offsetPicture(Layout(7, 3)).rows(), 1);
  EXPECT_EQ(offsetPicture(Layout(7, 3)).at(0, 6).label, "18");
}

TEST(Picture, TextIsEscaped) {
  draw::Grid grid = offsetPicture(Layout(2, 1));
  grid.title = "<a & \"b\">";
  EXPECT_NE(toSvg(grid).find("&lt;a &amp; &quot;b&quot;&gt;"), std::string::npos);
}

draw::Grid titled(draw::Grid grid, const std::string &title, const std::string &subtitle) {
  grid.title = title;
  grid.subtitle = subtitle;
  return grid;
}

/// The pictures of the documentation are what the library draws today. With
/// PENSTOCK_UPDATE_PICTURES=1 they are written instead.
TEST(Picture, PicturesOfTheDocumentation) {
  draw::Grid accumulator =
      titled(threadPicture(wgmmaAccumulator(64, 32), {0, 16, 0, 32}),
             "wgmma accumulator m64n32, rows 0 to 15",
             "which thread of the first warp (T) and which of its registers (r) has each element");
  accumulator.rowGroup = 8;
  accumulator.colGroup = 8;
  draw::Grid swizzled =
      titled(bankPicture(layoutOf(*sharedTileFor(8, 64, 16))),
             "8 x 64 f16 in shared memory, 128-byte swizzle",
             "bank of each word of two elements; a column of eight pieces of 16 bytes touches "
             "all 32 banks");
  swizzled.colGroup = 4;
  draw::Grid lanes =
      titled(threadPicture(tensorMemoryPiece(TensorShape::S32x32b, 16)), "tcgen05.ld.32x32b.x16",
             "which thread of the warp (T) and which register (r) gets each cell");
  lanes.rowsAre = "lane";
  lanes.cellHeight = 28;
  lanes.rowGroup = 8;
  for (auto &[file, grid] :
       std::vector<std::pair<std::string, draw::Grid>>{{"wgmma-accumulator.svg", accumulator},
                                                       {"swizzle-128-bytes.svg", swizzled},
                                                       {"tcgen05-ld-32x32b.svg", lanes}}) {
    std::string path = PENSTOCK_SOURCE_DIR "/docs/pictures/" + file;
    if (std::getenv("PENSTOCK_UPDATE_PICTURES")) {
      std::ofstream(path) << toSvg(grid);
      continue;
    }
    std::ifstream in(path);
    ASSERT_TRUE(in) << path;
    EXPECT_EQ(toSvg(grid), std::string(std::istreambuf_iterator<char>(in), {})) << file;
  }
}

} // namespace
