//===- FlashAttention3.cu - FlashAttention-3, forward ---------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One instance, called below the level that needs torch. CAUSAL and DEPTH select it.
//
//===----------------------------------------------------------------------===//
#include "flash_fwd_launch_template.h"

#include "Host.h"

#include <cstring>

// Only for sequences of different lengths.
void prepare_varlen_num_blocks(Flash_fwd_params &, cudaStream_t, bool, int, int, bool) {}

int main(int count, char **values) {
  using T = cutlass::bfloat16_t;
  constexpr int depth = DEPTH;
  int heads = 2, length = field::argument(count, values, 1, 512);
  size_t size = size_t(heads) * length * depth;
  auto q = field::randomValues<T>(size, 1), k = field::randomValues<T>(size, 2);
  auto v = field::randomValues<T>(size, 3);
  T *o = field::allocate<T>(size);
  Flash_fwd_params p;
  std::memset(&p, 0, sizeof p);
  p.q_ptr = field::upload(q);
  p.k_ptr = field::upload(k);
  p.v_ptr = field::upload(v);
  p.o_ptr = o;
  p.softmax_lse_ptr = field::allocate<float>(size_t(heads) * length);
  p.tile_count_semaphore = field::upload(std::vector<int>(16, 0));
  p.q_row_stride = p.k_row_stride = p.v_row_stride = p.o_row_stride = heads * depth;
  p.q_head_stride = p.k_head_stride = p.v_head_stride = p.o_head_stride = depth;
  p.q_batch_stride = p.k_batch_stride = p.v_batch_stride = p.o_batch_stride = int64_t(size);
  p.v_dim_stride = 1;
  p.b = p.b_k = 1;
  p.h = p.h_k = heads;
  p.seqlen_q = p.seqlen_k = length;
  p.seqlen_q_rounded = p.seqlen_k_rounded = (length + 127) / 128 * 128;
  p.d = p.dv = p.d_rounded = p.dv_rounded = depth;
  p.scale_softmax = 1 / std::sqrt(float(depth));
  p.window_size_left = -1;
  p.window_size_right = CAUSAL ? 0 : -1;
  p.num_splits = 1;
  p.arch = 90;
  p.num_sm = 4;
  p.is_bf16 = true;
  p.is_causal = CAUSAL;
  run_flash_fwd<90, depth, depth, 1, T, T, CAUSAL, false, false, false, false, false, false, false,
                false, false>(p, 0);
  return field::verifyAttention(
      q, k, v, field::download(o, size), heads, length, depth, CAUSAL,
      [&](int i, int h, int d) { return (size_t(i) * heads + size_t(h)) * depth + size_t(d); });
}
