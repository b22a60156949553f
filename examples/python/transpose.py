"""Y = transpose of X, through a tile in shared memory that is filled row by row and read column by
column. The C++ twin is examples/transpose."""

import penstock.lang as pl
from penstock.lang import In, Out, f32


@pl.kernel("X[M,N] -> Y[N,M]")
class Transpose:
    block_m: int = 64
    block_n: int = 64
    space = pl.Space(block_m=[16, 32, 64], block_n=[16, 32, 64])

    def __call__(self, b: pl.Block, X: In[f32], Y: Out[f32]) -> None:
        M, N = X.shape
        bn, bm = b.grid(pl.ceil_div(N, self.block_n), pl.ceil_div(M, self.block_m))
        m0, n0 = bm * self.block_m, bn * self.block_n

        tile = b.shared(f32, self.block_m, self.block_n)
        b.copy(X.at(m0, n0), tile)
        b.copy(pl.transposed(tile), Y.at(n0, m0))  # clipped at both edges
