# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks Triton kernels: compiles them for Hopper or Blackwell and runs the PTX on the emulator.

    from penstock_emu.triton import check
    check(kernel, grid=(8,), args=dict(x=x, y=y, n=1000, BLOCK=128)).raise_on("undefined")

Arrays are numpy's. Neither torch nor a GPU is needed. Kernels of Gluon are checked in the same way. Triton 3.4 and later
are supported.
"""

import dataclasses
import inspect
import os

import numpy
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDAOptions
from triton.compiler import ASTSource

from ._library import EmulatorError
from .device import Output, TensorMap, known_names, triple
from .device import check as check_ptx
from .device import mutate as mutate_ptx

POINTERS = {"float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32", "float64": "*fp64", "int8": "*i8",
            "int16": "*i16", "int32": "*i32", "int64": "*i64", "uint8": "*u8", "uint16": "*u16", "uint32": "*u32",
            "uint64": "*u64", "bool": "*i1"}
SCALARS = {"float16": "fp16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int16": "i16", "int32": "i32",
           "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64"}


class Descriptor:
    """A tensor descriptor argument: an array, and the shape of the blocks that are loaded or stored.

    `layout` is that of the blocks in shared memory, for kernels of Gluon.
    """

    def __init__(self, array, block_shape, layout=None):
        self.array, self.block_shape, self.layout = array, list(block_shape), layout

    def parameters(self, meta):
        """A map, then sizes and strides in elements, as the kernel takes them."""
        array = self.array
        map = TensorMap(array, meta["block_size"], {0: 0, 1: 32, 2: 64, 3: 128}[meta["swizzle"]])
        return ([map] + [numpy.int32(size) for size in array.shape] +
                [numpy.int64(stride // array.itemsize) for stride in array.strides])


def signature_of(value):
    """Triton's type of an argument."""
    if isinstance(value, Descriptor):
        layout = f",{value.layout!r}" if value.layout is not None else ""
        return f"tensordesc<{POINTERS[value.array.dtype.name][1:]}{value.block_shape}".replace(" ", "") + layout + ">"
    if isinstance(value, (numpy.ndarray, Output)):
        return POINTERS[getattr(value, "array", value).dtype.name]
    if isinstance(value, numpy.generic):
        return SCALARS[value.dtype.name]
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -2**31 <= value < 2**31 else "i64"
    if isinstance(value, float):
        return "fp32"
    raise TypeError(f"{type(value).__name__} cannot be an argument of a kernel")


def source_class(kernel):
    """The class of Triton that compiles a kernel: that of Gluon for kernels of Gluon."""
    if any("gluon" in each.__module__ for each in type(kernel).__mro__):
        from triton.experimental.gluon._runtime import GluonASTSource
        return GluonASTSource
    return ASTSource


def function_of(kernel):
    """The jit function of a kernel, and texts of its configurations if it has autotune or heuristics."""
    configurations = []
    while not hasattr(kernel, "params") and hasattr(kernel, "fn"):
        configurations += [str(config) for config in getattr(kernel, "configs", None) or []]
        if values := getattr(kernel, "values", None):
            configurations.append("heuristics for " + ", ".join(values))
        kernel = kernel.fn
    if not hasattr(kernel, "params"):
        raise EmulatorError(f"{getattr(kernel, '__name__', type(kernel).__name__)} is not a kernel: expected a function with "
                            "@triton.jit or @gluon.jit")
    return kernel, configurations


def check_names(kernel, args, configurations=()):
    """Reports arguments that a kernel does not have, and those that are missing."""
    if not isinstance(args, dict):
        raise EmulatorError(f"args is a {type(args).__name__}: expected a dict from names of parameters to values, as in "
                            f"args=dict({kernel.params[0].name if kernel.params else 'x'}=..)")
    names = [parameter.name for parameter in kernel.params]
    title = getattr(kernel, "__name__", "the kernel")
    for name in args:
        if name not in names:
            raise EmulatorError(f"{title} has no parameter `{name}`; " + known_names(name, names))
    missing = [parameter.name for parameter in kernel.params
               if parameter.name not in args and not parameter.has_default]
    if missing:
        hint = ""
        if configurations:
            hint = ("; it has autotune or heuristics, which are not run: pass the constants of one configuration in args, and "
                    "its num_warps and num_stages to check. Configurations: " + "; ".join(configurations[:4]))
            hint += f" and {len(configurations) - 4} more" if len(configurations) > 4 else ""
        raise EmulatorError(f"{title} has no argument for " + ", ".join(f"`{name}`" for name in missing) + hint)


def check_options(options):
    """Reports options that Triton does not have: it ignores them."""
    names = [field.name for field in dataclasses.fields(CUDAOptions)]
    for name in options:
        if name not in names:
            raise EmulatorError(f"Triton has no option `{name}`; " + known_names(name, names, len(names)))


