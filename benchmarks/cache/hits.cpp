//===- hits.cpp - How long a kernel takes that the cache has --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cache/second-process        the `compile` call of the README's kernel for this CPU in a
//                             process whose predecessor has compiled it; milliseconds, and
//                             the limit that we hold ourselves to
// cache/second-process-whole  all of that process, and one that compiles nothing
// cache/hit                   the same call in a process that has made it before
//
//===----------------------------------------------------------------------===//
#include "../native/Measure.h"
#include "../native/ReadmeMatmul.h"

#include <penstock/cache.h>
#include <penstock/penstock.h>

#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace penstock;

namespace {

using bench::Matmul;

/// Compiles and prints the seconds of the call, and whether it was a hit.
int compileHere() {
  double seconds = bench::secondsOf([] { compile(Matmul{}, Target::native()); });
  std::printf("%.9f %d\n", seconds, int(KernelCache::process().statistics().hits));
  return 0;
}

struct Run {
  double whole = 0, call = 0;
  bool hit = false;
};

/// Runs this program again, with an argument.
Run runAgain(const char *argument) {
  int ends[2];
  if (::pipe(ends) != 0)
    std::exit(1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string program = "cache-hits", word = argument;
  char *arguments[] = {program.data(), word.data(), nullptr};
  Run run;
  double start = bench::now(CLOCK_MONOTONIC);
  pid_t child = 0;
  if (::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ) != 0)
    std::exit(1);
  ::close(ends[1]);
  FILE *output = ::fdopen(ends[0], "r");
  int hit = 0;
  if (std::fscanf(output, "%lf %d", &run.call, &hit) == 2)
    run.hit = hit == 1;
  int status = 0;
  ::waitpid(child, &status, 0);
  run.whole = bench::now(CLOCK_MONOTONIC) - start;
  std::fclose(output);
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0)
    std::exit(1);
  return run;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && argv[1] == std::string("compile"))
    return compileHere();
  if (argc == 2 && argv[1] == std::string("nothing"))
    return 0;

  std::string folder = (std::filesystem::temp_directory_path() / "penstock-bench-XXXXXX").string();
  if (!::mkdtemp(folder.data()))
    return 1;
  ::setenv("PENSTOCK_CACHE_DIR", folder.c_str(), 1);
  const char *name = "cache/second-process", *whole = "cache/second-process-whole";
  bool missed = false;
  if (bench::wanted(argc, argv, name) || bench::wanted(argc, argv, whole)) {
    constexpr double limit = 5;
    runAgain("compile");
    double call = 1e30;
    bench::Pair processes;
    double start = bench::now(CLOCK_MONOTONIC);
    double budget = bench::setting("PENSTOCK_BENCH_SECONDS", 2);
    for (int round = 0; round < 5 || bench::now(CLOCK_MONOTONIC) - start < budget; ++round) {
      Run run = runAgain("compile");
      missed |= !run.hit;
      call = std::min(call, run.call);
      processes.ours = std::min(processes.ours, run.whole);
      processes.theirs = std::min(processes.theirs, runAgain("nothing").whole);
    }
    if (!missed && bench::wanted(argc, argv, name))
      bench::line(name, 1e3 * call, limit, 1e3 * call / limit, "ms (limit)");
    if (!missed && bench::wanted(argc, argv, whole))
      bench::line(whole, 1e3 * processes.ours, 1e3 * processes.theirs,
                  processes.ours / processes.theirs, "ms (a process that compiles nothing)");
  }
  if (name = "cache/hit"; !missed && bench::wanted(argc, argv, name)) {
    constexpr double limit = 0.5;
    double ms = 1e3 * bench::bestAlone([] { compile(Matmul{}, Target::native()); });
    missed = KernelCache::process().statistics().misses > 1;
    if (!missed)
      bench::line(name, ms, limit, ms / limit, "ms (limit)");
  }
  std::filesystem::remove_all(folder);
  if (missed)
    std::fprintf(stderr, "a kernel was not found in the cache\n");
  return missed;
}
