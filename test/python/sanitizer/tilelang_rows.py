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


def test_doubled():
    for rows in (4, 7):
        x, y = torch.rand(rows, 128, device="cuda"), torch.zeros(rows, 128, device="cuda")
        doubled(128)(x, y)
        assert torch.equal(y, 2 * x)
