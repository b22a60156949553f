"""Wrong kernels in Python: code, line, message and help of each error.

The line that an error must name ends in `# error`.
"""

import inspect
import sys
import unittest

import penstock
import penstock.lang as pl
from penstock.lang import _values
from penstock.lang import In, InOut, Out, Scalar, f16, f32, f4e2m1x2, f64, i32, u32

CASES = []


def misuse(code, message, help="", signature="A[M,N], n, s -> C[M,N]"):
    """A kernel function that is wrong. It takes a block, an input, an index, a scalar and a result."""

    def add(function):
        CASES.append((function, code, message, help, signature))
        return function

    return add


def needs_columns(function):
    """Python before 3.11 does not know the column of a call: the error is not found."""
    function.needs_columns = True
    return function


# ---- values as conditions of Python


@misuse("PS1012", "not known while the kernel is recorded", "with b.when(condition)")
def if_of_a_value(b, A, n, s, C):
    if n > 3:  # error
        b.threads(128)


@misuse("PS1012", "not known while the kernel is recorded", "pl.select")
def conditional_expression(b, A, n, s, C):
    return 1 if n > 3 else 2  # error


@misuse("PS1012", "not known while the kernel is recorded", "(a <= x) & (x < b)")
def chained_comparison(b, A, n, s, C):
    b.require(0 < n < 5, "in range")  # error


@misuse("PS1012", "not known", "`&`, `|` and `~`")
def and_of_values(b, A, n, s, C):
    b.require((n > 0) and (n < 5), "in range")  # error


@misuse("PS1012", "not known", "`&`, `|` and `~`")
def not_of_a_value(b, A, n, s, C):
    b.require(not (n > 0), "negative")  # error


@misuse("PS1012", "not known", "pl.min")
def builtin_min(b, A, n, s, C):
    m = min(n, 5)  # error
    b.grid(m)


@misuse("PS1012", "not a number of Python", "b.range(n)")
def range_of_python(b, A, n, s, C):
    for i in range(n):  # error
        b.threads(128)


@misuse("PS1012", "not a number of Python", "pl.cast(pl.f32, x)")
def float_of_a_value(b, A, n, s, C):
    float(s)  # error


@misuse("PS1012", "not known", "with b.when")
def while_of_a_value(b, A, n, s, C):
    while n > 0:  # error
        break


@misuse("PS1012", "not known", "with b.when")
def assert_of_a_value(b, A, n, s, C):
    assert n > 0  # error


# ---- names that are bound again


@misuse("PS1013", "`offset` was a value of the kernel before this loop", "offset = b.var(T, ..)")
def reassigned_in_a_loop(b, A, n, s, C):
    offset = n * 2
    for k in b.range(4):  # error
        offset = offset + k


@misuse("PS1013", "`x` was a value of the kernel before this condition", "x.set(..)")
def reassigned_in_a_condition(b, A, n, s, C):
    x = n + 1
    with b.when(n > 0):  # error
        x = n + 2
    b.require(x > 0, "positive")


@misuse("PS1013", "`now` was a tile before this loop", "copy the tile")
def swapped_tiles(b, A, n, s, C):
    now = b.local(f32, 8, 8)
    then = b.local(f32, 8, 8)
    for k in b.range(4):  # error
        b.set(now, then + 1)
        now, then = then, now


@misuse("PS1013", "before this statement")
def reassigned_in_a_statement(b, A, n, s, C):
    t = b.local(f32, 8)
    x = n + 1
    for k in b.range(2):
        with b.statement("first"):  # error
            b.fill(t, 0)
            x = n + k
        b.require(x > 0, "positive")


# ---- leaving scopes


@misuse("PS1001", "was left before its end, by break or return", "with b.when")
def break_in_a_loop(b, A, n, s, C):
    t = b.local(f32, 8)
    for k in b.range(4):  # error
        b.fill(t, 0)
        break


@misuse("PS1001", "was left before its end, by break or return")
def return_in_a_loop(b, A, n, s, C):
    t = b.local(f32, 8)
    for k in b.range(4):  # error
        b.fill(t, 0)
        return


@misuse("PS1001", "`return` in line")
def return_in_a_condition(b, A, n, s, C):
    with b.when(n > 0):  # error
        return


@misuse("PS1001", "`break` in line")
def break_in_a_condition(b, A, n, s, C):
    for i in range(3):
        with b.when(n > i):  # error
            break


