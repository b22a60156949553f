//===- ExamplesTest.cpp - All examples through the driver -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel of the examples, and the one of the quick start, is launched through
// libcuda and by the emulator directly. The results must have the same bits.
//
//===----------------------------------------------------------------------===//
#include "Shim.h"
#include "flash_attention/kernel.h"
#include "gather/kernel.h"
#include "grouped_matmul/kernel.h"
#include "histogram/kernel.h"
#include "layer_norm/kernel.h"
#include "matmul_bias_gelu/kernel.h"
#include "row_softmax/kernel.h"
#include "vector_add/kernel.h"
#include <penstock/assemble.h>
#include <penstock/check.h>
#include <penstock/gpu.h>

using namespace penstock;
using namespace penstock::test;

namespace examples {

PENSTOCK_KERNEL(VectorAdd, block);
PENSTOCK_KERNEL(RowSoftmax, block_m, block_n);
PENSTOCK_KERNEL(LayerNorm, block_m, block_n);
PENSTOCK_KERNEL(MatmulBiasGelu, block_m, block_n, block_k, stages, group);
PENSTOCK_KERNEL(GroupedMatmul, block_m, block_n, block_k, stages);
PENSTOCK_KERNEL(Gather, block_m, block_n);
PENSTOCK_KERNEL(FlashAttention, block_m, block_n, dim, stages, causal);
PENSTOCK_KERNEL(Histogram, block, bins);

/// The kernel of the README's quick start.
struct Softmax {
  int rows = 4, columns = 1024;
  static constexpr auto signature = "x[R,C] -> y[R,C]";

  void operator()(Block &b, In<f32, 2> x, Out<f32, 2> y) const {
    auto first = b.grid(ceil_div(x.size(0), rows)) * rows;
    auto t = b.local<f32>(rows, columns);
    auto top = b.local<f32>(rows), sum = b.local<f32>(rows);
    b.require(x.size(1) <= columns, "a row is longer than the tile");
    b.copy(x.at(first, 0), t, {.fill = -infinity});
    b.reduce(Max, t, 1, top);
    b.set(t, exp(t - penstock::rows(top)));
    b.reduce(Sum, t, 1, sum);
    b.set(t, t / penstock::rows(sum));
    b.copy(t, y.at(first, 0));
  }
};
PENSTOCK_KERNEL(Softmax, rows, columns);

} // namespace examples

namespace {

struct Example {
  const char *kernel;
  const char *architecture;
  Shape shape;
};

void PrintTo(const Example &example, std::ostream *stream) {
  *stream << example.kernel << " " << example.architecture;
}

/// Indices and numbers of rows must be legal; all other data are small integers.
MadeArguments argumentsOf(const AnyKernel &kernel, const Example &example) {
  std::vector<ArgumentDescription> descriptions = kernel.arguments();
  MadeArguments made = make_arguments(descriptions, example.shape, Data::Exact, 3);
  for (size_t i = 0; made.diagnostics.empty() && i < descriptions.size(); ++i)
    if (descriptions[i].name == "Ids" || descriptions[i].name == "Rows")
      for (int32_t e = 0; e < made.arguments[i].sizes[0]; ++e)
        static_cast<int32_t *>(made.arguments[i].data)[e] =
            descriptions[i].name == "Ids" ? e * 7 % 30 : 45;
  return made;
}

class Examples : public testing::TestWithParam<Example> {};

TEST_P(Examples, AreEqualToTheEmulator) {
  const Example &example = GetParam();
  bool hopper = std::string(example.architecture) == "sm_90a";
  int device = hopper ? 0 : 1;
  InspectOptions options;
  options.target = hopper ? Target::sm_90a() : Target::sm_100a();
  std::vector<Diagnostic> diagnostics;
  AnyKernel onGpu = compile_registered(example.kernel, options, diagnostics);
  ASSERT_TRUE(onGpu) << to_text(diagnostics);
  options.target = options.target.emulated();
  AnyKernel direct = compile_registered(example.kernel, options, diagnostics);

  MadeArguments expected = argumentsOf(direct, example), result = argumentsOf(direct, example);
  ASSERT_TRUE(expected.diagnostics.empty()) << to_text(expected.diagnostics);
  diagnostics = direct.launch(expected.arguments);
  ASSERT_TRUE(diagnostics.empty()) << to_text(diagnostics);

  Stream stream(device);
  std::vector<gpu::Memory<char>> memory;
  std::vector<detail::Argument> arguments = result.arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].tensor) {
      memory.emplace_back(result.memory[i].size(), gpu::Device(device));
      memory.back().upload(result.memory[i].data());
      arguments[i].data = memory.back().data();
    }
  LaunchOptions launch;
  launch.stream = stream.handle;
  diagnostics = onGpu.launch(arguments, launch);
  ASSERT_TRUE(diagnostics.empty()) << to_text(diagnostics);
  diagnostics = gpu::try_synchronize(stream.handle);
  ASSERT_TRUE(diagnostics.empty()) << to_text(diagnostics);
  for (size_t i = 0, next = 0; i < arguments.size(); ++i)
    if (arguments[i].tensor) {
      memory[next++].download(result.memory[i].data());
      EXPECT_TRUE(result.memory[i] == expected.memory[i]) << "argument " << i;
    }
}

