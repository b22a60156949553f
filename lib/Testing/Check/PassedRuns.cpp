//===- PassedRuns.cpp - Runs that need not be repeated --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Check/PassedRuns.h"
#include "Diagnostics/Codes.h"
#include "Diagnostics/ReadFile.h"

#include <filesystem>

using namespace penstock;

PassedRuns::~PassedRuns() {
  if (out)
    std::fclose(out);
}

std::vector<Diagnostic> PassedRuns::open(const std::string &file) {
  if (file.empty())
    return {};
  bool whole = true;
  if (std::error_code error; std::filesystem::exists(file, error)) {
    std::string text;
    if (auto problem = readFile(file, text))
      return {*problem};
    for (size_t at = 0; at < text.size();) {
      size_t end = text.find('\n', at);
      // A line that was cut off by a crash is none.
      whole = end != std::string::npos;
      if (!whole)
        break;
      passed.insert(text.substr(at, end - at));
      at = end + 1;
    }
  }
  out = std::fopen(file.c_str(), "ab");
  if (out) {
    if (!whole)
      std::fputc('\n', out);
    return {};
  }
  Diagnostic d;
  d.code = ToolFile;
  d.message = "`" + file + "` cannot be written; passed runs are not recorded";
  return {d};
}

bool PassedRuns::has(const std::string &run) {
  std::lock_guard lock(mutex);
  return passed.count(run) != 0;
}

void PassedRuns::add(const std::string &run) {
  std::lock_guard lock(mutex);
  if (!out || !passed.insert(run).second)
    return;
  std::fprintf(out, "%s\n", run.c_str());
  std::fflush(out);
}

std::string penstock::fingerprint(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}
