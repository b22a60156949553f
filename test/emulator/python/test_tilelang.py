# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TileLang kernels; skipped without the package or nvcc."""

import os
import shutil

import numpy
import pytest

if not shutil.which(os.environ.get("PENSTOCK_NVCC", "nvcc")):
    pytest.skip("nvcc is missing", allow_module_level=True)
T = pytest.importorskip("tilelang.language")

from penstock_emu import EmulatorError, Output
from penstock_emu.tilelang import check, compile_kernel


def product(M, N, K):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(N // 64, M // 64, threads=128) as (x, y):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.serial(K // 64):
                T.copy(A[y * 64, k * 64], a)
                T.copy(B[k * 64, x * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * 64, x * 64])
    return main


def test_product_is_right():
    random = numpy.random.default_rng(0)
    a, b = (random.standard_normal((128, 128)).astype(numpy.float16) for _ in range(2))
    c = numpy.zeros((128, 128), numpy.float32)
    check(product(128, 128, 128), dict(A=a, B=b, C=Output(c))).raise_on("wrong")
    expected = a.astype(float) @ b.astype(float)
    assert abs(c - expected).max() < 1e-3 * abs(expected).max()


def test_arguments_are_by_name():
    with pytest.raises(EmulatorError, match="no argument for `[ABC]`"):
        check(product(64, 64, 64), dict(A=numpy.zeros((64, 64), numpy.float16)))


def test_sizes_of_clusters():
    @T.prim_func
    def copies(X: T.Tensor((4, 128), "float32"), Y: T.Tensor((4, 128), "float32")):
        with T.Kernel(4, threads=128, cluster_dims=(2, 1, 1)) as block:
            row = T.alloc_shared((128,), "float32")
            T.cluster_sync()
            T.copy(X[block, 0], row)
            T.copy(row, Y[block, 0])

    assert compile_kernel(copies).cluster == (2, 1, 1)
    x, y = numpy.random.default_rng(0).random((4, 128), numpy.float32), numpy.zeros((4, 128), numpy.float32)
    check(copies, dict(X=x, Y=Output(y))).raise_on("undefined")
    assert (x == y).all()
