//===- DriverTest.cpp - Opening drivers, and what a launch costs ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "../Artifact/SampleArtifact.h"
#include "Cuda/Assembler.h"
#include "Cuda/DriverApi.h"
#include "Cuda/Errors.h"
#include "Cuda/Launch.h"
#include "Cuda/TensorMaps.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

using namespace penstock;
using namespace penstock::cuda;

static std::atomic<uint64_t> allocations{0};

void *operator new(size_t size) {
  ++allocations;
  if (void *memory = malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }

namespace {

std::string path(const char *name) { return std::string(NULL_DRIVERS) + "/" + name; }

/// Why a driver cannot be used.
Diagnostic refusal(const std::string &library) {
  std::vector<Diagnostic> diagnostics;
  EXPECT_EQ(openDriver(library.c_str(), diagnostics), nullptr);
  EXPECT_EQ(diagnostics.size(), 1u);
  EXPECT_FALSE(diagnostics.at(0).helps.empty());
  EXPECT_EQ(codeName(diagnostics[0].code), "PS1700");
  return diagnostics[0];
}

TEST(Driver, NoLibrary) {
  Diagnostic d = refusal("/nowhere/libcuda.so.1");
  EXPECT_EQ(d.message.substr(0, 36), "the CUDA driver cannot be loaded: /n");
  EXPECT_EQ(d.helps[1], "compile for a target with .emulated() to run without a GPU");
}

TEST(Driver, TheStubOfTheToolkit) {
  EXPECT_EQ(refusal(path("libnull-stub.so")).message,
            "libcuda.so.1 is the stub of the CUDA toolkit, which only serves to link (cuInit "
            "returned 34)");
}

TEST(Driver, NoGpu) {
  EXPECT_EQ(refusal(path("libnull-nodevice.so")).message,
            "the driver finds no GPU (cuInit returned 100)");
}

TEST(Driver, MismatchOfLibraryAndModule) {
  EXPECT_EQ(refusal(path("libnull-mismatch.so")).message,
            "libcuda and the kernel module of the driver differ (cuInit returned 803)");
}

TEST(Driver, ForwardCompatibility) {
  EXPECT_EQ(refusal(path("libnull-compat.so")).message,
            "a forward-compatible libcuda does not support this GPU or driver (cuInit returned "
            "804)");
}

TEST(Driver, OldDrivers) {
  EXPECT_EQ(refusal(path("libnull-old.so")).message,
            "the CUDA driver is too old: it supports CUDA 11.4, and Penstock needs 12.0 for "
            "sm_90a and 12.8 for sm_100a");
}

TEST(Driver, AFunctionIsMissing) {
  EXPECT_EQ(refusal(path("libnull-missing.so")).message,
            "the CUDA driver does not have `cuLibraryLoadData`");
}

TEST(Driver, ErrorsWithoutATextAreNumbers) {
  DriverApi api;
  Diagnostic d = driverError(api, 4711, "cuSomething");
  EXPECT_EQ(d.message, "the CUDA driver reports an error (cuSomething returned 4711)");
  EXPECT_EQ(codeName(driverError(api, 36, "cuInit").code), "PS1700");
}

//===----------------------------------------------------------------------===//
// The host side of a launch
//===----------------------------------------------------------------------===//

struct NullLaunch {
  NullLaunch() : program(sampleArtifact(), {"", false}) {
    std::vector<Diagnostic> diagnostics;
    api = openDriver(path("libnull-works.so").c_str(), diagnostics);
    EXPECT_TRUE(api) << to_text(diagnostics);
    arguments[0] = tensor(0x10000, {256, 64});
    arguments[1] = tensor(0x20000, {256, 16});
    arguments[2].element = Element::i32;
    arguments[2].scalar = 3;
  }
  static detail::Argument tensor(uintptr_t address, std::initializer_list<int64_t> sizes) {
    detail::Argument argument;
    argument.tensor = true;
    argument.element = Element::f16;
    argument.data = reinterpret_cast<void *>(address);
    argument.sizes = sizes;
    argument.strides = {argument.sizes[1], 1};
    return argument;
  }
  std::vector<Diagnostic> launch() {
    return cuda::launch(*api, program, arguments, options, here());
  }
  Program program;
  std::unique_ptr<DriverApi> api;
  detail::Argument arguments[3];
  int stream = 0;
  LaunchOptions options = {.stream = &stream};
};

TEST(HostSide, LaunchesDoNotAllocate) {
  NullLaunch null;
  auto first = null.launch();
  ASSERT_TRUE(first.empty()) << to_text(first);
  uint64_t before = allocations;
  bool ok = true;
  for (int i = 0; i < 100; ++i)
    ok &= null.launch().empty();
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_TRUE(ok);
}

TEST(HostSide, MapsAreEncodedOnceForATensor) {
  NullLaunch null;
  uint64_t before = encodedMaps();
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(null.launch().empty());
  EXPECT_EQ(encodedMaps() - before, 1u);
  null.arguments[0] = NullLaunch::tensor(0x40000, {256, 64}); // another address
  ASSERT_TRUE(null.launch().empty());
  null.arguments[0] = NullLaunch::tensor(0x40000, {255, 64}); // another size
  null.arguments[1] = NullLaunch::tensor(0x20000, {255, 16});
  ASSERT_TRUE(null.launch().empty());
  null.arguments[0].strides = {72, 1}; // another stride
  ASSERT_TRUE(null.launch().empty());
  EXPECT_EQ(encodedMaps() - before, 4u);
  NullLaunch other; // another kernel with the same tensors
  ASSERT_TRUE(other.launch().empty());
  EXPECT_EQ(encodedMaps() - before, 5u);
}

TEST(HostSide, MisalignedRowsTakeTheOtherVariant) {
  NullLaunch null;
  null.arguments[0].strides = {65, 1};
  ASSERT_TRUE(null.launch().empty());
  EXPECT_EQ(null.program.source(0), CodeSource::None);
  EXPECT_EQ(null.program.source(1), CodeSource::Artifact); // its cubin is in the artifact
}

TEST(HostSide, AMissingVariantIsNamed) {
  NullLaunch null;
  Artifact artifact = sampleArtifact();
  artifact.variants[1].ptx.clear();
  artifact.cubins.clear();
  Program program(artifact, {"", false});
  EXPECT_TRUE(cuda::launch(*null.api, program, null.arguments, null.options, here()).empty());
  null.arguments[0].strides = {65, 1};
  auto refused = cuda::launch(*null.api, program, null.arguments, null.options, here());
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(codeName(refused[0].code), "PS1712");
  EXPECT_EQ(refused[0].message, "the artifact of `Matmul` lacks the variant for tensors whose rows "
                                "are not multiples of 16 bytes");
}

TEST(HostSide, TheDriverCompilesWithoutPtxas) {
  NullLaunch null;
  ASSERT_TRUE(null.launch().empty());
  EXPECT_EQ(null.program.source(0), CodeSource::Driver);
  EXPECT_EQ(null.program.sourceReason(0), "ptxas is not installed");
}

TEST(HostSide, PtxThatPtxasRefusesIsLeftToTheDriver) {
  NullLaunch null;
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    GTEST_SKIP() << "ptxas is not installed";
  Artifact artifact = sampleArtifact();
  artifact.variants[0].ptx = ".version 8.0\n.target sm_90a\nnonsense\n";
  Program program(artifact, {ptxas, false});
  ASSERT_TRUE(cuda::launch(*null.api, program, null.arguments, null.options, here()).empty());
  EXPECT_EQ(program.source(0), CodeSource::Driver);
  EXPECT_EQ(program.sourceReason(0).substr(0, 14), "ptxas failed: ");
  // And PTX that it takes becomes machine code.
  artifact.variants[0].ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry "
                             "Matmul() { ret; }\n";
  Program good(artifact, {ptxas, false});
  ASSERT_TRUE(cuda::launch(*null.api, good, null.arguments, null.options, here()).empty());
  EXPECT_EQ(good.source(0), CodeSource::Ptxas);
}

} // namespace
