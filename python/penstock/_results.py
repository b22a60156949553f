"""What a kernel returns, when its results are allocated for the caller."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from ._errors import refuse
from ._kernels import CompiledKernel, Parameter


class Plan:
    """Arguments and results of a kernel, from its signature.

    What the kernel only writes is a result, unless `mutates` names it. A size of a result that no
    argument has becomes an integer argument after the others.
    """

    def __init__(self, kernel: CompiledKernel, mutates: Sequence[str] = ()):
        parameters = kernel.parameters
        found = re.search(r'tile\.signature = "([^"]*)"', kernel.tile_program)
        read = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", "", found.group(1).split("->")[0] if found else "")))
        for name in mutates:
            if name not in {p.name for p in parameters if p.written}:
                raise refuse("PS1768", f"`{kernel.name}` does not write `{name}`",
                             "`mutates` names tensors that the kernel writes")
        self.name = kernel.name
        self.parameters = parameters
        self.results = [p for p in parameters if p.written and p.name not in read and p.name not in mutates]
        self.inputs = [p for p in parameters if p not in self.results]
        self._known: dict[str, tuple[str, int]] = {}
        for p in self.inputs:
            for d, size in enumerate(p.sizes):
                self._known.setdefault(size, (p.name, d))
        self.sizes: list[str] = []  # that are arguments
        for p in self.results:
            if not p.sizes:
                raise refuse("PS1768", f"`{kernel.name}` has no signature that gives the shape of `{p.name}`",
                             f"pass it as an argument: mutates=(\"{p.name}\",)")
            self.sizes += [s for s in p.sizes if not s.isdigit() and s not in self._known and s not in self.sizes]

    @property
    def names(self) -> list[str]:
        """Names of all arguments."""
        return [p.name for p in self.inputs] + self.sizes

    def named(self, arguments: Sequence[Any]) -> dict[str, Any]:
        names = self.names
        if len(arguments) != len(names):
            raise refuse("PS1768", f"`{self.name}` takes {len(names)} arguments, not {len(arguments)}",
                         "they are: " + ", ".join(names))
        return dict(zip(names, arguments))

    def shape(self, result: Parameter, given: Mapping[str, Any]) -> list[Any]:
        def extent(size: str) -> Any:
            if size.isdigit():
                return int(size)
            if size in self._known:
                name, d = self._known[size]
                return given[name].shape[d]
            return given[size]

        return [extent(s) for s in result.sizes]

    def arguments(self, given: Mapping[str, Any], made: Sequence[Any]) -> list[Any]:
        """Arguments of the kernel, in the order of its parameters."""
        all = {**given, **dict(zip((p.name for p in self.results), made))}
        return [all[p.name] for p in self.parameters]


def answer(made: Sequence[Any]) -> Any:
    return None if not made else made[0] if len(made) == 1 else tuple(made)
