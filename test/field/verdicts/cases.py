# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of the table: bugs, their sides, and correct kernels."""

import dataclasses

# What a side is, and what the emulator must report for it.
BROKEN = "broken"    # has the bug, and hardware fails: a finding is required
FIXED = "fixed"      # the published fix, or a configuration in which the bug does not exist: no finding of tier `wrong`
LUCKY = "lucky"      # has the bug, and hardware gives right results: a finding is correct, silence is not an alarm
OPEN = "open"        # no verdict of hardware is known: the result is only recorded


@dataclasses.dataclass
class Side:
    """One kernel in one configuration. `run` is "module:function"; `options` are its arguments."""
    name: str
    role: str
    run: str
    options: dict = dataclasses.field(default_factory=dict)
    packages: str = "plain"   # a key of wheels.ENVIRONMENTS
    timings: int | list = 4   # as in penstock_emu.check: eager, lazy, random ones
    nvcc: bool = False
    hardware: str = ""        # wrong, hang, right; by default that of the role
    reason: str = ""          # why a finding here is right although hardware is, or why there is none

    def because(self, reason):
        self.reason = reason
        return self

    @property
    def expected(self):
        return self.hardware or {BROKEN: "wrong", OPEN: "unknown"}.get(self.role, "right")


@dataclasses.dataclass
class Bug:
    """`verdict`: HW (failing and passing sides on a GPU), hw (seen on a GPU), san (a sanitizer only), suite (by construction).

    `kind`: compiled (PTX of the affected version of a compiler) or sketch (our kernel with the described mechanism).
    `tier`: the least serious tier of a finding that counts.
    """
    name: str
    link: str
    subject: str
    verdict: str
    hardware: str
    kind: str
    sides: list
    tier: str = "wrong"
    comment: str = ""


@dataclasses.dataclass
class Control:
    """A correct kernel of a kind that is widely used."""
    name: str
    side: Side


def github(repository, number, what="issues"):
    return f"https://github.com/{repository}/{what}/{number}"
