//===- ProductLevelsTest.cpp - Products of narrow types, by each CPU ------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers, so that sums are exact in any order. The reference is three plain loops.
//
//===----------------------------------------------------------------------===//
#include <penstock/cache.h>
#include <penstock/penstock.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <random>
#ifdef __x86_64__
#include <cpuid.h>
#endif

using namespace penstock;

namespace {

enum class Form { Plain, Transposed, Packed };

struct Case {
  int m, n, k;
  bool transposedA = false;
  Form b = Form::Plain;
  bool accumulate = true;
  bool transposedAcc = false;
  /// Rows and columns of larger tiles around the operands, so that rows are not adjacent.
  int margin = 0;
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.m << "x" << c.n << "x" << c.k << (c.transposedA ? " A^T" : "") << " B" << int(c.b)
       << (c.accumulate ? " accumulate" : "") << (c.transposedAcc ? " acc^T" : "") << " margin "
       << c.margin;
}

// Tiles have 16 rows and 64 bytes; blocks are 32 x 32.
const Case cases[] = {
    {.m = 64, .n = 64, .k = 128},
    {.m = 32, .n = 32, .k = 64, .b = Form::Transposed, .accumulate = false},
    {.m = 1, .n = 1, .k = 1},
    {.m = 16, .n = 48, .k = 64, .transposedA = true, .b = Form::Transposed},
    {.m = 33, .n = 31, .k = 65, .accumulate = false},
    {.m = 17, .n = 79, .k = 30, .b = Form::Transposed, .transposedAcc = true},
    {.m = 47, .n = 15, .k = 131, .transposedA = true, .margin = 3},
    {.m = 40, .n = 56, .k = 96, .b = Form::Transposed, .margin = 2},
    {.m = 7, .n = 100, .k = 3, .b = Form::Transposed, .margin = 1},
    {.m = 40, .n = 80, .k = 128, .b = Form::Packed},
    {.m = 18, .n = 16, .k = 36, .b = Form::Packed, .accumulate = false, .margin = 1},
    {.m = 1, .n = 176, .k = 512, .b = Form::Packed},
    {.m = 1, .n = 32, .k = 20, .b = Form::Packed, .accumulate = false, .margin = 2},
    {.m = 1, .n = 150, .k = 70, .accumulate = false},
    {.m = 1, .n = 70, .k = 131, .b = Form::Transposed},
    {.m = 26, .n = 150, .k = 100},
    {.m = 25, .n = 144, .k = 100, .b = Form::Packed},
};

/// One product of tiles. T is f16, bf16 or i8; S is f32 or i32; R is 4 if B is packed.
template <class T, class S, int R> struct Product {
  Case c;
  bool isUnsigned;

  void operator()(Block &b, In<T, 2> A, In<T, R> B, InOut<S, 2> C) const {
    auto part = [](auto tile, bool isTransposed, int64_t rows, int64_t columns) {
      return isTransposed ? transposed(slice(tile, {0, 0}, {columns, rows}))
                          : slice(tile, {0, 0}, {rows, columns});
    };
    int r = c.margin;
    auto As = c.transposedA ? b.shared<T>(c.k + r, c.m + r) : b.shared<T>(c.m + r, c.k + r);
    auto acc = c.transposedAcc ? b.local<S>(c.n + r, c.m + r) : b.local<S>(c.m + r, c.n + r);
    b.fill(acc, 99);
    auto sums = part(acc, c.transposedAcc, c.m, c.n);
    b.copy(A.at(0, 0), As);
    b.copy(C.at(0, 0), sums);
    auto a = part(As, c.transposedA, c.m, c.k);
    GemmOptions options;
    options.accumulate = c.accumulate;
    options.unsigned_a = isUnsigned;
    if constexpr (R == 4) {
      auto Bs = packed_tile<T>(b, c.k, c.n);
      b.copy(B.at(0, 0, 0, 0), Bs);
      b.gemm(a, Bs, sums, options);
    } else {
      bool t = c.b == Form::Transposed;
      auto Bs = t ? b.shared<T>(c.n + r, c.k + r) : b.shared<T>(c.k + r, c.n + r);
      b.copy(B.at(0, 0), Bs);
      b.gemm(a, part(Bs, t, c.k, c.n), sums, options);
    }
    b.copy(sums, C.at(0, 0));
  }
};

/// Operands of one case and the expected sums.
template <class T, class S> struct Data {
  Data(const Case &c, bool isUnsigned) : c(c) {
    std::mt19937 random(unsigned(c.m * 10007 + c.n * 101 + c.k));
    // Sums of f16 and bf16 products stay below 2^24; those of i8 wrap.
    auto number = [&]() -> int {
      return std::is_same_v<S, f32> ? int(random() % 17) - 8 : int(random() % 256) - 128;
    };
    // Beyond the operands are numbers that would be seen in a sum.
    T poison = std::is_same_v<S, f32> ? T(std::numeric_limits<float>::quiet_NaN()) : T(77);
    auto fill = [&](std::vector<T> &to, int rows, int columns, auto &&set) {
      to.assign(size_t(rows + c.margin) * size_t(columns + c.margin), poison);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
          int x = number();
          to[size_t(i) * size_t(columns + c.margin) + size_t(j)] = T(x);
          set(i, j, x);
        }
    };
    std::vector<int64_t> left(size_t(c.m * c.k)), right(size_t(c.k * c.n));
    bool ta = c.transposedA, tb = c.b == Form::Transposed;
    fill(a, ta ? c.k : c.m, ta ? c.m : c.k, [&](int i, int j, int x) {
      left[size_t(ta ? j * c.k + i : i * c.k + j)] = isUnsigned ? x & 255 : x;
    });
    fill(b, tb ? c.n : c.k, tb ? c.k : c.n,
         [&](int i, int j, int x) { right[size_t(tb ? j * c.n + i : i * c.n + j)] = x; });
    for (int i = 0; i < c.m; ++i)
      for (int j = 0; j < c.n; ++j) {
        int start = number();
        this->start.push_back(S(start));
        int64_t sum = c.accumulate ? start : 0;
        for (int k = 0; k < c.k; ++k)
          sum += left[size_t(i) * size_t(c.k) + size_t(k)] *
                 right[size_t(k) * size_t(c.n) + size_t(j)];
        expected.push_back(S(int32_t(sum)));
      }
  }

