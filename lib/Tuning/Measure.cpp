//===- Measure.cpp - Times of candidates on hardware ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tuning/Measure.h"
#include "Diagnostics/Counters.h"
#include "Diagnostics/Events.h"
#include "Runtime/ThreadPool.h"
#include "Testing/Inputs/TestData.h"
#include "Tuning/Prune.h"
#include "Tuning/Samples.h"
#include "Tuning/SchedulingDelay.h"
#include "penstock/gpu.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

using namespace penstock;
using namespace penstock::tuning;

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A probe this much slower than the fastest one shows that another process uses the core.
constexpr double disturbedProbe = 1.25;
/// A sample whose threads waited for cores for more than this part of it is disturbed.
constexpr double disturbedDelay = 0.1;
/// A sample takes at least this long, or timers and wake-ups decide.
constexpr double shortestSample = 5e-4;
/// After this number of rounds, candidates this much slower than the best are not timed again.
constexpr std::pair<int, double> dropOuts[] = {{2, 2.0}, {4, 1.4}, {7, 1.2}};

class NativeMachine : public Machine {
public:
  explicit NativeMachine(const MadeArguments &from)
      : arguments(copyOf(from)), initial(copyOf(from)) {}

  std::vector<Diagnostic> run(const AnyKernel &kernel, MadeArguments &results) override {
    results = copyOf(initial);
    return kernel.launch(results.arguments);
  }

  std::optional<double> time(const AnyKernel &kernel, int times,
                             std::vector<Diagnostic> &diagnostics) override {
    auto begin = Clock::now();
    for (int i = 0; i < times; ++i)
      if (auto wrong = kernel.launch(arguments.arguments); !wrong.empty()) {
        diagnostics.insert(diagnostics.end(), wrong.begin(), wrong.end());
        return std::nullopt;
      }
    return since(begin) / times;
  }

  /// Multiplies numbers of the first-level cache on all threads. The slowest thread counts,
  /// as in a launch. Zeros would be faster than other numbers on some cores.
  double probe() override {
    int threads = defaultThreads();
    std::vector<double> seconds(size_t(threads), 0.0);
    parallelFor(uint64_t(threads), threads, [&](uint64_t, int worker) {
      auto begin = Clock::now();
      float sums[64] = {};
      for (int repeat = 0; repeat < 60; ++repeat)
        for (size_t i = 0; i < numbers.size(); i += 64)
          for (size_t j = 0; j < 64; ++j)
            sums[j] = sums[j] * 0.5f + numbers[i + j];
      float all = 0;
      for (float sum : sums)
        all += sum;
      sink = all;
      seconds[size_t(worker)] = std::max(seconds[size_t(worker)], since(begin));
    });
    return *std::max_element(seconds.begin(), seconds.end());
  }

  double delay() override { return schedulingDelay(); }

private:
  MadeArguments arguments, initial;
  std::vector<float> numbers = [] {
    std::vector<float> made(4096);
    for (size_t i = 0; i < made.size(); ++i)
      made[i] = 1.0f + float(i % 97) / 97;
    return made;
  }();
  std::atomic<float> sink = 0;
};

class GpuMachine : public Machine {
public:
  GpuMachine(const MadeArguments &from, const gpu::Device &device)
      : initial(copyOf(from)), arguments(from.arguments), device(device) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].tensor)
        continue;
      memory.emplace_back(initial.memory[i].size(), device);
      arguments[i].data = memory.back().data();
      arguments[i].onGpu = true;
    }
    // Larger than the L2 cache of any GPU. An emulated one has none.
    if (!device.emulated())
      flush.emplace_back(size_t(256) << 20, device);
  }

  std::vector<Diagnostic> run(const AnyKernel &kernel, MadeArguments &results) override {
    try {
      upload();
      auto diagnostics = kernel.launch(arguments);
      if (!diagnostics.empty())
        return diagnostics;
      results = copyOf(initial);
      for (size_t i = 0, next = 0; i < arguments.size(); ++i)
        if (arguments[i].tensor)
          memory[next++].download(results.memory[i].data());
      return {};
    } catch (const Error &error) {
      return error.diagnostics();
    }
  }

  std::optional<double> time(const AnyKernel &kernel, int,
                             std::vector<Diagnostic> &diagnostics) override {
    try {
      if (!flush.empty()) {
        std::vector<char> zeros(flush[0].size());
        flush[0].upload(zeros.data());
      }
      LaunchOptions options;
      options.stream = nullptr;
      std::vector<Diagnostic> wrong;
      double seconds =
          gpu::elapsed_seconds(options.stream, [&] { wrong = kernel.launch(arguments, options); });
      if (wrong.empty())
        wrong = gpu::try_synchronize(nullptr);
      if (wrong.empty())
        return seconds;
      diagnostics.insert(diagnostics.end(), wrong.begin(), wrong.end());
    } catch (const Error &error) {
      diagnostics.insert(diagnostics.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
    return std::nullopt;
  }

  double probe() override { return 0; }
  double delay() override { return 0; }

private:
  void upload() {
    for (size_t i = 0, next = 0; i < arguments.size(); ++i)
      if (arguments[i].tensor)
        memory[next++].upload(initial.memory[i].data());
  }

  MadeArguments initial;
  std::vector<detail::Argument> arguments;
  gpu::Device device;
  std::vector<gpu::Memory<char>> memory, flush;
};

} // namespace

std::unique_ptr<Machine> tuning::nativeMachine(const MadeArguments &arguments) {
  return std::make_unique<NativeMachine>(arguments);
}

std::unique_ptr<Machine> tuning::gpuMachine(const MadeArguments &arguments,
                                            std::vector<Diagnostic> &diagnostics) {
  try {
    return std::make_unique<GpuMachine>(arguments, gpu::current({}));
  } catch (const Error &error) {
    diagnostics.insert(diagnostics.end(), error.diagnostics().begin(), error.diagnostics().end());
    return nullptr;
  }
}

