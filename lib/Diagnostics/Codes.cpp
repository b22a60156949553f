//===- Codes.cpp - The stable codes of all diagnostics --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"

#include <algorithm>

namespace penstock {

std::string codeSummary(unsigned code) {
  switch (code) {
#define PENSTOCK_CODE(NAME, NUMBER, SUMMARY)                                                       \
  case NUMBER:                                                                                     \
    return SUMMARY;
#include "Diagnostics/Codes.def"
  }
  return "unknown code";
}

std::vector<std::pair<unsigned, std::string>> allCodes() {
  std::vector<std::pair<unsigned, std::string>> codes = {
#define PENSTOCK_CODE(NAME, NUMBER, SUMMARY) {NUMBER, SUMMARY},
#include "Diagnostics/Codes.def"
  };
  std::sort(codes.begin(), codes.end());
  return codes;
}

} // namespace penstock
