# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, modules and launches on numpy arrays."""

import copy
import ctypes
import difflib
import operator
import struct

import numpy

from ._library import (EmulatorError, KernelFields, LaunchFields, MutantFields, StepFields, TensorMapFields, library,
                       sized)
from .report import MutantReport, Report


class Buffer:
    """Device memory."""

    def __init__(self, device, bytes, name=""):
        self.device, self.bytes = device, bytes
        self.address = library().alloc(device.handle, bytes, name.encode())
        if not self.address:
            raise EmulatorError(f"no memory for {bytes} bytes")

    def write(self, array):
        data = numpy.ascontiguousarray(array)
        if data.nbytes > self.bytes or library().write(self.device.handle, self.address, data.ctypes.data, data.nbytes):
            raise EmulatorError(f"{data.nbytes} bytes do not fit into a buffer of {self.bytes}")

    def read(self, shape, dtype):
        data = numpy.empty(shape, dtype)
        if data.nbytes > self.bytes or library().read(self.device.handle, data.ctypes.data, self.address, data.nbytes):
            raise EmulatorError(f"{data.nbytes} bytes are more than the buffer's {self.bytes}")
        return data


class Output:
    """An array that a kernel only writes: its memory is not initialized, and reads before writes are found."""

    def __init__(self, array):
        self.array = array


# CUtensorMapDataType
DATA_TYPES = {"uint8": 0, "int8": 0, "bool": 0, "uint16": 1, "int16": 1, "uint32": 2, "int32": 3, "uint64": 4,
              "int64": 5, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9}


class TensorMap:
    """A tiled tensor map of an array, with the values of cuTensorMapEncodeTiled.

    `box` has the dimensions in the order of the array's, the innermost last. `swizzle` is 0, 32, 64 or 128 bytes.
    """

    SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}

    def __init__(self, array, box, swizzle=0, fill=0, data_type=None, shape=None, strides=None):
        self.array, self.box, self.swizzle, self.fill = array, tuple(box), swizzle, fill
        self.data_type = DATA_TYPES[array.dtype.name] if data_type is None else data_type
        self.shape = tuple(array.shape if shape is None else shape)
        self.strides = tuple(array.strides if strides is None else strides)

    def encode(self, address):
        fields = sized(TensorMapFields)
        rank = len(self.shape)
        fields.data_type, fields.rank, fields.address = self.data_type, rank, address
        for d in range(rank):
            fields.dims[d] = self.shape[rank - 1 - d]
            fields.box[d] = self.box[rank - 1 - d]
            fields.element_strides[d] = 1
            if d:
                fields.strides[d - 1] = self.strides[rank - 1 - d]
        fields.swizzle, fields.fill = self.SWIZZLES[self.swizzle], self.fill
        made = ctypes.create_string_buffer(128)
        if problem := library().encode(ctypes.byref(fields), made):
            raise EmulatorError("tensor map: " + problem.decode())
        return made.raw


class Device:
    """Memory and modules. Arrays are copied to it for a launch and back afterwards."""

    def __init__(self):
        self.handle = library().device_create()
        if not self.handle:
            raise EmulatorError("no memory for a device")

    def __del__(self):
        if getattr(self, "handle", None):
            library().device_destroy(self.handle)
            self.handle = None

    def alloc(self, bytes, name=""):
        return Buffer(self, bytes, name)

    def upload(self, array, name=""):
        buffer = Buffer(self, max(1, array.nbytes), name)
        buffer.write(array)
        return buffer

    def load(self, ptx, name="module.ptx"):
        return Module(self, ptx, name)


def triple(sizes, rest=1):
    """The sizes of a grid, a block or a cluster in all three dimensions."""
    try:
        sizes = (operator.index(sizes),) if hasattr(sizes, "__index__") else tuple(operator.index(each) for each in sizes)
    except TypeError:
        what = "a function" if callable(sizes) else repr(sizes)
        raise EmulatorError(f"{what} is not the size of a grid or block: expected 1 to 3 numbers") from None
    if not 1 <= len(sizes) <= 3:
        raise EmulatorError(f"{sizes} is not the size of a grid or block: expected 1 to 3 numbers")
    return sizes + (rest,) * (3 - len(sizes))


def known_names(word, names, most=12):
    """Names that `word` may have been meant to be, close ones first. C++ names are mangled."""
    near = [name for name in names if word and word in name]
    near += [name for name in difflib.get_close_matches(word, names, most) if name not in near]
    shown = (near + [name for name in names if name not in near])[:most]
    quoted = ", ".join(f"`{name}`" for name in shown) + (f" and {len(names) - most} more" if len(names) > most else "")
    if not names:
        return "there are none"
    if not near:
        return f"known are {quoted}"
    return f"did you mean `{near[0]}`?" + (f" Known are {quoted}" if len(names) > 1 else "")


