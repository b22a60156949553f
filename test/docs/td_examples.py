#!/usr/bin/env python3
"""Runs the examples of passes and operations that the reference pages show.

They come from the descriptions in the .td files. Every pass and every operation
must have one, and every pass of ours that penstock-opt lists must be on the page.

  passes.md    "Example (`OPTIONS`): ..", an ```mlir block, the word "becomes" and a
               second one: penstock-opt OPTIONS turns the first into the second,
               up to the names of values. If the second has lines "...", its other
               lines must be found in this order, each as part of a line. With
               "reports" and a ```text block, penstock-opt must report that text.
  tile.md, nv.md
               each ```mlir block below an operation is a program that has this
               operation, verifies, and is printed as it is read. Attributes are
               read as such.
"""
import re
import subprocess
import sys

BLOCK = r"```mlir\n(.*?)```"
OURS = ("expand-narrow-", "nv-", "penstock-", "tile-")  # prefixes of our passes
PASS = re.compile(rf"Example \(`([^`]*)`\):(?:(?!```).)*?{BLOCK}\n\n(becomes|reports)\n\n```(?:mlir|text)\n(.*?)```", re.S)


def run(tool, text, *options):
    done = subprocess.run([tool, "-", *options], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def in_order(wanted, text):
    """The first line of `wanted` that is not found in `text` after the previous one."""
    rest = iter(lines_of(text))
    for line in wanted:
        if not any(line in candidate for candidate in rest):
            return line
    return None


def check_pass(tool, name, body):
    examples = PASS.findall(body)
    if not examples:
        return ["has no example with an input and an output"]
    problems = []
    for options, source, kind, wanted in examples:
        if f"--{name}" not in re.split(r"[ =]", options):
            problems.append(f"the example runs {options}")
        code, out, err = run(tool, source, *options.split())
        if kind == "reports":
            text = re.sub(r"<stdin>:\d+:\d+", "<stdin>", err)
            missing = in_order(lines_of(wanted), text)
            if missing is not None:
                problems.append(f"does not report: {missing}\nbut\n{err}")
            continue
        if code:
            problems.append(f"fails: {err}")
            continue
        if "..." in lines_of(wanted):
            missing = in_order([line for line in lines_of(wanted) if line != "..."], out)
            if missing is not None:
                problems.append(f"the output has no line with: {missing}\nin\n{out}")
            continue
        code, same, err = run(tool, wanted)
        if code:
            problems.append(f"the documented output is not valid: {err}")
        elif same != out:
            problems.append(f"gives\n{out}")
    return problems


def check_listed(tool, documented):
    """Passes of ours that penstock-opt has and the page does not."""
    listing = subprocess.run([tool, "--list-passes"], check=True, capture_output=True, text=True).stdout
    passes = re.findall(r"^  --([\w-]+)", listing.split("Pass Pipelines:")[0], re.M)
    ours = [name for name in passes if name.startswith(OURS)]
    problems = [] if set(documented) <= set(ours) else [f"not listed: {set(documented) - set(ours)}"]
    return problems + [f"`{name}` is missing: docs/generate.py updates the page"
                       for name in ours if name not in documented]


def check_operation(tool, name, body):
    blocks = re.findall(BLOCK, body, re.S)
    if not blocks:
        return ["has no example"]
    problems = []
    for source in blocks:
        code, once, err = run(tool, source)
        if code:
            problems.append(f"the example is rejected: {err}")
            continue
        _, twice, _ = run(tool, once)
        if once != twice:
            problems.append(f"is printed as\n{once}\nand read as\n{twice}")
        # Terminators may be implicit in the usual form.
        if f'"{name}"' not in run(tool, source, "--mlir-print-op-generic")[1]:
            problems.append("the example does not use it")
    return problems


def check_attributes(tool, body):
    problems = []
    attributes = [a for block in re.findall(BLOCK, body, re.S) for a in re.findall(r"^#(?:.|\n(?!#))*", block, re.M)]
    for attribute in attributes:
        code, _, err = run(tool, f"module attributes {{example.attribute = {attribute}}} {{}}")
        if code:
            problems.append(f"{attribute}: {err}")
    return problems, len(attributes)


def main():
    tool, page = sys.argv[1:3]
    text = open(page, encoding="utf-8").read()
    failures = checked = 0
    if page.endswith("passes.md"):
        sections = re.findall(r"^### `-([\w-]+)`\n(.*?)(?=^##|\Z)", text, re.S | re.M)
        found = [(name, check_pass(tool, name, body)) for name, body in sections]
        found.append(("penstock-opt --list-passes", check_listed(tool, [name for name, _ in sections])))
    else:
        sections = re.findall(r"^### `(\w+\.[\w.]+)` \(.*?\)\n(.*?)(?=^##|\Z)", text, re.S | re.M)
        found = [(name, check_operation(tool, name, body)) for name, body in sections]
        headings = re.findall(r"^### (`\w+\..*)", text, re.M)
        if len(headings) != len(sections):
            found.append(("operations", [f"{len(headings)} headings, {len(sections)} were understood"]))
        start = text.find("\n## Attributes")
        problems, checked = check_attributes(tool, text[start:] if start >= 0 else "")
        found.append(("attributes", problems))
    for name, problems in found:
        for problem in problems:
            failures += 1
            print(f"{name}: {problem}")
    checked += len(sections)
    if len(sections) < 10:
        failures += 1
        print(f"{page}: only {len(sections)} sections were found")
    print(f"{page}: {checked} checked, {failures} failures")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
