# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Triton kernel of docs/how-to/porting.md is right and has no findings."""

import numpy as np
import pytest
from penstock_emu import Output
from penstock_emu.triton import check
from triton_matmul import matmul


@pytest.mark.parametrize("capability", [90, 100])
def test_matmul(capability):
    M, N, K = 150, 100, 200
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-2, 3, (rows, K)).astype(np.float16) for rows in (M, N))
    c = np.zeros((M, N), np.float16)
    check(matmul, grid=(2, 1), args=dict(a=a, b=b, c=Output(c), M=M, N=N, K=K, BM=128, BN=128, BK=64),
          capability=capability).raise_on("undefined")
    assert (c == a.astype(np.float32) @ b.astype(np.float32).T).all()
