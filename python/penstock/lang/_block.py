"""The program of one thread block."""

from __future__ import annotations

import ctypes
import enum
from typing import Any, Callable, Sequence, TypeVar

from . import _native
from ._elements import Element, boolean, f16, bf16, f32, i32, i4x2, i8, index_t
from ._hardware import (
    AsyncCopyCalls, BarrierCalls, FenceCalls, LaunchControlCalls, NamedBarrierCalls, RegisterCalls, TensorCalls,
    TmaCalls, WgmmaCalls, check_multiplied, scales)
from ._location import assigned_name, at
from ._native import record, refs
from ._recording import current, fail, stray
from ._scopes import Loop, Scope, when
from ._tiles import Tensor, TensorSlice, Tile, extents, tile
from ._values import Index, Operand, Computed, Value, Var, as_expression, as_index, as_scalar, element_type, is_number, literal, operand

T = TypeVar("T", bound=Element)


class Reduction(enum.IntEnum):
    """Kinds of reductions."""

    Sum, Prod, Max, Min = range(4)


class Atomic(enum.IntEnum):
    """Kinds of atomic updates."""

    Add, AtomicMax, AtomicMin, Exchange = 4, 2, 3, 5


class Form(enum.Enum):
    """Form of a pipelined loop on GPUs."""

    Automatic = None  #: warp-specialized if possible and the schedule is inferred, otherwise skewed
    Skewed = b"skewed"  #: all warps execute all statements; copies and MMAs of several iterations are in flight
    WarpSpecialized = b"warp_specialized"  #: separate warps load and, with tensor memory, issue MMAs


class Schedule(enum.Enum):
    """Origin of stages and order if they are not stated."""

    Inferred = 0  #: copies are prefetched num_stages ahead; the rest stays in source order
    Optimal = 1  #: minimal interval in the target's timing model, found by an exact solver


Sum, Prod, Max, Min = Reduction
Add, AtomicMax, AtomicMin, Exchange = Atomic
#: `b.atomic(pl.Max, ..)` is understood, too.
_ATOMIC_OF = {Sum: int(Add), Max: int(AtomicMax), Min: int(AtomicMin)}
Auto = -2**31
"""Largest ``num_stages``, up to 8, whose tiles fit in the memory of the target."""
_NO_SWIZZLE = -2**63


def _no_box(source: Tile[Any]) -> _native.Box:
    return _native.Box(source.ref, None, 0, None, 0)


