# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The matmul of docs/how-to/porting.md in TileLang."""

import tilelang.language as T


def matmul(M, N, K, BM=128, BN=128, BK=64):
    @T.prim_func
    def kernel(a: T.Tensor((M, K), "float16"), b: T.Tensor((N, K), "float16"), c: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=256) as (n, m):
            x = T.alloc_shared((BM, BK), "float16")
            y = T.alloc_shared((BN, BK), "float16")
            acc = T.alloc_fragment((BM, BN), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=3):
                T.copy(a[m * BM, k * BK], x)
                T.copy(b[n * BN, k * BK], y)
                T.gemm(x, y, acc, transpose_B=True)
            T.copy(acc, c[m * BM, n * BN])

    return kernel
