//===- CaptureTest.cpp - Launches that become graphs ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Shim.h"

using namespace penstock;
using namespace penstock::test;

namespace {

using namespace penstock::cuda;

struct Executable {
  ~Executable() { call("cuGraphExecDestroy", handle); }
  void *handle = nullptr;
};

/// Ends the capture and instantiates the graph.
void instantiate(Executable &executable, void *stream, size_t nodes) {
  void *graph = nullptr;
  size_t count = 0;
  ASSERT_EQ(call("cuStreamEndCapture", stream, &graph), Success);
  EXPECT_CUDA(call("cuGraphGetNodes", graph, (void **)nullptr, &count));
  EXPECT_EQ(count, nodes);
  EXPECT_CUDA(call("cuGraphInstantiateWithFlags", &executable.handle, graph, 0ull));
  EXPECT_CUDA(call("cuGraphDestroy", graph));
}

struct Vectors {
  Vectors() : x(32, gpu::Device(0)), y(32, gpu::Device(0)) {
    std::vector<int32_t> ones(32, 1);
    x.upload(ones.data());
    y.upload(ones.data());
  }
  int32_t last() {
    std::vector<int32_t> all(32);
    y.download(all.data());
    return all[31];
  }
  gpu::Memory<int32_t> x, y;
};

TEST(Capture, ACapturedLaunchReplays) {
  OnDevice on(0);
  Vectors v;
  Stream stream(0);
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  kernel.prepare(gpu::Device(0));
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(CaptureGlobal)));
  kernel.launch({.stream = stream.handle}, view(v.x, {32}), 3, view(v.y, {32}));
  kernel.launch({.stream = stream.handle}, view(v.x, {32}), 4, view(v.y, {32}));
  Executable executable;
  instantiate(executable, stream, 2);
  EXPECT_EQ(v.last(), 1); // nothing has run
  for (int i = 0; i < 3; ++i)
    EXPECT_CUDA(call("cuGraphLaunch", executable.handle, stream.handle));
  gpu::synchronize(stream.handle);
  EXPECT_EQ(v.last(), 22);
}

// Tensor maps are in the parameter, so that a graph does not depend on anything.
TEST(Capture, TensorMapsReplayAfterOtherLaunches) {
  OnDevice on(0);
  Stream stream(0);
  auto kernel = compile(Product{}, Target::sm_90a());
  std::vector<f16> ones(64 * 64, f16(1.0f)), result(64 * 64);
  gpu::Memory<f16> a(64 * 64), b(64 * 64), c(64 * 64), d(64 * 64);
  a.upload(ones.data());
  b.upload(ones.data());
  kernel.prepare(gpu::Device(0));
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(CaptureThreadLocal)));
  kernel.launch({.stream = stream.handle}, view(a, {64, 64}), view(b, {64, 64}), view(c, {64, 64}));
  Executable executable;
  instantiate(executable, stream, 1);
  kernel.launch({.stream = stream.handle}, view(a, {64, 64}), view(b, {64, 64}), view(d, {64, 64}));
  EXPECT_CUDA(call("cuGraphLaunch", executable.handle, stream.handle));
  gpu::synchronize(stream.handle);
  c.download(result.data());
  EXPECT_EQ(float(result[64 * 64 - 1]), 64.0f);
}

// Loading is not possible while a stream is captured, unless the thread says otherwise.
TEST(Capture, TheFirstLaunchMayBeCaptured) {
  OnDevice on(0);
  Vectors v;
  Stream stream(0);
  auto divided = compile(Divided{}, Target::sm_90a()); // allocates a word for faults
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(CaptureGlobal)));
  auto diagnostics = divided.try_launch({.stream = stream.handle}, view(v.x, {32}), view(v.x, {32}),
                                        view(v.y, {32}));
  EXPECT_TRUE(diagnostics.empty()) << to_text(diagnostics);
  Executable executable;
  instantiate(executable, stream, 1);
  // The mode of the thread is what it was: allocating is refused again.
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(CaptureGlobal)));
  DevicePointer memory = 0;
  EXPECT_EQ(call("cuMemAlloc_v2", &memory, size_t(16)), CaptureUnsupported);
  void *graph = nullptr;
  EXPECT_EQ(call("cuStreamEndCapture", stream.handle, &graph), CaptureInvalidated);
}

// A fault of a replayed graph is reported like any other.
TEST(Capture, FaultsOfReplaysAreReported) {
  OnDevice on(0);
  Vectors v;
  std::vector<int32_t> zeros(32);
  gpu::Memory<int32_t> z(32);
  z.upload(zeros.data());
  Stream stream(0);
  auto divided = compile(Divided{}, Target::sm_90a());
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(CaptureRelaxed)));
  divided.launch({.stream = stream.handle}, view(v.x, {32}), view(z, {32}), view(v.y, {32}));
  Executable executable;
  instantiate(executable, stream, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_CUDA(call("cuGraphLaunch", executable.handle, stream.handle));
    auto faults = gpu::try_synchronize(stream.handle);
    ASSERT_EQ(faults.size(), 1u) << to_text(faults);
    EXPECT_EQ(faults[0].code, 1403u);
  }
}