class Block:
    """The program of one thread block. A kernel function takes it as its first parameter; it runs
    once, to record its operations."""

    def __init__(self) -> None:
        self.mbarrier = BarrierCalls()
        self.named_barrier = NamedBarrierCalls()
        self.registers = RegisterCalls()
        self.tma = TmaCalls()
        self.cp_async = AsyncCopyCalls()
        self.fence = FenceCalls()
        self.clc = LaunchControlCalls()
        self.tcgen05 = TensorCalls()
        self.wgmma = WgmmaCalls()

    # ---- the grid

    def grid(self, *extents: "Operand[Any]", swizzle: int | None = None) -> Any:
        """Sets the number of blocks in up to three dimensions, and returns the position of this block:
        an index, or a tuple of them. A kernel calls it once. `swizzle`: consecutive blocks cover
        groups of this width in the second dimension."""
        location = at()
        if not 1 <= len(extents) <= 3:
            fail(f"a grid of {len(extents)} dimensions", "grids have one to three", at=location)
        given = refs([as_index(x, location) for x in extents])
        result = refs([0] * len(extents))
        record.grid(given, len(extents), _NO_SWIZZLE if swizzle is None else swizzle, result, location)
        found = tuple(Computed(ref, index_t) for ref in result)
        return found[0] if len(found) == 1 else found

    def prefer(self, *, cluster: Sequence[int] = (), pair: bool = False, launch_control: bool = False) -> None:
        """Preferences for the blocks of the grid, after grid(). Results do not depend on them;
        ``explain`` reports those that were not met. `cluster`: blocks of a cluster along each extent
        of the grid. `pair`: MMAs of CTA pairs. `launch_control`: finished blocks claim pending ones."""
        record.prefer(_native.ints(tuple(cluster)), len(cluster), pair, launch_control, at())

    # ---- storage

    def _allocate(self, space: int, element: type[T], shape: Sequence[int], versions: int, name: str,
                  location: int) -> Tile[T]:
        element = element_type(element, location)
        if element is index_t:
            fail("a tile of index_t", "indices have no storage; use pl.i64", at=location)
        if not 1 <= len(shape) <= 4:
            fail(f"a tile of rank {len(shape)}", "tiles have one to four dimensions", at=location)
        checked = extents(shape, location)
        ref = record.allocate(space, element.code, _native.ints(checked), len(checked), versions, name.encode(), location)
        return Tile(ref, element, checked)

    def shared(self, element: type[T], *shape: int, versions: int = 0, name: str | None = None) -> Tile[T]:
        """A tile that all threads of the block share. In a pipelined loop, the compiler makes it a ring
        of slots. `versions`: the number of slots; 0: computed. `name` in messages; default: the
        variable's."""
        location = at()
        return self._allocate(0, element, shape, versions, assigned_name() if name is None else name, location)

    def local(self, element: type[T], *shape: int, versions: int = 0, name: str | None = None) -> Tile[T]:
        """A tile in memory that the compiler chooses: on a GPU, registers, or tensor memory if the
        tensor core accumulates in it."""
        location = at()
        return self._allocate(1, element, shape, versions, assigned_name() if name is None else name, location)

    def var(self, element: type[T], initial: "Operand[T]" = 0, *, name: str | None = None) -> Var[T]:
        """A mutable scalar."""
        location = at()
        element = element_type(element, location)
        if element is index_t:
            fail("an index has no storage", "make it a b.var(pl.i64, ..), which converts to an index", at=location)
        called = assigned_name() if name is None else name
        first = as_scalar(initial, element, location)
        ref = record.allocate(1, element.code, None, 0, 0, called.encode(), location)
        record.store(first, ref, None, 0, location)
        return Var(ref, element)

    # ---- operations on tiles

    def copy(self, source: "Tile[Any] | TensorSlice[Any]", target: "Tile[Any] | TensorSlice[Any]", *, fill: float = 0,
             async_: str = "") -> None:
        """Copies a tensor slice to a tile, a tile to a tensor slice, or a tile to a tile. Elements
        outside of the tensor are read as `fill` and not written. Floating-point types convert.
        `async_`: name of the wait that completes the copy."""
        location = at()
        value = 0
        if isinstance(source, TensorSlice):
            to = tile(target, "the target of a copy from a tensor", location)
            source.tensor._readable(location)
            elements, boxes = (source.tensor.element, to.element), (source._box(), _no_box(to))
            if fill != 0 and to.element.kind == "packed":
                record.refuse_fill(location)
            elif fill != 0:
                value = literal(fill, to.element, location)
        elif isinstance(target, TensorSlice):
            of = tile(source, "the source of a copy to a tensor", location)
            target.tensor._writable(location)
            elements, boxes = (of.element, target.tensor.element), (_no_box(of), target._box())
        else:
            of, to = tile(source, "the source of a copy", location), tile(target, "the target of a copy", location)
            elements, boxes = (of.element, to.element), (_no_box(of), _no_box(to))
        if elements[0] is not elements[1] and "packed" in (elements[0].kind, elements[1].kind):
            fail("a copy does not convert packed elements", "unpack a tile with b.unpack(packed, values)", at=location)
        if fill != 0 and not isinstance(source, TensorSlice):
            fail("`fill` of a copy from a tile", "it is the value of elements outside of a tensor that is read",
                 at=location)
        record.copy(*boxes, value, async_.encode(), location)

    def fill(self, target: Tile[T], value: "Operand[T]") -> None:
        """Sets all elements of a tile to one value."""
        location = at()
        target = tile(target, "the target of fill", location)
        record.fill(target.ref, as_scalar(value, target.element, location), location)

    def gemm(self, a: Tile[Any], b: Tile[Any], acc: Tile[Any], *, accumulate: bool = True, tf32: bool = False,
             unsigned_a: bool = False, async_: str = "", scale_a: Tile[Any] | None = None,
             scale_b: Tile[Any] | None = None) -> None:
        """acc += a * b, for an M x K and a K x N tile. Without `accumulate`, acc = a * b. `tf32` rounds
        f32 operands. A second operand of rank 4 is packed for CPUs. Scales multiply blocks of f8 and
        of packed operands."""
        location = at()
        a, b = tile(a, "the first operand", location, 2), tile(b, "the second operand", location, 2, 4)
        acc = tile(acc, "the accumulator", location, 2)
        check_multiplied(a, b, location)
        flags = (1 if accumulate else 0) | (2 if tf32 else 0) | (4 if unsigned_a else 0)
        record.gemm(a.ref, b.ref, acc.ref, scales(scale_a, location), scales(scale_b, location), flags, a.element.code,
                    b.element.code, async_.encode(), location)

    def unpack(self, packed: Tile[Any], values: Tile[Any]) -> None:
        """Unpacks values of 4 or 6 bits."""
        location = at()
        packed, values = tile(packed, "the packed tile", location), tile(values, "the values", location)
        if packed.element.kind != "packed":
            fail(f"unpack of {packed.element.__name__}", "it takes a tile of packed elements", at=location)
        if values.element not in (f16, bf16, f32, *((i8, i32) if packed.element is i4x2 else ())):
            fail(f"values of {values.element.__name__}", "values are f16, bf16 or f32; those of i4x2 may also be i8 or i32",
                 at=location)
        record.unpack(packed.ref, packed.element.code, values.ref, location)

    def reduce(self, kind: Reduction, source: Tile[Any], dim: int, target: Tile[Any], *, accumulate: bool = False) -> None:
        """Reduces a tile along a dimension with Sum, Prod, Max or Min. `accumulate`: combines with the
        old value of the target."""
        location = at()
        if not isinstance(kind, Reduction):
            fail(f"{kind!r} is not a kind of reduction", "kinds are pl.Sum, pl.Prod, pl.Max and pl.Min", at=location)
        source, target = tile(source, "the source of reduce", location), tile(target, "the target of reduce", location)
        if len(target.shape) != len(source.shape) - 1:
            fail(f"a tile of rank {len(source.shape)} is reduced into a tile of rank {len(target.shape)}",
                 "the target has one dimension less; a tile of rank one is reduced as a 1 x n tile", at=location)
        if "packed" in (source.element.kind, target.element.kind):
            fail("packed elements are not numbers", "unpack the tile with b.unpack(packed, values)", at=location)
        record.reduce(kind, source.ref, dim, target.ref, accumulate, location)

    def set(self, target: Tile[T], value: "Operand[Any]") -> None:
        """Sets each element of a tile to the value of an expression. Floating-point values convert."""
        location = at()
        if isinstance(target, Var):
            fail("b.set assigns tiles", "assign a variable with v.set(x)", at=location)
        self._set(tile(target, "the target of set", location), value, location)

    def _set(self, target: Tile[Any], value: Any, location: int) -> None:
        element = target.element
        if not is_number(value):
            found = operand(value, location)
            if found.element is not element and found.element.kind == element.kind == "float":
                ref = record.convert(found.ref, element.code, 0, location)
                record.assign(target.ref, ref, location)
                return
            record.assign(target.ref, as_expression(found, element, location), location)
            return
        record.assign(target.ref, literal(value, element, location), location)

    # ---- single elements

    def load(self, source: Tile[T], *indices: "Operand[Any]") -> Value[T]:
        """One element of a tile."""
        location = at()
        if isinstance(source, (Tensor, TensorSlice)):
            fail("b.load reads an element of a tile", "load an element of a tensor with A.load(i, j)", at=location)
        source = tile(source, "the operand of load", location)
        found = self._indices(source, indices, location)
        return Computed(record.load(source.ref, found, len(indices), location), source.element)

    @staticmethod
    def _indices(source: Tile[Any], indices: Sequence[Any], location: int) -> Any:
        if len(indices) != len(source.shape):
            fail(f"{len(indices)} indices of a tile of rank {len(source.shape)}", "give one for each dimension",
                 at=location)
        return refs([as_index(i, location) for i in indices])

    def store(self, target: "Tile[Any] | TensorSlice[Any]", *arguments: "Operand[Any]") -> None:
        """Stores one element: ``b.store(A.at(i, j), x)`` of a tensor, ``b.store(tile, i, j, x)`` of a
        tile. ``b.store(tile, expression)`` writes a shared tile from registers."""
        location = at()
        if not arguments:
            fail("a store without a value", "use b.store(A.at(i, j), x)", at=location)
        *indices, value = arguments
        if isinstance(target, TensorSlice):
            target.tensor._writable(location)
            if indices:
                fail("a store to a slice of a tensor has one value", "use b.store(A.at(i, j), x)", at=location)
            stored = as_scalar(value, target.tensor.element, location)
            record.store(stored, target.tensor.ref, refs(list(target.offsets)), len(target.offsets), location)
            return
        to = tile(target, "the target of store", location)
        if not indices and len(to.shape) == 2:
            self._set(to, value, location)
            return
        found = self._indices(to, indices, location)
        record.store(as_scalar(value, to.element, location), to.ref, found, len(indices), location)

    def atomic(self, kind: "Atomic | Reduction", target: "Tile[Any] | TensorSlice[Any]", *arguments: "Operand[Any]") -> Value[Any]:
        """Atomically updates one element with Add, AtomicMax, AtomicMin or Exchange and returns its old
        value: ``b.atomic(pl.Add, A.at(i), x)``, ``b.atomic(pl.Add, tile, i, x)``."""
        location = at()
        number = {Sum: 4, Max: 2, Min: 3}.get(kind) if isinstance(kind, Reduction) else kind
        if not isinstance(kind, (Atomic, Reduction)) or number is None:
            fail(f"{kind!r} is not a kind of atomic update", "kinds are pl.Add, pl.AtomicMax, pl.AtomicMin, pl.Exchange",
                 at=location)
        if not arguments:
            fail("an atomic update without a value", "use b.atomic(pl.Add, A.at(i), x)", at=location)
        *indices, value = arguments
        if isinstance(target, TensorSlice):
            tensor = target.tensor
            tensor._writable(location)
            found, count = refs(list(target.offsets)), len(target.offsets)
            element, memory = tensor.element, tensor.ref
        else:
            to = tile(target, "the target of an atomic update", location, 1)
            found, count, element, memory = self._indices(to, indices, location), len(indices), to.element, to.ref
        ref = record.atomic(number, as_scalar(value, element, location), memory, found, count, location)
        return Computed(ref, element)

    def bind(self, name: str, value: "Operand[T]") -> Value[T]:
        """Names a scalar, for messages and schedules."""
        location = at()
        found = operand(value, location)
        return Computed(record.bind(found.ref, name.encode(), location), found.element)

    # ---- loops, conditions, statements

    def range(self, *bounds: "Operand[Any]", unroll: int = -1) -> Loop:
        """Loop over [0, end), or [begin, end) in steps: ``for i in b.range(n)``. The body is recorded
        once. `unroll`: factor; 1 disables unrolling, 0 unrolls fully, -1 leaves it to the compiler."""
        location = at()
        if not 1 <= len(bounds) <= 3:
            fail(f"a range with {len(bounds)} bounds", "use b.range(end), b.range(begin, end) or "
                 "b.range(begin, end, step)", at=location)
        begin, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        found = [as_index(x, location) for x in (begin, end, step)]
        return Loop(_native.Loop(*found, unroll), location)

    def pipelined(self, count: "Operand[Any]", num_stages: int = 0, *, stage: Sequence[int] = (),
                  order: Sequence[int] = (), async_stages: Sequence[int] = (), async_producers: Sequence[int] = (),
                  async_producer_groups: Sequence[int] = (), form: Form = Form.Automatic,
                  schedule: Schedule = Schedule.Inferred, solver_seconds: int = 10) -> Loop:
        """Software-pipelined loop over [0, count). `num_stages`: depth, or Auto. `stage` and `order`
        state a schedule: one entry for each statement, in source order."""
        location = at()
        solver = 0 if schedule is Schedule.Inferred else solver_seconds if solver_seconds > 0 else -1
        lists = [stage, order, async_stages, async_producers, async_producer_groups]
        arrays = [(ctypes.c_int32 * len(x))(*x) for x in lists]
        found = [as_index(x, location) for x in (0, count, 1)]
        loop = _native.Loop(*found, -1, 1, num_stages, solver, form.value, *arrays, *map(len, lists))
        return Loop(loop, location, arrays)

    def when(self, condition: "Operand[boolean]") -> Scope:
        """``with b.when(c):`` runs the body if a run-time condition is true."""
        return when(condition, at())

    def otherwise(self) -> Scope:
        """``with b.otherwise():`` directly after the body of ``with b.when(c):`` is its else branch."""
        location = at()
        return Scope("condition", location, lambda: record.open_otherwise(location))

    def statement(self, name: str, *, role: str = "") -> Scope:
        """Groups operations into one statement of a schedule. `role`: the warp role that executes it in
        a pipelined loop on GPUs."""
        location = at()
        return Scope("statement", location, lambda: record.open_statement(name.encode(), role.encode(), location))

    def parallel(self, *shape: int) -> Scope:
        """``with b.parallel(8, 8) as (i, j):`` runs the body for every element of a shape. The body
        works on single elements."""
        location = at()
        checked = extents(shape, location)
        if not 1 <= len(checked) <= 2:
            fail(f"parallel over {len(checked)} dimensions", "it takes one or two extents", at=location)
        result = refs([0] * len(checked))

        def indices() -> Any:
            found = tuple(Computed(ref, index_t) for ref in result)
            return found[0] if len(found) == 1 else found

        return Scope("parallel body", location, lambda: record.open_parallel(_native.ints(checked), len(checked), result, location),
                     indices)

    def wait(self, *names: str, lag: int = 0) -> None:
        """Waits for asynchronous operations by name. `lag`: iterations between their issue and this
        wait."""
        texts = (ctypes.c_char_p * len(names))(*[name.encode() for name in names])
        record.wait(texts, len(names), lag, at())

    # ---- kernels that overlap

    def wait_for_previous(self) -> None:
        """Waits until the previous kernel in the stream has completed and its writes are visible.
        Returns immediately if the launch does not overlap it."""
        record.wait_for_previous(at())

    def launch_dependents(self) -> None:
        """Allows the next kernel in the stream to start, if its launch overlaps this one, as soon as
        all blocks have called this or exited."""
        record.launch_dependents(at())

    # ---- explicit control of a GPU

    def threads(self, count: int) -> None:
        """Sets the number of threads per block, a multiple of 32."""
        record.threads(count, at())

    def pair(self) -> Index:
        """Runs blocks as CTA pairs, on Blackwell. Returns the rank of this block in its pair."""
        return Computed(record.pair(at()), index_t)

    def cluster(self, blocks: int) -> Index:
        """Launches clusters of blocks, which can access each other's barriers and shared memory.
        Returns the rank of this block."""
        return Computed(record.cluster(blocks, at()), index_t)

    def cluster_sync(self) -> None:
        """Barrier for all threads of the cluster or pair."""
        record.cluster_sync(at())

    def warps(self, first: int, count: int) -> Scope:
        """Runs the body on warps [first, first + count)."""
        location = at()
        return Scope("scope of warps", location, lambda: record.open_warps(first, count, location))

    def warp(self, number: int) -> Scope:
        """Runs the body on one warp."""
        location = at()
        return Scope("scope of a warp", location, lambda: record.open_warps(number, 1, location))

    def elect_one(self) -> Scope:
        """Runs the body on one thread of the scope."""
        location = at()
        return Scope("scope of one thread", location, lambda: record.open_elect(location))

    def loop_while(self, condition: "Callable[[], Operand[boolean]]") -> Scope:
        """``with b.loop_while(lambda: v < 3):``; the condition is evaluated before each iteration."""
        location = at()

        def open() -> int:
            scope: int = record.open_while(location)
            scopes = current().scopes
            scopes.append(scope)
            ref = as_scalar(condition(), boolean, location)
            scopes.pop()
            record.open_while_body(scope, ref, location)
            return scope

        return Scope("loop", location, open)

    def sync(self) -> None:
        """Barrier for all threads of the scope."""
        record.sync(at())

    def warp_sync(self) -> None:
        """Barrier for the threads of each warp of the scope."""
        record.warp_sync(at())

    # ---- looking inside

    def print(self, text: str, *values: Value[Any]) -> None:
        """Prints a text with scalars and tiles while the kernel runs, for debugging."""
        location = at()
        found = [value.ref if isinstance(value, Tile) else operand(value, location).ref for value in values]
        record.print(text.encode(), refs(found), len(found), location)

    def require(self, condition: "Operand[boolean]", message: str) -> None:
        """Checks a condition while the kernel runs. A violation is a launch fault."""
        location = at()
        record.require(as_scalar(condition, boolean, location), message.encode(), location)


class EndedBlock(Block):
    """A block whose kernel has been recorded: every use is an error."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        stray()
