# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings of launches."""

import ctypes
import dataclasses
import json

from ._library import StatsFields, library, sized

TIERS = ("note", "undefined", "wrong")
FORMATS = {"text": 0, "json": 1, "sarif": 2, "html": 3}


class FindingsError(AssertionError):
    """Findings of the tier that a test does not accept. `report` has all of them."""

    def __init__(self, report, text):
        super().__init__(text)
        self.report = report


@dataclasses.dataclass
class Note:
    """A second location of a finding: the other side of a race."""
    message: str
    file: str = ""
    line: int = 0


@dataclasses.dataclass
class Finding:
    code: str
    tier: str
    message: str
    file: str = ""
    line: int = 0
    notes: list = dataclasses.field(default_factory=list)
    helps: list = dataclasses.field(default_factory=list)
    facts: dict = dataclasses.field(default_factory=dict)


class Report:
    """Findings, output and counts of one launch, or of several that are merged."""

    sampled = None  # the number of checked blocks, if that is not all of them
    blocks = ""     # which these are

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        if self.handle:
            library().report_destroy(self.handle)
            self.handle = None

    @property
    def completed(self):
        """Whether all blocks ran to their end."""
        return bool(library().report_completed(self.handle))

    @property
    def output(self):
        """Text that the kernel printed."""
        return library().report_output(self.handle).decode(errors="replace")

    def count(self, tier):
        return library().report_count(self.handle, TIERS.index(tier))

    def render(self, format="text"):
        return library().report_render(self.handle, FORMATS[format]).decode(errors="replace")

    def save(self, path):
        """Writes the report in the format that the name ends with: .txt, .json, .sarif or .html."""
        ending = str(path).rsplit(".", 1)[-1]
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.render(ending if ending in FORMATS else "text"))

    @property
    def findings(self):
        found = []
        for each in json.loads(self.render("json"))["diagnostics"]:
            at = each.get("place") or {}
            notes = [Note(note["message"], note["place"]["file"], note["place"]["line"]) for note in each["notes"]]
            facts = each.get("facts") or {}
            tier = facts.get("tier") or ("wrong" if each["severity"] == "error" else "note")
            found.append(Finding(each["code"], tier, each["message"], at.get("file", ""), at.get("line", 0),
                                 notes, each["help"], facts))
        return found

    @property
    def stats(self):
        fields = sized(StatsFields)
        library().report_stats(self.handle, ctypes.byref(fields))
        return {name: getattr(fields, name) for name, _ in StatsFields._fields_[1:]}

    def merge(self, other):
        library().report_merge(self.handle, other.handle)

    def raise_on(self, tier="undefined"):
        """Raises FindingsError if there are findings of this tier or of a more serious one."""
        if any(self.count(each) for each in TIERS[TIERS.index(tier):]):
            raise FindingsError(self, "\n" + self.render())
        return self


class MutantReport(Report):
    """Mutants that no timing tells from the kernel (PS2202), and synchronization that is never executed (PS1774).

    `mutants`, `detected`, `survivors` and `unexecuted` are counts of instructions, `executed_lines` of `lines` of the PTX
    have been executed.
    """

    def __init__(self, handle, counts):
        super().__init__(handle)
        for name, _ in counts._fields_[1:]:
            setattr(self, name, getattr(counts, name))

    def render(self, format="text"):
        """The findings; as text with a last line that counts mutants."""
        text = super().render(format)
        if format == "text":
            text += (f"{self.mutants} mutants, {self.detected} detected, {self.survivors} survivors, "
                     f"{self.unexecuted} never executed\n")
        return text
