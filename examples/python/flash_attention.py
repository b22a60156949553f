"""Attention in one pass over the keys. The C++ twin is examples/flash_attention."""

import penstock.lang as pl
from penstock.lang import In, Out, Scalar, f16, f32


@pl.kernel("Q[H,M,D], K[H,N,D], V[H,N,D], scale -> O[H,M,D]")
class FlashAttention:
    # `dim` is the size of a head; smaller heads work too, filled up with zeros.
    block_m: int = 64
    block_n: int = 64
    dim: int = 64
    stages: int = 2
    causal: bool = False
    # Sums stay relative to a smaller score until the largest one exceeds it by this power of two:
    # tiles without such a score are summed without scaling. 0: each new one counts.
    slack: int = 0
    space = pl.Space(block_m=[64, 128, 256], block_n=[32, 64, 128], stages=[2, 3])

    # scale is log2(e) / sqrt(D): the kernel uses powers of two, which are cheaper.
    def __call__(self, b: pl.Block, Q: In[f16], K: In[f16], V: In[f16], scale: Scalar[f32], O: Out[f16]) -> None:
        block_m, block_n, dim = self.block_m, self.block_n, self.dim
        H, M, D = Q.shape
        N = K.size(1)
        b.require(D <= dim, "the kernel was compiled for smaller heads")
        bm, h = b.grid(pl.ceil_div(M, block_m), H)
        m0 = bm * block_m

        Qs = b.shared(f16, block_m, dim)
        Ks = b.shared(f16, block_n, dim)
        Vs = b.shared(f16, block_n, dim)
        S = b.local(f32, block_m, block_n)  # scores of one tile of keys
        P = b.local(f16, block_m, block_n)  # their weights, before division
        out = b.local(f32, block_m, dim)
        top = b.local(f32, block_m)  # each row's largest score so far
        old = b.local(f32, block_m)
        scale_old = b.local(f32, block_m)
        sum = b.local(f32, block_m)  # each row's sum of weights so far
        part = b.local(f32, block_m)

        b.copy(Q.at(h, m0, 0), Qs)
        b.fill(out, 0)
        b.fill(sum, 0)
        b.fill(top, -pl.infinity)

        # Keys after the last query of this block are hidden from all of it. The plain `if` is a
        # choice at compile time: only one of the two is recorded.
        keys = pl.min(N, m0 + block_m) if self.causal else N

        for n in b.pipelined(pl.ceil_div(keys, block_n), num_stages=self.stages):
            n0 = n * block_n
            b.copy(K.at(h, n0, 0), Ks)
            b.gemm(Qs, pl.transposed(Ks), S, accumulate=False)
            with b.statement("softmax"):  # one slot in the pipeline's schedule
                # Keys outside of the tensor were read as zero and have a score of zero; like the
                # keys after the diagonal they must not count. Every row sees the first key, so
                # `top` is finite from the first tile on.
                seen = pl.col(S) + n0 < N
                if self.causal:
                    seen = seen & (pl.row(S) + m0 >= pl.col(S) + n0)
                b.set(S, pl.where(seen, S, -pl.infinity))
                b.copy(top, old)
                b.reduce(pl.Max, S, 1, top, accumulate=True)
                if self.slack:
                    b.set(top, pl.where((top - old) * scale > float(self.slack), top, old))
                # What was summed so far was relative to the old largest score.
                b.set(scale_old, pl.exp2((old - top) * scale))
                b.set(P, pl.exp2(S * scale - pl.broadcast_rows(top) * scale))  # rounds to f16
                # The sum is of the rounded weights, so that they add up to one.
                b.reduce(pl.Sum, P, 1, part)
                b.set(sum, sum * scale_old + part)
                b.set(out, out * pl.broadcast_rows(scale_old))
            b.copy(V.at(h, n0, 0), Vs)
            b.gemm(P, Vs, out)

        # Without any key there is nothing to attend to, and the result is zero.
        b.set(sum, pl.where(sum > 0, 1 / sum, 0))  # one division for each row
        b.set(out, out * pl.broadcast_rows(sum))
        b.copy(out, O.at(h, m0, 0))
