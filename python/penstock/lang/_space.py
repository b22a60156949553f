"""Tuning spaces of kernels."""

from __future__ import annotations

from typing import Any, Callable, Sequence


class Space:
    """Values of fields that may vary: the product of its axes.

        space = pl.Space(block_m=[64, 128], stages=[2, 3]).where(lambda k: k.stages < 3).classes("M:log2, N, K")
    """

    def __init__(self, **axes: Sequence[Any]):
        self.axes: list[tuple[tuple[str, ...], list[tuple[Any, ...]]]] = []
        self.conditions: list[Callable[[Any], bool]] = []
        self.class_text = ""
        for name, values in axes.items():
            self.over(name, values)

    def over(self, fields: "str | Sequence[str]", values: Sequence[Any]) -> "Space":
        """Adds an axis for a field, or for fields that vary together, whose values are tuples."""
        names = (fields,) if isinstance(fields, str) else tuple(fields)
        self.axes.append((names, [(v,) if isinstance(fields, str) else tuple(v) for v in values]))
        return self

    def where(self, condition: Callable[[Any], bool]) -> "Space":
        """Keeps only points that satisfy a condition, which takes an object with the kernel's fields.
        All conditions apply."""
        self.conditions.append(condition)
        return self

    def classes(self, text: str) -> "Space":
        """Sizes of the signature that select a record: "M:log2, N, K". Launches whose sizes are equal,
        or with `:log2` between the same powers of two, share one. Default: all sizes."""
        self.class_text = text
        return self