class Module:
    """PTX that is loaded. `kernels` names its kernels, `report` has the warnings."""

    def __init__(self, device, ptx, name):
        self.device, self.name = device, name
        text = ptx.encode() if isinstance(ptx, str) else bytes(ptx)
        report = ctypes.c_void_p()
        self.handle = library().load(device.handle, text, len(text), name.encode(), ctypes.byref(report))
        self.report = Report(report.value)
        if not self.handle:
            raise EmulatorError(self.report.render(notes=True) or "the PTX cannot be loaded")
        self.kernels = [library().kernel_name(self.handle, i).decode()
                        for i in range(library().kernel_count(self.handle))]

    @property
    def target(self):
        return library().target(self.handle).decode()

    def parameters(self, kernel):
        """Offset and size of each parameter."""
        info = sized(KernelFields)
        if library().kernel_info(self.handle, kernel.encode(), ctypes.byref(info)):
            raise EmulatorError(f"{self.name} has no kernel `{kernel}`; " + known_names(kernel, self.kernels))
        found = []
        for i in range(info.parameters):
            offset, size = ctypes.c_uint32(), ctypes.c_uint32()
            library().parameter(self.handle, kernel.encode(), i, ctypes.byref(offset), ctypes.byref(size))
            found.append((offset.value, size.value))
        return found, info

    def prepare(self, kernel, grid, block, args, shared=0, cluster=None, names=None, uploads=None):
        """Copies arguments to the device; returns the launch, and arrays with their buffers.

        `uploads` has arrays that earlier kernels of a sequence have copied.
        """
        parameters, info = self.parameters(kernel)
        if len(args) != len(parameters):
            raise EmulatorError(f"{kernel} has {len(parameters)} parameters and got {len(args)} arguments")
        block = block or tuple(info.threads)
        packed = bytearray(info.parameter_bytes)
        uploads = {} if uploads is None else uploads

        def address(array, name, initialized=True):
            if id(array) not in uploads:
                buffer = self.device.upload(array, name) if initialized else Buffer(self.device, array.nbytes, name)
                uploads[id(array)] = (array, buffer)
            return uploads[id(array)][1].address

        for i, (value, (offset, size)) in enumerate(zip(args, parameters)):
            name = names[i] if names else f"argument {i}"
            data = bytes_of(value, size, lambda array, *how: address(array, name, *how))
            if len(data) != size:
                raise EmulatorError(f"{name} of {kernel} has {len(data)} bytes; the parameter has {size}")
            packed[offset:offset + size] = data
        launch = sized(LaunchFields)
        launch.grid[:], launch.block[:] = triple(grid), triple(block)
        launch.cluster[:] = triple(cluster) if cluster else (0, 0, 0)
        launch.dynamic_shared = shared
        raw = (ctypes.c_uint8 * max(1, len(packed))).from_buffer_copy(packed or b"\0")
        launch.parameters, launch.parameter_bytes = ctypes.addressof(raw), len(packed)
        launch.storage = raw  # lives as long as the launch
        return launch, list(uploads.values())

    def launch(self, kernel, grid, block, args, shared=0, cluster=None, timing="eager", checks=True, threads=0,
               max_instructions=0, names=None):
        """Runs a kernel. Arrays are pointers to their copies; what the kernel writes is copied back."""
        launch, uploads = self.prepare(kernel, grid, block, args, shared, cluster, names)
        launch.unchecked, launch.threads = not checks, threads
        launch.max_instructions = max_instructions
        launch.timing = timing.encode()
        handle = library().run(self.device.handle, self.handle, kernel.encode(), ctypes.byref(launch))
        if not handle:
            raise EmulatorError("no memory for the launch")
        report = Report(handle)
        for array, buffer in uploads:
            if array.flags.writeable:
                array[...] = buffer.read(array.shape, array.dtype)
            library().free(self.device.handle, buffer.address)
        return report


    def mutate(self, kernel, grid, block, args, shared=0, cluster=None, timings=4, names=None):
        """Runs the kernel without each of its synchronizing instructions. The report has the mutants that are not
        detected, and synchronization that is never executed. Arrays are not changed."""
        launch, uploads = self.prepare(kernel, grid, block, args, shared, cluster, names)
        counts = sized(MutantFields)
        handle = library().mutate(self.device.handle, self.handle, kernel.encode(), ctypes.byref(launch), timings,
                                  ctypes.byref(counts))
        if not handle:
            raise EmulatorError("no memory for the launch")
        for _, buffer in uploads:
            library().free(self.device.handle, buffer.address)
        return MutantReport(handle, counts)