  Case c;
  std::vector<T> a, b;
  std::vector<S> start, expected;
};

template <class T, class S>
std::vector<S> run(const Data<T, S> &data, bool isUnsigned, Target target, Cpu cpu) {
  const Case &c = data.c;
  int64_t r = c.margin, m = c.m, n = c.n, k = c.k;
  CompileOptions options{.name = "product", .cpu = cpu};
  std::vector<S> sums = data.start;
  auto a = c.transposedA ? view(data.a, {k + r, m + r}) : view(data.a, {m + r, k + r});
  if (c.b == Form::Packed) {
    auto packed = pack(view(data.b.data(), {k, n}, {n + r, 1}));
    compile(Product<T, S, 4>{c, isUnsigned}, target, options)(a, packed.view(), view(sums, {m, n}));
  } else {
    auto b = c.b == Form::Transposed ? view(data.b, {n + r, k + r}) : view(data.b, {k + r, n + r});
    compile(Product<T, S, 2>{c, isUnsigned}, target, options)(a, b, view(sums, {m, n}));
  }
  return sums;
}

bool hasTilesForF16() {
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 21 & 1);
#else
  return false;
#endif
}

bool hostHas(const std::string &level) {
  std::vector<std::string> levels = host_cpu_names();
  return std::find(levels.begin(), levels.end(), level) != levels.end();
}

