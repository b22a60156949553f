# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of a kernel: a line of the table, and the instructions that no test tells from the kernel."""

import dataclasses

HEAD = ("| kernel | mutants | detected | survivors | not executed | lines executed | s |\n"
        "|---|---|---|---|---|---|---|\n")


@dataclasses.dataclass
class Mutants:
    kernel: str
    counts: dict  # as penstock_emu_mutants names them
    findings: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    problem: str = ""

    def row(self):
        if self.problem:
            return f"| {self.kernel} | {self.problem} | | | | | |"
        count = self.counts
        share = f"{100 * count['executed_lines'] // max(1, count['lines'])} % of {count['lines']}"
        cells = [count[name] for name in ("mutants", "detected", "survivors", "unexecuted")]
        return "| " + " | ".join(str(cell) for cell in [self.kernel, *cells, share, f"{self.seconds:.0f}"]) + " |"

    def text(self):
        lines = [f"== {self.kernel}"]
        for finding in self.findings:
            at = finding.get("place") or {}
            lines.append(f"{finding['code']} {at.get('file', '').rsplit('/', 1)[-1]}:{at.get('line', '')}: "
                         f"{finding['message']}; {' '.join(finding['help'])}")
        return "\n".join(lines) + "\n"
