"""Attention with explicit warp roles, for Hopper and for Blackwell. The C++ twins are in
examples/attention."""

import penstock.lang as pl
from penstock.lang import In, Out, Scalar, f16, f32, u32
from penstock.lang.pipeline import TmaPipeline

SIGNATURE = "Q[H,M,D], K[H,N,D], V[H,N,D], scale -> O[H,M,D]"


@pl.kernel(SIGNATURE)
class HopperAttention:
    block_m: int = 64
    block_n: int = 64
    dim: int = 64
    stages: int = 2
    causal: bool = False

    # scale is log2(e) / sqrt(D).
    def __call__(self, b: pl.Block, Q: In[f16], K: In[f16], V: In[f16], scale: Scalar[f32], O: Out[f16]) -> None:
        block_m, block_n, dim, stages = self.block_m, self.block_n, self.dim, self.stages
        M, N = Q.size(1), K.size(1)
        bm, h = b.grid(pl.ceil_div(M, block_m), Q.size(0))
        m0 = bm * block_m
        keys = pl.min(N, m0 + block_m) if self.causal else N
        tiles = pl.ceil_div(keys, block_n)

        b.require(Q.size(2) <= dim, "the kernel is made for heads of at most `dim` elements")
        b.threads(256)
        Qs = b.shared(f16, block_m, dim)
        Ks, Vs = b.shared(f16, stages, block_n, dim), b.shared(f16, stages, block_n, dim)
        Os = b.shared(f16, block_m, dim)
        P = b.local(f16, block_m, block_n)
        S, out = b.local(f32, block_m, block_n), b.local(f32, block_m, dim)
        top, old, sum = b.local(f32, block_m), b.local(f32, block_m), b.local(f32, block_m)
        part, scale_old = b.local(f32, block_m), b.local(f32, block_m)
        (query,) = b.mbarrier.alloc_each(1)
        k_pipe, v_pipe = TmaPipeline(b, stages, Ks[0].bytes, 128), TmaPipeline(b, stages, Vs[0].bytes, 128)

        with b.warp(0):
            with b.elect_one():
                b.mbarrier.arrive_expect(query, Qs.bytes)
            b.tma.load(Q.at(h, m0, 0), Qs, query)
            k_state, v_state = k_pipe.producer_state(), v_pipe.producer_state()
            for n in b.range(tiles):
                k_pipe.producer_acquire(k_state)
                b.tma.load(K.at(h, n * block_n, 0), Ks[k_state.index], k_pipe.producer_barrier(k_state))
                k_state.advance()
                v_pipe.producer_acquire(v_state)
                b.tma.load(V.at(h, n * block_n, 0), Vs[v_state.index], v_pipe.producer_barrier(v_state))
                v_state.advance()
        with b.warps(4, 4):
            b.fill(out, 0)
            b.fill(sum, 0)
            b.fill(top, -pl.infinity)
            b.mbarrier.wait(query, 0)
            k_state, v_state = k_pipe.consumer_state(), v_pipe.consumer_state()
            for n in b.range(tiles):
                n0 = n * block_n
                k_pipe.consumer_wait(k_state)
                b.wgmma.fence()
                b.wgmma.mma(Qs, pl.transposed(Ks[k_state.index]), S, accumulate=False)
                b.wgmma.commit_group()
                b.wgmma.wait_group(0)
                k_pipe.consumer_release(k_state)
                k_state.advance()

                seen = pl.col(S) + n0 < N
                if self.causal:
                    seen = seen & (pl.row(S) + m0 >= pl.col(S) + n0)
                b.set(S, pl.where(seen, S, -pl.infinity))
                b.copy(top, old)
                b.reduce(pl.Max, S, 1, top, accumulate=True)
                b.set(scale_old, pl.exp2((old - top) * scale))
                b.set(S, pl.exp2(S * scale - pl.broadcast_rows(top) * scale))
                b.reduce(pl.Sum, S, 1, part)
                b.set(sum, sum * scale_old + part)
                b.set(out, out * pl.broadcast_rows(scale_old))
                b.set(P, pl.cast(f16, S))

                v_pipe.consumer_wait(v_state)
                b.wgmma.fence()
                b.wgmma.mma(P, Vs[v_state.index], out)
                b.wgmma.commit_group()
                b.wgmma.wait_group(0)
                v_pipe.consumer_release(v_state)
                v_state.advance()
            b.set(sum, pl.where(sum > 0, 1 / sum, 0))  # one division for each row
            b.set(out, out * pl.broadcast_rows(sum))
            b.store(Os, pl.cast(f16, out))
            b.fence.proxy_async()
            b.sync()
            b.tma.store(Os, O.at(h, m0, 0))
            b.tma.commit_group()
            b.tma.wait_group(0)