def bytes_of(value, size, address):
    """An argument as the bytes of a parameter."""
    if isinstance(value, numpy.ndarray):
        return struct.pack("<Q", address(value))
    if isinstance(value, Output):
        return struct.pack("<Q", address(value.array, False))
    if isinstance(value, Buffer):
        return struct.pack("<Q", value.address)
    if isinstance(value, TensorMap):
        return value.encode(address(value.array))
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, numpy.generic):
        return value.tobytes()
    if isinstance(value, bool):
        return int(value).to_bytes(size, "little")
    if isinstance(value, int):
        return (value % (1 << 8 * size)).to_bytes(size, "little")
    if isinstance(value, float):
        if size not in (2, 4, 8):
            raise EmulatorError(f"a float for a parameter of {size} bytes")
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
    raise EmulatorError(f"{type(value).__name__} is not an argument: expected an array, a number, a Buffer, a TensorMap "
                        "or bytes")


def timing_list(timings):
    """Names of timings: those given, or that many, eager and lazy first and then random ones."""
    if not isinstance(timings, int):
        return [timings] if isinstance(timings, str) else list(timings)
    return (["eager", "lazy"] + [f"random:{seed}" for seed in range(2, timings)])[:timings]


def copied(values):
    """Arguments with arrays of their own; an array that several use is copied once."""
    copies = {}

    def copy_of(array):
        return copies.setdefault(id(array), array.copy())

    made = []
    for value in values:
        if isinstance(value, numpy.ndarray):
            value = copy_of(value)
        elif isinstance(value, Output):
            value = Output(copy_of(value.array))
        elif isinstance(value, TensorMap):
            value = copy.copy(value)
            value.array = copy_of(value.array)
        made.append(value)
    return made


def check(ptx, kernel=None, grid=1, block=None, args=(), shared=0, cluster=None, timings=4, threads=0, name="module.ptx",
          names=None, max_instructions=0):
    """Runs a kernel in several timings, each on the same arguments, and returns what all of them found.

    Arrays have the results of the first timing afterwards.
    """
    before = copied(args)
    merged = None
    for timing in timing_list(timings):
        used = args if merged is None else copied(before)
        module = Device().load(ptx, name)
        report = module.launch(kernel or module.kernels[0], grid, block, used, shared, cluster, timing,
                               threads=threads, names=names, max_instructions=max_instructions)
        if merged is None:
            merged = report
        else:
            merged.merge(report)
    return merged


def check_overlapping(launches, timings=4, threads=0, max_instructions=0):
    """Runs consecutive kernels of a stream in several timings; returns what all of them found.

    Each launch is a dict of the arguments of `check`, beginning with `ptx`; `launch_of` of an adapter makes one. Each kernel
    after the first overlaps the one before it, as with programmatic dependent launch: only griddepcontrol.wait orders
    their accesses. An array that several launches have is the same memory. Arrays have the results of the first timing.
    """
    if not launches:
        raise EmulatorError("there are no launches")
    before = copied([value for launch in launches for value in launch["args"]])
    merged = None
    for timing in timing_list(timings):
        device, uploads, kept = Device(), {}, []
        values = iter(copied(before))
        steps = (StepFields * len(launches))()
        for step, launch in zip(steps, launches):
            args = launch["args"] if merged is None else [next(values) for _ in launch["args"]]
            module = device.load(launch["ptx"], launch.get("name", "module.ptx"))
            kernel = launch.get("kernel") or module.kernels[0]
            fields, _ = module.prepare(kernel, launch.get("grid", 1), launch.get("block"), args, launch.get("shared", 0),
                                       launch.get("cluster"), launch.get("names"), uploads)
            fields.timing, fields.threads, fields.max_instructions = timing.encode(), threads, max_instructions
            step.module, step.kernel, step.launch = module.handle, kernel.encode(), ctypes.pointer(fields)
            kept.append((module, fields, args))
        handle = library().run_overlapping(device.handle, steps, len(launches))
        if not handle:
            raise EmulatorError("no memory for the launches")
        report = Report(handle)
        if merged is None:
            merged = report
            for array, buffer in uploads.values():
                if array.flags.writeable:
                    array[...] = buffer.read(array.shape, array.dtype)
        else:
            merged.merge(report)
    return merged


def mutate(ptx, kernel=None, grid=1, block=None, args=(), shared=0, cluster=None, timings=4, name="module.ptx", names=None):
    """Runs a kernel without each of its synchronizing instructions; returns a MutantReport."""
    module = Device().load(ptx, name)
    return module.mutate(kernel or module.kernels[0], grid, block, args, shared, cluster, timings, names)
