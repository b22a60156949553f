//===- TkAttention.cu - ThunderKittens: attention for Hopper --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <chrono> // which their program does not include

#define main theirMain
#include KERNEL_FILE
#undef main

#include "Host.h"

int main(int count, char **values) {
  constexpr int depth = 64;
  size_t heads = size_t(field::argument(count, values, 1, 2));
  size_t length = size_t(field::argument(count, values, 2, 384)), size = heads * length * depth;
  using Kernel = attn_fwd_template<depth>;
  using Layout = Kernel::layout;
  auto q = field::randomValues<__nv_bfloat16>(size, 1);
  auto k = field::randomValues<__nv_bfloat16>(size, 2);
  auto v = field::randomValues<__nv_bfloat16>(size, 3);
  auto *o = field::allocate<__nv_bfloat16>(size);
  Layout::globals arguments{Layout::qo_global(o, size_t(1), heads, length, nullptr),
                            Layout::qo_global(field::upload(q), size_t(1), heads, length, nullptr),
                            Layout::kv_global(field::upload(k), size_t(1), heads, length, nullptr),
                            Layout::kv_global(field::upload(v), size_t(1), heads, length, nullptr)};
  field::launch(prototype::lcf::kernel<Kernel>, 4, prototype::detail::NUM_THREADS_v<Kernel>,
                MAX_SHARED_MEMORY - 2000, 1, arguments);
  return field::verifyAttention(
      q, k, v, field::download(o, size), int(heads), int(length), depth, false,
      [&](int i, int h, int d) { return (size_t(h) * length + size_t(i)) * depth + size_t(d); });
}
