"""A matmul for Blackwell in seven steps, from one tile at a time to CTA pairs, with explicit barriers
and warp roles. The C++ twins are in examples/blackwell_matmul."""

from typing import Callable

import penstock.lang as pl
from penstock.lang import In, Out, f16, f32, i32, index_t, u32
from penstock.lang.pipeline import Pipeline

SIGNATURE = "A[M,K], B[N,K] -> C[M,N]"
CLASSES = "M:log2, N, K"
TILE = ("block_m", "block_n", "epilogue_n")


def store_accumulator(b: pl.Block, acc: pl.Tile[f32], Cs: pl.Tile[f16], C: Out[f16], m0: pl.Index, n0: pl.Index,
                      K: pl.Index) -> None:
    """Stores an accumulator in slabs of columns: registers, shared memory, TMA."""
    rows, columns = acc.shape
    width = Cs.shape[1]
    for n in b.range(0, columns, width):
        with b.when(K > 0):
            slab = b.tcgen05.load(pl.slice(acc, (0, n), (rows, width)))
            b.tcgen05.wait_load()
            b.store(Cs, pl.cast(f16, slab))
        with b.otherwise():
            b.store(Cs, 0)
        b.fence.proxy_async()  # what threads wrote is now read by TMA
        b.sync()
        with b.warp(0):
            b.tma.store(Cs, C.at(m0, n0 + n))
            b.tma.commit_group()
            b.tma.wait_group(0, read=True)
        b.sync()  # Cs may be written again


@pl.kernel(SIGNATURE)
class MatmulV0:
    """One tile at a time: threads copy, the tensor core multiplies, threads store."""

    block_m: int = 128
    block_n: int = 64
    block_k: int = 32
    space = pl.Space(block_n=[64, 128, 256], block_k=[32, 64, 128]).classes(CLASSES)

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        block_m, block_n, block_k = self.block_m, self.block_n, self.block_k
        M, K = A.shape
        N = B.size(0)
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n))
        m0, n0 = bm * block_m, bn * block_n

        b.threads(128)
        As, Bs = b.shared(f16, block_m, block_k), b.shared(f16, block_n, block_k)
        acc = b.tcgen05.alloc(f32, block_m, block_n)
        (done,) = b.mbarrier.alloc_each(1)
        phase = b.var(u32, 0)

        for k0 in b.range(0, K, block_k):
            b.cp_async.load(A.at(m0, k0), As)
            b.cp_async.load(B.at(n0, k0), Bs)
            b.cp_async.commit_group()
            b.cp_async.wait_group(0)
            b.fence.proxy_async()  # threads wrote what the tensor core reads
            b.sync()
            with b.warp(0):
                b.tcgen05.mma(As, pl.transposed(Bs), acc, accumulate=k0 != 0)
                b.tcgen05.commit(done)
            b.mbarrier.wait(done, phase)  # the tiles may be written again
            phase ^= 1
        with b.when(K > 0):
            all = b.tcgen05.load(acc)
            b.tcgen05.wait_load()
            b.copy(all, C.at(m0, n0))
        with b.otherwise():
            zeros = b.local(f32, block_m, block_n)
            b.fill(zeros, 0)
            b.copy(zeros, C.at(m0, n0))
        b.sync()
        b.tcgen05.dealloc(acc)


@pl.kernel(SIGNATURE)
class MatmulV1:
    """TMA loads."""

    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    epilogue_n: int = 16
    space = (pl.Space().over(TILE, [(128, 64, 16), (128, 128, 16), (128, 256, 32), (128, 256, 64)])
             .over("block_k", [16, 32, 64]).classes(CLASSES))

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        block_m, block_n, block_k = self.block_m, self.block_n, self.block_k
        M, K = A.shape
        N = B.size(0)
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n))
        m0, n0 = bm * block_m, bn * block_n

        b.threads(128)
        As, Bs = b.shared(f16, block_m, block_k), b.shared(f16, block_n, block_k)
        Cs = b.shared(f16, block_m, self.epilogue_n)
        acc = b.tcgen05.alloc(f32, block_m, block_n)
        loaded, multiplied = b.mbarrier.alloc_each(1, 1)
        phase = b.var(u32, 0)

        with b.warp(0):
            for k0 in b.range(0, K, block_k):
                with b.elect_one():
                    b.mbarrier.arrive_expect(loaded, As.bytes + Bs.bytes)
                b.tma.load(A.at(m0, k0), As, loaded)
                b.tma.load(B.at(n0, k0), Bs, loaded)
                b.mbarrier.wait(loaded, phase)
                b.tcgen05.mma(As, pl.transposed(Bs), acc, accumulate=k0 != 0)
                b.tcgen05.commit(multiplied)
                b.mbarrier.wait(multiplied, phase)
                phase ^= 1
        b.sync()
        store_accumulator(b, acc, Cs, C, m0, n0, K)
        b.tcgen05.dealloc(acc)


