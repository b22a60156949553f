"""Where the user's program calls, and what the user calls the result.

The location of an operation is that of the innermost frame outside of this package and outside
of functions that `helper` marks. One table per code object has the locations of its
instructions.
"""

from __future__ import annotations

import ast
import dis
import linecache
import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Iterator, Sequence, TypeVar

from . import _native

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LINE, _FILE = 20, 48  # positions in a location of record_c.h

#: Functions of the package that compute a value, and do nothing else.
_COMPUTING = frozenset("abs cast ceil ceil_div cos erf exp exp2 floor log log2 max min round rsqrt select sin sqrt tanh where".split())

#: By code object: locations by instruction; empty for code that is not the user's.
_tables: dict[CodeType, Sequence[int]] = {}
#: By the numbers of their locations.
_files: dict[int, str] = {}


def helper(function: F) -> F:
    """Marks a function whose operations are located at its caller, like those of this package."""
    _tables[function.__code__] = ()
    return function


def _positions(code: CodeType) -> list[tuple[int, int]]:
    """Line and column, from 1, of each instruction; column 0: unknown."""
    if sys.version_info >= (3, 11):
        return [(line or 0, column + 1 if column is not None else 0) for line, _, column, _ in code.co_positions()]
    lines = [0] * (len(code.co_code) // 2)
    starts = [*dis.findlinestarts(code), (len(code.co_code), 0)]
    for (begin, line), (end, _) in zip(starts, starts[1:]):
        lines[begin // 2:end // 2] = [line or 0] * (end // 2 - begin // 2)
    return [(line, 0) for line in lines]


def _announce(file: str) -> int:
    """Number of a file. The text of a cell of a notebook is announced, too."""
    if not os.path.exists(file):
        _native.add_source(file.encode(), "".join(linecache.getlines(file)).encode())
    number: int = _native.source_file(file.encode())
    _files[number] = file
    return number


def _table(code: CodeType) -> Sequence[int]:
    file = code.co_filename
    made: Sequence[int] = ()
    if not os.path.abspath(file).startswith(_FOLDER) and not file.endswith("functools.py"):
        number = _announce(file) << _FILE
        made = [number | line << _LINE | column for line, column in _positions(code)]
    _tables[code] = made
    return made


def at() -> int:
    """Location of the user's call."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        table = _tables.get(frame.f_code)
        if table is None:
            table = _table(frame.f_code)
        if table:
            return table[frame.f_lasti >> 1]
        frame = frame.f_back
    return 0


def user_frame() -> FrameType | None:
    """The frame of the user's call."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        table = _tables.get(frame.f_code)
        if table is None:
            table = _table(frame.f_code)
        if table:
            break
        frame = frame.f_back
    return frame


def of_function(function: Callable[..., Any]) -> int:
    """Location of the first line of a function."""
    code = function.__code__
    return _announce(code.co_filename) << _FILE | code.co_firstlineno << _LINE


def split(location: int) -> tuple[int, int]:
    """Line and column of a location."""
    return location >> _LINE & 0xFFFFFFF, location & 0xFFFFF


# ---- names and jumps, from the source text where it exists


class _Source(ast.NodeVisitor):
    """Names that calls are assigned to, and statements that are expressions, by line and column; jumps
    out of `with` blocks, and the `for` and `with` statements themselves, by the lines of their heads."""

    def __init__(self, tree: ast.AST):
        self.names: dict[tuple[int, int], str] = {}
        self.names_of_line: dict[int, list[str]] = {}
        self.statements: set[tuple[int, int]] = set()
        self.jumps: dict[int, tuple[str, int]] = {}
        self.scopes: dict[int, tuple[ast.For | ast.With, list[ast.AST]]] = {}  #: with the nodes around them
        self.around: list[ast.AST] = []
        self.visit(tree)

    def _name(self, value: ast.AST, target: ast.AST) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for part, each in zip(value.elts, target.elts):
                self._name(part, each)
            return
        if not isinstance(value, ast.Call):
            return
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        names = [p.id if isinstance(p, ast.Name) else p.attr if isinstance(p, ast.Attribute) else "" for p in parts]
        if all(names):
            self.names[value.lineno, value.col_offset + 1] = ", ".join(names)
            self.names_of_line.setdefault(value.lineno, []).append(", ".join(names))

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets[:1]:
            self._name(node.value, target)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._name(node.value, node.target)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        # Calls of helpers have the location of the statement, too.
        called = getattr(node.value, "func", None)
        if called is None or getattr(called, "attr", getattr(called, "id", "")) in _COMPUTING:
            self.statements.add((node.lineno, node.col_offset + 1))
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._name(node.value, node.target)
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        self.around.append(node)
        super().generic_visit(node)
        self.around.pop()

    def visit_For(self, node: ast.For) -> None:
        for line in range(node.lineno, (node.iter.end_lineno or node.lineno) + 1):
            self.scopes[line] = node, list(self.around)
        self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        for line in range(node.lineno, max(item.context_expr.end_lineno or 0 for item in node.items) + 1):
            self.scopes[line] = node, list(self.around)
        jump = next((found for child in node.body if (found := _jump_in(child, inside_loop=False))), None)
        if jump is not None:
            for line in range(node.lineno, max(item.context_expr.end_lineno or 0 for item in node.items) + 1):
                self.jumps[line] = jump
        self.generic_visit(node)


def _uses(node: ast.AST, name: str) -> Iterator[bool]:
    """The uses of a name in the order in which they are evaluated: True for a read, False for an
    assignment. Functions read what they mention where they are defined."""
    if isinstance(node, ast.Name):
        if node.id == name:
            yield isinstance(node.ctx, ast.Load)
        return
    parts: list[Any] = list(ast.iter_child_nodes(node))
    if isinstance(node, (ast.Assign, ast.NamedExpr, ast.AnnAssign)) and node.value is not None:
        parts = [node.value, *(node.targets if isinstance(node, ast.Assign) else [node.target])]
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name) and node.target.id == name:
            yield True
        parts = [node.value, node.target]
    elif isinstance(node, ast.For):
        parts = [node.iter, node.target, *node.body, *node.orelse]
    for part in parts:
        yield from _uses(part, name)


def is_carried(code: CodeType, line: int, name: str) -> bool | None:
    """Whether the value that a name has at the end of the body of the `for` or `with` statement at a line
    is read: by the next iteration, or after the statement. None: the source is not known."""
    found = _source(code.co_filename).scopes.get(line)
    if found is None:
        return None
    node, around = found
    if isinstance(node, ast.For):
        iteration = [node.target, *node.body]
        if next((use for part in iteration for use in _uses(part, name)), False):
            return True
    # What is evaluated after the statement, up to the end of the function.
    inner: ast.AST = node
    for outer in reversed(around):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(outer, field, None)
            if isinstance(statements, list) and inner in statements:
                rest = statements[statements.index(inner) + 1:]
                if isinstance(outer, (ast.For, ast.While)):  # and the next iteration
                    rest = [*rest, *statements[:statements.index(inner)]]
                for use in (use for part in rest for use in _uses(part, name)):
                    return use
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        inner = outer
    return False


def _jump_in(node: ast.AST, inside_loop: bool) -> tuple[str, int] | None:
    """The first statement that leaves the block that contains a node: its keyword and line."""
    if isinstance(node, ast.Return):
        return "return", node.lineno
    if isinstance(node, (ast.Break, ast.Continue)):
        return None if inside_loop else ("break" if isinstance(node, ast.Break) else "continue", node.lineno)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
        return None
    inside_loop = inside_loop or isinstance(node, (ast.For, ast.While))
    for child in ast.iter_child_nodes(node):
        found = _jump_in(child, inside_loop)
        if found:
            return found
    return None


_sources: dict[str, tuple[list[str], _Source]] = {}


def _source(file: str) -> _Source:
    lines = linecache.getlines(file)
    kept = _sources.get(file)
    if kept is None or kept[0] is not lines:
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError):  # a cell with magic commands, or no source
            tree = ast.Module([], [])
        kept = _sources[file] = lines, _Source(tree)
    return kept[1]


