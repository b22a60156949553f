"""Softmax of each row, which may be longer than a tile. The C++ twin is examples/row_softmax."""

import penstock.lang as pl
from penstock.lang import In, Out, f32

LOWEST = -3.4028234663852886e38  # of the finite f32


@pl.kernel("X[M,N] -> Y[M,N]")
class RowSoftmax:
    block_m: int = 16
    block_n: int = 128
    space = pl.Space(block_m=[4, 8, 16, 32], block_n=[64, 128, 256]).classes("M:log2, N:log2")

    def __call__(self, b: pl.Block, X: In[f32], Y: Out[f32]) -> None:
        M, N = X.shape
        m0 = b.grid(pl.ceil_div(M, self.block_m)) * self.block_m

        x = b.local(f32, self.block_m, self.block_n)
        top = b.local(f32, self.block_m)  # the largest element of each row so far
        old = b.local(f32, self.block_m)
        sum = b.local(f32, self.block_m)  # the sum of exp(x - top) so far
        part = b.local(f32, self.block_m)

        # A row is read piece by piece. When a piece brings a new largest element, the sum so far
        # is scaled to it. The start is the lowest finite number: a row that begins with a piece of
        # -infinity would compute infinity - infinity.
        b.fill(top, LOWEST)
        b.fill(sum, 0)
        for n in b.range(pl.ceil_div(N, self.block_n)):
            # Outside of the tensor we want elements that add nothing: exp gives 0.
            b.copy(X.at(m0, n * self.block_n), x, fill=-pl.infinity)
            b.copy(top, old)
            b.reduce(pl.Max, x, 1, top, accumulate=True)
            b.set(x, pl.exp(x - pl.broadcast_rows(top)))
            b.reduce(pl.Sum, x, 1, part)
            b.set(sum, sum * pl.exp(old - top) + part)

        # One quotient for each row, not one for each element.
        b.set(sum, 1 / sum)
        for n in b.range(pl.ceil_div(N, self.block_n)):
            b.copy(X.at(m0, n * self.block_n), x)
            b.set(x, pl.exp(x - pl.broadcast_rows(top)) * pl.broadcast_rows(sum))
            b.copy(x, Y.at(m0, n * self.block_n))  # clipped at both edges


if __name__ == "__main__":
    import numpy as np

    x = np.random.default_rng(1).standard_normal((37, 300), np.float32)
    y = np.empty_like(x)
    RowSoftmax(x, y)  # type: ignore[call-arg]  # mypy does not follow class decorators
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)
    print("row_softmax: correct")
