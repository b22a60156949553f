"""A user's tests of Triton kernels: nothing in them refers to the emulator. One kernel has a planted race."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sums(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * N + i, mask=i < N, other=0.0), 0)
    tl.store(out + row, total)


@triton.jit
def running_sums(x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + row * N + i, mask=i < N, other=0.0), 0)
    tl.store(x + row * N + N, total)  # another block reads this row


def test_row_sums():
    x = torch.rand(4, 100, device="cuda")
    out = torch.empty(4, device="cuda")
    row_sums[(4,)](x, out, 100, BLOCK=128)
    torch.testing.assert_close(out, x.sum(1))
    assert out.is_cuda and not out.cpu().is_cuda


def test_running_sums():
    x = torch.ones(5, 100, device="cuda")
    running_sums[(4,)](x, 100, BLOCK=128)


def test_many_blocks():
    x = torch.rand(200, 100, device="cuda")
    out = torch.empty(200, device="cuda")
    row_sums[(200,)](x, out, 100, BLOCK=128)
    torch.testing.assert_close(out, x.sum(1))
