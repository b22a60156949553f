"""The second matmul of the series of articles on a Blackwell matmul in Tilus: TMA loads, and an
epilogue through shared memory and TMA. Statements are in the order of the article's kernel; a
comment `[n]` refers to the table in README.md."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32, u32


@pl.kernel("g_a[M,K], g_b[N,K] -> g_c[M,N]")  # [1]
class BlackwellMatmulV1:
    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    e_block_n: int = 16
    space = (pl.Space()
             .over(("block_m", "block_n", "e_block_n"), [(128, 64, 16), (128, 128, 16), (128, 256, 32), (128, 256, 64)])
             .over("block_k", [16, 32, 64]))

    def __call__(self, b: pl.Block, g_a: In[f16], g_b: In[f16], g_c: Out[f16]) -> None:
        m_size, k_size = g_a.shape
        n_size = g_b.size(0)
        b.require(k_size > 0, "K is at least 1")  # [2]
        block_x, block_y = b.grid(pl.ceil_div(m_size, self.block_m), pl.ceil_div(n_size, self.block_n))
        b.threads(4 * 32)

        offset_m = self.block_m * block_x
        offset_n = self.block_n * block_y

        s_a = b.shared(f16, self.block_m, self.block_k)
        s_b = b.shared(f16, self.block_n, self.block_k)

        t_acc = b.tcgen05.alloc(f32, self.block_m, self.block_n)

        # One barrier for TMA, one for the MMA.
        tma_barrier, mma_barrier = b.mbarrier.alloc_each(1, 1)

        phase = b.var(u32, 0)

        b.sync()

        for offset_k in b.range(0, k_size, self.block_k):
            with b.warp(0):
                with b.elect_one():
                    b.mbarrier.arrive_expect(tma_barrier, s_a.bytes + s_b.bytes)
                b.tma.load(g_a.at(offset_m, offset_k), s_a, tma_barrier)
                b.tma.load(g_b.at(offset_n, offset_k), s_b, tma_barrier)
                b.mbarrier.wait(tma_barrier, phase)

                b.tcgen05.mma(s_a, pl.transposed(s_b), t_acc, accumulate=offset_k != 0)
                b.tcgen05.commit(mma_barrier)
                b.mbarrier.wait(mma_barrier, phase)

            b.sync()
            phase ^= 1

        # TMEM -> registers -> shared memory -> tensor, in slabs of columns.
        s_c = b.shared(f16, self.block_m, self.e_block_n)
        for e_offset_n in b.range(0, self.block_n, self.e_block_n):
            t_acc_slice = pl.slice(t_acc, (0, e_offset_n), (self.block_m, self.e_block_n))
            r_acc = b.tcgen05.load(t_acc_slice)
            b.tcgen05.wait_load()
            b.store(s_c, pl.cast(f16, r_acc))
            b.fence.proxy_async()
            b.sync()
            with b.warp(0):
                b.tma.store(s_c, g_c.at(offset_m, offset_n + e_offset_n))
                b.tma.commit_group()
                b.tma.wait_group(0, read=True)
            b.sync()

        b.sync()
        b.tcgen05.dealloc(t_acc)