@pl.kernel(SIGNATURE)
class MatmulV2:
    """A ring of slots that one warp fills ahead."""

    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    epilogue_n: int = 16
    space = (pl.Space().over(TILE, [(128, 64, 16), (128, 128, 16), (128, 256, 16)])
             .over("block_k", [16, 32, 64]).over("stages", [2, 3, 4]).classes(CLASSES))

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        block_m, block_n, block_k, stages = self.block_m, self.block_n, self.block_k, self.stages
        M, K = A.shape
        N = B.size(0)
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n))
        m0, n0 = bm * block_m, bn * block_n
        tiles = pl.ceil_div(K, block_k)

        b.threads(128)
        As = b.shared(f16, stages, block_m, block_k)
        Bs = b.shared(f16, stages, block_n, block_k)
        Cs = b.shared(f16, block_m, self.epilogue_n)
        acc = b.tcgen05.alloc(f32, block_m, block_n)
        loaded = b.mbarrier.alloc(stages)
        (multiplied,) = b.mbarrier.alloc_each(1)

        def load(tile: pl.Index, slot: pl.Index) -> None:
            with b.elect_one():
                b.mbarrier.arrive_expect(loaded[slot], As[0].bytes + Bs[0].bytes)
            b.tma.load(A.at(m0, tile * block_k), As[slot], loaded[slot])
            b.tma.load(B.at(n0, tile * block_k), Bs[slot], loaded[slot])

        with b.warp(0):
            slot = b.var(i32, 0)
            load_phase, mma_phase = b.var(u32, 0), b.var(u32, 0)
            for i in range(stages - 1):
                with b.when(tiles > i):
                    load(pl.cast(index_t, i), pl.cast(index_t, i))
            for k in b.range(0, tiles, 1, unroll=stages):
                # Refill the slot of the previous MMA.
                with b.when(k + (stages - 1) < tiles):
                    load(k + (stages - 1), pl.cast(index_t, (slot + (stages - 1)) % stages))
                b.mbarrier.wait(loaded[slot], load_phase)
                b.tcgen05.mma(As[slot], pl.transposed(Bs[slot]), acc, accumulate=k != 0)
                b.tcgen05.commit(multiplied)
                b.mbarrier.wait(multiplied, mma_phase)
                slot.set((slot + 1) % stages)
                load_phase ^= slot == 0
                mma_phase ^= 1
        b.sync()
        store_accumulator(b, acc, Cs, C, m0, n0, K)
        b.tcgen05.dealloc(acc)


@pl.kernel(SIGNATURE)
class MatmulV3:
    """A warp that loads and a warp that multiplies."""

    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    epilogue_n: int = 16
    space = (pl.Space().over(TILE, [(128, 64, 16), (128, 128, 16), (128, 256, 16)])
             .over("block_k", [32, 64]).over("stages", [2, 3, 4]).classes(CLASSES))

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        block_m, block_n, block_k, stages = self.block_m, self.block_n, self.block_k, self.stages
        M, K = A.shape
        N = B.size(0)
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n))
        m0, n0 = bm * block_m, bn * block_n

        b.threads(128)
        As = b.shared(f16, stages, block_m, block_k)
        Bs = b.shared(f16, stages, block_n, block_k)
        Cs = b.shared(f16, block_m, self.epilogue_n)
        acc = b.tcgen05.alloc(f32, block_m, block_n)
        full, empty = b.mbarrier.alloc(stages), b.mbarrier.alloc(stages)
        (done,) = b.mbarrier.alloc_each(1)

        with b.warp(0):
            slot = b.var(i32, 0)
            phase = b.var(u32, pl.producer_phase)
            for k0 in b.range(0, K, block_k, unroll=stages):
                b.mbarrier.wait(empty[slot], phase)
                with b.elect_one():
                    b.mbarrier.arrive_expect(full[slot], As[0].bytes + Bs[0].bytes)
                b.tma.load(A.at(m0, k0), As[slot], full[slot])
                b.tma.load(B.at(n0, k0), Bs[slot], full[slot])
                slot.set((slot + 1) % stages)
                phase ^= slot == 0
        with b.warp(1):
            slot = b.var(i32, 0)
            phase = b.var(u32, pl.consumer_phase)
            for k0 in b.range(0, K, block_k, unroll=stages):
                b.mbarrier.wait(full[slot], phase)
                b.tcgen05.mma(As[slot], pl.transposed(Bs[slot]), acc, accumulate=k0 != 0)
                b.tcgen05.commit(empty[slot])
                slot.set((slot + 1) % stages)
                phase ^= slot == 0
            b.tcgen05.commit(done)
            b.mbarrier.wait(done, 0)
        b.sync()
        store_accumulator(b, acc, Cs, C, m0, n0, K)
        b.tcgen05.dealloc(acc)