class ProductLevels : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!hostHas(GetParam()))
      GTEST_SKIP() << "this processor does not have " << GetParam();
  }

  Cpu level() const { return find_cpu(GetParam()).value(); }

  template <class T, class S> void check(bool isUnsigned = false) {
    for (const Case &c : cases) {
      Data<T, S> data(c, isUnsigned);
      EXPECT_EQ(run(data, isUnsigned, Target::native(), level()), data.expected)
          << testing::PrintToString(c);
    }
  }
};

TEST_P(ProductLevels, F16) { check<f16, f32>(); }
TEST_P(ProductLevels, Bf16) { check<bf16, f32>(); }
TEST_P(ProductLevels, SignedBytes) { check<i8, i32>(); }
TEST_P(ProductLevels, UnsignedBytes) { check<i8, i32>(true); }

INSTANTIATE_TEST_SUITE_P(Levels, ProductLevels, testing::ValuesIn(cpu_names()),
                         [](const auto &info) { return info.param; });

// The order of loops depends on the caches. With these, strips of columns take turns in L2.
TEST_P(ProductLevels, SmallCaches) {
  setenv("PENSTOCK_CACHES", "4K,64K", 1);
  check<f16, f32>();
  check<i8, i32>();
  unsetenv("PENSTOCK_CACHES");
}

TEST(ProductLevels, CachesOfLevels) {
  if (hostHas("avx2")) {
    EXPECT_EQ(cpu_caches(Cpu::Avx2).l1, 32 << 10);
    EXPECT_EQ(cpu_caches(Cpu::Avx2).l2, 256 << 10);
  }
  if (hostHas("avx512")) {
    EXPECT_EQ(cpu_caches(Cpu::Avx512).l2, 1 << 20);
  }
  EXPECT_GE(cpu_caches().l1, 16 << 10);
  EXPECT_GE(cpu_caches().l2, cpu_caches().l1);
  setenv("PENSTOCK_CACHES", "24K,1280K", 1);
  EXPECT_EQ(cpu_caches().l1, 24 << 10);
  EXPECT_EQ(cpu_caches().l2, 1280 << 10);
  for (const char *invalid : {"32K", "1M,32K", "32K,1M,", "-1,1M", "1,2", "32K,8192M"}) {
    setenv("PENSTOCK_CACHES", invalid, 1);
    auto built = try_compile([](Block &) {}, Target::native(), {.name = "nothing"});
    ASSERT_FALSE(built) << invalid;
    EXPECT_EQ(built.diagnostics.front().code, 1760);
  }
  unsetenv("PENSTOCK_CACHES");
}

// A kernel that was compiled for other caches is another kernel of the cache.
TEST(ProductLevels, CachesAreInTheKey) {
  std::string directory = testing::TempDir() + "penstock-other-caches";
  std::filesystem::remove_all(directory);
  KernelCache cache = KernelCache::open({.directory = directory});
  auto deep = [](Block &b, In<f32, 2> A, In<f32, 2> B, Out<f32, 2> C) {
    auto As = b.shared<f32>(12, 200), Bs = b.shared<f32>(200, 128);
    auto acc = b.local<f32>(12, 128);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.gemm(As, Bs, acc, {.accumulate = false});
    b.copy(acc, C.at(0, 0));
  };
  auto codeFor = [&](const char *caches) {
    setenv("PENSTOCK_CACHES", caches, 1);
    auto kernel = compile(deep, Target::native(), {.name = "deep", .cache = &cache});
    unsetenv("PENSTOCK_CACHES");
    return kernel.assembly();
  };
  std::string large = codeFor("48K,2M"), small = codeFor("4K,128K");
  EXPECT_NE(large, small);
  EXPECT_EQ(codeFor("48K,2M"), large);
  EXPECT_EQ(cache.statistics().misses, 2u);
  std::filesystem::remove_all(directory);
}

