# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a session of tests has launched and found."""

import collections
import dataclasses
import math

from . import _launches
from ._host_memory import Ranges
from .device import triple
from .report import TIERS, FindingsError

# What a driver says about a GPU of each target.
DEVICES = {
    80: dict(name="NVIDIA A100", multiprocessor_count=108, max_shared_mem=166912),
    86: dict(name="NVIDIA A10", multiprocessor_count=72, max_shared_mem=101376),
    89: dict(name="NVIDIA L40S", multiprocessor_count=142, max_shared_mem=101376),
    90: dict(name="NVIDIA H100", multiprocessor_count=132, max_shared_mem=232448),
    100: dict(name="NVIDIA B200", multiprocessor_count=148, max_shared_mem=232448),
    103: dict(name="NVIDIA B300", multiprocessor_count=148, max_shared_mem=232448),
    120: dict(name="NVIDIA RTX 5090", multiprocessor_count=170, max_shared_mem=101376),
}


def properties_of(arch):
    """The properties of a device, as Triton's driver returns them."""
    device = DEVICES.get(arch) or DEVICES[90]
    return dict(device, arch=arch, warpSize=32, max_num_regs=65536, sm_clock_rate=1755000, mem_clock_rate=2619000,
                mem_bus_width=5120)


@dataclasses.dataclass
class KernelCount:
    language: str
    launches: int = 0
    seconds: float = 0.0
    findings: dict = dataclasses.field(default_factory=lambda: dict.fromkeys(TIERS, 0))


class Session:
    """Checks launches; keeps their findings for the current test and for the end."""

    def __init__(self, arch=90, fail_on="wrong", options=None):
        self.arch, self.fail_on = arch, fail_on
        self.options = options or _launches.Options()
        self.known = Ranges()
        self.kernels = collections.OrderedDict()
        self.seen = set()      # shapes of launches that ran in all timings
        self.reported = set()  # findings that are counted
        self.merged = None     # the findings of all launches
        self.current = []      # reports with findings since the test began
        self.launches = 0      # since the test began
        self.serialized = self.sampled = self.unsampled = 0
        self.samples = {}      # kernel -> the blocks of its largest sampled launch: number, checked, text

    def launched(self, launch):
        """Runs and checks a launch. An incomplete one ends the test: its results cannot be used."""
        name = launch.kernel
        count = self.kernels.setdefault(name, KernelCount(launch.language))
        shape = launch.shape()
        # The same launch on other data runs once more, in the first timing.
        timings = self.options.timings if shape not in self.seen else 1
        report = _launches.run(launch, self.known, self.options, timings)
        if report is None:
            return
        self.seen.add(shape)
        self.launches += 1
        self.serialized += launch.overlaps
        if report.sampled is not None:
            self.sampled += report.sampled > 0
            self.unsampled += report.sampled == 0
            blocks = math.prod(triple(launch.grid))
            if report.sampled and blocks > self.samples.get(name, (0,))[0]:
                self.samples[name] = blocks, report.sampled, report.blocks
        count.launches += 1
        count.seconds += report.stats["seconds"]
        if findings := report.findings:
            for each in findings:
                identity = name, each.code, each.file, each.line, each.notes[0].line if each.notes else 0
                if identity not in self.reported:
                    self.reported.add(identity)
                    count.findings[each.tier] += 1
            self.current.append(report)
        if self.merged is None:
            self.merged = report
        elif findings:
            self.merged.merge(report)
        if not report.completed:
            raise FindingsError(report, "\n" + report.render())

    def begin(self):
        self.current, self.launches = [], 0

    def failing(self):
        """The text of the findings since the test began that make it fail, or None."""
        reports = [each for each in self.current if any(each.count(tier) for tier in TIERS[TIERS.index(self.fail_on):])]
        if not reports:
            return None
        first, *rest = reports
        for each in rest:
            if each is not first:
                first.merge(each)
        return first.render(notes=self.fail_on == "note").rstrip()

    def save(self, path):
        from .device import Device
        report = self.merged
        if report is None:
            # A module without kernels has an empty report.
            report = Device().load(".version 8.0\n.target sm_90\n.address_size 64\n").report
        report.save(path)

    def summary(self):
        """Numbers that processes can exchange."""
        return {name: dataclasses.asdict(count) for name, count in self.kernels.items()}
