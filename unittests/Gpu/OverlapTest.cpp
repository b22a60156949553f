//===- OverlapTest.cpp - Launches that overlap the previous kernel --------===//
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

/// C = A * B'. Warp-specialized: the wait is for the warp that loads.
struct WaitingProduct {
  bool wait_first = true;
  static constexpr auto signature = "A[M,K], B[N,K] -> C[M,N]";

  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f16, 2> C) const {
    if (wait_first)
      b.wait_for_previous();
    Product()(b, A, B, C);
    if (!wait_first)
      b.wait_for_previous();
  }
};

/// The same by warp roles. The role that reads the tensor has to wait; the wait of another
/// role does not count.
struct ExplicitConsume {
  bool loader_waits = true;
  static constexpr auto signature = "y[M,N] -> z[M,N]";

  void operator()(Block &b, In<f16, 2> y, Out<f16, 2> z) const {
    auto [bm, bn] = b.grid(ceil_div(y.size(0), 64), ceil_div(y.size(1), 64));
    b.threads(160);
    auto tile = b.shared<f16>(64, 64);
    auto full = b.mbarrier.alloc(1);
    b.warp(4, [&] {
      if (loader_waits)
        b.wait_for_previous();
      b.elect_one([&] { b.mbarrier.arrive_expect(full[0], 64 * 64 * 2); });
      b.tma.load(y.at(bm * 64, bn * 64), tile, full[0]);
    });
    b.warps(0, 4, [&] {
      auto t = b.local<f16>(64, 64);
      b.mbarrier.wait(full[0], mbarrier::consumer_phase);
      b.copy(tile, t);
      b.set(t, t * 2.0f);
      b.wait_for_previous();
      b.copy(t, z.at(bm * 64, bn * 64));
    });
  }
};

struct Tensors {
  static constexpr int64_t n = 128;
  explicit Tensors(int device)
      : x(n * n, gpu::Device(device)), y(n * n, gpu::Device(device)),
        z(n * n, gpu::Device(device)) {
    std::vector<f16> ones(n * n, f16(1.0f)), zeros(n * n, f16(0.0f));
    x.upload(ones.data());
    y.upload(zeros.data());
    z.upload(zeros.data());
  }
  /// Whether all elements of z have this value.
  bool are(float value) {
    std::vector<f16> all(n * n);
    z.download(all.data());
    return std::all_of(all.begin(), all.end(), [&](f16 each) { return float(each) == value; });
  }
  gpu::Memory<f16> x, y, z;
};

/// What the emulated driver prints while \p work runs.
template <class F> std::string findingsOf(F &&work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

Target targetOf(int device) { return device ? Target::sm_100a() : Target::sm_90a(); }

/// Launches a producer and a consumer, several times, and returns the findings.
template <class K> std::string overlapped(const K &kernel, int device, Tensors &v, bool graph) {
  OnDevice on(device);
  Stream stream(device);
  auto produce = compile(Produce{}, targetOf(device));
  auto consume = compile(kernel, targetOf(device));
  const int64_t n = Tensors::n;
  produce.prepare(gpu::Device(device));
  consume.prepare(gpu::Device(device));
  return findingsOf([&] {
    for (int i = 0; i < 4; ++i) {
      void *captured = nullptr, *executable = nullptr;
      if (graph)
        EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(cuda::CaptureGlobal)));
      produce.launch({.stream = stream.handle}, view(v.x, {n, n}), view(v.y, {n, n}));
      consume.launch({.stream = stream.handle, .overlap_previous = true}, view(v.y, {n, n}),
                     view(v.z, {n, n}));
      if (graph) {
        EXPECT_CUDA(call("cuStreamEndCapture", stream.handle, &captured));
        EXPECT_CUDA(call("cuGraphInstantiateWithFlags", &executable, captured, 0ull));
        EXPECT_CUDA(call("cuGraphLaunch", executable, stream.handle));
      }
      gpu::synchronize(stream.handle);
      if (graph) {
        EXPECT_CUDA(call("cuGraphExecDestroy", executable));
        EXPECT_CUDA(call("cuGraphDestroy", captured));
      }
    }
  });
}

TEST(Overlap, AKernelThatWaitsMayOverlap) {
  for (int device : {0, 1})
    for (bool graph : {false, true}) {
      Tensors v(device);
      EXPECT_EQ(overlapped(Consume{}, device, v, graph), "");
      EXPECT_TRUE(v.are(4));
    }
}

