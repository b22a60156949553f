//===- Svg.h - A timeline as a Gantt chart ----------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_SVG_H
#define PENSTOCK_DRAW_SVG_H

#include "Draw/Timeline.h"

namespace penstock::draw {

struct SvgOptions {
  int width = 1200; ///< pixels, of the whole picture
};

/// Engines as rows, iterations by color, waits hatched. Each slice is one
/// element of class "work", "flight" or "wait" with its data as attributes.
std::string toSvg(const Timeline &, const SvgOptions & = {});

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_SVG_H
