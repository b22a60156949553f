# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program on the emulated driver: it finds this package's libcuda and libcudart.

    python -m penstock_emu [--device h100|b200] PROGRAM [ARGUMENT ..]
"""

import argparse
import os
import pathlib
import sys

parser = argparse.ArgumentParser(prog="python -m penstock_emu", description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--device", default="h100", help="GPU that the driver presents: h100, b200, ..")
parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENT ..]")
options = parser.parse_args()
if not options.program:
    parser.error("no program is given")
folder = pathlib.Path(__file__).resolve().parent / "lib" / "cuda-shim"
if not folder.is_dir():
    sys.exit(f"{folder} does not exist: this package is not installed from a wheel")
# The loader reads its path when a process starts, hence a new one.
others = os.environ.get("LD_LIBRARY_PATH")
os.environ["LD_LIBRARY_PATH"] = f"{folder}:{others}" if others else str(folder)
os.environ["PENSTOCK_EMU_DEVICE"] = options.device
try:
    os.execvp(options.program[0], options.program)
except OSError as error:
    sys.exit(f"{options.program[0]}: {error.strerror}")
