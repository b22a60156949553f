#!/usr/bin/env python3
# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of `penstock-emu run` on several_kernels.cu: options.py PENSTOCK_EMU PROGRAM"""

import subprocess
import sys

EMULATOR, PROGRAM = sys.argv[1:]


def run(*options):
    ran = subprocess.run([EMULATOR, "run", *options, PROGRAM], capture_output=True, text=True)
    assert "finished" in ran.stdout, ran.stdout + ran.stderr
    return ran.returncode, ran.stderr


def expect(holds, text):
    if not holds:
        sys.exit(text)


# The race is found, with the names of the source; the exit code is the program's.
code, text = run()
expect(code == 0, text)
expect("findings in kernel void app::reverse<float>(float*)" in text, text)
expect("PS2101" in text and "data race on tile+" in text, text)
expect("3 launches on H100, 1 findings" in text, text)

# A tier decides about the exit code.
for tier in ("wrong", "undefined", "note"):
    code, text = run("--fail-on", tier)
    expect(code == 1 and "PS2101" in text, f"--fail-on {tier}: exit code {code}\n{text}")

# Other kernels run unchecked, and what they store counts as written.
for expression in ("app::reverse", "^_ZN3app7reverse", "reverse<float>"):
    code, text = run("--kernel", expression, "--fail-on", "wrong")
    expect(code == 1 and "1 findings" in text and "PS2103" not in text, f"--kernel {expression}\n{text}")
# The timing is for the kernels that are checked: `fill` has no second warp.
code, text = run("--kernel", "reverse", "--timing", "starve:1", "--fail-on", "wrong")
expect(code == 1 and "1 findings" in text and "PS2115" not in text, text)
code, text = run("--kernel", "fill", "--fail-on", "note")
expect(code == 0 and "0 findings" in text, text)

# Mutants of a kernel, before its first launch: `reverse` has no synchronization.
code, text = run("--mutate", "reverse", "--kernel", "none")
expect(code == 0 and "mutants of kernel void app::reverse<float>" in text and "0 mutants: 0 detected" in text, text)
code, text = run("--mutate", "exchange", "--kernel", "none")
expect("mutants of kernel exchange" in text and "1 mutant: 1 detected, 0 survivors" in text, text)
