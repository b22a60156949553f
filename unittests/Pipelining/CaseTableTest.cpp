//===- CaseTableTest.cpp - The tables of cases tell what the tests do -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

#include <algorithm>
#include <fstream>
#include <regex>

namespace {

/// Rows of docs/contributing/pipelining-cases.md whose last cell is the name of a test:
/// | what the loop does | outcome[: why] | `Suite.Name` |
std::vector<pipelining::Case> documented() {
  std::ifstream page(PENSTOCK_SOURCE_DIR "/docs/contributing/pipelining-cases.md");
  std::vector<pipelining::Case> rows;
  std::regex row(R"(\|[^|]+\| ([^|:]+)(:[^|]*)? \| `(\w+\.\w+)` \|)");
  std::smatch found;
  for (std::string line; std::getline(page, line);)
    if (std::regex_match(line, found, row))
      rows.push_back({found[3], found[1]});
  return rows;
}

std::vector<std::string> sorted(const std::vector<pipelining::Case> &cases) {
  std::vector<std::string> lines;
  for (const pipelining::Case &one : cases)
    lines.push_back(one.name + ": " + one.outcome);
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(CaseTable, HasARowForEachTestAndATestForEachRow) {
  EXPECT_GE(pipelining::cases().size(), 40u);
  EXPECT_EQ(sorted(documented()), sorted(pipelining::cases()));
}

} // namespace
