//===- device_kernels.cpp - The GPU kernels of the examples, for the tools -===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared library for `penstock check` and `penstock mutate`. Every product must
// equal the tile program Matmul, which is run by the interpreter; for Matmul
// itself that compares what the compiler made of it with what it says, as for the
// other tile programs. Attention in explicit kernels is compared with plain loops
// in double precision.
//
//===----------------------------------------------------------------------===//
#include "attention/blackwell.h"
#include "attention/hopper.h"
#include "attention/reference.h"
#include "attention_backward/kernel.h"
#include "blackwell_matmul/v0.h"
#include "blackwell_matmul/v1.h"
#include "blackwell_matmul/v2.h"
#include "blackwell_matmul/v3.h"
#include "blackwell_matmul/v4.h"
#include "blackwell_matmul/v5.h"
#include "blackwell_matmul/v6.h"
#include "common/equivalents.h"
#include "convolution/kernel.h"
#include "flash_attention/kernel.h"
#include "histogram/kernel.h"
#include "hopper_matmul/steps.h"
#include "int4_matmul/kernel.h"
#include "layer_norm/kernel.h"
#include "matmul/kernel.h"
#include "matmul_bias_gelu/kernel.h"
#include "persistent_matmul/kernel.h"
#include "row_softmax/kernel.h"
#include "scaled_matmul/kernel.h"
#include "transpose/kernel.h"
#include "vector_add/kernel.h"
#include <penstock/check.h>