@pl.kernel(SIGNATURE)
class MatmulV4:
    """The same with a class for the ring."""

    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    epilogue_n: int = 16
    group: int = 4
    space = (pl.Space().over(TILE, [(128, 64, 16), (128, 128, 16), (128, 256, 16)])
             .over("block_k", [16, 32, 64]).over("stages", [2, 3, 4]).over("group", [1, 4, 8]).classes(CLASSES))

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        block_m, block_n, block_k, stages = self.block_m, self.block_n, self.block_k, self.stages
        M, K = A.shape
        N = B.size(0)
        bm, bn = b.grid(pl.ceil_div(M, block_m), pl.ceil_div(N, block_n), swizzle=self.group)
        m0, n0 = bm * block_m, bn * block_n

        b.threads(128)
        As = b.shared(f16, stages, block_m, block_k)
        Bs = b.shared(f16, stages, block_n, block_k)
        Cs = b.shared(f16, block_m, self.epilogue_n)
        acc = b.tcgen05.alloc(f32, block_m, block_n)
        (done,) = b.mbarrier.alloc_each(1)
        pipe = Pipeline(b, stages)

        with b.warp(0):
            for k0 in b.range(0, K, block_k, unroll=stages):
                pipe.producer_acquire()
                with b.elect_one():
                    b.mbarrier.arrive_expect(pipe.producer_barrier(), As[0].bytes + Bs[0].bytes)
                b.tma.load(A.at(m0, k0), As[pipe.producer.index], pipe.producer_barrier())
                b.tma.load(B.at(n0, k0), Bs[pipe.producer.index], pipe.producer_barrier())
                pipe.producer_advance()
        with b.warp(1):
            for k0 in b.range(0, K, block_k, unroll=stages):
                pipe.consumer_acquire()
                b.tcgen05.mma(As[pipe.consumer.index], pl.transposed(Bs[pipe.consumer.index]), acc, accumulate=k0 != 0)
                b.tcgen05.commit(pipe.consumer_barrier())
                pipe.consumer_advance()
            b.tcgen05.commit(done)
            b.mbarrier.wait(done, 0)
        b.sync()
        store_accumulator(b, acc, Cs, C, m0, n0, K)
        b.tcgen05.dealloc(acc)


