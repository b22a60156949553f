"""The recording of this thread, and errors that this package finds during it."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

from . import _location
from ._elements import Element
from ._native import record

VALUE_AS_BOOL, REBOUND_NAME, PYTHON_KERNEL, STRAY_CALL = 1012, 1013, 1014, 1011


class Reported(BaseException):
    """Leaves a kernel function whose error the recorder knows."""


class Recording:
    """State beside the recorder's."""

    def __init__(self, types: dict[Any, type[Element]]):
        self.scopes: list[int] = [0]  #: open scopes; 0: the kernel
        self.literals: dict[Any, int] = {}
        self.types = types  #: element types of a generic kernel, by TypeVar
        self.left: list[int] = []  #: locations of loops that break or return left
        self.unused: list[tuple[int, str, str]] = []  #: loops and scopes without a body
        self.expressions: list[int] = []  #: locations of operators and functions of values


class _State(threading.local):
    recording: Recording | None = None


state = _State()


def current() -> Recording:
    """The recording of this thread; an error if there is none."""
    recording = state.recording
    if recording is None:
        stray()
    return recording


def stray() -> NoReturn:
    from .._errors import refuse

    raise refuse("PS1011", "an operation of a kernel is called while no kernel is recorded on this thread",
                 "operations of penstock.lang may only be called by kernel functions, which run while their kernel "
                 "is compiled")


def fail(message: str, help: str = "", code: int = PYTHON_KERNEL, at: int = 0) -> NoReturn:
    """Reports an error at the user's call, and ends the recording."""
    if not record.error(code, message.encode(), help.encode(), at or _location.at()):
        from .._errors import refuse

        raise refuse(f"PS{code}", message, help)
    raise Reported
