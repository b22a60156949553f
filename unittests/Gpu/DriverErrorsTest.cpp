//===- DriverErrorsTest.cpp - Errors of the driver have cause and fix -----===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A driver that does nothing, except that one call returns an error. What the numbers
// mean is taken from the documentation of CUresult.
//
//===----------------------------------------------------------------------===//
#include "../Artifact/SampleArtifact.h"
#include "Cuda/Assembler.h"
#include "Cuda/Launch.h"

#include <gtest/gtest.h>

using namespace penstock;
using namespace penstock::cuda;

namespace {

int failure = 0;

struct Refusing {
  Refusing() : program(sampleArtifact(), {"", false}) {
    std::vector<Diagnostic> diagnostics;
    api = openDriver(NULL_DRIVERS "/libnull-works.so", diagnostics);
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
    return cuda::launch(*api, program, arguments, {.stream = &stream}, here());
  }
  Program program;
  std::unique_ptr<DriverApi> api;
  detail::Argument arguments[3];
  int stream = 0;
};

struct Case {
  int result;
  const char *code;
  const char *cause, *fix; ///< what the message and its help must name
};
void PrintTo(const Case &each, std::ostream *stream) { *stream << each.result; }
std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return "Error" + std::to_string(info.param.result);
}

void expectExplained(const std::vector<Diagnostic> &diagnostics, const Case &expected,
                     const char *call) {
  ASSERT_EQ(diagnostics.size(), 1u) << to_text(diagnostics);
  const Diagnostic &d = diagnostics[0];
  EXPECT_EQ(codeName(d.code), expected.code);
  EXPECT_NE(d.message.find(expected.cause), std::string::npos) << d.message;
  EXPECT_NE(d.message.find(std::string(call) + " returned " + std::to_string(expected.result)),
            std::string::npos)
      << d.message;
  ASSERT_FALSE(d.helps.empty());
  EXPECT_NE(d.helps[0].find(expected.fix), std::string::npos) << d.helps[0];
  EXPECT_TRUE(d.location.known());
}

class ALaunch : public testing::TestWithParam<Case> {};
TEST_P(ALaunch, SaysWhatTheDriverMeans) {
  Refusing driver;
  failure = GetParam().result;
  driver.api->launchKernelEx = [](const LaunchConfig *, void *, void **, void **) {
    return failure;
  };
  expectExplained(driver.launch(), GetParam(), "cuLaunchKernelEx");
}
INSTANTIATE_TEST_SUITE_P(
    Driver, ALaunch,
    testing::Values(
        Case{1, "PS1704", "sizes or arguments", "shared memory or cluster"},
        Case{2, "PS1704", "no memory left", "free tensors"},
        Case{3, "PS1700", "not initialized", "forked"},
        Case{4, "PS1700", "shutting down", "destructors"},
        Case{36, "PS1700", "older than a function", "newer driver"},
        Case{46, "PS1702", "busy or unavailable", "nvidia-smi"},
        Case{101, "PS1702", "no GPU of this number", "gpu::count()"},
        Case{201, "PS1704", "no CUDA context", "before the launch"},
        Case{400, "PS1704", "stream or event does not exist", "not destroyed"},
        Case{700, "PS1705", "memory that it must not", "freed"},
        Case{701, "PS1704", "registers or shared memory", "smaller tiles"},
        Case{702, "PS1705", "ran too long", "deadlock"},
        Case{710, "PS1705", "assertion", "printed"}, Case{714, "PS1705", "stack", "report"},
        Case{715, "PS1705", "illegal instruction", "descriptors"},
        Case{716, "PS1705", "misaligned address", "alignment of tensors"},
        Case{717, "PS1705", "wrong memory", "report"},
        Case{718, "PS1705", "invalid address", "report"},
        Case{719, "PS1705", "failed while it ran", "mbarriers"},
        Case{800, "PS1702", "does not permit", "MIG, MPS"},
        Case{801, "PS1702", "does not support", "Hopper (sm_90) or Blackwell (sm_100)"},
        Case{900, "PS1706", "a stream is captured", "Kernel::prepare before the capture"},
        Case{901, "PS1706", "an earlier error ended the capture", "first error"},
        Case{902, "PS1706", "two captures", "same capture"},
        Case{903, "PS1706", "did not begin on this stream", "on which it began"},
        Case{904, "PS1706", "have not returned", "wait for an event of each"},
        Case{905, "PS1706", "outside of the capture", "record the event in the capture"},
        Case{906, "PS1706", "default stream", "cudaStreamNonBlocking"},
        Case{907, "PS1706", "event was recorded in a capture", "inside of the capture"},
        Case{908, "PS1706", "another thread", "relaxed"}),
    nameOf);

class Loading : public testing::TestWithParam<Case> {};
TEST_P(Loading, SaysWhatTheDriverMeans) {
  Refusing driver;
  failure = GetParam().result;
  driver.api->libraryLoadData = [](void **, const void *, int *, void **, unsigned, int *, void **,
                                   unsigned) { return failure; };
  expectExplained(driver.launch(), GetParam(), "cuLibraryLoadData");
}
INSTANTIATE_TEST_SUITE_P(
    Driver, Loading,
    testing::Values(Case{200, "PS1703", "cannot read the kernel's code", "damaged artifact"},
                    Case{209, "PS1703", "another GPU", "gpu::current().target()"},
                    Case{218, "PS1703", "refuses the kernel's PTX", "inline PTX"},
                    Case{222, "PS1703", "older than the kernel's PTX", "newer driver"}),
    nameOf);

