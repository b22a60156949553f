//===- SchedulingDelay.cpp - Time that threads wait for a core ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/SchedulingDelay.h"

#include <cstdio>
#include <dirent.h>
#include <memory>
#include <string>

double penstock::tuning::schedulingDelay() {
  double nanoseconds = 0;
  std::unique_ptr<DIR, int (*)(DIR *)> threads(::opendir("/proc/self/task"), ::closedir);
  while (dirent *each = threads ? ::readdir(threads.get()) : nullptr) {
    std::string path = std::string("/proc/self/task/") + each->d_name + "/schedstat";
    std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "r"), std::fclose);
    // Time on a core, time that it waited for one, number of turns.
    unsigned long long waited = 0;
    if (file && std::fscanf(file.get(), "%*u %llu", &waited) == 1)
      nanoseconds += double(waited);
  }
  return 1e-9 * nanoseconds;
}
