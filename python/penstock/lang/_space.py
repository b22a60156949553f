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
            self._add(name, values)

    def _copy(self) -> "Space":
        """Methods change a copy: kernels may share a space."""
        made = Space()
        made.axes, made.conditions, made.class_text = list(self.axes), list(self.conditions), self.class_text
        return made

    def _add(self, fields: "str | Sequence[str]", values: Sequence[Any]) -> None:
        names = (fields,) if isinstance(fields, str) else tuple(fields)
        self.axes.append((names, [(v,) if isinstance(fields, str) else tuple(v) for v in values]))

    def over(self, fields: "str | Sequence[str]", values: Sequence[Any]) -> "Space":
        """Adds an axis for a field, or for fields that vary together, whose values are tuples."""
        made = self._copy()
        made._add(fields, values)
        return made

    def where(self, condition: Callable[[Any], bool]) -> "Space":
        """Keeps only points that satisfy a condition, which takes an object with the kernel's fields.
        All conditions apply."""
        made = self._copy()
        made.conditions.append(condition)
        return made

    def classes(self, text: str) -> "Space":
        """Sizes of the signature that select a record: "M:log2, N, K". Launches whose sizes are equal,
        or with `:log2` between the same powers of two, share one. Default: all sizes."""
        made = self._copy()
        made.class_text = text
        return made
