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

template <class T, class U, class S = f8e8m0>
std::string ptxOf(ScaledMatmul<T, S, U> kernel, Target target = Target::sm_100a()) {
  auto compiled = try_compile(kernel, target);
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

/// Returns the different matrix instructions of a kernel for sm_120a, without their operands.
template <class T, class S, class U>
std::set<std::string> instructionsOf(ScaledMatmul<T, S, U> kernel) {
  kernel.stages = 2;
  std::string ptx = ptxOf(kernel, Target::sm_120a());
  std::set<std::string> found;
  std::regex name("(?:mma\\.sync|ldmatrix)[^ ;{]*");
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), name), end; at != end; ++at)
    found.insert(at->str());
  return found;
}

// One kind for bytes and padded values, which ldmatrix unpacks, two for pairs of 4-bit values.
TEST(Scales, AreAppliedByMmaSyncOnGraphicsCards) {
  const std::string bytes = "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                    six = "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32",
                    four = "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64",
                    mxf8 = "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale."
                           "scale_vec::1X.f32.",
                    pairs = "mma.sync.aligned.m16n8k64.row.col.kind::";
  using Set = std::set<std::string>;
  EXPECT_EQ(instructionsOf(MxF8Matmul()), (Set{bytes, mxf8 + "e4m3.e4m3.f32.ue8m0"}));
  EXPECT_EQ(instructionsOf(ScaledMatmul<f8e5m2, f8e8m0, f8e4m3>{.block_k = 128}),
            (Set{bytes, mxf8 + "e5m2.e4m3.f32.ue8m0"}));
  EXPECT_EQ(instructionsOf(ScaledMatmul<f4e2m1x2, f8e8m0>()),
            (Set{bytes, pairs + "mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"}));
  EXPECT_EQ(instructionsOf(NvF4Matmul()),
            (Set{bytes, pairs + "mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"}));
  EXPECT_EQ(instructionsOf(MxF6Matmul()), (Set{six, mxf8 + "e2m3.e3m2.f32.ue8m0"}));
  EXPECT_EQ(instructionsOf(ScaledMatmul<f8e4m3, f8e8m0, f6e3m2_packed>{.block_k = 128}),
            (Set{bytes, six, mxf8 + "e4m3.e3m2.f32.ue8m0"}));
  EXPECT_EQ(instructionsOf(ScaledMatmul<f4e2m1x2, f8e8m0, f6e2m3_packed>{.block_k = 128}),
            (Set{four, six, mxf8 + "e2m1.e2m3.f32.ue8m0"}));
}

/// Two accumulators, so that eight warps have 16 rows each: rows and columns of both have the same
/// scales. Sums of rows let warps have whole rows.
struct ScaledRowSums {
  void operator()(Block &b, In<f8e4m3, 2> A, In<f8e4m3, 2> B, In<f8e8m0, 4> scaleA,
                  In<f8e8m0, 4> scaleB, Out<f32, 1> C, Out<f32, 1> D) const {
    b.grid(1);
    auto As = b.shared<f8e4m3>(128, 128), Bs = b.shared<f8e4m3>(128, 128);
    auto SA = b.shared<f8e8m0>(1, 1, 32, 16), SB = b.shared<f8e8m0>(1, 1, 32, 16);
    auto acc = b.local<f32>(128, 128), turned = b.local<f32>(128, 128);
    auto sums = b.local<f32>(128), others = b.local<f32>(128);
    b.fill(acc, 0);
    b.fill(turned, 0);
    for (Index k : b.pipelined(ceil_div(A.size(1), 128), {.num_stages = 2})) {
      b.copy(A.at(0, k * 128), As);
      b.copy(B.at(0, k * 128), Bs);
      b.copy(scaleA.at(0, k, 0, 0), SA);
      b.copy(scaleB.at(0, k, 0, 0), SB);
      b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SB});
      b.gemm(Bs, transposed(As), turned, {.scale_a = SB, .scale_b = SA});
    }
    b.reduce(Sum, acc, 1, sums);
    b.reduce(Sum, turned, 1, others);
    b.copy(sums, C.at(0));
    b.copy(others, D.at(0));
  }
};

