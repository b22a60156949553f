//===- Capture.cpp - Streams that become graphs ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"

#include <algorithm>

using namespace penstock;
using namespace penstock::shim;

/// A call that a capture does not permit ends it.
int Driver::refuseInCapture(Capture &capture, int result) {
  capture.broken = true;
  return result;
}

Capture *Driver::captureThatForbids() {
  if (captureMode() == CaptureRelaxed)
    return nullptr;
  for (const auto &capture : captures) {
    bool own = capture->thread == std::this_thread::get_id();
    if ((own && capture->mode != CaptureRelaxed) ||
        (!own && capture->mode == CaptureGlobal && captureMode() == CaptureGlobal))
      return capture.get();
  }
  return nullptr;
}

Capture *Driver::captureIn(Context &context, bool onlyBlocking) {
  for (const auto &weak : queues)
    if (auto queue = weak.lock(); queue && queue->context == &context && queue->capture &&
                                  (queue->waitsForLegacy || !onlyBlocking))
      return queue->capture;
  return nullptr;
}

int Driver::endCapture(Queue &queue, Graph *&graph) {
  graph = nullptr;
  Capture *capture = queue.capture;
  if (!capture || capture->origin.get() != &queue)
    return CaptureUnmatched;
  if (capture->mode != CaptureRelaxed && capture->thread != std::this_thread::get_id())
    return refuseInCapture(*capture, CaptureWrongThread);
  int result = capture->broken ? int(CaptureInvalidated) : int(Success);
  // Work of other streams must precede the end of this one.
  std::set<size_t> before(queue.frontier.begin(), queue.frontier.end());
  for (size_t i = capture->graph.nodes.size(); i-- > 0;)
    if (before.count(i))
      before.insert(capture->graph.nodes[i].after.begin(), capture->graph.nodes[i].after.end());
  for (const auto &weak : queues)
    if (auto other = weak.lock(); other && other->capture == capture) {
      for (size_t node : other->frontier)
        if (!before.count(node) && result == Success)
          result = CaptureUnjoined;
      other->capture = nullptr;
      other->frontier.clear();
    }
  for (auto &[handle, event] : events)
    if (event->capture == capture) {
      event->capture = nullptr;
      event->recorded = false;
    }
  if (result == Success) {
    auto made = std::make_unique<Graph>(std::move(capture->graph));
    graph = made.get();
    graphs[graph] = std::move(made);
  }
  std::erase_if(captures, [&](const auto &each) { return each.get() == capture; });
  return result;
}

int Driver::launchGraph(const Graph &graph, const std::shared_ptr<Queue> &queue) {
  return enqueue(queue, [this, nodes = graph.nodes] {
    std::vector<bool> done(nodes.size());
    auto isReady = [&](size_t i) {
      return !done[i] && std::ranges::all_of(nodes[i].after, [&](size_t j) { return done[j]; });
    };
    // A launch that overlaps the node before it, if that is its only one.
    auto dependentOf = [&](size_t node) {
      std::vector<size_t> found;
      for (size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].launch && nodes[i].launch->overlapsPrevious &&
            nodes[i].after == std::vector<size_t>{node})
          found.push_back(i);
      return found.empty() ? nodes.size() : found[random() % found.size()];
    };
    while (std::ranges::find(done, false) != done.end()) {
      std::vector<size_t> ready;
      for (size_t i = 0; i < nodes.size(); ++i)
        if (isReady(i))
          ready.push_back(i);
      size_t chosen = ready[random() % ready.size()];
      done[chosen] = true;
      int result = Success;
      if (nodes[chosen].launch) {
        std::vector<std::shared_ptr<const KernelLaunch>> kernels = {nodes[chosen].launch};
        for (size_t next = dependentOf(chosen); next < nodes.size(); next = dependentOf(next)) {
          kernels.push_back(nodes[next].launch);
          done[next] = true;
        }
        result = runKernels(kernels);
      } else {
        result = nodes[chosen].run();
      }
      if (result)
        return result;
    }
    return int(Success);
  });
}
