"""Diagnostics as Python objects."""

from __future__ import annotations

import html
import re
from typing import Any, NamedTuple


class Note(NamedTuple):
    """Secondary location of a diagnostic."""

    message: str
    file: str = ""
    line: int = 0
    label: str = ""


class Diagnostic(NamedTuple):
    """One message of Penstock; docs/reference/diagnostics.md lists the codes."""

    severity: str  # "error", "warning", "note"
    code: str  # "PS1203"
    message: str
    file: str = ""
    line: int = 0
    label: str = ""
    notes: tuple[Note, ...] = ()
    helps: tuple[str, ...] = ()
    facts: dict[str, str] = {}


class Error(Exception):
    """The only exception of this package for failures of kernels, compiler and launches.

    ``str(error)`` is the rendered text with source lines.
    """

    def __init__(self, text: str, diagnostics: list[Diagnostic]):
        super().__init__(text)
        self.diagnostics = diagnostics

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the diagnostics, which have the lines that matter."""
        return str(self).splitlines()

    def _repr_html_(self) -> str:
        """The text with colors: errors and carets red, helps green."""
        shown = html.escape(str(self), quote=False)
        shown = re.sub(r"(error PS\d+|^ *\| *\^+)", r'<span style="color:#c0392b">\1</span>', shown, flags=re.M)
        shown = re.sub(r"^( *help:)", r'<span style="color:#1e8449">\1</span>', shown, flags=re.M)
        return f"<pre>{shown}</pre>"


def from_json(found: list[dict[str, Any]]) -> list[Diagnostic]:
    """Diagnostics from the JSON of penstock_diagnostics_json."""

    def location(d: dict[str, Any]) -> tuple[str, int]:
        at = d.get("place") or {}
        return at.get("file", ""), at.get("line", 0)

    return [
        Diagnostic(
            d["severity"], d["code"], d["message"], *location(d), d["label"],
            tuple(Note(n["message"], *location(n), n["label"]) for n in d["notes"]),
            tuple(d["help"]), d["facts"],
        )
        for d in found
    ]


def refuse(code: str, message: str, help: str = "") -> Error:
    """An error that this package itself finds."""
    text = f"error {code}: {message}" + (f"\n  help: {help}" if help else "")
    return Error(text, [Diagnostic("error", code, message, helps=(help,) if help else ())])
