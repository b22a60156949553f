"""The command `penstock` of the wheel."""

from __future__ import annotations

import os
import sys

from pathlib import Path


def main() -> None:
    tool = str(Path(__file__).resolve().parent / "bin" / "penstock")
    os.execv(tool, [tool, *sys.argv[1:]])