/// Operands and scales are slices: a group of a tile of scales, and bytes 8 to 23 of wider rows.
struct SlicedScales {
  void operator()(Block &b, In<f8e4m3, 2> A, In<f8e4m3, 2> B, In<f8e8m0, 4> scaleA,
                  In<f8e8m0, 4> scaleB, Out<f32, 2> C) const {
    b.grid(1);
    auto As = b.shared<f8e4m3>(128, 256), Bs = b.shared<f8e4m3>(128, 256);
    auto SA = b.shared<f8e8m0>(1, 2, 32, 16), SB = b.shared<f8e8m0>(1, 2, 32, 32);
    auto acc = b.local<f32>(128, 128);
    b.fill(acc, 0);
    b.copy(A.at(0, 0), As);
    b.copy(B.at(0, 0), Bs);
    b.copy(scaleA.at(0, 0, 0, 0), SA);
    b.copy(scaleB.at(0, 0, 0, 0), SB);
    for (Index g : b.range(2))
      b.gemm(slice(As, {0, g * 128}, {128, 128}), transposed(slice(Bs, {0, g * 128}, {128, 128})),
             acc,
             {.scale_a = slice(SA, {0, g, 0, 0}, {1, 1, 32, 16}),
              .scale_b = slice(SB, {0, g, 0, 8}, {1, 1, 32, 16})});
    b.copy(acc, C.at(0, 0));
  }
};

/// A matrix of small integers with 256 values of k, and its scales: rows of \p stride bytes, in
/// which the scales begin at \p first and the rest is NaN.
struct ScaledRows {
  ScaledRows(int64_t rows, unsigned seed, int64_t stride = 16, int64_t first = 0)
      : rows(rows), elements(size_t(rows * k)), scales(size_t(2 * 32 * stride)),
        numbers(size_t(rows * k)) {
    auto next = [&](unsigned below) {
      seed = seed * 1664525 + 1013904223;
      return (seed >> 16) % below;
    };
    for (f8e8m0 &scale : scales)
      scale.raw = 255;
    for (int64_t row = 0; row < 128; ++row)
      for (int64_t block = 0; block < k / 32; ++block) {
        float scale = float(1 << next(3)) / 2;
        scales[size_t((block / 4 * 32 + row % 32) * stride + first + row / 32 * 4 + block % 4)] =
            scale;
        for (int64_t i = block * 32; row < rows && i < block * 32 + 32; ++i) {
          float value = float(next(5)) - 2;
          elements[size_t(row * k + i)] = value;
          numbers[size_t(row * k + i)] = value * scale;
        }
      }
  }
  float times(int64_t row, const ScaledRows &other, int64_t otherRow) const {
    float sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += numbers[size_t(row * k + i)] * other.numbers[size_t(otherRow * k + i)];
    return sum;
  }

  static constexpr int64_t k = 256;
  int64_t rows;
  std::vector<f8e4m3> elements;
  std::vector<f8e8m0> scales;
  std::vector<float> numbers;
};

/// Compiles for sm_120a, where mma.sync must apply the scales.
template <class K> auto compiledForCard(const K &kernel) {
  auto compiled = try_compile(kernel, Target::sm_120a().emulated());
  EXPECT_TRUE(bool(compiled)) << to_text(compiled.diagnostics);
  if (compiled)
    EXPECT_NE(compiled.kernel.ptx().find("block_scale"), std::string::npos);
  return compiled;
}

