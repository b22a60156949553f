"""The third matmul of the series of articles on a Blackwell matmul in Tilus: a ring of slots in shared
memory, which one warp fills ahead. Statements are in the order of the article's kernel; a comment
`[n]` refers to the table in README.md."""

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32, i32, u32


@pl.kernel("g_a[M,K], g_b[N,K] -> g_c[M,N]")  # [1]
class BlackwellMatmulV2:
    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    e_block_n: int = 16
    space = (pl.Space()
             .over(("block_m", "block_n", "e_block_n"), [(128, 64, 16), (128, 128, 16), (128, 256, 16)])
             .over("block_k", [16, 32, 64])
             .over("stages", [2, 3, 4]))

    def __call__(self, b: pl.Block, g_a: In[f16], g_b: In[f16], g_c: Out[f16]) -> None:
        m_size, k_size = g_a.shape
        n_size = g_b.size(0)
        b.require(k_size > 0, "K is at least 1")  # [2]
        block_x, block_y = b.grid(pl.ceil_div(m_size, self.block_m), pl.ceil_div(n_size, self.block_n))
        b.threads(4 * 32)

        offset_m = self.block_m * block_x
        offset_n = self.block_n * block_y

        # The first dimension is the slot of the ring.
        s_a = b.shared(f16, self.stages, self.block_m, self.block_k)
        s_b = b.shared(f16, self.stages, self.block_n, self.block_k)

        t_acc = b.tcgen05.alloc(f32, self.block_m, self.block_n)

        # One TMA barrier for each slot.
        tma_barriers = b.mbarrier.alloc(self.stages)
        (mma_barrier,) = b.mbarrier.alloc_each(1)
        tma_phase = b.var(u32, 0)
        mma_phase = b.var(u32, 0)

        # Load the first stages - 1 tiles without waiting.
        for i in range(self.stages - 1):
            offset_k: pl.Operand[pl.index_t] = i * self.block_k
            with b.warp(0), b.when(offset_k < k_size):  # [3]
                with b.elect_one():
                    b.mbarrier.arrive_expect(tma_barriers[i], s_a[i].bytes + s_b[i].bytes)
                b.tma.load(g_a.at(offset_m, offset_k), s_a[i], tma_barriers[i])
                b.tma.load(g_b.at(offset_n, offset_k), s_b[i], tma_barriers[i])

        b.sync()

        current_stage = b.var(i32, 0)
        preload_stage = b.var(i32, self.stages - 1)

        # Unrolled by the number of slots, so that slots are constants.
        for offset_k in b.range(0, k_size, self.block_k, unroll=self.stages):
            with b.warp(0):
                # Load a later tile into the next free slot.
                preload_offset_k = offset_k + (self.stages - 1) * self.block_k
                with b.when(preload_offset_k < k_size):  # [3]
                    with b.elect_one():
                        b.mbarrier.arrive_expect(tma_barriers[preload_stage],
                                                 s_a[preload_stage].bytes + s_b[preload_stage].bytes)
                    b.tma.load(g_a.at(offset_m, preload_offset_k), s_a[preload_stage], tma_barriers[preload_stage])
                    b.tma.load(g_b.at(offset_n, preload_offset_k), s_b[preload_stage], tma_barriers[preload_stage])
                # Wait for the tiles of this iteration.
                b.mbarrier.wait(tma_barriers[current_stage], tma_phase, scope=pl.Cta)  # [4]
                b.tcgen05.mma(s_a[current_stage], pl.transposed(s_b[current_stage]), t_acc, accumulate=offset_k != 0)
                b.tcgen05.commit(mma_barrier)
                b.mbarrier.wait(mma_barrier, mma_phase, scope=pl.Cta)  # [4]

            # The next slots; the phase flips after the last one.
            preload_stage.set((preload_stage + 1) % self.stages)
            current_stage.set((current_stage + 1) % self.stages)
            tma_phase ^= current_stage == 0
            mma_phase ^= 1
            b.sync()

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
