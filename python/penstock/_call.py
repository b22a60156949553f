"""Launches. tvm_ffi converts the tensors of all frameworks in C and calls libpenstock.so.

It is imported with the first kernel that is compiled: it imports torch if that is installed.
"""

from __future__ import annotations

import ctypes

import tvm_ffi

from ._errors import Error
from ._library import lib, take_diagnostics


def _function(name: str) -> tvm_ffi.Function:
    address = ctypes.cast(getattr(lib, "__tvm_ffi_penstock_" + name), ctypes.c_void_p).value
    assert address
    return tvm_ffi.Function.__from_extern_c__(address, keep_alive_object=lib)


launch = _function("launch")
launch_with = _function("launch_with")


def _use_current_stream() -> None:
    """Kernels on a GPU run on the stream that tvm_ffi takes from the tensors' framework."""
    try:
        function = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi()).TVMFFIEnvGetStream
    except (AttributeError, OSError) as error:
        raise ImportError(f"this version of apache-tvm-ffi gives no streams: {error}") from error
    _function("set_stream_function")(ctypes.cast(function, ctypes.c_void_p).value)


_use_current_stream()


def raise_error(handle: int) -> None:
    """Raises the diagnostics that a launch returned."""
    if handle == -1:
        raise MemoryError("no memory for the diagnostics of a launch")
    text, found = take_diagnostics(handle)
    raise Error(text, found)
