//===- OverlapTest.cpp - Kernels that overlap the previous one ------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programmatic dependent launch: sequences of kernels that wait for the previous one, or
// do not. What must be found follows from the rules of the ISA alone: only a wait orders
// the accesses of two kernels, and it reaches kernels further back through those between.
//
//===----------------------------------------------------------------------===//
#include "Diagnostics/Codes.h"
#include "Emulator/Launch.h"

#include <gtest/gtest.h>
#include <random>

using namespace penstock;
using namespace penstock::emu;

namespace {

constexpr uint32_t elements = 96, buffers = 4, shift = 37;

/// Each thread has a sum. A read adds an element that another thread writes, in another
/// block as well; a write stores the sum to the thread's own element.
struct Step {
  enum Kind : uint8_t { Read, Write, Wait, Trigger, Barrier } kind = Barrier;
  uint32_t buffer = 0;
};

struct SteppedKernel {
  std::vector<Step> steps;
  uint32_t blocks = 1;
  uint32_t start = 0; ///< the sum before the first step
};

std::string ptxOf(const std::vector<SteppedKernel> &kernels) {
  std::string text = ".version 8.0\n.target sm_90a\n.address_size 64\n";
  for (size_t k = 0; k < kernels.size(); ++k) {
    text += ".visible .entry kernel" + std::to_string(k) + "(";
    for (uint32_t b = 0; b < buffers; ++b)
      text += (b ? ", " : "") + (".param .u64 p" + std::to_string(b));
    text += ") {\n.reg .b32 %r<8>;\n.reg .b64 %d<6>;\n"
            "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\n"
            "mad.lo.u32 %r2, %r0, %r1, %r2;\n"
            "add.u32 %r3, %r2, " +
            std::to_string(shift) + ";\nrem.u32 %r3, %r3, " + std::to_string(elements) +
            ";\nmov.u32 %r4, " + std::to_string(kernels[k].start) + ";\n";
    for (const Step &step : kernels[k].steps) {
      std::string address = "ld.param.u64 %d0, [p" + std::to_string(step.buffer) +
                            "];\nmad.wide.u32 %d0, " + (step.kind == Step::Read ? "%r3" : "%r2") +
                            ", 4, %d0;\n";
      switch (step.kind) {
      case Step::Read:
        text += address + "ld.global.u32 %r5, [%d0];\nadd.u32 %r4, %r4, %r5;\n";
        break;
      case Step::Write:
        text += address + "st.global.u32 [%d0], %r4;\n";
        break;
      case Step::Wait:
        text += "griddepcontrol.wait;\n";
        break;
      case Step::Trigger:
        text += "griddepcontrol.launch_dependents;\n";
        break;
      case Step::Barrier:
        text += "bar.sync 0;\n";
      }
    }
    text += "ret;\n}\n";
  }
  return text;
}

struct Outcome {
  std::vector<std::vector<uint32_t>> contents;
  std::vector<Report> reports;
  bool has(unsigned code) const {
    for (const Report &report : reports)
      if (report.has(code))
        return true;
    return false;
  }
  size_t findings() const {
    size_t count = 0;
    for (const Report &report : reports)
      count += report.findings.size();
    return count;
  }
};

uint32_t initial(uint32_t buffer, uint32_t i) { return 1000 * (buffer + 1) + i; }

Outcome runKernels(const std::vector<SteppedKernel> &kernels, const LaunchOptions &options) {
  Device device;
  Outcome outcome;
  std::vector<Diagnostic> diagnostics;
  auto module = device.load(ptxOf(kernels), "test.ptx", diagnostics);
  EXPECT_TRUE(module && diagnostics.empty()) << ptxOf(kernels);
  if (!module)
    return outcome;
  ParamPacker params;
  std::vector<uint64_t> addresses;
  for (uint32_t b = 0; b < buffers; ++b) {
    std::vector<uint32_t> content(elements);
    for (uint32_t i = 0; i < elements; ++i)
      content[i] = initial(b, i);
    addresses.push_back(device.memory.allocate(4 * elements, "buffer" + std::to_string(b)));
    device.write(addresses.back(), content.data(), 4 * elements);
    params.add(addresses.back());
  }
  std::vector<Launch> launches;
  for (size_t k = 0; k < kernels.size(); ++k) {
    LaunchConfig config;
    config.grid = {kernels[k].blocks, 1, 1};
    config.block = {elements / kernels[k].blocks, 1, 1};
    config.params = params.bytes;
    launches.push_back({module.get(), "kernel" + std::to_string(k), config, options});
  }
  outcome.reports = device.launchOverlapping(launches);
  for (uint64_t address : addresses) {
    outcome.contents.emplace_back(elements);
    device.read(address, outcome.contents.back().data(), 4 * elements);
  }
  return outcome;
}

/// What the kernels compute one after the other.
std::vector<std::vector<uint32_t>> sequential(const std::vector<SteppedKernel> &kernels) {
  std::vector<std::vector<uint32_t>> contents(buffers, std::vector<uint32_t>(elements));
  for (uint32_t b = 0; b < buffers; ++b)
    for (uint32_t i = 0; i < elements; ++i)
      contents[b][i] = initial(b, i);
  for (const SteppedKernel &kernel : kernels) {
    auto before = contents; // no buffer is both read and written by one kernel
    for (uint32_t i = 0; i < elements; ++i) {
      uint32_t sum = kernel.start;
      for (const Step &step : kernel.steps)
        if (step.kind == Step::Read)
          sum += before[step.buffer][(i + shift) % elements];
        else if (step.kind == Step::Write)
          contents[step.buffer][i] = sum;
    }
  }
  return contents;
}

/// Whether some access is not ordered after a conflicting one of a kernel before.
bool races(const std::vector<SteppedKernel> &kernels) {
  auto hasWait = [&](size_t k) {
    for (const Step &step : kernels[k].steps)
      if (step.kind == Step::Wait)
        return true;
    return false;
  };
  for (size_t k = 1; k < kernels.size(); ++k) {
    bool waited = false;
    for (const Step &step : kernels[k].steps) {
      waited |= step.kind == Step::Wait;
      if (step.kind != Step::Read && step.kind != Step::Write)
        continue;
      bool ordered = waited;
      for (size_t other = k; other-- > 0; ordered = ordered && hasWait(other))
        if (!ordered)
          for (const Step &earlier : kernels[other].steps)
            if (earlier.buffer == step.buffer &&
                (earlier.kind == Step::Write ||
                 (earlier.kind == Step::Read && step.kind == Step::Write)))
              return true;
    }
  }
  return false;
}

std::vector<LaunchOptions> timings() {
  std::vector<LaunchOptions> all;
  for (const char *text : {"eager", "lazy", "random:1", "random:2", "random:3", "starve:0"}) {
    all.emplace_back();
    EXPECT_TRUE(parseTiming(text, all.back()));
  }
  return all;
}

using Steps = std::vector<Step>;
const Step waits = {Step::Wait}, triggers = {Step::Trigger};
Step reads(uint32_t buffer) { return {Step::Read, buffer}; }
Step writes(uint32_t buffer) { return {Step::Write, buffer}; }

TEST(Overlap, AWaitOrdersTheKernels) {
  for (const Steps &producer : {Steps{triggers, reads(0), writes(1)}, Steps{reads(0), writes(1)},
                                Steps{reads(0), writes(1), triggers}}) {
    std::vector<SteppedKernel> kernels = {{producer, 3, 5}, {{waits, reads(1), writes(2)}, 2, 7}};
    for (const LaunchOptions &timing : timings()) {
      Outcome outcome = runKernels(kernels, timing);
      EXPECT_EQ(outcome.findings(), 0u);
      EXPECT_EQ(outcome.contents, sequential(kernels));
    }
  }
}

TEST(Overlap, AMissingWaitIsFoundInEveryTiming) {
  std::vector<SteppedKernel> kernels = {{{triggers, reads(0), writes(1)}, 3, 5},
                                        {{reads(1), waits, writes(2)}, 2, 7}};
  for (const LaunchOptions &timing : timings()) {
    Outcome outcome = runKernels(kernels, timing);
    EXPECT_TRUE(outcome.has(EmuGridRace));
    std::string text;
    for (const Report &report : outcome.reports)
      for (const Diagnostic &finding : report.findings) {
        text += finding.message;
        for (const DiagnosticNote &note : finding.notes)
          text += note.message;
      }
    EXPECT_NE(text.find("kernel `kernel0`"), std::string::npos) << text;
    EXPECT_NE(text.find("kernel `kernel1`"), std::string::npos) << text;
  }
}

// A kernel that starts early computes something else.
TEST(Overlap, AMissingWaitChangesResultsWhereTheKernelStartsEarly) {
  std::vector<SteppedKernel> kernels = {{{triggers, reads(0), writes(1)}, 3, 5},
                                        {{reads(1), writes(2)}, 2, 7}};
  EXPECT_NE(runKernels(kernels, timings()[0]).contents, sequential(kernels));
  EXPECT_EQ(runKernels(kernels, timings()[1]).contents, sequential(kernels)); // it starts late
  // Without launch_dependents, it starts when the first has ended; still nothing orders them.
  kernels[0].steps.erase(kernels[0].steps.begin());
  Outcome outcome = runKernels(kernels, timings()[0]);
  EXPECT_EQ(outcome.contents, sequential(kernels));
  EXPECT_TRUE(outcome.has(EmuGridRace));
}

TEST(Overlap, AnOverwriteOfWhatThePreviousKernelReadsIsFound) {
  std::vector<SteppedKernel> kernels = {{{triggers, reads(0), writes(1)}, 3, 5},
                                        {{writes(0), waits}, 1, 7}};
  for (const LaunchOptions &timing : timings())
    EXPECT_TRUE(runKernels(kernels, timing).has(EmuGridRace));
}

// The wait of the third reaches the first only through a wait of the second.
TEST(Overlap, WaitsReachFurtherKernelsThroughThoseBetween) {
  std::vector<SteppedKernel> kernels = {{{triggers, reads(0), writes(1)}, 3, 5},
                                        {{triggers, reads(2), waits}, 2, 7},
                                        {{waits, reads(1), writes(3)}, 1, 9}};
  for (const LaunchOptions &timing : timings())
    EXPECT_EQ(runKernels(kernels, timing).findings(), 0u);
  kernels[1].steps.pop_back();
  for (const LaunchOptions &timing : timings())
    EXPECT_TRUE(runKernels(kernels, timing).has(EmuGridRace));
}

// The only kernel, or the first of a stream.
TEST(Overlap, AWaitReturnsAtOnceWithoutAPreviousKernel) {
  std::vector<SteppedKernel> kernels = {{{waits, reads(0), writes(1), triggers}, 3, 5}};
  for (const LaunchOptions &timing : timings()) {
    Outcome outcome = runKernels(kernels, timing);
    EXPECT_EQ(outcome.findings(), 0u);
    EXPECT_EQ(outcome.contents, sequential(kernels));
  }
}

// One thread waits, and a barrier tells the others.
TEST(Overlap, ABarrierPassesAWaitOn) {
  const char *text = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry produce(.param .u64 p) {
.reg .b32 %r<4>;
.reg .b64 %d<4>;
griddepcontrol.launch_dependents;
mov.u32 %r0, %tid.x;
ld.param.u64 %d0, [p];
mad.wide.u32 %d0, %r0, 4, %d0;
st.global.u32 [%d0], %r0;
ret;
}
.visible .entry consume(.param .u64 p) {
.reg .b32 %r<4>;
.reg .b64 %d<4>;
.reg .pred %p<2>;
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
@%p0 griddepcontrol.wait;
BARRIER
ld.param.u64 %d0, [p];
mad.wide.u32 %d0, %r0, 4, %d0;
ld.global.u32 %r1, [%d0];
add.u32 %r1, %r1, 1;
st.global.u32 [%d0], %r1;
ret;
}
)";
  for (bool barrier : {true, false}) {
    std::string ptx = text;
    ptx.replace(ptx.find("BARRIER"), 7, barrier ? "bar.sync 0;" : "");
    Device device;
    std::vector<Diagnostic> diagnostics;
    auto module = device.load(ptx, "test.ptx", diagnostics);
    ASSERT_TRUE(module && diagnostics.empty());
    uint64_t at = device.memory.allocate(4 * 64, "x");
    LaunchConfig config;
    config.block = {64, 1, 1};
    config.params = ParamPacker().add(at).bytes;
    auto reports = device.launchOverlapping(
        {{module.get(), "produce", config, {}}, {module.get(), "consume", config, {}}});
    EXPECT_EQ(reports[1].has(EmuGridRace) || reports[0].has(EmuGridRace), !barrier);
    uint32_t last = 0;
    device.read(at + 4 * 63, &last, 4);
    if (barrier)
      EXPECT_EQ(last, 64u);
  }
}

