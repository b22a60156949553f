# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TileLang for Hopper."""

import numpy
import tilelang.language as T

import common
from penstock_emu import Output
from penstock_emu.tilelang import check, compile_kernel, mutate

check = common.runner(check, mutate)


def gemm(M=256, N=256, K=512, BM=128, BN=128, BK=64):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            As = T.alloc_shared((BM, BK), "float16")
            Bs = T.alloc_shared((BK, BN), "float16")
            acc = T.alloc_fragment((BM, BN), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[by * BM, k * BK], As)
                T.copy(B[k * BK, bx * BN], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * BM, bx * BN])
    return main


def softmax(rows=16, columns=1024, block=4):
    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows // block, threads=128) as b:
            x = T.alloc_fragment((block, columns), "float32")
            top = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(X[b * block, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[b * block, 0])
    return main


def cases(name):
    compiled = compile_kernel({"gemm": gemm, "softmax": softmax}[name]())

    def run_gemm(timing):
        a, b, c = common.values(256, 512), common.values(512, 256), numpy.zeros((256, 256), numpy.float16)
        report = check(compiled, dict(A=a, B=b, C=Output(c)), timings=timing)
        return report, common.matches(c, a.astype(float) @ b.astype(float))

    def run_softmax(timing):
        x = common.values(16, 1024, dtype=numpy.float32)
        y = numpy.zeros_like(x)
        report = check(compiled, dict(X=x, Y=Output(y)), timings=timing)
        e = numpy.exp(x.astype(float) - x.max(1, keepdims=True))
        return report, common.matches(y, e / e.sum(1, keepdims=True), 1e-5)

    return {"gemm": run_gemm, "softmax": run_softmax}[name]


if __name__ == "__main__":
    common.main(cases)
