//===- Grid.cpp - A table of colored cells --------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/Grid.h"
#include "Draw/SvgWriter.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace penstock::draw {
namespace {

constexpr int marginRight = 20;
constexpr int marginBottom = 20;
constexpr int titleHeight = 54;
constexpr int namesHeight = 38;
constexpr int namesWidth = 62;
constexpr int tints = 4;

/// Towards white, in as many steps as there are tints; the last is still colored.
std::string tinted(const char *color, int64_t tint) {
  unsigned parts[3];
  std::sscanf(color, "#%2x%2x%2x", &parts[0], &parts[1], &parts[2]);
  char text[8];
  for (unsigned &part : parts)
    part += unsigned((255 - part) * tint / (tints + 1));
  std::snprintf(text, sizeof text, "#%02x%02x%02x", parts[0], parts[1], parts[2]);
  return text;
}

class Table : SvgWriter {
public:
  explicit Table(const Grid &grid) : grid(grid) {}

  std::string draw() {
    double wide = x(grid.cols()) + marginRight, high = y(grid.rows()) + marginBottom;
    // The texts above may be wider than the cells.
    wide = std::max(
        {wide, 16 + 9.5 * double(grid.title.size()), 16 + 6.8 * double(grid.subtitle.size())});
    begin(int(wide), int(high),
          ".title{font-size:16px;font-weight:600;fill:#1c2733}\n"
          ".sub{font-size:12px;fill:#5a6775}\n"
          ".name{font-size:10.5px;fill:#5a6775;text-anchor:middle}\n"
          ".side{font-size:10.5px;fill:#5a6775;text-anchor:end}\n"
          ".one{font-size:11px;fill:#16202b;text-anchor:middle}\n"
          ".two{font-size:9.5px;fill:#3d4854;text-anchor:middle}\n"
          ".cell{stroke:#ffffff;stroke-width:1}\n"
          ".group{stroke:#1c2733;stroke-width:1.5}\n");
    text(16, 24, "title", grid.title);
    text(16, 42, "sub", grid.subtitle);
    names();
    for (int64_t row = 0; row < grid.rows(); ++row)
      for (int64_t col = 0; col < grid.cols(); ++col)
        cell(row, col);
    groups();
    return finish();
  }

private:
  double x(int64_t col) const { return namesWidth + double(col) * grid.cellWidth; }
  double y(int64_t row) const { return titleHeight + namesHeight + double(row) * grid.cellHeight; }

  void names() {
    text((x(0) + x(grid.cols())) / 2, y(0) - 24, "name", grid.colsAre);
    text(x(0) - 8, y(0) - 8, "side", grid.rowsAre);
    for (int64_t col = 0; col < grid.cols(); ++col)
      text(x(col) + grid.cellWidth / 2.0, y(0) - 8, "name", grid.colNames[size_t(col)]);
    for (int64_t row = 0; row < grid.rows(); ++row)
      text(x(0) - 8, y(row) + grid.cellHeight / 2.0 + 4, "side", grid.rowNames[size_t(row)]);
  }

  void cell(int64_t row, int64_t col) {
    const Grid::Cell &c = grid.at(row, col);
    std::string fill = "#f4f5f7";
    if (c.number >= 0)
      fill = tinted(palette[c.number / tints % int64_t(std::size(palette))].fill, c.number % tints);
    out += "<rect class=\"cell\" data-row=\"" + std::to_string(row) + "\" data-col=\"" +
           std::to_string(col) + "\" data-number=\"" + std::to_string(c.number) + "\" x=\"" +
           number(x(col)) + "\" y=\"" + number(y(row)) + "\" width=\"" +
           std::to_string(grid.cellWidth) + "\" height=\"" + std::to_string(grid.cellHeight) +
           "\" fill=\"" + fill + "\"><title>" + xmlText(c.detail) + "</title></rect>\n";
    double middle = x(col) + grid.cellWidth / 2.0, center = y(row) + grid.cellHeight / 2.0;
    if (c.second.empty()) {
      if (!c.label.empty())
        text(middle, center + 4, "one", c.label);
      return;
    }
    text(middle, center - 1, "one", c.label);
    text(middle, center + 10, "two", c.second);
  }

  void groups() {
    auto isLine = [](int64_t i, int64_t count, int64_t group) {
      return i == 0 || i == count || (group > 0 && i % group == 0);
    };
    for (int64_t row = 0; row <= grid.rows(); ++row)
      if (isLine(row, grid.rows(), grid.rowGroup))
        line(x(0), y(row), x(grid.cols()), y(row), "group");
    for (int64_t col = 0; col <= grid.cols(); ++col)
      if (isLine(col, grid.cols(), grid.colGroup))
        line(x(col), y(0), x(col), y(grid.rows()), "group");
  }

  const Grid &grid;
};

} // namespace

std::string toSvg(const Grid &grid) { return Table(grid).draw(); }

} // namespace penstock::draw