TEST(ProductLevels, InterpreterIsTheSame) {
  for (const Case &c : cases) {
    Data<bf16, f32> floats(c, false);
    EXPECT_EQ(run(floats, false, Target::interpreter(), Cpu::Host), floats.expected)
        << testing::PrintToString(c);
    for (bool isUnsigned : {false, true}) {
      Data<i8, i32> bytes(c, isUnsigned);
      EXPECT_EQ(run(bytes, isUnsigned, Target::interpreter(), Cpu::Host), bytes.expected)
          << testing::PrintToString(c) << " unsigned " << isUnsigned;
    }
  }
}

/// Compiles and runs with a signal stack that cannot hold tile registers, for which Linux
/// refuses them to the process.
[[noreturn]] void runWithoutPermission() {
  static char memory[2048];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
  CompileOptions options{.name = "nothing", .cpu = Cpu::Amx};
  auto refused = try_compile([](Block &) {}, Target::native(), options);
  Data<bf16, f32> data(cases[0], false);
  bool right = run(data, false, Target::native(), Cpu::Host) == data.expected;
  std::fprintf(stderr, "%s%s", to_text(refused.diagnostics).c_str(), right ? "right" : "");
  std::exit(refused ? 1 : 0);
}

TEST(ProductLevelsDeathTest, ProcessWithoutPermission) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(runWithoutPermission(), testing::ExitedWithCode(0),
              "error PS1760: .*(no AMX|may not use AMX)(.|\n)*right");
}

// The level of kernels that state none, for programs that cannot be changed.
TEST(ProductLevels, EnvironmentChoosesTheHostsLevel) {
  auto build = [](Cpu level) {
    return try_compile([](Block &) {}, Target::native(),
                       {.name = "nothing", .cpu = level, .cache = &KernelCache::none()});
  };
  setenv("PENSTOCK_CPU", "avx2", 1);
  Data<bf16, f32> data(cases[0], false);
  EXPECT_EQ(run(data, false, Target::native(), Cpu::Host), data.expected);
  setenv("PENSTOCK_CPU", "sse", 1);
  auto refused = build(Cpu::Host);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.diagnostics.front().code, 1760);
  EXPECT_NE(refused.diagnostics.front().message.find("PENSTOCK_CPU is `sse`"), std::string::npos);
  EXPECT_TRUE(build(Cpu::Avx2));
  unsetenv("PENSTOCK_CPU");
  EXPECT_TRUE(build(Cpu::Host));
}

/// Several blocks and steps, with edges, so that operands are read in tensors and in tiles.
template <bool Packs> struct Blocked {
  void operator()(Block &b, In<bf16, 2> A, In<bf16, Packs ? 4 : 2> B, Out<f32, 2> C) const {
    constexpr int m = 64, n = 48, k = 64;
    auto [bm, bn] = b.grid(ceil_div(C.size(0), m), ceil_div(C.size(1), n));
    auto As = b.shared<bf16>(m, k);
    auto acc = b.local<f32>(m, n);
    b.fill(acc, 0);
    if constexpr (Packs) {
      auto Bs = packed_tile<bf16>(b, k, n);
      for (Index ko : b.range(ceil_div(A.size(1), k))) {
        b.copy(A.at(bm * m, ko * k), As);
        b.copy(B.at(bn * (n / 16), ko * (k / 2), 0, 0), Bs);
        b.gemm(As, Bs, acc);
      }
    } else {
      auto Bs = b.shared<bf16>(n, k);
      for (Index ko : b.range(ceil_div(A.size(1), k))) {
        b.copy(A.at(bm * m, ko * k), As);
        b.copy(B.at(bn * n, ko * k), Bs);
        b.gemm(As, transposed(Bs), acc);
      }
    }
    b.copy(acc, C.at(bm * m, bn * n));
  }
};

