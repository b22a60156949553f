//===- Workers.cpp - Batches in several processes -------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Workers.h"

#include <algorithm>
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace penstock::fuzz;

namespace {

/// Failures whose messages a worker hands on; beyond them it counts.
constexpr size_t keptFailures = 20;

void send(int fd, const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = write(fd, next, size);
    if (written <= 0)
      _exit(1);
    next += written;
    size -= size_t(written);
  }
}

bool receive(int fd, void *data, size_t size) {
  char *next = static_cast<char *>(data);
  while (size > 0) {
    ssize_t got = read(fd, next, size);
    if (got <= 0)
      return false;
    next += got;
    size -= size_t(got);
  }
  return true;
}

void sendResult(int fd, const BatchResult &result) {
  send(fd, &result.cases, sizeof result.cases);
  send(fd, &result.counters, sizeof result.counters);
  uint64_t failures = result.failures.size();
  send(fd, &failures, sizeof failures);
  for (const FailedCase &failed : result.failures) {
    uint64_t length = failed.message.size();
    send(fd, &failed.seed, sizeof failed.seed);
    send(fd, &failed.failure, sizeof failed.failure);
    send(fd, &length, sizeof length);
    send(fd, failed.message.data(), length);
  }
}

bool receiveResult(int fd, BatchResult &total) {
  BatchResult result;
  uint64_t failures = 0;
  if (!receive(fd, &result.cases, sizeof result.cases) ||
      !receive(fd, &result.counters, sizeof result.counters) ||
      !receive(fd, &failures, sizeof failures))
    return false;
  total.cases += result.cases;
  for (int i = 0; i < maxCounters; ++i)
    total.counters[i] += result.counters[i];
  for (uint64_t i = 0; i < failures; ++i) {
    FailedCase failed{};
    uint64_t length = 0;
    if (!receive(fd, &failed.seed, sizeof failed.seed) ||
        !receive(fd, &failed.failure, sizeof failed.failure) ||
        !receive(fd, &length, sizeof length))
      return false;
    failed.message.resize(length);
    if (!receive(fd, failed.message.data(), length))
      return false;
    total.failures.push_back(std::move(failed));
  }
  return true;
}

} // namespace

BatchResult penstock::fuzz::runInParallel(const BatchOptions &options, int jobs, const Case &one) {
  if (jobs <= 0)
    jobs = int(std::max(1u, std::thread::hardware_concurrency()));
  jobs = int(std::min<uint64_t>(uint64_t(jobs), std::max<uint64_t>(options.count, 1)));
  struct Worker {
    pid_t process;
    int result;
  };
  std::vector<Worker> workers;
  uint64_t next = options.seed, left = options.count;
  std::fflush(nullptr);
  for (int j = 0; j < jobs; ++j) {
    BatchOptions part = options;
    part.seed = next;
    part.count = left / uint64_t(jobs - j);
    if (jobs > 1 && !options.progress.empty())
      part.progress += " (part " + std::to_string(j + 1) + ")";
    next += part.count;
    left -= part.count;
    int ends[2];
    if (pipe(ends) != 0)
      break;
    pid_t process = fork();
    if (process == 0) {
      close(ends[0]);
      BatchResult result = runBatches(part, one);
      for (size_t i = keptFailures; i < result.failures.size(); ++i)
        result.failures[i].message.clear();
      sendResult(ends[1], result);
      std::fflush(nullptr);
      _exit(0);
    }
    close(ends[1]);
    workers.push_back({process, ends[0]});
  }
  BatchResult total;
  for (const Worker &worker : workers) {
    if (worker.process < 0 || !receiveResult(worker.result, total))
      total.failures.push_back({options.seed, Failure::Crash, "a worker was lost"});
    close(worker.result);
    int status = 0;
    if (worker.process > 0)
      waitpid(worker.process, &status, 0);
  }
  return total;
}
