"""Libraries of kernels, kernels, and compiled kernels."""

from __future__ import annotations

import json
import os
from ctypes import byref, c_char, c_size_t, c_void_p
from typing import Any, Iterator, Mapping, NamedTuple

from . import _reports
from ._errors import Diagnostic, refuse
from ._library import check, compile_options, lib, take_text


class Parameter(NamedTuple):
    """Parameter of a kernel."""

    name: str
    element: str  # "f16", "bf16", "f32", "i32", "index", ..
    tensor: bool
    rank: int
    written: bool
    sizes: tuple[str, ...]  # names or numbers of the signature; empty without one


class CompiledKernel:
    """A kernel for one target. Call it with one tensor or number per parameter."""

    __slots__ = ("_handle", "_launch", "_raise", "name", "options", "parameters", "target", "warnings")

    def __init__(self, handle: int | None, name: str, target: str, warnings: list[Diagnostic], options: str = ""):
        from . import _call

        self._handle = handle
        self._launch = _call.launch
        self._raise = _call.raise_error
        self.name = name
        self.target = target
        self.options = options  #: sizes, flags and fields as text
        self.warnings = warnings
        self.parameters = tuple(_parameters(handle))

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Runs the kernel: to its end on a CPU; on a GPU it is enqueued on the current stream of
        the tensors' framework. Raises penstock.Error."""
        if named:
            arguments = self._ordered(arguments, named)
        try:
            failed = self._launch(self._handle, *arguments)
        except BufferError:
            failed = self._launch(self._handle, *self._readable(arguments))
        if failed:
            self._raise(failed)

    def launch(self, *arguments: Any, threads: int = 0, stream: int | None = None, overlap_previous: bool = False,
               **named: Any) -> None:
        """Runs the kernel on `threads` threads of the CPU (0: all), or on a stream (a CUstream).
        With `overlap_previous` it may start before the previous kernel of the stream has ended."""
        from . import _call

        if named:
            arguments = self._ordered(arguments, named)
        try:
            failed = _call.launch_with(self._handle, threads, stream, overlap_previous, *arguments)
        except BufferError:
            failed = _call.launch_with(self._handle, threads, stream, overlap_previous, *self._readable(arguments))
        if failed:
            self._raise(failed)

    def _readable(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Replaces read-only arrays of numpy, which it does not export by DLPack, by views of the same memory."""
        found = list(arguments)
        for i, (parameter, value) in enumerate(zip(self.parameters, arguments)):
            if not hasattr(value, "__array_interface__") or not value.__array_interface__["data"][1]:
                continue
            if parameter.written:
                raise refuse("PS1768", f"`{self.name}` writes `{parameter.name}`, and the array is read-only",
                             "pass a copy, or an array whose flags.writeable is True")
            found[i] = _writable_view(value)
        return tuple(found)

    def _ordered(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        names = [p.name for p in self.parameters]
        rest = names[len(arguments):]
        unknown = [name for name in named if name not in rest]
        if unknown:
            raise refuse("PS1768", f"`{self.name}` has no further parameter `{unknown[0]}`",
                         "its parameters are: " + ", ".join(names))
        missing = [name for name in rest if name not in named]
        if missing:
            raise refuse("PS1768", f"the argument `{missing[0]}` of `{self.name}` is missing",
                         "its parameters are: " + ", ".join(names))
        return (*arguments, *(named[name] for name in rest))

    def _form(self, number: int) -> bytes:
        size = c_size_t()
        return take_text(lib.penstock_kernel_form(self._handle, number, byref(size)), size.value)

    @property
    def tile_program(self) -> str:
        return self._form(0).decode()

    @property
    def llvm_ir(self) -> str:
        return self._form(1).decode()

    @property
    def assembly(self) -> str:
        return self._form(2).decode()

    @property
    def ptx(self) -> str:
        return self._form(3).decode()

    @property
    def artifact(self) -> bytes:
        """Everything that a launch on a GPU needs; ``penstock.load_artifact`` reads it."""
        return self._form(4)

    def __repr__(self) -> str:
        return f"<penstock kernel {self.name} for {self.target}>"

    def __del__(self) -> None:
        if lib is not None and getattr(self, "_handle", None):
            lib.penstock_kernel_free(self._handle)


def _writable_view(array: Any) -> Any:
    """An array of numpy over the memory of a read-only one, for a kernel that only reads it."""
    import numpy

    if not array.size:
        return numpy.empty(array.shape, array.dtype)
    bounds: Any = getattr(numpy.lib, "array_utils", numpy)  # its place before numpy 2
    low, high = bounds.byte_bounds(array)
    memory: Any = (c_char * (high - low)).from_address(low)
    view = numpy.ndarray(array.shape, array.dtype, memory, array.ctypes.data - low, array.strides)
    view.flags.writeable = True
    return view


def _parameters(handle: int | None) -> Iterator[Parameter]:
    for i in range(lib.penstock_parameter_count(handle)):
        p = lib.penstock_kernel_parameter(handle, i)
        sizes = tuple(p.sizes[d].decode() for d in range(p.rank)) if p.sizes else ()
        yield Parameter(p.name.decode(), p.element.decode(), bool(p.tensor), p.rank, bool(p.written), sizes)


class Kernel:
    """A kernel of a library, before it is compiled."""

    def __init__(self, library: "Library", description: Mapping[str, Any]):
        self.library = library
        self.name: str = description["name"]
        self.signature: str = description["signature"]
        self.file: str = description["file"]
        self.line: int = description["line"]
        #: Fields that ``compile`` takes, with their default values as text.
        self.fields: dict[str, str] = description["fields"]

    def compile(self, target: str = "native", *, fix: Mapping[str, int] | None = None, contract: bool = False,
                late_completion: bool = False, check_barriers: bool = True, cache: bool = True,
                **fields: Any) -> CompiledKernel:
        """Compiles for "native" (this CPU), "interpreter", "gpu" (the GPU of this thread), or a GPU
        by name ("sm_90a", "sm_100a:emulated"). ``fix`` makes sizes constants, ``fields`` sets fields
        of the kernel. Raises penstock.Error."""
        flags = (1 if contract else 0) | (2 if late_completion else 0) | (0 if check_barriers else 4) | (
            0 if cache else 8)
        options = compile_options(target, fields, fix or {}, flags)
        handle = c_void_p()
        found = check(lib.penstock_compile, self.library._handle, self.name.encode(), byref(options), byref(handle))
        chosen = f"{sorted((fix or {}).items())} {flags} {sorted(fields.items())}"
        return CompiledKernel(handle.value, self.name, target, found, chosen)

    def _report(self, kind: str, target: str, fields: Mapping[str, Any],
                sizes: Mapping[str, float] | None = None, timings: int = 0) -> str:
        return _reports.make(self.library._handle, self.name, kind, target, fields, sizes, timings)

    def explain(self, target: str = "sm_90a", **fields: Any) -> str:
        """The schedule of the kernel's pipelined loops."""
        return self._report("explain", target, fields)

    def timeline(self, target: str = "sm_90a", sizes: Mapping[str, float] | None = None,
                 **fields: Any) -> _reports.Picture:
        """With sizes, the timeline of a run on the emulator; else the predicted one of a loop."""
        kind = "timeline" if sizes is None else "run_timeline"
        return _reports.Picture(self._report(kind, target, fields, sizes))

    def check(self, target: str = "sm_90a", sizes: Mapping[str, float] | None = None, timings: int = 20,
              **fields: Any) -> dict[str, Any]:
        """Runs the kernel on the emulator over shapes and timings; raises penstock.Error for findings."""
        found: dict[str, Any] = json.loads(self._report("check", target, fields, sizes, timings))
        return found

    def tune(self, target: str = "native", sizes: Mapping[str, float] | None = None) -> dict[str, Any]:
        """Tunes the kernel's space for sizes; winners are stored in the cache."""
        found: dict[str, Any] = json.loads(self._report("tune", target, {}, sizes))
        return found

    def __repr__(self) -> str:
        return f"<penstock kernel {self.name}: {self.signature}>"


class Library(Mapping[str, Kernel]):
    """Kernels by name."""

    def __init__(self, handle: int | None):
        self._handle = handle
        self._kernels = {d["name"]: Kernel(self, d) for d in json.loads(lib.penstock_library_json(handle))}

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._kernels[name]
        except KeyError:
            raise refuse("PS1503", f"the library has no kernel `{name}`",
                         "it has: " + ", ".join(self._kernels)) from None

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __del__(self) -> None:
        if lib is not None and getattr(self, "_handle", None):
            lib.penstock_library_free(self._handle)


def load(path: str | os.PathLike[str]) -> Library:
    """Loads a shared library whose kernels PENSTOCK_KERNEL registers, or a tile program (.mlir)."""
    name = os.fspath(path)
    if name.endswith(".mlir"):
        with open(name, encoding="utf-8") as file:
            return parse(file.read(), name)
    handle = c_void_p()
    check(lib.penstock_open, name.encode(), byref(handle))
    return Library(handle.value)


def parse(text: str, file: str = "<text>") -> Library:
    """Reads a tile program in text form."""
    handle = c_void_p()
    check(lib.penstock_parse, text.encode(), file.encode(), byref(handle))
    return Library(handle.value)


def load_artifact(artifact: bytes) -> CompiledKernel:
    """Makes a GPU kernel from ``CompiledKernel.artifact``, without compiling."""
    handle = c_void_p()
    found = check(lib.penstock_load_artifact, artifact, len(artifact), byref(handle))
    return CompiledKernel(handle.value, "artifact", "gpu", found)
