//===- OtherGpusTest.cpp - Ampere, Ada, and Blackwell of graphics cards ---===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulator rejects instructions that the module's architecture does not have,
// so that running a program shows that its code is legal there. The assembler, if
// there is one, is asked too.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include "penstock/assemble.h"

using namespace penstock;
using namespace programs;

namespace {

const char *const names[] = {"sm_80", "sm_86", "sm_89", "sm_120a"};

struct Program {
  const char *name;
  Shape shape;
  double tolerance = 0;
};

/// Programs of the other files of this folder.
const Program all[] = {
    {"VectorSum", {{"N", 1300}}},
    {"OnlineSoftmax", {{"R", 21}, {"C", 71}}, 1e-5},
    {"Reductions", {{"M", 24}, {"N", 40}, {"A", 3}}},
    {"Transposed", {{"M", 33}, {"N", 70}}},
    {"Histogram", {{"N", 1000}, {"B", 16}}},
    {"OuterSum", {{"N", 48}}},
    {"WideSum", {{"N", 2052}}},
    {"WideSoftmax", {{"R", 5}, {"C", 200}}, 1e-5},
    {"WideLayerNorm", {{"R", 3}, {"C", 504}}, 2e-3},
    {"WideTranspose", {{"M", 36}, {"N", 68}}},
    {"ProductF16", {{"M", 40}, {"N", 48}, {"K", 70}}},
    {"ProductF16Columns", {{"M", 40}, {"N", 48}, {"K", 70}}},
    {"ProductBf16", {{"M", 40}, {"N", 48}, {"K", 70}}},
    {"ProductF8", {{"M", 40}, {"N", 48}, {"K", 70}}},
    {"ProductI8", {{"M", 40}, {"N", 48}, {"K", 70}}},
    {"ProductF32", {{"M", 40}, {"N", 48}, {"K", 70}}},
    {"Attention", {{"M", 40}, {"N", 70}, {"D", 24}}, 4e-3},
    {"Inspected", {{"N", 20}}},
};

TEST(OtherGpus, GiveTheResultsOfTheInterpreter) {
  for (const Program &program : all) {
    SCOPED_TRACE(program.name);
    AnyKernel reference = compileFor(program.name, Target::interpreter());
    for (const char *name : names) {
      SCOPED_TRACE(name);
      AnyKernel kernel = compileFor(program.name, find_gpu(name)->emulated());
      ASSERT_TRUE(kernel && reference);
      auto made = make_arguments(kernel.arguments(), program.shape, penstock::Data::Exact, 1);
      auto expected = make_arguments(kernel.arguments(), program.shape, penstock::Data::Exact, 1);
      ASSERT_TRUE(made.diagnostics.empty()) << to_text(made.diagnostics);
      LaunchOptions options{.completion = Completion::Random, .seed = 7};
      options.print = [](std::string_view) {};
      auto found = kernel.launch(made.arguments, options);
      EXPECT_TRUE(found.empty()) << to_text(found);
      ASSERT_TRUE(reference.launch(expected.arguments, options).empty());
      expectEqual(made, expected, program.tolerance);
    }
  }
}

TEST(OtherGpus, TheAssemblerTakesTheCode) {
  if (find_assembler().empty())
    GTEST_SKIP() << "ptxas is not installed";
  for (const char *program : {"VectorSum", "OnlineSoftmax", "Histogram", "ProductF16", "ProductF8",
                              "ProductI8", "Attention", "Inspected"})
    for (const char *name : names) {
      AnyKernel kernel = compileFor(program, *find_gpu(name));
      ASSERT_TRUE(bool(kernel));
      // Threads of Ampere multiply f8, with all of its conversions.
      AssembleOptions options;
      options.allow_slow_code = std::string(program) == "ProductF8";
      Assembled code = assemble(kernel.ptx(), *find_gpu(name), options);
      EXPECT_TRUE(code.diagnostics.empty())
          << program << " on " << name << ": " << to_text(code.diagnostics);
      EXPECT_GT(code.registers, 0) << program << " on " << name;
    }
}

TEST(OtherGpus, MultiplyByTensorCores) {
  for (const char *name : names) {
    auto has = [&](const char *program, const char *instruction) {
      return compileFor(program, *find_gpu(name)).ptx().find(instruction) != std::string::npos;
    };
    EXPECT_TRUE(has("ProductF16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")) << name;
    EXPECT_TRUE(has("ProductBf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")) << name;
    EXPECT_TRUE(has("ProductI8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")) << name;
    // f8 from Ada on; before, threads multiply.
    bool ampere = std::string(name) == "sm_80" || std::string(name) == "sm_86";
    EXPECT_EQ(has("ProductF8", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"), !ampere)
        << name;
  }
}

/// 120 KiB: more than graphics cards have for a block, and less than the others have.
struct LargeTiles {
  static constexpr auto signature = "x[M,N] -> y[M,N]";
  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto t = b.shared<f32>(240, 128);
    b.copy(x.at(0, 0), t);
    b.copy(t, y.at(0, 0));
  }
};

TEST(OtherGpus, HaveTheirOwnLimitsOfSharedMemory) {
  EXPECT_TRUE(try_compile(LargeTiles{}, Target::sm_80()));
  EXPECT_TRUE(try_compile(LargeTiles{}, Target::sm_90a()));
  for (const char *name : {"sm_86", "sm_89", "sm_120a"}) {
    auto compiled = try_compile(LargeTiles{}, *find_gpu(name));
    ASSERT_FALSE(compiled) << name;
    EXPECT_EQ(codeName(compiled.diagnostics[0].code), "PS1119");
    EXPECT_EQ(compiled.diagnostics[0].message, "the tiles of `LargeTiles` need 120 KiB of shared "
                                               "memory; " +
                                                   std::string(name) + " has 99 KiB");
  }
}

/// Explicit kernels may use what the architecture has.
TEST(OtherGpus, RefuseEnginesThatTheyDoNotHave) {
  auto tma = [](Block &b, In<f16, 2> x, Out<f16, 2> y) {
    b.threads(128);
    auto t = b.shared<f16>(64, 64);
    auto [loaded] = b.mbarrier.alloc<1>({1});
    b.tma.load(x.at(0, 0), t, loaded);
    b.mbarrier.wait(loaded, 0);
    b.copy(t, y.at(0, 0));
  };
  auto refused = try_compile(tma, Target::sm_80(), {.check_barriers = false});
  ASSERT_FALSE(refused);
  EXPECT_EQ(codeName(refused.diagnostics[0].code), "PS1601");
}

} // namespace
