"""Element types of tiles, tensors and scalars.

They are classes, so that ``In[f16]`` and ``Tile[f32]`` are types for type checkers.
"""

from __future__ import annotations

from typing import ClassVar


class Element:
    """Base of the element types; it is not one itself."""

    code: ClassVar[int]  #: number of penstock::Element
    kind: ClassVar[str]  #: "float", "int", "bool" or "packed"
    bytes: ClassVar[int]
    unsigned: ClassVar[bool] = False


class _Float(Element):
    kind = "float"


class _Int(Element):
    kind = "int"


class _Packed(Element):
    kind, bytes = "packed", 1


class f16(_Float):
    """IEEE half precision."""

    code, bytes = 0, 2


class bf16(_Float):
    """bfloat16: the range of f32 with 8 bits of precision."""

    code, bytes = 1, 2


class f32(_Float):
    """IEEE single precision."""

    code, bytes = 2, 4


class f64(_Float):
    """IEEE double precision."""

    code, bytes = 3, 8


class f8e4m3(_Float):
    """8-bit floating point with 4 bits of exponent, without infinities."""

    code, bytes = 4, 1


class f8e5m2(_Float):
    """8-bit floating point with 5 bits of exponent."""

    code, bytes = 5, 1


class boolean(Element):
    """Conditions and masks: `bool` of C++."""

    code, kind, bytes = 6, "bool", 1


class i8(_Int):
    """Signed 8-bit integer."""

    code, bytes = 7, 1


class i16(_Int):
    """Signed 16-bit integer."""

    code, bytes = 8, 2


class i32(_Int):
    """Signed 32-bit integer."""

    code, bytes = 9, 4


class u32(_Int):
    """Unsigned 32-bit integer."""

    code, bytes, unsigned = 9, 4, True


class i64(_Int):
    """Signed 64-bit integer."""

    code, bytes = 10, 8


class index_t(_Int):
    """Sizes, offsets and loop indices inside a kernel."""

    code, bytes = 11, 8


class f8e8m0(_Float):
    """A power of two: the scale of a block of values."""

    code, bytes = 12, 1


class f4e2m1x2(_Packed):
    """Two 4-bit floating-point values in a byte."""

    code = 13


class i4x2(_Packed):
    """Two signed 4-bit integers in a byte."""

    code = 14


class f6e2m3_packed(_Packed):
    """A byte of densely packed 6-bit values with 2 bits of exponent."""

    code = 15


class f6e3m2_packed(_Packed):
    """A byte of densely packed 6-bit values with 3 bits of exponent."""

    code = 16


ALL: tuple[type[Element], ...] = (
    f16, bf16, f32, f64, f8e4m3, f8e5m2, boolean, i8, i16, i32, u32, i64, index_t, f8e8m0, f4e2m1x2, i4x2,
    f6e2m3_packed, f6e3m2_packed)


def widens(source: type[Element], target: type[Element]) -> bool:
    """Implicit conversions of scalars, as in scalar.h: integers to indices and to wider integers,
    and conditions to integers. Never both ways, so that mixed expressions are unambiguous."""
    if source is target or target.kind != "int":
        return False
    if source.kind == "bool":
        return True
    if source.kind != "int" or source is index_t:
        return False
    return target is index_t or source.bytes < target.bytes


def converts_unsigned(source: type[Element], target: type[Element]) -> bool:
    """True if a conversion treats its source or target integer as unsigned."""
    return source.unsigned or (source.kind == "float" and target.unsigned)
