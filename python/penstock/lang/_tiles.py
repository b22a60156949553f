"""Tiles, tensors, and views of them."""

from __future__ import annotations

import math
from typing import Any, Generic, Sequence, TypeVar

from . import _native
from ._elements import Element, index_t
from ._location import at
from ._native import record, refs
from ._recording import fail, stray
from ._values import Index, Operand, Computed, Value, as_expression, as_index, literal

T = TypeVar("T", bound=Element)


class Tile(Value[T]):
    """Tile of the block, or a view of one."""

    __slots__ = ("shape",)

    def __init__(self, ref: int, element: type[T], shape: tuple[int, ...]):
        if not ref:
            stray()
        self.ref = ref
        self.element = element
        self.elementwise = True
        self.scope = 0
        self.shape = shape

    def _operand(self, location: int) -> Value[T]:
        return Computed(record.elements(self.ref, -1, location), self.element, True)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of all elements, e.g. those that a barrier expects of a TMA load."""
        return math.prod(self.shape) * self.element.bytes

    def __getitem__(self, index: "Operand[Any]") -> "Tile[T]":
        """Slice at one index of the first dimension, e.g. one slot of a ring."""
        location = at()
        rank = len(self.shape)
        if rank < 2 or isinstance(index, (tuple, slice_type)):
            fail("`[..]` of a tile takes one index of the first dimension of a tile of rank 2 or more",
                 "load an element with b.load(tile, i), or take a part with pl.slice(tile, offsets, sizes)", at=location)
        zero = literal(0, index_t, location)
        offsets = refs([as_index(index, location), *[zero] * (rank - 1)])
        ref = record.slice(self.ref, offsets, _native.ints((1, *self.shape[1:])), rank, 1, location)
        return Tile(ref, self.element, self.shape[1:])

    def __setitem__(self, index: object, value: object) -> None:
        fail("elements of a tile are not assigned by `tile[i] = x`",
             "use b.set(tile, expression), or b.store(tile, i, x) for one element")

    def named(self, name: str) -> "Tile[T]":
        """Names the tile in messages; default: the name of the variable."""
        record.name(self.ref, name.encode(), at())
        return self

    def __repr__(self) -> str:
        return f"<tile of {self.element.__name__}, {' x '.join(map(str, self.shape))}>"

    def _immutable(self, other: object) -> Any:
        fail("a tile is not assigned by `+=`", "use b.set(tile, tile + x)")

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __iand__ = __ior__ = __ixor__ = _immutable


slice_type = slice


def tile(value: Any, what: str, location: int, *ranks: int) -> Tile[Any]:
    """An argument that must be a tile of one of some ranks."""
    if not isinstance(value, Tile):
        fail(f"{what} is not a tile, but {_kind(value)}",
             "assign an expression to a tile with b.set(tile, expression)" if isinstance(value, Value) else
             "allocate tiles with b.shared(..) and b.local(..)", at=location)
    if ranks and len(value.shape) not in ranks:
        fail(f"{what} has rank {len(value.shape)}", "its rank must be " + " or ".join(map(str, ranks)), at=location)
    return value


def _kind(value: Any) -> str:
    if isinstance(value, Value):
        return f"{'an expression' if value.elementwise else 'a scalar'} of {value.element.__name__}"
    if isinstance(value, (Tensor, TensorSlice)):
        return "a tensor" if isinstance(value, Tensor) else "a slice of a tensor"
    return f"a {type(value).__name__} of Python"


class TensorSlice(Generic[T]):
    """Slice of a tensor that starts at given offsets: source or destination of a tile copy, or one
    element."""

    __slots__ = ("tensor", "offsets", "dimensions")

    def __init__(self, tensor: "Tensor[T]", offsets: Sequence[int], dimensions: Sequence[int] = ()):
        self.tensor, self.offsets, self.dimensions = tensor, offsets, dimensions

    def dims(self, *dimensions: int) -> "TensorSlice[T]":
        """Selects the tensor's dimensions for a tile of lower rank; default: the last ones."""
        if len(dimensions) > self.tensor.rank:
            fail(f"dims() names {len(dimensions)} dimensions of a tensor of rank {self.tensor.rank}")
        return TensorSlice(self.tensor, self.offsets, dimensions)

    def _box(self) -> _native.Box:
        count, dims = len(self.offsets), len(self.dimensions)
        return _native.Box(self.tensor.ref, refs(list(self.offsets)), count, _native.ints(tuple(self.dimensions)), dims)


_READ_ONLY = "this tensor is an In[..]: it is only read"
_WRITE_ONLY = "this tensor is an Out[..]: it is only written"


