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

using Lines = std::vector<std::string>;

Lines splitLines(std::string_view text) {
  Lines lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line(text.substr(at, end - at));
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

/// The lines of a file. Its name comes from the text that a diagnostic is about, so
/// it may be anything: a pipe would wait, or take what others were to read.
Lines readLines(const std::string &file) {
  std::string text;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || readFile(file, text, maxFileBytes))
    return {};
  return splitLines(text);
}

struct SourceTexts {
  std::mutex mutex;
  std::map<std::string, Lines> files; ///< cache
  std::map<std::string, Lines> added; ///< texts that are not files
};

SourceTexts &texts() {
  static SourceTexts *instance = new SourceTexts; // static variables may report errors at the end
  return *instance;
}

} // namespace

std::optional<std::string> readSourceLine(const std::string &file, uint32_t line) {
  if (line == 0)
    return std::nullopt;
  std::lock_guard lock(texts().mutex);
  const Lines *lines = nullptr;
  if (auto added = texts().added.find(file); added != texts().added.end()) {
    lines = &added->second;
  } else {
    auto &cache = texts().files;
    auto found = cache.find(file);
    if (found == cache.end()) {
      if (cache.size() > 64)
        cache.clear();
      found = cache.emplace(file, readLines(file)).first;
    }
    lines = &found->second;
  }
  if (line > lines->size())
    return std::nullopt;
  return (*lines)[line - 1];
}

void addSourceText(const std::string &name, std::string_view text) {
  Lines lines = splitLines(text);
  std::lock_guard lock(texts().mutex);
  texts().added[name] = std::move(lines);
}

static bool isOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The position of the bracket that the one before \p end closes; \p end if there is none.
static size_t openingOf(std::string_view line, size_t end, char open, char close) {
  size_t depth = 0;
  for (size_t at = end; at-- > 0;) {
    if (line[at] == close)
      ++depth;
    else if (line[at] == open && --depth == 0)
      return at;
  }
  return end;
}

/// The start of the name, with its template arguments, that ends before \p end.
static size_t startOfName(std::string_view line, size_t end) {
  if (end > 0 && line[end - 1] == '>' && !(end > 1 && line[end - 2] == '-'))
    end = openingOf(line, end, '<', '>');
  while (end > 0 && isOfName(line[end - 1]))
    --end;
  return end;
}

size_t startOfCall(std::string_view line, size_t column) {
  if (column >= line.size())
    return column;
  size_t at = column;
  if (line[at] == '(') {
    at = startOfName(line, at);
    if (at == column)
      return column;
  } else if (!isOfName(line[at])) {
    return column;
  }
  // Skips the object of the called member: names, calls and elements.
  while (true) {
    std::string_view before = line.substr(0, at);
    size_t end = before.ends_with("->") || before.ends_with("::") ? at - 2
                 : before.ends_with(".")                          ? at - 1
                                                                  : at;
    if (end == at)
      return at;
    size_t start = end;
    while (start > 0 && (line[start - 1] == ')' || line[start - 1] == ']')) {
      bool call = line[start - 1] == ')';
      size_t opened = openingOf(line, start, call ? '(' : '[', call ? ')' : ']');
      if (opened == start)
        return at;
      start = opened;
    }
    start = startOfName(line, start);
    if (start == end)
      return at;
    at = start;
  }
}

} // namespace penstock