@pl.kernel(SIGNATURE)
class MatmulV5:
    """Cluster launch control: blocks take further tiles, and store one while the next is computed."""

    block_m: int = 128
    block_n: int = 128
    block_k: int = 64
    stages: int = 3
    epilogue_n: int = 32
    group: int = 4
    # Two accumulators of 256 columns fill the tensor memory.
    space = pl.Space(block_n=[64, 128, 256], block_k=[32, 64], stages=[2, 3, 4], group=[1, 4, 8]).classes(CLASSES)

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        block_m, block_n, block_k, stages = self.block_m, self.block_n, self.block_k, self.stages
        epilogue_n, group = self.epilogue_n, self.group
        M, K = A.shape
        N = B.size(0)
        tiles_m, tiles_n = pl.ceil_div(M, block_m), pl.ceil_div(N, block_n)
        block = b.grid(tiles_m * tiles_n)

        b.threads(224)
        As = b.shared(f16, stages, block_m, block_k)
        Bs = b.shared(f16, stages, block_n, block_k)
        Cs = b.shared(f16, block_m, epilogue_n)
        answer = b.shared(i32, 4)
        acc = b.tcgen05.alloc(f32, block_m, 2 * block_n)
        tma_pipe, mma_pipe = Pipeline(b, stages), Pipeline(b, 2, 1, 128)
        # Every thread reads the answer, and says so before the next one is asked for.
        answered, read = b.mbarrier.alloc_each(1, 224)

        def corner(tile: pl.Index) -> tuple[pl.Index, pl.Index]:
            """Where a tile lies: groups of tiles that share columns of B."""
            number, inside = pl.fast_divmod(tile, pl.max(tiles_m * group, 1))
            first = number * group
            width = pl.min(tiles_n - first, group)
            return inside // width * block_m, (first + inside % width) * block_n

        def for_each_tile(work: Callable[[pl.Index], None]) -> None:
            """One round of a role for each tile, until there is no more work."""
            tile = b.var(i32, pl.cast(i32, block))
            busy = b.var(pl.boolean, True)
            phase = b.var(u32, 0)
            with b.loop_while(lambda: busy):
                work(pl.cast(index_t, tile))
                b.mbarrier.wait(answered, phase)
                granted, next = b.clc.answer(answer)
                tile.set(pl.cast(i32, next))
                busy.set(granted)
                phase ^= 1
                b.fence.proxy_async()  # the next answer is written by another proxy
                b.mbarrier.arrive(read)

        def load(tile: pl.Index) -> None:
            m0, n0 = corner(tile)
            for k0 in b.range(0, K, block_k):
                tma_pipe.producer_acquire()
                with b.elect_one():
                    b.mbarrier.arrive_expect(tma_pipe.producer_barrier(), As[0].bytes + Bs[0].bytes)
                b.tma.load(A.at(m0, k0), As[tma_pipe.producer.index], tma_pipe.producer_barrier())
                b.tma.load(B.at(n0, k0), Bs[tma_pipe.producer.index], tma_pipe.producer_barrier())
                tma_pipe.producer_advance()

        def multiply(tile: pl.Index) -> None:
            mma_pipe.producer_acquire()
            column = pl.cast(index_t, mma_pipe.producer.index) * block_n
            target = pl.slice(acc, (0, column), (block_m, block_n))
            for k0 in b.range(0, K, block_k):
                tma_pipe.consumer_acquire()
                b.tcgen05.mma(As[tma_pipe.consumer.index], pl.transposed(Bs[tma_pipe.consumer.index]), target,
                              accumulate=k0 != 0)
                b.tcgen05.commit(tma_pipe.consumer_barrier())
                tma_pipe.consumer_advance()
            b.tcgen05.commit(mma_pipe.producer_barrier())
            mma_pipe.producer_advance()

        def store(tile: pl.Index) -> None:
            m0, n0 = corner(tile)
            mma_pipe.consumer_acquire()
            start = pl.cast(index_t, mma_pipe.consumer.index) * block_n
            for n in range(0, block_n, epilogue_n):
                with b.when(K > 0):
                    slab = b.tcgen05.load(pl.slice(acc, (0, start + n), (block_m, epilogue_n)))
                    b.tcgen05.wait_load()
                    b.store(Cs, pl.cast(f16, slab))
                with b.otherwise():
                    b.store(Cs, 0)
                # The accumulator is free before the last of it has been stored.
                if n + epilogue_n == block_n:
                    b.mbarrier.arrive(mma_pipe.consumer_barrier())
                b.fence.proxy_async()
                b.sync()
                b.tma.store(Cs, C.at(m0, n0 + n))
                b.tma.commit_group()
                b.tma.wait_group(0, read=True)
                b.sync()
            mma_pipe.consumer_advance()

        with b.warp(4):
            for_each_tile(load)
        with b.warp(5):
            for_each_tile(multiply)
        with b.warp(6):  # requests work
            free_phase, phase = b.var(u32, pl.producer_phase), b.var(u32, 0)
            busy = b.var(pl.boolean, True)
            with b.loop_while(lambda: busy):
                b.mbarrier.wait(read, free_phase)
                with b.elect_one():
                    b.mbarrier.arrive_expect(answered, 16)
                b.clc.request(answer, answered)
                b.mbarrier.wait(answered, phase)
                busy.set(b.clc.answer(answer)[0])
                free_phase ^= 1
                phase ^= 1
                b.fence.proxy_async()
                b.mbarrier.arrive(read)
        with b.warps(0, 4):
            for_each_tile(store)
        b.sync()
        b.tcgen05.dealloc(acc)


