//===- TuneProgress.cpp - Progress of tuning ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TuneProgress.h"

#include <algorithm>
#include <cstdio>

using namespace penstock;

std::string progressBar(size_t done, size_t total) {
  constexpr size_t width = 30;
  size_t full = total ? std::min(width, done * width / total) : width;
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]  " +
         std::to_string(done) + "/" + std::to_string(total);
}

void TuneDisplay::show(const TuneProgress &now) {
  std::string first = now.kernel + "  " + now.stage + "  " + progressBar(now.done, now.total) +
                      left.text(now.kernel + now.stage, now.done, now.total);
  if (!progress.onTerminal()) {
    if (!now.best.empty())
      first += "  best " + now.best[0]->point();
    progress.show(first);
    return;
  }
  auto time = std::chrono::steady_clock::now();
  if (time < next)
    return;
  next = time + std::chrono::milliseconds(100);
  clear();
  std::string text = first + "\n";
  for (const TuneCandidate *candidate : now.best) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%10.3f ms  ", candidate->seconds * 1e3);
    std::string line = seconds + candidate->point() + "  " +
                       std::to_string(candidate->samples.size()) + " samples";
    if (line.size() > 100)
      line.resize(100);
    text += line + "\n";
  }
  lines = 1 + now.best.size();
  std::fputs(text.c_str(), stderr);
}

void TuneDisplay::clear() {
  progress.clear();
  if (lines)
    std::fprintf(stderr, "\033[%zuA\r\033[J", lines);
  lines = 0;
}
