//===- Trace.cpp - A timeline for Perfetto and chrome://tracing -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/Trace.h"
#include "Diagnostics/Json.h"

#include <algorithm>
#include <map>

namespace penstock::draw {
namespace {

/// Color names that both viewers know.
const char *colors[] = {"thread_state_running", "rail_animation",  "thread_state_runnable",
                        "rail_response",        "cq_build_passed", "rail_idle"};

} // namespace

std::string toTrace(const Timeline &timeline) {
  std::vector<std::string> events;
  auto event = [&](std::string text) { events.push_back(std::move(text)); };
  // Times of the format are in microseconds.
  auto time = [&](int64_t value) {
    if (timeline.unit != "ns")
      return std::to_string(value);
    std::string rest = std::to_string(value % 1000);
    return std::to_string(value / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
  };
  auto named = [](const std::string &name) { return JsonObject().text("name", name).str(); };
  event(JsonObject()
            .text("ph", "M")
            .number("pid", 1)
            .text("name", "process_name")
            .json("args", named(timeline.title))
            .str());
  // Slices of one thread must nest, so those that overlap get lanes.
  struct Lane {
    unsigned row;
    Slice::Kind kind;
    int64_t free;
  };
  std::vector<Lane> lanes;
  std::vector<size_t> byStart(timeline.slices.size());
  for (size_t i = 0; i < byStart.size(); ++i)
    byStart[i] = i;
  std::sort(byStart.begin(), byStart.end(), [&](size_t a, size_t b) {
    return std::pair(timeline.slices[a].start, a) < std::pair(timeline.slices[b].start, b);
  });
  for (size_t i : byStart) {
    const Slice &s = timeline.slices[i];
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane &l) {
      return l.row == s.row && l.kind == s.kind && l.free <= s.start;
    });
    if (lane == lanes.end())
      lane = lanes.insert(lanes.end(), {s.row, s.kind, 0});
    lane->free = s.end;
    size_t thread = size_t(lane - lanes.begin()) + 1;
    std::string color = s.kind == Slice::Kind::Wait || s.kind == Slice::Kind::Compute
                            ? "grey"
                            : colors[s.iteration % std::size(colors)];
    JsonObject details;
    details.number("iteration", s.iteration)
        .text("row", timeline.rows[s.row].name)
        .text("detail", s.detail);
    event(JsonObject()
              .text("ph", "X")
              .number("pid", 1)
              .number("tid", thread)
              .text("name", s.name)
              .text("cat", nameOf(s.kind))
              .json("ts", time(s.start))
              .json("dur", time(s.end - s.start))
              .text("cname", color)
              .json("args", details.str())
              .str());
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    std::string name = timeline.rows[lanes[i].row].name;
    if (lanes[i].kind == Slice::Kind::Flight || lanes[i].kind == Slice::Kind::Filling)
      name += " (in flight)";
    if (lanes[i].kind == Slice::Kind::Wait)
      name += " (waits)";
    auto metadata = [&](const char *what, const std::string &args) {
      event(JsonObject()
                .text("ph", "M")
                .number("pid", 1)
                .number("tid", i + 1)
                .text("name", what)
                .json("args", args)
                .str());
    };
    metadata("thread_name", named(name));
    unsigned order = lanes[i].row * 10 + unsigned(lanes[i].kind);
    metadata("thread_sort_index", JsonObject().number("sort_index", order).str());
  }
  return JsonObject()
             .text("displayTimeUnit", "ns")
             .json("otherData", JsonObject().text("unit", timeline.unit).str())
             .json("traceEvents", jsonLines(events))
             .str() +
         "\n";
}

} // namespace penstock::draw
