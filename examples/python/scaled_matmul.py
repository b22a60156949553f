"""Matmuls of f8, f6 and f4 values with a scale for each block of values. The C++ twin is
examples/scaled_matmul."""

from typing import Any

import penstock.lang as pl
from penstock.lang import In, Out, f32, f4e2m1x2, f6e2m3_packed, f6e3m2_packed, f8e4m3, f8e8m0

BITS = {f4e2m1x2: 4, f6e2m3_packed: 6, f6e3m2_packed: 6, f8e4m3: 8}  # of a value
SAME = "A[M,P], B[N,P], scale_A[I,J,32,16], scale_B[H,J,32,16] -> C[M,N]"
MIXED = "A[M,P], B[N,Q], scale_A[I,J,32,16], scale_B[H,J,32,16] -> C[M,N]"
SPACE = pl.Space(block_n=[128, 256], stages=[2, 3])


def scaled_matmul(b: pl.Block, A: In[Any], B: In[Any], scale_A: In[Any], scale_B: In[Any], C: Out[f32], block_m: int,
                  block_n: int, block_k: int, stages: int) -> None:
    """The kernels below call it: block_k counts values. On Blackwell the tensor core applies the
    scales; other targets multiply in bf16."""
    block = 16 if scale_A.element is f8e4m3 else 32  # values that share a scale
    bits_a, bits_b = BITS[A.element], BITS[B.element]
    M, P = A.shape
    N, Q = B.shape
    in_a, in_b = block_k * bits_a // 8, block_k * bits_b // 8  # bytes
    groups = block_k // (4 * block)
    b.require(P * bits_b == Q * bits_a, "rows of A and B have the same number of values")
    b.require(
        (scale_A.size(0) * 128 >= M) & (scale_B.size(0) * 128 >= N)
        & (scale_A.size(1) * (4 * block * bits_a) >= P * 8),
        "there are scales for 128 rows and 4 blocks of k at a time")
    bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n), swizzle=8)
    As = b.shared(A.element, block_m, in_a)
    Bs = b.shared(B.element, block_n, in_b)
    SA = b.shared(scale_A.element, block_m // 128, groups, 32, 16)
    SB = b.shared(scale_B.element, block_n // 128, groups, 32, 16)
    acc = b.local(f32, block_m, block_n)

    b.fill(acc, 0)
    for k in b.pipelined(pl.ceil_div(P, in_a), num_stages=stages):
        b.copy(A.at(bm * block_m, k * in_a), As)
        b.copy(B.at(bn * block_n, k * in_b), Bs)
        b.copy(scale_A.at(bm * (block_m // 128), k * groups, 0, 0), SA)
        b.copy(scale_B.at(bn * (block_n // 128), k * groups, 0, 0), SB)
        b.gemm(As, pl.transposed(Bs), acc, scale_a=SA, scale_b=SB)
    b.copy(acc, C.at(bm * block_m, bn * block_n))


@pl.kernel(SAME, name="MxF8Matmul", space=SPACE)
def mxf8_matmul(b: pl.Block, A: In[f8e4m3], B: In[f8e4m3], scale_A: In[f8e8m0], scale_B: In[f8e8m0], C: Out[f32], *,
                block_m: int = 128, block_n: int = 128, block_k: int = 128, stages: int = 3) -> None:
    """f8 with a power of two for each 32 values."""
    scaled_matmul(b, A, B, scale_A, scale_B, C, block_m, block_n, block_k, stages)


@pl.kernel(SAME, name="MxF4Matmul", space=SPACE)
def mxf4_matmul(b: pl.Block, A: In[f4e2m1x2], B: In[f4e2m1x2], scale_A: In[f8e8m0], scale_B: In[f8e8m0], C: Out[f32], *,
                block_m: int = 128, block_n: int = 128, block_k: int = 256, stages: int = 3) -> None:
    """4-bit values with a power of two for each 32 values."""
    scaled_matmul(b, A, B, scale_A, scale_B, C, block_m, block_n, block_k, stages)


@pl.kernel(SAME, name="NvF4Matmul", space=SPACE)
def nvf4_matmul(b: pl.Block, A: In[f4e2m1x2], B: In[f4e2m1x2], scale_A: In[f8e4m3], scale_B: In[f8e4m3], C: Out[f32], *,
                block_m: int = 128, block_n: int = 128, block_k: int = 256, stages: int = 3) -> None:
    """4-bit values with an f8 scale for each 16 values."""
    scaled_matmul(b, A, B, scale_A, scale_B, C, block_m, block_n, block_k, stages)


@pl.kernel(MIXED, name="MxF6Matmul", space=SPACE)
def mxf6_matmul(b: pl.Block, A: In[f6e2m3_packed], B: In[f6e3m2_packed], scale_A: In[f8e8m0], scale_B: In[f8e8m0],
                C: Out[f32], *, block_m: int = 128, block_n: int = 128, block_k: int = 128, stages: int = 3) -> None:
    """6-bit values of two formats with a power of two for each 32 values."""
    scaled_matmul(b, A, B, scale_A, scale_B, C, block_m, block_n, block_k, stages)
