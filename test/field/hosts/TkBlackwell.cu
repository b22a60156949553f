//===- TkBlackwell.cu - ThunderKittens: the bf16 product for Blackwell ----===//
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
  size_t n = size_t(field::argument(count, values, 1, 512));
  size_t depth = size_t(field::argument(count, values, 2, int(n)));
  using Config = config<256, 256, 64, 4, false, 4, 8>;
  auto a = field::randomValues<__nv_bfloat16>(n * depth, 1);
  auto b = field::randomValues<__nv_bfloat16>(n * depth, 2);
  auto *d = field::allocate<__nv_bfloat16>(n * n);
  typename globals<Config>::a_gl aLayout{field::upload(a), nullptr, nullptr, n, depth};
  typename globals<Config>::b_gl bLayout{field::upload(b), nullptr, nullptr, n, depth};
  typename globals<Config>::d_gl dLayout{d, nullptr, nullptr, n, n};
  globals<Config> arguments{aLayout, bLayout, dLayout};
  field::require(cudaFuncSetAttribute(kernel<Config>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      arguments.dynamic_shared_memory()),
                 "cudaFuncSetAttribute");
  LaunchConfig<true, true> launch(arguments.grid(), arguments.block(),
                                  arguments.dynamic_shared_memory(), 0, Config::CLUSTER_SIZE);
  field::require(cudaLaunchKernelEx(launch, kernel<Config>, arguments), "cudaLaunchKernelEx");
  return field::verifyMatmul(
      a, [&](int k, int column) { return b[size_t(column) * depth + k]; },
      field::download(d, n * n), int(n), int(n), int(depth));
}
