//===- RunProgram.cpp - Compares what programs do on two targets ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunProgram.h"
#include "Compiler/Compiler.h"
#include "Diagnostics/Codes.h"
#include "penstock/cache.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <unistd.h>

using namespace penstock;
using namespace penstock::fuzz;

namespace {

/// All that can be seen of a launch.
struct Outcome {
  Data data;
  /// Code and line of each fault.
  std::set<std::pair<unsigned, unsigned>> faults = {};
  std::vector<std::string> printed = {};
};

Outcome launch(const Program &program, detail::Executable &executable, LaunchOptions options) {
  Outcome outcome{Data(program)};
  std::mutex printing;
  options.print = [&](std::string_view text) {
    std::lock_guard lock(printing);
    outcome.printed.emplace_back(text);
  };
  auto arguments = outcome.data.arguments();
  for (const Diagnostic &d : detail::launch(&executable, arguments, options, {"fuzz.cpp", 100003}))
    outcome.faults.insert({d.code, d.location.line});
  if (program.manyBlocks()) // blocks are not ordered
    std::sort(outcome.printed.begin(), outcome.printed.end());
  return outcome;
}

/// What a launch writes to standard output if nobody asks for its lines.
std::string printedByDefault(const Program &program, detail::Executable &executable) {
  std::fflush(stdout);
  std::FILE *file = std::tmpfile();
  int kept = dup(STDOUT_FILENO);
  if (!file || kept < 0 || dup2(fileno(file), STDOUT_FILENO) < 0)
    return "standard output cannot be redirected";
  Data data(program);
  auto arguments = data.arguments();
  (void)detail::launch(&executable, arguments, {}, {"fuzz.cpp", 100004});
  std::fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  std::rewind(file);
  std::string text;
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    text.append(buffer, count);
  std::fclose(file);
  return text;
}

/// Blocks are not ordered, so only the characters of all lines are compared.
bool printsTheSame(const std::vector<std::string> &lines, std::string text) {
  std::string all = std::accumulate(lines.begin(), lines.end(), std::string());
  std::sort(all.begin(), all.end());
  std::sort(text.begin(), text.end());
  return all == text;
}

std::string describe(const Outcome &outcome) {
  std::string text = "faults:";
  for (auto [code, line] : outcome.faults)
    text += " " + codeName(code) + "@" + std::to_string(line);
  text += "; printed:";
  for (const std::string &line : outcome.printed)
    text += " [" + line.substr(0, 300) + "]";
  return text;
}

std::string difference(const Program &program, const Outcome &a, const Outcome &b) {
  if (a.faults != b.faults)
    return "the faults differ: " + describe(a) + " // " + describe(b);
  if (a.printed != b.printed)
    return "what is printed differs: " + describe(a) + " // " + describe(b);
  return a.data.difference(b.data, program);
}

std::string completionOf(const LaunchOptions &options) {
  switch (options.completion) {
  case Completion::Eager:
    return "eager";
  case Completion::Latest:
    return "latest";
  case Completion::Random:
    return "random seed " + std::to_string(options.seed);
  }
  return "";
}

bool isAboutSchedules(const detail::CompileResult &result) {
  return !result.executable && !result.diagnostics.empty() &&
         std::all_of(result.diagnostics.begin(), result.diagnostics.end(),
                     [](const Diagnostic &d) { return d.code / 100 == 12; });
}

CaseResult refused(const std::vector<Diagnostic> &diagnostics, const char *target) {
  return {true, std::string("refused for ") + target + ": " + to_text(diagnostics)};
}

} // namespace

