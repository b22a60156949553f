//===- BundleTest.cpp - Launches of a bundle ------------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bundle `tested` has Accumulate in two configurations, Divided and Product, and
// kernels that overlap, each for an H100 (GPU 0) and a B200 (GPU 1). What it computes and what it
// refuses is compared with the library's own launch.
//
//===----------------------------------------------------------------------===//
#include "../Gpu/Kernels.h"
#include "../Gpu/Shim.h"
#include "tested.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace penstock;
using namespace penstock::test;

namespace {

tested_t *bundle() {
  static tested_t *object = [] {
    tested_t *made = nullptr;
    char why[512];
    EXPECT_EQ(tested_load(&made, why, sizeof why), 0) << why;
    return made;
  }();
  return object;
}

struct Failure {
  int code = 0;
  char why[512] = "untouched";
};

template <class T> gpu::Memory<T> uploaded(const std::vector<T> &from, int device) {
  gpu::Memory<T> memory(from.size(), gpu::Device(device));
  memory.upload(from.data());
  return memory;
}

tested_Accumulate_args accumulateArguments(const int32_t *x, int64_t size, int32_t *y) {
  return {{x, {size}, {1}}, 3, {y, {size}, {1}}};
}

class OnEachGpu : public testing::TestWithParam<int> {
protected:
  Target target() const { return GetParam() == 0 ? Target::sm_90a() : Target::sm_100a(); }
};

/// Launches Product as both and compares.
void compareProduct(int device, Target target, int64_t M, int64_t N, int64_t K) {
  std::vector<f16> a(size_t(M * K)), b(size_t(N * K)), c(size_t(M * N)), expected(size_t(M * N));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = f16(float(i % 7) - 3);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = f16(float(i % 5) - 2);
  auto direct = compile(Product{}, target.emulated());
  direct(view(a, {M, K}), view(b, {N, K}), view(expected, {M, N}));

  auto da = uploaded(a, device), db = uploaded(b, device), dc = uploaded(c, device);
  Stream stream(device);
  tested_Product_args args = {
      {da.data(), {M, K}, {K, 1}}, {db.data(), {N, K}, {K, 1}}, {dc.data(), {M, N}, {N, 1}}};
  char why[512];
  ASSERT_EQ(tested_Product_launch(bundle(), stream.handle, &args, why, sizeof why), 0) << why;
  ASSERT_EQ(tested_synchronize(bundle(), stream.handle, why, sizeof why), 0) << why;
  dc.download(c.data());
  EXPECT_EQ(0, memcmp(c.data(), expected.data(), c.size() * sizeof(f16)));
}

TEST_P(OnEachGpu, ResultsAreThoseOfTheEmulator) {
  compareProduct(GetParam(), target(), 72, 136, 200);
}

// Rows of 41 elements: the variant without TMA.
TEST_P(OnEachGpu, RowsThatTmaCannotCopyWork) { compareProduct(GetParam(), target(), 37, 43, 41); }

TEST_P(OnEachGpu, TheVariantFollowsFromRows) {
  gpu::Memory<f16> memory(3 * 64 * 64, gpu::Device(GetParam()));
  Stream stream(GetParam());
  auto chosen = [&](int64_t K) {
    tested_Product_args args = {{memory.data(), {8, K}, {K, 1}},
                                {memory.data(), {8, K}, {K, 1}},
                                {memory.data() + 4096, {8, 8}, {8, 1}}};
    unsigned variant = 99;
    char why[512];
    EXPECT_EQ(tested_Product_choose(bundle(), stream.handle, &args, &variant, why, sizeof why), 0)
        << why;
    return variant;
  };
  EXPECT_EQ(chosen(64), chosen(8));
  EXPECT_EQ(chosen(63), chosen(64) + 1);
}

// Accumulate:block=64,N<=100 comes first.
TEST_P(OnEachGpu, TheConfigurationFollowsFromSizes) {
  gpu::Memory<int32_t> memory(400, gpu::Device(GetParam()));
  Stream stream(GetParam());
  auto chosen = [&](int64_t size) {
    auto args = accumulateArguments(memory.data(), size, memory.data() + 200);
    unsigned variant = 99;
    char why[512];
    EXPECT_EQ(tested_Accumulate_choose(bundle(), stream.handle, &args, &variant, why, sizeof why),
              0)
        << why;
    return variant;
  };
  EXPECT_EQ(chosen(1), chosen(100));
  EXPECT_NE(chosen(100), chosen(101));
  EXPECT_EQ(chosen(101), chosen(200));
}

TEST_P(OnEachGpu, FaultsAreReportedOnce) {
  std::vector<int32_t> x(40, 6), y(40, 3);
  auto dx = uploaded(x, GetParam()), dy = uploaded(y, GetParam()), dz = uploaded(x, GetParam());
  Stream stream(GetParam());
  tested_Divided_args args = {
      {dx.data(), {40}, {1}}, {dy.data(), {40}, {1}}, {dz.data(), {40}, {1}}};
  char why[512];
  ASSERT_EQ(tested_Divided_launch(bundle(), stream.handle, &args, why, sizeof why), 0) << why;
  EXPECT_EQ(tested_synchronize(bundle(), stream.handle, why, sizeof why), 0) << why;
  y[33] = 0;
  dy.upload(y.data());
  ASSERT_EQ(tested_Divided_launch(bundle(), stream.handle, &args, why, sizeof why), 0) << why;
  EXPECT_EQ(tested_synchronize(bundle(), stream.handle, why, sizeof why), 1403);
  EXPECT_NE(std::string(why).find("PS1403: "), std::string::npos) << why;
  EXPECT_NE(std::string(why).find("Kernels.h:"), std::string::npos) << why;
  EXPECT_EQ(tested_synchronize(bundle(), stream.handle, why, sizeof why), 0) << why;
}

TEST_P(OnEachGpu, EmptyTensorsAreValid) {
  Stream stream(GetParam());
  auto args = accumulateArguments(nullptr, 0, nullptr);
  char why[512];
  EXPECT_EQ(tested_Accumulate_launch(bundle(), stream.handle, &args, why, sizeof why), 0) << why;
  EXPECT_EQ(tested_synchronize(bundle(), stream.handle, why, sizeof why), 0) << why;
  tested_Product_args product = {{nullptr, {8, 0}, {0, 1}}, {nullptr, {8, 0}, {0, 1}}, {}};
  std::vector<f16> c(64, f16(1.0f));
  auto dc = uploaded(c, GetParam());
  product.C = {dc.data(), {8, 8}, {8, 1}};
  EXPECT_EQ(tested_Product_launch(bundle(), stream.handle, &product, why, sizeof why), 0) << why;
  EXPECT_EQ(tested_synchronize(bundle(), stream.handle, why, sizeof why), 0) << why;
  dc.download(c.data());
  for (f16 each : c)
    EXPECT_EQ(float(each), 0.0f);
}

// z = 2 * (x + 1), by a kernel that waits at once and one that waits too late. The emulated driver
// only reports the latter if launches overlap.
TEST_P(OnEachGpu, KernelsThatWaitOverlap) {
  constexpr int64_t n = 128;
  std::vector<f16> ones(n * n, f16(1.0f)), zeros(n * n, f16(0.0f));
  auto x = uploaded(ones, GetParam()), y = uploaded(zeros, GetParam()),
       z = uploaded(zeros, GetParam());
  Stream stream(GetParam());
  tested_Produce_args produce = {{x.data(), {n, n}, {n, 1}}, {y.data(), {n, n}, {n, 1}}};
  tested_Consume_args consume = {{y.data(), {n, n}, {n, 1}}, {z.data(), {n, n}, {n, 1}}};
  tested_LateConsume_args late = {{y.data(), {n, n}, {n, 1}}, {z.data(), {n, n}, {n, 1}}};
  /// Whether the emulated driver reports an access that did not wait for Produce.
  auto isFound = [&](auto launch, const auto &args) {
    char why[512];
    testing::internal::CaptureStderr();
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(tested_Produce_launch(bundle(), stream.handle, &produce, why, sizeof why), 0)
          << why;
      EXPECT_EQ(launch(bundle(), stream.handle, &args, why, sizeof why), 0) << why;
      EXPECT_EQ(tested_synchronize(bundle(), stream.handle, why, sizeof why), 0) << why;
    }
    return testing::internal::GetCapturedStderr().find("PS1772") != std::string::npos;
  };
  EXPECT_FALSE(isFound(tested_Consume_launch_overlapping, consume));
  std::vector<f16> result(n * n);
  z.download(result.data());
  EXPECT_TRUE(std::ranges::all_of(result, [](f16 each) { return float(each) == 4.0f; }));
  EXPECT_FALSE(isFound(tested_LateConsume_launch, late));
  EXPECT_TRUE(isFound(tested_LateConsume_launch_overlapping, late));
}

