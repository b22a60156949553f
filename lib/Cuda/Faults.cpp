//===- Faults.cpp - Words in which kernels report faults ------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cuda/Faults.h"
#include "Cuda/Errors.h"

#include <mutex>

using namespace penstock;
using namespace penstock::cuda;

namespace {

constexpr size_t pageWords = 1024, pageBytes = pageWords * 4;

struct Page {
  DevicePointer address = 0;
  std::vector<std::vector<Diagnostic>> faults; ///< of each word that is in use
};

struct Words {
  std::mutex mutex;
  std::vector<Page> pages;
  DevicePointer zeros = 0;
};

Words &wordsOf(int device) {
  static Words *all = new Words[maxDevices];
  return all[device];
}

/// Zeroed memory. The default stream must not be touched: another one may be captured.
DevicePointer allocateZeros(const DriverApi &api, const Destination &to, size_t bytes,
                            std::vector<Diagnostic> &diagnostics) {
  ContextScope scope(api, to.context);
  DevicePointer address = 0;
  void *stream = nullptr;
  const char *call = "cuMemAlloc";
  int result = scope.result == Success ? api.memAlloc(&address, bytes) : scope.result;
  if (result == Success) {
    call = "cuStreamCreate";
    result = api.streamCreate(&stream, StreamNonBlocking);
  }
  if (result == Success) {
    call = "cuMemsetD8Async";
    result = api.memsetD8Async(address, 0, bytes, stream);
  }
  if (result == Success) {
    call = "cuStreamSynchronize";
    result = api.streamSynchronize(stream);
  }
  if (stream)
    api.streamDestroy(stream);
  if (result == Success)
    return address;
  diagnostics.push_back(driverError(api, result, call));
  return 0;
}

} // namespace

DevicePointer penstock::cuda::addFaultWord(const DriverApi &api, const Destination &to,
                                           const std::vector<Diagnostic> &faults,
                                           std::vector<Diagnostic> &diagnostics) {
  Words &words = wordsOf(to.device);
  std::lock_guard lock(words.mutex);
  if (words.pages.empty() || words.pages.back().faults.size() == pageWords) {
    DevicePointer address = allocateZeros(api, to, pageBytes, diagnostics);
    if (!address)
      return 0;
    words.pages.push_back({address, {}});
  }
  Page &page = words.pages.back();
  page.faults.push_back(faults);
  return page.address + 4 * (page.faults.size() - 1);
}

DevicePointer penstock::cuda::zeroBytes(const DriverApi &api, const Destination &to,
                                        std::vector<Diagnostic> &diagnostics) {
  Words &words = wordsOf(to.device);
  std::lock_guard lock(words.mutex);
  if (!words.zeros)
    words.zeros = allocateZeros(api, to, 256, diagnostics);
  return words.zeros;
}

int penstock::cuda::collectFaults(const DriverApi &api, const Destination &from, void *stream,
                                  std::vector<Diagnostic> &diagnostics) {
  Words &words = wordsOf(from.device);
  std::lock_guard lock(words.mutex);
  ContextScope scope(api, from.context);
  if (scope.result != Success)
    return scope.result;
  uint32_t values[pageWords];
  for (Page &page : words.pages) {
    size_t count = page.faults.size();
    int result = api.memcpyDtoHAsync(values, page.address, count * 4, stream);
    if (result == Success)
      result = api.streamSynchronize(stream);
    if (result != Success)
      return result;
    for (size_t i = 0; i < count; ++i) {
      if (!values[i])
        continue;
      if (values[i] <= page.faults[i].size())
        diagnostics.push_back(page.faults[i][values[i] - 1]);
      result = api.memsetD32Async(page.address + 4 * i, 0, 1, stream);
      if (result != Success)
        return result;
    }
  }
  return api.streamSynchronize(stream);
}
