//===- AtomicOrderTest.cpp - Order of atomic updates ----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statements run one after the other, also if all of their accesses are atomic. Without a barrier
// between updates of different kinds, a warp that runs ahead changes the result.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;

namespace {

constexpr int64_t threads = 128, elements = 8;

/// Runs a kernel on every GPU, with each warp slowed down in turn, and natively.
template <class Kernel>
void expectOnAllTargets(const Kernel &kernel, i32 start, const std::vector<i32> &expected) {
  std::vector<i32> x(threads, -1);
  auto run = [&](const auto &compiled, const LaunchOptions &options) {
    std::vector<i32> f(elements, start);
    auto found = compiled.try_launch(options, view(x, {threads}), view(f, {elements}));
    EXPECT_TRUE(found.empty()) << to_text(found);
    EXPECT_EQ(f, expected);
  };
  run(compile(kernel, Target::native(), {.name = "order"}), {});
  run(compile(kernel, Target::interpreter(), {.name = "order"}), {});
  for (const std::string &name : gpu_names()) {
    SCOPED_TRACE(name);
    auto compiled = compile(kernel, find_gpu(name)->emulated(), {.name = "order"});
    for (int warp : {-1, 0, 1, 2, 3})
      run(compiled, {.starved_warp = warp});
  }
}

TEST(AtomicOrder, UpdatesOfDifferentKinds) {
  auto kernel = [](Block &b, In<i32, 1> X, InOut<i32, 1> F) {
    b.grid(1);
    b.parallel(threads, [&](Index i) { b.atomic(AtomicMax, F.at(i % elements), 20); });
    b.parallel(threads, [&](Index i) { b.atomic(Add, F.at(i % elements), X.load(i)); });
  };
  // The maximum of 10 and 20, and 16 times -1.
  expectOnAllTargets(kernel, 10, std::vector<i32>(elements, 4));
}

TEST(AtomicOrder, Exchanges) {
  auto kernel = [](Block &b, In<i32, 1> X, InOut<i32, 1> F) {
    b.grid(1);
    b.parallel(threads, [&](Index i) { b.atomic(Exchange, F.at(i % elements), 5); });
    b.parallel(threads,
               [&](Index i) { b.atomic(Exchange, F.at((threads - 1 - i) % elements), 7); });
  };
  expectOnAllTargets(kernel, 0, std::vector<i32>(elements, 7));
}

TEST(AtomicOrder, SharedTiles) {
  auto kernel = [](Block &b, In<i32, 1> X, InOut<i32, 1> F) {
    b.grid(1);
    auto S = b.shared<i32>(elements);
    b.fill(S, 100);
    b.parallel(threads, [&](Index i) { b.atomic(AtomicMin, S, i % elements, 10); });
    b.parallel(threads, [&](Index i) { b.atomic(Add, S, (i / 16) % elements, X.load(i)); });
    b.copy(S, F.at(0));
  };
  expectOnAllTargets(kernel, 0, std::vector<i32>(elements, -6));
}

TEST(AtomicOrder, OldValues) {
  auto kernel = [](Block &b, In<i32, 1> X, InOut<i32, 1> F) {
    b.grid(1);
    auto S = b.shared<i32>(elements);
    b.fill(S, 0);
    b.parallel(threads, [&](Index i) { b.atomic(Add, S, i % elements, 1); });
    b.parallel(elements,
               [&](Index i) { b.store(F.at(i), b.atomic(Add, S, elements - 1 - i, X.load(i))); });
  };
  expectOnAllTargets(kernel, 0, std::vector<i32>(elements, threads / elements));
}

TEST(AtomicOrder, IterationsOfALoop) {
  auto kernel = [](Block &b, In<i32, 1> X, InOut<i32, 1> F) {
    b.grid(1);
    for (Index k : b.range(3)) {
      b.parallel(threads, [&](Index i) { b.atomic(AtomicMax, F.at(i % elements), cast<i32>(k)); });
      b.parallel(threads, [&](Index i) { b.atomic(Add, F.at(i % elements), X.load(i)); });
    }
  };
  // 0 or more, then -16 in each iteration: max(.., 2) - 16 at the end.
  expectOnAllTargets(kernel, 0, std::vector<i32>(elements, 2 - 16));
}

} // namespace
