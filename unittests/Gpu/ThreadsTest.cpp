//===- ThreadsTest.cpp - Launches from many threads -----------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 16 threads launch one kernel on two GPUs, also for the first time. The kernel is
// written by hand, so that builds without LLVM, with thread sanitizer, can run it.
//
//===----------------------------------------------------------------------===//
#include "Cuda/Launch.h"
#include "Shim.h"

#include <cstdlib>
#include <thread>

using namespace penstock;
using namespace penstock::test;

namespace {

/// y = x + increment
Artifact addArtifact() {
  Artifact artifact;
  artifact.info.name = "Add";
  ArgumentInfo x, increment, y;
  x.name = "x";
  x.tensor = y.tensor = true;
  x.element = y.element = increment.element = Element::i32;
  x.rank = y.rank = 1;
  x.sizes = y.sizes = {"N"};
  increment.name = "increment";
  y.name = "y";
  y.written = true;
  artifact.info.arguments = {x, increment, y};
  DeviceKernel kernel;
  kernel.name = "Add";
  kernel.architecture = "sm_90a";
  kernel.threads = 32;
  kernel.parameterBytes = 32;
  kernel.fields = {{ParameterField::Address, 0, 0, 0},
                   {ParameterField::Address, 2, 0, 8},
                   {ParameterField::Size, 0, 0, 16},
                   {ParameterField::Scalar, 1, 0, 24}};
  kernel.launch.steps = {{LaunchStep::Size, 0, 0, 0, 0},
                         {LaunchStep::Constant, 0, 0, 0, 32},
                         {LaunchStep::CeilDivS, 0, 1, 0, 0},
                         {LaunchStep::Constant, 0, 0, 0, 1}};
  kernel.launch.results = {2, 3, 3};
  kernel.ptx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry Add(.param .align 64 .b8 p[32])
{
  .reg .b64 %x, %y, %n, %i, %at;
  .reg .b32 %t, %c, %v, %increment;
  .reg .pred %outside;
  ld.param.u64 %x, [p];
  ld.param.u64 %y, [p+8];
  ld.param.u64 %n, [p+16];
  ld.param.u32 %increment, [p+24];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %t, %c, 32, %t;
  cvt.u64.u32 %i, %t;
  setp.ge.u64 %outside, %i, %n;
  @%outside bra END;
  shl.b64 %at, %i, 2;
  add.u64 %x, %x, %at;
  add.u64 %y, %y, %at;
  ld.global.u32 %v, [%x];
  add.u32 %v, %v, %increment;
  st.global.u32 [%y], %v;
END:
  ret;
}
)";
  artifact.variants = {kernel};
  return artifact;
}

detail::Argument vectorAt(DevicePointer address, int64_t size) {
  detail::Argument argument;
  argument.tensor = true;
  argument.element = Element::i32;
  argument.data = reinterpret_cast<void *>(address);
  argument.sizes = {size};
  argument.strides = {1};
  return argument;
}

TEST(Threads, SixteenOnTwoGpus) {
  setenv("PENSTOCK_EMU_DEVICE", "h100,h100", 1);
  constexpr int64_t size = 40;
  // The emulated driver is not instrumented: the sanitizer must see that it is made first.
  EXPECT_CUDA(call("cuInit", 0u));
  cuda::Program program(addArtifact(), {"", false});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&program, &wrong, t] {
      int device = t % 2;
      DevicePointer x = 0, y = 0;
      std::vector<int32_t> content(size, t), result(size);
      {
        OnDevice on(device);
        EXPECT_CUDA(call("cuMemAlloc_v2", &x, size_t(size * 4)));
        EXPECT_CUDA(call("cuMemAlloc_v2", &y, size_t(size * 4)));
        EXPECT_CUDA(call("cuMemcpyHtoD_v2", x, static_cast<const void *>(content.data()),
                         size_t(size * 4)));
      }
      Stream stream(device);
      detail::Argument arguments[3] = {vectorAt(x, size), {}, vectorAt(y, size)};
      arguments[1].element = Element::i32;
      LaunchOptions options;
      options.stream = stream.handle;
      for (int i = 0; i < 10; ++i) {
        if (i > 0) // the result of the last launch is added to
          std::swap(arguments[0].data, arguments[2].data);
        arguments[1].scalar = uint64_t(i);
        auto diagnostics = cuda::launch(program, arguments, options, here());
        wrong += !diagnostics.empty();
        EXPECT_TRUE(diagnostics.empty()) << to_text(diagnostics);
      }
      wrong += !cuda::synchronize(stream.handle, here()).empty();
      OnDevice on(device);
      DevicePointer last = reinterpret_cast<DevicePointer>(arguments[2].data);
      EXPECT_CUDA(
          call("cuMemcpyDtoH_v2", static_cast<void *>(result.data()), last, size_t(size * 4)));
      for (int32_t value : result)
        wrong += value != t + 45;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, EmulatedGpusRunPtxOnly) {
  setenv("PENSTOCK_EMU_DEVICE", "h100,h100", 1);
  Artifact artifact = addArtifact();
  artifact.cubins = {{0, "sm_90a", "",
                      std::string("\x7f"
                                  "ELF not really",
                                  15)}};
  cuda::Program program(artifact, {"", false});
  DevicePointer x = 0, y = 0;
  OnDevice on(1);
  EXPECT_CUDA(call("cuMemAlloc_v2", &x, size_t(128)));
  EXPECT_CUDA(call("cuMemAlloc_v2", &y, size_t(128)));
  EXPECT_CUDA(call("cuMemsetD32_v2", x, 5u, size_t(32)));
  detail::Argument arguments[3] = {vectorAt(x, 32), {}, vectorAt(y, 32)};
  arguments[1].element = Element::i32;
  arguments[1].scalar = 7;
  auto diagnostics = cuda::launch(program, arguments, {}, here());
  EXPECT_TRUE(diagnostics.empty()) << to_text(diagnostics);
  int32_t result[32] = {};
  EXPECT_CUDA(call("cuMemcpyDtoH_v2", static_cast<void *>(result), y, size_t(128)));
  EXPECT_EQ(result[31], 12);
  // Machine code was refused, and the reason is kept.
  EXPECT_EQ(program.source(0), cuda::CodeSource::Driver);
  EXPECT_EQ(program.sourceReason(0),
            "the driver refused the artifact's machine code with error 209");
}

} // namespace
