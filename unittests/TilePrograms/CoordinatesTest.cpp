//===- CoordinatesTest.cpp - Copies at coordinates from a tensor ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

using namespace penstock;
using namespace programs;

namespace {

constexpr int64_t rows = 70, columns = 40, page = 32;

/// C = A * B, where pages of B along K lie at the positions of a table.
struct Paged {
  int stages = 3;
  bool everyOther = false;
  void operator()(Block &b, In<f16, 2> A, In<i32, 1> pages, In<f16, 3> B, Out<f32, 2> C) const {
    auto bm = b.grid(ceil_div(C.size(0), 64));
    auto As = b.shared<f16>(64, page), Bs = b.shared<f16>(64, page);
    auto acc = b.local<f32>(64, 64);
    b.fill(acc, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), page), {.num_stages = stages})) {
      b.copy(A.at(bm * 64, k * page), As);
      auto load = [&] { b.copy(B.at(cast<index_t>(pages.load(k)), 0, 0), Bs); };
      if (everyOther)
        b.when(k % 2 == 0, load);
      else
        load();
      b.gemm(As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * 64, 0));
  }
};

struct Data {
  explicit Data(int64_t steps, int64_t present)
      : k(steps * page), a(size_t(rows * k)), b(size_t((present + 1) * columns * page)),
        table(size_t(present)), c(size_t(rows * columns), -1) {
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = f16(float(int(i * 7 % 5) - 2));
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = f16(float(int(i * 11 % 7) - 3));
    for (size_t i = 0; i < table.size(); ++i)
      table[i] = i32((i * 5 + 1) % (table.size() + 1));
  }
  template <class Kernel> std::vector<Diagnostic> launch(Kernel &kernel, Completion completion) {
    LaunchOptions options{.completion = completion, .seed = 3};
    return kernel.try_launch(options, view(a, {rows, k}), view(table, {int64_t(table.size())}),
                             view(b, {int64_t(table.size()) + 1, columns, page}),
                             view(c, {rows, columns}));
  }
  float expected(int64_t i, int64_t j, bool everyOther) const {
    float sum = 0;
    for (int64_t l = 0; l < k; ++l) {
      int64_t step = everyOther ? l / page / 2 * 2 : l / page;
      sum += float(a[size_t(i * k + l)]) *
             float(b[size_t((table[size_t(step)] * columns + j) * page + l % page)]);
    }
    return sum;
  }
  int64_t k;
  std::vector<f16> a, b;
  std::vector<i32> table;
  std::vector<float> c;
};

const Target everyGpu[] = {Target::sm_80().emulated(), Target::sm_90a().emulated(),
                           Target::sm_100a().emulated(), Target::sm_120a().emulated()};

/// Also without iterations, and for fewer iterations than stages.
TEST(Coordinates, AreTakenFromTables) {
  for (const Target &target : everyGpu)
    for (bool everyOther : {false, true}) {
      auto compiled = try_compile(Paged{.everyOther = everyOther}, target);
      ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
      for (int64_t steps : {0, 1, 2, 3, 5, 8})
        for (Completion completion : {Completion::Eager, Completion::Latest, Completion::Random}) {
          Data data(steps, steps);
          auto found = data.launch(compiled.kernel, completion);
          ASSERT_TRUE(found.empty()) << to_text(found);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j)
              ASSERT_EQ(data.c[size_t(i * columns + j)], data.expected(i, j, everyOther))
                  << steps << " steps, at " << i << ", " << j;
        }
    }
}

/// A table with too few entries is a fault, as in the interpreter: the load ahead does not hide it.
TEST(Coordinates, OutOfBoundsAreFaults) {
  auto messageOf = [](const Target &target, int64_t steps, int64_t present) {
    auto compiled = try_compile(Paged{}, target);
    EXPECT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
    Data data(steps, present);
    auto found = data.launch(compiled.kernel, Completion::Eager);
    return found.empty()
               ? ""
               : codeName(found.front().code) + " " + std::to_string(found.front().location.line);
  };
  for (int64_t steps : {1, 4, 7}) {
    std::string expected = messageOf(Target::interpreter(), steps, steps - 1);
    EXPECT_NE(expected, "");
    for (const Target &target : everyGpu) {
      EXPECT_EQ(messageOf(target, steps, steps - 1), expected) << steps;
      EXPECT_EQ(messageOf(target, steps, steps), "");
    }
  }
}

/// The load warp of Hopper loads the next coordinate before the copy of this one.
TEST(Coordinates, AreLoadedOneIterationAhead) {
  auto compiled = try_compile(Paged{}, Target::sm_90a().emulated());
  ASSERT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  std::string ptx = compiled.kernel.ptx();
  size_t copy = ptx.rfind("cp.async.bulk.tensor.3d");
  ASSERT_NE(copy, std::string::npos);
  // Between the wait for the slot and the copy, the load is of the next page.
  size_t wait = ptx.rfind("mbarrier.try_wait", copy), load = ptx.rfind("ld.global", copy);
  EXPECT_GT(load, wait);
  size_t first = ptx.find("%r", load), last = ptx.find(',', first);
  std::string loaded = ptx.substr(first, last - first);
  std::string operands = ptx.substr(copy, ptx.find(';', copy) - copy);
  EXPECT_EQ(operands.find(loaded + "}"), std::string::npos) << operands << " uses " << loaded;
}

} // namespace
