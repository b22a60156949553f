//===- ChildProcess.h - Runs a function in a child --------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_UNITTESTS_CACHE_CHILDPROCESS_H
#define PENSTOCK_UNITTESTS_CACHE_CHILDPROCESS_H

#include <chrono>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace penstock {

/// The result of the function is the exit code, without running what runs at exit.
class ChildProcess {
public:
  explicit ChildProcess(const std::function<int()> &run) : pid(::fork()) {
    if (pid == 0)
      ::_exit(run());
  }
  ChildProcess(ChildProcess &&other) noexcept : pid(std::exchange(other.pid, -1)) {}
  ~ChildProcess() { kill(); }

  /// Returns the exit code, -1 if it ended otherwise, -2 if it does not end in time.
  int wait(std::chrono::seconds longest = std::chrono::seconds(120)) {
    auto end = std::chrono::steady_clock::now() + longest;
    int status = 0;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > end)
        return -2;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void kill() {
    if (pid <= 0)
      return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = -1;
  }

private:
  pid_t pid;
};

} // namespace penstock

#endif // PENSTOCK_UNITTESTS_CACHE_CHILDPROCESS_H