@misuse("PS1001", "`continue` in line")
def continue_in_a_condition(b, A, n, s, C):
    for k in b.range(3):
        with b.when(k > 1):  # error
            continue


@misuse("PS0106", "`otherwise` does not follow a condition", "directly after")
def otherwise_alone(b, A, n, s, C):
    with b.otherwise():  # error
        b.sync()


@misuse("PS0106", "`otherwise` does not follow a condition", "directly after")
def otherwise_after_something(b, A, n, s, C):
    t = b.local(f32, 8)
    with b.when(n > 0):
        b.fill(t, 0)
    b.fill(t, 1)
    with b.otherwise():  # error
        b.fill(t, 2)


@misuse("PS1014", "is used twice", "in each `for`")
def loop_used_twice(b, A, n, s, C):
    loop = b.range(4)
    for k in loop:
        pass
    for k in loop:  # error
        pass


# ---- element types


@misuse("PS1014", "different element types, f32 and f64", "pl.cast(T, x)")
def mixed_tiles(b, A, n, s, C):
    x, y = b.local(f32, 8), b.local(f64, 8)
    b.set(x, x + y)  # error


@misuse("PS1014", "different element types, f32 and index_t")
def float_and_index(b, A, n, s, C):
    x = b.local(f32, 8)
    b.set(x, x * n)  # error


@misuse("PS1014", "different element types, i32 and u32")
def signed_and_unsigned(b, A, n, s, C):
    b.require(b.var(i32, 0) < b.var(u32, 0), "order")  # error


@misuse("PS1014", "where an index_t is needed", "pl.cast(pl.index_t, x)")
def float_as_an_index(b, A, n, s, C):
    b.grid(s)  # error


@misuse("PS1014", "1.5 is used as an index")
def number_as_an_index(b, A, n, s, C):
    b.grid(1.5)  # error


@misuse("PS1014", "`/` of index_t", "divided by `//`")
def true_division_of_integers(b, A, n, s, C):
    b.grid(n / 2)  # error


