//===- ObservationTest.cpp - Events and statistics ------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Tuning/SchedulingDelay.h"

#include <penstock/log.h>
#include <penstock/statistics.h>

#include <chrono>
#include <csignal>
#include <mutex>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace penstock;
using namespace testing;

namespace {

/// Events by name, with their subjects.
std::map<std::string, std::multiset<std::string>> eventsOf(const std::function<void()> &run) {
  std::map<std::string, std::multiset<std::string>> events;
  std::mutex mutex;
  set_log(LogLevel::Debug, [&](const Event &event) {
    std::lock_guard lock(mutex);
    events[event.name].insert(event.subject);
  });
  run();
  set_log(LogLevel::Off, {});
  return events;
}

TEST(TuneObservation, EventsShowEachCandidate) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  TuneReport report;
  auto events = eventsOf([&] {
    report =
        tune(Scale{}, Target::native(), {{"N", 1000}}, {.rounds = 2, .jobs = 1, .cache = &cache});
  });
  EXPECT_EQ(events["tune"], (std::multiset<std::string>{"Scale N=1000"}));
  // All six points are examined. `where` leaves five, and those are compiled and run once; two
  // of them are wrong, and the other three are timed.
  EXPECT_EQ(events["examine"].size(), 6u);
  EXPECT_EQ(events["compile candidate"].size(), 5u);
  EXPECT_EQ(events["compare"].size(), 5u);
  size_t samples = 0;
  for (const TuneCandidate &candidate : report.candidates) {
    samples += candidate.samples.size();
    EXPECT_EQ(events["measure"].count("Scale " + candidate.point()), candidate.samples.size());
  }
  EXPECT_GE(samples, 6u);
  EXPECT_EQ(events["measure"].size(), samples);
}

TEST(TuneObservation, StatisticsCountCandidatesAndSamples) {
  TemporaryCache folder;
  KernelCache cache = folder.open();
  Statistics before = statistics();
  TuneReport report =
      tune(Scale{}, Target::native(), {{"N", 1000}}, {.rounds = 2, .cache = &cache});
  Statistics after = statistics();
  size_t samples = 0, disturbed = 0;
  for (const TuneCandidate &candidate : report.candidates) {
    samples += candidate.samples.size();
    disturbed += size_t(std::ranges::count(candidate.disturbed, true));
  }
  EXPECT_EQ(after.tuned_shapes - before.tuned_shapes, 1u);
  EXPECT_EQ(after.tune_examined - before.tune_examined, 6u);
  EXPECT_EQ(after.tune_removed - before.tune_removed, 3u); // 1 by `where`, 2 by their results
  EXPECT_EQ(after.tune_wrong - before.tune_wrong, 2u);
  EXPECT_EQ(after.tune_samples - before.tune_samples, samples);
  EXPECT_EQ(after.tune_disturbed - before.tune_disturbed, disturbed);

  auto kernel = tuned(Scale{}, Target::native(), {.cache = &cache});
  kernel.prepare({{"N", 1000}});
  kernel.prepare({{"N", 1001}}); // of the same class
  kernel.prepare({{"N", 100000}});
  Statistics last = statistics();
  EXPECT_EQ(last.chosen_from_record - after.chosen_from_record, 1u);
  EXPECT_EQ(last.chosen_from_nearest - after.chosen_from_nearest, 1u);
  EXPECT_EQ(last.chosen_default - after.chosen_default, 0u);
}

TEST(LaunchObservation, LaunchesAreCountedByTarget) {
  std::vector<float> x(100, 1.0f), y(100), shorter(50);
  auto native = compile(Scale{}, Target::native());
  auto emulated = compile(Scale{}, Target::sm_90a().emulated());
  Statistics before = statistics();
  auto events = eventsOf([&] {
    native(view(x, {100}), view(y, {100}));
    native(view(x, {100}), view(y, {100}));
    emulated(view(x, {100}), view(y, {100}));
    EXPECT_FALSE(native.try_launch({}, view(x, {100}), view(shorter, {50})).empty());
  });
  Statistics after = statistics();
  EXPECT_EQ(after.native_launches - before.native_launches, 3u);
  EXPECT_EQ(after.emulated_launches - before.emulated_launches, 1u);
  EXPECT_EQ(after.gpu_launches - before.gpu_launches, 0u);
  EXPECT_EQ(after.failed_launches - before.failed_launches, 1u);
  EXPECT_EQ(events["launch"].count("Scale"), 4u);
}

TEST(LaunchObservation, CompilationsAreCountedWithTheirTime) {
  Statistics before = statistics();
  compile(Scale{}, Target::native(), {.cache = &KernelCache::none()});
  // A tile of 512 KB fits into no block of a GPU.
  EXPECT_FALSE(
      try_compile(Scale{.block = 1 << 17}, Target::sm_90a(), {.cache = &KernelCache::none()}));
  Statistics after = statistics();
  EXPECT_EQ(after.compiled - before.compiled, 2u);
  EXPECT_EQ(after.failed_compiles - before.failed_compiles, 1u);
  EXPECT_GT(after.compile_seconds, before.compile_seconds);
}

// The text format of Prometheus: each family begins with HELP and TYPE, and each sample is
// of the family before it.
TEST(Prometheus, FamiliesAreDeclaredBeforeTheirSamples) {
  Statistics all;
  all.compile_seconds = 1.5;
  all.gpu_launches = 7;
  all.chosen_from_table = 3;
  std::istringstream text(to_prometheus(all));
  std::string family, helped;
  std::map<std::string, std::string> samples;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string first, second, third, fourth;
    words >> first >> second >> third;
    if (first == "#" && second == "HELP") {
      helped = third;
    } else if (first == "#") {
      words >> fourth;
      EXPECT_EQ(second, "TYPE");
      EXPECT_EQ(third, helped);
      EXPECT_EQ(fourth, "counter");
      EXPECT_TRUE(third.starts_with("penstock_") && third.ends_with("_total")) << third;
      family = third;
    } else {
      EXPECT_EQ(first.substr(0, first.find('{')), family);
      EXPECT_TRUE(samples.emplace(first, second).second) << first;
      EXPECT_TRUE(third.empty());
    }
  }
  EXPECT_EQ(samples["penstock_compile_seconds_total"], "1.5");
  EXPECT_EQ(samples["penstock_launches_total{target=\"gpu\"}"], "7");
  EXPECT_EQ(samples["penstock_tuned_choices_total{from=\"table\"}"], "3");
  // One sample for each number of Statistics, which are all of 8 bytes.
  EXPECT_EQ(samples.size(), sizeof(Statistics) / 8);
}

double spin(double seconds) {
  double before = tuning::schedulingDelay();
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
  return tuning::schedulingDelay() - before;
}

TEST(SchedulingDelay, GrowsWhileOthersHaveTheCores) {
  // Three busy processes for each core leave this one about a quarter of one.
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i) {
    children.push_back(::fork());
    if (children.back() == 0)
      for (;;) {
      }
  }
  double waited = spin(0.5);
  for (pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_GT(waited, 0.1);
  // A thread that sleeps does not wait for a core.
  double before = tuning::schedulingDelay();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(tuning::schedulingDelay() - before, 0.1);
}

} // namespace
