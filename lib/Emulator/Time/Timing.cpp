//===- Timing.cpp - Timings by name ---------------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Emulator/Launch.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace penstock::emu {
namespace {

/// The number behind \p prefix, if all of the text is that.
bool numberBehind(const std::string &text, const std::string &prefix, uint64_t &number) {
  if (text.rfind(prefix, 0) != 0 || text.size() == prefix.size() ||
      text.find_first_of("+- \t", prefix.size()) != std::string::npos)
    return false;
  char *end;
  errno = 0;
  number = strtoull(text.c_str() + prefix.size(), &end, 0);
  return !*end && errno == 0;
}

} // namespace

bool parseTiming(const std::string &text, LaunchOptions &options) {
  uint64_t number;
  if (text == "eager") {
    options.timing = Timing::Eager;
  } else if (text == "lazy") {
    options.timing = Timing::Lazy;
  } else if (numberBehind(text, "random:", number)) {
    options.timing = Timing::Random;
    options.seed = number;
  } else if (numberBehind(text, "delay:", number) && number <= UINT32_MAX) {
    options.timing = Timing::Targeted;
    options.target = uint32_t(number);
  } else if (numberBehind(text, "starve:", number) && number <= INT32_MAX) {
    options.timing = Timing::Eager;
    options.starvedWarp = int32_t(number);
  } else {
    return false;
  }
  return true;
}

LaunchOptions TimingSequence::operator[](uint64_t index) const {
  LaunchOptions options;
  options.seed = seed;
  uint64_t simple = std::min<uint64_t>(count, 2); // eager, and lazy if there are two
  if (index == 0 && simple)
    return options;
  if (index < simple) {
    options.timing = Timing::Lazy;
  } else if (index < simple + warps) {
    options.starvedWarp = int32_t(index - simple);
  } else {
    options.timing = Timing::Random;
    options.seed = seed + index - simple - warps;
  }
  return options;
}

std::string timingName(const LaunchOptions &options, uint32_t warpsPerBlock) {
  std::string name;
  char seed[32];
  snprintf(seed, sizeof seed, "0x%llx", (unsigned long long)options.seed);
  switch (options.timing) {
  case Timing::Eager:
    name = "eager timing";
    break;
  case Timing::Lazy:
    name = "lazy timing";
    break;
  case Timing::Random:
    name = std::string("random timing, seed ") + seed;
    break;
  case Timing::Targeted:
    name = "timing that delays operation " + std::to_string(options.target);
    break;
  case Timing::Paced:
    return "timing of a GPU";
  }
  if (options.starvedWarp < 0)
    return name;
  uint32_t warp = uint32_t(options.starvedWarp);
  name += " that starves warp " + std::to_string(warp % warpsPerBlock);
  if (warp >= warpsPerBlock)
    name += " of block " + std::to_string(warp / warpsPerBlock) + " of each cluster";
  return name;
}

} // namespace penstock::emu
