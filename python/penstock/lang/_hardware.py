"""Explicit control of a GPU: `b.mbarrier`, `b.tma`, `b.tcgen05`, `b.wgmma` and the others.

Each call is one operation; docs/reference/explicit.md lists its executing threads and its
completion.
"""

from __future__ import annotations

import enum
from typing import Any, TypeVar

from . import _native
from ._elements import Element, boolean, f8e4m3, f8e8m0, i32, i4x2, index_t, u32
from ._location import assigned_name, at
from ._native import record, refs
from ._recording import fail
from ._tiles import InOut, Tensor, TensorSlice, Tile, extents, tile
from ._values import Index, Operand, Computed, Value, as_index, as_scalar, element_type, literal

T = TypeVar("T", bound=Element)


class Semantics(enum.IntEnum):
    """Release/acquire ordering between an arrive and the matching wait; Relaxed: no ordering."""

    Acquire, Relaxed, Release = range(3)


class Cache(enum.IntEnum):
    """L2 eviction priority."""

    NoHint, EvictFirst, EvictNormal, EvictLast = range(4)


class ThreadScope(enum.IntEnum):
    """Scope of an ordering: the block, or its cluster."""

    Cta, Cluster = range(2)


Acquire, Relaxed, Release = Semantics
NoHint, EvictFirst, EvictNormal, EvictLast = Cache
Cta, Cluster = ThreadScope

producer_phase = 1
"""Initial phase of a producer's waits for empty slots: the first wait returns immediately."""
consumer_phase = 0
"""Initial phase of a consumer's waits for full slots: the first wait blocks."""


class Barrier:
    """One mbarrier."""

    __slots__ = ("_native",)

    def __init__(self, barriers: int, index: int):
        self._native = _native.Barrier(barriers, index)


class Barriers:
    """Array of mbarriers, e.g. one per slot of a ring."""

    __slots__ = ("ref",)

    def __init__(self, ref: int):
        self.ref = ref

    def __getitem__(self, index: "Operand[Any]") -> Barrier:
        """The barrier of one slot."""
        return Barrier(self.ref, as_index(index, at()))


class NamedBarrier:
    """Named barrier of the block (`bar.sync`, `bar.arrive`)."""

    __slots__ = ("ref",)

    def __init__(self, ref: int):
        self.ref = ref


def _barrier(value: Any, location: int) -> _native.Barrier:
    if not isinstance(value, Barrier):
        fail(f"a {type(value).__name__} is used as a barrier",
             "select one of an array of barriers: full[slot]" if isinstance(value, Barriers) else
             "barriers come from b.mbarrier.alloc(..)", at=location)
    return value._native


def _box(value: Any, what: str, location: int) -> tuple[_native.Box, Tensor[Any]]:
    if not isinstance(value, TensorSlice):
        fail(f"{what} is not a slice of a tensor", "use A.at(i, j)", at=location)
    return value._box(), value.tensor


def _mask(blocks: Any, location: int) -> int:
    return 0 if blocks is None else as_scalar(blocks, u32, location)


