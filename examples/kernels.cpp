//===- kernels.cpp - The kernels of all examples, for the tools -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built as a shared library, which the `penstock` tool opens to list, print,
// compile and run what is registered here. The fields that are named may be set
// from outside.
//
//===----------------------------------------------------------------------===//
#include "attention_backward/kernel.h"
#include "common/equivalents.h"
#include "convolution/kernel.h"
#include "flash_attention/kernel.h"
#include "gather/kernel.h"
#include "grouped_matmul/kernel.h"
#include "histogram/kernel.h"
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

PENSTOCK_KERNEL(VectorAdd, block);
PENSTOCK_KERNEL(RowSoftmax, block_m, block_n);
PENSTOCK_KERNEL(LayerNorm, block_m, block_n);
PENSTOCK_KERNEL(Matmul, block_m, block_n, block_k, group, cluster_m, cluster_n, pair,
                launch_control, pipeline.num_stages);
PENSTOCK_KERNEL(MatmulBiasGelu, block_m, block_n, block_k, stages, group);
PENSTOCK_KERNEL(PersistentMatmul, blocks, block_m, block_n, block_k, stages, pair);
PENSTOCK_KERNEL(GroupedMatmul, block_m, block_n, block_k, stages);
PENSTOCK_KERNEL(Convolution, block_h, block_w, block_n, block_k, stages);
PENSTOCK_KERNEL(Int4Matmul, block_m, block_n, block_k, group, stages);
PENSTOCK_KERNEL(MxF8Matmul, block_m, block_n, block_k, stages);
PENSTOCK_KERNEL(MxF4Matmul, block_m, block_n, block_k, stages);
PENSTOCK_KERNEL(NvF4Matmul, block_m, block_n, block_k, stages);
PENSTOCK_KERNEL(MxF6Matmul, block_m, block_n, block_k, stages);
PENSTOCK_KERNEL(Gather, block_m, block_n);
PENSTOCK_KERNEL(FlashAttention, block_m, block_n, dim, stages, causal, slack);
PENSTOCK_KERNEL(AttentionBackward, block_m, block_n, dim, stages, threads);
PENSTOCK_KERNEL(Histogram, block, bins);
PENSTOCK_KERNEL(Transpose, block_m, block_n);

// For `penstock mutate --program`: shapes beside the grid, and mutants that are equivalent.
PENSTOCK_EQUIVALENT(RowSoftmax, EXAMPLES_ROW_SOFTMAX);
PENSTOCK_EQUIVALENT(LayerNorm, EXAMPLES_LAYER_NORM);
// More tiles than blocks.
PENSTOCK_SHAPES(PersistentMatmul, Shape{}, Shape{{"M", 1500}, {"K", 8}, {"N", 1500}});
PENSTOCK_EQUIVALENT(PersistentMatmul, EXAMPLES_PERSISTENT);
// More tiles than a grid of half as many has, with one for each group.
PENSTOCK_SHAPES(GroupedMatmul, Shape{}, Shape{{"T", 640}, {"K", 8}, {"G", 2}, {"N", 8}});
PENSTOCK_EQUIVALENT(GroupedMatmul,
                    {"b.grid(ceil_div(N, block_n), ceil_div(T", "groups leave tiles unused"},
                    {"Var<i32> group(b, -1)", "blocks without a group store nothing"},
                    {"Var<i32> tiles(b, 0)", "groups leave tiles unused"},
                    {"b.when(mine >= tiles", "the tile after the last group has no rows"},
                    {"b.when(group >= 0", "blocks without a group store nothing"});
PENSTOCK_SHAPES(Convolution, Shape{{"T", 9}},
                Shape{{"B", 2}, {"H", 3}, {"W", 5}, {"C", 7}, {"O", 136}, {"T", 9}},
                Shape{{"B", 1}, {"H", 3}, {"W", 33}, {"C", 7}, {"O", 136}, {"T", 9}});
PENSTOCK_EQUIVALENT(Convolution, EXAMPLES_CONVOLUTION);
PENSTOCK_SHAPES(Gather, Shape{}, Shape{{"V", 3}, {"D", 1}, {"M", 5}});
PENSTOCK_SHAPES(FlashAttention, Shape{}, Shape{{"H", 1}, {"M", 5}, {"D", 64}, {"N", 1}});
PENSTOCK_EQUIVALENT(FlashAttention, EXAMPLES_ONLINE_SOFTMAX);
PENSTOCK_EQUIVALENT(AttentionBackward, EXAMPLES_ATTENTION_BACKWARD);
PENSTOCK_SHAPES(Histogram, Shape{}, Shape{{"N", 5000}, {"B", 256}});
PENSTOCK_EQUIVALENT(Histogram, EXAMPLES_HISTOGRAM);

} // namespace examples
