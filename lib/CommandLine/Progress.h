//===- Progress.h - Progress of long commands -------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_COMMANDLINE_PROGRESS_H
#define PENSTOCK_COMMANDLINE_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace penstock {

/// Says on standard error how far a long run is: in place on a terminal, else a
/// line after two seconds and then every ten.
class Progress {
public:
  /// Shows \p text, unless something has been shown a moment ago.
  void show(std::string text);
  /// Makes room for other output.
  void clear();
  bool onTerminal() const { return terminal; }

private:
  bool terminal = isTerminal();
  bool shown = false;
  std::chrono::steady_clock::time_point next =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(terminal ? 500 : 1500);

  static bool isTerminal();
};

/// Estimates the time that is left of a task from the share that is done.
class TimeLeft {
public:
  /// "  about 12 s left"; empty while too little is done. Another \p task starts anew.
  std::string text(const std::string &task, size_t done, size_t total);

private:
  std::string current;
  size_t first = 0; ///< done at the start
  std::chrono::steady_clock::time_point begin;
};

/// Shows what a command does and for how long, while it does it: on a terminal, or
/// if \p always.
class PhaseProgress {
public:
  explicit PhaseProgress(bool always);
  ~PhaseProgress();
  /// Names what is done from now on. Not on a terminal, that is a line of its own.
  void phase(std::string text);
  /// Names what is done from now on, without a line of its own. \p detail changes meanwhile.
  void update(std::string text, std::string detail = "");
  /// Makes room for other output.
  void clear();
  /// Ends the display, before results are printed.
  void finish();

private:
  void tick();

  Progress progress;
  bool active;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::string current, detail;
  std::chrono::steady_clock::time_point since;
  std::thread ticker;
};

} // namespace penstock

#endif // PENSTOCK_COMMANDLINE_PROGRESS_H