TEST(Overlap, AKernelThatWaitsTooLateIsFound) {
  for (int device : {0, 1})
    for (bool graph : {false, true}) {
      Tensors v(device);
      std::string findings = overlapped(Consume{.wait = WaitAt::End}, device, v, graph);
      EXPECT_NE(findings.find("PS1772"), std::string::npos) << findings;
      EXPECT_NE(findings.find("kernel `Produce`"), std::string::npos) << findings;
      EXPECT_NE(findings.find("kernel `Consume`"), std::string::npos) << findings;
    }
}

TEST(Overlap, WarpRolesOfExplicitKernelsWait) {
  for (int device : {0, 1}) {
    Tensors v(device);
    EXPECT_EQ(overlapped(ExplicitConsume{}, device, v, false), "");
    EXPECT_TRUE(v.are(4));
    Tensors w(device);
    std::string findings = overlapped(ExplicitConsume{.loader_waits = false}, device, w, false);
    EXPECT_NE(findings.find("PS1772"), std::string::npos) << findings;
  }
}

// TMA reads what the previous kernel wrote: the warp that loads has to wait.
TEST(Overlap, WarpSpecializedLoopsWait) {
  const int64_t n = Tensors::n;
  for (int device : {0, 1})
    for (bool waitFirst : {true, false}) {
      OnDevice on(device);
      Stream stream(device);
      Tensors v(device);
      auto produce = compile(Produce{}, targetOf(device));
      auto product = compile(WaitingProduct{.wait_first = waitFirst}, targetOf(device));
      std::string findings = findingsOf([&] {
        for (int i = 0; i < 4; ++i) {
          produce.launch({.stream = stream.handle}, view(v.x, {n, n}), view(v.y, {n, n}));
          product.launch({.stream = stream.handle, .overlap_previous = true}, view(v.x, {n, n}),
                         view(v.y, {n, n}), view(v.z, {n, n}));
          gpu::synchronize(stream.handle);
        }
      });
      if (waitFirst) {
        EXPECT_EQ(findings, "");
        EXPECT_TRUE(v.are(2 * float(n)));
      } else {
        EXPECT_NE(findings.find("PS1772"), std::string::npos) << findings;
      }
    }
}

// In a chain, each kernel waits for the one before it.
TEST(Overlap, ChainsOfLaunchesOverlap) {
  OnDevice on(0);
  Stream stream(0);
  Tensors v(0);
  const int64_t n = Tensors::n;
  auto consume = compile(Consume{}, Target::sm_90a());
  std::string findings = findingsOf([&] {
    for (int i = 0; i < 3; ++i) {
      consume.launch({.stream = stream.handle, .overlap_previous = true}, view(v.x, {n, n}),
                     view(v.y, {n, n}));
      consume.launch({.stream = stream.handle, .overlap_previous = true}, view(v.y, {n, n}),
                     view(v.z, {n, n}));
      consume.launch({.stream = stream.handle, .overlap_previous = true}, view(v.z, {n, n}),
                     view(v.x, {n, n}));
    }
    gpu::synchronize(stream.handle);
  });
  EXPECT_EQ(findings, "");
  EXPECT_TRUE(v.are(256)); // 4 after the first round, times 8 for each of the others
}

TEST(Overlap, WithoutTheOptionNothingOverlaps) {
  OnDevice on(0);
  Stream stream(0);
  Tensors v(0);
  const int64_t n = Tensors::n;
  auto produce = compile(Produce{}, Target::sm_90a());
  auto consume = compile(Consume{.wait = WaitAt::Never}, Target::sm_90a());
  EXPECT_EQ(findingsOf([&] {
              produce.launch({.stream = stream.handle}, view(v.x, {n, n}), view(v.y, {n, n}));
              consume.launch({.stream = stream.handle}, view(v.y, {n, n}), view(v.z, {n, n}));
              gpu::synchronize(stream.handle);
            }),
            "");
  EXPECT_TRUE(v.are(4));
}

TEST(Overlap, AKernelThatNeverWaitsIsRefused) {
  OnDevice on(0);
  Stream stream(0);
  Tensors v(0);
  const int64_t n = Tensors::n;
  auto consume = compile(Consume{.wait = WaitAt::Never}, Target::sm_90a());
  auto problems = consume.try_launch({.stream = stream.handle, .overlap_previous = true},
                                     view(v.y, {n, n}), view(v.z, {n, n}));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code, 1771u);
  EXPECT_NE(to_text(problems).find("b.wait_for_previous()"), std::string::npos);
}

} // namespace
