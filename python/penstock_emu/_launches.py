# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of intercepted kernels: arguments are addresses of host memory, as the program under test passes them.

The allocations that a launch refers to are copied to an emulated device, once for each timing. What the kernel writes in
the first timing is copied back.
"""

import ctypes
import dataclasses
import hashlib
import math
import struct
import time

import numpy

from ._host_memory import Range, Ranges
from ._library import EmulatorError, LaunchFields, TensorMapFields, library, sized
from ._sampling import described, samples
from .device import Device, Module, timing_list, triple
from .report import Report

# The largest integer table that is searched for pointers, in bytes.
POINTER_TABLE = 1 << 20

# Checked instructions take about this many times as long as unchecked ones.
CHECKED = 8


class Unsupported(Exception):
    """A launch that cannot be emulated; the text says why."""


@dataclasses.dataclass
class Pointer:
    """An address of host memory."""
    address: int


@dataclasses.dataclass
class Map:
    """A tensor map of host memory: the fields of cuTensorMapEncodeTiled, the innermost dimension first.

    `strides` are in bytes, and begin with that of the second dimension.
    """
    address: int
    data_type: int
    shape: list
    strides: list
    box: list
    swizzle: int = 0
    fill: int = 0
    interleave: int = 0

    def encode(self, address):
        fields = sized(TensorMapFields)
        fields.data_type, fields.rank, fields.address = self.data_type, len(self.shape), address
        for d, size in enumerate(self.shape):
            fields.dims[d], fields.box[d], fields.element_strides[d] = size, self.box[d], 1
            if d:
                fields.strides[d - 1] = self.strides[d - 1]
        fields.interleave, fields.swizzle, fields.fill = self.interleave, self.swizzle, self.fill
        made = ctypes.create_string_buffer(128)
        if problem := library().encode(ctypes.byref(fields), made):
            raise EmulatorError("tensor map: " + problem.decode())
        return made.raw


@dataclasses.dataclass
class Launch:
    """A launch in terms of the host. `values` has a Pointer, a Map or bytes for each parameter, `names` their names.

    `ranges` are the allocations of tensors among the arguments. Parameters beyond `values` are scratch memory, of
    `scratch` bytes each.
    """
    language: str
    ptx: str
    kernel: str
    grid: tuple
    block: tuple
    values: list
    names: list
    ranges: list
    shared: int = 0
    cluster: tuple = None
    scratch: int = 128
    scratch_values: list = dataclasses.field(default_factory=list)
    overlaps: bool = False

    def shape(self):
        """Identifies launches that differ only in the contents of memory and in addresses."""
        known = hashlib.sha256(self.ptx.encode())
        order = {}
        for value in self.values:
            if isinstance(value, (Pointer, Map)):
                found = Ranges(self.ranges).find(value.address)
                base = found.base if found else 0
                known.update(b"p%d+%d" % (order.setdefault(base, len(order)), value.address - base))
            else:
                known.update(value)
        known.update(repr((self.grid, self.block, self.shared, self.cluster)).encode())
        return known.digest()


@dataclasses.dataclass
class Options:
    """How launches are checked."""
    timings: object = 2
    max_instructions: int = 1 << 33
    max_bytes: int = 2 << 30
    blocks: int = 0  # larger launches are sampled; 0: none is
    threads: int = 0
    seconds: float = 15  # further timings are left out if the launch has taken longer


class Memory:
    """The allocations of a launch on one emulated device."""

    def __init__(self, device, launch, known):
        self.device = device
        self.copies = {}  # base on the host -> range, address on the device
        self.ranges, self.known = Ranges(launch.ranges), known
        self.names, self.tables = {}, {}
        for value, name in zip(launch.values, launch.names):
            if isinstance(value, (Pointer, Map)):
                found = self.range_of(value.address)
                if found:
                    self.names.setdefault(found.base, name)

    def range_of(self, address):
        return self.ranges.find(address) or self.known.find(address)

    def address(self, address, name=""):
        """The address on the device of an address on the host; null and unknown addresses stay."""
        found = self.range_of(address) if address else None
        if not found or not found.bytes:
            return address
        if found.base not in self.copies:
            made = library().alloc(self.device.handle, found.bytes, self.names.get(found.base, name).encode())
            if not made:
                raise Unsupported(f"there is no memory for {found.bytes} bytes")
            self.copies[found.base] = found, made
            table = self.translated(found)
            source = found.base if table is None else table.ctypes.data
            if library().write(self.device.handle, made, source, found.bytes):
                raise EmulatorError(f"{found.bytes} bytes cannot be copied to the device")
        return self.copies[found.base][1] + address - found.base

    def translated(self, found):
        """The contents of an allocation, if it has addresses of others: then those of the device instead."""
        if found.bytes % 8 or found.bytes > POINTER_TABLE or not len(self.known):
            return None
        words = found.view().view("<u8")
        low, high = self.known.bases[0], self.known.ranges[-1].base + self.known.ranges[-1].bytes
        candidates = ((words >= low) & (words < high)).nonzero()[0]
        hits = [i for i in candidates if self.known.find(int(words[i]))]
        if not hits:
            return None
        copy = words.copy()
        for i in hits:
            copy[i] = self.address(int(words[i]), "pointer table")
        self.tables[found.base] = hits, copy[hits], words[hits].copy()
        return copy

    def read(self):
        """The contents after the launch: pairs of a range and an array of bytes."""
        changed = []
        for found, address in self.copies.values():
            data = numpy.empty(found.bytes, numpy.uint8)
            if library().read(self.device.handle, data.ctypes.data, address, found.bytes):
                raise EmulatorError(f"{found.bytes} bytes cannot be copied from the device")
            if found.base in self.tables:
                hits, ours, theirs = self.tables[found.base]
                words = data.view("<u8")
                words[hits] = numpy.where(words[hits] == ours, theirs, words[hits])
            changed.append((found, data))
        return changed


def run_once(launch, timing, known, options, unchecked=False):
    """One timing on a device of its own; returns the report and the memory."""
    device = Device()
    module = Module(device, launch.ptx, launch.kernel + ".ptx")
    parameters, info = module.parameters(launch.kernel)
    memory = Memory(device, launch, known)
    packed = bytearray(info.parameter_bytes)
    scratch = list(launch.scratch_values) + [launch.scratch] * len(parameters)
    if len(launch.values) > len(parameters):
        raise EmulatorError(f"{launch.kernel} has {len(parameters)} parameters and got {len(launch.values)} arguments")
    for i, (offset, size) in enumerate(parameters):
        if i >= len(launch.values):
            address = library().alloc(device.handle, scratch[i - len(launch.values)], b"scratch")
            data = struct.pack("<Q", address)
        else:
            value = launch.values[i]
            if isinstance(value, Pointer):
                data = struct.pack("<Q", memory.address(value.address, launch.names[i]))
            elif isinstance(value, Map):
                data = value.encode(memory.address(value.address, launch.names[i]))
            else:
                data = value
        if len(data) != size:
            raise EmulatorError(f"{launch.names[i]} of {launch.kernel} has {len(data)} bytes; the parameter has {size}")
        packed[offset:offset + size] = data
    fields = sized(LaunchFields)
    fields.grid[:], fields.block[:] = triple(launch.grid), triple(launch.block or tuple(info.threads))
    fields.cluster[:] = triple(launch.cluster) if launch.cluster else (0, 0, 0)
    fields.dynamic_shared, fields.unchecked = launch.shared, unchecked
    raw = (ctypes.c_uint8 * max(1, len(packed))).from_buffer_copy(packed or b"\0")
    fields.parameters, fields.parameter_bytes = ctypes.addressof(raw), len(packed)
    fields.timing, fields.threads, fields.max_instructions = timing.encode(), options.threads, options.max_instructions
    handle = library().run(device.handle, module.handle, launch.kernel.encode(), ctypes.byref(fields))
    if not handle:
        raise EmulatorError("no memory for the launch")
    return Report(handle), memory


def ran_out(report, options):
    """Whether the limit of instructions ended a launch: then it is too long, and reports nothing."""
    return not report.completed and report.stats["instructions"] > 0.9 * options.max_instructions


def run(launch, known=None, options=None, timings=None):
    """Runs a launch in its timings and copies results back; returns the merged report."""
    options, known = options or Options(), known if known is not None else Ranges()
    if 0 in triple(launch.grid):
        return None
    total = sum({each.base: each.bytes for each in launch.ranges}.values())
    if total > options.max_bytes:
        raise Unsupported(f"{launch.kernel} refers to {-(-total >> 20)} MiB of memory; the limit is {options.max_bytes >> 20} MiB")
    chosen = timing_list(options.timings if timings is None else timings)
    if samples(launch, options.blocks) is not None:
        return run_sampled(launch, chosen, known, options)
    merged, changed, started = None, [], time.monotonic()
    for timing in chosen:
        if merged is not None and time.monotonic() - started > options.seconds:
            break
        report, memory = run_once(launch, timing, known, options)
        if merged is None:
            if ran_out(report, options):
                raise too_long(launch, options)
            merged, changed = report, memory.read()
        elif not ran_out(report, options):
            merged.merge(report)
    write_back(changed)
    return merged


def too_long(launch, options):
    return Unsupported(f"{launch.kernel} executes more than {options.max_instructions} instructions")


def write_back(changed):
    for found, data in changed:
        ctypes.memmove(found.base, data.ctypes.data, found.bytes)


def run_sampled(launch, timings, known, options):
    """Runs all blocks unchecked, and a sample checked. A sample of long blocks is smaller.

    A part of the sample that does not complete, although the launch does, waits for blocks that are not in it, and is not
    counted.
    """
    merged, memory = run_once(launch, timings[0], known, options, unchecked=True)
    if ran_out(merged, options):
        raise too_long(launch, options)
    changed = memory.read()
    merged.sampled, started = 0, time.monotonic()
    stats = merged.stats
    affordable = options.max_instructions // CHECKED * stats["blocks"] // max(1, stats["instructions"])
    most = max(2, min(options.blocks, affordable))
    merged.blocks = described(launch.grid, most)
    for part in samples(launch, most) if merged.completed else []:
        for timing in timings:
            if merged.sampled and time.monotonic() - started > options.seconds:
                break
            report, _ = run_once(part, timing, known, options)
            if report.completed or not waits_for_others(report):
                merged.merge(report)
                merged.sampled += math.prod(triple(part.grid)) if timing == timings[0] else 0
    write_back(changed)
    return merged


def waits_for_others(report):
    """Whether a part ended because its blocks wait: PS2110 and PS2114."""
    return any(each.code in ("PS2110", "PS2114") for each in report.findings)
