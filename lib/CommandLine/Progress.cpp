//===- Progress.cpp - Progress of long commands ---------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/Progress.h"

#include <cmath>
#include <cstdio>
#include <unistd.h>

namespace penstock {

using Clock = std::chrono::steady_clock;

bool Progress::isTerminal() { return isatty(2); }

void Progress::show(std::string text) {
  auto now = Clock::now();
  if (now < next)
    return;
  next = now + std::chrono::milliseconds(terminal ? 200 : 10000);
  std::fprintf(stderr, "%s%s%s", terminal ? "\r\033[K" : "", text.c_str(), terminal ? "" : "\n");
  shown = true;
}

void Progress::clear() {
  if (terminal && shown)
    std::fputs("\r\033[K", stderr);
  shown = false;
}

std::string TimeLeft::text(const std::string &task, size_t done, size_t total) {
  auto now = Clock::now();
  if (task != current) {
    current = task;
    first = done;
    begin = now;
  }
  double spent = std::chrono::duration<double>(now - begin).count();
  constexpr double least = 1; // estimates from less are noise
  if (done <= first || done > total || spent < least)
    return "";
  double left = spent / double(done - first) * double(total - done);
  constexpr double minute = 60, inMinutes = 2 * minute;
  return left < inMinutes
             ? "  about " + std::to_string(int(std::ceil(left))) + " s left"
             : "  about " + std::to_string(int(std::ceil(left / minute))) + " min left";
}

PhaseProgress::PhaseProgress(bool always) : active(always || progress.onTerminal()) {
  if (active)
    ticker = std::thread([this] { tick(); });
}

PhaseProgress::~PhaseProgress() { finish(); }

void PhaseProgress::phase(std::string text) {
  if (!active)
    return;
  std::lock_guard lock(mutex);
  if (!progress.onTerminal() && text != current)
    std::fprintf(stderr, "%s\n", text.c_str());
  current = std::move(text);
  detail.clear();
  since = Clock::now();
}

void PhaseProgress::update(std::string text, std::string more) {
  std::lock_guard lock(mutex);
  if (text != current)
    since = Clock::now();
  current = std::move(text);
  detail = std::move(more);
}

void PhaseProgress::clear() {
  std::lock_guard lock(mutex);
  progress.clear();
}

void PhaseProgress::finish() {
  if (!ticker.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  changed.notify_all();
  ticker.join();
  progress.clear();
}

void PhaseProgress::tick() {
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return done; }))
    if (!current.empty())
      progress.show(
          current + detail + ", " +
          std::to_string(
              std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since).count()) +
          " s");
}

} // namespace penstock