class Opening : public testing::TestWithParam<Case> {};
TEST_P(Opening, SaysWhatTheDriverMeans) {
  std::vector<Diagnostic> diagnostics;
  Refusing driver;
  failure = GetParam().result;
  driver.api->deviceGetCount = [](int *) { return failure; };
  EXPECT_FALSE(deviceInfo(*driver.api, 0, diagnostics));
  locate(diagnostics, here());
  expectExplained(diagnostics, GetParam(), "cuDeviceGetCount");
}
INSTANTIATE_TEST_SUITE_P(
    Driver, Opening,
    testing::Values(Case{34, "PS1700", "stub of the CUDA toolkit", "LD_LIBRARY_PATH"},
                    Case{100, "PS1700", "finds no GPU", "CUDA_VISIBLE_DEVICES"},
                    Case{803, "PS1700", "kernel module of the driver differ", "restart"},
                    Case{804, "PS1700", "forward-compatible", "compat"}),
    nameOf);

// 500: the code lacks the kernel.
TEST(DriverErrors, AKernelThatTheCodeLacks) {
  Refusing driver;
  driver.api->libraryGetKernel = [](void **, void *, const char *) { return int(NotFound); };
  expectExplained(driver.launch(), {500, "PS1703", "no function of its name", "bug in Penstock"},
                  "cuLibraryGetKernel");
}

// A context that failed names the launches that may be to blame, and how to reproduce them.
TEST(DriverErrors, LateErrorsNameSuspects) {
  for (int result : {700, 702, 715, 716, 717, 718, 719}) {
    Refusing driver;
    ASSERT_TRUE(driver.launch().empty());
    failure = result;
    driver.api->launchKernelEx = [](const LaunchConfig *, void *, void **, void **) {
      return failure;
    };
    auto diagnostics = driver.launch();
    ASSERT_EQ(diagnostics.size(), 1u);
    EXPECT_NE(to_text(diagnostics).find("penstock check"), std::string::npos)
        << result << "\n"
        << to_text(diagnostics);
  }
}

//===----------------------------------------------------------------------===//
// Assemblers
//===----------------------------------------------------------------------===//

constexpr const char *emptyKernel =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry Matmul() { ret; }\n";

TEST(Assemblers, NvJitLinkIsTheSecondChoice) {
  std::string library = findNvJitLink();
  if (library.empty())
    GTEST_SKIP() << "libnvJitLink is not installed";
  Refusing driver;
  Artifact artifact = sampleArtifact();
  artifact.variants[0].ptx = emptyKernel;
  Program program(artifact, {"", false, library});
  ASSERT_TRUE(
      cuda::launch(*driver.api, program, driver.arguments, {.stream = &driver.stream}, here())
          .empty());
  EXPECT_EQ(program.source(0), CodeSource::NvJitLink);
  EXPECT_EQ(runNvJitLink(library, emptyKernel, "sm_90a").cubin.substr(1, 3), "ELF");
  // PTX that it refuses is left to the driver, with its reason.
  artifact.variants[0].ptx = ".version 8.0\n.target sm_90a\nnonsense\n";
  Program wrong(artifact, {"", false, library});
  ASSERT_TRUE(cuda::launch(*driver.api, wrong, driver.arguments, {.stream = &driver.stream}, here())
                  .empty());
  EXPECT_EQ(wrong.source(0), CodeSource::Driver);
  // NVJITLINK_ERROR_PTX_COMPILE, and what the assembler says.
  EXPECT_EQ(wrong.sourceReason(0).substr(0, 29), "libnvJitLink failed: error 4:");
  EXPECT_NE(wrong.sourceReason(0).find("nonsense"), std::string::npos) << wrong.sourceReason(0);
}

TEST(Assemblers, ALibraryThatIsNotNvJitLinkIsRefused) {
  Assembly made = runNvJitLink("libm.so.6", emptyKernel, "sm_90a");
  EXPECT_FALSE(made.ok);
  EXPECT_EQ(made.report, "`libm.so.6` cannot be used: a function is missing");
  EXPECT_NE(runNvJitLink("/missing.so", emptyKernel, "sm_90a").report.find("cannot be used: /mi"),
            std::string::npos);
}

TEST(Assemblers, AnEmptyPathChoosesTheDriver) {
  setenv("PENSTOCK_PTXAS", "", 1);
  LoadPolicy policy = installedAssemblers();
  unsetenv("PENSTOCK_PTXAS");
  EXPECT_EQ(policy.ptxas, "");
  EXPECT_EQ(policy.nvJitLink, "");
  EXPECT_FALSE(policy.announceDriver);
  EXPECT_TRUE(installedAssemblers().announceDriver);
}

TEST(Assemblers, TheDriversCompilerIsAnnouncedOnce) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    Refusing driver;
    Artifact artifact = sampleArtifact();
    Program program(artifact, {"", false, "", true});
    ASSERT_TRUE(
        cuda::launch(*driver.api, program, driver.arguments, {.stream = &driver.stream}, here())
            .empty());
    EXPECT_EQ(program.source(0), CodeSource::Driver);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "penstock: the driver compiles PTX, because ptxas is not installed; install ptxas or "
            "libnvJitLink of the CUDA toolkit for faster loading, or set PENSTOCK_PTXAS= to choose "
            "the driver\n");
}

} // namespace
