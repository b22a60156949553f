//===- NativeLaunch.cpp - Runs native code over a grid --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/NativeLaunch.h"
#include "Diagnostics/Codes.h"
#include "Runtime/BlockContext.h"
#include "Runtime/BlockRecorder.h"
#include "Runtime/Scratch.h"
#include "Runtime/ThreadPool.h"
#include "penstock/limits.h"

#include <algorithm>

namespace penstock {
namespace {

/// Arguments in the order and form that generated code takes them.
class Slots {
public:
  /// With room for \p tensors of the usual ranks, and what follows them.
  explicit Slots(size_t tensors) { slots.reserve(tensors * 9 + 16); }
  void pointer(const void *value) { slots.push_back(reinterpret_cast<uint64_t>(value)); }
  void integer(int64_t value) { slots.push_back(static_cast<uint64_t>(value)); }
  /// A memref: allocated and aligned pointer, offset, sizes, strides.
  void memref(const void *data, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
    pointer(data);
    pointer(data);
    integer(0);
    for (int64_t size : sizes)
      integer(size);
    for (int64_t stride : strides)
      integer(stride);
  }
  void array(const void *data, int64_t size) {
    int64_t sizes[] = {size}, strides[] = {1};
    memref(data, sizes, strides);
  }
  void arguments(std::span<const detail::Argument> all) {
    for (const detail::Argument &argument : all)
      if (argument.tensor)
        memref(argument.data, argument.sizes, argument.strides);
      else
        slots.push_back(argument.scalar);
  }
  std::vector<uint64_t> slots;
};

Diagnostic problem(const KernelInfo &info, DiagnosticCode code, std::string message) {
  Diagnostic d;
  d.code = code;
  d.location = code == LaunchGrid && info.gridLocation.known() ? info.gridLocation : info.location;
  d.message = std::move(message);
  return d;
}

} // namespace

std::vector<Diagnostic> launchNative(const KernelInfo &info, const NativeEntries &entries,
                                     std::span<const detail::Argument> arguments,
                                     const LaunchOptions &options) {
  LaunchState state(info, options);
  BlockContext launchContext(state, 0);
  std::vector<int64_t> constants(info.launchConstants, 0);
  {
    Slots slots(arguments.size());
    slots.arguments(arguments);
    slots.array(constants.data(), static_cast<int64_t>(constants.size()));
    slots.pointer(&launchContext);
    entries.launch(slots.slots.data());
  }
  uint64_t blocks = 1;
  for (int d = 0; d < 3; ++d) {
    if (constants[d] < 0)
      return {problem(info, LaunchGrid,
                      "extent " + std::to_string(d) + " of the grid of `" + info.name + "` is " +
                          std::to_string(constants[d]) + "; it must not be negative")};
    if (constants[d] > limits::maxBlocks ||
        (blocks *= static_cast<uint64_t>(constants[d])) > limits::maxBlocks)
      return {problem(info, LaunchGrid, "the grid of `" + info.name + "` has 2^31 blocks or more")};
  }
  int threads = options.threads > 0 ? options.threads : defaultThreads();
  threads =
      static_cast<int>(std::min<uint64_t>(std::min(threads, 1024), std::max<uint64_t>(blocks, 1)));
  std::atomic<bool> outOfMemory{false};
  BlockRecorder *recorder = BlockRecorder::ofThread();
  auto runBlock = [&](uint64_t block, int worker) {
    int64_t begin = recorder ? recorder->now() : 0;
    Scratch scratch(info.scratchBytes);
    if (!scratch.data()) {
      outOfMemory = true;
      return;
    }
    BlockContext context(state, block);
    Slots slots(arguments.size());
    slots.arguments(arguments);
    slots.integer(static_cast<int64_t>(block));
    slots.array(constants.data(), static_cast<int64_t>(constants.size()));
    slots.array(scratch.data(), static_cast<int64_t>(info.scratchBytes));
    slots.pointer(&context);
    entries.block(slots.slots.data());
    context.finish();
    if (recorder)
      recorder->add({block, worker, begin, recorder->now()});
  };
  if (blocks && options.executor)
    parallelFor(blocks, threads, options.executor, runBlock);
  else if (blocks)
    parallelFor(blocks, threads, runBlock);
  if (state.printError)
    std::rethrow_exception(state.printError);
  std::vector<Diagnostic> faults;
  if (outOfMemory)
    faults.push_back(problem(info, MemoryLimit,
                             "no memory for the tiles of `" + info.name + "` (" +
                                 std::to_string(info.scratchBytes) + " bytes per thread)"));
  for (size_t i = 0; i < state.faulted.size(); ++i)
    if (state.faulted[i].load(std::memory_order_relaxed))
      faults.push_back(info.faults[i]);
  return faults;
}

} // namespace penstock
