//===- DriverStreams.cpp - libcuda: streams, events, graphs ---------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CudaShim/Driver.h"

using namespace penstock;
using namespace penstock::shim;

PENSTOCK_DRIVER_ENTRY cuStreamCreate(void **stream, unsigned flags) {
  Call call("cuStreamCreate", Call::CurrentContext);
  if (!call)
    return call.result;
  auto queue = driver().addQueue(currentContext(), !(flags & StreamNonBlocking));
  *stream = queue.get();
  driver().streams[queue.get()] = queue;
  return Success;
}
PENSTOCK_DRIVER_ENTRY cuStreamCreateWithPriority(void **stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}

/// Work that was issued still runs.
PENSTOCK_DRIVER_ENTRY cuStreamDestroy_v2(void *stream) {
  Call call("cuStreamDestroy", Call::CurrentContext);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto found = d.streams.find(stream);
  if (found == d.streams.end())
    return InvalidHandle;
  if (found->second->capture)
    return d.refuseInCapture(*found->second->capture, CaptureUnsupported);
  std::erase_if(d.retired, [](const auto &each) { return each->pending.empty(); });
  d.retired.push_back(found->second);
  d.streams.erase(found);
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuStreamSynchronize(void *stream) {
  Call call("cuStreamSynchronize", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto queue = d.queueOf(stream);
  if (!queue)
    return stream ? InvalidHandle : InvalidContext;
  if (queue->capture)
    return d.refuseInCapture(*queue->capture, CaptureUnsupported);
  if (queue == queue->context->legacy) {
    // Waits for all streams that wait for it.
    if (int result = d.enqueue(queue, [] { return int(Success); }))
      return result;
  }
  return d.waitFor(queue, queue->issued);
}

PENSTOCK_DRIVER_ENTRY cuStreamQuery(void *stream) {
  Call call("cuStreamQuery", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto queue = d.queueOf(stream);
  if (!queue)
    return InvalidHandle;
  if (queue->capture)
    return d.refuseInCapture(*queue->capture, CaptureUnsupported);
  d.runSome(); // so that polling ends
  if (queue->context->failed)
    return queue->context->failed;
  return queue->pending.empty() ? Success : NotReady;
}

PENSTOCK_DRIVER_ENTRY cuStreamGetCtx(void *stream, Context **context) {
  Call call("cuStreamGetCtx", Call::Init);
  if (!call)
    return call.result;
  auto queue = driver().queueOf(stream);
  if (!queue)
    return stream ? InvalidHandle : InvalidContext;
  *context = queue->context;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuStreamWaitEvent(void *stream, void *handle, unsigned) {
  Call call("cuStreamWaitEvent", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto queue = d.queueOf(stream);
  auto found = d.events.find(handle);
  if (!queue || found == d.events.end())
    return InvalidHandle;
  Event &event = *found->second;
  if (event.capture) {
    if (queue->capture && queue->capture != event.capture) {
      d.refuseInCapture(*queue->capture, CaptureMerge);
      return d.refuseInCapture(*event.capture, CaptureMerge);
    }
    // The stream joins the capture.
    queue->capture = event.capture;
    queue->frontier.insert(queue->frontier.end(), event.frontier.begin(), event.frontier.end());
    return event.capture->broken ? CaptureInvalidated : Success;
  }
  if (queue->capture)
    return event.recorded ? d.refuseInCapture(*queue->capture, CaptureIsolation) : int(Success);
  if (!event.recorded)
    return Success;
  return d.enqueue(queue, [] { return int(Success); }, {event.at});
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

PENSTOCK_DRIVER_ENTRY cuEventCreate(void **handle, unsigned flags) {
  Call call("cuEventCreate", Call::CurrentContext);
  if (!call)
    return call.result;
  auto event = std::make_unique<Event>();
  event->flags = flags;
  *handle = event.get();
  driver().events[event.get()] = std::move(event);
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuEventDestroy_v2(void *handle) {
  Call call("cuEventDestroy", Call::Init);
  if (!call)
    return call.result;
  return driver().events.erase(handle) ? Success : InvalidHandle;
}

PENSTOCK_DRIVER_ENTRY cuEventRecord(void *handle, void *stream) {
  Call call("cuEventRecord", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto queue = d.queueOf(stream);
  auto found = d.events.find(handle);
  if (!queue || found == d.events.end())
    return InvalidHandle;
  Event &event = *found->second;
  if (queue->capture) {
    if (queue->capture->broken)
      return CaptureInvalidated;
    event.capture = queue->capture;
    event.frontier = queue->frontier;
    return Success;
  }
  event.capture = nullptr;
  auto when = std::make_shared<std::chrono::steady_clock::time_point>();
  int result = d.enqueue(queue, [when, &d] {
    *when = d.now();
    return int(Success);
  });
  if (result)
    return result;
  event.recorded = true;
  event.at = {queue, queue->issued};
  event.when = when;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuEventRecordWithFlags(void *event, void *stream, unsigned) {
  return cuEventRecord(event, stream);
}

PENSTOCK_DRIVER_ENTRY cuEventQuery(void *handle) {
  Call call("cuEventQuery", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto found = d.events.find(handle);
  if (found == d.events.end())
    return InvalidHandle;
  Event &event = *found->second;
  if (event.capture)
    return d.refuseInCapture(*event.capture, CapturedEvent);
  d.runSome();
  if (!event.recorded)
    return Success;
  if (event.at.queue->context->failed)
    return event.at.queue->context->failed;
  return event.at.queue->done >= event.at.count ? Success : NotReady;
}

PENSTOCK_DRIVER_ENTRY cuEventSynchronize(void *handle) {
  Call call("cuEventSynchronize", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto found = d.events.find(handle);
  if (found == d.events.end())
    return InvalidHandle;
  Event &event = *found->second;
  if (event.capture)
    return d.refuseInCapture(*event.capture, CapturedEvent);
  return event.recorded ? d.waitFor(event.at.queue, event.at.count) : int(Success);
}

PENSTOCK_DRIVER_ENTRY cuEventElapsedTime_v2(float *milliseconds, void *from, void *to) {
  Call call("cuEventElapsedTime", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto first = d.events.find(from), last = d.events.find(to);
  if (first == d.events.end() || last == d.events.end())
    return InvalidHandle;
  for (Event *event : {first->second.get(), last->second.get()}) {
    if (!event->recorded || (event->flags & EventDisableTiming))
      return InvalidHandle;
    if (event->at.queue->done < event->at.count)
      return NotReady;
  }
  *milliseconds =
      std::chrono::duration<float, std::milli>(*last->second->when - *first->second->when).count();
  return Success;
}
PENSTOCK_DRIVER_ENTRY cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  return cuEventElapsedTime_v2(milliseconds, from, to);
}

//===----------------------------------------------------------------------===//
// Captures and graphs
//===----------------------------------------------------------------------===//

PENSTOCK_DRIVER_ENTRY cuStreamBeginCapture_v2(void *stream, int mode) {
  Call call("cuStreamBeginCapture", Call::CurrentContext);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto queue = d.queueOf(stream);
  if (!queue || mode < CaptureGlobal || mode > CaptureRelaxed)
    return queue ? InvalidValue : InvalidHandle;
  if (queue->capture)
    return InvalidValue;
  if (queue == queue->context->legacy)
    return CaptureUnsupported;
  auto capture = std::make_unique<Capture>();
  capture->origin = queue;
  capture->mode = CaptureMode(mode);
  capture->thread = std::this_thread::get_id();
  queue->capture = capture.get();
  queue->frontier.clear();
  d.captures.push_back(std::move(capture));
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuStreamEndCapture(void *stream, Graph **graph) {
  Call call("cuStreamEndCapture", Call::CurrentContext);
  if (!call)
    return call.result;
  auto queue = driver().queueOf(stream);
  return queue ? driver().endCapture(*queue, *graph) : int(InvalidHandle);
}

PENSTOCK_DRIVER_ENTRY cuStreamIsCapturing(void *stream, int *status) {
  Call call("cuStreamIsCapturing", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto queue = d.queueOf(stream);
  if (!queue)
    return InvalidHandle;
  if (queue == queue->context->legacy && d.captureIn(*queue->context, true))
    return CaptureImplicit;
  *status = !queue->capture ? CaptureNone : queue->capture->broken ? CaptureBroken : CaptureActive;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuThreadExchangeStreamCaptureMode(int *mode) {
  Call call("cuThreadExchangeStreamCaptureMode", Call::Init);
  if (!call)
    return call.result;
  if (!mode || *mode < CaptureGlobal || *mode > CaptureRelaxed)
    return InvalidValue;
  int before = captureMode();
  captureMode() = CaptureMode(*mode);
  *mode = before;
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuGraphInstantiateWithFlags(Graph **executable, Graph *graph,
                                                  unsigned long long) {
  Call call("cuGraphInstantiateWithFlags", Call::CurrentContext);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto found = d.graphs.find(graph);
  if (found == d.graphs.end())
    return InvalidHandle;
  auto made = std::make_unique<Graph>(*found->second);
  *executable = made.get();
  d.executables[made.get()] = std::move(made);
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuGraphLaunch(Graph *executable, void *stream) {
  Call call("cuGraphLaunch", Call::Init);
  if (!call)
    return call.result;
  Driver &d = driver();
  auto queue = d.queueOf(stream);
  auto found = d.executables.find(executable);
  if (!queue || found == d.executables.end())
    return InvalidHandle;
  return d.launchGraph(*found->second, queue);
}

PENSTOCK_DRIVER_ENTRY cuGraphGetNodes(Graph *graph, void **, size_t *count) {
  Call call("cuGraphGetNodes", Call::Init);
  if (!call)
    return call.result;
  auto found = driver().graphs.find(graph);
  if (found == driver().graphs.end())
    return InvalidHandle;
  *count = found->second->nodes.size();
  return Success;
}

PENSTOCK_DRIVER_ENTRY cuGraphDestroy(Graph *graph) {
  Call call("cuGraphDestroy", Call::Init);
  if (!call)
    return call.result;
  return driver().graphs.erase(graph) ? Success : InvalidHandle;
}

PENSTOCK_DRIVER_ENTRY cuGraphExecDestroy(Graph *executable) {
  Call call("cuGraphExecDestroy", Call::Init);
  if (!call)
    return call.result;
  return driver().executables.erase(executable) ? Success : InvalidHandle;
}
