//===- Layouts.cpp - Pictures of layouts for the C interface --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CApi/Call.h"
#include "Draw/LayoutPicture.h"

using namespace penstock;

namespace {

/// Cells of a picture: more cannot be read, and take seconds to draw.
constexpr int64_t maxCells = 1 << 16;

template <class T>
bool accept(const layout::Parsed<T> &parsed, const std::string &text, capi::Diagnostics &found) {
  if (!parsed.value)
    capi::fail(found, CallArgument,
               "the layout `" + text + "` cannot be read at byte " +
                   std::to_string(parsed.position) + ": " + parsed.error,
               "write it as CuTe does: `(4,8):(8,1)`, `Sw<3,4,3> o smem_ptr[16b] o (8,64):(64,1)`");
  return parsed.value.has_value();
}

/// False, with an error, for a layout that is too large to draw.
bool fits(int64_t cells, const std::string &text, capi::Diagnostics &found) {
  if (cells > maxCells)
    capi::fail(found, CallArgument,
               "the layout `" + text + "` has " + std::to_string(cells) +
                   " elements; pictures have at most " + std::to_string(maxCells),
               "draw a part of it");
  return cells <= maxCells;
}

std::string pictureOf(const std::string &text, int64_t rows, capi::Diagnostics &found) {
  draw::Grid grid;
  if (text.find(" o ") != std::string::npos) {
    auto parsed = layout::parseSwizzledLayout(text);
    if (!accept(parsed, text, found) || !fits(parsed.value->layout.size(), text, found))
      return "";
    grid = draw::bankPicture(*parsed.value);
    grid.subtitle = "banks of shared memory";
  } else {
    auto parsed = layout::parseLayout(text);
    if (!accept(parsed, text, found) || !fits(parsed.value->size(), text, found))
      return "";
    if (rows > 0) {
      if (!fits((parsed.value->cosize() + rows - 1) / rows * rows, text, found))
        return "";
      grid = draw::threadPicture(*parsed.value, rows);
      grid.subtitle = "threads (T) and registers (r)";
    } else {
      grid = draw::offsetPicture(*parsed.value);
      grid.subtitle = "offsets";
    }
  }
  grid.title = text;
  return toSvg(grid);
}

} // namespace

penstock_status penstock_draw_layout(const char *layout, int64_t rows, char **svg,
                                     penstock_diagnostics **diagnostics) {
  return capi::call(diagnostics, [&](capi::Diagnostics &found) {
    if (!layout || !svg) {
      capi::fail(found, CallArgument,
                 std::string("the argument `") + (layout ? "svg" : "layout") + "` is null");
      return;
    }
    *svg = nullptr;
    std::string made = pictureOf(layout, rows, found);
    if (!made.empty())
      *svg = capi::copyText(made);
  });
}
