//===- Batches.h - Runs cases where a crash does no harm --------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cases run in batches in a child process. A child that dies, or makes no
// progress, is reported with the seed of the case it was at, and the next child
// goes on with the following case.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_FUZZ_BATCHES_H
#define PENSTOCK_FUZZ_BATCHES_H

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace penstock::fuzz {

/// What the cases of a run count, by position; each mode names its own.
constexpr int maxCounters = 12;
struct Counters {
  std::array<uint64_t, maxCounters> values = {};
  uint64_t &operator[](int i) { return values[static_cast<size_t>(i)]; }
};

/// Why a case failed.
enum class Failure : uint8_t { None, Mismatch, Crash, Hang };

struct CaseResult {
  bool failed = false;
  std::string message = {};
  /// What the run counts under this name; empty: nothing.
  std::string remark = {};
};
using Case = std::function<CaseResult(uint64_t seed, Counters &)>;

struct BatchOptions {
  uint64_t count = 100;
  uint64_t seed = 1;
  double seconds = 0; ///< 0: no limit
  int batch = 25;
  /// A case that uses more processor time is a hang.
  double caseSeconds = 60;
  /// What the cases are called on standard error, which is told how far the run is
  /// and at once which seeds fail; empty: nothing is said.
  std::string progress = {};
};

struct FailedCase {
  uint64_t seed;
  Failure failure;
  std::string message;
};

struct BatchResult {
  uint64_t cases = 0;
  Counters counters;
  std::map<std::string, uint64_t> remarks;
  std::vector<FailedCase> failures;
};

/// Runs cases with seeds from options.seed on.
BatchResult runBatches(const BatchOptions &options, const Case &one);

/// Runs one case in a process of its own.
FailedCase runAlone(uint64_t seed, double seconds, const Case &one);

const char *nameOf(Failure failure);

/// Prints the failures of a run of \p mode, "--boxed", with what repeats each, and a line of its
/// counts. Returns the exit code.
int report(const BatchResult &result, const char *mode, const char *cases,
           std::initializer_list<std::pair<const char *, uint64_t>> counts);

} // namespace penstock::fuzz

#endif // PENSTOCK_FUZZ_BATCHES_H
