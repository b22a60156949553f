//===- ScaledTest.cpp - Pipelines of 4-bit weights and of scales ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include <regex>
#include <set>

#include "../../examples/int4_matmul/kernel.h"
#include "../../examples/scaled_matmul/kernel.h"

using namespace penstock;
using namespace programs;
using examples::Int4Matmul, examples::MxF6Matmul, examples::MxF8Matmul, examples::NvF4Matmul,
    examples::ScaledMatmul;

namespace {

PENSTOCK_KERNEL(Int4Matmul);
PENSTOCK_KERNEL(MxF8Matmul);
PENSTOCK_KERNEL(NvF4Matmul);
PENSTOCK_KERNEL(MxF6Matmul);

void expectParts(const std::string &plan, std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(plan.find(part), std::string::npos) << part << "\n" << plan;
}

TEST(Int4Weights, AreLoadedByTmaAndMultipliedByTensorCores) {
  expectParts(planOf("Int4Matmul", "sm_90a"),
              {"issues TMA loads", "copy weight -> Ws signals", "copy x -> Xs signals", ": wgmma"});
  expectParts(planOf("Int4Matmul", "sm_100a"),
              {"issues TMA loads", "issues MMAs", "copy weight -> Ws signals",
               "copy x -> Xs signals", ": tcgen05.mma"});
}

// One barrier for operands and scales, whose bytes are 16 KiB each for 256 values of k, and 2 KiB;
// nothing between the copies of scales and the product.
TEST(Scales, AreLoadedByTmaBesideTheirOperands) {
  expectParts(planOf("NvF4Matmul", "sm_100a"),
              {"issues TMA loads", "issues MMAs", "slots 3 arrivals 1 bytes 36864",
               "issue copy scale_A -> SA signals full copy A -> As bytes 2048",
               "issue copy scale_B -> SB signals full copy A -> As bytes 2048", ": tcgen05.mma"});
  expectParts(planOf("MxF8Matmul", "sm_90a"), {"issues TMA loads", "copy scale_A -> SA signals",
                                               "copy scale_B -> SB signals", ": wgmma"});
}

// 128 values of 6 bits are 96 bytes, which barriers count, but 128 bytes of shared memory.
TEST(SixBitValues, ArePaddedByTma) {
  expectParts(planOf("MxF6Matmul", "sm_100a"),
              {"issues TMA loads", "issues MMAs", "slots 3 arrivals 1 bytes 25600",
               "issue copy A -> As signals full copy A -> As bytes 12288",
               "issue copy B -> Bs signals full copy A -> As bytes 12288", ": tcgen05.mma"});
  expectParts(planOf("MxF6Matmul", "sm_90a"), {"issues TMA loads", ": wgmma"});
}

template <class T, class U> std::string ptxOf(ScaledMatmul<T, f8e8m0, U> kernel) {
  auto compiled = try_compile(kernel, Target::sm_100a());
  EXPECT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  return compiled ? compiled.kernel.ptx() : "";
}

/// Returns the type codes of A and B in the instruction descriptors of the products: bits 7 to 9
/// and 10 to 12 (PTX ISA, table of kind::mxf8f6f4).
std::set<std::pair<int, int>> typesOf(const std::string &ptx) {
  std::set<std::pair<int, int>> types;
  std::regex product("tcgen05\\.mma[^;]*mxf8f6f4[^;]*\\], a, b, (%r[0-9]+)");
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), product), end; at != end; ++at) {
    std::smatch value;
    std::regex moved("mov\\.b32 \t?" + (*at)[1].str() + ", (-?[0-9]+);");
    if (std::regex_search(ptx, value, moved)) {
      auto bits = uint32_t(std::stol(value[1]));
      types.insert({bits >> 7 & 7, bits >> 10 & 7});
    }
  }
  return types;
}

TEST(SixBitValues, AreNamedInInstructionDescriptors) {
  using Types = std::set<std::pair<int, int>>;
  EXPECT_EQ(typesOf(ptxOf(MxF6Matmul())), (Types{{3, 4}}));
  EXPECT_EQ(typesOf(ptxOf(ScaledMatmul<f8e5m2, f8e8m0, f6e2m3_packed>{.block_k = 128})),
            (Types{{1, 3}}));
  EXPECT_EQ(typesOf(ptxOf(ScaledMatmul<f4e2m1x2, f8e8m0, f8e4m3>{.block_k = 128})),
            (Types{{5, 0}}));
}

} // namespace
