//===- Prints.cpp - Lines that kernels print on GPUs ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Prints.h"
#include "Cuda/Errors.h"
#include "Diagnostics/Codes.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

using namespace penstock;
using namespace penstock::cuda;

namespace {

struct Unread {
  int device = 0;
  void *stream = nullptr;
  DevicePointer buffer = 0;
  uint64_t words = 0;
  std::vector<PrintStatement> statements;
  Callback<std::string_view> print;
};

struct AllUnread {
  std::mutex mutex;
  std::vector<Unread> launches;
};
AllUnread &unread() {
  static AllUnread *object = new AllUnread; // kernels in static variables outlive others
  return *object;
}

/// An empty buffer, as emptyPrintBuffer makes it. Set by the GPU: host memory would have to
/// live until the stream reads it.
int clear(const DriverApi &api, DevicePointer buffer, uint64_t words, void *stream) {
  uint64_t capacity = words - PrintBuffer::FirstRecord;
  int result = api.memsetD8Async(buffer, 0, words * 8, stream);
  for (unsigned half = 0; half < 2 && result == Success; ++half)
    result = api.memsetD32Async(buffer + PrintBuffer::Capacity * 8 + half * 4,
                                unsigned(capacity >> (32 * half)), 1, stream);
  return result;
}

void show(const Unread &launch, const std::vector<uint64_t> &buffer) {
  for (const std::string &line : readPrintBuffer(launch.statements, buffer))
    if (launch.print)
      launch.print(line);
    else
      std::fwrite(line.data(), 1, line.size(), stdout);
}

} // namespace

DevicePointer penstock::cuda::addPrintBuffer(const DriverApi &api, const Destination &to,
                                             void *stream, const std::string &kernel,
                                             std::span<const PrintStatement> statements,
                                             const LaunchOptions &options,
                                             std::vector<Diagnostic> &diagnostics) {
  ContextScope scope(api, to.context);
  int captured = CaptureNone;
  const char *call = "cuStreamIsCapturing";
  int result = scope.result == Success ? api.streamIsCapturing(stream, &captured) : scope.result;
  if (result == Success && captured != CaptureNone) {
    Diagnostic d;
    d.code = GpuCapture;
    d.message = "`" + kernel +
                "` prints, and its stream is captured: a graph has no moment at "
                "which lines are read";
    d.helps.push_back("launch it outside of the capture, or leave out `print`");
    diagnostics.push_back(std::move(d));
    return 0;
  }
  size_t waiting = 0;
  {
    std::lock_guard lock(unread().mutex);
    waiting = size_t(std::ranges::count_if(unread().launches, [&](const Unread &launch) {
      return launch.device == to.device && launch.stream == stream;
    }));
  }
  if (result == Success && waiting >= maxUnreadPrints) {
    call = "cuStreamSynchronize";
    result = api.streamSynchronize(stream);
    if (result == Success)
      result = collectPrints(api, to, stream);
  }
  Unread launch{to.device,
                stream,
                0,
                emptyPrintBuffer(options.print_bytes).size(),
                {statements.begin(), statements.end()},
                options.print};
  if (result == Success) {
    call = "cuMemAlloc";
    RelaxedCapture relaxed(api);
    result = api.memAlloc(&launch.buffer, launch.words * 8);
  }
  if (result == Success) {
    call = "cuMemsetD8Async";
    result = clear(api, launch.buffer, launch.words, stream);
  }
  if (result != Success) {
    if (launch.buffer)
      api.memFree(launch.buffer);
    diagnostics.push_back(driverError(api, result, call));
    return 0;
  }
  DevicePointer buffer = launch.buffer;
  std::lock_guard lock(unread().mutex);
  unread().launches.push_back(std::move(launch));
  return buffer;
}

void penstock::cuda::dropPrintBuffer(const DriverApi &api, const Destination &to,
                                     DevicePointer buffer) {
  ContextScope scope(api, to.context);
  std::lock_guard lock(unread().mutex);
  std::erase_if(unread().launches, [&](const Unread &launch) {
    return launch.device == to.device && launch.buffer == buffer;
  });
  if (scope.result == Success)
    api.memFree(buffer);
}

int penstock::cuda::collectPrints(const DriverApi &api, const Destination &from, void *stream) {
  std::vector<Unread> ended;
  {
    std::lock_guard lock(unread().mutex);
    std::vector<Unread> others;
    for (Unread &launch : unread().launches)
      (launch.device == from.device && launch.stream == stream ? ended : others)
          .push_back(std::move(launch));
    unread().launches = std::move(others);
  }
  if (ended.empty())
    return Success;
  ContextScope scope(api, from.context);
  int result = scope.result;
  for (const Unread &launch : ended) {
    std::vector<uint64_t> buffer(launch.words);
    if (result == Success)
      result = api.memcpyDtoHAsync(buffer.data(), launch.buffer, launch.words * 8, stream);
    if (result == Success)
      result = api.streamSynchronize(stream);
    if (result == Success)
      show(launch, buffer);
    api.memFree(launch.buffer);
  }
  return result;
}
