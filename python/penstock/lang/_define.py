"""Kernels that are Python functions or classes.

A kernel is defined (penstock_define) when it is first compiled. Each compilation calls the Python
function once, with a block and one object per parameter; the recorded program is the key of the
cache, so C++ and Python kernels with the same program share entries.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import html
import importlib
import inspect
import itertools
import json
import numbers
import threading
import types
import typing
from ctypes import byref, c_void_p
from typing import Any, Callable, Iterator, Mapping

from .. import _kernels
from .._errors import Error, refuse
from .._library import check, compile_options, take_text
from . import _location, _native
from ._block import Block, EndedBlock
from ._elements import Element
from ._native import record
from ._recording import PYTHON_KERNEL, Recording, Reported, state
from ._scopes import report_left
from ._space import Space
from ._tiles import In, InOut, Out, Tensor
from ._values import Scalar, Computed, Value

_TYPES = {bool: b"b", int: b"i", float: b"f", str: b"s"}

# ---- definitions: the C library calls these functions with the number of a definition

_definitions: dict[int, "_Definition"] = {}
_numbers = itertools.count(1)


def _record(number: int, values: Any, recording: int, arguments: Any) -> int:
    return _definitions[number].record(values, arguments)


def _admits(number: int, values: Any) -> int:
    return _definitions[number].admits(values)


def _release(number: int) -> None:
    _definitions.pop(number, None)


_RECORD, _ADMITS, _RELEASE = _native.RECORD(_record), _native.ADMITS(_admits), _native.RELEASE(_release)


@dataclasses.dataclass(frozen=True)
class _Parameter:
    """Parameter of a kernel function."""

    name: str
    element: type[Element]
    access: Any  #: In, Out or InOut; None: a scalar
    sizes: tuple[str, ...] = ()  #: names or numbers of the signature

    @property
    def rank(self) -> int:
        return len(self.sizes)


class _Definition:
    """One `penstock_define`: a kernel function with default values of its fields."""

    def __init__(self, kernel: "Kernel"):
        self.kernel = kernel
        self.number = next(_numbers)
        self.error: BaseException | None = None  #: exception that a kernel function raised
        self.lock = threading.Lock()

    def values(self, texts: Any) -> dict[str, Any]:
        """Fields from the texts of the C interface."""
        found = dict(self.kernel._values)
        for i, name in enumerate(self.kernel.fields):
            kind, text = type(found[name]), texts[i].decode()
            found[name] = _of_text(kind, text)
        return found

    def record(self, texts: Any, arguments: Any) -> int:
        kernel = self.kernel
        recording = Recording(kernel._types)
        outer, state.recording = state.recording, recording
        block = Block()
        try:
            given = [
                Computed(arguments[i], p.element) if p.access is None else p.access(arguments[i], p.element, p.rank)
                for i, p in enumerate(kernel._parameters)]
            result = kernel._call(block, given, self.values(texts))
            report_left(recording)
            if result is not None:
                record.error(PYTHON_KERNEL, f"the kernel returns a {type(result).__name__}".encode(),
                             b"kernels return nothing: copy results to Out[..] tensors", kernel._at)
            return 0
        except Reported:
            return 1
        except BaseException as error:  # raised again where the compilation was asked for
            with self.lock:
                self.error = self.error or error
            return 1
        finally:
            state.recording = outer
            block.__class__ = EndedBlock

    def admits(self, texts: Any) -> int:
        try:
            view = self.kernel._view(self.values(texts))
            return int(all(condition(view) for condition in self.kernel._space.conditions)) if self.kernel._space else 1
        except BaseException as error:
            with self.lock:
                self.error = self.error or error
            return 0

    def define(self) -> c_void_p:
        """Registers the kernel; it stays registered until the library is freed."""
        kernel = self.kernel
        keep: list[Any] = []  # until the call has copied everything
        arguments = (_native.ArgumentSpec * len(kernel._parameters))(*[
            _native.ArgumentSpec(p.access is not None, p.element.code, p.rank, p.access.access if p.access else 0)
            for p in kernel._parameters])
        fields = (_native.Field * len(kernel.fields))(*[
            _native.Field(name.encode(), text.encode(), _TYPES[type(kernel._values[name])])
            for name, text in kernel.fields.items()])
        space = kernel._space or Space()
        axes = (_native.Axis * len(space.axes))()
        for axis, (names, points) in zip(axes, space.axes):
            texts = [_text(value).encode() for point in points for value in point]
            axis.fields = (ctypes.c_char_p * len(names))(*[name.encode() for name in names])
            axis.values = (ctypes.c_char_p * len(texts))(*texts)
            axis.field_count, axis.value_count = len(names), len(points)
            keep.append((axis.fields, axis.values))
        definition = _native.Definition(
            ctypes.sizeof(_native.Definition), kernel.name.encode(), kernel.signature.encode(), kernel._flops.encode(),
            kernel._at, arguments, len(arguments), fields, len(fields), axes, len(axes), space.class_text.encode(),
            _RECORD, _ADMITS if space.conditions else _native.ADMITS(), self.number, _RELEASE)
        handle = c_void_p()
        _definitions[self.number] = self
        try:
            check(_native.define, byref(definition), byref(handle))
        except Error:
            _definitions.pop(self.number)
            raise
        return handle


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_text(kind: Any, text: str) -> Any:
    """The value of a field of a type, from its text."""
    return text == "true" if kind is bool else kind(text)


# ---- parameters from annotations and signatures


def _where(function: Callable[..., Any]) -> str:
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}: "


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations of a function, which are text with `from __future__ import annotations`."""
    found = dict(function.__annotations__)
    if any(isinstance(value, str) for value in found.values()):
        names = dict(zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__ or ())))
        for name, value in found.items():
            if isinstance(value, str):
                try:
                    found[name] = eval(value, function.__globals__, names)  # as typing.get_type_hints does
                except Exception as error:
                    raise refuse("PS1014", f"{_where(function)}the annotation `{value}` of `{name}` cannot be read: {error}",
                                 "names in annotations must be known where the kernel is defined") from None
    return found


