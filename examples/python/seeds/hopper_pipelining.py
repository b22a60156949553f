"""The matmul of the article on pipelining in CuTe DSL: a load warp and warpgroups that multiply on
Hopper, the ring between them, and MMAs that stay in flight. Statements are in the order of the article;
a comment `[n]` refers to the table in README.md."""

from typing import Any, Generic, TypeVar

import penstock.lang as pl
from penstock.lang import Barrier, In, Out, Value, bf16, boolean, f32, i32, u32

T = TypeVar("T", bound=pl.Element)

SHARED_MEMORY = 227 * 1024  # bytes of a block on an H100


class PipelineState:
    """A position in the ring: the slot, the phase of its barriers, and the number of slots so far."""

    def __init__(self, b: pl.Block, stages: int, count: pl.Operand[i32], index: pl.Operand[i32],
                 phase: pl.Operand[u32]):
        self.b = b
        self._stages = stages
        self._count = b.var(i32, count)
        self._index = b.var(i32, index)
        self._phase = b.var(u32, phase)

    @property
    def index(self) -> pl.Var[i32]:
        return self._index

    @property
    def phase(self) -> pl.Var[u32]:
        return self._phase

    def clone(self) -> "PipelineState":
        return PipelineState(self.b, self._stages, self._count.get(), self._index.get(), self._phase.get())

    def advance(self) -> None:
        self._index.set((self._index + 1) % self._stages)
        self._phase ^= self._index == 0
        self._count += 1


class PipelineTmaAsync:
    """A ring that TMA fills and threads read."""

    def __init__(self, b: pl.Block, num_stages: int, producer_arrive_cnt: int, consumer_arrive_cnt: int, tx_count: int):
        self.b = b
        self.num_stages = num_stages
        self.tx_count = tx_count
        self.sync_object_full = b.mbarrier.alloc(num_stages, producer_arrive_cnt)
        self.sync_object_empty = b.mbarrier.alloc(num_stages, consumer_arrive_cnt)

    def make_producer_state(self) -> PipelineState:
        """Out of phase with the barriers: the first waits for empty slots return immediately."""
        return PipelineState(self.b, self.num_stages, 0, 0, pl.producer_phase)

    def make_consumer_state(self) -> PipelineState:
        return PipelineState(self.b, self.num_stages, 0, 0, pl.consumer_phase)

    def producer_try_acquire(self, state: PipelineState) -> Value[boolean]:
        return self.b.mbarrier.try_wait(self.sync_object_empty[state.index], state.phase)

    def producer_acquire(self, state: PipelineState, try_acquire_token: Value[boolean] | None = None) -> None:
        with self.b.when(True if try_acquire_token is None else ~try_acquire_token):
            self.b.mbarrier.wait(self.sync_object_empty[state.index], state.phase)
        with self.b.elect_one():
            self.b.mbarrier.arrive_expect(self.sync_object_full[state.index], self.tx_count)

    def producer_get_barrier(self, state: PipelineState) -> Barrier:
        return self.sync_object_full[state.index]

    def producer_commit(self, state: PipelineState) -> None:
        """Nothing: the bytes of TMA complete the barrier."""

    def consumer_try_wait(self, state: PipelineState) -> Value[boolean]:
        return self.b.mbarrier.try_wait(self.sync_object_full[state.index], state.phase)

    def consumer_wait(self, state: PipelineState, try_wait_token: Value[boolean] | None = None) -> None:
        with self.b.when(True if try_wait_token is None else ~try_wait_token):
            self.b.mbarrier.wait(self.sync_object_full[state.index], state.phase)

    def consumer_release(self, state: PipelineState) -> None:
        self.b.mbarrier.arrive(self.sync_object_empty[state.index])


def gemm(b: pl.Block, acc: pl.Tile[f32], tCrA: pl.Tile[Any], tCrB: pl.Tile[Any], state_idx: pl.Operand[i32],
         wg_wait: int = 0, zero_init: bool = False) -> None:
    b.wgmma.fence()
    b.wgmma.mma(tCrA[state_idx], pl.transposed(tCrB[state_idx]), acc, accumulate=not zero_init)  # [5]
    b.wgmma.commit_group()
    b.wgmma.wait_group(wg_wait)


def space() -> pl.Space:
    """Tiles of 64 to 256 rows, depths of 2 to 16 MMAs, and rings that fit in shared memory."""
    return (pl.Space(M_tile=[64, 128, 192, 256], K_tile=[16 * depth for depth in range(2, 17, 2)])
            .over("num_stages", [1, 2, 3, 4, 5, 6, 8, 9, 10, 13, 18])
            .where(lambda k: k.num_stages * (k.M_tile * k.K_tile + k.N_tile * k.K_tile) * bf16.bytes <= SHARED_MEMORY))


