//===- LaunchTest.cpp - Launches through the driver -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Shim.h"

#include <numeric>

using namespace penstock;
using namespace penstock::test;

namespace {

Target targetOf(int device) { return device == 0 ? Target::sm_90a() : Target::sm_100a(); }

std::vector<int32_t> numbers(size_t count) {
  std::vector<int32_t> all(count);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

gpu::Memory<int32_t> uploaded(const std::vector<int32_t> &from, int device) {
  gpu::Memory<int32_t> memory(from.size(), gpu::Device(device));
  memory.upload(from.data());
  return memory;
}

std::vector<int32_t> downloaded(const gpu::Memory<int32_t> &from) {
  std::vector<int32_t> to(from.size());
  from.download(to.data());
  return to;
}

/// The code and first line of the only error.
std::string only(const std::vector<Diagnostic> &diagnostics) {
  if (diagnostics.size() != 1)
    return std::to_string(diagnostics.size()) + " diagnostics\n" + to_text(diagnostics);
  EXPECT_TRUE(diagnostics[0].location.known());
  EXPECT_FALSE(diagnostics[0].helps.empty());
  return codeName(diagnostics[0].code) + " " + diagnostics[0].message;
}

void *current() {
  void *context = nullptr;
  EXPECT_CUDA(call("cuInit", 0u));
  EXPECT_CUDA(call("cuCtxGetCurrent", &context));
  return context;
}

struct Recover {
  ~Recover() { call("penstock_emu_recover"); }
};

TEST(Gpu, DevicesHaveTargets) {
  ASSERT_EQ(gpu::count(), 2);
  EXPECT_EQ(gpu::Device(0).target().kind, Target::Kind::Sm90a);
  EXPECT_EQ(gpu::Device(1).target().kind, Target::Kind::Sm100a);
  EXPECT_EQ(gpu::Device(1).name(), "Penstock emulator of an NVIDIA B200");
  EXPECT_TRUE(gpu::Device(0).emulated());
  try {
    gpu::Device(2).target();
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(only(error.diagnostics()), "PS1702 there is no GPU 2; CUDA sees 2");
  }
}

TEST(Gpu, TheCurrentDeviceIsThatOfTheContext) {
  EXPECT_EQ(gpu::current().number(), 0);
  OnDevice on(1);
  EXPECT_EQ(gpu::current().number(), 1);
}

TEST(Gpu, WithoutAStreamACallWaits) {
  auto kernel = compile(Accumulate{}, gpu::current().target());
  auto x = uploaded(numbers(100), 0), y = uploaded(numbers(100), 0);
  kernel(view(x, {100}), 3, view(y, {100}));
  EXPECT_EQ(downloaded(y)[99], 400);
  EXPECT_EQ(current(), nullptr); // the thread had no context, and has none
}

TEST(Gpu, AStreamDecidesTheDevice) {
  for (int device : {0, 1}) {
    auto kernel = compile(Accumulate{}, targetOf(device));
    auto x = uploaded(numbers(70), device), y = uploaded(numbers(70), device);
    Stream stream(device);
    OnDevice other(1 - device); // the current context does not matter, and stays
    void *before = current();
    kernel.launch({.stream = stream.handle}, view(x, {70}), 2, view(y, {70}));
    EXPECT_EQ(current(), before);
    gpu::synchronize(stream.handle);
    EXPECT_EQ(current(), before);
    EXPECT_EQ(downloaded(y)[69], 210);
  }
}

TEST(Gpu, LaunchesOnAStreamAreInOrder) {
  auto kernel = compile(Accumulate{}, targetOf(0));
  Stream stream(0);
  auto x = uploaded(numbers(64), 0), y = uploaded(std::vector<int32_t>(64, 1), 0);
  for (int i = 0; i < 5; ++i) { // y = y + 3 y
    kernel.launch({.stream = stream.handle}, view(x, {64}), 1, view(y, {64}));
    kernel.launch({.stream = stream.handle}, view(y, {64}), 1, view(x, {64}));
  }
  gpu::synchronize(stream.handle);
  int32_t a = 64, b = 1;
  for (int i = 0; i < 5; ++i) {
    b += a;
    a += b;
  }
  EXPECT_EQ(downloaded(y)[63], b);
  EXPECT_EQ(downloaded(x)[63], a);
}

TEST(Gpu, PrepareLoadsOnADevice) {
  auto kernel = compile(Product{}, targetOf(1));
  kernel.prepare(gpu::Device(1));
  try {
    kernel.prepare(gpu::Device(0));
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(only(error.diagnostics()),
              "PS1702 `Product` was compiled for sm_100a, but GPU 0 (Penstock emulator of an "
              "NVIDIA H100) is sm_90");
  }
}

TEST(Gpu, AKernelForAnotherDeviceIsRefused) {
  auto kernel = compile(Accumulate{}, targetOf(1));
  auto x = uploaded(numbers(4), 0), y = uploaded(numbers(4), 0);
  EXPECT_EQ(only(kernel.try_launch({}, view(x, {4}), 1, view(y, {4}))),
            "PS1702 `Accumulate` was compiled for sm_100a, but GPU 0 (Penstock emulator of an "
            "NVIDIA H100) is sm_90");
}

TEST(Gpu, InvalidArgumentsAreRefusedBeforeTheDriverIsCalled) {
  auto kernel = compile(Accumulate{}, targetOf(0));
  auto x = uploaded(numbers(4), 0), y = uploaded(numbers(8), 0);
  EXPECT_EQ(only(kernel.try_launch({}, view(x, {4}), 1, view(y, {8}))),
            "PS1302 `N` is 8 as size 0 of `y`, but 4 as size 0 of `x`");
}

TEST(Gpu, StreamsAreForGpus) {
  auto kernel = compile(Accumulate{}, Target::native());
  auto x = numbers(4), y = numbers(4);
  Stream stream(0);
  EXPECT_EQ(only(kernel.try_launch({.stream = stream.handle}, view(x, {4}), 1, view(y, {4}))),
            "PS1307 `Accumulate` was not compiled for a GPU; it takes no stream");
  try {
    kernel.prepare(gpu::Device(0));
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(only(error.diagnostics()), "PS1307 `Accumulate` was not compiled for a GPU");
  }
}

TEST(Gpu, EmptyTensorsAreLaunched) {
  auto kernel = compile(Product{}, targetOf(0));
  gpu::Memory<f16> c(64 * 64, gpu::Device(0));
  const f16 *none = nullptr;
  // The sums of no products.
  kernel(view(none, {64, 0}), view(none, {64, 0}), view(c, {64, 64}));
  std::vector<f16> result(64 * 64);
  c.download(result.data());
  EXPECT_EQ(float(result[77]), 0.0f);
  // Nothing at all.
  f16 *nowhere = nullptr;
  EXPECT_TRUE(
      kernel.try_launch({}, view(none, {0, 8}), view(none, {0, 8}), view(nowhere, {0, 0})).empty());
}

//===----------------------------------------------------------------------===//
// Faults and failures
//===----------------------------------------------------------------------===//

TEST(Gpu, FaultsAreReportedOnce) {
  for (int device : {0, 1}) {
    auto kernel = compile(Divided{}, targetOf(device));
    std::vector<int32_t> divisors(64, 5);
    divisors[17] = 0;
    auto x = uploaded(numbers(64), device), y = uploaded(divisors, device),
         z = uploaded(numbers(64), device);
    Stream stream(device);
    EXPECT_TRUE(
        kernel.try_launch({.stream = stream.handle}, view(x, {64}), view(y, {64}), view(z, {64}))
            .empty());
    auto faults = gpu::try_synchronize(stream.handle);
    ASSERT_EQ(faults.size(), 1u) << to_text(faults);
    EXPECT_EQ(faults[0].code, 1403u);
    EXPECT_TRUE(gpu::try_synchronize(stream.handle).empty());
    EXPECT_EQ(downloaded(z)[17], 0);
    EXPECT_EQ(downloaded(z)[63], 12);
    // Without a stream, the call itself reports them.
    OnDevice on(device);
    faults = kernel.try_launch({}, view(x, {64}), view(y, {64}), view(z, {64}));
    ASSERT_EQ(faults.size(), 1u) << to_text(faults);
    EXPECT_EQ(faults[0].code, 1403u);
  }
}

TEST(Gpu, LateErrorsNameTheLaunchesBefore) {
  Recover recover;
  auto kernel = compile(Accumulate{}, targetOf(0));
  auto x = uploaded(numbers(48), 0), y = uploaded(numbers(48), 0);
  Stream stream(0);
  kernel.launch({.stream = stream.handle}, view(x, {48}), 1, view(y, {48}));
  call("penstock_emu_inject", "cuStreamSynchronize", 1, 700);
  auto errors = gpu::try_synchronize(stream.handle);
  EXPECT_EQ(only(errors), "PS1705 a kernel accessed memory that it must not (cuStreamSynchronize "
                          "returned 700, CUDA_ERROR_ILLEGAL_ADDRESS)");
  ASSERT_FALSE(errors[0].notes.empty());
  EXPECT_EQ(errors[0].notes[0].message, "`Accumulate` was launched before, with N=48");
  EXPECT_EQ(errors[0].helps[1],
            "reproduce it without a GPU: penstock check LIBRARY Accumulate --shape N=48");
}

// Every later call on a context that failed fails, too.
TEST(Gpu, AFailedContextRefusesLaunches) {
  Recover recover;
  auto kernel = compile(Accumulate{}, targetOf(0));
  auto x = uploaded(numbers(48), 0), y = uploaded(numbers(48), 0);
  Stream stream(0);
  kernel.launch({.stream = stream.handle}, view(x, {48}), 1, view(y, {48}));
  {
    OnDevice on(0);
    call("penstock_emu_inject", "cuStreamSynchronize", 1, 719);
    EXPECT_EQ(stream.synchronize(), 719);
  }
  auto errors = kernel.try_launch({.stream = stream.handle}, view(x, {48}), 1, view(y, {48}));
  EXPECT_EQ(only(errors), "PS1705 a kernel failed while it ran (cuLaunchKernelEx returned 719, "
                          "CUDA_ERROR_LAUNCH_FAILED)");
}

struct Injected {
  const char *function;
  int result;
  const char *code, *cause;
};
class Failures : public testing::TestWithParam<Injected> {};

TEST_P(Failures, HaveCauseAndCure) {
  Recover recover;
  auto kernel = compile(Divided{}, targetOf(0));
  auto x = uploaded(numbers(8), 0), y = uploaded(numbers(8), 0), z = uploaded(numbers(8), 0);
  call("penstock_emu_inject", GetParam().function, 1, GetParam().result);
  auto errors = kernel.try_launch({}, view(x, {8}), view(y, {8}), view(z, {8}));
  ASSERT_EQ(errors.size(), 1u) << to_text(errors);
  EXPECT_EQ(codeName(errors[0].code), GetParam().code) << errors[0].message;
  EXPECT_NE(errors[0].message.find(GetParam().cause), std::string::npos) << errors[0].message;
  EXPECT_NE(errors[0].message.find(std::to_string(GetParam().result)), std::string::npos);
  EXPECT_FALSE(errors[0].helps.empty());
  // The next launch works, unless the context is lost.
  call("penstock_emu_recover");
  errors = kernel.try_launch({}, view(x, {8}), view(y, {8}), view(z, {8}));
  EXPECT_TRUE(errors.empty()) << to_text(errors);
}

INSTANTIATE_TEST_SUITE_P(
    Gpu, Failures,
    testing::Values(Injected{"cuLibraryLoadData", 209, "PS1703", "compiled for another GPU"},
                    Injected{"cuLibraryLoadData", 218, "PS1703", "refuses the kernel's PTX"},
                    Injected{"cuLibraryLoadData", 222, "PS1703", "older than the kernel's PTX"},
                    Injected{"cuLibraryLoadData", 200, "PS1703", "cannot read the kernel's code"},
                    Injected{"cuLibraryGetKernel", 500, "PS1703", "no function of its name"},
                    Injected{"cuKernelSetAttribute", 1, "PS1704", "refuses the sizes"},
                    Injected{"cuLaunchKernelEx", 2, "PS1704", "no memory left"},
                    Injected{"cuDevicePrimaryCtxRetain", 46, "PS1702", "busy or unavailable"},
                    Injected{"cuLaunchKernelEx", 701, "PS1704",
                             "not enough registers or shared memory"},
                    Injected{"cuLaunchKernelEx", 201, "PS1704", "no CUDA context is current"},
                    Injected{"cuLaunchKernelEx", 400, "PS1704", "does not exist"},
                    Injected{"cuStreamSynchronize", 702, "PS1705", "ran too long"},
                    Injected{"cuStreamSynchronize", 715, "PS1705", "illegal instruction"},
                    Injected{"cuStreamSynchronize", 716, "PS1705", "misaligned address"},
                    Injected{"cuStreamSynchronize", 717, "PS1705", "wrong memory"},
                    Injected{"cuStreamSynchronize", 718, "PS1705", "invalid address"},
                    Injected{"cuLaunchKernelEx", 12345, "PS1704", "reports an error"}),
    [](const testing::TestParamInfo<Injected> &info) {
      return std::string(info.param.function) + "_" + std::to_string(info.param.result);
    });

//===----------------------------------------------------------------------===//
// Artifacts
//===----------------------------------------------------------------------===//

TEST(Gpu, ArtifactsAreLaunchedWithoutTheCompiler) {
  std::string bytes = compile(Accumulate{}, targetOf(0)).artifact();
  ASSERT_FALSE(bytes.empty());
  auto kernel = gpu::load<Accumulate>(bytes);
  auto x = uploaded(numbers(50), 0), y = uploaded(numbers(50), 0);
  kernel(view(x, {50}), 5, view(y, {50}));
  EXPECT_EQ(downloaded(y)[49], 300);
  EXPECT_EQ(kernel.artifact(), bytes);
}

TEST(Gpu, ArtifactsOfOtherKernelsAreRefused) {
  std::string bytes = compile(Accumulate{}, targetOf(0)).artifact();
  EXPECT_EQ(only(gpu::try_load<Divided>(bytes).diagnostics),
            "PS1712 the artifact is of `Accumulate`, whose `factor` is a scalar of i32; this "
            "kernel has a tensor of rank 1 of i32");
  bytes.pop_back();
  std::string refused = only(gpu::try_load<Accumulate>(bytes).diagnostics);
  EXPECT_EQ(refused.substr(0, 36), "PS1710 the artifact cannot be read: ");
}

TEST(Gpu, NativeKernelsHaveNoArtifact) {
  EXPECT_EQ(compile(Accumulate{}, Target::native()).artifact(), "");
}

} // namespace
