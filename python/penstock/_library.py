"""libpenstock.so and its C interface (penstock_c.h) through ctypes.

Everything but launches is called here; launches go through tvm_ffi (see _call.py), which is
several times as fast.
"""

from __future__ import annotations

import ctypes
import json
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any, Callable, Mapping

from ._errors import Diagnostic, Error, from_json

PACKAGE = os.path.dirname(os.path.abspath(__file__))
C_VERSION = 2


class Setting(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class CompileOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("target", c_char_p), ("fields", POINTER(Setting)), ("field_count", c_size_t),
        ("fixed", POINTER(Setting)), ("fixed_count", c_size_t), ("flags", c_uint32),
    ]


class ReportOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("compile", CompileOptions), ("sizes", POINTER(Setting)), ("size_count", c_size_t),
        ("timings", c_int32),
    ]


class CParameter(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p), ("element", c_char_p), ("tensor", c_int32), ("rank", c_int32), ("written", c_int32),
        ("sizes", POINTER(c_char_p)),
    ]


_FUNCTIONS = {
    "penstock_c_version": (c_uint32, []),
    "penstock_version": (c_char_p, []),
    "penstock_free": (None, [c_void_p]),
    "penstock_diagnostics_text": (c_char_p, [c_void_p]),
    "penstock_diagnostics_json": (c_char_p, [c_void_p]),
    "penstock_diagnostics_free": (None, [c_void_p]),
    "penstock_open": (c_int, [c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "penstock_parse": (c_int, [c_char_p, c_char_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "penstock_library_json": (c_char_p, [c_void_p]),
    "penstock_library_free": (None, [c_void_p]),
    "penstock_compile": (
        c_int, [c_void_p, c_char_p, POINTER(CompileOptions), POINTER(c_void_p), POINTER(c_void_p)]),
    "penstock_load_artifact": (c_int, [c_char_p, c_size_t, POINTER(c_void_p), POINTER(c_void_p)]),
    "penstock_kernel_free": (None, [c_void_p]),
    "penstock_parameter_count": (c_size_t, [c_void_p]),
    "penstock_kernel_parameter": (CParameter, [c_void_p, c_size_t]),
    "penstock_kernel_form": (c_void_p, [c_void_p, c_int, POINTER(c_size_t)]),
    "penstock_synchronize": (c_int, [c_void_p, POINTER(c_void_p)]),
    "penstock_gpu_count": (c_int32, []),
    "penstock_gpu_allocate": (c_int, [c_int32, c_size_t, POINTER(c_void_p), POINTER(c_void_p)]),
    "penstock_gpu_release": (None, [c_int32, c_void_p]),
    "penstock_gpu_upload": (c_int, [c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_void_p)]),
    "penstock_gpu_download": (c_int, [c_int32, c_void_p, c_void_p, c_size_t, POINTER(c_void_p)]),
    "penstock_draw_layout": (c_int, [c_char_p, c_int64, POINTER(c_void_p), POINTER(c_void_p)]),
    "penstock_make_report": (
        c_int, [c_void_p, c_char_p, c_int, POINTER(ReportOptions), POINTER(c_void_p), POINTER(c_void_p)]),
}


def path() -> str:
    """The library: $PENSTOCK_LIBRARY, or the one that this package contains."""
    return os.environ.get("PENSTOCK_LIBRARY") or os.path.join(PACKAGE, "lib", "libpenstock.so.0.1")


def _open() -> ctypes.CDLL:
    solver = os.path.join(os.path.dirname(PACKAGE), "z3", "lib", "libz3.so")  # of the extra `solver`
    if "PENSTOCK_Z3" not in os.environ and os.path.exists(solver):
        os.environ["PENSTOCK_Z3"] = solver
    try:
        opened = ctypes.CDLL(path())
    except OSError as error:
        raise ImportError(f"libpenstock.so cannot be loaded: {error}; set PENSTOCK_LIBRARY to its path") from error
    found = opened.penstock_c_version()
    if found < C_VERSION:
        raise ImportError(f"{path()} has version {found} of the C interface; this package needs {C_VERSION}")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(opened, name)
        function.restype, function.argtypes = result, arguments
    return opened


lib = _open()


def version() -> str:
    """Version of libpenstock.so."""
    text: bytes = lib.penstock_version()
    return text.decode()


def take_diagnostics(handle: int | None) -> tuple[str, list[Diagnostic]]:
    """Text and objects of diagnostics, which are freed."""
    if not handle:
        return "", []
    text = lib.penstock_diagnostics_text(handle).decode()
    found = json.loads(lib.penstock_diagnostics_json(handle))["diagnostics"]
    lib.penstock_diagnostics_free(handle)
    return text, from_json(found)


def check(function: Callable[..., int], *arguments: Any) -> list[Diagnostic]:
    """Calls a function with diagnostics as its last parameter; returns warnings, raises errors."""
    handle = c_void_p()
    failed = function(*arguments, byref(handle))
    text, found = take_diagnostics(handle.value)
    if failed:
        raise Error(text, found)
    return found


def settings(values: Mapping[str, object]) -> tuple[ctypes.Array[Setting], int]:
    """An array of penstock_setting, and its length."""
    array = (Setting * len(values))()
    for entry, (name, value) in zip(array, values.items()):
        entry.name = name.encode()
        entry.value = (str(value).lower() if isinstance(value, bool) else str(value)).encode()
    return array, len(values)


def compile_options(target: str, fields: Mapping[str, object], fix: Mapping[str, int], flags: int) -> CompileOptions:
    named, named_count = settings(fields)
    fixed, fixed_count = settings(fix)
    return CompileOptions(
        ctypes.sizeof(CompileOptions), target.encode(), named, named_count, fixed, fixed_count, flags)


def take_text(handle: int | None, size: int | None = None) -> bytes:
    """Bytes of a text of the interface, which is freed."""
    if not handle:
        return b""
    result = ctypes.string_at(handle, size) if size is not None else ctypes.string_at(handle)
    lib.penstock_free(handle)
    return result
