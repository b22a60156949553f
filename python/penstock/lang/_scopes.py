"""Loops, conditions and other scopes, as objects of `for` and `with`.

A scope compares the user's local variables at its start and end. A name that was bound to a value
of the kernel and is bound to another one is an error: the body is recorded once, so the
assignment would not be repeated when the kernel runs.
"""

from __future__ import annotations

import ctypes
from types import FrameType, TracebackType
from typing import Any, Callable, Iterator

from . import _location, _native
from ._elements import boolean, index_t
from ._native import record
from ._recording import PYTHON_KERNEL, REBOUND_NAME, Recording, current, fail, state
from ._tiles import TensorSlice, Tile
from ._values import Index, Computed, Value, as_scalar

_LEFT_LOOP = 1001
_PLAIN = (bool, int, float, str, type(None))


class Watch:
    """What the names of the user's frame are bound to when a scope opens."""

    __slots__ = ("frame", "before", "location", "scopes")

    def __init__(self, scopes: list[int], location: int):
        self.frame: FrameType | None = _location.user_frame()
        self.location = location
        self.scopes = list(scopes)
        self.before = dict(self.frame.f_locals) if self.frame else {}

    def check(self, what: str) -> None:
        frame, self.frame = self.frame, None
        if frame is None or not self.before:
            return
        now = frame.f_locals
        for name, old in self.before.items():
            new = now.get(name, old)
            if new is old or (isinstance(old, _PLAIN) and isinstance(new, _PLAIN) and new == old):
                continue
            if isinstance(old, Value) and old.scope not in self.scopes:
                continue  # of a scope that has ended
            line, _ = _location.split(self.location)
            carried = _location.is_carried(frame.f_code, line, name)
            if carried is None:  # no source: only what is surely wrong
                carried = isinstance(old, Value) and isinstance(new, Value) and not isinstance(old, Tile)
            if not carried:
                continue
            if isinstance(old, Tile):
                kind, help = "a tile", f"copy the tile with b.copy(.., {name}), or use another name"
            elif isinstance(old, (TensorSlice, Value)) or isinstance(old, _PLAIN):
                kind = ("a slice of a tensor" if isinstance(old, TensorSlice) else
                        "a value of the kernel" if isinstance(old, Value) else f"{old!r}")
                help = (f"make it a variable of the kernel: `{name} = b.var(T, ..)` before, `{name}.set(..)` inside; or "
                        "compute it from the index of the loop")
            else:
                continue  # e.g. an object of the user, which keeps its own account
            fail(f"`{name}` was {kind} before this {what}, and is bound to another value in its body, which is recorded once",
                 help, REBOUND_NAME, self.location)


class Loop:
    """A loop for a `for` statement. The body is recorded once, with a symbolic index."""

    __slots__ = ("_arguments", "_location", "_recording", "_scope", "_watch", "_keep")

    def __init__(self, arguments: _native.Loop, location: int, keep: Any = None):
        self._arguments, self._location, self._keep = arguments, location, keep
        self._scope = 0
        self._recording: Recording | None = None

    def __iter__(self) -> Iterator[Index]:
        if self._recording is not None:
            fail("a loop of the kernel is used twice", "call b.range(..) or b.pipelined(..) in each `for`")
        return self

    def __next__(self) -> Index:
        if self._recording is None:
            self._recording = current()
            index = ctypes.c_uint64()
            self._scope = record.open_loop(self._arguments, ctypes.byref(index), self._location)
            self._watch = Watch(self._recording.scopes, self._location)
            self._recording.scopes.append(self._scope)
            return Computed(index.value, index_t)
        self._watch.check("loop")
        self._close()
        raise StopIteration

    def _close(self) -> None:
        scope, self._scope = self._scope, 0
        recording = self._recording
        assert recording is not None
        record.close(scope)
        while scope in recording.scopes:
            recording.scopes.pop()

    def __del__(self) -> None:
        if self._recording is None and state.recording is not None:
            state.recording.unused.append((self._location, "loop", "for i in b.range(..):"))
            return
        # A body that break, return or an exception left. Only the first two are errors of their own,
        # which is known when the kernel function returns.
        if self._scope and state.recording is self._recording and self._recording is not None:
            self._recording.left.append(self._location)
            self._close()


def report_left(recording: Recording) -> None:
    """Reports loops that break or return left, scopes without a body, and expressions without a use."""
    dropped = next(filter(_location.is_statement, recording.expressions), 0)
    if dropped:
        record.error(PYTHON_KERNEL, b"the value of this expression is not used",
                     b"operators and functions compute values: write them to a tile with `b.set(tile, value)`, or to a "
                     b"variable with `x.set(value)`", dropped)
    for location, what, form in recording.unused:
        record.error(PYTHON_KERNEL, f"this {what} has no body".encode(), f"write `{form}` and indent its body".encode(),
                     location)
    for location in recording.left[:1]:
        record.error(
            _LEFT_LOOP, b"the body of this loop was left before its end, by break or return",
            b"the body of a tile loop is recorded once and runs for every iteration; use `with b.when(..):` for what "
            b"depends on the iteration", location)


class Scope:
    """A scope for a `with` statement."""

    _scope = 0


    def __init__(self, what: str, location: int, open: Callable[[], int], result: Callable[[], Any] | None = None):
        self._what, self._location, self._open, self._result = what, location, open, result

    def __enter__(self) -> Any:
        recording = current()
        jump = _location.jump_out()
        if jump is not None:
            keyword, line = jump
            fail(f"`{keyword}` in line {line} leaves this {self._what}, whose body is recorded once",
                 "let the body run to its end: `with b.when(..):` is recorded for both outcomes of its condition",
                 _LEFT_LOOP, self._location)
        self._scope = self._open()
        self._watch = Watch(recording.scopes, self._location)
        recording.scopes.append(self._scope)
        return self._result() if self._result else None

    def __iter__(self) -> Any:
        fail(f"this {self._what} is not iterated", "write `with b.parallel(n) as i:`; loops are b.range and b.pipelined",
             at=self._location)

    def __del__(self) -> None:
        if not self._scope and state.recording is not None:
            state.recording.unused.append((self._location, self._what, "with ..:"))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        recording = current()
        while self._scope in recording.scopes:
            recording.scopes.pop()
        if kind is None:
            self._watch.check(self._what)
            record.close(self._scope)


def when(condition: Any, location: int) -> Scope:
    ref = as_scalar(condition, boolean, location)
    return Scope("condition", location, lambda: record.open_condition(ref, location))
