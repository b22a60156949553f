//===- BlockRecorder.cpp - Recorder of block executions -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runtime/BlockRecorder.h"

#include <algorithm>

namespace penstock {

thread_local BlockRecorder *BlockRecorder::current = nullptr;

std::vector<RecordedBlock> BlockRecorder::recorded() const {
  std::vector<RecordedBlock> sorted = blocks;
  std::sort(sorted.begin(), sorted.end(), [](const RecordedBlock &a, const RecordedBlock &b) {
    return std::pair(a.begin, a.block) < std::pair(b.begin, b.block);
  });
  return sorted;
}

} // namespace penstock