@pl.kernel(SIGNATURE)
class BlackwellAttention:
    block_m: int = 128
    block_n: int = 64
    dim: int = 64
    stages: int = 2
    causal: bool = False

    # scale is log2(e) / sqrt(D).
    def __call__(self, b: pl.Block, Q: In[f16], K: In[f16], V: In[f16], scale: Scalar[f32], O: Out[f16]) -> None:
        block_m, block_n, dim, stages = self.block_m, self.block_n, self.dim, self.stages
        M, N = Q.size(1), K.size(1)
        bm, h = b.grid(pl.ceil_div(M, block_m), Q.size(0))
        m0 = bm * block_m
        keys = pl.min(N, m0 + block_m) if self.causal else N
        tiles = pl.ceil_div(keys, block_n)

        b.require(Q.size(2) <= dim, "the kernel is made for heads of at most `dim` elements")
        b.threads(192)
        Qs = b.shared(f16, block_m, dim)
        Ks, Vs = b.shared(f16, stages, block_n, dim), b.shared(f16, stages, block_n, dim)
        Ps, Os = b.shared(f16, block_m, block_n), b.shared(f16, block_m, dim)
        scores = b.tcgen05.alloc(f32, block_m, block_n)
        product = b.tcgen05.alloc(f32, block_m, dim)
        out = b.local(f32, block_m, dim)
        top, old, sum = b.local(f32, block_m), b.local(f32, block_m), b.local(f32, block_m)
        part, scale_old = b.local(f32, block_m), b.local(f32, block_m)
        # A product frees its slot, so one commit gives it back.
        k_pipe, v_pipe = TmaPipeline(b, stages, Ks[0].bytes, 1), TmaPipeline(b, stages, Vs[0].bytes, 1)
        query, scored, weighted, multiplied = b.mbarrier.alloc_each(1, 1, 128, 1)

        with b.warp(4):
            with b.elect_one():
                b.mbarrier.arrive_expect(query, Qs.bytes)
            b.tma.load(Q.at(h, m0, 0), Qs, query)
            k_state, v_state = k_pipe.producer_state(), v_pipe.producer_state()
            for n in b.range(tiles):
                k_pipe.producer_acquire(k_state)
                b.tma.load(K.at(h, n * block_n, 0), Ks[k_state.index], k_pipe.producer_barrier(k_state))
                k_state.advance()
                v_pipe.producer_acquire(v_state)
                b.tma.load(V.at(h, n * block_n, 0), Vs[v_state.index], v_pipe.producer_barrier(v_state))
                v_state.advance()
        with b.warp(5):
            b.mbarrier.wait(query, 0)
            phase = b.var(u32, 0)
            k_state, v_state = k_pipe.consumer_state(), v_pipe.consumer_state()
            for n in b.range(tiles):
                k_pipe.consumer_wait(k_state)
                b.tcgen05.mma(Qs, pl.transposed(Ks[k_state.index]), scores, accumulate=False)
                b.tcgen05.commit(k_pipe.consumer_barrier(k_state))
                b.tcgen05.commit(scored)
                k_state.advance()
                # P is written, and the previous result has been read.
                b.mbarrier.wait(weighted, phase)
                v_pipe.consumer_wait(v_state)
                b.tcgen05.mma(Ps, Vs[v_state.index], product, accumulate=False)
                b.tcgen05.commit(v_pipe.consumer_barrier(v_state))
                b.tcgen05.commit(multiplied)
                v_state.advance()
                phase ^= 1
        with b.warps(0, 4):
            phase = b.var(u32, 0)
            b.fill(out, 0)
            b.fill(sum, 0)
            b.fill(top, -pl.infinity)
            for n in b.range(tiles):
                n0 = n * block_n
                b.mbarrier.wait(scored, phase)
                S = b.tcgen05.load(scores)
                b.tcgen05.wait_load()
                seen = pl.col(S) + n0 < N
                if self.causal:
                    seen = seen & (pl.row(S) + m0 >= pl.col(S) + n0)
                b.set(S, pl.where(seen, S, -pl.infinity))
                b.copy(top, old)
                b.reduce(pl.Max, S, 1, top, accumulate=True)
                b.set(scale_old, pl.exp2((old - top) * scale))
                b.set(S, pl.exp2(S * scale - pl.broadcast_rows(top) * scale))
                b.reduce(pl.Sum, S, 1, part)
                b.set(sum, sum * scale_old + part)
                b.store(Ps, pl.cast(f16, S))
                b.fence.proxy_async()  # threads wrote what the tensor core reads
                b.mbarrier.arrive(weighted)

                b.mbarrier.wait(multiplied, phase)
                added = b.tcgen05.load(product)
                b.tcgen05.wait_load()
                b.set(out, out * pl.broadcast_rows(scale_old) + added)
                phase ^= 1
            b.set(sum, pl.where(sum > 0, 1 / sum, 0))  # one division for each row
            b.set(out, out * pl.broadcast_rows(sum))
            b.store(Os, pl.cast(f16, out))
            b.fence.proxy_async()
            b.sync()
            b.tma.store(Os, O.at(h, m0, 0))
            b.tma.commit_group()
            b.tma.wait_group(0)
        b.sync()
        b.tcgen05.dealloc(scores)
        b.tcgen05.dealloc(product)