CaseResult penstock::fuzz::compareTargets(const Program &program, const std::set<unsigned> &dropped,
                                          Counters &counters) {
  detail::KernelSource source = sourceOf(program, dropped);
  auto reference = detail::compile(source, Target::interpreter(), {});
  // Programs are spread over the instruction sets that this machine has.
  CompileOptions options{.cpu = Cpu(derive(program.seed, 99) % 4), .cache = &KernelCache::none()};
  auto native = detail::compile(source, Target::native(), options);
  if (!native.executable && native.diagnostics.front().code == CpuLevel) {
    options.cpu = Cpu::Host;
    native = detail::compile(source, Target::native(), options);
  }
  if (!reference.executable || !native.executable) {
    // The schedule of a pipelined loop may ask for what its statements forbid;
    // all targets must say so.
    if (isAboutSchedules(reference) && isAboutSchedules(native)) {
      ++counters[Unscheduled];
      return {};
    }
    return reference.executable ? refused(native.diagnostics, "native code")
                                : refused(reference.diagnostics, "the interpreter");
  }
  Outcome expected = launch(program, *reference.executable, {});
  auto compare = [&](detail::Executable &executable, const char *target,
                     const LaunchOptions &options) -> CaseResult {
    Outcome actual = launch(program, executable, options);
    ++counters[Launches];
    std::string text = difference(program, expected, actual);
    if (text.empty())
      return {};
    return {true, std::string("interpreter, eager / ") + target + ", " + completionOf(options) +
                      ": " + text};
  };
  if (!expected.printed.empty()) {
    ++counters[Printing];
    for (detail::Executable *executable : {reference.executable.get(), native.executable.get()})
      if (std::string text = printedByDefault(program, *executable);
          !printsTheSame(expected.printed, text))
        return {true, "standard output is not what a callback gets: " + describe(expected) +
                          " // " + text.substr(0, 1000)};
  }
  CaseResult result = compare(*native.executable, "native", {});
  if (result.failed)
    return result;
  if (program.asynchronous(dropped)) {
    ++counters[Asynchronous];
    options.late_completion = true;
    auto late = detail::compile(source, Target::native(), options);
    if (!late.executable)
      return refused(late.diagnostics, "native code with late completion");
    for (uint64_t i = 0; i < 4; ++i) {
      LaunchOptions options;
      options.completion = i ? Completion::Random : Completion::Latest;
      options.seed = derive(program.seed, 100 + i);
      if (CaseResult r = compare(*reference.executable, "interpreter", options); r.failed)
        return r;
      if (CaseResult r = compare(*late.executable, "native", options); r.failed)
        return r;
    }
  }
  ++counters[Compared];
  counters[Faulted] += !expected.faults.empty();
  bool exact = std::none_of(program.tensors.begin(), program.tensors.end(),
                            [](const TensorDecl &t) { return t.holds == Class::Rounded; });
  counters[Exact] += exact;
  return {};
}

std::string penstock::fuzz::textOf(const Program &program, const std::set<unsigned> &dropped) {
  auto result = detail::compile(sourceOf(program, dropped), Target::interpreter(), {});
  if (!result.executable)
    return to_text(result.diagnostics);
  return detail::text(result.executable.get(), detail::Form::Tile);
}

//===----------------------------------------------------------------------===//
// Shrinking
//===----------------------------------------------------------------------===//