class Tensor(Generic[T]):
    """Tensor argument of a kernel: the caller's memory with run-time sizes."""

    __slots__ = ("ref", "element", "rank")
    access = -1  #: number of penstock::Access

    def __init__(self, ref: int, element: type[T], rank: int):
        self.ref, self.element, self.rank = ref, element, rank

    def _readable(self, location: int) -> None:
        if self.access == 1:
            fail(_WRITE_ONLY, "declare it as InOut[..]", at=location)

    def _writable(self, location: int) -> None:
        if self.access == 0:
            fail(_READ_ONLY, "declare it as Out[..] or InOut[..]", at=location)

    def size(self, dim: int) -> Index:
        """Size of one dimension."""
        return Computed(record.size(self.ref, dim, at()), index_t)

    @property
    def shape(self) -> tuple[Index, ...]:
        """All sizes: ``M, K = A.shape``."""
        location = at()
        return tuple(Computed(record.size(self.ref, dim, location), index_t) for dim in range(self.rank))

    def _indices(self, what: str, indices: tuple[Any, ...], location: int) -> list[int]:
        if len(indices) != self.rank:
            fail(f"{what} of {len(indices)} ind{'ex' if len(indices) == 1 else 'ices'} in a tensor of rank {self.rank}",
                 "give one for each dimension", at=location)
        return [as_index(i, location) for i in indices]

    def at(self, *offsets: "Operand[Any]") -> TensorSlice[T]:
        """The slice that starts at these offsets. A copy takes its shape from the tile."""
        return TensorSlice(self, self._indices("a slice", offsets, at()))

    def load(self, *indices: "Operand[Any]") -> Value[T]:
        """One element."""
        location = at()
        self._readable(location)
        found = self._indices("a load", indices, location)
        return Computed(record.load(self.ref, refs(found), self.rank, location), self.element)

    def gather(self, *indices: "Operand[Any]") -> Value[T]:
        """The element at computed indices, for each element of the destination tile."""
        location = at()
        self._readable(location)
        if len(indices) != self.rank:
            self._indices("a gather", indices, location)
        found = [as_expression(i, index_t, location) for i in indices]
        return Computed(record.load(self.ref, refs(found), self.rank, location), self.element, True)

    def __getitem__(self, index: object) -> Any:
        fail("tensors are not indexed by `[..]`",
             "use A.at(i, j) for the slice of a copy, A.load(i, j) for one element, A.gather(..) for computed indices")

    def __repr__(self) -> str:
        return f"<tensor of {self.element.__name__}, rank {self.rank}>"


class In(Tensor[T]):
    """Tensor that a kernel reads."""

    __slots__ = ()
    access = 0


class Out(Tensor[T]):
    """Tensor that a kernel writes. It must not overlap other arguments; launches check this."""

    __slots__ = ()
    access = 1


class InOut(Tensor[T]):
    """Tensor that a kernel reads and writes. It must not overlap other arguments."""

    __slots__ = ()
    access = 2


def slice(source: Tile[T], offsets: Sequence["Operand[Any]"], sizes: Sequence[int]) -> Tile[T]:
    """Slice of a tile with a constant shape; offsets may be values of the kernel."""
    location = at()
    source = tile(source, "the source of a slice", location)
    if len(offsets) != len(source.shape) or len(sizes) != len(source.shape):
        fail(f"a slice with {len(offsets)} offsets and {len(sizes)} sizes of a tile of rank {len(source.shape)}",
             "give one of each for each dimension", at=location)
    found = refs([as_index(o, location) for o in offsets])
    ref = record.slice(source.ref, found, _native.ints(extents(sizes, location)), len(sizes), 0, location)
    return Tile(ref, source.element, tuple(sizes))


def extents(shape: Sequence[Any], location: int) -> tuple[int, ...]:
    """Extents of a tile, which are numbers of Python."""
    for extent in shape:
        if not isinstance(extent, int) or isinstance(extent, bool):
            fail(f"an extent of a tile is {'a value of the kernel' if isinstance(extent, Value) else repr(extent)}",
                 "shapes of tiles are known when the kernel is compiled: use an int, e.g. a field of the kernel; "
                 "tiles at the edge of a tensor are clipped by the copy", at=location)
    return tuple(shape)


def transposed(source: Tile[T]) -> Tile[T]:
    """Transposed view of a tile."""
    location = at()
    source = tile(source, "the operand of transposed", location, 2)
    return Tile(record.transpose(source.ref, location), source.element, source.shape[::-1])


def as_matrix(source: Tile[T]) -> Tile[T]:
    """View of a tile as a matrix: all dimensions but the last become its rows."""
    location = at()
    source = tile(source, "the operand of as_matrix", location)
    if len(source.shape) == 2:
        return source
    if len(source.shape) < 2:
        fail("a matrix has two dimensions", at=location)
    shape = math.prod(source.shape[:-1]), source.shape[-1]
    return Tile(record.as_matrix(source.ref, location), source.element, shape)


def _broadcast(source: Any, dim: int, location: int) -> Value[Any]:
    vector = tile(source, "the operand of a broadcast", location)
    if len(vector.shape) != 1:
        fail("a broadcast takes a tile of rank 1",
             "copy a column of a tensor into one with `b.copy(x.at(i, 0).dims(0), v)`, a row with `.dims(1)`", at=location)
    return Computed(record.elements(vector.ref, dim, location), vector.element, True)


def broadcast_rows(vector: Tile[T]) -> Value[T]:
    """v[i] for element (i, j)."""
    return _broadcast(vector, 0, at())


def broadcast_cols(vector: Tile[T]) -> Value[T]:
    """v[j] for element (i, j)."""
    return _broadcast(vector, 1, at())


def row(of: Tile[Any]) -> Index:
    """Row of the current element."""
    return Computed(record.element_index(0, at()), index_t, True)


def col(of: Tile[Any]) -> Index:
    """Column of the current element."""
    location = at()
    if len(tile(of, "the operand of col", location).shape) < 2:
        fail("a tile with columns has at least two dimensions", "use pl.row(tile)", at=location)
    return Computed(record.element_index(1, location), index_t, True)


def index(of: Tile[Any], dim: int) -> Index:
    """Index of the current element along a dimension."""
    return Computed(record.element_index(dim, at()), index_t, True)