namespace examples {
using namespace blackwell;

// The same program in other schedules, and for another element.
struct MatmulTwoStages : Matmul {
  MatmulTwoStages() { pipeline.num_stages = 2; }
};
struct MatmulFourStages : Matmul {
  MatmulFourStages() { pipeline.num_stages = 4; }
};
struct MatmulStated : Matmul {
  MatmulStated() { pipeline = {.stage = {0, 0, 1}, .order = {0, 1, 2}}; }
};
struct MatmulBf16 : MatmulOf<bf16> {
  MatmulBf16() { block_n = 64; }
};

// Few blocks, so that each computes several tiles.
struct FewBlocks : PersistentMatmul {
  FewBlocks() { blocks = 2, block_n = 64, stages = 3; }
};

// The other tile programs, in tiles that are quick to emulate.
struct SmallVectorAdd : VectorAdd {
  SmallVectorAdd() { block = 256; }
};
struct SmallRowSoftmax : RowSoftmax {
  SmallRowSoftmax() { block_m = 8, block_n = 64; }
};
struct SmallLayerNorm : LayerNorm {
  SmallLayerNorm() { block_m = 8, block_n = 64; }
};
struct SmallMatmulBiasGelu : MatmulBiasGelu {
  SmallMatmulBiasGelu() { block_n = 64; }
};
struct SmallHistogram : Histogram {
  SmallHistogram() { block = 256, bins = 32; }
};
/// Operands that also fit, scaled to bf16, into the shared memory of GPUs without scales.
struct SmallMxF8Matmul : MxF8Matmul {
  SmallMxF8Matmul() { stages = 2; }
};
struct SmallMxF4Matmul : MxF4Matmul {
  SmallMxF4Matmul() { block_k = 128, stages = 2; }
};
struct SmallNvF4Matmul : NvF4Matmul {
  SmallNvF4Matmul() { block_k = 128, stages = 2; }
};
struct SmallMxF6Matmul : MxF6Matmul {
  SmallMxF6Matmul() { stages = 2; }
};
struct FlashAttentionCausal : FlashAttention {
  FlashAttentionCausal() { causal = true; }
};
/// A row for each thread: on Blackwell, threads then store their weights to tensor memory.
struct FlashAttentionWide : FlashAttention {
  FlashAttentionWide() { block_m = 128; }
  void operator()(Block &b, In<f16, 3> Q, In<f16, 3> K, In<f16, 3> V, Scalar<f32> scale,
                  Out<f16, 3> O) const {
    b.threads(128);
    FlashAttention::operator()(b, Q, K, V, scale, O);
  }
};

// One pair computes all tiles and uses both accumulators.
struct MatmulV6OnePair : blackwell::MatmulV6 {
  MatmulV6OnePair() { pairs = 1, block_n = 64, stages = 2; }
};

// The steps of the Hopper example, under names of their own.
struct HopperMatmul : hopper::Matmul {};
struct HopperMatmulInFlight : hopper::Matmul {
  HopperMatmulInFlight() { in_flight = 1; }
};
struct HopperMatmulTokens : hopper::Matmul {
  HopperMatmulTokens() { try_tokens = true; }
};

struct HopperAttention : attention::HopperAttention {};
struct HopperAttentionCausal : attention::HopperAttention {
  HopperAttentionCausal() { causal = true; }
};
struct BlackwellAttention : attention::BlackwellAttention {};
struct BlackwellAttentionCausal : attention::BlackwellAttention {
  BlackwellAttentionCausal() { causal = true; }
};

using Heads = TensorView<const f16, 3>;
void attend(Heads Q, Heads K, Heads V, float scale, TensorView<f16, 3> O, bool causal) {
  std::vector<double> exact = attention::attend(Q, K, V, double(scale), causal);
  for (size_t i = 0; i < exact.size(); ++i) // O has no gaps either
    O.data[i] = f16(float(exact[i]));
}
void attendAll(Heads Q, Heads K, Heads V, float scale, TensorView<f16, 3> O) {
  attend(Q, K, V, scale, O, false);
}
void attendCausal(Heads Q, Heads K, Heads V, float scale, TensorView<f16, 3> O) {
  attend(Q, K, V, scale, O, true);
}
/// The reference rounds to f16 too.
constexpr Tolerance attentionTolerance = {.of_largest = attention::tolerance + 0x1p-11};

// Elementary functions differ by units in the last place (docs/reference/numerics.md), which
// a result that is rounded to fewer bits may turn into one of its own.
constexpr Tolerance elementaryTolerance = {.of_largest = 0x1p-20};
constexpr Tolerance f16Tolerance = {.of_largest = 0x1p-10};
constexpr Tolerance bf16Tolerance = {.of_largest = 0x1p-7};

PENSTOCK_KERNEL(Matmul, block_m, block_n, block_k, group, cluster_m, cluster_n, pair,
                launch_control, pipeline.num_stages);
PENSTOCK_KERNEL(MatmulTwoStages, block_m, block_n, block_k, group, pipeline.num_stages);
PENSTOCK_REFERENCE(MatmulTwoStages, Matmul);
PENSTOCK_KERNEL(MatmulFourStages, block_m, block_n, block_k, group, pipeline.num_stages);
PENSTOCK_REFERENCE(MatmulFourStages, Matmul);
PENSTOCK_KERNEL(MatmulStated, block_m, block_n, block_k, group);
PENSTOCK_REFERENCE(MatmulStated, Matmul);
PENSTOCK_KERNEL(MatmulBf16, block_m, block_n, block_k, group, pipeline.num_stages);
PENSTOCK_REFERENCE(MatmulBf16, MatmulOf<bf16>);
PENSTOCK_KERNEL(FewBlocks, blocks, block_m, block_n, block_k, stages, pair);
PENSTOCK_REFERENCE(FewBlocks, Matmul);
// Beside the grid: three and four tiles for each block.
PENSTOCK_EQUIVALENT(FewBlocks, EXAMPLES_PERSISTENT);
PENSTOCK_SHAPES(FewBlocks, Shape{}, Shape{{"M", 384}, {"K", 192}, {"N", 128}},
                Shape{{"M", 200}, {"K", 264}, {"N", 200}});
PENSTOCK_KERNEL(SmallVectorAdd, block);
PENSTOCK_REFERENCE(SmallVectorAdd, VectorAdd);
PENSTOCK_KERNEL(SmallRowSoftmax, block_m, block_n);
PENSTOCK_REFERENCE(SmallRowSoftmax, RowSoftmax, elementaryTolerance);
PENSTOCK_EQUIVALENT(SmallRowSoftmax, EXAMPLES_ROW_SOFTMAX);
PENSTOCK_KERNEL(SmallLayerNorm, block_m, block_n);
PENSTOCK_REFERENCE(SmallLayerNorm, LayerNorm, bf16Tolerance);
PENSTOCK_EQUIVALENT(SmallLayerNorm, EXAMPLES_LAYER_NORM);
PENSTOCK_KERNEL(SmallMatmulBiasGelu, block_m, block_n, block_k, stages, group);
PENSTOCK_REFERENCE(SmallMatmulBiasGelu, MatmulBiasGelu, f16Tolerance);
PENSTOCK_KERNEL(Convolution, block_h, block_w, block_n, block_k, stages);
PENSTOCK_REFERENCE(Convolution, Convolution, f16Tolerance);
// Boxes that reach over all edges of the images, and rows that TMA cannot copy.
PENSTOCK_SHAPES(Convolution, Shape{{"B", 1}, {"H", 9}, {"W", 33}, {"C", 72}, {"O", 136}, {"T", 9}},
                Shape{{"B", 2}, {"H", 3}, {"W", 5}, {"C", 7}, {"O", 136}, {"T", 9}});
PENSTOCK_EQUIVALENT(Convolution, EXAMPLES_CONVOLUTION);
PENSTOCK_KERNEL(Int4Matmul, block_m, block_n, block_k, group, stages);
// Enough steps that every slot is filled three times.
PENSTOCK_SHAPES(Int4Matmul, Shape{{"M", 64}, {"N", 128}, {"K", 576}, {"P", 288}, {"S", 9}},
                Shape{{"M", 72}, {"N", 200}, {"K", 128}, {"P", 64}, {"S", 2}});
// Sizes of a product with scales: bytes of k, blocks of 128 rows and of 4 scales.
PENSTOCK_KERNEL(SmallMxF8Matmul, block_m, block_n, block_k, stages);
PENSTOCK_REFERENCE(SmallMxF8Matmul, MxF8Matmul);
PENSTOCK_SHAPES(SmallMxF8Matmul,
                Shape{{"M", 128}, {"N", 128}, {"P", 640}, {"I", 1}, {"H", 1}, {"J", 5}},
                Shape{{"M", 136}, {"N", 136}, {"P", 460}, {"I", 2}, {"H", 2}, {"J", 4}});
PENSTOCK_KERNEL(SmallMxF4Matmul, block_m, block_n, block_k, stages);
PENSTOCK_REFERENCE(SmallMxF4Matmul, MxF4Matmul);
PENSTOCK_SHAPES(SmallMxF4Matmul,
                Shape{{"M", 128}, {"N", 128}, {"P", 320}, {"I", 1}, {"H", 1}, {"J", 5}},
                Shape{{"M", 136}, {"N", 136}, {"P", 210}, {"I", 2}, {"H", 2}, {"J", 4}});
PENSTOCK_KERNEL(SmallNvF4Matmul, block_m, block_n, block_k, stages);
PENSTOCK_REFERENCE(SmallNvF4Matmul, NvF4Matmul);
PENSTOCK_SHAPES(SmallNvF4Matmul,
                Shape{{"M", 128}, {"N", 128}, {"P", 320}, {"I", 1}, {"H", 1}, {"J", 10}},
                Shape{{"M", 136}, {"N", 136}, {"P", 210}, {"I", 2}, {"H", 2}, {"J", 7}});
// 640 values of k, whose rows TMA pads, and rows that it does not.
PENSTOCK_KERNEL(SmallMxF6Matmul, block_m, block_n, block_k, stages);
PENSTOCK_REFERENCE(SmallMxF6Matmul, MxF6Matmul);
PENSTOCK_SHAPES(SmallMxF6Matmul,
                Shape{{"M", 128}, {"N", 128}, {"P", 480}, {"Q", 480}, {"I", 1}, {"H", 1}, {"J", 5}},
                Shape{
                    {"M", 136}, {"N", 136}, {"P", 204}, {"Q", 204}, {"I", 2}, {"H", 2}, {"J", 4}});
PENSTOCK_KERNEL(SmallHistogram, block, bins);
PENSTOCK_SHAPES(SmallHistogram, Shape{{"B", 32}}, Shape{{"B", 5}});
PENSTOCK_EQUIVALENT(SmallHistogram, EXAMPLES_HISTOGRAM);
PENSTOCK_KERNEL(Transpose, block_m, block_n);
PENSTOCK_KERNEL(MatmulV0, block_m, block_n, block_k);
PENSTOCK_REFERENCE(MatmulV0, Matmul);
PENSTOCK_KERNEL(MatmulV1, block_m, block_n, block_k, epilogue_n);
PENSTOCK_REFERENCE(MatmulV1, Matmul);
PENSTOCK_KERNEL(MatmulV2, block_m, block_n, block_k, stages, epilogue_n);
PENSTOCK_REFERENCE(MatmulV2, Matmul);
PENSTOCK_KERNEL(MatmulV3, block_m, block_n, block_k, stages, epilogue_n);
PENSTOCK_REFERENCE(MatmulV3, Matmul);
PENSTOCK_KERNEL(MatmulV4, block_m, block_n, block_k, stages, epilogue_n, group);
PENSTOCK_REFERENCE(MatmulV4, Matmul);
PENSTOCK_KERNEL(MatmulV5, block_m, block_n, block_k, stages, epilogue_n, group);
PENSTOCK_REFERENCE(MatmulV5, Matmul);
// Beside the grid: 12 tiles for the 4 blocks that the emulator starts first, and
// 15 at the edges of the matrix for 5.
PENSTOCK_SHAPES(MatmulV5, Shape{}, Shape{{"M", 384}, {"K", 448}, {"N", 512}},
                Shape{{"M", 328}, {"K", 200}, {"N", 520}});
// Work is asked for when all threads have read the last answer, and those that store
// read it behind their tile: so it is known that the accumulator of two tiles ago is
// free. A kernel that asks further ahead needs these.
PENSTOCK_EQUIVALENT(MatmulV5,
                    {"mma_pipe.producer_acquire()", "the answer came after the tile was stored"},
                    {"mma_pipe.consumer_barrier()", "the answer came after the tile was stored"});
PENSTOCK_KERNEL(MatmulV6, block_m, block_n, block_k, stages, epilogue_n, pairs);
PENSTOCK_REFERENCE(MatmulV6, Matmul);
// Beside the grid, whose tiles are of one block: three pairs below each other, the
// last with an empty half.
PENSTOCK_SHAPES(MatmulV6, Shape{}, Shape{{"M", 520}, {"K", 200}, {"N", 512}});
// In these shapes each pair computes one tile. MatmulV6OnePair computes several.
#define EXAMPLES_ONE_TILE                                                                          \
  "each pair computes one tile: neither the second accumulator nor a phase after the first is "    \
  "used"
PENSTOCK_EQUIVALENT(MatmulV6, {"mbarrier.init", EXAMPLES_ONE_TILE},
                    {"mma_pipe.producer_acquire()", EXAMPLES_ONE_TILE},
                    {"b.sync();", "after the last slab, nothing is written to its shared tile"});
PENSTOCK_KERNEL(MatmulV6OnePair, block_m, block_n, block_k, stages, epilogue_n, pairs);
PENSTOCK_REFERENCE(MatmulV6OnePair, Matmul);
// Four tiles: both accumulators are used twice.
PENSTOCK_SHAPES(MatmulV6OnePair, Shape{}, Shape{{"M", 512}, {"K", 200}, {"N", 128}});
PENSTOCK_KERNEL(HopperMatmul, block_m, block_n, block_k, stages, consumers, in_flight, try_tokens);
PENSTOCK_REFERENCE(HopperMatmul, Matmul);
PENSTOCK_KERNEL(HopperMatmulInFlight, block_m, block_n, block_k, stages, consumers, in_flight,
                try_tokens);
PENSTOCK_REFERENCE(HopperMatmulInFlight, Matmul);
PENSTOCK_KERNEL(HopperMatmulTokens, block_m, block_n, block_k, stages, consumers, in_flight,
                try_tokens);
PENSTOCK_REFERENCE(HopperMatmulTokens, Matmul);

// Heads of the size that the kernels are compiled for, and of a smaller one.
#define EXAMPLES_ATTENTION_SHAPES                                                                  \
  Shape{{"H", 2}, {"D", 64}}, Shape { {"H", 3}, {"M", 72}, {"D", 40}, {"N", 200} }
// Enough rows that the last of them see more tiles than twice the stages.
#define EXAMPLES_CAUSAL_SHAPE                                                                      \
  Shape { {"H", 1}, {"M", 384}, {"D", 64}, {"N", 384} }
PENSTOCK_KERNEL(HopperAttention, block_m, block_n, dim, stages);
PENSTOCK_REFERENCE(HopperAttention, attendAll, attentionTolerance);
PENSTOCK_SHAPES(HopperAttention, EXAMPLES_ATTENTION_SHAPES);
PENSTOCK_KERNEL(HopperAttentionCausal, block_m, block_n, dim, stages);
PENSTOCK_REFERENCE(HopperAttentionCausal, attendCausal, attentionTolerance);
PENSTOCK_SHAPES(HopperAttentionCausal, EXAMPLES_ATTENTION_SHAPES, EXAMPLES_CAUSAL_SHAPE);
PENSTOCK_KERNEL(FlashAttention, block_m, block_n, dim, stages);
// Beside these: a single key.
PENSTOCK_SHAPES(FlashAttention, EXAMPLES_ATTENTION_SHAPES,
                Shape{{"H", 1}, {"M", 5}, {"D", 64}, {"N", 1}});
PENSTOCK_EQUIVALENT(FlashAttention, EXAMPLES_ONLINE_SOFTMAX);
PENSTOCK_KERNEL(FlashAttentionCausal, block_m, block_n, dim, stages);
// Beside these: more queries than keys.
PENSTOCK_SHAPES(FlashAttentionCausal, EXAMPLES_ATTENTION_SHAPES, EXAMPLES_CAUSAL_SHAPE,
                Shape{{"H", 1}, {"M", 200}, {"D", 64}, {"N", 100}});
PENSTOCK_EQUIVALENT(FlashAttentionCausal, EXAMPLES_ONLINE_SOFTMAX,
                    {"Index keys = causal", "tiles after the last visible key are masked"});
PENSTOCK_KERNEL(FlashAttentionWide, block_m, block_n, dim, stages);
PENSTOCK_SHAPES(FlashAttentionWide, Shape{{"H", 2}, {"M", 200}, {"D", 64}, {"N", 330}},
                Shape{{"H", 1}, {"M", 128}, {"D", 40}, {"N", 9}},
                Shape{{"H", 1}, {"M", 8}, {"D", 64}, {"N", 0}},
                Shape{{"H", 1}, {"M", 8}, {"D", 64}, {"N", 1}});
PENSTOCK_EQUIVALENT(FlashAttentionWide, EXAMPLES_ONLINE_SOFTMAX);
// Queries for more tiles than twice the stages, rows that TMA cannot copy, and no queries.
PENSTOCK_KERNEL(AttentionBackward, block_m, block_n, dim, stages, threads);
PENSTOCK_REFERENCE(AttentionBackward, AttentionBackward, f16Tolerance);
PENSTOCK_SHAPES(AttentionBackward,
                Shape{{"H", 1}, {"M", 330}, {"D", 64}, {"N", 100}, {"scale", 0.0625}},
                Shape{{"H", 2}, {"M", 330}, {"D", 37}, {"N", 70}, {"scale", 0.0625}},
                Shape{{"H", 1}, {"M", 0}, {"D", 64}, {"N", 70}, {"scale", 0.0625}},
                Shape{{"H", 1}, {"M", 0}, {"D", 37}, {"N", 70}, {"scale", 0.0625}});
PENSTOCK_EQUIVALENT(AttentionBackward, EXAMPLES_ATTENTION_BACKWARD);
PENSTOCK_KERNEL(BlackwellAttention, block_m, block_n, dim, stages);
PENSTOCK_REFERENCE(BlackwellAttention, attendAll, attentionTolerance);
PENSTOCK_SHAPES(BlackwellAttention, EXAMPLES_ATTENTION_SHAPES);
PENSTOCK_KERNEL(BlackwellAttentionCausal, block_m, block_n, dim, stages);
PENSTOCK_REFERENCE(BlackwellAttentionCausal, attendCausal, attentionTolerance);
PENSTOCK_SHAPES(BlackwellAttentionCausal, EXAMPLES_ATTENTION_SHAPES, EXAMPLES_CAUSAL_SHAPE);

} // namespace examples