INSTANTIATE_TEST_SUITE_P(Bundle, OnEachGpu, testing::Values(0, 1));

Failure accumulateFails(const tested_Accumulate_args &args, void *stream) {
  Failure failure;
  failure.code = tested_Accumulate_launch(bundle(), stream, &args, failure.why, sizeof failure.why);
  return failure;
}

TEST(Bundle, WrongArgumentsHaveTexts) {
  gpu::Memory<int32_t> memory(200, gpu::Device(0)), other(200, gpu::Device(1));
  std::vector<int32_t> host(200);
  Stream stream(0);
  int32_t *x = memory.data(), *y = x + 100;
  auto expect = [&](const tested_Accumulate_args &args, int code, const char *text) {
    Failure failure = accumulateFails(args, stream.handle);
    EXPECT_EQ(failure.code, code);
    EXPECT_NE(std::string(failure.why).find(text), std::string::npos) << failure.why;
  };
  auto args = [&](int64_t size) { return accumulateArguments(x, size, y); };
  expect(args(-1), 1302, "size 0 of `x` is -1");
  auto wrong = args(50);
  wrong.y.sizes[0] = 49;
  expect(wrong, 1302, "`N` is 49 as size 0 of `y`, but 50 as size 0 of `x`");
  wrong = args(50);
  wrong.x.strides[0] = 2;
  expect(wrong, 1303, "stride of 2 in its last dimension");
  wrong.x.strides[0] = -1;
  expect(wrong, 1303, "stride 0 of `x` is -1");
  expect(accumulateArguments(nullptr, 50, y), 1304, "`x` has 50 elements");
  wrong = args(50);
  wrong.y.data = reinterpret_cast<char *>(y) + 1;
  expect(wrong, 1304, "`y` holds i32 and is not aligned to 4 bytes");
  expect(accumulateArguments(x, 50, x + 49), 1305, "`x` and `y` share memory, and `y` is written");
  expect(accumulateArguments(host.data(), 50, y), 1701, "`x` is in host memory");
  expect(accumulateArguments(x, 100, y + 50), 1701,
         "`y` needs 400 bytes, but its memory ends after");
  expect(accumulateArguments(other.data(), 50, y), 1701, "`x` is in the memory of GPU 1");
  expect(accumulateArguments(x, int64_t(1) << 60, y), 1302, "more elements than memory can hold");
  // A short buffer gets the beginning, none gets nothing.
  char why[12] = "";
  tested_Accumulate_args negative = args(-1);
  EXPECT_EQ(tested_Accumulate_launch(bundle(), stream.handle, &negative, why, sizeof why), 1302);
  EXPECT_STREQ(why, "PS1302: siz");
  EXPECT_EQ(tested_Accumulate_launch(bundle(), stream.handle, &negative, nullptr, 0), 1302);
  EXPECT_EQ(tested_Accumulate_launch(bundle(), stream.handle, nullptr, nullptr, 0), 1304);
  EXPECT_EQ(tested_Accumulate_launch(nullptr, stream.handle, &negative, nullptr, 0), 1304);
  EXPECT_EQ(tested_synchronize(nullptr, stream.handle, nullptr, 0), 1304);
  EXPECT_EQ(tested_load(nullptr, nullptr, 0), 1304);
  tested_unload(nullptr);
}

