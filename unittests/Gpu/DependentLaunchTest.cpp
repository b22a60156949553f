//===- DependentLaunchTest.cpp - Programmatic dependent launches ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AddKernel.h"
#include "Shim.h"

#include <cstdlib>
#include <random>

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr int64_t size = 100;
constexpr size_t bytes = size * sizeof(int32_t);

const char *const trigger = "griddepcontrol.launch_dependents;";
const char *const waits = "griddepcontrol.wait;";

cuda::Program makeProgram(const std::string &name, const std::string &begin,
                          const std::string &end = "") {
  setenv("PENSTOCK_EMU_DEVICE", "h100,h100", 1);
  EXPECT_CUDA(call("cuInit", 0u));
  return cuda::Program(addArtifact(name, begin, end), {"", false});
}

/// Vectors on GPU 0 whose elements are all equal.
struct Vectors {
  explicit Vectors(size_t count) : addresses(count) {
    OnDevice on(0);
    for (DevicePointer &address : addresses) {
      EXPECT_CUDA(call("cuMemAlloc_v2", &address, bytes));
      EXPECT_CUDA(call("cuMemsetD32_v2", address, 1u, size_t(size)));
    }
    // Streams of these tests do not wait for the default stream.
    EXPECT_CUDA(call("cuCtxSynchronize"));
  }
  ~Vectors() {
    OnDevice on(0);
    for (DevicePointer address : addresses)
      call("cuMemFree_v2", address);
  }
  /// The value of all elements; none if they differ.
  std::optional<int32_t> operator[](size_t i) const {
    OnDevice on(0);
    std::vector<int32_t> all(size);
    EXPECT_CUDA(call("cuMemcpyDtoH_v2", static_cast<void *>(all.data()), addresses[i], bytes));
    for (int32_t each : all)
      if (each != all[0])
        return std::nullopt;
    return all[0];
  }
  std::vector<DevicePointer> addresses;
};

/// to = from + increment
std::vector<Diagnostic> launch(cuda::Program &program, void *stream, const Vectors &v, size_t from,
                               size_t to, int32_t increment, bool overlap) {
  detail::Argument arguments[3] = {
      vectorAt(v.addresses[from], size), {}, vectorAt(v.addresses[to], size)};
  arguments[1].element = Element::i32;
  arguments[1].scalar = uint32_t(increment);
  LaunchOptions options;
  options.stream = stream;
  options.overlap_previous = overlap;
  return cuda::launch(program, arguments, options, here());
}

/// Launches both several times, directly or as a graph, and returns the findings.
std::string findingsOf(cuda::Program &produce, cuda::Program &consume, const Vectors &v,
                       bool graph) {
  Stream stream(0);
  for (cuda::Program *program : {&produce, &consume})
    EXPECT_TRUE(cuda::prepare(*program, 0, here()).empty());
  testing::internal::CaptureStderr();
  for (int i = 0; i < 4; ++i) {
    OnDevice on(0);
    void *captured = nullptr, *executable = nullptr;
    if (graph)
      EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(cuda::CaptureGlobal)));
    EXPECT_TRUE(launch(produce, stream, v, 0, 1, 10, false).empty());
    EXPECT_TRUE(launch(consume, stream, v, 1, 2, 100, true).empty());
    if (graph) {
      EXPECT_CUDA(call("cuStreamEndCapture", stream.handle, &captured));
      EXPECT_CUDA(call("cuGraphInstantiateWithFlags", &executable, captured, 0ull));
      EXPECT_CUDA(call("cuGraphLaunch", executable, stream.handle));
    }
    EXPECT_TRUE(cuda::synchronize(stream.handle, here()).empty());
    if (graph) {
      EXPECT_CUDA(call("cuGraphExecDestroy", executable));
      EXPECT_CUDA(call("cuGraphDestroy", captured));
    }
  }
  return testing::internal::GetCapturedStderr();
}

TEST(DependentLaunch, AKernelThatWaitsMayOverlap) {
  auto produce = makeProgram("Produce", trigger), consume = makeProgram("Consume", waits);
  for (bool graph : {false, true}) {
    Vectors v(3);
    EXPECT_EQ(findingsOf(produce, consume, v, graph), "");
    EXPECT_EQ(v[2], 111);
  }
}

TEST(DependentLaunch, AKernelThatWaitsTooLateIsFound) {
  auto produce = makeProgram("Produce", trigger), consume = makeProgram("Consume", "", waits);
  for (bool graph : {false, true}) {
    Vectors v(3);
    std::string findings = findingsOf(produce, consume, v, graph);
    EXPECT_NE(findings.find("PS1772"), std::string::npos) << findings;
    EXPECT_NE(findings.find("kernel `Produce`"), std::string::npos) << findings;
    EXPECT_NE(findings.find("kernel `Consume`"), std::string::npos) << findings;
  }
}

// Nothing overlaps without the attribute, whatever the kernels do.
TEST(DependentLaunch, WithoutTheOptionNothingOverlaps) {
  auto produce = makeProgram("Produce", trigger), consume = makeProgram("Consume", "");
  Vectors v(3);
  Stream stream(0);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(launch(produce, stream, v, 0, 1, 10, false).empty());
  EXPECT_TRUE(launch(consume, stream, v, 1, 2, 100, false).empty());
  EXPECT_TRUE(cuda::synchronize(stream.handle, here()).empty());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(v[2], 111);
}

TEST(DependentLaunch, AKernelThatNeverWaitsIsRefused) {
  auto consume = makeProgram("Consume", trigger);
  Vectors v(2);
  Stream stream(0);
  auto problems = launch(consume, stream, v, 0, 1, 1, true);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code, 1771u);
  EXPECT_NE(to_text(problems).find("b.wait_for_previous()"), std::string::npos);
}

// Launches on two streams with and without overlap compute what they compute one after the
// other, wherever kernels let the next one start.
TEST(DependentLaunch, RandomSequences) {
  auto early = makeProgram("Early", std::string(trigger) + "\n" + waits);
  auto late = makeProgram("Late", waits, trigger);
  auto plain = makeProgram("Plain", waits);
  cuda::Program *programs[] = {&early, &late, &plain};
  Stream streams[2] = {Stream(0), Stream(0)};
  Vectors v(6);
  int32_t model[6] = {1, 1, 1, 1, 1, 1};
  testing::internal::CaptureStderr();
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    for (size_t left = 2 + random() % 10; left-- > 0;) {
      // Each stream has three vectors of its own.
      size_t s = random() % 2, from = random() % 3, to = (from + 1 + random() % 2) % 3;
      int32_t increment = int32_t(random() % 9);
      EXPECT_TRUE(launch(*programs[random() % 3], streams[s], v, 3 * s + from, 3 * s + to,
                         increment, random() % 4 != 0)
                      .empty());
      model[3 * s + to] = model[3 * s + from] + increment;
    }
    for (const Stream &stream : streams)
      EXPECT_TRUE(cuda::synchronize(stream.handle, here()).empty());
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(v[i], model[i]) << "seed " << seed;
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace
