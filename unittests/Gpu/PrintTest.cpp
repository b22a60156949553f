//===- PrintTest.cpp - `print` of kernels that the driver launches --------===//
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

/// Each block prints its scalars and a tile, and faults where x is 0.
struct Printing {
  static constexpr auto signature = "x[N], tag -> y[N]";

  void operator()(Block &b, In<i32, 1> x, Scalar<i32> tag, Out<i32, 1> y) const {
    auto block = b.grid(ceil_div(x.size(0), 4));
    auto t = b.local<i32>(4);
    b.copy(x.at(block * 4), t, {.fill = 1});
    b.print("{}: block {} has {}", {tag, block, t});
    b.set(t, 12 / t);
    b.copy(t, y.at(block * 4));
  }
};

using Lines = std::vector<std::string>;

class Prints : public testing::TestWithParam<int> {
protected:
  Prints()
      : x(8, gpu::Device(GetParam())), y(8, gpu::Device(GetParam())),
        kernel(compile(Printing{}, target())) {
    x.upload(values.data());
  }
  Target target() const { return GetParam() == 0 ? Target::sm_90a() : Target::sm_100a(); }
  LaunchOptions into(Lines &lines, void *stream) {
    LaunchOptions options;
    options.stream = stream;
    options.print = [&lines](std::string_view line) { lines.emplace_back(line); };
    return options;
  }
  std::vector<Diagnostic> launch(const LaunchOptions &options, int32_t tag) {
    return kernel.try_launch(options, view(x.data(), {8}), tag, view(y.data(), {8}));
  }

  std::vector<int32_t> values = {1, 2, 3, 4, 5, 6, 7, 8};
  gpu::Memory<int32_t> x, y;
  Kernel<Printing> kernel;
};

// The text follows from the program.
TEST_P(Prints, ALaunchWithoutAStreamPrintsBeforeItReturns) {
  Lines lines;
  LaunchOptions options = into(lines, nullptr);
  options.stream = {};
  OnDevice on(GetParam());
  EXPECT_EQ(to_text(launch(options, 7)), "");
  EXPECT_EQ(lines, (Lines{"7: block 0 has [1, 2, 3, 4]\n", "7: block 1 has [5, 6, 7, 8]\n"}));
}

TEST_P(Prints, LinesOfAStreamComeWhenItIsSynchronized) {
  Lines lines, others;
  Stream stream(GetParam()), other(GetParam());
  EXPECT_EQ(to_text(launch(into(lines, stream), 1)), "");
  EXPECT_EQ(to_text(launch(into(others, other), 2)), "");
  EXPECT_EQ(to_text(launch(into(lines, stream), 3)), "");
  EXPECT_CUDA(stream.synchronize()); // CUDA's own call does not read them
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(to_text(gpu::try_synchronize(stream.handle)), "");
  EXPECT_EQ(lines, (Lines{"1: block 0 has [1, 2, 3, 4]\n", "1: block 1 has [5, 6, 7, 8]\n",
                          "3: block 0 has [1, 2, 3, 4]\n", "3: block 1 has [5, 6, 7, 8]\n"}));
  EXPECT_TRUE(others.empty());
  EXPECT_EQ(to_text(gpu::try_synchronize(other.handle)), "");
  EXPECT_EQ(others.size(), 2u);
  EXPECT_EQ(to_text(gpu::try_synchronize(stream.handle)), "");
  EXPECT_EQ(lines.size(), 4u); // each is printed once
}

TEST_P(Prints, LinesAndFaultsComeTogether) {
  Lines lines;
  Stream stream(GetParam());
  values[5] = 0;
  x.upload(values.data());
  EXPECT_EQ(to_text(launch(into(lines, stream), 1)), "");
  auto diagnostics = gpu::try_synchronize(stream.handle);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(codeName(diagnostics[0].code), "PS1403");
  EXPECT_EQ(lines.size(), 2u);
}

TEST_P(Prints, LinesThatDoNotFitAreCounted) {
  Lines lines;
  Stream stream(GetParam());
  LaunchOptions options = into(lines, stream);
  options.print_bytes = 64;
  EXPECT_EQ(to_text(launch(options, 1)), "");
  EXPECT_EQ(to_text(gpu::try_synchronize(stream.handle)), "");
  EXPECT_EQ(lines, Lines{"print: 2 lines were lost, because the buffer of the launch has 64 bytes; "
                         "LaunchOptions::print_bytes sets its size\n"});
}

TEST_P(Prints, WhoNeverSynchronizesIsMadeToWait) {
  Lines lines;
  Stream stream(GetParam());
  for (int32_t i = 0; i < 32; ++i)
    EXPECT_EQ(to_text(launch(into(lines, stream), i)), "");
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(to_text(launch(into(lines, stream), 32)), "");
  EXPECT_EQ(lines.size(), 64u);
  EXPECT_EQ(to_text(gpu::try_synchronize(stream.handle)), "");
  EXPECT_EQ(lines.size(), 66u);
  EXPECT_EQ(lines.back(), "32: block 1 has [5, 6, 7, 8]\n");
}

TEST_P(Prints, CapturesAreRefused) {
  Lines lines;
  Stream stream(GetParam());
  OnDevice on(GetParam());
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(cuda::CaptureGlobal)));
  auto diagnostics = launch(into(lines, stream), 1);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(codeName(diagnostics[0].code), "PS1706");
  EXPECT_EQ(diagnostics[0].message, "`Printing` prints, and its stream is captured: a graph has no "
                                    "moment at which lines are read");
  EXPECT_EQ(diagnostics[0].helps.size(), 1u);
  void *graph = nullptr; // the capture goes on
  EXPECT_CUDA(call("cuStreamEndCapture", stream.handle, &graph));
  EXPECT_EQ(to_text(launch(into(lines, stream), 1)), "");
  EXPECT_EQ(to_text(gpu::try_synchronize(stream.handle)), "");
  EXPECT_EQ(lines.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Gpu, Prints, testing::Values(0, 1));

} // namespace
