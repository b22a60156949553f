//===- NativeTimeline.cpp - A launch on the CPU as a picture --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row for each thread, with the blocks that it ran. Gaps are launches and waits for the
// last block.
//
//===----------------------------------------------------------------------===//
#include "Draw/Svg.h"
#include "Draw/Trace.h"
#include "Runtime/BlockRecorder.h"
#include "Testing/Inputs/Shapes.h"
#include "penstock/check.h"

#include <algorithm>
#include <optional>

using namespace penstock;

/// Threads from 0 on, of which some may have run nothing.
static draw::Timeline timelineOf(const std::vector<RecordedBlock> &blocks) {
  draw::Timeline timeline;
  timeline.unit = "ns";
  std::vector<int64_t> busy;
  int64_t total = 0;
  for (const RecordedBlock &time : blocks) {
    busy.resize(std::max(busy.size(), size_t(time.thread) + 1));
    busy[size_t(time.thread)] += time.end - time.begin;
    total = std::max(total, time.end);
    timeline.slices.push_back({draw::Slice::Kind::Work, unsigned(time.thread), "block",
                               int64_t(time.block), time.begin, time.end,
                               "block " + std::to_string(time.block)});
  }
  for (size_t thread = 0; thread < busy.size(); ++thread)
    timeline.rows.push_back({"thread " + std::to_string(thread),
                             std::to_string(total ? 100 * busy[thread] / total : 0) + " % busy"});
  return timeline;
}

RunPicture penstock::draw_native_run(const AnyKernel &kernel, const std::string &name,
                                     const Shape &shape, int threads) {
  RunPicture picture;
  MadeArguments made = make_arguments(kernel.arguments(), shape, Data::Exact, 1);
  picture.diagnostics = made.diagnostics;
  LaunchOptions options{.threads = threads};
  options.print = [](std::string_view) {};
  // The first launch brings code and tensors into the caches, and starts threads.
  std::optional<BlockRecorder> recorder;
  for (bool recorded : {false, true}) {
    if (!picture.diagnostics.empty())
      return picture;
    if (recorded)
      recorder.emplace();
    picture.diagnostics = kernel.launch(made.arguments, options);
  }
  std::vector<RecordedBlock> blocks = recorder->recorded();
  draw::Timeline timeline = timelineOf(blocks);
  timeline.title = name + " on this CPU, " + textOf(shape);
  timeline.subtitle = std::to_string(blocks.size()) +
                      " blocks, measured in the second of two launches; colors count blocks";
  picture.svg = draw::toSvg(timeline);
  picture.trace = draw::toTrace(timeline);
  return picture;
}
