//===- SequencesTest.cpp - Random programs over streams -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random sequences of launches, copies, waits and captures. Some launches overlap the
// previous kernel of their stream. Accesses that conflict are ordered by streams and
// events, so that every order that the driver chooses computes what the sequence computes
// one call after the other. Without one of the waits, some orders do not.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Shim.h"

#include <random>

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr int numStreams = 3, numBuffers = 4, elements = 8;

/// Accumulate, for launches that overlap the previous kernel of their stream.
struct Waiting {
  static constexpr auto signature = Accumulate::signature;

  void operator()(Block &b, In<i32, 1> x, Scalar<i32> factor, InOut<i32, 1> y) const {
    b.launch_dependents();
    b.wait_for_previous();
    Accumulate()(b, x, factor, y);
  }
};

/// How far each stream has come, as another one or the host knows it.
struct Clock {
  int at[numStreams + 1] = {}; ///< the last is the host
  void join(const Clock &other) {
    for (int i = 0; i <= numStreams; ++i)
      at[i] = std::max(at[i], other.at[i]);
  }
};

struct Access {
  int stream = numStreams, time = 0;
};

class Sequence {
public:
  Sequence(uint64_t seed, bool dropWaits) : random(seed), dropWaits(dropWaits) {
    // Compiled and created once: sequences are short.
    static auto compiled = compile(Waiting{}, Target::sm_90a());
    static std::vector<std::unique_ptr<Stream>> made;
    static std::vector<gpu::Memory<int32_t>> device;
    static std::unique_ptr<Event> made_event;
    while (made.size() < numStreams)
      made.push_back(std::make_unique<Stream>(0));
    while (device.size() < numBuffers)
      device.emplace_back(elements, gpu::Device(0));
    if (!made_event)
      made_event = std::make_unique<Event>(0);
    OnDevice on(0);
    if (!pinned)
      EXPECT_CUDA(call("cuMemHostAlloc", reinterpret_cast<void **>(&pinned),
                       sizeof(int32_t) * elements * numBuffers, 0u));
    kernel = &compiled;
    streams = &made;
    buffers = &device;
    event = made_event.get();
    for (int b = 0; b < numBuffers; ++b) {
      model[b] = int32_t(random() % 100);
      std::vector<int32_t> content(elements, model[b]);
      (*buffers)[size_t(b)].upload(content.data());
      host[b] = pinned[b * elements] = 7;
      std::fill_n(pinned + b * elements, elements, 7);
    }
  }

  /// Whether the results are those of the sequence.
  bool run() {
    for (int step = 0; step < 10; ++step)
      switch (random() % 8) {
      case 0:
        copy(true);
        break;
      case 1:
        copy(false);
        break;
      case 2:
        wait();
        break;
      case 3:
        captured();
        break;
      default:
        launch(int(random() % numStreams), nullptr);
      }
    for (const auto &stream : *streams)
      EXPECT_EQ(call("cuStreamSynchronize", stream->handle), 0);
    bool equal = true;
    for (int b = 0; b < numBuffers; ++b) {
      std::vector<int32_t> got(elements);
      (*buffers)[size_t(b)].download(got.data());
      equal &= got[0] == model[b] && got[elements - 1] == model[b];
      equal &= pinned[b * elements] == host[b];
    }
    return equal;
  }

private:
  void *handle(int stream) { return (*streams)[size_t(stream)]->handle; }

  /// Makes \p stream wait until an access is over, by an event.
  void after(int stream, const Access &access) {
    if (access.stream == stream || clocks[stream].at[access.stream] >= access.time)
      return;
    clocks[stream].join(clocks[access.stream]);
    if (dropWaits)
      return;
    EXPECT_EQ(call("cuEventRecord", event->handle, handle(access.stream)), 0);
    EXPECT_EQ(call("cuStreamWaitEvent", handle(stream), event->handle, 0u), 0);
  }
  void reads(int stream, int object) {
    after(stream, written[object]);
    read[object].push_back({stream, clocks[stream].at[stream] + 1});
  }
  void writes(int stream, int object) {
    after(stream, written[object]);
    for (const Access &access : read[object])
      after(stream, access);
    read[object].clear();
    written[object] = {stream, clocks[stream].at[stream] + 1};
  }