std::vector<Example> allExamples() {
  std::vector<Example> all;
  Shape matmul{{"M", 200}, {"N", 136}, {"K", 200}}, odd{{"M", 37}, {"N", 41}, {"K", 43}};
  for (const char *architecture : {"sm_90a", "sm_100a"}) {
    all.push_back({"VectorAdd", architecture, {{"N", 5000}}});
    all.push_back({"RowSoftmax", architecture, {{"M", 9}, {"N", 300}}});
    all.push_back({"LayerNorm", architecture, {{"M", 9}, {"N", 300}, {"eps", 0.125}}});
    all.push_back({"MatmulBiasGelu", architecture, matmul});
    all.push_back({"GroupedMatmul", architecture, {{"G", 2}, {"T", 90}, {"N", 72}, {"K", 72}}});
    all.push_back({"Gather", architecture, {{"M", 20}, {"D", 64}, {"V", 30}}});
    all.push_back({"FlashAttention",
                   architecture,
                   {{"H", 1}, {"M", 70}, {"N", 70}, {"D", 64}, {"scale", 0.125}}});
    all.push_back({"Histogram", architecture, {{"N", 3000}, {"B", 64}}});
    all.push_back({"Softmax", architecture, {{"R", 10}, {"C", 1000}}});
    all.push_back({"Matmul", architecture, matmul});
    all.push_back({"Matmul", architecture, odd}); // the variant without TMA
    all.push_back({"MatmulBf16", architecture, matmul});
  }
  Shape heads{{"H", 1}, {"M", 136}, {"N", 200}, {"D", 64}, {"scale", 0.125}};
  for (const char *kernel : {"MatmulV0", "MatmulV1", "MatmulV2", "MatmulV3", "MatmulV4", "MatmulV5",
                             "MatmulV6"}) // V6 launches clusters
    all.push_back({kernel, "sm_100a", {{"M", 256}, {"N", 256}, {"K", 128}}});
  all.push_back({"BlackwellAttentionCausal", "sm_100a", heads});
  all.push_back({"HopperMatmul", "sm_90a", matmul});
  all.push_back({"HopperMatmulTokens", "sm_90a", matmul});
  all.push_back({"HopperAttentionCausal", "sm_90a", heads});
  return all;
}

std::string nameOf(const testing::TestParamInfo<Example> &info) {
  return std::string(info.param.kernel) + "_" + info.param.architecture + "_" +
         std::to_string(info.index);
}

class LowestVersion : public testing::TestWithParam<Example> {};

// Drivers refuse PTX that is newer than they are: kernels ask for no more than they need,
// and CUDA's assembler agrees.
TEST_P(LowestVersion, IsEnoughForPtxas) {
  const Example &example = GetParam();
  bool hopper = std::string(example.architecture) == "sm_90a";
  InspectOptions options;
  options.target = hopper ? Target::sm_90a() : Target::sm_100a();
  std::vector<Diagnostic> diagnostics;
  AnyKernel kernel = compile_registered(example.kernel, options, diagnostics);
  ASSERT_TRUE(kernel) << to_text(diagnostics);
  std::string ptx = kernel.ptx();
  if (find_assembler().empty())
    GTEST_SKIP() << "ptxas is not installed";
  Assembled assembled = assemble(ptx, options.target, {.allow_slow_code = true});
  EXPECT_FALSE(assembled.cubin.empty()) << to_text(assembled.diagnostics);
  // More than the first version for the architecture is stated only if it is needed.
  std::string first = hopper ? ".version 8.0\n" : ".version 8.6\n";
  size_t at = ptx.find(".version ");
  ASSERT_NE(at, std::string::npos);
  if (ptx.compare(at, first.size(), first) == 0)
    return;
  ptx.replace(at, first.size(), first);
  EXPECT_TRUE(assemble(ptx, options.target, {.allow_slow_code = true}).cubin.empty());
}

INSTANTIATE_TEST_SUITE_P(Gpu, LowestVersion, testing::ValuesIn(allExamples()), nameOf);

INSTANTIATE_TEST_SUITE_P(Gpu, Examples, testing::ValuesIn(allExamples()), nameOf);

} // namespace
