# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table: one line per kernel, over all its timings."""

import dataclasses
import statistics

TIERS = ("wrong", "undefined", "note")


@dataclasses.dataclass
class Result:
    """One run in one timing."""
    timing: str
    right: bool
    findings: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    bytes: int = 0
    problem: str = ""


def key(finding):
    """Findings of several timings are the same if code and both lines are."""
    lines = [(each.get("place") or {}).get("line") for each in [finding] + finding.get("notes", [])[:1]]
    return (finding["code"], *sorted(line or 0 for line in lines))


def tier(finding):
    return (finding.get("facts") or {}).get("tier") or ("wrong" if finding["severity"] == "error" else "note")


class Row:
    def __init__(self, kernel, results):
        self.kernel, self.results = kernel, results
        self.right = sum(result.right for result in results)
        self.distinct = {}
        for result in results:
            for finding in result.findings:
                self.distinct.setdefault(key(finding), (finding, result.timing))

    def count(self, name):
        return sum(tier(finding) == name for finding, _ in self.distinct.values())

    def codes(self):
        return ", ".join(sorted({found[0] for found in self.distinct}))

    def text(self):
        seconds = statistics.median(result.seconds for result in self.results)
        megabytes = max(result.bytes for result in self.results) / 1e6
        cells = [self.kernel.name, f"{self.right} of {len(self.results)}", *(self.count(name) for name in TIERS),
                 self.codes(), f"{seconds:.1f}", f"{megabytes:.0f}"]
        return "| " + " | ".join(str(cell) for cell in cells) + " |"

    def findings_text(self):
        lines = [f"== {self.kernel.name}"]
        for result in self.results:
            if result.problem:
                lines.append(f"{result.timing}: {result.problem}")
        for finding, timing in self.distinct.values():
            at = finding.get("place") or {}
            lines.append(f"{timing}: {finding['code']} {tier(finding)} {at.get('file', '')}:{at.get('line', '')}: "
                         f"{finding['message']}")
            for note in finding.get("notes", []):
                at = note.get("place") or {}
                lines.append(f"    {at.get('file', '')}:{at.get('line', '')}: {note['message']}")
        return "\n".join(lines) + "\n"


def render(rows):
    return ("| kernel | right | wrong | undefined | note | codes | s | MB |\n|---|---|---|---|---|---|---|---|\n" +
            "".join(row.text() + "\n" for row in rows))
