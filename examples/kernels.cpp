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

} // namespace examples
