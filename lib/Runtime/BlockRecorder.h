//===- BlockRecorder.h - Recorder of block executions -----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For pictures of launches on the CPU. A launch without a recorder reads one variable.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_RUNTIME_BLOCKRECORDER_H
#define PENSTOCK_RUNTIME_BLOCKRECORDER_H

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace penstock {

/// Run of one block. Times are nanoseconds since the recorder was made.
struct RecordedBlock {
  uint64_t block = 0; ///< number in the grid, x first
  int thread = 0;     ///< of the launch, from 0
  int64_t begin = 0, end = 0;
};

/// Records the blocks of native launches that its thread makes while it exists, on all threads that
/// run them.
class BlockRecorder {
public:
  BlockRecorder() : outer(std::exchange(current, this)) {}
  ~BlockRecorder() { current = outer; }
  BlockRecorder(const BlockRecorder &) = delete;
  BlockRecorder &operator=(const BlockRecorder &) = delete;

  /// Of the calling thread; null: nothing is recorded.
  static BlockRecorder *ofThread() { return current; }

  int64_t now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  }
  void add(const RecordedBlock &block) {
    std::lock_guard lock(mutex);
    blocks.push_back(block);
  }
  /// Sorted by their beginning. Not while a launch runs.
  std::vector<RecordedBlock> recorded() const;

private:
  using Clock = std::chrono::steady_clock;
  static thread_local BlockRecorder *current;

  BlockRecorder *outer;
  Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::vector<RecordedBlock> blocks;
};

} // namespace penstock

#endif // PENSTOCK_RUNTIME_BLOCKRECORDER_H