// The context of the thread is not changed, and a thread without one uses GPU 0.
TEST(Bundle, TheContextIsTheStreams) {
  void *before = nullptr, *after = nullptr;
  gpu::Memory<int32_t> memory(200, gpu::Device(1));
  Stream stream(1);
  EXPECT_CUDA(call("cuCtxGetCurrent", &before));
  auto args = accumulateArguments(memory.data(), 100, memory.data() + 100);
  EXPECT_EQ(accumulateFails(args, stream.handle).code, 0);
  EXPECT_EQ(tested_synchronize(bundle(), stream.handle, nullptr, 0), 0);
  EXPECT_CUDA(call("cuCtxGetCurrent", &after));
  EXPECT_EQ(before, after);
}

TEST(Bundle, CapturedLaunchesReplay) {
  std::vector<int32_t> x(70), y(70, 1);
  std::iota(x.begin(), x.end(), 0);
  auto dx = uploaded(x, 0), dy = uploaded(y, 0);
  Stream stream(0);
  OnDevice on(0);
  tested_t *fresh = nullptr; // its first launch is captured
  ASSERT_EQ(tested_load(&fresh, nullptr, 0), 0);
  auto args = accumulateArguments(dx.data(), 70, dy.data());
  char why[512];
  EXPECT_CUDA(call("cuStreamBeginCapture_v2", stream.handle, int(cuda::CaptureGlobal)));
  EXPECT_EQ(tested_Accumulate_launch(fresh, stream.handle, &args, why, sizeof why), 0) << why;
  void *graph = nullptr, *executable = nullptr;
  EXPECT_CUDA(call("cuStreamEndCapture", stream.handle, &graph));
  EXPECT_CUDA(call("cuGraphInstantiateWithFlags", &executable, graph, 0ull));
  for (int i = 0; i < 2; ++i)
    EXPECT_CUDA(call("cuGraphLaunch", executable, stream.handle));
  EXPECT_EQ(tested_synchronize(fresh, stream.handle, why, sizeof why), 0) << why;
  dy.download(y.data());
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], 1 + 6 * int32_t(i));
  tested_unload(fresh);
}

