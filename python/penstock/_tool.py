"""The command `penstock` of the wheel."""

from __future__ import annotations

import os
import sys

from pathlib import Path


def main() -> None:
    if sys.argv[1:2] == ["doctor"]:
        try:
            from penstock_emu import doctor  # type: ignore[import-untyped]
        except ImportError as error:
            sys.exit(f"penstock doctor: {error}\n  help: pip install penstock-emu")
        sys.exit(doctor.main(sys.argv[2:], "penstock doctor"))
    tool = str(Path(__file__).resolve().parent / "bin" / "penstock")
    os.execv(tool, [tool, *sys.argv[1:]])
