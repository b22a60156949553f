"""Diagnostics as Python objects."""

from __future__ import annotations

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