TEST_P(ProductLevels, OperandsInTensors) {
  auto packs = compile(Blocked<true>{}, Target::native(), {.name = "packs", .cpu = level()});
  auto plain = compile(Blocked<false>{}, Target::native(), {.name = "plain", .cpu = level()});
  // Some have rows of A that are a page apart, and some only one iteration; the last has none.
  for (auto [m, n, k, stride] : {std::array<int64_t, 4>{128, 96, 128, 128},
                                 {50, 70, 150, 151},
                                 {64, 48, 192, 2048},
                                 {128, 96, 64, 64},
                                 {128, 96, 64, 70},
                                 {64, 48, 64, 2048},
                                 {100, 70, 63, 64},
                                 {40, 50, 0, 1}}) {
    Case c = {.m = int(m), .n = int(n), .k = int(k), .b = Form::Transposed, .accumulate = false};
    Data<bf16, f32> data(c, false);
    std::vector<bf16> a(size_t(m * stride), bf16(std::numeric_limits<float>::quiet_NaN()));
    for (int64_t i = 0; i < m; ++i)
      std::copy_n(data.a.begin() + i * k, k, a.begin() + i * stride);
    auto left = view(a.data(), {m, k}, {stride, 1});
    std::vector<f32> sums(size_t(m * n), 5);
    plain(left, view(data.b, {n, k}), view(sums, {m, n}));
    EXPECT_EQ(sums, data.expected) << m << "x" << n << "x" << k;
    std::fill(sums.begin(), sums.end(), 5.0f);
    auto packed = pack(view(data.b, {n, k}), {.transposed = true});
    packs(left, packed.view(), view(sums, {m, n}));
    EXPECT_EQ(sums, data.expected) << m << "x" << n << "x" << k << " packed";
  }
}

/// Results in one of several matrices, blocks of which are stored while the next one is multiplied.
struct InLargeTensor {
  void operator()(Block &b, In<i8, 2> A, In<i8, 4> B, Out<i32, 3> C) const {
    constexpr int m = 64, n = 96, k = 256;
    auto [bm, bn] = b.grid(ceil_div(C.size(1), m), ceil_div(C.size(2), n));
    auto As = b.shared<i8>(m, k);
    auto Bs = packed_tile<i8>(b, k, n);
    auto acc = b.local<i32>(m, n);
    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(A.size(1), k))) {
      b.copy(A.at(bm * m, ko * k), As);
      b.copy(B.at(bn * (n / 16), ko * (k / 4), 0, 0), Bs);
      b.gemm(As, Bs, acc);
    }
    b.copy(acc, C.at(1, bm * m, bn * n));
  }
};

/// From 4 MB on, results whose rows begin at lines are stored past the caches; all others, and
/// those at edges, are not. Other matrices keep their elements.
TEST_P(ProductLevels, LargeResults) {
  auto kernel = compile(InLargeTensor{}, Target::native(), {.name = "large", .cpu = level()});
  EXPECT_EQ(kernel.assembly().find("vmovnt") != std::string::npos, level() == Cpu::Amx);
  struct Shape {
    int m, n, k;
    int64_t matrices, stride, first;
  };
  for (auto [m, n, k, matrices, stride, first] : {Shape{128, 192, 512, 43, 192, 0},
                                                  {128, 192, 256, 43, 208, 0},
                                                  {128, 192, 512, 43, 193, 0},
                                                  {128, 192, 512, 43, 192, 1},
                                                  {128, 192, 512, 42, 192, 0},
                                                  {100, 180, 600, 60, 192, 0}}) {
    Case c = {.m = m, .n = n, .k = k, .b = Form::Transposed, .accumulate = false};
    Data<i8, i32> data(c, false);
    struct alignas(64) Line {
      i32 numbers[16];
    };
    std::vector<Line> lines(size_t(matrices * m * stride + first) / 16 + 1);
    i32 *sums = lines.data()->numbers + first;
    std::fill_n(sums, matrices * m * stride, 5);
    auto packed = pack(view(data.b, {n, k}), {.transposed = true});
    kernel(view(data.a, {m, k}), packed.view(),
           view(sums, {matrices, m, n}, {m * stride, stride, 1}));
    int64_t wrong = 0;
    for (int64_t at = 0; at < matrices * m * stride; ++at) {
      int64_t row = at / stride - m, column = at % stride;
      bool computed = row >= 0 && row < m && column < n;
      wrong += sums[at] != (computed ? data.expected[size_t(row * n + column)] : 5);
    }
    EXPECT_EQ(wrong, 0) << m << "x" << n << "x" << k << ", " << matrices << " matrices";
  }
}

