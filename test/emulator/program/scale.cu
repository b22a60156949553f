//===- scale.cu - A kernel that a program compiles and loads --------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

extern "C" __global__ void scale(float *x, float factor) {
  x[blockIdx.x * blockDim.x + threadIdx.x] *= factor;
}
