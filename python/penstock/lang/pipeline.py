"""Multi-buffered producer/consumer pipelines, over the public operations of a block.

Read it, copy it, change it. A ring has a full and an empty barrier per slot. PipelineState is the
position of a role in the ring; a role may have several, e.g. one for reads and a later one for
releases.
"""

from __future__ import annotations

from . import Barrier, Block, Cta, Operand, ThreadScope, boolean, consumer_phase, i32, producer_phase, u32
from ._location import assigned_name
from ._values import Value


def _part(ring: str, part: str) -> str:
    """Name of a part of a ring: "ring.full"."""
    return f"{ring}.{part}" if ring else part


class PipelineState:
    """Position of a role in a ring: slot, phase of its barriers, and number of slots passed."""

    def __init__(self, b: Block, stages: int, first: Operand[i32], first_phase: Operand[u32], before: Operand[i32] = 0):
        self.b, self.stages = b, stages
        self.index = b.var(i32, first, name="")
        self.phase = b.var(u32, first_phase, name="")
        self.count = b.var(i32, before, name="")

    def clone(self) -> "PipelineState":
        """Copies the state; both copies advance independently."""
        return PipelineState(self.b, self.stages, self.index.get(), self.phase.get(), self.count.get())

    def advance(self) -> None:
        """Moves to the next slot, and to the other phase after the last one."""
        self.index.set((self.index + 1) % self.stages)
        self.phase ^= self.index == 0
        self.count += 1


class Pipeline:
    """Ring between one producer role and one consumer role. A slot is full after `producers` arrivals
    and empty after `consumers` arrivals: of threads, TMA copies, or tensor core commits."""

    def __init__(self, b: Block, stages: int, producers: int = 1, consumers: int = 1):
        ring = assigned_name()
        self.b = b
        self.producer = PipelineState(b, stages, 0, producer_phase)
        self.consumer = PipelineState(b, stages, 0, consumer_phase)
        self.full = b.mbarrier.alloc(stages, producers, name=_part(ring, "full"))
        self.empty = b.mbarrier.alloc(stages, consumers, name=_part(ring, "empty"))
        self.scope: ThreadScope = Cta  #: of the waits: Cluster if threads of other blocks arrive

    def producer_acquire(self) -> None:
        """Waits until the producer's slot is empty."""
        self.b.mbarrier.wait(self.empty[self.producer.index], self.producer.phase, scope=self.scope)

    def producer_barrier(self) -> Barrier:
        """Barrier for the copies and MMAs that fill the slot."""
        return self.full[self.producer.index]

    def producer_commit(self) -> None:
        """Arrives for every thread of the scope, after it has written its part of the slot."""
        self.b.mbarrier.arrive(self.full[self.producer.index])

    def producer_advance(self) -> None:
        """Moves the producer to the next slot."""
        self.producer.advance()

    def consumer_acquire(self) -> None:
        """Waits until the consumer's slot is full."""
        self.b.mbarrier.wait(self.full[self.consumer.index], self.consumer.phase, scope=self.scope)

    def consumer_barrier(self) -> Barrier:
        """Barrier for commits of products that read the slot."""
        return self.empty[self.consumer.index]

    def consumer_release(self) -> None:
        """Arrives for every thread of the scope, after it has read its part of the slot."""
        self.b.mbarrier.arrive(self.empty[self.consumer.index])

    def consumer_advance(self) -> None:
        """Moves the consumer to the next slot."""
        self.consumer.advance()


class TmaPipeline:
    """Ring that TMA fills and threads read. Each slot receives `bytes` bytes and is released by
    `consumers` threads."""

    def __init__(self, b: Block, stages: int, bytes: int, consumers: int):
        ring = assigned_name()
        self.b, self.stages, self.bytes = b, stages, bytes
        self.full = b.mbarrier.alloc(stages, 1, name=_part(ring, "full"))
        self.empty = b.mbarrier.alloc(stages, consumers, name=_part(ring, "empty"))

    def producer_state(self) -> PipelineState:
        """The producer's first slot."""
        return PipelineState(self.b, self.stages, 0, producer_phase)

    def consumer_state(self) -> PipelineState:
        """The consumer's first slot."""
        return PipelineState(self.b, self.stages, 0, consumer_phase)

    def producer_try_acquire(self, state: PipelineState) -> Value[boolean]:
        """Non-blocking test for an empty slot; pass the token to producer_acquire."""
        return self.b.mbarrier.try_wait(self.empty[state.index], state.phase)

    def producer_acquire(self, state: PipelineState, token: Value[boolean] | None = None) -> None:
        """Waits until the slot is empty and expects its bytes."""
        if token is None:
            self.b.mbarrier.wait(self.empty[state.index], state.phase)
        else:
            with self.b.when(~token):
                self.b.mbarrier.wait(self.empty[state.index], state.phase)
        with self.b.elect_one():
            self.b.mbarrier.arrive_expect(self.full[state.index], self.bytes)

    def producer_barrier(self, state: PipelineState) -> Barrier:
        """Barrier for copies into the slot."""
        return self.full[state.index]

    def producer_commit(self, state: PipelineState) -> None:
        """No operation: TMA arrives by itself. For symmetry with other pipelines."""

    def consumer_try_wait(self, state: PipelineState) -> Value[boolean]:
        """Non-blocking test for a full slot; pass the token to consumer_wait."""
        return self.b.mbarrier.try_wait(self.full[state.index], state.phase)

    def consumer_wait(self, state: PipelineState, token: Value[boolean] | None = None) -> None:
        """Waits until the slot is full."""
        if token is None:
            self.b.mbarrier.wait(self.full[state.index], state.phase)
        else:
            with self.b.when(~token):
                self.b.mbarrier.wait(self.full[state.index], state.phase)

    def consumer_barrier(self, state: PipelineState) -> Barrier:
        """Barrier for commits of products that read the slot."""
        return self.empty[state.index]

    def consumer_release(self, state: PipelineState) -> None:
        """Releases the slot for every thread of the scope, after it has read it."""
        self.b.mbarrier.arrive(self.empty[state.index])
