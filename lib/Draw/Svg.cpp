//===- Svg.cpp - A timeline as a Gantt chart ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/Svg.h"
#include "Draw/SvgWriter.h"

#include <algorithm>

namespace penstock::draw {
namespace {

constexpr int marginLeft = 128;
constexpr int marginRight = 24;
constexpr int titleHeight = 58;
constexpr int barHeight = 26;
constexpr int flightHeight = 5;
constexpr int rowGap = 14;
constexpr int axisHeight = 34;
constexpr int legendHeight = 34;
constexpr int legendLine = 20;

/// A round number of cycles between ticks, for about `count` of them.
int64_t tickStep(int64_t end, int64_t count) {
  int64_t step = 1;
  while (true)
    for (int64_t factor : {1, 2, 5})
      if (step * factor * count >= end)
        return step * factor;
      else if (factor == 5)
        step *= 10;
}

/// Of warps that work. Iterations have the other colors.
constexpr Color computeColor = {"#dbe3ec", "#7d8b9a"};

constexpr Color conflictColor = {"#e25555", "#9c1f1f"};

struct WaitStyle {
  Slice::Cause cause;
  const char *pattern, *fill, *hatch, *line;
  const char *text; ///< in the legend
};
constexpr WaitStyle waitStyles[] = {
    {Slice::Cause::Unknown, "hatch", "#f4f5f7", "#c3cbd4", "#9aa5b1", "warps wait"},
    {Slice::Cause::Copy, "hatch-copy", "#eef5fc", "#a9cbee", "#6f9fd0", "wait for loads"},
    {Slice::Cause::Product, "hatch-product", "#fdf3e7", "#efc48d", "#cf9a52", "for MMAs"},
    {Slice::Cause::Store, "hatch-store", "#eef8ef", "#a8d5ac", "#6faf76", "for stores"},
    {Slice::Cause::Warps, "hatch-warps", "#f4f5f7", "#c3cbd4", "#9aa5b1", "for other warps"},
};
const WaitStyle &styleOf(Slice::Cause cause) {
  for (const WaitStyle &style : waitStyles)
    if (style.cause == cause)
      return style;
  return waitStyles[0];
}

class Chart : SvgWriter {
public:
  Chart(const Timeline &timeline, const SvgOptions &options)
      : timeline(timeline), width(std::max(options.width, 400)),
        end(std::max<int64_t>(timeline.end(), 1)) {
    // A row needs a lane for each flight that overlaps another.
    lanes.assign(timeline.rows.size(), 0);
    for (size_t row = 0; row < timeline.rows.size(); ++row)
      placeFlights(unsigned(row));
    int y = titleHeight;
    for (size_t row = 0; row < timeline.rows.size(); ++row) {
      top.push_back(y);
      y += barHeight + lanes[row] * (flightHeight + 2) + rowGap;
    }
    bottom = y;
    height = bottom + axisHeight + legendHeight + (hasKeys() ? legendLine : 0);
  }

  std::string draw() {
    header();
    rows();
    axis();
    interval();
    for (size_t i = 0; i < timeline.slices.size(); ++i)
      slice(i);
    legend();
    return finish();
  }

private:
  double x(int64_t t) const {
    return marginLeft + double(t) * (width - marginLeft - marginRight) / double(end);
  }
  void placeFlights(unsigned row);
  std::string hatches() const;
  bool hasWait(Slice::Cause cause) const;
  bool hasKeys() const;
  bool hasSlots() const;
  void header();
  void rows();
  void axis();
  void interval();
  void slice(size_t index);
  void legend();
  std::string shortName(const Slice &) const;

