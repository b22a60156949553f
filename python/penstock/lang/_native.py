"""The functions of record_c.h through ctypes.

Recording functions are called with the GIL held (PyDLL): each takes about a microsecond, and
releasing the GIL would cost as much.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from .. import _library

Ref = At = Handle = c_uint64
Refs = POINTER(c_uint64)
Ints = POINTER(c_int64)


class ArgumentSpec(Structure):
    _fields_ = [("tensor", c_int32), ("element", c_int32), ("rank", c_int32), ("access", c_int32)]


class Field(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p), ("type", c_char)]


class Axis(Structure):
    _fields_ = [
        ("fields", POINTER(c_char_p)), ("field_count", c_size_t), ("values", POINTER(c_char_p)),
        ("value_count", c_size_t),
    ]


RECORD = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_char_p), c_uint32, POINTER(c_uint64))
ADMITS = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_char_p))
RELEASE = ctypes.CFUNCTYPE(None, c_void_p)


class Definition(Structure):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("signature", c_char_p), ("flops", c_char_p), ("at", At),
        ("arguments", POINTER(ArgumentSpec)), ("argument_count", c_size_t), ("fields", POINTER(Field)),
        ("field_count", c_size_t), ("axes", POINTER(Axis)), ("axis_count", c_size_t), ("classes", c_char_p),
        ("record", RECORD), ("admits", ADMITS), ("context", c_void_p), ("release", RELEASE),
    ]


class Box(Structure):
    _fields_ = [("memory", Ref), ("offsets", Refs), ("count", c_size_t), ("dims", Ints), ("dim_count", c_size_t)]


class Loop(Structure):
    _fields_ = [
        ("begin", Ref), ("end", Ref), ("step", Ref), ("unroll", c_int32), ("pipelined", c_int32),
        ("num_stages", c_int32), ("solver_seconds", c_int32), ("form", c_char_p),
        *((name, POINTER(c_int32)) for name in (
            "stage", "order", "async_stages", "async_producers", "async_producer_groups")),
        *((name, c_size_t) for name in (
            "stage_count", "order_count", "async_stage_count", "async_producer_count", "async_producer_group_count")),
    ]


class Barrier(Structure):
    _fields_ = [("barriers", Ref), ("index", Ref)]


_I, _L, _S, _Z = c_int32, c_int64, c_char_p, c_size_t
_BOX = POINTER(Box)

#: Name without "penstock_record_": result and parameters before the location, which comes last.
_RECORDING: dict[str, tuple[Any, list[Any]]] = {
    "integer": (Ref, [_I, _L]),
    "real": (Ref, [_I, c_double]),
    "unary": (Ref, [_I, Ref]),
    "binary": (Ref, [_I, _I, Ref, Ref]),
    "select": (Ref, [Ref, Ref, Ref]),
    "convert": (Ref, [Ref, _I, _I]),
    "bind": (Ref, [Ref, _S]),
    "elements": (Ref, [Ref, _I]),
    "element_index": (Ref, [_I]),
    "divmod": (None, [Ref, Ref, Refs]),
    "allocate": (Ref, [_I, _I, Ints, _Z, _I, _S]),
    "name": (None, [Ref, _S]),
    "size": (Ref, [Ref, _I]),
    "slice": (Ref, [Ref, Refs, Ints, _Z, _I]),
    "transpose": (Ref, [Ref]),
    "as_matrix": (Ref, [Ref]),
    "load": (Ref, [Ref, Refs, _Z]),
    "store": (None, [Ref, Ref, Refs, _Z]),
    "atomic": (Ref, [_I, Ref, Ref, Refs, _Z]),
    "copy": (None, [_BOX, _BOX, Ref, _S]),
    "refuse_fill": (None, []),
    "fill": (None, [Ref, Ref]),
    "gemm": (None, [Ref, Ref, Ref, Ref, Ref, _I, _I, _I, _S]),
    "reduce": (None, [_I, Ref, _I, Ref, _I]),
    "unpack": (None, [Ref, _I, Ref]),
    "assign": (None, [Ref, Ref]),
    "wait": (None, [POINTER(c_char_p), _Z, _I]),
    "wait_for_previous": (None, []),
    "launch_dependents": (None, []),
    "print": (None, [_S, Refs, _Z]),
    "require": (None, [Ref, _S]),
    "grid": (None, [Refs, _Z, _L, Refs]),
    "prefer": (None, [Ints, _Z, _I, _I]),
    "open_loop": (Handle, [POINTER(Loop), Refs]),
    "open_condition": (Handle, [Ref]),
    "open_otherwise": (Handle, []),
    "open_statement": (Handle, [_S, _S]),
    "open_parallel": (Handle, [Ints, _Z, Refs]),
    "threads": (None, [_L]),
    "pair": (Ref, []),
    "cluster": (Ref, [_L]),
    "cluster_sync": (None, []),
    "open_warps": (Handle, [_L, _L]),
    "open_elect": (Handle, []),
    "open_while": (Handle, []),
    "open_while_body": (None, [Handle, Ref]),
    "sync": (None, []),
    "warp_sync": (None, []),
    "named_barrier": (Ref, [_L, _S]),
    "meet": (None, [Ref, _I]),
    "registers": (None, [_L, _I]),
    "proxy_fence": (None, []),
    "barriers": (Ref, [Ints, _Z, _S]),
    "arrive": (None, [Barrier, Ref, Ref, _I, _I]),
    "barrier_wait": (None, [Barrier, Ref, _I, _I]),
    "try_wait": (Ref, [Barrier, Ref, _I, _L]),
    "tma_load": (None, [_BOX, Ref, Barrier, Ref, _I, _I]),
    "tma_store": (None, [Ref, _BOX, _I, _I]),
    "async_copy": (None, [_BOX, Ref, _L, _I]),
    "async_arrive": (None, [Barrier]),
    "group": (None, [_I]),
    "wait_group": (None, [_I, _L, _I]),
    "clc_request": (None, [Ref, Barrier]),
    "clc_answer": (None, [Ref, Refs]),
    "tensor_alloc": (Ref, [_I, Ints, _Z, _S]),
    "tensor_dealloc": (None, [Ref]),
    "mma": (None, [_I, Ref, Ref, Ref, Ref]),
    "scaled_mma": (None, [Ref, Ref, Ref, Ref, Ref, _I, _I, Ref]),
    "commit": (None, [Barrier, Ref]),
    "tensor_load": (Ref, [Ref, _S]),
    "tensor_store": (None, [Ref, Ref]),
    "tensor_copy": (None, [Ref, Ref]),
}

_library_with_gil = ctypes.PyDLL(_library.path())


class _Record:
    """`record.binary(..)` calls `penstock_record_binary`."""

    close: Any
    abandon: Any
    error: Any

    def __init__(self) -> None:
        for name, (result, arguments) in _RECORDING.items():
            self._declare(name, result, [*arguments, At])
        self._declare("close", None, [Handle])
        self._declare("abandon", None, [Handle])
        self._declare("error", c_int, [c_uint32, c_char_p, c_char_p, At])

    def _declare(self, name: str, result: Any, arguments: list[Any]) -> None:
        function = getattr(_library_with_gil, "penstock_record_" + name)
        function.restype, function.argtypes = result, arguments
        setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for type checkers; all functions are attributes
        raise AttributeError(name)


record = _Record()

source_file = _library_with_gil.penstock_source_file
source_file.restype, source_file.argtypes = c_uint32, [c_char_p]
add_source = _library_with_gil.penstock_add_source
add_source.restype, add_source.argtypes = None, [c_char_p, c_char_p]
define = _library.lib.penstock_define
define.restype, define.argtypes = c_int, [POINTER(Definition), POINTER(c_void_p), POINTER(c_void_p)]
read_signature = _library.lib.penstock_read_signature
read_signature.restype, read_signature.argtypes = c_int, [c_char_p, POINTER(c_void_p), POINTER(c_void_p)]
print_program = _library.lib.penstock_print_program
print_program.restype = c_int
print_program.argtypes = [
    c_void_p, c_char_p, POINTER(_library.CompileOptions), POINTER(c_void_p), POINTER(c_void_p)]


def refs(values: "list[int]") -> Any:
    """A C array of references."""
    return (c_uint64 * len(values))(*values)


def ints(values: "tuple[int, ...] | list[int]") -> Any:
    return (c_int64 * len(values))(*values)
