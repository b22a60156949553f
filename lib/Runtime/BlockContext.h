//===- BlockContext.h - Runtime calls of generated code ---------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_BLOCKCONTEXT_H
#define PENSTOCK_RUNTIME_BLOCKCONTEXT_H

#include "Runtime/KernelInfo.h"

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace penstock {

/// State shared by the blocks of one launch.
struct LaunchState {
  LaunchState(const KernelInfo &info, const LaunchOptions &options)
      : options(options), faulted(info.faults.size()) {}

  const LaunchOptions &options;
  std::vector<std::atomic<bool>> faulted; ///< by number of the fault
  std::mutex printing;
  /// The first exception of the callback that receives printed lines. Generated code cannot be
  /// unwound: the blocks run to their ends, print nothing more, and the launch rethrows it.
  std::exception_ptr printError;
};

/// The handle that a block passes to every call into the runtime.
class BlockContext {
public:
  BlockContext(LaunchState &launch, uint64_t block);

  /// Completes what no wait has asked for.
  void finish();

  void fault(int32_t number);
  void printText(uint64_t chars, int32_t count);
  void printInt(int64_t value);
  void printFloat(double value);
  void printEnd();

  using Entry = void (*)(void *slots);
  /// Requests with the same \p chain, unless it is 0, complete in the order of
  /// issue.
  void issue(int32_t name, int64_t iteration, int64_t chain, Entry code, const uint64_t *slots,
             int32_t count);
  void startLoop(int32_t name);
  /// Completes what was issued up to \p lag iterations before \p iteration, which may
  /// be `allIterations`.
  void wait(int32_t name, int64_t iteration, int64_t lag);

private:
  struct Request {
    int32_t name;
    int64_t iteration;
    int64_t chain;
    Entry code;
    std::vector<uint64_t> slots;
  };
  struct Count {
    int64_t base = 0, next = 0;
  };
  int64_t counted(int32_t name, int64_t iteration);
  void run(size_t index);
  /// Runs a request, and first those of its chain that were issued before it.
  void complete(size_t index);
  /// Under random completion: finishes some requests before their time.
  void completeSome();
  uint64_t random();

  LaunchState &launch;
  std::string line;
  std::vector<Request> pending;
  std::map<int32_t, Count> counts; ///< by name
  uint64_t randomState;
};

/// The functions of the runtime that generated code calls, by name.
std::vector<std::pair<const char *, void *>> runtimeFunctions();

} // namespace penstock

#endif // PENSTOCK_RUNTIME_BLOCKCONTEXT_H