namespace {

/// A candidate with what its samples were taken beside.
struct Timed {
  Runnable *of = nullptr;
  std::string subject; ///< in events
  int repeats = 1;
  /// The slower one beside each sample; infinite if its threads had to wait.
  std::vector<double> probes;
  size_t before = 0; ///< samples of earlier measurements
  bool active = true;
};

class Rounds {
public:
  Rounds(Machine &machine, std::vector<Runnable> &candidates, const RoundOptions &options,
         std::vector<Diagnostic> &diagnostics)
      : machine(machine), options(options), diagnostics(diagnostics), begin(Clock::now()) {
    for (Runnable &each : candidates)
      timed.push_back({&each,
                       options.kernel + " " + each.candidate->point(),
                       1,
                       {},
                       each.candidate->samples.size()});
  }

  void run(const std::function<bool(int, int)> &after) {
    for (int i = 0; i < 20; ++i)
      fastestProbe = std::min(fastestProbe, machine.probe());
    for (Timed &each : timed)
      calibrate(each);
    // As many rounds again replace disturbed samples.
    for (int round = 0; wanted(round); ++round) {
      for (size_t i = 0; i < timed.size(); ++i)
        if (Timed &each = timed[(i + size_t(round)) % timed.size()]; each.active)
          sample(each);
      mark();
      dropOut(round + 1);
      if (!after(round + 1, expected(round + 1)))
        break;
    }
    for (const Timed &each : timed)
      count(counters().tuneDisturbed,
            uint64_t(std::ranges::count_if(each.probes,
                                           [&](double probe) { return isDisturbed(probe); })));
  }

private:
  bool isDisturbed(double probe) const { return probe > disturbedProbe * fastestProbe; }
  bool isOver() const { return options.seconds > 0 && since(begin) > options.seconds; }

  void fail(Timed &each, std::vector<Diagnostic> wrong) {
    each.active = false;
    removeBy(*each.of->candidate, stageResult, wrong.empty() ? 0 : wrong.front().code,
             wrong.empty() ? "it failed" : wrong.front().message);
    diagnostics.insert(diagnostics.end(), wrong.begin(), wrong.end());
  }

  void calibrate(Timed &each) {
    std::vector<Diagnostic> wrong;
    auto first = machine.time(each.of->kernel, 1, wrong);
    if (!first)
      return fail(each, std::move(wrong));
    each.repeats = int(std::clamp(std::ceil(shortestSample / std::max(*first, 1e-7)), 1.0, 1000.0));
  }

  void sample(Timed &each) {
    // At least one sample of each, however short the time is.
    if (isOver() && !each.probes.empty())
      return;
    std::vector<Diagnostic> wrong;
    double probe = machine.probe(), delay = machine.delay();
    auto seconds = [&] {
      TimedEvent event(LogLevel::Debug, "measure", each.subject);
      return machine.time(each.of->kernel, each.repeats, wrong);
    }();
    if (!seconds)
      return fail(each, std::move(wrong));
    delay = machine.delay() - delay;
    probe = std::max(probe, machine.probe());
    fastestProbe = std::min(fastestProbe, probe);
    if (delay > disturbedDelay * *seconds * each.repeats)
      probe = INFINITY;
    count(counters().tuneSamples);
    each.of->candidate->samples.push_back(*seconds);
    each.probes.push_back(probe);
  }

  /// The fastest probe is only known in the end.
  void mark() {
    for (Timed &each : timed) {
      TuneCandidate &to = *each.of->candidate;
      to.disturbed.resize(to.samples.size());
      for (size_t i = 0; i < each.probes.size(); ++i)
        to.disturbed[each.before + i] = isDisturbed(each.probes[i]);
      summarize(to);
    }
  }

  void dropOut(int round) {
    double best = INFINITY;
    for (const Timed &each : timed)
      if (each.active)
        best = std::min(best, each.of->candidate->seconds);
    for (auto [after, factor] : dropOuts)
      if (round == after)
        for (Timed &each : timed) {
          // The fastest of its samples, so that a disturbed one does not end it.
          const auto &samples = each.of->candidate->samples;
          if (each.active &&
              *std::min_element(samples.begin() + long(each.before), samples.end()) > factor * best)
            each.active = false;
        }
  }

  /// Returns the undisturbed samples that an active candidate lacks, the largest number.
  int lacking() const {
    long most = 0;
    for (const Timed &each : timed) {
      long good = std::count_if(each.probes.begin(), each.probes.end(),
                                [&](double probe) { return !isDisturbed(probe); });
      if (each.active)
        most = std::max(most, options.rounds - good);
    }
    return int(most);
  }

  int mostRounds() const { return 2 * options.rounds; }

  /// Returns whether another round is needed: until each has enough undisturbed samples.
  bool wanted(int round) const {
    if (isOver() && round > 0)
      return false;
    return round < options.rounds || (round < mostRounds() && lacking() > 0);
  }

  /// Returns the rounds that are expected in all after \p round of them.
  int expected(int round) const {
    return std::clamp(round + lacking(), options.rounds, mostRounds());
  }

  Machine &machine;
  const RoundOptions &options;
  std::vector<Diagnostic> &diagnostics;
  Clock::time_point begin;
  std::vector<Timed> timed;
  double fastestProbe = INFINITY;
};

} // namespace

void tuning::measureRounds(Machine &machine, std::vector<Runnable> &candidates,
                           const RoundOptions &options, std::vector<Diagnostic> &diagnostics,
                           const std::function<bool(int, int)> &after) {
  Rounds(machine, candidates, options, diagnostics).run(after);
}
