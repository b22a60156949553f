#!/usr/bin/env python3
# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repairs mutants of matmuls: explicit kernels and compiled tile programs.

  repairs.py PENSTOCK PENSTOCK_EMU LIBRARY WORK [--mutants N] [--kernels NAME,..] [--least SHARE]

Compiles each kernel to PTX, launches it with matrices of small integers, checks the result of the unchanged kernel, and
runs `penstock-emu mutate --fix` on up to N mutants of each. Fails if a patch is wrong, or if fewer than SHARE of the mutants
are restored.
"""
import argparse
import os
import random
import re
import struct
import subprocess
import sys

# Name, target, threads, box and swizzle of the result. All other boxes are 128x64, with a swizzle of 128 bytes.
KERNELS = (
    ("MatmulV1", "sm_100a", 128, "128x16:32"),
    ("MatmulV2", "sm_100a", 128, "128x16:32"),
    ("MatmulV3", "sm_100a", 128, "128x16:32"),
    ("MatmulV4", "sm_100a", 128, "128x16:32"),
    ("HopperMatmul", "sm_90a", 384, "128x64:128"),
    ("Matmul", "sm_90a", 288, "128x64:128"),
    ("Matmul", "sm_100a", 128, "128x32:64"),
)
M, N, K = 256, 256, 320
SHARED = 160000

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
for name in ("penstock", "emulator", "library", "work"):
    parser.add_argument(name)
parser.add_argument("--mutants", type=int, default=1000000)
parser.add_argument("--kernels", default="")
parser.add_argument("--least", type=float, default=0.8)
options = parser.parse_args()


def path(name):
    return os.path.join(options.work, name)


def matrix(name, rows, seed):
    values = random.Random(seed)
    numbers = [[values.randint(-3, 3) for _ in range(K)] for _ in range(rows)]
    with open(path(name), "wb") as file:
        for row in numbers:
            file.write(struct.pack(f"<{K}e", *row))
    return numbers


def launch(threads, box):
    """Arguments: a pointer, sizes and a stride of each matrix, blocks of the grid, and three tensor maps."""
    fields = [0, M, K, K, 0, N, K, K, 0, M, N, N, M // 128, N // 128]
    words = [f"--arg=u64={field}" for field in fields]
    maps = [f"--arg=tensor=f16:{M}x{K}:128x64:128:file={path('a.bin')}",
            f"--arg=tensor=f16:{N}x{K}:128x64:128:file={path('b.bin')}", f"--arg=tensor=f16:{M}x{N}:{box}:zero"]
    blocks = M // 128 * (N // 128)
    return [f"--grid={blocks}", f"--block={threads}", f"--shared={SHARED}", *words, *maps]


def run(*command):
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        print(" ".join(command), ran.stdout, ran.stderr, sep="\n")
    return ran


def check_result(a, b):
    """Some elements of the unchanged kernel's result against plain Python."""
    with open(path("c.bin"), "rb") as file:
        c = struct.unpack(f"<{M * N}e", file.read())
    chosen = random.Random(3)
    for _ in range(500):
        m, n = chosen.randrange(M), chosen.randrange(N)
        expected = sum(x * y for x, y in zip(a[m], b[n]))
        assert c[m * N + n] == expected, (m, n, c[m * N + n], expected)


os.makedirs(options.work, exist_ok=True)
a, b = matrix("a.bin", M, 1), matrix("b.bin", N, 2)
total = {"reported": 0, "restored": 0, "wrong": 0, "gave_up": 0}
failed = False
for kernel, target, threads, box in KERNELS:
    if options.kernels and kernel not in options.kernels.split(","):
        continue
    ptx = path(f"{kernel}-{target}.ptx")
    compiled = run(options.penstock, "compile", options.library, kernel, "--target", target, "-o", ptx)
    arguments = launch(threads, box)
    unchanged = run(options.emulator, "run-ptx", ptx, kernel, *arguments, "--timings", "2", "--dump", "2=" + path("c.bin"))
    if compiled.returncode or unchanged.returncode:
        sys.exit(1)
    check_result(a, b)
    repaired = run(options.emulator, "mutate", ptx, kernel, *arguments, "--fix", str(options.mutants), "--timings", "3")
    lines = repaired.stdout.replace(options.work + "/", "")
    print(lines, end="", flush=True)
    failed |= repaired.returncode != 0
    counts = dict(re.findall(r"(\w+)=(\d+)", lines.splitlines()[-1] if lines else ""))
    for name in total:
        total[name] += int(counts.get(name, 0))
print("kernels together:", " ".join(f"{name}={count}" for name, count in total.items()))
sys.exit(failed or total["wrong"] or not total["reported"] or total["restored"] < options.least * total["reported"])
