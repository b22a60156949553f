# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shared library: its location and the signatures of its functions."""

import ctypes
import os
import pathlib

ABI = 1


class EmulatorError(RuntimeError):
    """A call that the emulator cannot carry out."""


class TensorMapFields(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data_type", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("address", ctypes.c_uint64), ("dims", ctypes.c_uint64 * 5), ("strides", ctypes.c_uint64 * 4),
                ("box", ctypes.c_uint32 * 5), ("element_strides", ctypes.c_uint32 * 5),
                ("interleave", ctypes.c_uint32), ("swizzle", ctypes.c_uint32), ("l2_promotion", ctypes.c_uint32),
                ("fill", ctypes.c_uint32)]


class KernelFields(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("parameters", ctypes.c_uint32), ("parameter_bytes", ctypes.c_uint32),
                ("threads", ctypes.c_uint32 * 3), ("cluster", ctypes.c_uint32 * 3)]


class LaunchFields(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
                ("cluster", ctypes.c_uint32 * 3), ("dynamic_shared", ctypes.c_uint32),
                ("parameters", ctypes.c_void_p), ("parameter_bytes", ctypes.c_size_t), ("timing", ctypes.c_char_p),
                ("unchecked", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("max_instructions", ctypes.c_uint64)]


class StepFields(ctypes.Structure):
    _fields_ = [("module", ctypes.c_void_p), ("kernel", ctypes.c_char_p), ("launch", ctypes.POINTER(LaunchFields))]


class MutantFields(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint32) for name in
                                              ("mutants", "detected", "survivors", "unexecuted", "lines",
                                               "executed_lines")]


class StatsFields(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("instructions", ctypes.c_uint64), ("operations", ctypes.c_uint64),
                ("blocks", ctypes.c_uint64), ("seconds", ctypes.c_double)]


POINTER, TEXT, U32, U64, INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int
SIGNATURES = {
    "abi": (U32,),
    "version": (TEXT,),
    "device_create": (POINTER,),
    "device_destroy": (None, POINTER),
    "alloc": (U64, POINTER, U64, TEXT),
    "free": (INT, POINTER, U64),
    "write": (INT, POINTER, U64, POINTER, U64),
    "read": (INT, POINTER, POINTER, U64, U64),
    "encode": (TEXT, ctypes.POINTER(TensorMapFields), POINTER),
    "load": (POINTER, POINTER, TEXT, ctypes.c_size_t, TEXT, ctypes.POINTER(POINTER)),
    "target": (TEXT, POINTER),
    "kernel_count": (ctypes.c_size_t, POINTER),
    "kernel_name": (TEXT, POINTER, ctypes.c_size_t),
    "kernel_info": (INT, POINTER, TEXT, ctypes.POINTER(KernelFields)),
    "parameter": (INT, POINTER, TEXT, U32, ctypes.POINTER(U32), ctypes.POINTER(U32)),
    "run": (POINTER, POINTER, POINTER, TEXT, ctypes.POINTER(LaunchFields)),
    "run_overlapping": (POINTER, POINTER, ctypes.POINTER(StepFields), ctypes.c_size_t),
    "mutate": (POINTER, POINTER, POINTER, TEXT, ctypes.POINTER(LaunchFields), U32, ctypes.POINTER(MutantFields)),
    "report_destroy": (None, POINTER),
    "report_completed": (INT, POINTER),
    "report_count": (ctypes.c_size_t, POINTER, INT),
    "report_render": (TEXT, POINTER, INT),
    "report_merge": (None, POINTER, POINTER),
    "report_output": (TEXT, POINTER),
    "report_stats": (None, POINTER, ctypes.POINTER(StatsFields)),
}


def candidates():
    """Where the library may be: named by the environment, beside this package, on the loader's path."""
    if named := os.environ.get("PENSTOCK_EMU_LIBRARY"):
        return [named]
    folder = pathlib.Path(__file__).resolve().parent
    found = [str(path) for path in (folder / "libpenstock_emu.so", folder / "lib" / "libpenstock_emu.so")
             if path.exists()]
    return found + ["libpenstock_emu.so.0.1", "libpenstock_emu.so"]


class Library:
    """Functions of the library without their common prefix."""

    def __init__(self):
        problems = []
        for path in candidates():
            try:
                library = ctypes.CDLL(path)
                self.path = path
                break
            except OSError as error:
                problems.append(str(error))
        else:
            raise EmulatorError("libpenstock_emu.so cannot be loaded; PENSTOCK_EMU_LIBRARY may name it:\n  " +
                                "\n  ".join(problems))
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(library, "penstock_emu_" + name, None)
            if function is None:
                raise EmulatorError(f"{self.path} is older than this package: it has no penstock_emu_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        if self.abi() != ABI:
            raise EmulatorError(f"libpenstock_emu.so has version {self.abi()} of the interface; {ABI} is needed")


_library = None


def library():
    global _library
    if _library is None:
        _library = Library()
    return _library


def version():
    return library().version().decode()


def sized(structure):
    """A structure that knows its size."""
    made = structure()
    made.size = ctypes.sizeof(structure)
    return made
