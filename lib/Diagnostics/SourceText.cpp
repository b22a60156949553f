//===- SourceText.cpp - Reading the user's own lines ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/SourceText.h"
#include "Diagnostics/ReadFile.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

namespace penstock {
namespace {

/// Sources larger than this are not worth holding for one line of a message.
constexpr size_t maxFileBytes = 8u << 20;

/// The lines of a file. Its name comes from the text that a diagnostic is about, so
/// it may be anything: a pipe would wait, or take what others were to read.
std::vector<std::string> readLines(const std::string &file) {
  std::vector<std::string> lines;
  std::string text;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || readFile(file, text, maxFileBytes))
    return lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

} // namespace

std::optional<std::string> readSourceLine(const std::string &file, uint32_t line) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<std::string>> cache;
  if (line == 0)
    return std::nullopt;
  std::lock_guard lock(mutex);
  auto found = cache.find(file);
  if (found == cache.end()) {
    if (cache.size() > 64)
      cache.clear();
    found = cache.emplace(file, readLines(file)).first;
  }
  if (line > found->second.size())
    return std::nullopt;
  return found->second[line - 1];
}

} // namespace penstock