@pl.kernel("A[M,K], B[N,K] -> C[M,N]")
class PipelinedMatmulOf(Generic[T]):
    """A slot is released when its MMAs have completed."""

    M_tile: int = 128
    N_tile: int = 128
    K_tile: int = 64
    num_stages: int = 5
    consumers: int = 2  # warpgroups; each multiplies a part of the rows
    try_tokens: bool = False  # probe the barrier of the next slot
    space = space()

    def __call__(self, b: pl.Block, A: In[T], B: In[T], C: Out[T]) -> None:
        M, K = A.shape
        m, n = b.grid(pl.ceil_div(M, self.M_tile), pl.ceil_div(B.size(0), self.N_tile))
        kiters = pl.ceil_div(K, self.K_tile)
        b.threads(128 + 128 * self.consumers)

        sA = b.shared(A.element, self.num_stages, self.M_tile, self.K_tile)
        sB = b.shared(A.element, self.num_stages, self.N_tile, self.K_tile)
        acc = b.local(f32, self.M_tile, self.N_tile)

        pipeline_obj = PipelineTmaAsync(
            b,
            num_stages=self.num_stages,
            producer_arrive_cnt=1,
            consumer_arrive_cnt=128 * self.consumers,
            tx_count=sA[0].bytes + sB[0].bytes,
        )

        with b.warp(0):  # producer
            producer_state = pipeline_obj.make_producer_state()
            try_acquire_token = b.var(boolean, False)
            for k in b.range(kiters):
                pipeline_obj.producer_acquire(producer_state, try_acquire_token)
                tma_bar_ptr = pipeline_obj.producer_get_barrier(producer_state)
                b.tma.load(A.at(m * self.M_tile, k * self.K_tile), sA[producer_state.index], tma_bar_ptr)
                b.tma.load(B.at(n * self.N_tile, k * self.K_tile), sB[producer_state.index], tma_bar_ptr)
                pipeline_obj.producer_commit(producer_state)
                producer_state.advance()
                if self.try_tokens:
                    try_acquire_token.set(pipeline_obj.producer_try_acquire(producer_state))

        with b.warps(4, 4 * self.consumers):  # consumer
            consumer_state = pipeline_obj.make_consumer_state()
            try_wait_token = b.var(boolean, False)
            b.fill(acc, 0)
            for k in b.range(kiters):
                pipeline_obj.consumer_wait(consumer_state, try_wait_token)
                gemm(b, acc, sA, sB, consumer_state.index)
                pipeline_obj.consumer_release(consumer_state)
                consumer_state.advance()
                if self.try_tokens:
                    with b.when(k + 1 < kiters):
                        try_wait_token.set(pipeline_obj.consumer_try_wait(consumer_state))

            b.copy(acc, C.at(m * self.M_tile, n * self.N_tile))


@pl.kernel("A[M,K], B[N,K] -> C[M,N]")
class StaggeredMatmulOf(Generic[T]):
    """`k_stagger_mmas` slots are still multiplied when the next one is awaited."""

    M_tile: int = 128
    N_tile: int = 128
    K_tile: int = 64
    num_stages: int = 5
    consumers: int = 2
    k_stagger_mmas: int = 1
    space = space().where(lambda k: k.num_stages > k.k_stagger_mmas)

    def __call__(self, b: pl.Block, A: In[T], B: In[T], C: Out[T]) -> None:
        M, K = A.shape
        m, n = b.grid(pl.ceil_div(M, self.M_tile), pl.ceil_div(B.size(0), self.N_tile))
        kiters = pl.ceil_div(K, self.K_tile)
        k_stagger_mmas = self.k_stagger_mmas
        b.require(kiters >= k_stagger_mmas, "K has a tile for each MMA that stays in flight")  # [6]
        b.threads(128 + 128 * self.consumers)

        sA = b.shared(A.element, self.num_stages, self.M_tile, self.K_tile)
        sB = b.shared(A.element, self.num_stages, self.N_tile, self.K_tile)
        acc = b.local(f32, self.M_tile, self.N_tile)

        tma_load_pipeline = PipelineTmaAsync(
            b,
            num_stages=self.num_stages,
            producer_arrive_cnt=1,
            consumer_arrive_cnt=128 * self.consumers,
            tx_count=sA[0].bytes + sB[0].bytes,
        )

        with b.warp(0):
            producer_state = tma_load_pipeline.make_producer_state()
            for k in b.range(kiters):
                tma_load_pipeline.producer_acquire(producer_state)
                tma_bar_ptr = tma_load_pipeline.producer_get_barrier(producer_state)
                b.tma.load(A.at(m * self.M_tile, k * self.K_tile), sA[producer_state.index], tma_bar_ptr)
                b.tma.load(B.at(n * self.N_tile, k * self.K_tile), sB[producer_state.index], tma_bar_ptr)
                tma_load_pipeline.producer_commit(producer_state)
                producer_state.advance()

        with b.warps(4, 4 * self.consumers):
            consumer_state = tma_load_pipeline.make_consumer_state()
            stagger_consumer_state = consumer_state.clone()

            for first in range(k_stagger_mmas):  # [7]
                tma_load_pipeline.consumer_wait(consumer_state)
                gemm(b, acc, sA, sB, consumer_state.index, wg_wait=k_stagger_mmas, zero_init=first == 0)
                consumer_state.advance()

            for k in b.range(k_stagger_mmas, kiters, unroll=1):
                tma_load_pipeline.consumer_wait(consumer_state)
                gemm(b, acc, sA, sB, consumer_state.index, wg_wait=k_stagger_mmas, zero_init=False)
                tma_load_pipeline.consumer_release(stagger_consumer_state)
                stagger_consumer_state.advance()
                consumer_state.advance()

            b.wgmma.wait_group(0)
            for _ in range(k_stagger_mmas):
                tma_load_pipeline.consumer_release(stagger_consumer_state)
                stagger_consumer_state.advance()

            b.copy(acc, C.at(m * self.M_tile, n * self.N_tile))


PipelinedMatmul = PipelinedMatmulOf.named("PipelinedMatmul")[bf16]  # type: ignore[attr-defined]  # decorated class
StaggeredMatmul = StaggeredMatmulOf.named("StaggeredMatmul")[bf16]  # type: ignore[attr-defined]