def _described(signature: str) -> list[dict[str, Any]]:
    """Name, sizes and whether it is a tensor, of each argument of a signature."""
    text = c_void_p()
    check(_native.read_signature, signature.encode(), byref(text))
    found: list[dict[str, Any]] = json.loads(take_text(text.value))
    return found


def _parameters(function: Callable[..., Any], names: list[str], signature: str,
                type_arguments: Mapping[Any, type[Element]]) -> list[_Parameter]:
    annotations = _annotations(function)
    described = _described(signature)
    where = _where(function)
    if len(described) != len(names):
        raise refuse("PS1014", f"{where}the signature \"{signature}\" names {len(described)} arguments and the kernel takes a "
                               f"block and {len(names)}: {', '.join(names)}",
                     "the first parameter is the block; then follow the tensors and scalars of the signature, in its order; "
                     "compile-time parameters have defaults and stand behind `*`: `def k(b, x: In[f32], *, block: int = 64)`")
    found = []
    for name, argument in zip(names, described):
        called, rank = argument["name"], len(argument["sizes"])
        if called != name:
            raise refuse("PS1014", f"{where}the signature \"{signature}\" has `{called}` where the kernel takes `{name}`",
                         "use the same names in the same order")
        annotation = annotations.get(name)
        if annotation is None:
            raise refuse("PS1014", f"{where}the parameter `{name}` has no annotation",
                         f"annotate it: `{name}: In[f16]`, Out[..] or InOut[..] for a tensor, `Scalar[f32]` or `Index` for "
                         "a scalar")
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        element: Any = type_arguments.get(arguments[0], arguments[0]) if arguments else None
        chosen = isinstance(element, type) and issubclass(element, Element) and hasattr(element, "code")
        if origin not in (In, Out, InOut, Scalar, Value) or not (chosen or isinstance(element, typing.TypeVar)):
            raise refuse("PS1014", f"{where}the annotation `{getattr(annotation, '__name__', annotation)}` of `{name}` is not "
                                   "one of a kernel's parameter",
                         "use In[f32], Out[f32] or InOut[f32] with an element type of penstock.lang for tensors, Scalar[f32] or "
                         "Index for scalars; the signature states the rank. What is known at compile time is a keyword-only "
                         "parameter or a field")
        tensor = issubclass(origin, Tensor)
        if tensor != argument["tensor"]:
            raise refuse("PS1014", f"{where}`{name}` is a {'tensor' if tensor else 'scalar'} of the kernel and a "
                                   f"{'tensor' if argument['tensor'] else 'scalar'} of the signature \"{signature}\"",
                         "name one size for each dimension of a tensor, as in \"A[M,K]\"; a scalar is a bare name")
        if tensor and rank > 5:
            raise refuse("PS1014", f"{where}`{name}` has rank {rank}", "tensors have one to five dimensions")
        found.append(_Parameter(name, typing.cast("type[Element]", element), origin if tensor else None, tuple(argument["sizes"])))
    return found


# ---- kernels