class BarrierCalls:
    """``b.mbarrier``"""

    def alloc(self, count: int, arrivals: int = 1, *, name: str | None = None) -> Barriers:
        """Barriers that complete a phase after `arrivals` arrivals. Messages name them after the
        variable that they are assigned to."""
        location = at()
        if not isinstance(count, int):
            fail("the number of barriers is not an int", "b.mbarrier.alloc_each(1, 2) has separate counts", at=location)
        counts = [arrivals] * (0 if count < 0 else 4096 if count > 4096 else count)
        called = assigned_name() if name is None else name
        return Barriers(record.barriers(_native.ints(counts), len(counts), called.encode(), location))

    def alloc_each(self, *arrivals: int, name: str | None = None) -> tuple[Barrier, ...]:
        """Barriers with separate counts: ``full, empty = b.mbarrier.alloc_each(1, 2)``."""
        location = at()
        called = assigned_name() if name is None else name
        ref = record.barriers(_native.ints(arrivals), len(arrivals), called.encode(), location)
        return tuple(Barrier(ref, literal(i, index_t, location)) for i in range(len(arrivals)))

    def arrive(self, barrier: Barrier, *, cta: "Operand[Any] | None" = None, sem: Semantics = Release,
               scope: ThreadScope = Cta) -> None:
        """Arrives for every thread of the scope. With `cta`, on the barrier of that block of the
        cluster."""
        location = at()
        record.arrive(_barrier(barrier, location), 0, 0 if cta is None else as_index(cta, location), sem, scope, location)

    def arrive_expect(self, barrier: Barrier, bytes: "Operand[Any]", *, cta: "Operand[Any] | None" = None,
                      sem: Semantics = Release, scope: ThreadScope = Cta) -> None:
        """Arrives, and adds `bytes` to the transaction count of the phase."""
        location = at()
        record.arrive(_barrier(barrier, location), as_index(bytes, location),
                      0 if cta is None else as_index(cta, location), sem, scope, location)

    def wait(self, barrier: Barrier, phase: "Operand[u32]", *, sem: Semantics = Acquire,
             scope: ThreadScope = Cta) -> None:
        """Blocks until the phase with this parity has completed."""
        location = at()
        record.barrier_wait(_barrier(barrier, location), as_scalar(phase, u32, location), sem, scope, location)

    def try_wait(self, barrier: Barrier, phase: "Operand[u32]", *, scope: ThreadScope = Cta,
                 timeout_ns: int = 0) -> Value[boolean]:
        """Non-blocking; may spuriously return false."""
        location = at()
        ref = record.try_wait(_barrier(barrier, location), as_scalar(phase, u32, location), scope, timeout_ns, location)
        return Computed(ref, boolean)


class NamedBarrierCalls:
    """``b.named_barrier``"""

    def alloc(self, threads: int, *, name: str | None = None) -> NamedBarrier:
        """A barrier that completes after `threads` arrivals."""
        location = at()
        called = assigned_name() if name is None else name
        return NamedBarrier(record.named_barrier(threads, called.encode(), location))

    def sync(self, barrier: NamedBarrier) -> None:
        """Arrives for every thread of the scope and waits for completion."""
        record.meet(barrier.ref, 1, at())

    def arrive(self, barrier: NamedBarrier) -> None:
        """Arrives for every thread of the scope without waiting."""
        record.meet(barrier.ref, 0, at())


class RegisterCalls:
    """``b.registers``: register reallocation between warpgroups (`setmaxnreg`)"""

    def request(self, count: int) -> None:
        """Increases the registers per thread; waits until other warpgroups have released enough."""
        record.registers(count, 1, at())

    def release(self, count: int) -> None:
        """Decreases the registers per thread."""
        record.registers(count, 0, at())


class TmaCalls:
    """``b.tma``"""

    def load(self, source: TensorSlice[T], target: Tile[T], barrier: Barrier, *, multicast: "Operand[Any] | None" = None,
             cache: Cache = NoHint, padded: bool = False) -> None:
        """Copies a box of a tensor to a shared tile. One thread issues it; its bytes complete on the
        barrier, which must expect them. `multicast`: mask of blocks of the cluster. `padded`: pads
        packed values so that 16 of them take 16 bytes."""
        location = at()
        box, tensor = _box(source, "the source of a TMA load", location)
        tensor._readable(location)
        target = tile(target, "the target of a TMA load", location, 2, 4)
        record.tma_load(box, target.ref, _barrier(barrier, location), _mask(multicast, location), cache,
                        tensor.element.code if padded else -1, location)

    def store(self, source: Tile[T], target: TensorSlice[T], *, cache: Cache = NoHint) -> None:
        """Copies a shared tile to a tensor, clipped at its edges. One thread issues it."""
        location = at()
        box, tensor = _box(target, "the target of a TMA store", location)
        tensor._writable(location)
        record.tma_store(tile(source, "the source of a TMA store", location, 2).ref, box, -1, cache, location)

    def reduce(self, kind: int, source: Tile[T], target: TensorSlice[T], *, cache: Cache = NoHint) -> None:
        """Atomic reduction to the tensor: Sum, or Max and Min of f16 and bf16."""
        location = at()
        box, tensor = _box(target, "the target of a TMA reduction", location)
        if not isinstance(tensor, InOut):
            fail("this tensor is read and written", "declare it as InOut[..]", at=location)
        record.tma_store(tile(source, "the source of a TMA reduction", location, 2).ref, box, kind, cache, location)

    def commit_group(self) -> None:
        """Makes the prior TMA stores and reductions of this thread a group."""
        record.group(0, at())

    def wait_group(self, pending: int, *, read: bool = False) -> None:
        """Blocks until at most `pending` groups of TMA stores of this thread have not completed.
        `read`: waits only until their sources have been read."""
        record.wait_group(0, pending, read, at())


