//===- TkLevel.cu - ThunderKittens: the levels of its tutorials -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// KERNEL_FILE is level_NN.cu, whose own program has a fixed size.
//
//===----------------------------------------------------------------------===//
#define main theirMain
#include KERNEL_FILE
#undef main

#include "Host.h"

int main(int count, char **values) {
  int n = field::argument(count, values, 1, 256);
  size_t size = size_t(n) * n;
  auto a = field::randomValues<__nv_bfloat16>(size, 1);
  auto b = field::randomValues<__nv_bfloat16>(size, 2);
  auto *c = field::allocate<__nv_bfloat16>(size);
  matmul(field::upload(a), field::upload(b), c, n);
  return field::verifyMatmul(
      a, [&](int k, int column) { return b[size_t(k) * n + column]; }, field::download(c, size), n,
      n, n);
}
