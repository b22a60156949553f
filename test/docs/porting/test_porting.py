# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of other languages in docs/how-to/porting.md: all give the same result on the emulator, without findings."""

import os
import pathlib
import shutil
import sys

import numpy as np
import pytest
from penstock_emu import Output, TensorMap

# Small integers: sums are exact in any order, and below 2048 exact in f16.
M, N, K = 256, 384, 448
BM = BN = 128
BK = 64
rng = np.random.default_rng(1)
a, b = (rng.integers(-2, 3, (rows, K)).astype(np.float16) for rows in (M, N))
expected = a.astype(np.float32) @ b.astype(np.float32).T
needs_nvcc = pytest.mark.skipif(not shutil.which(os.environ.get("PENSTOCK_NVCC", "nvcc")), reason="nvcc is missing")


def result():
    return np.full((M, N), -77, np.float16)


@pytest.mark.parametrize("capability", [90, 100])
def test_triton(capability):
    from penstock_emu.triton import check
    from triton_matmul import matmul

    c = result()
    check(matmul, grid=(M // BM, N // BN), args=dict(a=a, b=b, c=Output(c), M=M, N=N, K=K, BM=BM, BN=BN, BK=BK),
          capability=capability).raise_on("undefined")
    assert (c == expected).all()


@pytest.mark.parametrize("capability", [90, 100])
def test_triton_clips_at_edges(capability):
    from penstock_emu.triton import check
    from triton_matmul import matmul

    m, n, k = 150, 100, 200
    c = np.zeros((m, n), np.float16)
    x, y = np.ascontiguousarray(a[:m, :k]), np.ascontiguousarray(b[:n, :k])
    check(matmul, grid=(2, 1), args=dict(a=x, b=y, c=Output(c), M=m, N=n, K=k, BM=BM, BN=BN, BK=BK),
          capability=capability).raise_on("undefined")
    assert (c == x.astype(np.float32) @ y.astype(np.float32).T).all()


@needs_nvcc
def test_tilelang():
    pytest.importorskip("tilelang")
    from penstock_emu.tilelang import check
    from tilelang_matmul import matmul

    c = result()
    report = check(matmul(M, N, K), dict(a=a, b=b, c=Output(c)))
    # TileLang 0.1.15 does not make the next phase of a barrier wait for all that wait for it
    # (docs/results/field-findings.md): a late warp could hang.
    assert {f.code for f in report.findings} <= {"PS1742"}, report.render()
    assert (c == expected).all()


@needs_nvcc
def test_tilus():
    tilus = pytest.importorskip("tilus")
    from penstock_emu import check
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "field/dsl"))
    from tilus_kernels import compiled
    from tilus_matmul import Matmul

    ptx, shared = compiled(Matmul, tilus.target.nvgpu_sm100a, n=N, k=K)
    c = result()
    maps = [TensorMap(a, (BM, BK), 128), TensorMap(b, (BN, BK), 128)]
    check(ptx, None, (M // BM, N // BN), 128, [M, a, b, Output(c), *maps], shared).raise_on("wrong")
    assert (c == expected).all()


def test_cute():
    pytest.importorskip("cutlass.cute")
    import cute_matmul
    import cutlass
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_compact_tensor
    from penstock_emu.cute import check

    def fake(rows, columns):
        return make_fake_compact_tensor(cutlass.Float16, (rows, columns), stride_order=(1, 0), assumed_align=16)

    compiled = cute.compile(cute_matmul.matmul, fake(M, K), fake(N, K), fake(M, N), options="--keep-ptx")
    c = result()
    maps = [TensorMap(a, (BM, BK), 128), TensorMap(b, (BN, BK), 128)]
    shared = 2 * (BM + BN) * BK * cute_matmul.STAGES + 2048
    check(compiled, (M // BM, N // BN), 128, [*maps, Output(c)], shared).raise_on("wrong")
    assert (c == expected).all()
