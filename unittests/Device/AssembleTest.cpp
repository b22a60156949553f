//===- AssembleTest.cpp - What the assembler makes of the examples --------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "penstock/assemble.h"
#include "attention/blackwell.h"
#include "attention/hopper.h"
#include "blackwell_matmul/v0.h"
#include "blackwell_matmul/v1.h"
#include "blackwell_matmul/v2.h"
#include "blackwell_matmul/v3.h"
#include "blackwell_matmul/v4.h"
#include "blackwell_matmul/v5.h"
#include "blackwell_matmul/v6.h"
#include "flash_attention/kernel.h"
#include "hopper_matmul/steps.h"
#include "matmul/kernel.h"
#include "matmul_bias_gelu/kernel.h"
#include "persistent_matmul/kernel.h"

#include <gtest/gtest.h>

using namespace penstock;

namespace {

class Assembler : public testing::Test {
protected:
  void SetUp() override {
    if (find_assembler().empty())
      GTEST_SKIP() << "ptxas is not installed";
  }

  /// Machine code without spills and without serialized products.
  template <class K> void expectGoodCode(const K &kernel, Target target, const char *name) {
    auto compiled = try_compile(kernel, target, {.name = name});
    ASSERT_TRUE(compiled) << to_text(compiled.diagnostics);
    Assembled code = assemble(compiled.kernel.ptx(), target);
    EXPECT_TRUE(code.diagnostics.empty()) << name << ": " << to_text(code.diagnostics);
    EXPECT_TRUE(code.cubin.starts_with("\x7f"
                                       "ELF"))
        << name;
    EXPECT_GT(code.registers, 0) << name;
    RecordProperty(name, code.registers);
    std::printf("%-24s %3d registers\n", name, code.registers);
  }
};

TEST_F(Assembler, TakesTheBlackwellLadder) {
  using namespace blackwell;
  Target target = Target::sm_100a();
  expectGoodCode(MatmulV0{}, target, "v0");
  expectGoodCode(MatmulV1{}, target, "v1");
  expectGoodCode(MatmulV2{}, target, "v2");
  expectGoodCode(MatmulV3{}, target, "v3");
  expectGoodCode(MatmulV4{}, target, "v4");
  expectGoodCode(MatmulV5{}, target, "v5");
  expectGoodCode(MatmulV6{}, target, "v6");
  expectGoodCode(attention::BlackwellAttention{}, target, "attention_sm100");
  expectGoodCode(examples::Matmul{}, target, "automatic_sm100");
}

TEST_F(Assembler, TakesTheHopperSteps) {
  Target target = Target::sm_90a();
  expectGoodCode(hopper::Matmul{}, target, "hopper");
  expectGoodCode(hopper::Matmul{.in_flight = 1}, target, "hopper_in_flight");
  expectGoodCode(hopper::Matmul{.block_m = 256, .stages = 3, .in_flight = 1}, target, "hopper_256");
  expectGoodCode(attention::HopperAttention{}, target, "attention_sm90");
  expectGoodCode(examples::Matmul{}, target, "automatic_sm90");
}

/// Where roles follow a loop over tiles, accumulators must stay with the warps that compute.
TEST_F(Assembler, TakesTilePrograms) {
  for (Target target : {Target::sm_90a(), Target::sm_100a()}) {
    expectGoodCode(examples::PersistentMatmul{}, target, "persistent");
    expectGoodCode(examples::MatmulBiasGelu{}, target, "bias_gelu");
  }
  expectGoodCode(examples::FlashAttention{.block_m = 128}, Target::sm_100a(), "flash_attention");
}

TEST_F(Assembler, SaysWhatItRefuses) {
  Assembled code = assemble(".version 9.0\n.target sm_100a\nnonsense\n", Target::sm_100a());
  ASSERT_EQ(code.diagnostics.size(), 1u);
  EXPECT_EQ(codeName(code.diagnostics[0].code), "PS1607");
  EXPECT_TRUE(code.cubin.empty());
}

} // namespace
