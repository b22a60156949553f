//===- Batches.cpp - Runs cases where a crash does no harm ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Batches.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace penstock::fuzz;
using Clock = std::chrono::steady_clock;

namespace {

/// What a child tells its parent while it runs.
struct Shared {
  std::atomic<uint64_t> finished{0}; ///< cases of this batch
  Counters counters;                 ///< of the cases that finished
  bool failed = false;               ///< the child stopped at a wrong case
  char message[1 << 14] = {};
  char remarks[1 << 14] = {}; ///< of the cases that finished, a line each
};

class SharedPage {
public:
  SharedPage() {
    void *memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    page = memory == MAP_FAILED ? nullptr : new (memory) Shared;
  }
  ~SharedPage() {
    if (page)
      munmap(page, sizeof(Shared));
  }
  Shared *page;
};

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Ended {
  Failure failure = Failure::None;
  std::string message;
};

/// The processor time that a child has used; on a loaded machine the clock on the
/// wall says nothing about a case.
double processorSeconds(pid_t child) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Waits for a child, and ends it if it makes no progress: if a case uses too
/// much processor time, or stands still for ten times as long.
Ended await(pid_t child, Shared &shared, double caseSeconds) {
  uint64_t seen = 0;
  auto progress = Clock::now();
  double used = 0;
  for (;;) {
    int status = 0;
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return {shared.failed ? Failure::Mismatch : Failure::None, shared.message};
      return {Failure::Crash, WIFSIGNALED(status)
                                  ? "signal " + std::to_string(WTERMSIG(status))
                                  : "exit status " + std::to_string(WEXITSTATUS(status))};
    }
    if (ended < 0)
      return {Failure::Crash, "the child was lost"};
    if (uint64_t now = shared.finished.load(); now != seen) {
      seen = now;
      progress = Clock::now();
      used = processorSeconds(child);
    } else if (processorSeconds(child) - used > caseSeconds ||
               secondsSince(progress) > 10 * caseSeconds) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return {Failure::Hang,
              "no end within " + std::to_string(int(caseSeconds)) + " s of processor time"};
    }
    usleep(2000);
  }
}

/// The child's part: runs cases until one fails.
void runCases(Shared &shared, uint64_t seed, uint64_t count, Clock::time_point start,
              double seconds, const Case &one) {
  for (uint64_t i = 0; i < count; ++i) {
    if (seconds > 0 && secondsSince(start) > seconds)
      return;
    CaseResult result = one(seed + i, shared.counters);
    if (result.failed) {
      std::snprintf(shared.message, sizeof shared.message, "%s", result.message.c_str());
      shared.failed = true;
      return;
    }
    if (!result.remark.empty()) {
      size_t used = std::strlen(shared.remarks);
      std::snprintf(shared.remarks + used, sizeof shared.remarks - used, "%.300s\n",
                    result.remark.c_str());
    }
    ++shared.finished;
  }
}

} // namespace

const char *penstock::fuzz::nameOf(Failure failure) {
  switch (failure) {
  case Failure::None:
    return "none";
  case Failure::Mismatch:
    return "mismatch";
  case Failure::Crash:
    return "crash";
  case Failure::Hang:
    return "hang";
  }
  return "";
}

namespace {

/// Tells people who wait how far a run is.
class Progress {
public:
  explicit Progress(const BatchOptions &options) : options(options) {}

  void report(const BatchResult &result) {
    if (options.progress.empty())
      return;
    for (; toldFailures < result.failures.size(); ++toldFailures) {
      const FailedCase &failed = result.failures[toldFailures];
      std::fprintf(stderr, "%s: seed %llu fails: %s\n", options.progress.c_str(),
                   (unsigned long long)failed.seed, nameOf(failed.failure));
    }
    if (secondsSince(told) < 10)
      return;
    told = Clock::now();
    std::string until = options.seconds > 0
                            ? "in " + std::to_string(int(secondsSince(start))) + " of " +
                                  std::to_string(int(options.seconds)) + " seconds"
                            : "of " + std::to_string(options.count);
    std::fprintf(stderr, "%s: %llu %s, %zu failed\n", options.progress.c_str(),
                 (unsigned long long)result.cases, until.c_str(), result.failures.size());
  }

private:
  const BatchOptions &options;
  Clock::time_point start = Clock::now(), told = start;
  size_t toldFailures = 0;
};

} // namespace

BatchResult penstock::fuzz::runBatches(const BatchOptions &options, const Case &one) {
  BatchResult result;
  Progress progress(options);
  auto start = Clock::now();
  SharedPage shared;
  if (!shared.page)
    return result;
  uint64_t next = options.seed, last = options.seed + options.count;
  while (next < last && (options.seconds <= 0 || secondsSince(start) < options.seconds)) {
    new (shared.page) Shared;
    uint64_t count = std::min<uint64_t>(static_cast<uint64_t>(options.batch), last - next);
    std::fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      runCases(*shared.page, next, count, start, options.seconds, one);
      std::fflush(nullptr);
      _exit(0); // no destructors: what leaks in a crash test is no finding
    }
    if (child < 0)
      break;
    Ended ended = await(child, *shared.page, options.caseSeconds);
    uint64_t finished = shared.page->finished.load();
    for (int i = 0; i < maxCounters; ++i)
      result.counters[i] += shared.page->counters[i];
    std::istringstream remarks(shared.page->remarks);
    for (std::string remark; std::getline(remarks, remark);)
      ++result.remarks[remark];
    if (ended.failure != Failure::None) {
      result.failures.push_back({next + finished, ended.failure, ended.message});
      ++finished;
    } else if (finished < count) {
      result.cases += finished;
      break; // out of time
    }
    result.cases += finished;
    next += finished;
    progress.report(result);
  }
  return result;
}

FailedCase penstock::fuzz::runAlone(uint64_t seed, double seconds, const Case &one) {
  BatchOptions options;
  options.count = 1;
  options.seed = seed;
  options.batch = 1;
  options.caseSeconds = seconds;
  BatchResult result = runBatches(options, one);
  if (result.failures.empty())
    return {seed, Failure::None, ""};
  return result.failures.front();
}

int penstock::fuzz::report(const BatchResult &result, const char *mode, const char *cases,
                           std::initializer_list<std::pair<const char *, uint64_t>> counts) {
  for (const FailedCase &failed : result.failures)
    std::printf("%s with %s 1 --seed %llu: %s\n", nameOf(failed.failure), mode,
                static_cast<unsigned long long>(failed.seed), failed.message.c_str());
  std::printf("%s=%llu", cases, static_cast<unsigned long long>(result.cases));
  for (auto [name, count] : counts)
    std::printf(" %s=%llu", name, static_cast<unsigned long long>(count));
  std::printf(" mismatches=%zu\n", result.failures.size());
  return result.failures.empty() ? 0 : 1;
}
