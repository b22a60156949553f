//===- SpacePicture.h - Points of a space and their times -------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_SPACEPICTURE_H
#define PENSTOCK_DRAW_SPACEPICTURE_H

#include <string>
#include <vector>

namespace penstock::draw {

/// A space as a grid: the last axis that has several values runs to the right, all others
/// downward. Each cell is a point; the darker, the nearer to the best time.
struct SpacePicture {
  std::string title, subtitle;
  std::vector<std::string> axes;
  struct Point {
    std::vector<std::string> values; ///< by axis
    double seconds = 0;              ///< 0: not timed
    std::string removedBy, reason;   ///< why not
    bool isDefault = false, isBest = false;
  };
  std::vector<Point> points;
};

/// Each point is one element of class "point", with its values and time as a title.
std::string toSvg(const SpacePicture &);

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_SPACEPICTURE_H
