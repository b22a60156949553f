//===- Measure.h - Timing two things beside each other ----------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A benchmark prints one line: name, ours, the reference, the ratio and the
// unit, separated by tabs. What is compared runs in turns, so that a disturbance
// of the machine hits both, and the best of many runs counts: noise only ever
// adds time.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_BENCHMARKS_MEASURE_H
#define PENSTOCK_BENCHMARKS_MEASURE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>
#include <vector>

namespace bench {

/// A number from the environment, e.g. to run longer on a busy machine.
inline double setting(const char *name, double otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atof(text) : otherwise;
}

/// With PENSTOCK_BENCH_CPU_TIME=1 everything runs on one thread and the time is
/// that of the processor, not of the clock: for a machine that others use.
inline bool cpuTime() {
  static const bool on = setting("PENSTOCK_BENCH_CPU_TIME", 0) != 0;
  return on;
}
/// Both sides of a comparison run on this many threads.
inline int threads() { return cpuTime() ? 1 : 2; }

inline double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
template <class F> double secondsOf(F &&run) {
  clockid_t clock = cpuTime() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  double start = now(clock);
  run();
  return now(clock) - start;
}

struct Pair {
  double ours = 1e30, theirs = 1e30;
};

/// The best time of each, taking turns for PENSTOCK_BENCH_SECONDS (2).
template <class A, class B> Pair best(A &&ours, B &&theirs) {
  ours(), theirs(); // warm
  Pair best;
  double budget = setting("PENSTOCK_BENCH_SECONDS", 2);
  double start = now(CLOCK_MONOTONIC);
  for (int round = 0; round < 5 || now(CLOCK_MONOTONIC) - start < budget; ++round) {
    best.ours = std::min(best.ours, secondsOf(ours));
    best.theirs = std::min(best.theirs, secondsOf(theirs));
  }
  return best;
}

/// Whether the command line (`--only PREFIX`) asks for a benchmark.
inline bool wanted(int argc, char **argv, const std::string &name) {
  return argc < 3 || name.compare(0, std::string(argv[2]).size(), argv[2]) == 0;
}

/// The best time in seconds, for what has a limit instead of a peer.
template <class F> double bestAlone(F &&ours) {
  return best(ours, [] {}).ours;
}

inline void line(const std::string &name, double ours, double reference, double ratio,
                 const char *unit) {
  std::printf("%s\t%.4g\t%.4g\t%.3f\t%s\n", name.c_str(), ours, reference, ratio, unit);
  std::fflush(stdout);
}
/// A ratio of 0 stands for a line without a baseline.
inline void lineOrAlone(const std::string &name, double ours, double reference, double ratio,
                        const char *unit) {
  if (ratio > 0)
    return line(name, ours, reference, ratio, unit);
  std::printf("%s\t%.4g\t-\t-\t%s\n", name.c_str(), ours, unit);
  std::fflush(stdout);
}
inline void skipped(const std::string &name, const char *why) {
  std::printf("%s\tskipped\tskipped\t-\t%s\n", name.c_str(), why);
}

/// Allocates at the start of a cache line, as frameworks do.
template <class T> struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};
  LineAllocator() = default;
  template <class U> LineAllocator(const LineAllocator<U> &) {}
  T *allocate(size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), line)); }
  void deallocate(T *memory, size_t) { ::operator delete(memory, line); }
  bool operator==(const LineAllocator &) const { return true; }
};
template <class T> using Tensor = std::vector<T, LineAllocator<T>>;

/// Numbers between -1 and 1 that repeat on every machine.
template <class T> std::vector<T> numbers(size_t count, uint32_t seed) {
  std::vector<T> result(count);
  uint32_t state = seed * 2654435761u + 1;
  for (T &x : result) {
    state = state * 1664525u + 1013904223u;
    x = T(float(int32_t(state)) * (1.0f / 2147483648.0f));
  }
  return result;
}

/// Ends the program if two results are not the same up to \p tolerance: a
/// wrong result has no speed.
template <class A, class B>
void expectClose(const std::string &name, const A &ours, const B &theirs, double tolerance) {
  for (size_t i = 0; i < ours.size(); ++i)
    if (!(std::abs(double(ours[i]) - double(theirs[i])) <= tolerance)) {
      std::fprintf(stderr, "%s: element %zu is %g, expected %g\n", name.c_str(), i, double(ours[i]),
                   double(theirs[i]));
      std::exit(1);
    }
}

} // namespace bench

#endif // PENSTOCK_BENCHMARKS_MEASURE_H
