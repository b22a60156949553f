"""Layer normalization of rows of any length. The C++ twin is examples/layer_norm."""

import penstock.lang as pl
from penstock.lang import In, Out, Scalar, bf16, f32


@pl.kernel("X[M,N], gamma[N], beta[N], eps -> Y[M,N]")
class LayerNorm:
    block_m: int = 16
    block_n: int = 128
    space = pl.Space(block_m=[4, 8, 16, 32], block_n=[64, 128, 256])

    def __call__(self, b: pl.Block, X: In[bf16], gamma: In[f32], beta: In[f32], eps: Scalar[f32], Y: Out[bf16]) -> None:
        M, N = X.shape
        m0 = b.grid(pl.ceil_div(M, self.block_m)) * self.block_m
        count = pl.cast(f32, N)

        # The tensor holds bf16; all arithmetic is done in f32. Copies convert.
        x = b.local(f32, self.block_m, self.block_n)
        mean = b.local(f32, self.block_m)
        scale = b.local(f32, self.block_m)  # 1 / sqrt(variance + eps)
        g = b.local(f32, self.block_n)
        h = b.local(f32, self.block_n)

        b.fill(mean, 0)
        for n in b.range(pl.ceil_div(N, self.block_n)):
            b.copy(X.at(m0, n * self.block_n), x)  # zeros outside: they add nothing
            b.reduce(pl.Sum, x, 1, mean, accumulate=True)
        b.set(mean, mean / count)

        # A second pass for the variance: the difference of two large sums, as in
        # mean(x * x) - mean * mean, would lose all digits for rows far from zero.
        b.fill(scale, 0)
        for n in b.range(pl.ceil_div(N, self.block_n)):
            b.copy(X.at(m0, n * self.block_n), x)
            # Here the zeros outside would count, so the mask keeps them out.
            inside = pl.col(x) + n * self.block_n < N
            b.set(x, pl.where(inside, (x - pl.broadcast_rows(mean)) * (x - pl.broadcast_rows(mean)), 0))
            b.reduce(pl.Sum, x, 1, scale, accumulate=True)
        b.set(scale, pl.rsqrt(scale / count + eps))

        for n in b.range(pl.ceil_div(N, self.block_n)):
            b.copy(X.at(m0, n * self.block_n), x)
            b.copy(gamma.at(n * self.block_n), g)
            b.copy(beta.at(n * self.block_n), h)
            b.set(x, (x - pl.broadcast_rows(mean)) * pl.broadcast_rows(scale) * pl.broadcast_cols(g) + pl.broadcast_cols(h))
            b.copy(x, Y.at(m0, n * self.block_n))  # rounds to bf16