class Kernel(_kernels.Kernel):
    """A kernel in Python. Call it with tensors, or with fields to change their defaults.

    It has all methods of the kernels of a C++ library: compile, explain, timeline, check, tune.
    """

    def __init__(self, function: Callable[..., Any], signature: str, flops: str, space: Space | None, name: str,
                 values: Mapping[str, Any] | None = None, type_arguments: tuple[type[Element], ...] = (),
                 tune: str = "", constants: tuple[str, ...] = ()):
        self._function, self._flops, self._space = function, flops, space
        self._given_name, self._type_arguments = name, type_arguments
        self._tune, self._constants = tune, constants
        if tune not in ("", "measure") or (tune and space is None):
            raise refuse("PS1014", f"the option tune={tune!r} of a kernel" + ("" if space else " without a space"),
                         "it is \"measure\", and `space` states the fields that vary")
        self._changed = dict(values or {})
        is_class = isinstance(function, type)
        call: Any = getattr(function, "__call__") if is_class else function
        if not isinstance(call, types.FunctionType):
            raise refuse("PS1014", f"{getattr(function, '__name__', function)!r} is not a kernel",
                         "decorate a function, or a class with a method `__call__(self, b: pl.Block, ..)`")
        self._body = call
        parameters = list(inspect.signature(call).parameters.values())[1 if is_class else 0:]
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if not positional:
            raise refuse("PS1014", f"{_where(call)}the kernel takes no block", "its first parameter is `b: pl.Block`")
        self._types = self._bind_types(function)
        self._defaults = self._find_fields(function if is_class else None, parameters)
        self._values = {**self._defaults, **self._checked(self._changed)}
        self._parameters = _parameters(call, [p.name for p in positional[1:]], signature, self._types)
        both = [p.name for p in self._parameters if p.name in self._values]
        if both:
            raise refuse("PS1014", f"{_where(call)}`{both[0]}` is a parameter and a field", "rename one of them")
        self.signature = signature
        self.name = name or "_".join([function.__name__, *(t.__name__ for t in type_arguments)])
        self.file, self.line = call.__code__.co_filename, call.__code__.co_firstlineno
        self._at = _location.of_function(call)
        self.fields = {n: _text(v) for n, v in self._values.items() if type(v) in _TYPES}
        self._lock = threading.Lock()
        self._definition: _Definition | None = None
        self._library: Any = None
        self._compiled: dict[Any, _kernels.CompiledKernel] = {}
        self.target = ""  #: of calls; empty: the device of the tensors
        functools.update_wrapper(self, function, assigned=("__doc__", "__module__", "__qualname__"), updated=())

    def _bind_types(self, function: Any) -> dict[Any, type[Element]]:
        variables = getattr(function, "__parameters__", ())
        if self._type_arguments and not (len(variables) == len(self._type_arguments) and all(
                isinstance(t, type) and issubclass(t, Element) for t in self._type_arguments)):
            raise refuse("PS1014", f"`{function.__name__}` has {len(variables)} type parameters",
                         "give one element for each, as in MatmulOf[pl.bf16]" if variables else
                         "`kernel[..]` selects element types of a generic kernel; the kernel states its grid itself: call "
                         "kernel(x, y)")
        return dict(zip(variables, self._type_arguments))

    @staticmethod
    def _find_fields(of_class: Any, parameters: list[inspect.Parameter]) -> dict[str, Any]:
        if of_class is not None:
            blank = of_class()
            return {f.name: getattr(blank, f.name) for f in dataclasses.fields(of_class)}
        named = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
        for p in named:
            if p.default is p.empty:
                raise refuse("PS1014", f"the field `{p.name}` has no default value", f"give it one: `{p.name}: int = 64`")
        return {p.name: p.default for p in named}

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for name, value in values.items():
            if name not in self._defaults:
                raise refuse("PS1006", f"the kernel has no field `{name}`",
                             "it has: " + ", ".join(self._defaults) if self._defaults else "it has none")
            default = self._defaults[name]
            if type(default) is float and isinstance(value, numbers.Real):
                value = float(value)
            elif type(default) is int and isinstance(value, numbers.Integral) and not isinstance(value, bool):
                value = int(value)  # of numpy
            if type(default) in _TYPES and type(value) is not type(default):
                raise refuse("PS1006", f"{value!r} is not a value of the field `{name}`",
                             f"it is {'an' if type(default) is int else 'a'} {type(default).__name__}")
            found[name] = value
        return found

    def _view(self, values: Mapping[str, Any]) -> Any:
        """An object with the fields."""
        if isinstance(self._function, type):
            return self._function(**values)
        return types.SimpleNamespace(**values)

    def _call(self, block: Block, arguments: list[Any], values: dict[str, Any]) -> Any:
        if isinstance(self._function, type):
            return self._view(values)(block, *arguments)
        return self._function(block, *arguments, **values)

    # ---- the library interface

    @property
    def library(self) -> Any:  # type: ignore[override]
        """The definition in the C library, made when it is first needed."""
        with self._lock:
            if self._library is None:
                if getattr(self._function, "__parameters__", ()) and not self._type_arguments:
                    raise refuse("PS1014", f"the kernel `{self.name}` has no element type",
                                 f"choose one: {self.name}[pl.bf16]")
                self._definition = _Definition(self._detached())
                self._library = _kernels.Library(self._definition.define().value)
        return self._library

    def _detached(self) -> "Kernel":
        """A kernel for the definition. It does not keep the library alive, which ends the definition."""
        made: Kernel = object.__new__(Kernel)
        made.__dict__.update(self.__dict__)
        return made

    @contextlib.contextmanager
    def _raising(self) -> Iterator[None]:
        """Raises the exception of a kernel function in place of what the library reports."""
        self.library
        definition = self._definition
        assert definition is not None
        failed: BaseException | None = None
        try:
            yield
        except Exception as error:
            failed = error
        with definition.lock:
            raised, definition.error = definition.error, None
        if raised is not None:
            raise raised
        if failed is not None:
            raise failed

    def program(self, *, fix: Mapping[str, int] | None = None, **fields: Any) -> str:
        """The recorded tile program, as text."""
        options = compile_options("native", self._checked(fields), fix or {}, 0)
        text = c_void_p()
        with self._raising():
            check(_native.print_program, self.library._handle, self.name.encode(), byref(options), byref(text))
        return take_text(text.value).decode()

    def compile(self, target: str = "native", *, fix: Mapping[str, int] | None = None, contract: bool = False,
                late_completion: bool = False, check_barriers: bool = True, cache: bool = True,
                **fields: Any) -> _kernels.CompiledKernel:
        with self._raising():
            return super().compile(target, fix=fix, contract=contract, late_completion=late_completion,
                                   check_barriers=check_barriers, cache=cache, **self._checked(fields))
        raise AssertionError

    def _report(self, kind: str, target: str, fields: Mapping[str, Any], sizes: Mapping[str, float] | None = None,
                timings: int = 0) -> str:
        with self._raising():
            return super()._report(kind, target, self._checked(fields), sizes, timings)
        raise AssertionError

    def tune(self, target: str = "native", sizes: Mapping[str, float] | None = None) -> dict[str, Any]:
        """Tunes the kernel's space for sizes; winners are stored in the cache. The entry "fields" of the
        report has the fields of the fastest point: ``kernel(**report["fields"])``."""
        report = super().tune(target, sizes)
        texts = report["candidates"][report["best"]]["fields"] if report["best"] >= 0 else {}
        report["fields"] = {name: _of_text(type(self._values[name]), text) for name, text in texts.items()}
        return report

    # ---- calls

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """With tensors: compiles for their device, once, and runs. With fields alone: the kernel with
        other defaults, like ``with_fields``."""
        fields = {name: named.pop(name) for name in list(named) if name in self._values}
        known = {p.name for p in self._parameters}
        for name in named:
            if name not in known:
                raise refuse("PS1006", f"the kernel has no field or parameter `{name}`",
                             f"fields: {', '.join(self._values) or 'none'}; parameters: {', '.join(p.name for p in self._parameters)}")
        if fields and not arguments and not named:
            return self.with_fields(**fields)
        compiled = self._for_call((*arguments, *named.values()), fields)
        compiled(*arguments, **named)
        return None

    def _for_call(self, arguments: tuple[Any, ...], fields: dict[str, Any]) -> _kernels.CompiledKernel:
        target = self.target or _device_of(arguments)
        sizes = self._sizes(arguments) if self._tune or self._constants else {}
        fix = {name: int(sizes[name]) for name in self._constants}
        key = target, *fields.items(), *(sizes if self._tune else fix).items()
        compiled = self._compiled.get(key)
        if compiled is None:
            if self._tune:
                fields = {**self._fastest(target, sizes), **fields}
            compiled = self._compiled[key] = self.compile(target, fix=fix, **fields)
        return compiled

    def _sizes(self, arguments: tuple[Any, ...]) -> dict[str, float]:
        """Sizes of the signature and scalars, of the arguments of a call."""
        found: dict[str, float] = {}
        for parameter, argument in zip(self._parameters, arguments):
            if parameter.access is None:
                found[parameter.name] = float(argument)
            else:
                found.update((name, float(extent)) for name, extent in zip(parameter.sizes, argument.shape)
                             if not name.isdigit())
        missing = [name for name in self._constants if name not in found]
        if missing:
            raise refuse("PS1014", f"pl.const names `{missing[0]}`, which is not a size of \"{self.signature}\"",
                         "its sizes are: " + ", ".join(sorted({n for p in self._parameters for n in p.sizes})))
        return found

    def _fastest(self, target: str, sizes: Mapping[str, float]) -> dict[str, Any]:
        """Fields of the fastest point for these sizes. What was measured once is in the cache."""
        fields: dict[str, Any] = self.tune(target, sizes)["fields"]
        return fields

    def _changed_to(self, **changes: Any) -> "Kernel":
        """A copy with other arguments of the constructor."""
        given: dict[str, Any] = {
            "name": self._given_name, "values": self._changed, "type_arguments": self._type_arguments,
            "tune": self._tune, "constants": self._constants, **changes}
        return Kernel(self._function, self.signature, self._flops, self._space, **given)

    def with_fields(self, **fields: Any) -> "Kernel":
        """The same kernel with other defaults of its fields."""
        return self._changed_to(values={**self._changed, **fields})

    def __getitem__(self, elements: "type[Element] | tuple[type[Element], ...]") -> "Kernel":
        """A generic kernel for element types: ``MatmulOf[pl.bf16]``."""
        return self._changed_to(type_arguments=elements if isinstance(elements, tuple) else (elements,))

    def named(self, name: str) -> "Kernel":
        """The same kernel with another name in messages and artifacts."""
        return self._changed_to(name=name)

    def __reduce__(self) -> Any:
        return _restored, (self.__module__, self.__qualname__, self._given_name, self._changed, self._type_arguments)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.__dict__.get("_values", {}):
            return self._values[name]
        raise AttributeError(f"the kernel has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<penstock kernel {self.name}: {self.signature}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(n)}</td><td>{html.escape(t)}</td></tr>" for n, t in self.fields.items())
        try:
            plan = self.explain()
        except Error as error:
            plan = str(error)
        return (f"<p><b>{html.escape(self.name)}</b> <code>{html.escape(self.signature)}</code></p>"
                f"<table><tr><th>field</th><th>value</th></tr>{rows}</table><pre>{html.escape(plan)}</pre>")


