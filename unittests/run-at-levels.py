#!/usr/bin/env python3
"""Runs a test program at every instruction-set level that this processor has.

usage: run-at-levels.py PENSTOCK TEST-PROGRAM [ARGUMENT..]

Prints the covered levels; fails if the program fails at one of them.
"""
import os
import subprocess
import sys

penstock, *command = sys.argv[1:]
listed = subprocess.run([penstock, "cpu"], check=True, capture_output=True, text=True).stdout
state = dict(line.split() for line in listed.splitlines())
covered = [level for level, present in state.items() if present == "yes"]
failed = []
for level in covered:
    run = subprocess.run(command, env={**os.environ, "PENSTOCK_CPU": level}, capture_output=True, text=True)
    summary = [line for line in run.stdout.splitlines() if line.startswith("[  PASSED  ]")]
    print(f"{level}: {summary[0] if summary else 'no test passed'}", flush=True)
    if run.returncode or not summary:
        failed.append(level)
        print(run.stdout[-8000:], run.stderr[-4000:], flush=True)
absent = [level for level, present in state.items() if present == "no"]
print(f"levels covered: {' '.join(covered)}; not on this processor: {' '.join(absent) or 'none'}")
sys.exit(1 if failed or not covered else 0)
