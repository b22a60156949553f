"""Scalars, expressions over the elements of tiles, and mutable scalars.

The rules are those of scalar.h and tile.h: mixed element types are errors, except that
conditions widen to integers, and integers to indices and to wider integers.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Generic, TypeVar, Union

from ._elements import Element, boolean, converts_unsigned, index_t, widens
from ._location import at
from ._native import record, refs
from ._recording import VALUE_AS_BOOL, current, fail, stray

T = TypeVar("T", bound=Element)
To = TypeVar("To", bound=Element)

# Numbers of penstock::detail::Op.
(_ADD, _SUB, _MUL, _DIV, _REM, _CEIL_DIV, _MIN, _MAX, _AND, _OR, _XOR, _SHL, _SHR, _EQ, _NE, _LT, _LE, _GT, _GE, _NEG,
 _NOT, _ABS, _EXP, _EXP2, _LOG, _LOG2, _SQRT, _RSQRT, _TANH, _ERF, _SIN, _COS, _FLOOR, _CEIL, _ROUND) = range(35)

infinity = math.inf
"""Positive infinity; `-pl.infinity` is the start of a maximum."""

_NO_BOOL = (
    "use `with b.when(condition):` for `if`, `pl.select(c, x, y)` or `pl.where(c, x, y)` for `x if c else y`, "
    "`with b.loop_while(lambda: c):` for `while` on GPUs, `(a <= x) & (x < b)` for chained comparisons, `&`, `|` and `~` for `and`, `or` and `not`, `pl.min` and `pl.max`")


#: Methods and attributes of other libraries, and what is meant.
_METHODS = {
    "to": "convert with pl.cast(T, x)", "astype": "convert with pl.cast(T, x)", "dtype": "its element type is `x.element`",
    "T": "use pl.transposed(tile)", "trans": "use pl.transposed(tile)", "sum": "use b.reduce(pl.Sum, tile, 1, target)",
    "max": "use b.reduce(pl.Max, tile, 1, target)", "min": "use b.reduce(pl.Min, tile, 1, target)",
    "set": "a scalar is immutable: make it a variable with b.var(T, value)"}


class Value(Generic[T]):
    """A value of the kernel: a scalar, a tile, or an expression with a value for each element of a
    tile."""

    # Classes of values are siblings: with a subclass on the right, Python would compare the other
    # way round.
    __slots__ = ("ref", "element", "elementwise", "scope")
    ref: int
    element: type[T]
    elementwise: bool
    scope: int

    def _operand(self, location: int) -> "Value[T]":
        """The value where it is used; a variable is loaded."""
        return self

    def __repr__(self) -> str:
        return f"<{self.element.__name__} of the kernel>"

    def __bool__(self) -> bool:
        fail("a value of the kernel is not known while the kernel is recorded", _NO_BOOL, VALUE_AS_BOOL)

    def __index__(self) -> int:
        fail("a value of the kernel is not a number of Python",
             "loop over it with `for i in b.range(n):`; shapes of tiles are numbers that are known when the kernel "
             "is compiled, e.g. fields", VALUE_AS_BOOL)

    __int__ = __index__

    def __float__(self) -> float:
        fail("a value of the kernel is not a number of Python",
             "use functions of penstock.lang, as pl.exp for math.exp, and convert with pl.cast(pl.f32, x)", VALUE_AS_BOOL)

    def __iter__(self) -> Any:
        fail("a value of the kernel cannot be iterated",
             "loop with `for i in b.range(n):`; a grid of one dimension gives one index: `i = b.grid(n)`")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        fail(f"a {self.element.__name__} of the kernel has no `{name}`",
             _METHODS.get(name, "operations are functions of penstock.lang, as pl.exp(x), and methods of the block"))

    def __add__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_ADD, self, other)

    def __radd__(self, other: float) -> "Value[T]":
        return _binary(_ADD, other, self)

    def __sub__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_SUB, self, other)

    def __rsub__(self, other: float) -> "Value[T]":
        return _binary(_SUB, other, self)

    def __mul__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_MUL, self, other)

    def __rmul__(self, other: float) -> "Value[T]":
        return _binary(_MUL, other, self)

    def __truediv__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_DIV, self, other, "float")

    def __rtruediv__(self, other: float) -> "Value[T]":
        return _binary(_DIV, other, self, "float")

    def __floordiv__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_DIV, self, other, "int")

    def __rfloordiv__(self, other: int) -> "Value[T]":
        return _binary(_DIV, other, self, "int")

    def __mod__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_REM, self, other)

    def __rmod__(self, other: float) -> "Value[T]":
        return _binary(_REM, other, self)

    def __and__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_AND, self, other)

    def __rand__(self, other: int) -> "Value[T]":
        return _binary(_AND, other, self)

    def __or__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_OR, self, other)

    def __ror__(self, other: int) -> "Value[T]":
        return _binary(_OR, other, self)

    def __xor__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_XOR, self, other)

    def __rxor__(self, other: int) -> "Value[T]":
        return _binary(_XOR, other, self)

    def __lshift__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_SHL, self, other)

    def __rlshift__(self, other: int) -> "Value[T]":
        return _binary(_SHL, other, self)

    def __rshift__(self, other: "Operand[T]") -> "Value[T]":
        return _binary(_SHR, self, other)

    def __rrshift__(self, other: int) -> "Value[T]":
        return _binary(_SHR, other, self)

    def __eq__(self, other: object) -> "Value[boolean]":  # type: ignore[override]
        return _compare(_EQ, self, other)

    def __ne__(self, other: object) -> "Value[boolean]":  # type: ignore[override]
        return _compare(_NE, self, other)

    def __lt__(self, other: "Operand[T]") -> "Value[boolean]":
        return _compare(_LT, self, other)

    def __le__(self, other: "Operand[T]") -> "Value[boolean]":
        return _compare(_LE, self, other)

    def __gt__(self, other: "Operand[T]") -> "Value[boolean]":
        return _compare(_GT, self, other)

    def __ge__(self, other: "Operand[T]") -> "Value[boolean]":
        return _compare(_GE, self, other)

    __hash__ = object.__hash__

    def __neg__(self) -> "Value[T]":
        location = at()
        value = self._operand(location)
        if value.element.kind not in ("float", "int"):
            fail(f"`-` of {value.element.__name__}", "it is for numbers", at=location)
        return Computed(record.unary(_NEG, value.ref, location), value.element, value.elementwise, location)

    def __pos__(self) -> "Value[T]":
        return self

    def __invert__(self) -> "Value[T]":
        location = at()
        value = self._operand(location)
        if value.element is not boolean:
            fail(f"`~` of {value.element.__name__}", "it is `not` for conditions; for integers, use `x ^ -1`",
                 at=location)
        return Computed(record.unary(_NOT, value.ref, location), value.element, value.elementwise, location)

    def __pow__(self, other: object) -> "Value[T]":
        fail("kernels have no `**`", "use `x * x`, or `pl.exp2(y * pl.log2(x))`")

    def __matmul__(self, other: object) -> "Value[T]":
        fail("kernels have no `@`", "use `b.gemm(A, B, acc)`, which adds the product to a tile")

    def __abs__(self) -> "Value[T]":
        return abs(self)

    def _immutable(self, other: object) -> Any:
        fail("a scalar of the kernel is immutable",
             "make it a variable: `x = b.var(T, value)`, then `x += ..` and `x.set(..)`")

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __iand__ = __ior__ = __ixor__ = _immutable


Operand = Union[Value[T], float]
"""A value of the kernel of an element type, or a number of Python."""
Index = Value[index_t]
"""Annotation of an index argument, and the type of sizes, positions and offsets."""


class Computed(Value[T]):
    """A scalar or an expression."""

    __slots__ = ()

    def __init__(self, ref: int, element: type[T], elementwise: bool = False, location: int = 0):
        """`location`: of a call or operator that does nothing else."""
        if not ref:
            stray()
        self.ref = ref
        self.element = element
        self.elementwise = elementwise
        recording = current()
        self.scope = recording.scopes[-1]
        if location:
            recording.expressions.append(location)


class Scalar(Value[T]):
    """Annotation of a scalar parameter of a kernel, e.g. ``scale: Scalar[f32]``."""


class Var(Value[T]):
    """A mutable scalar. It behaves like a variable when the kernel runs, also in loops."""

    __slots__ = ()

    def __init__(self, ref: int, element: type[T]):
        self.ref = ref
        self.element = element
        self.elementwise = False
        self.scope = current().scopes[-1]

    def _operand(self, location: int) -> Value[T]:
        return Computed(record.load(self.ref, None, 0, location), self.element)

    def get(self) -> Value[T]:
        """The value at this point; later assignments do not change it."""
        return self._operand(at())

    def set(self, value: Operand[T]) -> None:
        """Assigns a value."""
        location = at()
        record.store(as_scalar(value, self.element, location), self.ref, None, 0, location)

    def _update(self, op: int, other: Any) -> Any:
        location = at()
        value = as_scalar(other, self.element, location)
        old = record.load(self.ref, None, 0, location)
        new = record.binary(op, self.element.unsigned, old, value, location)
        record.store(new, self.ref, None, 0, location)
        return self

    def __iadd__(self, other: "Operand[T] | Value[boolean]") -> "Var[T]":  # type: ignore[override]
        return self._update(_ADD, other)  # type: ignore[no-any-return]

    def __isub__(self, other: "Operand[T] | Value[boolean]") -> "Var[T]":  # type: ignore[override]
        return self._update(_SUB, other)  # type: ignore[no-any-return]

    def __imul__(self, other: "Operand[T] | Value[boolean]") -> "Var[T]":  # type: ignore[override]
        return self._update(_MUL, other)  # type: ignore[no-any-return]

    def __ixor__(self, other: "Operand[T] | Value[boolean]") -> "Var[T]":  # type: ignore[override]
        return self._update(_XOR, other)  # type: ignore[no-any-return]

    def __ior__(self, other: "Operand[T] | Value[boolean]") -> "Var[T]":  # type: ignore[override]
        return self._update(_OR, other)  # type: ignore[no-any-return]

    def __iand__(self, other: "Operand[T] | Value[boolean]") -> "Var[T]":  # type: ignore[override]
        return self._update(_AND, other)  # type: ignore[no-any-return]


# ---- conversions


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) or isinstance(value, numbers.Real)  # also those of numpy


def describe(value: object) -> str:
    if isinstance(value, Value):
        return value.element.__name__
    return type(value).__name__


def literal(value: Any, element: type[Element], location: int) -> int:
    """A number of Python as a constant. Each constant is recorded once."""
    literals = current().literals
    key = value, element, value.__class__
    ref = literals.get(key)
    if ref is None or value == 0:  # 0.0 and -0.0 are equal
        ref = literals[key] = _literal(value, element, location)
    return ref


def _literal(value: Any, element: type[Element], location: int) -> int:
    if element.kind == "float":
        ref: int = record.real(element.code, float(value), location)
        return ref
    if not isinstance(value, numbers.Integral) or element.kind == "packed":
        fail(f"{value!r} is a number where {_an(element)} is needed",
             "use an integer, or convert with pl.cast(T, x)" if isinstance(value, float) else
             "unpack the tile with b.unpack(packed, values)", at=location)
    number = int(value)
    if not -2**63 <= number < 2**63:
        fail(f"{value} does not fit into 64 bits", at=location)
    ref = record.integer(element.code, number, location)
    return ref


def _an(element: type[Element]) -> str:
    name = element.__name__
    return ("an " if name[0] in "aeiou" or name.startswith(("f8", "f16", "f32", "f64", "i")) else "a ") + name


def operand(value: Any, location: int) -> Value[Any]:
    """A value of the kernel as an operand."""
    if not isinstance(value, Value):
        fail(f"a {describe(value)} of Python is not a value of the kernel",
             "operations such as b.copy and b.gemm return nothing: they write their target" if value is None else
             "b.grid of several dimensions gives several indices: `i, j = b.grid(m, n)`" if isinstance(value, tuple) else
             "read an element of a tensor with A.load(i), and copy a part to a tile with b.copy(A.at(i), tile)"
             if type(value).__name__ in ("In", "Out", "InOut", "TensorSlice") else
             "operands are tiles, scalars, expressions and numbers", at=location)
    return value._operand(location)


def as_scalar(value: Any, element: type[Element], location: int) -> int:
    """Reference to a scalar of an element type."""
    if is_number(value):
        return literal(value, element, location)
    found = operand(value, location)
    if found.elementwise:
        fail(f"an expression over a tile is used where a scalar {element.__name__} is needed",
             "load one element with b.load(tile, i)", at=location)
    return _converted(found, element, location)


def as_expression(value: Any, element: type[Element], location: int) -> int:
    """Reference to a scalar or an expression of an element type."""
    if is_number(value):
        return literal(value, element, location)
    return _converted(operand(value, location), element, location)


def _converted(value: Value[Any], element: type[Element], location: int) -> int:
    source = value.element
    if source is element:
        return value.ref
    if not value.elementwise and widens(source, element):
        ref: int = record.convert(value.ref, element.code, source.unsigned, location)
        return ref
    fail(f"the value is {_an(source)} where {_an(element)} is needed",
         f"convert it with pl.cast(pl.{element.__name__}, x)", at=location)


def _common(a: Any, b: Any, location: int) -> tuple[Value[Any], Value[Any]]:
    """Two operands with one element type."""
    if is_number(a):
        b = operand(b, location)
        return Computed(literal(a, b.element, location), b.element), b
    a = operand(a, location)
    if is_number(b):
        return a, Computed(literal(b, a.element, location), a.element)
    b = operand(b, location)
    if a.element is b.element:
        return a, b
    if not b.elementwise and widens(b.element, a.element):
        return a, Computed(_converted(b, a.element, location), a.element)
    if not a.elementwise and widens(a.element, b.element):
        return Computed(_converted(a, b.element, location), b.element), b
    fail(f"the operands have different element types, {a.element.__name__} and {b.element.__name__}",
         "convert one of them with pl.cast(T, x)", at=location)


_SYMBOLS = {
    _ADD: "+", _SUB: "-", _MUL: "*", _DIV: "/", _REM: "%", _AND: "&", _OR: "|", _XOR: "^", _SHL: "<<", _SHR: ">>",
    _LT: "<", _LE: "<=", _GT: ">", _GE: ">=", _EQ: "==", _NE: "!=", _MIN: "pl.min", _MAX: "pl.max"}
_OF_CONDITIONS = (_AND, _OR, _EQ, _NE)
_OF_INTEGERS = (_AND, _OR, _XOR, _SHL, _SHR)


def _binary(op: int, a: Any, b: Any, kind: str = "") -> Value[Any]:
    location = at()
    x, y = _common(a, b, location)
    element, elementwise = x.element, x.elementwise or y.elementwise
    if kind and element.kind != kind:
        fail(f"`{'/' if kind == 'float' else '//'}` of {element.__name__}",
             "integers are divided by `//`, which truncates as C does" if kind == "float" else "use `/`", at=location)
    _check_operator(op, element, elementwise, location)
    return Computed(record.binary(op, element.unsigned, x.ref, y.ref, location), element, elementwise, location)


def _compare(op: int, a: Any, b: Any) -> Value[boolean]:
    location = at()
    x, y = _common(a, b, location)
    elementwise = x.elementwise or y.elementwise
    _check_operator(op, x.element, elementwise, location)
    return Computed(record.binary(op, x.element.unsigned, x.ref, y.ref, location), boolean, elementwise, location)


def _check_operator(op: int, element: type[Element], elementwise: bool, location: int) -> None:
    """Refuses operators that the headers do not have for an element type."""
    if element.kind == "packed":
        fail(f"`{_SYMBOLS[op]}` of {element.__name__}", "packed elements are not numbers; unpack the tile with "
             "b.unpack(packed, values)", at=location)
    if element is boolean and (op not in _OF_CONDITIONS or (elementwise and op in (_EQ, _NE))):
        fail(f"`{_SYMBOLS[op]}` of conditions", "conditions are combined by `&`, `|` and `~`", at=location)
    if op in _OF_INTEGERS and element.kind == "float":
        fail(f"`{_SYMBOLS[op]}` of {element.__name__}", "it is for integers and conditions", at=location)
    if op in (_SHL, _SHR) and elementwise:
        fail(f"`{_SYMBOLS[op]}` of the elements of a tile",
             "multiply or divide by a power of two", at=location)


def _of_elements(name: str, op: int, x: Value[T]) -> Value[T]:
    location = at()
    value = operand(x, location)
    if not value.elementwise:
        fail(f"`pl.{name}` of a scalar", "it is for elements of tiles; keep the scalar in a tile", at=location)
    if value.element.kind not in ("float", "int"):
        fail(f"`pl.{name}` of {value.element.__name__}", "it is for numbers", at=location)
    return Computed(record.unary(op, value.ref, location), value.element, True, location)


def abs(x: Value[T]) -> Value[T]:
    """Magnitude of each element."""
    return _of_elements("abs", _ABS, x)


def exp(x: Value[T]) -> Value[T]:
    """e to the power of each element."""
    return _of_elements("exp", _EXP, x)


def exp2(x: Value[T]) -> Value[T]:
    """2 to the power of each element."""
    return _of_elements("exp2", _EXP2, x)


def log(x: Value[T]) -> Value[T]:
    """Natural logarithm of each element."""
    return _of_elements("log", _LOG, x)


def log2(x: Value[T]) -> Value[T]:
    """Binary logarithm of each element."""
    return _of_elements("log2", _LOG2, x)


def sqrt(x: Value[T]) -> Value[T]:
    """Square root of each element."""
    return _of_elements("sqrt", _SQRT, x)


def rsqrt(x: Value[T]) -> Value[T]:
    """Reciprocal square root of each element."""
    return _of_elements("rsqrt", _RSQRT, x)


def tanh(x: Value[T]) -> Value[T]:
    """Hyperbolic tangent of each element."""
    return _of_elements("tanh", _TANH, x)


def erf(x: Value[T]) -> Value[T]:
    """Error function of each element."""
    return _of_elements("erf", _ERF, x)


def sin(x: Value[T]) -> Value[T]:
    """Sine of each element."""
    return _of_elements("sin", _SIN, x)


def cos(x: Value[T]) -> Value[T]:
    """Cosine of each element."""
    return _of_elements("cos", _COS, x)


def floor(x: Value[T]) -> Value[T]:
    """Largest integer that is not above each element."""
    return _of_elements("floor", _FLOOR, x)


def ceil(x: Value[T]) -> Value[T]:
    """Smallest integer that is not below each element."""
    return _of_elements("ceil", _CEIL, x)


def round(x: Value[T]) -> Value[T]:
    """Nearest integer of each element; ties go to even ones."""
    return _of_elements("round", _ROUND, x)


def min(a: Operand[T], b: Operand[T]) -> Value[T]:
    """The smaller value. Propagates NaN."""
    return _binary(_MIN, a, b)


def max(a: Operand[T], b: Operand[T]) -> Value[T]:
    """The larger value. Propagates NaN."""
    return _binary(_MAX, a, b)


def ceil_div(a: "Operand[Any]", b: "Operand[Any]") -> Index:
    """Rounds a / b up, for a >= 0 and b > 0."""
    location = at()
    x, y = as_scalar(a, index_t, location), as_scalar(b, index_t, location)
    return Computed(record.binary(_CEIL_DIV, 0, x, y, location), index_t)


def fast_divmod(a: "Operand[Any]", b: "Operand[Any]") -> tuple[Index, Index]:
    """Quotient and remainder by a launch constant, equal to `//` and `%`. The multiplier that
    replaces the division is computed once per launch."""
    location = at()
    result = refs([0, 0])
    record.divmod(as_scalar(a, index_t, location), as_scalar(b, index_t, location), result, location)
    return Computed(result[0], index_t), Computed(result[1], index_t)


def _element_of(values: tuple[Any, ...], location: int) -> Any:
    for value in values:
        if isinstance(value, Value):
            return value.element
    fail("neither of the values has an element type", "one of them is a value of the kernel: pl.select(c, x, 0)",
         at=location)


def select(condition: "Operand[boolean]", x: Operand[T], y: Operand[T]) -> Value[T]:
    """`x if condition else y` for scalars of the kernel."""
    location = at()
    element = _element_of((x, y), location)
    refs_ = [as_scalar(condition, boolean, location), as_scalar(x, element, location), as_scalar(y, element, location)]
    return Computed(record.select(*refs_, location), element)


def where(condition: Value[boolean], x: Operand[T], y: Operand[T]) -> Value[T]:
    """`x if condition else y` for each element."""
    location = at()
    element = _element_of((x, y), location)
    chosen = as_expression(condition, boolean, location)
    return Computed(
        record.select(chosen, as_expression(x, element, location), as_expression(y, element, location), location),
        element, True)


def cast(to: type[To], value: Operand[Any]) -> Value[To]:
    """Converts a scalar or each element: rounds floating point to nearest even, truncates floating
    point to integers toward zero and saturates there. A number becomes a constant of the kernel."""
    location = at()
    to = element_type(to, location)
    if is_number(value):
        return Computed(literal(value, to, location), to)
    source = operand(value, location)
    if "packed" in (source.element.kind, to.kind):
        fail("packed elements are not numbers", "unpack the tile with b.unpack(packed, values)", at=location)
    ref = record.convert(source.ref, to.code, converts_unsigned(source.element, to), location)
    return Computed(ref, to, source.elementwise, location)


def element_type(given: Any, location: int) -> Any:
    """An element type, also for the TypeVar of a generic kernel."""
    if isinstance(given, TypeVar):
        given = current().types.get(given, given)
    if not (isinstance(given, type) and issubclass(given, Element) and hasattr(given, "code")):
        fail(f"{given!r} is not an element type", "element types are pl.f16, pl.bf16, pl.f32, pl.i32, ..", at=location)
    return given


def as_index(value: Any, location: int) -> int:
    if isinstance(value, float):
        fail(f"{value} is used as an index", "use an integer: `//` divides integers", at=location)
    return as_scalar(value, index_t, location)


__all__ = [
    "Index", "Operand", "Scalar", "Value", "Var", "abs", "cast", "ceil", "ceil_div", "cos", "erf", "exp", "exp2",
    "fast_divmod", "floor", "infinity", "log", "log2", "max", "min", "round", "rsqrt", "select", "sin", "sqrt", "tanh",
    "where"]
