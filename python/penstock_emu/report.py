# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings of launches."""

import ctypes
import dataclasses
import json
import re

from ._library import EmulatorError, StatsFields, library, sized

TIERS = ("note", "undefined", "wrong")
FORMATS = {"text": 0, "json": 1, "sarif": 2, "html": 3}


STOPPED = ("The run stopped at a finding: other blocks have not ended, so their findings are missing and the results are "
           "incomplete.\n")


def tiers_from(tier):
    """This tier and those that are more serious."""
    if tier not in TIERS:
        raise EmulatorError(f"there is no tier {tier!r}; tiers are " + ", ".join(f'"{each}"' for each in TIERS))
    return TIERS[TIERS.index(tier):]


def sections(text):
    """A rendered report, finding by finding."""
    return [each for each in re.split(r"^(?=\S.*: \w+ PS\d{4}: )", text, flags=re.M) if each]


def is_note(section):
    return re.match(r".*?: note PS\d{4}: ", section) is not None


def without_notes(text):
    """A rendered report without the findings of tier `note`."""
    return "".join(each for each in sections(text) if not is_note(each))


def counted(number, what):
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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
    ignored = {}    # codes of findings that raise_on accepts, and why
    remark = staticmethod(lambda finding: None)  # what an adapter knows of a Finding

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

    def _rendered(self, format):
        return library().report_render(self.handle, FORMATS[format]).decode(errors="replace")

    def render(self, format="text", notes=None):
        """The report as "text", "json", "sarif" or "html".

        As text, findings of tier `note` are only counted if there are others, unless `notes` is true; if it is false, they
        are left out.
        """
        text = self._rendered(format)
        if format != "text":
            return text
        serious = any(self.count(each) for each in TIERS[1:])
        hidden = self.count("note") if notes is None and serious else 0
        if hidden or notes is False:
            text = without_notes(text)
        found = self.findings
        remarks = {remark: None for each in found if (remark := self.remark(each))}
        text += "".join(f"{remark}\n" for remark in remarks)
        if not self.completed and self.stats["blocks"]:
            text += STOPPED
        for code, why in self.ignored.items():
            if number := sum(each.code == code for each in found):
                text += f"ignored: {counted(number, 'finding')} {code}" + (f" ({why})" if why else "") + "\n"
        if hidden:
            text += f"{counted(hidden, 'note')}: render(notes=True)\n"
        return text

    def save(self, path):
        """Writes the report in the format that the name ends with: .txt, .json, .sarif or .html."""
        ending = str(path).rsplit(".", 1)[-1]
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.render(ending if ending in FORMATS else "text"))

    @property
    def findings(self):
        found = []
        for each in json.loads(self._rendered("json"))["diagnostics"]:
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

    def raise_on(self, tier="undefined", ignore=()):
        """Raises FindingsError if there are findings of this tier or of a more serious one.

        `ignore` has codes of findings that are accepted; as a dict, with the reasons. The report still shows and counts them.
        """
        failing = tiers_from(tier)
        self.ignored = dict(ignore) if isinstance(ignore, dict) else dict.fromkeys(
            [ignore] if isinstance(ignore, str) else ignore, "")
        for code in self.ignored:
            if not re.fullmatch(r"PS\d{4}", str(code)):
                raise EmulatorError(f"{code!r} is not a code of a finding: expected one like \"PS2102\"")
        if any(each.tier in failing and each.code not in self.ignored for each in self.findings):
            raise FindingsError(self, "\n" + self.render(notes=True if tier == "note" else None))
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

    def render(self, format="text", notes=None):
        """The findings; as text with a last line that counts mutants."""
        text = super().render(format, notes)
        if format == "text":
            text += (f"{self.mutants} mutants, {self.detected} detected, {self.survivors} survivors, "
                     f"{self.unexecuted} never executed\n")
        return text
