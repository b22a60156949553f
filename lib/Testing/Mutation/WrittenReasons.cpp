//===- WrittenReasons.cpp - Reasons that authors of kernels register ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing/Mutation/WrittenReasons.h"
#include "Diagnostics/SourceText.h"

using namespace penstock;

WrittenReasons &penstock::equivalenceReasons() {
  static WrittenReasons *instance = new WrittenReasons; // outlives all static objects
  return *instance;
}

WrittenReasons &penstock::coverageWaivers() {
  static WrittenReasons *instance = new WrittenReasons; // outlives all static objects
  return *instance;
}

bool penstock::namesLine(const std::string &text, const SourceLocation &source) {
  std::string place = source.file + ":" + std::to_string(source.line);
  if (place == text || place.ends_with("/" + text))
    return true;
  return readSourceLine(source.file, source.line).value_or("").find(text) != std::string::npos;
}

void WrittenReasons::add(const std::string &kernel, const std::string &text,
                         const std::string &reason) {
  std::lock_guard lock(mutex);
  rows.push_back({kernel, text, reason});
}

std::string WrittenReasons::find(const std::string &kernel, const SourceLocation &source,
                                 const std::string &instruction) {
  std::lock_guard lock(mutex);
  for (const Row &row : rows)
    if (row.kernel == kernel &&
        (instruction.find(row.text) != std::string::npos || namesLine(row.text, source)))
      return row.reason;
  return "";
}

int detail::registerEvidence(const char *kernel, List<const EquivalenceEvidence> texts) {
  for (const EquivalenceEvidence &one : texts)
    equivalenceReasons().add(kernel, one.text, one.reason);
  return 0;
}

int detail::registerWaivers(const char *kernel, List<const EquivalenceEvidence> texts) {
  for (const EquivalenceEvidence &one : texts)
    coverageWaivers().add(kernel, one.text, one.reason);
  return 0;
}