@pl.kernel(SIGNATURE)
class MatmulV6:
    """CTA pairs, and a fixed number of blocks."""

    block_m: int = 128
    block_n: int = 256
    block_k: int = 64
    stages: int = 4
    epilogue_n: int = 32
    pairs: int = 74  # a B200 has 148 multiprocessors
    # Two accumulators of 256 columns fill the tensor memory.
    space = pl.Space(block_n=[128, 256], stages=[2, 3, 4, 5], epilogue_n=[16, 32]).classes(CLASSES)

    def __call__(self, b: pl.Block, A: In[f16], B: In[f16], C: Out[f16]) -> None:
        block_m, block_n, block_k, stages = self.block_m, self.block_n, self.block_k, self.stages
        epilogue_n, pairs = self.epilogue_n, self.pairs
        M, K = A.shape
        tiles_m, tiles_n = pl.ceil_div(M, 2 * block_m), pl.ceil_div(B.size(0), block_n)
        tiles = tiles_m * tiles_n
        block = b.grid(2 * pl.min(tiles, pairs))

        b.threads(192)
        rank = b.pair()
        half = block_n // 2

        As = b.shared(f16, stages, block_m, block_k)
        Bs = b.shared(f16, stages, half, block_k)
        Cs = b.shared(f16, block_m, epilogue_n)
        acc = b.tcgen05.alloc(f32, block_m, 2 * block_n)
        # An accumulator is free when the 128 threads of both blocks have read it.
        tma_pipe, mma_pipe = Pipeline(b, stages), Pipeline(b, 2, 1, 2 * 128)
        mma_pipe.scope = pl.Cluster

        def corner(tile: pl.Index) -> tuple[pl.Index, pl.Index]:
            rows = pl.max(tiles_m, 1)
            return tile % rows * (2 * block_m) + rank * block_m, tile // rows * block_n

        with b.warp(4):  # loads
            for tile in b.range(block // 2, tiles, pairs):
                m0, n0 = corner(tile)
                for k0 in b.range(0, K, block_k):
                    tma_pipe.producer_acquire()
                    # The bytes of both blocks arrive at block 0.
                    with b.when(rank == 0):
                        with b.elect_one():
                            b.mbarrier.arrive_expect(tma_pipe.producer_barrier(), 2 * (As[0].bytes + Bs[0].bytes))
                    b.tma.load(A.at(m0, k0), As[tma_pipe.producer.index], tma_pipe.producer_barrier())
                    b.tma.load(B.at(n0 + rank * half, k0), Bs[tma_pipe.producer.index], tma_pipe.producer_barrier())
                    tma_pipe.producer_advance()
        with b.warp(5):  # multiplies
            with b.when(rank == 0):
                for tile in b.range(block // 2, tiles, pairs):
                    mma_pipe.producer_acquire()
                    column = pl.cast(index_t, mma_pipe.producer.index) * block_n
                    target = pl.slice(acc, (0, column), (block_m, block_n))
                    for k0 in b.range(0, K, block_k):
                        tma_pipe.consumer_acquire()
                        b.tcgen05.mma(As[tma_pipe.consumer.index], pl.transposed(Bs[tma_pipe.consumer.index]), target,
                                      accumulate=k0 != 0)
                        b.tcgen05.commit(tma_pipe.consumer_barrier())
                        tma_pipe.consumer_advance()
                    b.tcgen05.commit(mma_pipe.producer_barrier())
                    mma_pipe.producer_advance()
        with b.warps(0, 4):  # store
            for tile in b.range(block // 2, tiles, pairs):
                m0, n0 = corner(tile)
                mma_pipe.consumer_acquire()
                start = pl.cast(index_t, mma_pipe.consumer.index) * block_n
                for n in range(0, block_n, epilogue_n):
                    with b.when(K > 0):
                        slab = b.tcgen05.load(pl.slice(acc, (0, start + n), (block_m, epilogue_n)))
                        b.tcgen05.wait_load()
                        b.store(Cs, pl.cast(f16, slab))
                    with b.otherwise():
                        b.store(Cs, 0)
                    # The accumulator is free before the last of it has been stored.
                    if n + epilogue_n == block_n:
                        b.mbarrier.arrive(mma_pipe.consumer_barrier(), cta=0, sem=pl.Relaxed)
                    b.fence.proxy_async()
                    b.sync()
                    b.tma.store(Cs, C.at(m0, n0 + n))
                    b.tma.commit_group()
                    b.tma.wait_group(0, read=True)
                    b.sync()
                mma_pipe.consumer_advance()
        b.cluster_sync()  # neither leaves while the other may read its tiles
        b.tcgen05.dealloc(acc)