class AsyncCopyCalls:
    """``b.cp_async``"""

    def load(self, source: TensorSlice[T], target: Tile[T], *, bytes: int = 16, l1: bool = False) -> None:
        """Copies a box of a tensor to a shared tile. All threads of the scope copy a part. `bytes` of
        a copy instruction: 16, 8 or 4. `l1`: also caches in L1."""
        location = at()
        box, tensor = _box(source, "the source of a copy", location)
        tensor._readable(location)
        record.async_copy(box, tile(target, "the target of a copy", location, 2).ref, bytes, l1, location)

    def arrive(self, barrier: Barrier) -> None:
        """Arrives for every thread of the scope when its prior copies have completed."""
        location = at()
        record.async_arrive(_barrier(barrier, location), location)

    def commit_group(self) -> None:
        """Makes the prior copies of each thread a group."""
        record.group(1, at())

    def wait_group(self, pending: int) -> None:
        """Blocks until at most `pending` groups of copies of each thread have not completed."""
        record.wait_group(1, pending, 0, at())


class FenceCalls:
    """``b.fence``"""

    def proxy_async(self) -> None:
        """Makes this thread's writes to shared memory visible to TMA and tensor cores."""
        record.proxy_fence(at())


class LaunchControlCalls:
    """``b.clc``: cluster launch control, which claims pending blocks"""

    def request(self, answer: Tile[i32], barrier: Barrier) -> None:
        """Requests a block. The 16-byte answer completes on the barrier."""
        location = at()
        record.clc_request(tile(answer, "the answer", location, 1).ref, _barrier(barrier, location), location)

    def answer(self, answer: Tile[i32]) -> tuple[Value[boolean], Index]:
        """Whether a block was granted, and the block, after the barrier has completed."""
        location = at()
        result = refs([0, 0])
        record.clc_answer(tile(answer, "the answer", location, 1).ref, result, location)
        return Computed(result[0], boolean), Computed(result[1], index_t)


def check_multiplied(a: Tile[Any], b: Tile[Any], location: int) -> bool:
    """Checks the packed operands of an MMA; true if there are some."""
    kinds = [x.element.kind == "packed" for x in (a, b)]
    if i4x2 in (a.element, b.element):
        fail("i4x2 is not multiplied as it is", "unpack it with b.unpack(packed, values)", at=location)
    scalable = [packed or x.element.__name__ in ("f8e4m3", "f8e5m2") for packed, x in zip(kinds, (a, b))]
    if any(kinds) and not all(scalable):
        fail("packed values are multiplied by packed values or f8", at=location)
    return any(kinds)


def scales(value: Any, location: int) -> int:
    if value is None:
        return 0
    found = tile(value, "scales", location, 4)
    if found.element not in (f8e8m0, f8e4m3):
        fail(f"scales of {found.element.__name__}", "scales are f8e8m0, or f8e4m3 for blocks of 16 values", at=location)
    return found.ref


