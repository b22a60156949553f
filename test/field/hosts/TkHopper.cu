//===- TkHopper.cu - ThunderKittens: the bf16 product for Hopper ----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#define main theirMain
#include KERNEL_FILE
#undef main

#include "Host.h"

int main(int count, char **values) {
  int n = field::argument(count, values, 1, 256), depth = field::argument(count, values, 2, n);
  using Kernel = matmul_template<2, 4, 8>;
  auto a = field::randomValues<__nv_bfloat16>(size_t(n) * depth, 1);
  auto b = field::randomValues<__nv_bfloat16>(size_t(n) * depth, 2);
  auto *c = field::allocate<__nv_bfloat16>(size_t(n) * n);
  field::require(cudaFuncSetAttribute(prototype::lcf::kernel<Kernel>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      MAX_SHARED_MEMORY - 1024),
                 "cudaFuncSetAttribute");
  // A block per tile instead of one per multiprocessor: idle blocks only take time.
  inner_run<Kernel>(field::upload(a), field::upload(b), c, n, n, depth,
                    Kernel::grid<false>(n, n, depth),
                    dim3(kittens::prototype::detail::NUM_THREADS_v<Kernel>));
  return field::verifyMatmul(
      a, [&](int k, int column) { return b[size_t(k) * n + column]; },
      field::download(c, size_t(n) * n), n, n, depth);
}