def _device_of(arguments: tuple[Any, ...]) -> str:
    """Target for the device of the tensors."""
    for argument in arguments:
        device = getattr(argument, "__dlpack_device__", None)
        if device is not None and device()[0] == 2:  # kDLCUDA
            return "gpu"
    return "native"


def _restored(module: str, path: str, name: str, values: Mapping[str, Any],
              elements: tuple[type[Element], ...]) -> Kernel:
    """A kernel that was pickled: its path in a module, and what was changed."""
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    kernel: Kernel = found[elements] if elements else found
    kernel = kernel.with_fields(**values) if values else kernel
    return kernel if name == kernel._given_name else kernel.named(name)



def const(*sizes: str) -> Callable[[Kernel], Kernel]:
    """Makes sizes of the signature constants of the code that calls compile: ``pl.const("N", "K")(kernel)``,
    or a decorator above ``pl.kernel``. Each combination of their values is compiled once."""
    return lambda kernel: kernel._changed_to(constants=sizes)


def kernel(signature: str, *, flops: str = "", space: Space | None = None, name: str = "",
           tune: str = "") -> Callable[[Any], Kernel]:
    """Makes a kernel of a function or class.

    A function takes a block, then tensors and scalars in the order of the signature; keyword-only
    parameters are its fields. A class becomes a frozen dataclass whose fields are those of the
    kernel; its ``__call__`` is the function. `flops`: operations of a launch, as a formula of the
    sizes (`2*M*N*K`). `space`: values of fields for tuning. `tune="measure"`: the first call with some
    sizes measures the space, and calls use the fastest point.
    """
    if not isinstance(signature, str):
        raise refuse("PS1014", "pl.kernel needs a signature", "write `@pl.kernel(\"A[M,K], B[N,K] -> C[M,N]\")`")

    def decorate(function: Any) -> Kernel:
        varying = space
        if isinstance(function, type):
            found = function.__dict__.get("space")
            varying = found if varying is None and isinstance(found, Space) else varying
            if not dataclasses.is_dataclass(function):
                function = dataclasses.dataclass(frozen=True)(function)
        return Kernel(function, signature, flops, varying, name, tune=tune)

    return decorate