def compile_kernel(kernel, args, capability=90, num_warps=4, num_stages=3, **options):
    """Compiles a kernel for arguments; returns what triton.compile does."""
    kernel, configurations = function_of(kernel)
    check_names(kernel, args, configurations)
    check_options(options)
    names = [parameter.name for parameter in kernel.params]
    constant = {p.name for p in kernel.params if p.is_constexpr}
    signature, constants, attributes = {}, {}, {}
    for i, name in enumerate(names):
        value = args[name] if name in args else kernel.params[i].default
        if name in constant or value is None:
            signature[name], constants[(i,)] = "constexpr", value
            continue
        signature[name] = signature_of(value)
        # Triton's own launcher specializes on this, too; device memory is aligned to 256 bytes.
        aligned = isinstance(value, (numpy.ndarray, Output)) or (isinstance(value, int) and value % 16 == 0)
        if aligned:
            attributes[(i,)] = [["tt.divisibility", 16]]
    return triton.compile(source_class(kernel)(kernel, signature, constants, attributes),
                          target=GPUTarget("cuda", capability, 32),
                          options=dict(num_warps=num_warps, num_stages=num_stages, **options))


def launch_of(kernel, grid, args, capability=90, num_warps=4, num_stages=3, **options):
    """Compiles a kernel; returns its PTX with the arguments of a launch."""
    compiled = compile_kernel(kernel, args, capability, num_warps, num_stages, **options)
    kernel, _ = function_of(kernel)
    if callable(grid):  # as Triton's launcher calls it
        grid = grid({p.name: args[p.name] if p.name in args else p.default for p in kernel.params})
    grid = triple(grid)
    meta = compiled.metadata
    values, names = [], []
    descriptors = iter(getattr(meta, "tensordesc_meta", None) or [])
    for parameter in kernel.params:
        name = parameter.name
        value = args[name] if name in args else parameter.default
        if parameter.is_constexpr or value is None:
            continue
        expanded = value.parameters(next(descriptors)) if isinstance(value, Descriptor) else [value]
        values += expanded
        names += [name] * len(expanded)
    blocks = numpy.prod(grid)
    for what, size in (("global_scratch", "global_scratch_size"), ("profile_scratch", "profile_scratch_size")):
        if not hasattr(meta, size):
            continue  # Triton 3.4 has no second one
        bytes = (getattr(meta, size, 0) or 0) * int(blocks) * (getattr(meta, "num_ctas", 1) or 1)
        values.append(Output(numpy.empty(max(bytes, 128), numpy.uint8)))
        names.append(what)
    cluster = tuple(getattr(meta, "cluster_dims", None) or ()) or (getattr(meta, "num_ctas", 1) or 1, 1, 1)
    return dict(ptx=compiled.asm["ptx"], kernel=meta.name, grid=grid, args=values, shared=meta.shared,
                cluster=cluster if any(size > 1 for size in cluster) else None, name=meta.name + ".ptx", names=names)


def remark_for(kernel):
    """Returns a function that explains findings in code that Triton adds to a kernel: it has the line of its `def`."""
    function = function_of(kernel)[0].fn
    lines, first = inspect.getsourcelines(function)
    before = next((i for i, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    file, line = inspect.getsourcefile(function), first + before

    def remark(finding):
        places = [(finding.file, finding.line)] + [(note.file, note.line) for note in finding.notes]
        if not any(at == line and name and os.path.basename(name) == os.path.basename(file) for name, at in places):
            return None
        return (f"{finding.code}: the access of line {line}, the `def` of the kernel, is in code that Triton generates, not in "
                "yours. Known problems of compilers are in docs/results/field-findings.md; raise_on(.., "
                f'ignore={{"{finding.code}": "reason"}}) accepts this one.')
    return remark


def check(kernel, grid, args, capability=90, num_warps=4, num_stages=3, timings=4, threads=0, max_instructions=0,
          **options):
    """Compiles a kernel, runs it in several timings and returns the findings.

    `args` maps names of parameters to numpy arrays, numbers and Descriptors. Arrays have the results afterwards. `grid` is
    1 to 3 numbers or a function of the arguments. `capability` is 80, 86 or 89 for Ampere and Ada, 90 for Hopper, 100 or
    103 for Blackwell, or 120. Autotune and heuristics are not run: `args` has their constants, and `num_warps` and
    `num_stages` are those of one configuration. Other options are Triton's, as `num_ctas` or `maxnreg`.
    """
    report = check_ptx(**launch_of(kernel, grid, args, capability, num_warps, num_stages, **options), timings=timings,
                       threads=threads, max_instructions=max_instructions)
    report.remark = remark_for(kernel)
    return report


def mutate(kernel, grid, args, capability=90, num_warps=4, num_stages=3, timings=4, **options):
    """Compiles a kernel and runs its mutants; arguments are those of `check`."""
    return mutate_ptx(**launch_of(kernel, grid, args, capability, num_warps, num_stages, **options), timings=timings)
