"""A user's test of a TileLang kernel whose number of rows is known at its launch."""

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def doubled(columns):
    rows = T.dynamic("rows")

    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((rows, columns), "float32")):
        with T.Kernel(rows, threads=128) as row:
            for i in T.Parallel(columns):
                Y[row, i] = X[row, i] * 2

    return main


@tilelang.jit
def pairs(columns):
    rows = T.dynamic("rows")

    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((2 * rows, columns), "float32")):
        with T.Kernel(rows, threads=128) as row:
            for i in T.Parallel(columns):
                Y[2 * row, i] = X[row, i]
                Y[2 * row + 1, i] = -X[row, i]

    return main


def test_sizes_that_are_expressions():
    x, y = torch.rand(3, 128, device="cuda"), torch.zeros(6, 128, device="cuda")
    pairs(128)(x, y)
    assert torch.equal(y[::2], x) and torch.equal(y[1::2], -x)


def test_doubled():
    for rows in (4, 7):
        x, y = torch.rand(rows, 128, device="cuda"), torch.zeros(rows, 128, device="cuda")
        doubled(128)(x, y)
        assert torch.equal(y, 2 * x)
