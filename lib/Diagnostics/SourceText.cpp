//===- SourceText.cpp - Reading the user's own lines ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/SourceText.h"

#include <fstream>
#include <map>
#include <mutex>
#include <vector>

namespace penstock {
namespace {

/// Sources larger than this are not worth holding for one line of a message.
constexpr size_t maxFileBytes = 8u << 20;

std::vector<std::string> readLines(const std::string &file) {
  std::vector<std::string> lines;
  std::ifstream in(file, std::ios::binary);
  size_t bytes = 0;
  for (std::string line; std::getline(in, line);) {
    bytes += line.size() + 1;
    if (bytes > maxFileBytes)
      break;
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    lines.push_back(std::move(line));
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