TEST(Scales, OfWarpsWithSixteenRows) {
  auto compiled = compiledForCard(ScaledRowSums{});
  ASSERT_TRUE(bool(compiled));
  for (auto [m, n] : {std::pair<int64_t, int64_t>{128, 128}, {100, 70}}) {
    ScaledRows a(m, 1), b(n, 2);
    std::vector<f32> c(size_t(m), -77), d(size_t(n), -77);
    auto found = compiled.kernel.try_launch(
        {}, view(a.elements, {m, a.k}), view(b.elements, {n, b.k}), view(a.scales, {1, 2, 32, 16}),
        view(b.scales, {1, 2, 32, 16}), view(c, {m}), view(d, {n}));
    ASSERT_TRUE(found.empty()) << to_text(found);
    std::vector<f32> rows(size_t(m), 0), columns(size_t(n), 0);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float product = a.times(i, b, j);
        rows[size_t(i)] += product;
        columns[size_t(j)] += product;
      }
    EXPECT_EQ(c, rows);
    EXPECT_EQ(d, columns);
  }
}

TEST(Scales, MayBeSlices) {
  auto compiled = compiledForCard(SlicedScales{});
  ASSERT_TRUE(bool(compiled));
  for (auto [m, n] : {std::pair<int64_t, int64_t>{128, 128}, {60, 90}}) {
    ScaledRows a(m, 3), b(n, 4, 32, 8);
    std::vector<f32> c(size_t(m * n), -77);
    auto found = compiled.kernel.try_launch(
        {}, view(a.elements, {m, a.k}), view(b.elements, {n, b.k}), view(a.scales, {1, 2, 32, 16}),
        view(b.scales, {1, 2, 32, 32}), view(c, {m, n}));
    ASSERT_TRUE(found.empty()) << to_text(found);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        ASSERT_EQ(c[size_t(i * n + j)], a.times(i, b, j)) << i << " " << j;
  }
}

/// 6-bit values that threads read, too, so that TMA does not pad them.
struct ReadSixBits {
  static constexpr auto signature =
      "A[M,P], B[N,Q], scaleA[I,J,32,16], scaleB[H,J,32,16] -> C[M,N], D[L]";
  void operator()(Block &b, In<f6e2m3_packed, 2> A, In<f8e4m3, 2> B, In<f8e8m0, 4> scaleA,
                  In<f8e8m0, 4> scaleB, Out<f32, 2> C, Out<f32, 1> D) const {
    b.grid(1);
    auto As = b.shared<f6e2m3_packed>(128, 96);
    auto Bs = b.shared<f8e4m3>(128, 128);
    auto SA = b.shared<f8e8m0>(1, 1, 32, 16), SB = b.shared<f8e8m0>(1, 1, 32, 16);
    auto values = b.local<f16>(128, 128);
    auto acc = b.local<f32>(128, 128);
    auto sums = b.local<f32>(128);
    b.fill(acc, 0);
    b.fill(sums, 0);
    for (Index k : b.pipelined(ceil_div(B.size(1), 128), {.num_stages = 1})) {
      b.copy(A.at(0, k * 96), As);
      b.copy(B.at(0, k * 128), Bs);
      b.copy(scaleA.at(0, k, 0, 0), SA);
      b.copy(scaleB.at(0, k, 0, 0), SB);
      b.unpack(As, values);
      b.reduce(Sum, values, 1, sums, {.accumulate = true});
      b.gemm(As, transposed(Bs), acc, {.scale_a = SA, .scale_b = SB});
    }
    b.copy(acc, C.at(0, 0));
    b.copy(sums, D.at(0));
  }
};

PENSTOCK_KERNEL(ReadSixBits);

TEST(SixBitValues, HaveAReasonIfTmaDoesNotPadThem) {
  std::vector<Diagnostic> diagnostics;
  std::vector<EngineUse> products;
  for (EngineUse &use : engines_of_registered("ReadSixBits", "sm_120a", {}, diagnostics))
    if (use.kind == EngineUse::Product)
      products.push_back(use);
  ASSERT_EQ(products.size(), 1u) << to_text(diagnostics);
  EXPECT_EQ(products[0].engine, "mma.sync");
  EXPECT_EQ(products[0].reason,
            "scales are applied to bf16 tiles, because TMA does not pad `As` (128x96 "
            "f6e2m3_packed, shared): not only copies and matmuls with scales use it");
  EXPECT_EQ(compileFor("ReadSixBits", Target::sm_120a()).ptx().find("block_scale"),
            std::string::npos);
}

} // namespace
