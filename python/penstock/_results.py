"""What a kernel returns, when its results are allocated for the caller."""

from __future__ import annotations

import re
from typing import Any, Sequence

from ._errors import refuse
from ._kernels import CompiledKernel


class Plan:
    """Arguments and results of a kernel, from its signature.

    What the kernel only writes is a result, unless `mutates` names it. A size of a result that no
    argument has becomes an integer argument after the others.
    """

    def __init__(self, kernel: CompiledKernel, mutates: Sequence[str] = ()):
        parameters = kernel.parameters
        found = re.search(r'tile\.signature = "([^"]*)"', kernel.tile_program)
        arguments = re.sub(r"\[[^\]]*\]", "", found.group(1).split("->")[0] if found else "")
        read = set(re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", arguments))  # not of descriptions: "n in 0..N"
        for name in mutates:
            if name not in {p.name for p in parameters if p.written}:
                raise refuse("PS1768", f"`{kernel.name}` does not write `{name}`",
                             "`mutates` names tensors that the kernel writes")
        self.name = kernel.name
        self.parameters = parameters
        self.results = [p for p in parameters if p.written and p.name not in read and p.name not in mutates]
        self.inputs = [p for p in parameters if p not in self.results]
        known: dict[str, tuple[int, int]] = {}  # argument and dimension that have a size
        for i, p in enumerate(self.inputs):
            for d, size in enumerate(p.sizes):
                known.setdefault(size, (i, d))
        self.sizes: list[str] = []  # that are arguments
        for p in self.results:
            if not p.sizes:
                raise refuse("PS1768", f"`{kernel.name}` has no signature that gives the shape of `{p.name}`",
                             f"pass it as an argument: mutates=(\"{p.name}\",)")
            self.sizes += [s for s in p.sizes if not s.isdigit() and s not in known and s not in self.sizes]
        self.names = [p.name for p in self.inputs] + self.sizes  #: of all arguments
        # Calls take microseconds: everything is looked up here.
        self._extents = [[int(s) if s.isdigit() else known.get(s) or (self.names.index(s), -1) for s in p.sizes]
                         for p in self.results]
        where = {p.name: i for i, p in enumerate(self.inputs)}
        where.update({p.name: len(self.names) + i for i, p in enumerate(self.results)})
        self._order = [where[p.name] for p in parameters]

    def check(self, arguments: Sequence[Any]) -> None:
        if len(arguments) != len(self.names):
            raise refuse("PS1768", f"`{self.name}` takes {len(self.names)} arguments, not {len(arguments)}",
                         "they are: " + ", ".join(self.names))

    def shapes(self, arguments: Sequence[Any]) -> list[list[Any]]:
        """Shapes of the results."""
        return [[e if isinstance(e, int) else arguments[e[0]] if e[1] < 0 else arguments[e[0]].shape[e[1]]
                 for e in extents] for extents in self._extents]

    def ordered(self, arguments: Sequence[Any], made: Sequence[Any]) -> list[Any]:
        """Arguments of the kernel, in the order of its parameters."""
        all = [*arguments, *made]
        return [all[i] for i in self._order]


def answer(made: Sequence[Any]) -> Any:
    return None if not made else made[0] if len(made) == 1 else tuple(made)