def _here() -> tuple[FrameType, int, int] | None:
    """Frame, line and column of the user's call."""
    frame = user_frame()
    return None if frame is None else (frame, *split(_tables[frame.f_code][frame.f_lasti >> 1]))


class _Ordinals(threading.local):
    """Python 3.10 has no columns: calls on one line are counted. By code object and line: the
    instruction of the last call, and its number."""

    def __init__(self) -> None:
        self.last: dict[tuple[CodeType, int], tuple[int, int]] = {}

    def next(self, frame: FrameType, line: int) -> int:
        instruction, number = self.last.get((frame.f_code, line), (-1, -1))
        number = number + 1 if frame.f_lasti > instruction else 0
        self.last[frame.f_code, line] = frame.f_lasti, number
        return number


_ordinals = _Ordinals()


def assigned_name() -> str:
    """Name that the result of the user's call is assigned to; empty if there is none."""
    where = _here()
    if where is None:
        return ""
    frame, line, column = where
    source = _source(frame.f_code.co_filename)
    if column:
        return source.names.get((line, column), "")
    names = source.names_of_line.get(line, [])
    number = _ordinals.next(frame, line)
    return names[number] if number < len(names) else ""


def is_statement(location: int) -> bool:
    """Whether the expression at a location is a statement, whose value is dropped. Python 3.10 has no columns
    and finds none."""
    return split(location) in _source(_files[location >> _FILE]).statements


def jump_out() -> tuple[str, int] | None:
    """The statement that leaves the `with` block of the user's call, and its line."""
    where = _here()
    if where is None:
        return None
    frame, line, _ = where
    return _source(frame.f_code.co_filename).jumps.get(line)
