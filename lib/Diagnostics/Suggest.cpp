//===- Suggest.cpp - "did you mean" ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Suggest.h"

#include <algorithm>
#include <cctype>

namespace penstock {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// The number of letters to insert, remove, replace or exchange with the next one.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

} // namespace

std::string closestName(const std::string &word, const std::vector<std::string> &known) {
  std::string best;
  size_t least = 0;
  for (const std::string &name : known) {
    size_t distance = editDistance(word, name);
    // A third of the letters may be wrong; one of one letter may not.
    if (distance > std::max<size_t>(1, name.size() / 3) || distance >= name.size())
      continue;
    if (best.empty() || distance < least) {
      best = name;
      least = distance;
    }
  }
  return best;
}

std::string suggestName(const std::string &word, const std::vector<std::string> &known,
                        const std::string &otherwise) {
  if (std::string best = closestName(word, known); !best.empty())
    return "did you mean `" + best + "`?";
  std::string all;
  for (const std::string &name : known)
    all += (all.empty() ? "" : ", ") + name;
  return otherwise + all;
}

} // namespace penstock
