//===- SvgWriter.h - Pieces of SVG that all pictures share ------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Colors, numbers, texts and the frame, so that the pictures of this library look
// alike.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_SVGWRITER_H
#define PENSTOCK_DRAW_SVGWRITER_H

#include <string>

namespace penstock::draw {

struct Color {
  const char *fill, *line;
};

/// Eight hues of similar lightness on which dark text can be read; neighbors
/// differ also for readers who do not see all colors.
inline constexpr Color palette[] = {
    {"#9ec9f5", "#2f6fae"}, {"#f9c48b", "#b2681a"}, {"#a8dcae", "#3a8446"}, {"#e3b5ea", "#8d4a99"},
    {"#f6e08a", "#94801c"}, {"#f5b1b1", "#ad4242"}, {"#a4dfdc", "#2d7f7b"}, {"#ccc3ef", "#5d4fa5"}};

/// Two decimals at most.
std::string number(double);

/// Text that may stand in XML.
std::string xmlText(const std::string &);

/// Writes one picture.
class SvgWriter {
protected:
  /// The frame of a picture of so many pixels, with its rules of CSS and definitions. Its paper
  /// is white, or dark where the reader prefers that; the class of a background is `band`.
  void begin(int width, int height, const std::string &style, const std::string &definitions = "");
  void text(double x, double y, const char *style, const std::string &what);
  void line(double x1, double y1, double x2, double y2, const char *style);
  std::string finish() { return out + "</svg>\n"; }

  std::string out;
};

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_SVGWRITER_H
