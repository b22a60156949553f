# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of the host that kernels take for device memory: finds the allocation of an address."""

import bisect
import ctypes

import numpy


class Range:
    """An allocation of the host. `expired` says whether the host has released it."""

    def __init__(self, base, bytes, expired=lambda: False):
        self.base, self.bytes, self.expired = base, bytes, expired

    def __contains__(self, address):
        return self.base <= address < self.base + max(1, self.bytes)

    def view(self):
        """The bytes as an array of numpy."""
        return numpy.frombuffer((ctypes.c_uint8 * self.bytes).from_address(self.base), numpy.uint8)


class Ranges:
    """Allocations by address. Addresses are unique among live allocations."""

    def __init__(self, ranges=()):
        self.bases, self.ranges = [], []
        for each in ranges:
            self.add(each)

    def add(self, new):
        """Adds an allocation, and drops those that it replaces: the host has released them."""
        at = bisect.bisect_left(self.bases, new.base)
        if at and self.ranges[at - 1].base + self.ranges[at - 1].bytes > new.base:
            at -= 1
        end = at
        while end < len(self.ranges) and self.ranges[end].base < new.base + max(1, new.bytes):
            end += 1
        self.bases[at:end], self.ranges[at:end] = [new.base], [new]

    def find(self, address):
        """The live allocation that has an address, or None."""
        at = bisect.bisect_right(self.bases, address) - 1
        if at < 0 or address not in self.ranges[at]:
            return None
        if self.ranges[at].expired():
            del self.bases[at], self.ranges[at]
            return None
        return self.ranges[at]

    def __iter__(self):
        return iter(self.ranges)

    def __len__(self):
        return len(self.ranges)
