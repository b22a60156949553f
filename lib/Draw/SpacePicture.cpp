//===- SpacePicture.cpp - Points of a space and their times ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/SpacePicture.h"
#include "Draw/SvgWriter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace penstock::draw {
namespace {

constexpr int cellWidth = 74, cellHeight = 24, titleHeight = 62, headerHeight = 26;
constexpr int columnWidth = 84, legendHeight = 44, margin = 16;
constexpr size_t mostRows = 400;

/// From the best time (dark) to three times as much (light).
std::string shadeOf(double ratio) {
  double t = std::clamp(std::log(ratio) / std::log(3.0), 0.0, 1.0);
  auto mix = [&](int from, int to) { return int(std::lround(from + t * (to - from))); };
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", mix(0x2f, 0xe8), mix(0x8f, 0xf3),
                mix(0x6b, 0xec));
  return text;
}

std::string timeText(double seconds) {
  char text[32];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof text, seconds < 1e-4 ? "%.1f us" : "%.0f us", seconds * 1e6);
  else
    std::snprintf(text, sizeof text, seconds < 1e-2 ? "%.2f ms" : "%.1f ms", seconds * 1e3);
  return text;
}

class Picture : SvgWriter {
public:
  explicit Picture(const SpacePicture &picture) : p(picture) { layOut(); }

  std::string draw() {
    int width = std::max(640, left() + int(columns.size()) * cellWidth + margin);
    size_t shown = std::min(rows.size(), mostRows);
    int height = titleHeight + headerHeight + int(shown) * cellHeight + legendHeight;
    begin(width, height,
          ".title{font-size:16px;font-weight:600;fill:#1c2733}\n"
          ".sub{font-size:12px;fill:#5a6775}\n"
          ".axis{font-size:11px;font-weight:600;fill:#5a6775}\n"
          ".value{font-size:12px;fill:#16202b}\n"
          ".time{font-size:11px;fill:#16202b;text-anchor:middle}\n"
          ".light{font-size:11px;fill:#ffffff;text-anchor:middle}\n"
          ".gone{font-size:10px;fill:#8a949e;text-anchor:middle}\n");
    text(margin, 24, "title", p.title);
    text(margin, 42, "sub", p.subtitle);
    header();
    for (size_t row = 0; row < shown; ++row)
      drawRow(row);
    legend(titleHeight + headerHeight + int(shown) * cellHeight, shown < rows.size());
    return finish();
  }

private:
  int left() const { return margin + int(rowAxes.size()) * columnWidth; }

  /// Axes with one value only are left out.
  void layOut() {
    std::vector<size_t> varying;
    for (size_t a = 0; a < p.axes.size(); ++a)
      if (std::any_of(p.points.begin(), p.points.end(),
                      [&](const auto &q) { return q.values[a] != p.points[0].values[a]; }))
        varying.push_back(a);
    if (!varying.empty()) {
      across = int(varying.back());
      varying.pop_back();
    }
    rowAxes = varying;
    std::map<std::vector<std::string>, size_t> known;
    for (const SpacePicture::Point &point : p.points) {
      std::string column = across < 0 ? "" : point.values[size_t(across)];
      if (std::find(columns.begin(), columns.end(), column) == columns.end())
        columns.push_back(column);
      std::vector<std::string> row;
      for (size_t a : rowAxes)
        row.push_back(point.values[a]);
      auto [at, isNew] = known.try_emplace(row, rows.size());
      if (isNew)
        rows.push_back({row, {}});
      rows[at->second].cells[column] = &point;
      if (point.seconds > 0 && (best == 0 || point.seconds < best))
        best = point.seconds;
    }
  }

  void header() {
    double y = titleHeight + headerHeight - 8;
    for (size_t i = 0; i < rowAxes.size(); ++i)
      text(margin + double(i) * columnWidth, y, "axis", p.axes[rowAxes[i]]);
    for (size_t i = 0; i < columns.size(); ++i)
      text(left() + double(i) * cellWidth + 4, y, "axis",
           across < 0 ? "" : p.axes[size_t(across)] + "=" + columns[i]);
  }

  void drawRow(size_t row) {
    double y = titleHeight + headerHeight + double(row) * cellHeight;
    for (size_t i = 0; i < rowAxes.size(); ++i)
      if (row == 0 || !std::equal(rows[row].values.begin(), rows[row].values.begin() + long(i) + 1,
                                  rows[row - 1].values.begin()))
        text(margin + double(i) * columnWidth, y + 16, "value", rows[row].values[i]);
    for (size_t i = 0; i < columns.size(); ++i)
      if (auto cell = rows[row].cells.find(columns[i]); cell != rows[row].cells.end())
        drawCell(left() + double(i) * cellWidth, y, *cell->second);
  }

  void drawCell(double x, double y, const SpacePicture::Point &point) {
    bool timed = point.seconds > 0;
    std::string title;
    for (size_t a = 0; a < p.axes.size(); ++a)
      title += (a ? " " : "") + p.axes[a] + "=" + point.values[a];
    title += timed ? ": " + timeText(point.seconds)
                   : ": " + (point.removedBy.empty() ? "not timed" : point.removedBy) +
                         (point.reason.empty() ? "" : ", " + point.reason);
    double ratio = timed && best > 0 ? point.seconds / best : 1;
    const char *stroke = point.isBest ? "#b2431a" : point.isDefault ? "#2f6fae" : "#ffffff";
    out += "<rect class=\"point\" x=\"" + number(x + 1.5) + "\" y=\"" + number(y + 1.5) +
           "\" width=\"" + std::to_string(cellWidth - 3) + "\" height=\"" +
           std::to_string(cellHeight - 3) + "\" rx=\"3\" fill=\"" +
           (timed ? shadeOf(ratio) : std::string("#f1f3f5")) + "\" stroke=\"" + stroke +
           "\" stroke-width=\"" + (point.isBest || point.isDefault ? "2" : "1") + "\"><title>" +
           xmlText(title) + "</title></rect>\n";
    text(x + cellWidth / 2.0, y + 16,
         !timed        ? "gone"
         : ratio < 1.3 ? "light"
                       : "time",
         timed ? timeText(point.seconds) : point.removedBy);
  }

  void legend(int y, bool cut) {
    std::string note = "darker is faster; white text: within 1.3 of the best. Orange frame: best. "
                       "Blue frame: default.";
    if (cut)
      note += " Only the first " + std::to_string(mostRows) + " rows are shown.";
    text(margin, y + 24, "sub", note);
  }

  struct Row {
    std::vector<std::string> values;
    std::map<std::string, const SpacePicture::Point *> cells;
  };

  const SpacePicture &p;
  int across = -1; ///< axis that runs to the right
  std::vector<size_t> rowAxes;
  std::vector<std::string> columns;
  std::vector<Row> rows;
  double best = 0;
};

} // namespace

std::string toSvg(const SpacePicture &picture) { return Picture(picture).draw(); }

} // namespace penstock::draw