/// Weights of i8 in the order of operands of E, which are converted before they are multiplied.
template <class E> struct Converted {
  void operator()(Block &b, In<E, 2> A, In<i8, 4> B, Out<f32, 2> C) const {
    constexpr int m = 16, n = 32, k = 64;
    auto [bm, bn] = b.grid(ceil_div(C.size(0), m), ceil_div(C.size(1), n));
    auto As = b.shared<E>(m, k);
    auto bytes = packed_tile<i8, E>(b, k, n);
    auto Bs = packed_tile<E>(b, k, n);
    auto acc = b.local<f32>(m, n);
    b.fill(acc, 0);
    for (Index ko : b.range(ceil_div(A.size(1), k))) {
      b.copy(A.at(bm * m, ko * k), As);
      b.copy(B.at(bn * (n / 16), ko * (k / 2), 0, 0), bytes);
      b.set(Bs, cast<E>(bytes));
      b.gemm(As, Bs, acc);
    }
    b.copy(acc, C.at(bm * m, bn * n));
  }
};

template <class E> void multiplyConverted(Cpu level) {
  auto kernel = compile(Converted<E>{}, Target::native(), {.name = "converted", .cpu = level});
  std::mt19937 random(7);
  for (auto [m, n, k] : {std::array<int64_t, 3>{16, 64, 128}, {9, 50, 131}, {33, 17, 1}}) {
    std::vector<E> a(size_t(m * k));
    std::vector<i8> w(size_t(k * n)), turned(w.size());
    for (E &x : a)
      x = E(float(int(random() % 9) - 4));
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        turned[size_t(j * k + i)] = w[size_t(i * n + j)] = i8(int(random() % 256) - 128);
    std::vector<f32> expected(size_t(m * n)), sums(expected.size(), 5);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          expected[size_t(i * n + j)] += float(a[size_t(i * k + l)]) * float(w[size_t(l * n + j)]);
    auto packed = pack_for<E>(view(std::as_const(w), {k, n}));
    // [N / 16, K / 2, 16, 2], and zero beyond the matrix.
    auto panels = packed.view();
    ASSERT_EQ(panels.sizes, (std::array<int64_t, 4>{(n + 15) / 16, (k + 1) / 2, 16, 2}));
    for (int64_t at = 0; at < panels.sizes[0] * panels.strides[0]; ++at) {
      int64_t column = at / panels.strides[0] * 16 + at / 2 % 16;
      int64_t row = at % panels.strides[0] / 32 * 2 + at % 2;
      ASSERT_EQ(panels.data[at], row < k && column < n ? w[size_t(row * n + column)] : 0) << at;
    }
    kernel(view(a, {m, k}), panels, view(sums, {m, n}));
    EXPECT_EQ(sums, expected) << m << "x" << n << "x" << k;
    auto other = pack_for<E>(view(std::as_const(turned), {n, k}), {.transposed = true});
    std::fill(sums.begin(), sums.end(), 5.0f);
    kernel(view(a, {m, k}), other.view(), view(sums, {m, n}));
    EXPECT_EQ(sums, expected) << m << "x" << n << "x" << k << " transposed";
  }
}

TEST_P(ProductLevels, ConvertedWeights) {
  multiplyConverted<bf16>(level());
  multiplyConverted<f16>(level());
}

