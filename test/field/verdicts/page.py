# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts results and writes the page."""

import datetime

from cases import BROKEN, FIXED, LUCKY, OPEN, Control

TIERS = ("note", "undefined", "wrong")
HEAD = """# Public bugs: the emulator and hardware

This page lists public synchronization bugs of GPU kernels, the behavior of hardware as their reports state it, and the
findings of the emulator for the broken and for the fixed side. `test/field/verdicts/run BUILD` writes it.

No GPU was used. A *compiled* case is the output of the affected version of a compiler for a kernel of ours; a *sketch* is a
kernel of ours with the mechanism that the report describes, and a twin that differs by the published fix. **HW** means that the
report has failing and passing configurations on a GPU; hw, that the failure was seen on a GPU without such a control; san, that
only a sanitizer reports it; suite, a kernel that is broken by construction. A side counts as found if a finding has the tier of
the table or a more serious one; wrong values alone do not count. Timings: eager, lazy and two random ones, unless
`table.py` says otherwise.

"""


def severe(result, tier):
    """Findings of this tier or of a more serious one, the most serious first."""
    found = [each for each in result["findings"] if TIERS.index(each["tier"]) >= TIERS.index(tier)]
    return sorted(found, key=lambda each: -TIERS.index(each["tier"]))


def ran(result):
    return "findings" in result


def short(text, limit=150):
    text = " ".join(text.split("\n")[0].replace("|", "\\|").split())
    return text if len(text) <= limit else text[:limit - 3] + "..."


def verdict(result):
    """One word for a result."""
    if "skipped" in result:
        return "skipped: " + result["skipped"]
    if "problem" in result:
        return "did not run: " + short(result["problem"], 80)
    found = severe(result, "note")
    text = ", ".join(dict.fromkeys(f"{each['code']} `{each['tier']}`" for each in found[:3])) or "silent"
    return text + (", values wrong" if result["right"] is False else "")


