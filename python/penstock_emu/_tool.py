# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools of the wheel: penstock-emu and penstock-nvcc."""

import os
import pathlib
import sys


def start(name):
    path = pathlib.Path(__file__).resolve().parent / "bin" / name
    os.execv(path, [str(path), *sys.argv[1:]])


def emulator():
    if sys.argv[1:2] == ["doctor"]:
        from . import doctor
        sys.exit(doctor.main(sys.argv[2:]))
    start("penstock-emu")


def nvcc():
    start("penstock-nvcc")