// Sequences with waits and triggers at random: found is what is not ordered, and sequences
// without findings compute what they compute one after the other.
TEST(Overlap, RandomSequences) {
  size_t racing = 0, silent = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<SteppedKernel> kernels(2 + random() % 3);
    for (SteppedKernel &kernel : kernels) {
      kernel.blocks = uint32_t(1 + random() % 3);
      kernel.start = uint32_t(random() % 100);
      uint64_t written = 1 + random() % (buffers - 1);
      for (size_t left = 1 + random() % 3; left-- > 0;)
        kernel.steps.push_back(random() % 2
                                   ? reads(uint32_t(random() % written))
                                   : writes(uint32_t(written + random() % (buffers - written))));
      auto insert = [&](Step step, size_t at) {
        kernel.steps.insert(kernel.steps.begin() + std::ptrdiff_t(at), step);
      };
      if (random() % 4)
        insert(waits, random() % 3 ? 0 : random() % (kernel.steps.size() + 1));
      if (random() % 3)
        insert(triggers, random() % (kernel.steps.size() + 1));
      if (random() % 3 == 0)
        insert({Step::Barrier}, random() % (kernel.steps.size() + 1));
    }
    bool expected = races(kernels);
    ++(expected ? racing : silent);
    LaunchOptions random1;
    ASSERT_TRUE(parseTiming("random:" + std::to_string(seed + 1), random1));
    for (const LaunchOptions &timing : {LaunchOptions(), random1}) {
      Outcome outcome = runKernels(kernels, timing);
      ASSERT_EQ(outcome.has(EmuGridRace), expected) << "seed " << seed << "\n" << ptxOf(kernels);
      if (!expected) {
        ASSERT_EQ(outcome.findings(), 0u) << "seed " << seed;
        ASSERT_EQ(outcome.contents, sequential(kernels)) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(racing, 50u);
  EXPECT_GT(silent, 50u);
}

} // namespace
