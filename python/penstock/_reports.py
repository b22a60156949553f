"""Reports about kernels: explanations, timelines, checks, tuning, the cache."""

from __future__ import annotations

import ctypes
import json
from ctypes import byref, c_void_p
from typing import Any, Mapping

from ._library import ReportOptions, check, compile_options, lib, settings, take_text

_KINDS = {"explain": 0, "timeline": 1, "run_timeline": 2, "check": 3, "tune": 4, "cache": 5}


class Picture(str):
    """An SVG text that notebooks draw."""

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)


class Layout:
    """A layout in CuTe's notation, which notebooks draw.

    ``Layout("(4,8):(8,1)")`` shows offsets, ``Layout("Sw<3,4,3> o smem_ptr[16b] o (8,64):(64,1)")``
    banks of shared memory. With ``rows``, a layout (thread, register) -> row + rows * column shows
    the thread and the register that hold each element.
    """

    def __init__(self, text: str, rows: int = 0):
        self.text, self.rows = text, rows

    def picture(self) -> Picture:
        svg = c_void_p()
        check(lib.penstock_draw_layout, self.text.encode(), self.rows, byref(svg))
        return Picture(take_text(svg.value).decode())

    def _repr_svg_(self) -> str:
        return self.picture()

    def __repr__(self) -> str:
        return f"Layout({self.text!r}" + (f", rows={self.rows})" if self.rows else ")")


def make(library: int | None, kernel: str, kind: str, target: str, fields: Mapping[str, Any],
         sizes: Mapping[str, float] | None = None, timings: int = 0) -> str:
    named, count = settings(sizes or {})
    options = ReportOptions(
        ctypes.sizeof(ReportOptions), compile_options(target, fields, {}, 0), named, count, timings)
    text = c_void_p()
    try:
        check(lib.penstock_make_report, library, kernel.encode(), _KINDS[kind], byref(options), byref(text))
    finally:
        made = take_text(text.value).decode()
    return made


def cache_statistics() -> dict[str, Any]:
    """Counts of this process's cache of compiled kernels, and its directory."""
    text = c_void_p()
    check(lib.penstock_make_report, None, None, _KINDS["cache"], None, byref(text))
    found: dict[str, Any] = json.loads(take_text(text.value))
    return found
