//===- Values.cpp - Numbers and pairs on command lines --------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine/CommandLine.h"

#include <charconv>
#include <cmath>

using namespace penstock;
using namespace penstock::cli;

namespace {

/// Reads a number, decimal or with 0x in front, and nothing else.
template <class T> bool readWhole(const std::string &text, T &value) {
  bool negative = std::signed_integral<T> && text.starts_with("-");
  std::string digits = text.substr(negative);
  int base = digits.starts_with("0x") || digits.starts_with("0X") ? 16 : 10;
  if (base == 16)
    digits.erase(0, 2);
  if (digits.starts_with("-"))
    return false;
  if (negative)
    digits.insert(0, "-");
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return error == std::errc() && end == digits.data() + digits.size();
}

template <class T> std::string readInRange(const std::string &text, T least, T most, T &to) {
  T value = 0;
  if (readWhole(text, value) && value >= least && value <= most) {
    to = value;
    return "";
  }
  return "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

} // namespace

std::string Command::readNumber(const std::string &text, int64_t least, int64_t most, int64_t &to) {
  return readInRange(text, least, most, to);
}

std::string Command::readNumber(const std::string &text, uint64_t least, uint64_t most,
                                uint64_t &to) {
  return readInRange(text, least, most, to);
}

Command &Command::real(std::string name, std::string help, double &to, double least) {
  char otherwise[32];
  std::snprintf(otherwise, sizeof otherwise, "%g", to);
  return numberOption(std::move(name), std::move(help), otherwise,
                      [&to, least](const std::string &text) -> std::string {
                        double value = 0;
                        if (!parseReal(text, value) || value < least)
                          return least == 0
                                     ? "expected a number that is not negative"
                                     : "expected a number of at least " + std::to_string(least);
                        to = value;
                        return "";
                      });
}

bool cli::parsePairs(const std::string &text,
                     std::vector<std::pair<std::string, std::string>> &pairs) {
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, comma - at);
    size_t equal = part.find('=');
    if (equal == std::string::npos || equal == 0)
      return false;
    pairs.emplace_back(part.substr(0, equal), part.substr(equal + 1));
    at = comma + 1;
  }
  return true;
}

bool cli::parseInteger(const std::string &text, int64_t &value) { return readWhole(text, value); }

bool cli::parseInteger(const std::string &text, uint64_t &value) { return readWhole(text, value); }

bool cli::parseReal(const std::string &text, double &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}
