//===- Waterfall.h - From a peak to a rate, loss by loss --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_WATERFALL_H
#define PENSTOCK_DRAW_WATERFALL_H

#include <string>
#include <vector>

namespace penstock::draw {

/// A rate as what is left of a peak. Each loss takes its share of the peak.
struct Waterfall {
  std::string title;
  std::string subtitle;
  std::string unit; ///< "TFLOP/s"
  double peak = 0;
  struct Loss {
    std::string what;
    double share = 0;
  };
  std::vector<Loss> losses;
  double low = 0, high = 0; ///< bars of what is left; 0: none
};

/// Each bar is one element of class "bar".
std::string toSvg(const Waterfall &);

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_WATERFALL_H
