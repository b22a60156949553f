"""Memory on a GPU for programs without a framework, e.g. on the emulated driver.

    x = penstock.gpu.array(numpy_array)   # a DLPack tensor of device type kDLCUDA
    kernel(x, y)
    y.numpy()
"""

from __future__ import annotations

import ctypes
import math
from ctypes import byref, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Sequence

import numpy as np

from ._library import check, lib

_CUDA = 2


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
        ("bits", c_uint8), ("lanes", c_uint16), ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)), ("byte_offset", c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]
_CapsuleDestructor = ctypes.CFUNCTYPE(None, c_void_p)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, _CapsuleDestructor]
_valid = ctypes.pythonapi.PyCapsule_IsValid
_valid.restype, _valid.argtypes = ctypes.c_int, [c_void_p, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [c_void_p, ctypes.c_char_p]

_exported: dict[int, tuple[Any, ...]] = {}  # what capsules refer to, until their deleters run


@_Deleter
def _delete(managed: Any) -> None:
    _exported.pop(ctypes.addressof(managed.contents), None)


@_CapsuleDestructor
def _destroy(capsule: Any) -> None:
    if _valid(capsule, b"dltensor"):  # the tensor was not taken
        _exported.pop(_pointer(capsule, b"dltensor"), None)


_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class Array:
    """Contiguous array on a GPU."""

    def __init__(self, shape: Sequence[int], dtype: Any, gpu: int = 0):
        self.shape, self.dtype, self.gpu = tuple(int(n) for n in shape), np.dtype(dtype), gpu
        if self.dtype.kind not in _CODES:
            raise TypeError(f"arrays of {self.dtype} are not supported; pass the bits as an integer type")
        memory = c_void_p()
        check(lib.penstock_gpu_allocate, gpu, max(1, self.nbytes), byref(memory))
        self._memory = memory.value

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * int(self.dtype.itemsize)

    def numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Waits for kernels on the default stream, and copies to the host. Raises faults of kernels."""
        synchronize()
        result = np.empty(self.shape, self.dtype)
        check(lib.penstock_gpu_download, self.gpu, result.ctypes.data, self._memory, self.nbytes)
        return result

    def upload(self, data: Any) -> "Array":
        host = np.ascontiguousarray(data, self.dtype)
        if host.shape != self.shape:
            raise ValueError(f"an array of shape {host.shape} does not fit one of shape {self.shape}")
        check(lib.penstock_gpu_upload, self.gpu, self._memory, host.ctypes.data, self.nbytes)
        return self

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self.gpu

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        managed = _Managed()
        shape = (c_int64 * max(1, len(self.shape)))(*self.shape)
        managed.tensor = _Tensor(self._memory, _CUDA, self.gpu, len(self.shape), _CODES[self.dtype.kind],
                                 self.dtype.itemsize * 8, 1, shape, None, 0)
        managed.deleter = _delete
        address = ctypes.addressof(managed)
        _exported[address] = (managed, shape, self)
        return _new(address, b"dltensor", _destroy)

    def __repr__(self) -> str:
        return f"<penstock.gpu array {self.shape} {self.dtype} on GPU {self.gpu}>"

    def __del__(self) -> None:
        if lib is not None and getattr(self, "_memory", None):
            lib.penstock_gpu_release(self.gpu, self._memory)


def array(data: Any, gpu: int = 0) -> Array:
    """Copies a numpy array to a GPU."""
    host = np.asarray(data)
    return Array(host.shape, host.dtype, gpu).upload(host)


def empty(shape: Sequence[int], dtype: Any = np.float32, gpu: int = 0) -> Array:
    return Array(shape, dtype, gpu)


def count() -> int:
    """Number of GPUs; 0 without a driver."""
    return int(lib.penstock_gpu_count())


def synchronize(stream: int = 0) -> None:
    """Waits for a stream; raises penstock.Error for faults of kernels on it."""
    check(lib.penstock_synchronize, stream or None)
