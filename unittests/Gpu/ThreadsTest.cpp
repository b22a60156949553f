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
#include "AddKernel.h"
#include "Shim.h"

#include <cstdlib>
#include <thread>

using namespace penstock;
using namespace penstock::test;

namespace {

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
