"""Kernels that work in place on blocks with fewer elements than threads: warps 2 and 3 load what warps 0 and 1 store."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, N, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < N, other=0.0)
    tl.store(x + i, v * 2 + 1, mask=i < N)


@triton.jit
def scale_and_sum(x, out, N, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < N, other=0.0)
    tl.store(x + i, v * 2 + 1, mask=i < N)
    tl.store(out, tl.sum(v, 0))  # of all warps' values


def test_scale():
    x = torch.rand(41, device="cuda")
    expected = 2 * x + 1
    scale[(1,)](x, 41, BLOCK=64, num_warps=4)
    torch.testing.assert_close(x, expected)


def test_scale_and_sum():
    x = torch.rand(41, device="cuda")
    out = torch.empty(1, device="cuda")
    scale_and_sum[(1,)](x, out, 41, BLOCK=64, num_warps=4)