class Summary:
    def __init__(self, chosen, results):
        self.results = results
        self.bugs = [case for case in chosen if not isinstance(case, Control)]
        self.controls = [case for case in chosen if isinstance(case, Control)]
        self.alarms, self.problems, self.skips = [], [], []
        for case in chosen:
            for side in [case.side] if isinstance(case, Control) else case.sides:
                result = self.of(side)
                if "skipped" in result:
                    self.skips.append((case, side, result["skipped"]))
                elif "problem" in result:
                    self.problems.append((case, side, result["problem"]))
                elif side.role == FIXED and severe(result, "wrong"):
                    self.alarms.append((case, side, severe(result, "wrong")[0]))
        self.unexplained = [bug for bug in self.bugs if self.state(bug) == "missed" and not bug.comment]

    def of(self, side):
        return self.results[id(side)]

    def sides(self, bug, role):
        return [(side, self.of(side)) for side in bug.sides if side.role == role]

    def state(self, bug):
        """found, missed, or skipped; found means that every broken side is reported."""
        results = [result for _, result in self.sides(bug, BROKEN)]
        if not results or not all(map(ran, results)):
            return "skipped"
        return "found" if all(severe(result, bug.tier) for result in results) else "missed"

    def quiet(self, bug):
        """Whether all fixed sides ran and have no finding of tier `wrong`."""
        results = [result for _, result in self.sides(bug, FIXED)]
        return bool(results) and all(ran(result) and not severe(result, "wrong") for result in results)

    def count(self, *verdicts):
        of = [bug for bug in self.bugs if bug.verdict in verdicts and self.state(bug) != "skipped"]
        return len(of), sum(self.state(bug) == "found" for bug in of), sum(map(self.quiet, of))

    def lines(self):
        """The last line counts bugs with the verdict HW; alarms count all correct sides and kernels."""
        made = [f"PROBLEM {case.name}: {side.name}: {text}" for case, side, text in self.problems]
        made += [f"ALARM {case.name}: {side.name}: {finding['code']} {finding['message']}"
                 for case, side, finding in self.alarms]
        made += [f"MISSED {bug.name} ({bug.verdict}): {bug.subject}" for bug in self.bugs if self.state(bug) == "missed"]
        reasons = {}
        for case, side, reason in self.skips:
            reasons.setdefault(reason, []).append(f"{case.name} {side.name}")
        made += [f"skipped {len(names)} sides: {reason}" for reason, names in reasons.items()]
        for verdicts in (("hw",), ("san",), ("suite",)):
            bugs, found, quiet = self.count(*verdicts)
            if bugs:
                made.append(f"{verdicts[0]}: bugs={bugs} found={found} fixed_silent={quiet}")
        bugs, found, quiet = self.count("HW")
        controls = sum(ran(self.of(each.side)) for each in self.controls)
        made.append(f"bugs={bugs} found={found} fixed_silent={quiet} controls={controls} alarms={len(self.alarms)}")
        return made

    def row(self, bug):
        def cell(role):
            return "<br>".join(f"{side.name}: {verdict(result)}" for side, result in self.sides(bug, role)) or "–"

        findings = [each for _, result in self.sides(bug, BROKEN) if ran(result) for each in severe(result, bug.tier)]
        first = f"{findings[0]['code']}: {short(findings[0]['message'])}" if findings else self.state(bug)
        state = {"found": "**found**", "missed": "**missed**", "skipped": "skipped"}[self.state(bug)]
        return (f"| [{bug.name}]({bug.link}) | {bug.subject} | {bug.verdict}: {bug.hardware} | {bug.kind} | {state} | "
                f"{cell(BROKEN)} | {cell(FIXED)} | {first} |\n")

    def page(self):
        text = HEAD + f"Last run: {datetime.date.today().isoformat()}.\n\n```\n" + self.lines()[-1] + "\n```\n\n"
        for title, verdicts in (("Bugs with a verdict of hardware", ("HW",)), ("Bugs with a weaker verdict", ("hw", "san")),
                                ("Kernels that are broken by construction", ("suite",))):
            of = [bug for bug in self.bugs if bug.verdict in verdicts]
            if not of:
                continue
            bugs, found, quiet = self.count(*verdicts)
            text += f"## {title}\n\n{bugs} bugs, {found} found, {quiet} with silent fixed sides.\n\n"
            text += ("| bug | subject | hardware | case | verdict | broken side | fixed side | first finding |\n"
                     "|---|---|---|---|---|---|---|---|\n")
            text += "".join(map(self.row, of)) + "\n"
        lucky = [(bug, side, result) for bug in self.bugs for side, result in self.sides(bug, LUCKY)]
        if lucky:
            text += ("## Results of hardware that are right by luck\n\nThese sides have the bug, but hardware gives right "
                     "results. A finding is correct.\n\n| bug | side | emulator | reason |\n|---|---|---|---|\n")
            text += "".join(f"| {bug.name} | {side.name} | {verdict(result)} | {side.reason} |\n"
                            for bug, side, result in lucky) + "\n"
        other = [(bug, side, result) for bug in self.bugs for side, result in self.sides(bug, OPEN)]
        if other:
            text += ("## Sides without a verdict of hardware\n\n| bug | side | emulator | remark |\n|---|---|---|---|\n")
            text += "".join(f"| {bug.name} | {side.name} | {verdict(result)} | {side.reason} |\n"
                            for bug, side, result in other) + "\n"
        comments = [bug for bug in self.bugs if bug.comment]
        if comments:
            text += "## Remarks\n\n" + "".join(f"- **{bug.name}** ({self.state(bug)}): {bug.comment}\n"
                                                for bug in comments) + "\n"
        if self.controls:
            text += ("## Correct kernels\n\nNone may have a finding of tier `wrong`.\n\n| kernel | configuration | emulator |\n"
                     "|---|---|---|\n")
            text += "".join(f"| {each.name} | {each.side.name} | {verdict(self.of(each.side))} |\n"
                            for each in self.controls) + "\n"
        if self.skips or self.problems:
            text += "## Not run\n\n| case | side | reason |\n|---|---|---|\n"
            text += "".join(f"| {case.name} | {side.name} | {short(reason)} |\n"
                            for case, side, reason in self.skips + self.problems)
        return text.rstrip() + "\n"
