//===- TextDiff.cpp - Changes of a text, line by line ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Repair/TextDiff.h"

#include <algorithm>
#include <cstdint>

namespace penstock::emu {
namespace {

/// Lengths of common subsequences of what remains, for a few hundred lines. Longer texts differ
/// as a whole.
constexpr size_t maxCells = size_t(1) << 22;

} // namespace

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::vector<LineChange> changesBetween(std::string_view before, std::string_view after) {
  std::vector<std::string> a = linesOf(before), b = linesOf(after);
  size_t head = 0, tail = 0;
  while (head < std::min(a.size(), b.size()) && a[head] == b[head])
    ++head;
  while (tail < std::min(a.size(), b.size()) - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  size_t n = a.size() - head - tail, m = b.size() - head - tail;
  if (n == 0 && m == 0)
    return {};
  std::vector<LineChange> changes;
  if (n * m > maxCells) {
    LineChange all{head, n, {}};
    all.added.assign(b.begin() + int64_t(head), b.begin() + int64_t(head + m));
    return {all};
  }
  // common[i][j]: the longest common subsequence of the lines from i and from j on.
  std::vector<std::vector<uint32_t>> common(n + 1, std::vector<uint32_t>(m + 1));
  for (size_t i = n; i-- > 0;)
    for (size_t j = m; j-- > 0;)
      common[i][j] = a[head + i] == b[head + j] ? common[i + 1][j + 1] + 1
                                                : std::max(common[i + 1][j], common[i][j + 1]);
  for (size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && a[head + i] == b[head + j]) {
      ++i, ++j;
      continue;
    }
    LineChange change{head + i, 0, {}};
    while ((i < n || j < m) && !(i < n && j < m && a[head + i] == b[head + j])) {
      if (i < n && (j == m || common[i + 1][j] >= common[i][j + 1])) {
        ++change.removed;
        ++i;
      } else {
        change.added.push_back(b[head + j++]);
      }
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

std::string applyChanges(std::string_view text, const std::vector<LineChange> &changes) {
  std::vector<std::string> lines = linesOf(text);
  for (size_t c = changes.size(); c-- > 0;) {
    auto at = lines.begin() + int64_t(changes[c].first);
    at = lines.erase(at, at + int64_t(changes[c].removed));
    lines.insert(at, changes[c].added.begin(), changes[c].added.end());
  }
  std::string all;
  for (const std::string &line : lines)
    all += line + "\n";
  if (!text.empty() && !text.ends_with('\n') && !all.empty())
    all.pop_back();
  return all;
}

std::string unifiedDiff(std::string_view before, const std::vector<LineChange> &changes,
                        const std::string &name,
                        const std::function<std::string(uint32_t)> &headingOf) {
  constexpr size_t context = 3;
  std::vector<std::string> lines = linesOf(before);
  std::string text = "--- " + name + "\n+++ " + name + "\n";
  int64_t shift = 0; // of lines by the hunks before
  for (size_t c = 0; c < changes.size();) {
    size_t last = c; // changes whose contexts touch are one hunk
    while (last + 1 < changes.size() &&
           changes[last].first + changes[last].removed + 2 * context >= changes[last + 1].first)
      ++last;
    size_t from = changes[c].first - std::min(changes[c].first, context);
    size_t end = std::min(changes[last].first + changes[last].removed + context, lines.size());
    std::string body;
    int64_t more = 0;
    size_t at = from;
    for (size_t k = c; k <= last; ++k) {
      for (; at < changes[k].first; ++at)
        body += " " + lines[at] + "\n";
      for (size_t r = 0; r < changes[k].removed; ++r)
        body += "-" + lines[at++] + "\n";
      for (const std::string &line : changes[k].added)
        body += "+" + line + "\n";
      more += int64_t(changes[k].added.size()) - int64_t(changes[k].removed);
    }
    for (; at < end; ++at)
      body += " " + lines[at] + "\n";
    std::string heading = headingOf(uint32_t(changes[c].first + 1));
    text += "@@ -" + std::to_string(from + 1) + "," + std::to_string(end - from) + " +" +
            std::to_string(int64_t(from) + 1 + shift) + "," +
            std::to_string(int64_t(end - from) + more) + " @@" +
            (heading.empty() ? "" : " " + heading) + "\n" + body;
    shift += more;
    c = last + 1;
  }
  return text;
}

} // namespace penstock::emu