@misuse("PS1014", "`//` of f32", "use `/`")
def floor_division_of_floats(b, A, n, s, C):
    b.require(s // 2 > 0, "positive")  # error


@misuse("PS1014", "`&` of f32")
def bits_of_floats(b, A, n, s, C):
    b.require((s & 1) > 0, "odd")  # error


@misuse("PS1014", "`+` of conditions")
def sum_of_conditions(b, A, n, s, C):
    b.grid((n > 0) + (n > 1))  # error


@misuse("PS1014", "`<<` of the elements of a tile")
def shifted_tiles(b, A, n, s, C):
    t = b.local(i32, 8)
    b.set(t, t << 1)  # error


@misuse("PS1014", "`pl.exp` of a scalar")
def function_of_a_scalar(b, A, n, s, C):
    pl.exp(s)  # error


@misuse("PS1014", "an expression over a tile is used where a scalar", "b.load(tile, i)")
def expression_as_a_scalar(b, A, n, s, C):
    t = b.local(f32, 8)
    b.fill(t, t + 1)  # error


@misuse("PS1014", "`~` of i32", "x ^ -1")
def not_of_an_integer(b, A, n, s, C):
    ~b.var(i32, 0)  # error


@misuse("PS1014", "a str of Python is not a value of the kernel")
def text_as_an_operand(b, A, n, s, C):
    n + "1"  # error


@misuse("PS1014", "a scalar of the kernel is immutable", "b.var(T, value)")
def scalar_plus_assign(b, A, n, s, C):
    n += 1  # error


@misuse("PS1014", "kernels have no `**`", "x * x")
def power(b, A, n, s, C):
    n ** 2  # error


@misuse("PS1014", "kernels have no `@`", "b.gemm")
def matrix_product(b, A, n, s, C):
    x, y = b.local(f32, 8, 8), b.local(f32, 8, 8)
    x @ y  # error


@misuse("PS1014", "is not an element type", "pl.f16")
def python_type_as_an_element(b, A, n, s, C):
    b.local(float, 8)  # error


@misuse("PS1014", "`+` of f4e2m1x2", "b.unpack")
def packed_arithmetic(b, A, n, s, C):
    t = b.local(f4e2m1x2, 8, 8)
    u = b.local(f4e2m1x2, 8, 8)
    b.set(t, t + u)  # error


# ---- tiles and tensors


@misuse("PS1014", "an extent of a tile is a value of the kernel", "known when the kernel is compiled")
def dynamic_shape(b, A, n, s, C):
    b.local(f32, n)  # error


@misuse("PS1014", "a tile of rank 0")
def tile_without_extents(b, A, n, s, C):
    b.local(f32)  # error


@misuse("PS1102", "")
def wrong_shapes(b, A, n, s, C):
    x, y = b.local(f32, 8, 8), b.local(f32, 8, 4)
    b.copy(x, y)  # error


@misuse("PS1014", "a slice of 1 index in a tensor of rank 2")
def too_few_offsets(b, A, n, s, C):
    t = b.local(f32, 8, 8)
    b.copy(A.at(0), t)  # error


@misuse("PS1014", "tensors are not indexed by", "A.at(i, j)")
def indexed_tensor(b, A, n, s, C):
    A[0, 0]  # error


@misuse("PS1014", "elements of a tile are not assigned", "b.set")
def assigned_element(b, A, n, s, C):
    t = b.local(f32, 8)
    t[0] = 1  # error


@misuse("PS1014", "it is only read", "InOut")
def write_to_an_input(b, A, n, s, C):
    t = b.local(f32, 8, 8)
    b.fill(t, 0)
    b.copy(t, A.at(0, 0))  # error


@misuse("PS1014", "it is only written", "InOut")
def read_of_a_result(b, A, n, s, C):
    t = b.local(f32, 8, 8)
    b.copy(C.at(0, 0), t)  # error


@misuse("PS1013", "`k0` was 0 before this loop", "compute it from the index of the loop")
def number_that_is_advanced(b, A, n, s, C):
    t = b.local(f32, 8, 8)
    k0 = 0
    for _ in b.range(n):  # error
        b.copy(A.at(0, k0), t)
        k0 += 8


@misuse("PS1013", "`first` was True before this loop", "b.var")
def flag_of_the_first_iteration(b, A, n, s, C):
    t, v = b.local(f32, 8, 8), b.local(f32, 8)
    first = True
    for _ in b.range(n):  # error
        b.reduce(pl.Sum, t, 1, v, accumulate=not first)
        first = False


@misuse("PS1013", "`total` was 0.0 before this loop", "b.var")
def number_that_becomes_a_value(b, A, n, s, C):
    total = 0.0
    for i in b.range(n):  # error
        total = total + A.load(i, 0)
        b.store(C.at(i, 0), total)


@misuse("PS1013", "`p` was a slice of a tensor before this loop", "b.var")
def slice_that_is_advanced(b, A, n, s, C):
    t = b.local(f32, 8, 8)
    p = A.at(0, 0)
    for k in b.range(n):  # error
        b.copy(p, t)
        p = A.at(0, 8)


@misuse("PS1013", "`v` was 10.0 before this condition", "b.var")
def number_that_a_condition_changes(b, A, n, s, C):
    v = 10.0
    with b.when(n > 1000):  # error
        v = 20.0
    b.store(C.at(0, 0), v)


@misuse("PS1014", "this condition has no body", "with ..:")
def condition_without_with(b, A, n, s, C):
    b.when(n == 7)  # error
    b.store(C.at(0, 0), 1)


@misuse("PS1014", "this loop has no body", "for i in b.range")
def loop_without_for(b, A, n, s, C):
    b.range(n)  # error
    b.store(C.at(0, 0), 1)


@needs_columns
@misuse("PS1014", "the value of this expression is not used", "b.set(tile, value)")
def function_without_a_use(b, A, n, s, C):
    t = b.local(f32, 8, 8)
    b.copy(A.at(0, 0), t)
    pl.exp(t)  # error
    b.copy(t, C.at(0, 0))


@needs_columns
@misuse("PS1014", "the value of this expression is not used", "x.set(value)")
def operator_without_a_use(b, A, n, s, C):
    t = b.local(f32, 8, 8)
    b.copy(A.at(0, 0), t)
    for i in b.range(n):
        pl.max(t, 0) * 2  # error
    b.copy(t, C.at(0, 0))


@misuse("PS1014", "is not iterated", "with b.parallel(n) as i:")
def parallel_as_a_loop(b, A, n, s, C):
    for i in b.parallel(8):  # error
        b.store(C.at(i, 0), 1)


@misuse("PS1014", "of the kernel has no `to`", "pl.cast")
def method_of_another_library(b, A, n, s, C):
    b.local(f32, 8).to(f16)  # error


@misuse("PS1014", "a NoneType of Python", "return nothing")
def result_of_an_operation(b, A, n, s, C):
    t = b.local(f32, 8)
    b.set(t, b.fill(t, 0))  # error


@misuse("PS1014", "a tuple of Python", "i, j = b.grid(m, n)")
def tuple_of_indices(b, A, n, s, C):
    i = b.grid(4, 4)
    A.at(i, 0)  # error


@misuse("PS1014", "is not a tile, but a tensor", "b.shared")
def tensor_as_a_tile(b, A, n, s, C):
    b.fill(A, 0)  # error


@misuse("PS1014", "a broadcast takes a tile of rank 1", "dims(0)")
def broadcast_of_a_matrix(b, A, n, s, C):
    t = b.local(f32, 8, 8)
    b.set(t, pl.broadcast_rows(t))  # error


@misuse("PS1014", "is not a kind of reduction", "pl.Sum")
def wrong_reduction(b, A, n, s, C):
    t, v = b.local(f32, 8, 8), b.local(f32, 8)
    b.reduce(sum, t, 1, v)  # error


@misuse("PS1014", "a tile is not assigned by", "b.set(tile")
def tile_plus_assign(b, A, n, s, C):
    t = b.local(f32, 8)
    t += 1  # error


@misuse("PS1014", "a Barriers is used as a barrier", "full[slot]")
def array_of_barriers(b, A, n, s, C):
    full = b.mbarrier.alloc(2)
    b.mbarrier.wait(full, 0)  # error


@misuse("PS1014", "assigns tiles", "v.set")
def set_of_a_variable(b, A, n, s, C):
    v = b.var(f32, 0)
    b.set(v, 1)  # error


@misuse("PS1014", "a tile of index_t", "pl.i64")
def tile_of_indices(b, A, n, s, C):
    b.local(pl.index_t, 8)  # error


@misuse("PS1014", "an index has no storage", "pl.i64")
def variable_of_indices(b, A, n, s, C):
    b.var(pl.index_t, 0)  # error


@misuse("PS1002", "inside a loop, condition or statement that has ended")
def value_of_an_ended_loop(b, A, n, s, C):
    for k in b.range(4):
        last = k + 1
    b.require(last > 0, "positive")  # error


# ---- operations that the library does not have


@misuse("PS0106", "no operation on these operands has the number 99", "the same version as the library")
def unknown_function(b, A, n, s, C):
    t = b.local(f32, 16)
    _values._of_elements("f", 99, t)  # error


@misuse("PS0106", "no operation on these operands has the number 255", "the same version as the library")
def function_beyond_all_numbers(b, A, n, s, C):
    t = b.local(f32, 16)
    _values._of_elements("f", 256, t)  # error


@misuse("PS0106", "no operation on these operands has the number 0", "the same version as the library")
def addition_of_one_operand(b, A, n, s, C):
    t = b.local(f32, 16)
    _values._of_elements("f", _values._ADD, t)  # error


@misuse("PS0106", "no operation on these operands has the number", "the same version as the library")
def negation_of_two_operands(b, A, n, s, C):
    _values._binary(_values._NEG, n, 1)  # error


# ---- errors of the recorder, with fixes in Python


@misuse("PS1118", "does not have the shape of", "pl.broadcast_rows(v)")
def vector_as_a_matrix(b, A, n, s, C):
    t, v = b.local(f32, 8, 16), b.local(f32, 8)
    b.set(t, t - v)  # error


@misuse("PS1103", "", "pl.cast(pl.f32, ..)")
def arithmetic_of_scales(b, A, n, s, C):
    t = b.local(pl.f8e8m0, 8)
    b.set(t, t + t)  # error


@misuse("PS0106", "is not a name of a role", 'role="softmax"')
def wrong_role(b, A, n, s, C):
    with b.statement("first", role="a b"):  # error
        b.sync()


class Case(unittest.TestCase):
    def check_raises(self, run, code, message, help):
        with self.assertRaises(penstock.Error) as caught:
            run()
        found = caught.exception.diagnostics[0]
        self.assertEqual(found.code, code, str(caught.exception))
        self.assertIn(message, found.message)
        self.assertIn(help, " ".join(found.helps))
        return caught.exception


class Misuse(Case):
    pass


def _add(function, code, message, help, signature):
    def test(self):
        if hasattr(function, "needs_columns") and sys.version_info < (3, 11):
            self.skipTest("no columns")
        function.__annotations__ = {
            "b": pl.Block, "A": In[f32], "n": pl.Index, "s": Scalar[f32], "C": Out[f32]}
        kernel = pl.kernel(signature)(function)
        error = self.check_raises(kernel.program, code, message, help)
        lines, first = inspect.getsourcelines(function)
        expected = next(first + i for i, line in enumerate(lines) if line.rstrip().endswith("# error"))
        self.assertEqual(error.diagnostics[0].line, expected, str(error))
        self.assertEqual(error.diagnostics[0].file, __file__)
        self.assertIn("# error", str(error))  # the rendered source line
        self.assertIn("^", str(error))

    setattr(Misuse, "test_" + function.__name__, test)


for _case in CASES:
    _add(*_case)


class Definitions(Case):
    """Errors of the form of a kernel, and of calls outside of recordings."""

    def test_missing_annotation(self):
        def k(b, A, C: Out[f32]):
            pass

        error = self.check_raises(lambda: pl.kernel("A[N] -> C[N]")(k), "PS1014", "`A` has no annotation", "In[f16]")
        self.assertIn("misuse.py", str(error))

    def test_annotation_with_a_rank(self):
        with self.assertRaises(TypeError):
            In[f16, 2]

    def test_foreign_annotation(self):
        def k(b, A: int, C: Out[f32]):
            pass

        self.check_raises(lambda: pl.kernel("A[N] -> C[N]")(k), "PS1014", "annotation `int` of `A`", "keyword-only")

    def test_signature_with_other_names(self):
        def k(b, A: In[f32], C: Out[f32]):
            pass

        self.check_raises(lambda: pl.kernel("X[N] -> C[N]")(k), "PS1014", "has `X` where the kernel takes `A`", "same names")

    def test_signature_with_too_few(self):
        def k(b, A: In[f32], C: Out[f32]):
            pass

        self.check_raises(lambda: pl.kernel("A[N]")(k), "PS1014", "names 1 arguments and the kernel takes a block and 2", "behind `*`")

    def test_scalar_with_sizes(self):
        def k(b, A: Scalar[f32], C: Out[f32]):
            pass

        self.check_raises(lambda: pl.kernel("A[N] -> C[N]")(k), "PS1014", "`A` is a scalar of the kernel and a tensor", "bare name")

    def test_no_signature(self):
        self.check_raises(lambda: pl.kernel(lambda b: None), "PS1014", "needs a signature", "pl.kernel")

    def test_no_block(self):
        def k():
            pass

        self.check_raises(lambda: pl.kernel("")(k), "PS1014", "takes no block", "first parameter")

    def test_field_without_default(self):
        def k(b, A: InOut[f32], *, block: int):
            pass

        self.check_raises(lambda: pl.kernel("A[N]")(k), "PS1014", "`block` has no default", "block: int = 64")

    def test_unreadable_signature(self):
        def k(b, A: In[f32]):
            pass

        self.check_raises(lambda: pl.kernel("A[N -> C[N]")(k), "PS1004", "cannot be read", "A[M,K]")
        self.check_raises(lambda: pl.kernel("A[N,]")(k), "PS1004", "cannot be read", "A[M,K]")

    def test_unknown_field(self):
        self.check_raises(lambda: _scale.program(blok=3), "PS1006", "no field `blok`", "block")

    def test_field_of_another_type(self):
        self.check_raises(lambda: _scale.program(block="x"), "PS1006", "'x' is not a value of the field `block`", "int")

    def test_names_that_are_bound_again_without_harm(self):
        """Temporaries, counters of Python loops, and tiles of one iteration."""

        @pl.kernel("A[N] -> C[N]")
        def k(b: pl.Block, A: In[f32], C: Out[f32]):
            v = A.load(0)
            i = 3
            t = b.local(f32, 8)
            for n in b.range(A.size(0)):
                v = A.load(n)
                t = b.local(f32, 8)
                for i in range(4):
                    b.fill(t, v * i)
                with b.when(n > 0):
                    v = A.load(n - 1)
                    b.store(C.at(n), v)
            k0 = 3
            b.fill(b.local(f32, 8), k0)
            for k0 in b.range(A.size(0)):
                b.store(C.at(k0), A.load(k0))
                v = A.load(k0)

        self.assertIn("scf.for", k.program())

    def test_a_returned_value(self):
        def k(b, A: InOut[f32]):
            return b.local(f32, 8)

        self.check_raises(pl.kernel("A[N]")(k).program, "PS1014", "the kernel returns a Tile", "Out[..]")

    def test_names_of_triton(self):
        with self.assertRaisesRegex(AttributeError, "write b.copy"):
            pl.load
        with self.assertRaisesRegex(AttributeError, "penstock.lang has no `nothing`"):
            pl.nothing

    def test_a_grid_in_brackets(self):
        self.check_raises(lambda: _scale[(3,)], "PS1014", "has 0 type parameters", "call kernel(x, y)")

    def test_unknown_keywords(self):
        self.check_raises(lambda: _scale(1, num_warps=4), "PS1006", "no field or parameter `num_warps`", "fields: block; parameters: A")

    def test_generic_kernel_without_elements(self):
        self.check_raises(_generic().program, "PS1014", "has no element type", "")

    def test_use_after_the_end(self):
        kept = []

        @pl.kernel("A[N]")
        def k(b: pl.Block, A: InOut[f32]):
            kept.append((b, A, b.local(f32, 8, 8)))

        k.program()
        block, tensor, tile = kept[0]
        self.check_raises(lambda: block.sync(), "PS1011", "no kernel is recorded", "kernel functions")
        self.check_raises(lambda: block.mbarrier, "PS1011", "no kernel is recorded", "")
        self.check_raises(lambda: tensor.size(0), "PS1011", "no kernel is recorded", "")
        self.check_raises(lambda: tile[0], "PS1011", "no kernel is recorded", "")
        self.check_raises(lambda: tile + 1, "PS1011", "no kernel is recorded", "")

    def test_values_of_another_recording(self):
        kept = []

        @pl.kernel("A[N]")
        def k(b: pl.Block, A: InOut[f32]):
            kept.append(b.local(f32, 8))
            b.fill(kept[0], 0)

        k.program()
        self.check_raises(lambda: k.with_fields().program(), "PS1002", "belongs to another kernel", "")

    def test_exceptions_of_the_kernel_function_are_raised(self):
        @pl.kernel("A[N]")
        def k(b: pl.Block, A: InOut[f32]):
            for i in b.range(4):
                raise KeyError("mine")

        for run in (k.program, k.compile, lambda: k.explain(), lambda: k.check("sm_90a", {"N": 8})):
            with self.assertRaisesRegex(KeyError, "mine"):
                run()

    def test_an_except_clause_does_not_swallow_errors(self):
        @pl.kernel("A[N]")
        def k(b: pl.Block, A: InOut[f32]):
            try:
                b.grid(1.5)
            except Exception:
                pass

        self.check_raises(k.program, "PS1014", "1.5 is used as an index", "")

    def test_errors_in_cells_of_notebooks_show_their_line(self):
        import linecache

        source = "@pl.kernel('A[N]')\ndef k(b: pl.Block, A: InOut[f32]):\n    b.grid(A.size(0) / 2)\n"
        linecache.cache["<cell 7>"] = len(source), None, source.splitlines(True), "<cell 7>"
        names = {"pl": pl, "InOut": InOut, "f32": f32}
        exec(compile(source, "<cell 7>", "exec"), names)
        error = self.check_raises(names["k"].program, "PS1014", "`/` of index_t", "//")
        self.assertIn("b.grid(A.size(0) / 2)", str(error))
        self.assertEqual(error.diagnostics[0].line, 3)

    def test_calls_from_another_thread(self):
        import threading

        caught = []

        @pl.kernel("A[N]")
        def k(b: pl.Block, A: InOut[f32]):
            def work():
                try:
                    A.size(0) + 1
                except penstock.Error as error:
                    caught.append(error.diagnostics[0].code)

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

        k.program()
        self.assertEqual(caught, ["PS1011"])


@pl.kernel("A[N]")
def _scale(b: pl.Block, A: InOut[f32], *, block: int = 8):
    t = b.local(f32, block)
    i = b.grid(pl.ceil_div(A.size(0), block))
    b.copy(A.at(i * block), t)
    b.set(t, t * 2)
    b.copy(t, A.at(i * block))


def _generic():
    from typing import Generic, TypeVar

    T = TypeVar("T", bound=pl.Element)

    @pl.kernel("A[N]")
    class Twice(Generic[T]):
        def __call__(self, b: pl.Block, A: InOut[T]):
            t = b.local(A.element, 8)
            b.copy(A.at(b.grid(1)), t)

    return Twice



if __name__ == "__main__":
    unittest.main()