/// A tile of one column, transposed: its rows are contiguous, those of its tensor are not.
template <class E, class S> struct OneColumn {
  bool ofA;

  void operator()(Block &b, In<E, 2> A, In<E, 2> B, Out<S, 2> C) const {
    int m = ofA ? 1 : 4, n = 64, k = ofA ? 64 : 1;
    auto [bm, bn] = b.grid(C.size(0) / m, C.size(1) / n);
    auto As = ofA ? b.shared<E>(k, m) : b.shared<E>(m, k);
    auto Bs = b.shared<E>(n, k);
    auto acc = b.local<S>(m, n);
    b.fill(acc, 0);
    for (Index i : b.range(B.size(1) / k)) {
      b.copy(ofA ? A.at(i * k, bm * m) : A.at(bm * m, i * k), As);
      b.copy(B.at(bn * n, i * k), Bs);
      b.gemm(ofA ? transposed(As) : As, transposed(Bs), acc);
    }
    b.copy(acc, C.at(bm * m, bn * n));
  }
};

template <class E, class S> void multiplyOneColumn(bool ofA, Cpu level) {
  constexpr int64_t m = 4, n = 64, k = 128;
  Case c = {.m = int(m),
            .n = int(n),
            .k = int(k),
            .transposedA = ofA,
            .b = Form::Transposed,
            .accumulate = false};
  Data<E, S> data(c, false);
  auto kernel = compile(OneColumn<E, S>{ofA}, Target::native(), {.name = "column", .cpu = level});
  std::vector<S> sums(size_t(m * n), S(5));
  kernel(ofA ? view(data.a, {k, m}) : view(data.a, {m, k}), view(data.b, {n, k}),
         view(sums, {m, n}));
  EXPECT_EQ(sums, data.expected) << "A " << ofA;
}

TEST_P(ProductLevels, TransposedTileOfOneColumn) {
  for (bool ofA : {false, true}) {
    multiplyOneColumn<f32, f32>(ofA, level());
    multiplyOneColumn<f16, f32>(ofA, level());
    multiplyOneColumn<bf16, f32>(ofA, level());
    multiplyOneColumn<i8, i32>(ofA, level());
  }
}

/// LLVM calls a function for the rounding to bf16 where the processor has no instruction.
TEST(ProductLevels, RoundingToBf16WithoutInstruction) {
  auto kernel = compile(
      [](Block &b, In<bf16, 1> X, Out<bf16, 1> Y) {
        auto x = b.local<bf16>(1); // not a vector
        b.copy(X.at(0), x);
        b.set(x, max(round(x), bf16(-100.0f)));
        b.copy(x, Y.at(0));
      },
      Target::native(), {.name = "rounding", .cpu = Cpu::Avx2});
  std::vector<bf16> x = {bf16(99.5f)}, y(1);
  kernel(view(x, {1}), view(y, {1}));
  EXPECT_EQ(float(y[0]), 100.0f);
  EXPECT_NE(kernel.assembly().find("__truncsfbf2"), std::string::npos) << "nothing is tested";
}

/// Subnormal operands count at all levels, and infinities and NaN are those of IEEE 754.
TEST_P(ProductLevels, SpecialNumbersOfF16) {
  constexpr int size = 32;
  auto kernel = compile(
      [](Block &b, In<f16, 2> A, In<f16, 2> B, Out<f32, 2> C) {
        auto As = b.shared<f16>(size, size), Bs = b.shared<f16>(size, size);
        auto acc = b.local<f32>(size, size);
        b.copy(A.at(0, 0), As);
        b.copy(B.at(0, 0), Bs);
        b.gemm(As, Bs, acc, {.accumulate = false});
        b.copy(acc, C.at(0, 0));
      },
      Target::native(), {.name = "special", .cpu = level()});
  const float infinity = std::numeric_limits<float>::infinity();
  const float smallest = 0x1p-24f; // subnormal in f16
  struct {
    float a, b, expected;
  } rows[] = {{smallest, 1, smallest},   {smallest, smallest, 0x1p-48f},
              {1, -smallest, -smallest}, {65504, 65504, 65504.f * 65504.f},
              {infinity, 2, infinity},   {-infinity, 1, -infinity},
              {infinity, 0, NAN},        {NAN, 1, NAN}};
  for (auto [x, y, expected] : rows) {
    std::vector<f16> a(size * size), b(size * size);
    std::vector<f32> c(size * size);
    a[0] = f16(x);
    b[0] = f16(y);
    kernel(view(a, {size, size}), view(b, {size, size}), view(c, {size, size}));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(c[0])) << x << " * " << y;
    else
      EXPECT_EQ(c[0], expected) << x << " * " << y;
  }
}