namespace {

using Compare = CaseResult(const Program &, const std::set<unsigned> &, Counters &);

/// Leaves out statements as long as the program fails in the same way.
std::set<unsigned> shrink(const Program &program, Failure failure, Compare compare) {
  std::set<unsigned> dropped;
  auto fails = [&](const std::set<unsigned> &candidate) {
    return runAlone(program.seed, 20, [&](uint64_t, Counters &counters) {
             return compare(program, candidate, counters);
           }).failure == failure;
  };
  bool changed = true;
  int budget = 120;
  while (changed) {
    changed = false;
    for (unsigned id = 1; id <= program.statements && budget > 0; ++id) {
      if (dropped.count(id))
        continue;
      std::set<unsigned> candidate = dropped;
      candidate.insert(id);
      --budget;
      if (fails(candidate)) {
        dropped = candidate;
        changed = true;
      }
    }
  }
  return dropped;
}

/// Prints failed cases, the first ones made shorter.
void reportFailures(const BatchResult &result, Compare compare,
                    const std::function<bool(uint64_t)> &fixed = {}) {
  int reported = 0;
  for (const FailedCase &failed : result.failures) {
    std::printf("%s with --seed %llu: %s\n", nameOf(failed.failure),
                static_cast<unsigned long long>(failed.seed), failed.message.c_str());
    if (++reported > 3 || (fixed && fixed(failed.seed)))
      continue;
    Program program = makeProgram(failed.seed);
    std::set<unsigned> dropped = shrink(program, failed.failure, compare);
    FailedCase again = runAlone(program.seed, 20, [&](uint64_t, Counters &counters) {
      return compare(program, dropped, counters);
    });
    std::printf("reduced by %zu of %u statements: %s\n", dropped.size(), program.statements,
                again.message.c_str());
    std::fflush(nullptr);
    runAlone(program.seed, 20, [&](uint64_t, Counters &) {
      std::printf("%s\n", textOf(program, dropped).c_str());
      return CaseResult{};
    });
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Programs on GPUs
//===----------------------------------------------------------------------===//

namespace {

/// How often an operation occurs in a program's text.
int occurrences(const std::string &text, const std::string &operation) {
  int count = 0;
  for (size_t at = text.find(operation); at != std::string::npos; at = text.find(operation, at + 1))
    ++count;
  return count;
}

/// A message without what differs between programs: names and numbers.
std::string withoutNames(const std::string &message) {
  std::string text;
  bool quoted = false;
  for (char c : message) {
    if (c == '`')
      quoted = !quoted;
    else if (quoted || (std::isdigit(static_cast<unsigned char>(c)) && text.ends_with('#')))
      continue;
    else if (c == '\n')
      break;
    if (c == '`')
      text += quoted ? "`" : "..`";
    else
      text += std::isdigit(static_cast<unsigned char>(c)) ? '#' : c;
  }
  return text;
}

/// A launch that did not start: its arguments violate a requirement, or it divides by zero
/// to compute the grid.
bool refusedAtLaunch(const Outcome &outcome) {
  return std::any_of(outcome.faults.begin(), outcome.faults.end(),
                     [](const auto &fault) { return fault.first == 1401 || fault.first == 1306; });
}

/// Of several faults a GPU reports the one that came first. What the arguments alone decide
/// it reports before the launch, even if the grid is empty.
std::string differenceOnDevice(const Program &program, const Outcome &expected,
                               const Outcome &actual) {
  bool empty = std::count(program.grid.begin(), program.grid.end(), 0) != 0;
  if (refusedAtLaunch(actual) && (empty || !expected.faults.empty()))
    return "";
  // What the interpreter finds racy does not race if operations complete at once.
  if (std::any_of(expected.faults.begin(), expected.faults.end(),
                  [](const auto &fault) { return fault.first >= 1407 && fault.first <= 1410; }))
    return "";
  bool known = std::includes(expected.faults.begin(), expected.faults.end(), actual.faults.begin(),
                             actual.faults.end());
  if (!known || expected.faults.empty() != actual.faults.empty())
    return "the faults differ: " + describe(expected) + " // " + describe(actual);
  if (expected.printed != actual.printed)
    return "what is printed differs: " + describe(expected) + " // " + describe(actual);
  return expected.data.difference(actual.data, program);
}

} // namespace

CaseResult penstock::fuzz::compareOnDevice(const Program &program,
                                           const std::set<unsigned> &dropped, Counters &counters) {
  detail::KernelSource source = sourceOf(program, dropped);
  auto reference = detail::compile(source, Target::interpreter(), {});
  if (!reference.executable) {
    ++counters[DeviceUnscheduled];
    return isAboutSchedules(reference) ? CaseResult{}
                                       : refused(reference.diagnostics, "the interpreter");
  }
  Random random(derive(program.seed, 30));
  std::string name = random.of(gpu_names());
  Target target = *find_gpu(name);
  auto device = detail::compile(source, target.emulated(), {.cache = &KernelCache::none()});
  if (!device.executable) {
    ++counters[DeviceRefused];
    // Each reason is a diagnostic of its own; an internal error is none.
    for (const Diagnostic &d : device.diagnostics)
      if (d.severity == Severity::Error && d.code < 200)
        return refused(device.diagnostics, "a GPU");
    for (const Diagnostic &d : device.diagnostics)
      if (d.severity == Severity::Error)
        return {.remark = codeName(d.code) + ": " + withoutNames(d.message)};
    return {};
  }
  ++counters[DeviceCompiled];
  std::string text = detail::text(device.executable.get(), detail::Form::Tile);
  int loops = occurrences(text, "scf.for");
  counters[DeviceProducts] += occurrences(text, "tile.gemm") > 0;
  counters[DeviceReductions] += occurrences(text, "tile.reduce") > 0;
  counters[DeviceParallel] += occurrences(text, "tile.parallel") > 0;
  counters[DeviceLoops] += loops > 0;
  counters[DeviceTwoLoops] += loops > 1;
  counters[DeviceConversions] += device.executable->devices.front()->kernel.conversions > 0;
  Outcome expected = launch(program, *reference.executable, {});
  counters[DeviceFaulted] += !expected.faults.empty();
  for (uint64_t i = 0; i < 2; ++i) {
    LaunchOptions options;
    options.completion = i ? Completion::Random : Completion::Latest;
    options.seed = derive(program.seed, 200 + i);
    Outcome actual = launch(program, *device.executable, options);
    for (auto [code, line] : actual.faults)
      if (code / 100 == 21)
        ++counters[DeviceFindings];
    std::string difference = differenceOnDevice(program, expected, actual);
    if (!difference.empty())
      return {true, "interpreter / " + name + ", " + completionOf(options) + ": " + difference};
  }
  return {};
}

int penstock::fuzz::runDevice(const BatchOptions &options) {
  BatchResult result = runBatches(options, [](uint64_t seed, Counters &counters) {
    return compareOnDevice(makeProgram(seed), {}, counters);
  });
  reportFailures(result, compareOnDevice);
  Counters &c = result.counters;
  auto count = [&](DeviceCounter counter) { return static_cast<unsigned long long>(c[counter]); };
  for (const auto &[reason, times] : result.remarks)
    std::printf("refused %llu times: %s\n", static_cast<unsigned long long>(times), reason.c_str());
  auto share = [&](DeviceCounter counter) {
    return 100.0 * double(count(counter)) / double(std::max(1ull, count(DeviceCompiled)));
  };
  std::printf("compiled=%llu unscheduled=%llu products=%.0f%% reductions=%.0f%% "
              "layout-changes=%.0f%% loops=%.0f%% two-loops=%.0f%% parallel=%.0f%% faults=%.0f%%\n",
              count(DeviceCompiled), count(DeviceUnscheduled), share(DeviceProducts),
              share(DeviceReductions), share(DeviceConversions), share(DeviceLoops),
              share(DeviceTwoLoops), share(DeviceParallel), share(DeviceFaulted));
  std::printf("programs=%llu refused=%llu mismatches=%zu findings=%llu\n",
              static_cast<unsigned long long>(result.cases), count(DeviceRefused),
              result.failures.size(), count(DeviceFindings));
  return result.failures.empty() ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// Programs on the CPU
//===----------------------------------------------------------------------===//

/// One case in ten is about expressions in all kinds of kernels.
static bool isAboutExpressions(uint64_t seed) { return Random(derive(seed, 20)).chance(10); }

int penstock::fuzz::runPrograms(const BatchOptions &options) {
  BatchResult result = runBatches(options, [](uint64_t seed, Counters &counters) {
    return isAboutExpressions(seed) ? compareExpressions(seed, counters)
                                    : compareTargets(makeProgram(seed), {}, counters);
  });
  reportFailures(result, compareTargets, isAboutExpressions);
  Counters &c = result.counters;
  std::printf(
      "programs=%llu compared=%llu exact=%llu faults=%llu asynchronous=%llu "
      "launches=%llu unscheduled=%llu printing=%llu explicit=%llu mismatches=%zu\n",
      static_cast<unsigned long long>(result.cases), static_cast<unsigned long long>(c[Compared]),
      static_cast<unsigned long long>(c[Exact]), static_cast<unsigned long long>(c[Faulted]),
      static_cast<unsigned long long>(c[Asynchronous]),
      static_cast<unsigned long long>(c[Launches]), static_cast<unsigned long long>(c[Unscheduled]),
      static_cast<unsigned long long>(c[Printing]), static_cast<unsigned long long>(c[Explicit]),
      result.failures.size());
  return result.failures.empty() ? 0 : 1;
}