TEST(Capture, TheDefaultStreamIsRefusedMeanwhile) {
  OnDevice on(0);
  Vectors v;
  Stream stream(0, 0); // waits for the default stream
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  kernel.prepare(gpu::Device(0));
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(CaptureRelaxed)));
  auto refused = kernel.try_launch({}, view(v.x, {32}), 3, view(v.y, {32}));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(codeName(refused[0].code), "PS1706");
  EXPECT_EQ(refused[0].message,
            "the default stream waits for all others, and one of them is captured "
            "(cuLaunchKernelEx returned 906, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)");
  void *graph = nullptr;
  EXPECT_EQ(call("cuStreamEndCapture", stream.handle, &graph), CaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
}

TEST(Capture, WaitingForACapturedStreamIsRefused) {
  OnDevice on(0);
  Stream stream(0);
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(CaptureRelaxed)));
  auto refused = gpu::try_synchronize(stream.handle);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].message, "a stream is captured, and the call is not possible then "
                                "(cuStreamSynchronize returned 900, "
                                "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)");
  void *graph = nullptr;
  EXPECT_EQ(call("cuStreamEndCapture", stream.handle, &graph), CaptureInvalidated);
}

//===----------------------------------------------------------------------===//
// The rules of the emulated driver
//===----------------------------------------------------------------------===//

TEST(Capture, StreamsForkAndJoin) {
  OnDevice on(0);
  Vectors v, w;
  Stream first(0), second(0);
  Event forked(0), joined(0);
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  kernel.prepare(gpu::Device(0));
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", first.handle, int(CaptureGlobal)));
  kernel.launch({.stream = first.handle}, view(v.x, {32}), 2, view(v.y, {32}));
  EXPECT_CUDA(call("cuEventRecord", forked.handle, first.handle));
  EXPECT_CUDA(call("cuStreamWaitEvent", second.handle, forked.handle, 0u));
  kernel.launch({.stream = second.handle}, view(v.y, {32}), 1, view(w.y, {32}));
  EXPECT_CUDA(call("cuEventRecord", joined.handle, second.handle));
  EXPECT_CUDA(call("cuStreamWaitEvent", first.handle, joined.handle, 0u));
  kernel.launch({.stream = first.handle}, view(w.y, {32}), 10, view(v.y, {32}));
  Executable executable;
  instantiate(executable, first, 3);
  EXPECT_CUDA(call("cuGraphLaunch", executable.handle, first.handle));
  gpu::synchronize(first.handle);
  EXPECT_EQ(w.last(), 4);
  EXPECT_EQ(v.last(), 43);
}

TEST(Capture, AStreamThatIsNotJoinedIsAnError) {
  OnDevice on(0);
  Vectors v;
  Stream first(0), second(0);
  Event forked(0);
  auto kernel = compile(Accumulate{}, Target::sm_90a());
  kernel.prepare(gpu::Device(0));
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", first.handle, int(CaptureGlobal)));
  EXPECT_CUDA(call("cuEventRecord", forked.handle, first.handle));
  EXPECT_CUDA(call("cuStreamWaitEvent", second.handle, forked.handle, 0u));
  kernel.launch({.stream = second.handle}, view(v.x, {32}), 1, view(v.y, {32}));
  void *graph = nullptr;
  EXPECT_EQ(call("cuStreamEndCapture", second.handle, &graph), CaptureUnmatched);
  EXPECT_EQ(call("cuStreamEndCapture", first.handle, &graph), CaptureUnjoined);
  int status = -1;
  EXPECT_CUDA(call("cuStreamIsCapturing", second.handle, &status));
  EXPECT_EQ(status, CaptureNone);
}

TEST(Capture, EventsFromOutsideAndInside) {
  OnDevice on(0);
  Stream first(0), second(0);
  Event outside(0), inside(0);
  void *graph = nullptr;
  EXPECT_CUDA(call("cuEventRecord", outside.handle, second.handle));
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", first.handle, int(CaptureRelaxed)));
  EXPECT_EQ(call("cuStreamWaitEvent", first.handle, outside.handle, 0u), CaptureIsolation);
  EXPECT_EQ(call("cuStreamEndCapture", first.handle, &graph), CaptureInvalidated);
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", first.handle, int(CaptureRelaxed)));
  EXPECT_CUDA(call("cuEventRecord", inside.handle, first.handle));
  EXPECT_EQ(call("cuEventSynchronize", inside.handle), CapturedEvent);
  EXPECT_EQ(call("cuStreamEndCapture", first.handle, &graph), CaptureInvalidated);
}

} // namespace
