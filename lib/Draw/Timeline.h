//===- Timeline.h - Timelines as plain data ---------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One data type for predicted and observed executions. Svg.h draws it and
// Trace.h writes it for Perfetto, so that both always show the same slices.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DRAW_TIMELINE_H
#define PENSTOCK_DRAW_TIMELINE_H

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::draw {

struct Row {
  std::string name;
  /// A second line under the name, such as "63 % busy".
  std::string note;
};

struct Slice {
  enum class Kind {
    Work,    ///< an engine does something for an iteration
    Compute, ///< a group of warps executes a source line
    Flight,  ///< the result is on its way and keeps no engine
    Wait,    ///< a group of warps waits
    Filling, ///< data is on its way into a slot of a ring
    Full,    ///< the slot holds data that is still read
    Conflict ///< data is on its way into a slot that is still read
  };
  Kind kind = Kind::Work;
  unsigned row = 0;
  std::string name;
  int64_t iteration = 0;
  int64_t start = 0;
  int64_t end = 0;
  /// Cause of the wait, slot, ...
  std::string detail;
  /// The end of a wait, by which it is colored.
  enum class Cause : uint8_t { Unknown, Copy, Product, Store, Warps };
  Cause cause = Cause::Unknown;
  friend bool operator==(const Slice &, const Slice &) = default;
};

/// Class of its slices in pictures and traces.
inline const char *nameOf(Slice::Kind kind) {
  switch (kind) {
  case Slice::Kind::Work:
    return "work";
  case Slice::Kind::Compute:
    return "compute";
  case Slice::Kind::Flight:
    return "flight";
  case Slice::Kind::Wait:
    return "wait";
  case Slice::Kind::Filling:
    return "filling";
  case Slice::Kind::Conflict:
    return "conflict";
  case Slice::Kind::Full:
    break;
  }
  return "full";
}

struct Timeline {
  std::string title;
  std::string subtitle;
  /// Of all times: "cycles" or "ns".
  std::string unit = "cycles";
  std::vector<Row> rows;
  std::vector<Slice> slices;
  /// Cycles from one iteration to the next in the steady state; 0: not known.
  int64_t interval = 0;
  /// Start of the steady state, for a bracket of one interval.
  int64_t steadyFrom = 0;

  int64_t end() const {
    int64_t last = 0;
    for (const Slice &s : slices)
      last = s.end > last ? s.end : last;
    return last;
  }
};

} // namespace penstock::draw

#endif // PENSTOCK_DRAW_TIMELINE_H