TEST_P(ProductLevels, OneRowKeepsSubnormalNumbers) {
  Case c = {.m = 1, .n = 32, .k = 64, .accumulate = false};
  Data<bf16, f32> data(c, false);
  std::fill(data.a.begin(), data.a.end(), bf16(0x1p-133f)); // the smallest one
  std::fill(data.b.begin(), data.b.end(), bf16(0x1p100f));
  EXPECT_EQ(run(data, false, Target::native(), level()), std::vector<f32>(32, 64 * 0x1p-33f));
}

/// The instructions of each level, and none of a higher one.
TEST_P(ProductLevels, Instructions) {
  struct Expectation {
    Cpu cpu;
    const char *bf16, *i8, *u8;
    std::vector<const char *> absent;
  };
  const Expectation expectations[] = {
      {Cpu::Amx, "tdpbf16ps", "tdpbssd", "tdpbusd", {"vdpbf16ps"}},
      {Cpu::Avx512Fp16, "vdpbf16ps", "vpdpbusd", "vpdpbusd", {"tdp"}},
      {Cpu::Avx512Bf16, "vdpbf16ps", "vpdpbusd", "vpdpbusd", {"tdp"}},
      {Cpu::Avx512Vnni, "vfmadd", "vpdpbusd", "vpdpbusd", {"tdp", "vdpbf16ps"}},
      {Cpu::Avx512, "vfmadd", "vpmulld", "vpmulld", {"tdp", "vdpbf16ps", "vpdp"}},
      {Cpu::Avx2, "vfmadd", "vpmulld", "vpmulld", {"zmm"}}};
  auto expected = std::find_if(std::begin(expectations), std::end(expectations),
                               [&](const Expectation &e) { return e.cpu == level(); });
  ASSERT_NE(expected, std::end(expectations)) << "a level without expected instructions";
  const Expectation &e = *expected;
  auto assembly = [&](auto product) {
    return compile(product, Target::native(), {.name = "product", .cpu = level()}).assembly();
  };
  Case c = {.m = 32, .n = 32, .k = 64};
  std::string floats = assembly(Product<bf16, f32, 2>{c, false}),
              bytes = assembly(Product<i8, i32, 2>{c, false}),
              unsignedBytes = assembly(Product<i8, i32, 2>{c, true});
  EXPECT_NE(floats.find(e.bf16), std::string::npos) << e.bf16;
  EXPECT_NE(bytes.find(e.i8), std::string::npos) << e.i8;
  EXPECT_NE(unsignedBytes.find(e.u8), std::string::npos) << e.u8;
  for (const std::string &text : {floats, bytes, unsignedBytes})
    for (const char *absent : e.absent)
      EXPECT_EQ(text.find(absent), std::string::npos) << absent;
  // Matrix-vector products use vector instructions, unless their bytes are signed.
  Case oneRow = {.m = 1, .n = 32, .k = 64};
  for (const std::string &text : {assembly(Product<bf16, f32, 2>{oneRow, false}),
                                  assembly(Product<i8, i32, 2>{oneRow, true})})
    EXPECT_EQ(text.find("tdp"), std::string::npos);
  EXPECT_NE(assembly(Product<i8, i32, 2>{oneRow, false}).find(e.i8), std::string::npos);
  // Only some processors with AMX have it for f16.
  bool tiles = level() == Cpu::Amx && hasTilesForF16();
  std::string halves = assembly(Product<f16, f32, 2>{c, false});
  EXPECT_EQ(halves.find("tdpfp16ps") != std::string::npos, tiles);
  EXPECT_EQ(halves.find("vfmadd") != std::string::npos, !tiles);
}

} // namespace
