//===- PrintTest.cpp - What tile programs print on GPUs -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include <algorithm>

using namespace penstock;
using namespace programs;

namespace {

/// Scalars of every type, and tiles in registers and in shared memory, in loops and
/// conditions, by several blocks.
struct Inspected {
  static constexpr auto signature = "x[N] -> y[N]";
  void operator()(Block &b, In<f32, 1> x, Out<f32, 1> y) const {
    auto i = b.grid(ceil_div(x.size(0), 6));
    auto t = b.local<f32>(6);
    auto s = b.shared<f16>(2, 3);
    auto n = b.local<i8>(2, 2);
    b.copy(x.at(i * 6), t);
    b.fill(s, 0.5f);
    b.set(n, cast<i8>(row(n) * 2 - col(n)));
    b.print("block {} of {}: {}", {i, x.size(0), t});
    for (Index k : b.range(3)) {
      b.set(t, t + 1);
      b.when(k != 1, [&] { b.print("{}: {} and {}, {}", {k, s, t, n}); });
    }
    b.print("end {} {}", {x.load(0), x.load(0) < 0.0f});
    b.copy(t, y.at(i * 6));
  }
};

/// Tiles that mma.sync and reductions lay out: elements lie in registers of all threads,
/// and those of vectors in several copies.
struct Accumulated {
  static constexpr auto signature = "a[M,K], b[N,K] -> c[M,N]";
  void operator()(Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) const {
    auto m = b.grid(1);
    auto As = b.shared<f16>(16, 16), Bs = b.shared<f16>(8, 16);
    auto acc = b.local<f32>(16, 8);
    auto sum = b.local<f32>(16);
    b.copy(A.at(m, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.fill(acc, 0);
    b.gemm(As, transposed(Bs), acc);
    b.reduce(Sum, acc, 1, sum);
    b.print("{}\n{}", {acc, sum});
    b.copy(acc, C.at(m, 0));
  }
};

std::string printed(const std::string &name, Target target, const Shape &shape,
                    LaunchOptions options = {}) {
  AnyKernel kernel = compileFor(name, target);
  if (!kernel)
    return "not compiled";
  auto made = make_arguments(kernel.arguments(), shape, penstock::Data::Exact, 1);
  std::string lines;
  options.print = [&](std::string_view line) { lines += line; };
  auto found = kernel.launch(made.arguments, options);
  EXPECT_TRUE(found.empty()) << to_text(found);
  return lines;
}

void expectSameLines(const std::string &name, const Shape &shape) {
  std::string expected = printed(name, Target::interpreter(), shape);
  EXPECT_GT(expected.size(), 20u);
  for (const Target &target : gpus)
    for (Completion completion : {Completion::Eager, Completion::Random})
      EXPECT_EQ(printed(name, target, shape, {.completion = completion, .seed = 3}), expected);
}

TEST(PrintOnGpus, LinesAreTheInterpretersBlockByBlock) {
  expectSameLines("Inspected", {{"N", 20}});
  expectSameLines("Accumulated", {{"M", 16}, {"N", 8}, {"K", 16}});
}

TEST(PrintOnGpus, SaysHowManyLinesDidNotFit) {
  Shape shape{{"N", 600}};
  std::string all = printed("Inspected", Target::interpreter(), shape);
  auto count = [](const std::string &text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(count(all), 400);
  for (uint64_t bytes : {uint64_t(0), uint64_t(4096), uint64_t(20000)})
    for (Completion completion : {Completion::Eager, Completion::Random}) {
      std::string some = printed("Inspected", gpus[0], shape,
                                 {.completion = completion, .seed = 5, .print_bytes = bytes});
      int64_t kept = count(some) - 1;
      EXPECT_LT(kept, 400);
      EXPECT_EQ(kept > 0, bytes > 0);
      EXPECT_NE(some.find("print: " + std::to_string(400 - kept) + " lines were lost, because "),
                std::string::npos)
          << some.substr(some.rfind("print:"));
    }
}

/// One line from each of many blocks.
struct Lines {
  void operator()(Block &b, In<f32, 1> x) const {
    auto i = b.grid(64);
    b.print("block {} of {}", {i, x.size(0)});
  }
};

TEST(Print, ExceptionsOfTheCallbackLeaveTheLaunch) {
  struct Refusal {};
  std::vector<float> x(8);
  for (const Target &target :
       {Target::interpreter(), Target::native(), Target::sm_90a().emulated()}) {
    auto kernel = compile(Lines{}, target);
    for (int threads : {1, 4}) {
      int calls = 0;
      LaunchOptions options;
      options.threads = threads;
      options.print = [&](std::string_view) {
        if (++calls == 3)
          throw Refusal();
      };
      EXPECT_THROW(kernel.launch(options, view(x, {8})), Refusal);
      EXPECT_EQ(calls, 3);
      EXPECT_THROW((calls = 0, (void)kernel.try_launch(options, view(x, {8}))), Refusal);
      // The kernel works as before.
      options.print = [&](std::string_view) { ++calls; };
      calls = 0;
      EXPECT_TRUE(kernel.try_launch(options, view(x, {8})).empty());
      EXPECT_EQ(calls, 64);
    }
  }
}

} // namespace

PENSTOCK_KERNEL(Inspected);
PENSTOCK_KERNEL(Accumulated);
