"""The fifth matmul of the series of articles on a Blackwell matmul in Tilus: a load warp and an MMA
warp with a class for the ring between them, and tiles in an order that reuses the L2 cache. Statements
are in the order of the article's kernel; a comment `[n]` refers to the table in README.md."""

import penstock.lang as pl
from penstock.lang import Barrier, In, Out, f16, f32, i32, u32


class Pipeline:
    """The article's ring; penstock.lang.pipeline has a ready one."""

    def __init__(self, b: pl.Block, num_stages: int, producer_arrive_count: int = 1, consumer_arrive_count: int = 1):
        self.b = b
        self.num_stages: int = num_stages
        self.empty_barriers = b.mbarrier.alloc(num_stages, consumer_arrive_count)
        self.full_barriers = b.mbarrier.alloc(num_stages, producer_arrive_count)
        self.producer_stage = b.var(i32, 0)
        self.consumer_stage = b.var(i32, 0)
        self.producer_phase = b.var(u32, pl.producer_phase)
        self.consumer_phase = b.var(u32, pl.consumer_phase)

    def producer_acquire(self) -> None:
        """Waits until the slot is empty."""
        self.b.mbarrier.wait(self.empty_barriers[self.producer_stage], self.producer_phase, scope=pl.Cta)  # [4]

    def producer_barrier(self) -> Barrier:
        """Barrier for the copies that fill the slot."""
        return self.full_barriers[self.producer_stage]

    def producer_advance(self) -> None:
        """Moves to the next slot, and to the other phase after the last one."""
        self.producer_stage.set((self.producer_stage + 1) % self.num_stages)
        self.producer_phase ^= self.producer_stage == 0

    def consumer_acquire(self) -> None:
        """Waits until the slot is full."""
        self.b.mbarrier.wait(self.full_barriers[self.consumer_stage], self.consumer_phase, scope=pl.Cta)  # [4]

    def consumer_barrier(self) -> Barrier:
        """Barrier for the MMAs that read the slot."""
        return self.empty_barriers[self.consumer_stage]

    def consumer_advance(self) -> None:
        """Moves to the next slot, and to the other phase after the last one."""
        self.consumer_stage.set((self.consumer_stage + 1) % self.num_stages)
        self.consumer_phase ^= self.consumer_stage == 0


@pl.kernel("g_a[M,K], g_b[N,K] -> g_c[M,N]")  # [1]
class BlackwellMatmulV4:
    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    e_block_n: int = 16
    swizzle_size: int = 4
    space = (pl.Space()
             .over(("block_m", "block_n", "e_block_n"), [(128, 64, 16), (128, 128, 16), (128, 256, 16)])
             .over("block_k", [16, 32, 64])
             .over("stages", [2, 3, 4])
             .over("swizzle_size", [1, 4, 8]))

    def compute_block_coord(self, b: pl.Block, linear_idx: pl.Index, num_m_blocks: pl.Index,
                            num_n_blocks: pl.Index) -> tuple[pl.Index, pl.Index]:
        """The tile of a block: groups of `swizzle_size` columns of tiles, row by row."""
        swizzle_size = self.swizzle_size
        tiles_per_group = num_m_blocks * swizzle_size
        group_idx, in_group_idx = pl.fast_divmod(linear_idx, tiles_per_group)
        first_n = group_idx * swizzle_size
        m_block = b.var(i32, 0)
        n_block = b.var(i32, 0)
        # The divisor of the last group; `swizzle_size` if all groups are full, so that it is never 0.
        remainder = num_n_blocks - num_n_blocks // swizzle_size * swizzle_size
        last_group_width = pl.select(remainder > 0, remainder, swizzle_size)
        with b.when(first_n + swizzle_size <= num_n_blocks):
            quotient, r = pl.fast_divmod(in_group_idx, swizzle_size)
            m_block.set(pl.cast(i32, quotient))
            n_block.set(pl.cast(i32, first_n + r))
        with b.otherwise():
            quotient, r = pl.fast_divmod(in_group_idx, last_group_width)
            m_block.set(pl.cast(i32, quotient))
            n_block.set(pl.cast(i32, first_n + r))
        return pl.cast(pl.index_t, m_block), pl.cast(pl.index_t, n_block)

    def __call__(self, b: pl.Block, g_a: In[f16], g_b: In[f16], g_c: Out[f16]) -> None:
        block_m = self.block_m
        block_n = self.block_n
        block_k = self.block_k
        stages = self.stages
        e_block_n = self.e_block_n

        m_size, k_size = g_a.shape
        n_size = g_b.size(0)
        b.require(k_size > 0, "K is at least 1")  # [2]
        num_m_blocks = pl.ceil_div(m_size, block_m)
        num_n_blocks = pl.ceil_div(n_size, block_n)
        # A grid of one dimension.
        block_x = b.grid(num_m_blocks * num_n_blocks)
        b.threads(4 * 32)

        m_block, n_block = self.compute_block_coord(b, block_x, num_m_blocks, num_n_blocks)
        offset_m = m_block * block_m
        offset_n = n_block * block_n

        s_a = b.shared(f16, stages, block_m, block_k)
        s_b = b.shared(f16, stages, block_n, block_k)
        t_acc = b.tcgen05.alloc(f32, block_m, block_n)

        tma_pipe = Pipeline(b, stages)
        (flush_barrier,) = b.mbarrier.alloc_each(1)

        with b.warp(0):
            for offset_k in b.range(0, k_size, block_k, unroll=stages):
                tma_pipe.producer_acquire()
                with b.elect_one():
                    b.mbarrier.arrive_expect(tma_pipe.producer_barrier(), s_a[tma_pipe.producer_stage].bytes
                                             + s_b[tma_pipe.producer_stage].bytes)
                b.tma.load(g_a.at(offset_m, offset_k), s_a[tma_pipe.producer_stage], tma_pipe.producer_barrier())
                b.tma.load(g_b.at(offset_n, offset_k), s_b[tma_pipe.producer_stage], tma_pipe.producer_barrier())
                tma_pipe.producer_advance()

        with b.warp(1):
            for offset_k in b.range(0, k_size, block_k, unroll=stages):
                tma_pipe.consumer_acquire()
                b.tcgen05.mma(s_a[tma_pipe.consumer_stage], pl.transposed(s_b[tma_pipe.consumer_stage]), t_acc,
                              accumulate=offset_k != 0)
                b.tcgen05.commit(tma_pipe.consumer_barrier())
                tma_pipe.consumer_advance()

            b.tcgen05.commit(flush_barrier)
            b.mbarrier.wait(flush_barrier, 0)

        b.sync()

        # TMEM -> registers -> shared memory -> tensor, in slabs of columns.
        s_c = b.shared(f16, block_m, e_block_n)
        for e_offset_n in b.range(0, block_n, e_block_n):
            t_acc_slice = pl.slice(t_acc, (0, e_offset_n), (block_m, e_block_n))
            r_acc = b.tcgen05.load(t_acc_slice)
            b.tcgen05.wait_load()
            b.store(s_c, pl.cast(f16, r_acc))
            # Make the stores of threads visible to TMA.
            b.fence.proxy_async()
            b.sync()
            with b.warp(0):
                b.tma.store(s_c, g_c.at(offset_m, offset_n + e_offset_n))
                b.tma.commit_group()
                b.tma.wait_group(0, read=True)
            b.sync()

        b.sync()
        b.tcgen05.dealloc(t_acc)