  /// y += factor * x; as a graph of two launches if \p graph is set.
  void launch(int stream, void **graph) {
    int x = int(random() % numBuffers), y = int((x + 1 + random() % (numBuffers - 1)) % numBuffers);
    int32_t factor = int32_t(random() % 5) - 2;
    reads(stream, x);
    writes(stream, y);
    if (graph)
      EXPECT_EQ(call("cuStreamBeginCapture_v2", handle(stream), 0), 0);
    for (int times = graph ? 2 : 1; times-- > 0;) {
      kernel->launch({.stream = handle(stream), .overlap_previous = random() % 2 == 0},
                     view((*buffers)[size_t(x)], {elements}), factor,
                     view((*buffers)[size_t(y)], {elements}));
      model[y] = int32_t(uint32_t(model[y]) + uint32_t(factor) * uint32_t(model[x]));
    }
    if (graph)
      EXPECT_EQ(call("cuStreamEndCapture", handle(stream), graph), 0);
    ++clocks[stream].at[stream];
  }

  void captured() {
    int stream = int(random() % numStreams);
    void *graph = nullptr, *executable = nullptr;
    OnDevice on(0);
    launch(stream, &graph);
    EXPECT_EQ(call("cuGraphInstantiateWithFlags", &executable, graph, 0ull), 0);
    EXPECT_EQ(call("cuGraphLaunch", executable, handle(stream)), 0);
    EXPECT_EQ(call("cuGraphExecDestroy", executable), 0);
    EXPECT_EQ(call("cuGraphDestroy", graph), 0);
  }

  /// Between a buffer and pinned memory.
  void copy(bool toHost) {
    int stream = int(random() % numStreams), b = int(random() % numBuffers);
    DevicePointer address = reinterpret_cast<DevicePointer>((*buffers)[size_t(b)].data());
    size_t bytes = sizeof(int32_t) * elements;
    OnDevice on(0);
    if (toHost) {
      reads(stream, b);
      writes(stream, numBuffers + b);
      EXPECT_EQ(call("cuMemcpyDtoHAsync_v2", static_cast<void *>(pinned + b * elements), address,
                     bytes, handle(stream)),
                0);
      host[b] = model[b];
    } else {
      reads(stream, numBuffers + b);
      writes(stream, b);
      EXPECT_EQ(call("cuMemcpyHtoDAsync_v2", address,
                     static_cast<const void *>(pinned + b * elements), bytes, handle(stream)),
                0);
      model[b] = host[b];
    }
    ++clocks[stream].at[stream];
  }

  void wait() {
    int stream = int(random() % numStreams);
    EXPECT_EQ(call("cuStreamSynchronize", handle(stream)), 0);
    // The host knows it, and thereby everything that is issued from now on.
    for (Clock &clock : clocks)
      clock.join(clocks[stream]);
  }

  std::mt19937_64 random;
  bool dropWaits;
  Kernel<Waiting> *kernel;
  std::vector<std::unique_ptr<Stream>> *streams;
  std::vector<gpu::Memory<int32_t>> *buffers;
  Event *event;
  static inline int32_t *pinned = nullptr;
  int32_t model[numBuffers], host[numBuffers];
  Clock clocks[numStreams];
  Access written[2 * numBuffers];
  std::vector<Access> read[2 * numBuffers];
};

TEST(Sequences, ComputeWhatTheOrderOfStreamsSays) {
  for (uint64_t seed = 0; seed < 10000; ++seed)
    ASSERT_TRUE(Sequence(seed, false).run()) << "seed " << seed;
}

// The waits of the sequences are necessary: without them the driver's orders show it.
TEST(Sequences, MissingWaitsShow) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 300; ++seed)
    wrong += !Sequence(seed, true).run();
  EXPECT_GT(wrong, 50);
}

} // namespace
