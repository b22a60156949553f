"""A matmul for Hopper: a warp that loads by TMA, and warpgroups that multiply by wgmma. The C++ twin
is examples/hopper_matmul."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32
from penstock.lang.pipeline import TmaPipeline


@pl.kernel("A[M,K], B[N,K] -> C[M,N]")
class HopperMatmul:
    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 4
    consumers: int = 2  # warpgroups that multiply
    in_flight: int = 0  # MMAs in flight when a slot is released
    try_tokens: bool = False  # probe the next slot while the MMA runs
    store_n: int = 64  # columns of a slab of the result

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        block_m, block_n, block_k, stages = self.block_m, self.block_n, self.block_k, self.stages
        consumers, in_flight, store_n = self.consumers, self.in_flight, self.store_n
        M, K = A.shape
        N = B.size(0)
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n), swizzle=8)
        m0, n0 = bm * block_m, bn * block_n
        tiles = pl.ceil_div(K, block_k)

        b.threads(128 + 128 * consumers)
        As = b.shared(f16, stages, block_m, block_k)
        Bs = b.shared(f16, stages, block_n, block_k)
        Cs = b.shared(f16, block_m, store_n)
        acc = b.local(f32, block_m, block_n)
        pipe = TmaPipeline(b, stages, As[0].bytes + Bs[0].bytes, 128 * consumers)

        with b.warp(0):
            state = pipe.producer_state()
            token = b.var(pl.boolean, False)  # of the next slot: it is known to be empty
            for k in b.range(tiles):
                pipe.producer_acquire(state, token)
                b.tma.load(A.at(m0, k * block_k), As[state.index], pipe.producer_barrier(state))
                b.tma.load(B.at(n0, k * block_k), Bs[state.index], pipe.producer_barrier(state))
                pipe.producer_commit(state)
                state.advance()
                if self.try_tokens:
                    token.set(pipe.producer_try_acquire(state))
        with b.warps(4, 4 * consumers):
            b.fill(acc, 0)  # also the result if K is 0
            state = pipe.consumer_state()
            release = state.clone()
            token = b.var(pl.boolean, False)  # of the next slot: it is known to be full
            for k in b.range(tiles):
                pipe.consumer_wait(state, token)
                b.wgmma.fence()
                b.wgmma.mma(As[state.index], pl.transposed(Bs[state.index]), acc)
                b.wgmma.commit_group()
                state.advance()
                if self.try_tokens:  # the MMA runs while the next slot is probed
                    with b.when(k + 1 < tiles):
                        token.set(pipe.consumer_try_wait(state))
                b.wgmma.wait_group(in_flight)
                with b.when(k >= in_flight):
                    pipe.consumer_release(release)
                    release.advance()
            if in_flight:  # the last iteration has not waited for all
                b.wgmma.wait_group(0)
            for n in range(0, block_n, store_n):
                if n:
                    b.tma.wait_group(0, read=True)  # the slab before has been read
                    b.sync()
                b.store(Cs, pl.cast(f16, pl.slice(acc, (0, n), (block_m, store_n))))
                b.fence.proxy_async()
                b.sync()  # of the consumers
                b.tma.store(Cs, C.at(m0, n0 + n))
                b.tma.commit_group()
            b.tma.wait_group(0)