  const Timeline &timeline;
  int width, height = 0, bottom = 0;
  int64_t end;
  std::vector<int> top, lanes;
  std::vector<int> laneOf; ///< per slice
};

void Chart::placeFlights(unsigned row) {
  laneOf.resize(timeline.slices.size(), 0);
  std::vector<int64_t> free;
  for (size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice &s = timeline.slices[i];
    if (s.row != row || s.kind != Slice::Kind::Flight)
      continue;
    size_t lane = 0;
    while (lane < free.size() && free[lane] > s.start)
      ++lane;
    if (lane == free.size())
      free.push_back(0);
    free[lane] = s.end;
    laneOf[i] = int(lane);
  }
  lanes[row] = int(free.size());
}

/// Patterns for the causes that occur.
std::string Chart::hatches() const {
  std::string patterns;
  for (const WaitStyle &style : waitStyles)
    if (hasWait(style.cause))
      patterns += "<pattern id=\"" + std::string(style.pattern) +
                  "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                  "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"" +
                  style.fill + "\"/><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"" +
                  style.hatch + "\" stroke-width=\"2\"/></pattern>";
  return patterns;
}

bool Chart::hasWait(Slice::Cause cause) const {
  return std::any_of(timeline.slices.begin(), timeline.slices.end(), [&](const Slice &s) {
    return s.kind == Slice::Kind::Wait && s.cause == cause;
  });
}

/// Returns true if the legend has more than iterations.
bool Chart::hasKeys() const {
  return std::ranges::any_of(timeline.slices, [](const Slice &s) {
    return s.kind == Slice::Kind::Full || s.kind == Slice::Kind::Wait ||
           s.kind == Slice::Kind::Compute;
  });
}

bool Chart::hasSlots() const {
  return std::ranges::any_of(timeline.slices,
                             [](const Slice &s) { return s.kind == Slice::Kind::Full; });
}

void Chart::header() {
  begin(width, height,
        ".title{font-size:16px;font-weight:600;fill:#1c2733}\n"
        ".sub{font-size:12px;fill:#5a6775}\n"
        ".row{font-size:13px;font-weight:600;fill:#1c2733}\n"
        ".note{font-size:10.5px;fill:#5a6775}\n"
        ".tick{font-size:10.5px;fill:#5a6775;text-anchor:middle}\n"
        ".bar{font-size:11px;fill:#16202b;text-anchor:middle}\n"
        ".why{font-size:10px;fill:#3d4854;text-anchor:middle}\n"
        ".grid{stroke:#e6eaef;stroke-width:1}\n"
        ".base{stroke:#c9d1da;stroke-width:1}\n"
        ".mark{stroke:#c0392b;stroke-width:1.5}\n"
        ".marked{font-size:11px;font-weight:600;fill:#c0392b;text-anchor:"
        "middle}\n",
        hatches());
  text(16, 24, "title", timeline.title);
  if (!timeline.subtitle.empty())
    text(16, 42, "sub", timeline.subtitle);
}

void Chart::rows() {
  for (size_t row = 0; row < timeline.rows.size(); ++row) {
    if (row % 2 == 0)
      out += "<rect class=\"band\" x=\"0\" y=\"" + std::to_string(top[row] - rowGap / 2) +
             "\" width=\"" + std::to_string(width) + "\" height=\"" +
             std::to_string(barHeight + lanes[row] * (flightHeight + 2) + rowGap) +
             "\" fill=\"#f8f9fb\"/>\n";
    // Rows of one name are one engine.
    if (row && timeline.rows[row].name == timeline.rows[row - 1].name &&
        timeline.rows[row].note == timeline.rows[row - 1].note)
      continue;
    bool noted = !timeline.rows[row].note.empty();
    text(16, top[row] + (noted ? 11 : 17), "row", timeline.rows[row].name);
    if (noted)
      text(16, top[row] + 24, "note", timeline.rows[row].note);
  }
}

void Chart::axis() {
  int64_t step = tickStep(end, std::max(2, (width - marginLeft) / 90));
  for (int64_t t = 0; t <= end; t += step) {
    line(x(t), titleHeight - 6, x(t), bottom, "grid");
    text(x(t), bottom + 15, "tick", std::to_string(t));
  }
  line(marginLeft, bottom, width - marginRight, bottom, "base");
  text((marginLeft + width - marginRight) / 2.0, bottom + 30, "tick", timeline.unit);
}

void Chart::interval() {
  if (!timeline.interval || timeline.steadyFrom + timeline.interval > end)
    return;
  double from = x(timeline.steadyFrom);
  double to = x(timeline.steadyFrom + timeline.interval);
  double y = titleHeight - 12;
  line(from, y, to, y, "mark");
  for (double at : {from, to})
    line(at, y - 4, at, y + 4, "mark");
  text((from + to) / 2, y - 6, "marked",
       std::to_string(timeline.interval) + " cycles per iteration");
}

void Chart::slice(size_t index) {
  const Slice &s = timeline.slices[index];
  const Color &color = palette[s.iteration % std::size(palette)];
  double from = x(s.start), to = std::max(x(s.end), from + 0.75);
  double y = top[s.row];
  double tall = barHeight;
  std::string fill = color.fill, stroke = color.line;
  if (s.kind == Slice::Kind::Flight) {
    y += barHeight + 2 + laneOf[index] * (flightHeight + 2);
    tall = flightHeight;
    stroke = "none";
  } else if (s.kind == Slice::Kind::Conflict) {
    fill = conflictColor.fill;
    stroke = conflictColor.line;
  } else if (s.kind == Slice::Kind::Compute) {
    fill = computeColor.fill;
    stroke = computeColor.line;
    y += 2;
    tall -= 4;
  } else if (s.kind == Slice::Kind::Wait) {
    const WaitStyle &style = styleOf(s.cause);
    fill = "url(#" + std::string(style.pattern) + ")";
    stroke = style.line;
    y += 4;
    tall -= 8;
  }
  out += "<rect class=\"" + std::string(nameOf(s.kind)) + "\" data-name=\"" + xmlText(s.name) +
         "\" data-iteration=\"" + std::to_string(s.iteration) + "\" data-start=\"" +
         std::to_string(s.start) + "\" data-end=\"" + std::to_string(s.end) + "\" x=\"" +
         number(from) + "\" y=\"" + number(y) + "\" width=\"" + number(to - from) + "\" height=\"" +
         number(tall) + "\" rx=\"2.5\" fill=\"" + fill + "\" stroke=\"" + stroke + "\"";
  if (s.kind == Slice::Kind::Flight)
    out += " fill-opacity=\"0.75\"";
  if (s.kind == Slice::Kind::Filling)
    out += " fill-opacity=\"0.25\" stroke-dasharray=\"3 2\"";
  out += "><title>" +
         xmlText(s.name + ", iteration " + std::to_string(s.iteration) + ": " +
                 std::to_string(s.start) + " to " + std::to_string(s.end) +
                 (s.detail.empty() ? "" : "; " + s.detail)) +
         "</title></rect>\n";
  // The longest label that fits, or none.
  auto label = [&](std::vector<std::string> choices, const char *style, double letter) {
    for (const std::string &choice : choices)
      if (to - from > double(choice.size()) * letter + 6) {
        double middle = (from + to) / 2;
        // Hatching behind letters makes them hard to read.
        if (s.kind == Slice::Kind::Wait) {
          double wide = double(choice.size()) * 5.4 + 6;
          out += "<rect x=\"" + number(middle - wide / 2) + "\" y=\"" + number(y + 2) +
                 "\" width=\"" + number(wide) + "\" height=\"" + number(tall - 4) +
                 "\" rx=\"2\" fill=\"#ffffff\" fill-opacity=\"0.9\"/>\n";
        }
        text(middle, y + tall / 2 + 4, style, choice);
        return;
      }
  };
  std::string iteration = std::to_string(s.iteration);
  if (s.kind == Slice::Kind::Work)
    label({s.name + " " + iteration, shortName(s) + iteration, iteration}, "bar", 6.8);
  else if (s.kind == Slice::Kind::Full || s.kind == Slice::Kind::Conflict)
    label({iteration}, "bar", 6.8);
  else if (s.kind == Slice::Kind::Compute)
    label({s.name, shortName(s)}, "why", 5.9);
  else if (s.kind == Slice::Kind::Wait)
    label({s.detail}, "why", 5.9);
}

/// Returns the shortest name that distinguishes a statement from the others of its row: "A" for
/// "copyA" next to "copyB".
std::string Chart::shortName(const Slice &slice) const {
  size_t common = slice.name.size();
  bool others = false;
  for (const Slice &s : timeline.slices)
    if (s.row == slice.row && s.kind == slice.kind && s.name != slice.name) {
      others = true;
      size_t same = 0;
      while (same < common && same < s.name.size() && s.name[same] == slice.name[same])
        ++same;
      common = same;
    }
  return others && common < slice.name.size() ? slice.name.substr(common) : "";
}

void Chart::legend() {
  double y = bottom + axisHeight + 6;
  double at = marginLeft;
  int64_t iterations = 0;
  bool flight = false, compute = false, conflict = false;
  for (const Slice &s : timeline.slices) {
    if (s.kind != Slice::Kind::Wait && s.kind != Slice::Kind::Compute)
      iterations = std::max(iterations, s.iteration + 1);
    flight |= s.kind == Slice::Kind::Flight;
    compute |= s.kind == Slice::Kind::Compute;
    conflict |= s.kind == Slice::Kind::Conflict;
  }
  if (iterations) {
    text(at, y + 11, "note", "iteration");
    at += 58;
    // Colors recur.
    bool more = iterations > int64_t(std::size(palette));
    for (int64_t i = 0; i < std::min<int64_t>(iterations, std::size(palette)); ++i) {
      out += "<rect x=\"" + number(at) + "\" y=\"" + number(y) +
             "\" width=\"14\" height=\"14\" rx=\"2.5\" fill=\"" + palette[i].fill + "\" stroke=\"" +
             palette[i].line + "\"/>\n";
      text(at + 18, y + 11, "note",
           more && i == 0 ? "0, 8, .." : std::to_string(i) + (more ? ", .." : ""));
      at += more ? (i == 0 ? 64 : 46) : 36;
    }
    at += 16;
  }
  if (flight) {
    out += "<rect x=\"" + number(at) + "\" y=\"" + number(y + 5) +
           "\" width=\"26\" height=\"5\" rx=\"2.5\" fill=\"" + palette[0].fill + "\"/>\n";
    text(at + 32, y + 11, "note", "in flight");
    at += 96;
  }
  auto key = [&](const std::string &fill, const char *stroke, const char *style,
                 std::string_view name) {
    out += "<rect x=\"" + number(at) + "\" y=\"" + number(y) +
           "\" width=\"26\" height=\"14\" rx=\"2.5\" fill=\"" + fill + "\" stroke=\"" + stroke +
           "\"" + style + "/>\n";
    text(at + 32, y + 11, "note", std::string(name));
    at += 50 + 5.8 * double(name.size());
  };
  if (hasKeys() && iterations) { // on a line of their own
    y += legendLine;
    at = marginLeft;
  }
  if (hasSlots()) {
    key(palette[0].fill, palette[0].line, " fill-opacity=\"0.25\" stroke-dasharray=\"3 2\"",
        "slot in flight");
    key(palette[0].fill, palette[0].line, "", "slot full");
  }
  if (conflict)
    key(conflictColor.fill, conflictColor.line, "", "race: filled while it is read");
  if (compute)
    key(computeColor.fill, computeColor.line, "", "warps work");
  for (const WaitStyle &style : waitStyles)
    if (hasWait(style.cause))
      key("url(#" + std::string(style.pattern) + ")", style.line, "", style.text);
}

} // namespace

std::string toSvg(const Timeline &timeline, const SvgOptions &options) {
  return Chart(timeline, options).draw();
}

} // namespace penstock::draw
