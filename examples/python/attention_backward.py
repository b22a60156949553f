"""Gradients of attention. The C++ twin is examples/attention_backward."""

import penstock.lang as pl
from penstock.lang import In, InOut, Out, Scalar, f16, f32

LOG2E = 1.4426950408889634  # powers of two are cheaper


@pl.kernel("Q[H,M,D], K[H,N,D], V[H,N,D], dO[H,M,D], L[H,M], R[H,M], scale -> dQ[H,M,D], dK[H,N,D], dV[H,N,D]")
class AttentionBackward:
    # `dim` is the size of a head; smaller heads work too, filled up with zeros.
    block_m: int = 64
    block_n: int = 64
    dim: int = 64
    stages: int = 2
    # Threads that compute on GPUs. Heads of 128 have block_n = 128, and on Hopper 256 threads with
    # block_m = 32, so that all sums fit into registers.
    threads: int = 128
    space = pl.Space(block_m=[32, 64], block_n=[32, 64], stages=[2, 3])

    def __call__(self, b: pl.Block, Q: In[f16], K: In[f16], V: In[f16], dO: In[f16], L: In[f32], R: In[f32],
                 scale: Scalar[f32], dQ: InOut[f32], dK: Out[f16], dV: Out[f16]) -> None:
        block_m, block_n, dim = self.block_m, self.block_n, self.dim
        H, M, D = Q.shape
        N = K.size(1)
        b.require(D <= dim, "the kernel was compiled for smaller heads")
        bn, h = b.grid(pl.ceil_div(N, block_n), H)
        n0 = bn * block_n
        b.threads(self.threads)

        Ks = b.shared(f16, block_n, dim)
        Vs = b.shared(f16, block_n, dim)
        Qs = b.shared(f16, block_m, dim)
        dOs = b.shared(f16, block_m, dim)
        P = b.local(f32, block_n, block_m)  # scores, then weights
        dP = b.local(f32, block_n, block_m)  # gradients of the weights
        weights = b.local(f16, block_n, block_m)
        dS = b.local(f16, block_n, block_m)  # gradients of the scores
        dSs = b.shared(f16, block_n, block_m)
        l = b.shared(f32, block_m)
        r = b.shared(f32, block_m)
        dq = b.local(f32, dim, block_m)
        dqs = b.shared(f32, block_m, dim)
        dk = b.local(f32, block_n, dim)
        dv = b.local(f32, block_n, dim)

        b.copy(K.at(h, n0, 0), Ks)
        b.copy(V.at(h, n0, 0), Vs)
        b.fill(dk, 0)
        b.fill(dv, 0)
        # Queries outside of the tensor are zeros, as are their dO and R: they add nothing.
        for m in b.pipelined(pl.ceil_div(M, block_m), num_stages=self.stages):
            m0 = m * block_m
            b.copy(Q.at(h, m0, 0), Qs)
            b.copy(dO.at(h, m0, 0), dOs)
            b.copy(L.at(h, m0), l)
            b.copy(R.at(h, m0), r)
            b.gemm(Ks, pl.transposed(Qs), P, accumulate=False)
            b.gemm(Vs, pl.transposed(dOs), dP, accumulate=False)
            with b.statement("weights"):
                b.set(l, l * LOG2E)
                # Keys outside of the tensor would have weights of any size.
                b.set(P, pl.where(pl.row(P) + n0 < N, pl.exp2(P * (scale * LOG2E) - pl.broadcast_cols(l)), 0))
                b.set(weights, P)
            b.gemm(weights, dOs, dv)
            with b.statement("scores"):
                b.set(dS, P * (dP - pl.broadcast_cols(r)) * scale)
                b.copy(dS, dSs)
            b.gemm(dS, Qs, dk)
            b.gemm(pl.transposed(Ks), dSs, dq, accumulate=False)
            with b.statement("dQ"):
                b.copy(dq, pl.transposed(dqs))
                with b.parallel(block_m, dim) as (i, j):
                    with b.when((m0 + i < M) & (j < D)):
                        b.atomic(pl.Add, dQ.at(h, m0 + i, j), b.load(dqs, i, j))
        b.copy(dk, dK.at(h, n0, 0))
        b.copy(dv, dV.at(h, n0, 0))
