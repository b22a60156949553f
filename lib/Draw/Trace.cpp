//===- Trace.cpp - A timeline for Perfetto and chrome://tracing -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Draw/Trace.h"
#include "Diagnostics/Serialize.h"

#include <algorithm>
#include <map>

namespace penstock::draw {
namespace {

/// Colour names that both viewers know.
const char *colours[] = {"thread_state_running", "rail_animation",  "thread_state_runnable",
                         "rail_response",        "cq_build_passed", "rail_idle"};

} // namespace

std::string toTrace(const Timeline &timeline) {
  std::string events;
  auto event = [&](const std::string &text) { events += (events.empty() ? "\n" : ",\n") + text; };
  event("{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":" +
        jsonString(timeline.title) + "}}");
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
    const char *kind = s.kind == Slice::Kind::Work     ? "work"
                       : s.kind == Slice::Kind::Flight ? "flight"
                                                       : "wait";
    std::string colour =
        s.kind == Slice::Kind::Wait ? "grey" : colours[s.iteration % std::size(colours)];
    event("{\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(thread) +
          ",\"name\":" + jsonString(s.name) + ",\"cat\":\"" + kind +
          "\",\"ts\":" + std::to_string(s.start) + ",\"dur\":" + std::to_string(s.end - s.start) +
          ",\"cname\":\"" + colour + "\",\"args\":{\"iteration\":" + std::to_string(s.iteration) +
          ",\"row\":" + jsonString(timeline.rows[s.row].name) +
          ",\"detail\":" + jsonString(s.detail) + "}}");
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    std::string name = timeline.rows[lanes[i].row].name;
    if (lanes[i].kind == Slice::Kind::Flight)
      name += " (in flight)";
    if (lanes[i].kind == Slice::Kind::Wait)
      name += " (waits)";
    std::string thread = std::to_string(i + 1);
    event("{\"ph\":\"M\",\"pid\":1,\"tid\":" + thread +
          ",\"name\":\"thread_name\",\"args\":{\"name\":" + jsonString(name) + "}}");
    event("{\"ph\":\"M\",\"pid\":1,\"tid\":" + thread +
          ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" +
          std::to_string(lanes[i].row * 10 + unsigned(lanes[i].kind)) + "}}");
  }
  return "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit\":\"cycles\"},"
         "\"traceEvents\":[" +
         events + "\n]}\n";
}

} // namespace penstock::draw