class TensorCalls:
    """``b.tcgen05``: tensor core of Blackwell"""

    def alloc(self, element: type[T], *shape: int, name: str | None = None) -> Tile[T]:
        """An accumulator or a left operand in TMEM (rows, columns), or scales of an operand
        (rows / 128, K / (4 * block), 32, 16)."""
        location = at()
        element = element_type(element, location)
        if len(shape) not in (2, 4):
            fail(f"a tile of rank {len(shape)} in TMEM", "TMEM holds matrices, and scales of rank 4", at=location)
        shape = extents(shape, location)
        called = assigned_name() if name is None else name
        ref = record.tensor_alloc(element.code, _native.ints(shape), len(shape), called.encode(), location)
        return Tile(ref, element, shape)

    def dealloc(self, tile_: Tile[Any]) -> None:
        """Frees a tile of TMEM. Every tile is freed before the kernel ends."""
        location = at()
        record.tensor_dealloc(tile(tile_, "the operand of dealloc", location).ref, location)

    def mma(self, a: Tile[Any], b: Tile[Any], acc: Tile[Any], *, accumulate: "Operand[boolean]" = True,
            scale_a: Tile[Any] | None = None, scale_b: Tile[Any] | None = None) -> None:
        """acc += a * b; a is in shared memory or TMEM. Without `accumulate`, acc = a * b."""
        location = at()
        a, b = tile(a, "the first operand", location, 2), tile(b, "the second operand", location, 2)
        acc = tile(acc, "the accumulator", location, 2)
        packed = check_multiplied(a, b, location)
        add = as_scalar(accumulate, boolean, location)
        if packed or scale_a is not None or scale_b is not None:
            record.scaled_mma(a.ref, b.ref, acc.ref, scales(scale_a, location), scales(scale_b, location),
                              a.element.code, b.element.code, add, location)
        else:
            record.mma(1, a.ref, b.ref, acc.ref, add, location)

    def commit(self, barrier: Barrier, *, multicast: "Operand[Any] | None" = None) -> None:
        """Arrives on the barrier when the prior MMAs and copies of this thread have completed."""
        location = at()
        record.commit(_barrier(barrier, location), _mask(multicast, location), location)

    def load(self, source: Tile[T], *, name: str | None = None) -> Tile[T]:
        """Loads a tile of TMEM into registers, one row per thread; complete after wait_load."""
        location = at()
        source = tile(source, "the operand of load", location, 2)
        called = assigned_name() if name is None else name
        return Tile(record.tensor_load(source.ref, called.encode(), location), source.element, source.shape)

    def wait_load(self) -> None:
        """Waits for the loads from TMEM of this thread; their registers are valid afterwards."""
        record.group(4, at())

    def store(self, source: Tile[T], target: Tile[T]) -> None:
        """Stores a tile from registers to TMEM; complete after wait_store."""
        location = at()
        record.tensor_store(tile(source, "the source", location, 2).ref, tile(target, "the target", location, 2).ref,
                            location)

    def wait_store(self) -> None:
        """Waits for the stores to TMEM of this thread."""
        record.group(5, at())

    def copy(self, source: Tile[T], target: Tile[T]) -> None:
        """Copies a shared tile, a matrix or scales of rank 4, to TMEM. Later MMAs of the scope are
        ordered after it; commit tracks its completion."""
        location = at()
        record.tensor_copy(tile(source, "the source", location, 2, 4).ref, tile(target, "the target", location, 2, 4).ref,
                           location)


class WgmmaCalls:
    """``b.wgmma``: tensor core of Hopper"""

    def fence(self) -> None:
        """Orders accesses to the registers of MMAs before the next one."""
        record.group(3, at())

    def mma(self, a: Tile[Any], b: Tile[Any], acc: Tile[Any], *, accumulate: "Operand[boolean]" = True) -> None:
        """acc += a * b; a is in shared memory, or in registers with 16-bit elements."""
        location = at()
        a, b = tile(a, "the first operand", location, 2), tile(b, "the second operand", location, 2)
        if check_multiplied(a, b, location):
            fail("wgmma does not multiply packed elements", "unpack them first with b.unpack(packed, values)", at=location)
        acc = tile(acc, "the accumulator", location, 2)
        record.mma(0, a.ref, b.ref, acc.ref, as_scalar(accumulate, boolean, location), location)

    def commit_group(self) -> None:
        """Makes the prior MMAs of this warpgroup a group."""
        record.group(2, at())

    def wait_group(self, pending: int) -> None:
        """Blocks until at most `pending` groups of MMAs of this warpgroup have not completed."""
        record.wait_group(2, pending, 0, at())


__all__ = [
    "Acquire", "Barrier", "Barriers", "Cache", "Cluster", "Cta", "EvictFirst", "EvictLast", "EvictNormal", "NamedBarrier",
    "NoHint", "Relaxed", "Release", "Semantics", "ThreadScope", "consumer_phase", "producer_phase"]