// Random arguments, of which most are invalid: the bundle returns the code of the library's
// first diagnostic, and computes what the library computes.
TEST(Bundle, AgreesWithTheLibraryOnRandomArguments) {
  auto library = compile(Accumulate{}, Target::sm_90a());
  std::mt19937_64 random(7);
  auto below = [&](int64_t end) { return int64_t(random() % uint64_t(end)); };
  constexpr int64_t words = 300;
  gpu::Memory<int32_t> ours(words, gpu::Device(0)), theirs(words, gpu::Device(0));
  std::vector<int32_t> start(words);
  std::iota(start.begin(), start.end(), 1);
  std::vector<int32_t> host(words), a(words), b(words);
  Stream stream(0);
  std::map<int, int> codes;
  for (int i = 0; i < 3000; ++i) {
    bool rarely = below(8) == 0;
    int64_t size = rarely ? below(3) - 1 : 1 + below(40);
    int64_t otherSize = below(6) ? size : 1 + below(40);
    int64_t stride = below(8) ? 1 : below(4) - 1, otherStride = below(8) ? 1 : below(4) - 1;
    int64_t from = below(words), to = below(words);
    int kind = int(below(20)); // of memory
    int32_t factor = int32_t(below(9)) - 4;
    ours.upload(start.data());
    theirs.upload(start.data());
    auto base = [&](gpu::Memory<int32_t> &memory) -> char * {
      return kind == 0   ? reinterpret_cast<char *>(host.data())
             : kind == 1 ? nullptr
                         : reinterpret_cast<char *>(memory.data());
    };
    int64_t skew = below(16) ? 0 : 1 + below(3);
    auto address = [&](gpu::Memory<int32_t> &memory, int64_t offset) {
      char *first = base(memory);
      return reinterpret_cast<int32_t *>(first ? first + offset * 4 + skew : nullptr);
    };
    tested_Accumulate_args args = {{address(ours, from), {size}, {stride}},
                                   factor,
                                   {address(ours, to), {otherSize}, {otherStride}}};
    Failure failure = accumulateFails(args, stream.handle);
    TensorView<const i32, 1> x{address(theirs, from), {size}, {stride}};
    TensorView<i32, 1> y{address(theirs, to), {otherSize}, {otherStride}};
    auto diagnostics = library.try_launch({.stream = stream.handle}, x, factor, y);
    ASSERT_EQ(failure.code, diagnostics.empty() ? 0 : int(diagnostics[0].code))
        << i << ": " << failure.why << "\n"
        << to_text(diagnostics);
    ++codes[failure.code];
    if (failure.code)
      continue;
    ASSERT_EQ(tested_synchronize(bundle(), stream.handle, failure.why, sizeof failure.why), 0)
        << failure.why;
    ours.download(a.data());
    theirs.download(b.data());
    ASSERT_TRUE(a == b) << i;
  }
  // The generator reaches all of them.
  for (int code : {0, 1302, 1303, 1304, 1305, 1701})
    EXPECT_GT(codes[code], 10) << code;
}

} // namespace
