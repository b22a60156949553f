"""gelu(A * transpose(B) + bias). The C++ twin is examples/matmul_bias_gelu."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32


@pl.kernel("A[M,K], B[N,K], bias[N] -> C[M,N]")
class MatmulBiasGelu:
    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    group: int = 8
    space = pl.Space(block_m=[64, 128], block_n=[64, 128, 256], stages=[2, 3, 4])

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], bias: In[f16], C: Out[f16]) -> None:
        M, K = A.shape
        N = B.size(0)

        # Blocks that run at the same time should share rows of A and of B in the cache, so
        # consecutive blocks walk through narrow groups of columns.
        bm, bn = b.grid(pl.ceil_div(M, self.block_m), pl.ceil_div(N, self.block_n), swizzle=self.group)
        m0, n0 = bm * self.block_m, bn * self.block_n

        As = b.shared(f16, self.block_m, self.block_k)
        Bs = b.shared(f16, self.block_n, self.block_k)
        acc = b.local(f32, self.block_m, self.block_n)
        bs = b.local(f32, self.block_n)

        b.fill(acc, 0)
        for k in b.pipelined(pl.ceil_div(K, self.block_k), num_stages=self.stages):
            b.copy(A.at(m0, k * self.block_k), As)
            b.copy(B.at(n0, k * self.block_k), Bs)
            b.gemm(As, pl.transposed(Bs), acc)

        # The epilogue: gelu(x) = x / 2 (1 + erf(x / sqrt 2)), all in f32.
        b.copy(bias.at(n0), bs)
        b.set(acc, acc + pl.broadcast_cols(bs))
        b.set(acc, acc * 0.5 * (pl.erf(acc * 0.70710678) + 1))
        b.copy(acc, C.at(m0, n0))  # rounds to f16, and clips at the edges
