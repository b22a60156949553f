//===- Waterfall.cpp - From a peak to a rate, loss by loss ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/Waterfall.h"
#include "Draw/SvgWriter.h"

#include <algorithm>

namespace penstock::draw {
namespace {

constexpr int namesWidth = 190, barsWidth = 520, valuesWidth = 150;
constexpr int titleHeight = 58, rowHeight = 28, barHeight = 18, marginBottom = 16;

class Picture : SvgWriter {
public:
  explicit Picture(const Waterfall &waterfall) : w(waterfall) {}

  std::string draw() {
    int rows = int(w.losses.size()) + 2;
    begin(namesWidth + barsWidth + valuesWidth, titleHeight + rows * rowHeight + marginBottom,
          ".title{font-size:16px;font-weight:600;fill:#1c2733}\n"
          ".sub{font-size:12px;fill:#5a6775}\n"
          ".name{font-size:12px;fill:#16202b;text-anchor:end}\n"
          ".value{font-size:12px;fill:#16202b}\n"
          ".step{stroke:#9aa6b2;stroke-width:1;stroke-dasharray:3 2}\n"
          ".range{stroke:#1c2733;stroke-width:1.5}\n");
    text(16, 24, "title", w.title);
    text(16, 42, "sub", w.subtitle);
    bar(0, 0, 1, palette[0], "peak", number(w.peak) + " " + w.unit);
    double left = 1;
    for (size_t i = 0; i < w.losses.size(); ++i) {
      double share = std::clamp(w.losses[i].share, 0.0, left);
      line(x(left), y(int(i)) + barHeight, x(left), y(int(i) + 1), "step");
      left -= share;
      bar(int(i) + 1, left, left + share, palette[5], w.losses[i].what,
          "-" + number(100 * w.losses[i].share) + " %");
    }
    std::string rate = number(w.peak * left);
    if (w.high > 0)
      rate += " (" + number(w.low) + " to " + number(w.high) + ")";
    bar(rows - 1, 0, left, palette[2], "predicted", rate);
    if (w.high > 0) {
      double middle = y(rows - 1) + barHeight / 2.0;
      line(x(w.low / w.peak), middle, x(std::min(1.0, w.high / w.peak)), middle, "range");
    }
    return finish();
  }

private:
  static double x(double share) { return namesWidth + share * barsWidth; }
  static double y(int row) { return titleHeight + row * rowHeight; }
  static std::string number(double value) {
    return draw::number(value < 10 ? double(int(value * 10 + 0.5)) / 10 : double(int(value + 0.5)));
  }

  void bar(int row, double from, double to, const Color &color, const std::string &name,
           const std::string &value) {
    text(namesWidth - 8, y(row) + 13, "name", name);
    out += "<rect class=\"bar\" x=\"" + draw::number(x(from)) + "\" y=\"" + draw::number(y(row)) +
           "\" width=\"" + draw::number(std::max(0.5, (to - from) * barsWidth)) + "\" height=\"" +
           std::to_string(barHeight) + "\" fill=\"" + color.fill + "\" stroke=\"" + color.line +
           "\"><title>" + xmlText(name + ": " + value) + "</title></rect>\n";
    text(namesWidth + barsWidth + 8, y(row) + 13, "value", value);
  }

  const Waterfall &w;
};

} // namespace

std::string toSvg(const Waterfall &waterfall) { return Picture(waterfall).draw(); }

} // namespace penstock::draw
