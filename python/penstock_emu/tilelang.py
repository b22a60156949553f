# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks TileLang kernels: compiles them for Hopper or Blackwell and runs the PTX on the emulator.

    from penstock_emu.tilelang import check
    check(gemm(256, 256, 512), args=dict(A=a, B=b, C=Output(c))).raise_on("undefined")

Arrays are numpy's. A GPU is not needed; nvcc is, because TileLang writes CUDA C++.
"""

import functools
import os
import pathlib
import subprocess
import tempfile

import tilelang
from tilelang import tvm

from ._library import EmulatorError
from .device import TensorMap, known_names
from .device import check as check_ptx
from .device import mutate as mutate_ptx

# The name of the module in newer versions of TVM.
tir = tvm.tirx if hasattr(tvm, "tirx") else tvm.tir
SWIZZLES = {code: bytes for bytes, code in TensorMap.SWIZZLES.items()}


def calls_of(module):
    """Calls of packed functions in the host code, in their order: name and arguments."""
    found = []

    def visit(node):
        if isinstance(node, tir.Call) and getattr(node.op, "name", "").endswith("tvm_call_packed"):
            values = []
            for argument in node.args:
                if isinstance(argument, tir.Var):
                    values.append(argument.name)
                else:
                    values.append(getattr(argument, "value", None))
            found.append(values)

    for function in module.functions.values():
        tir.stmt_functor.post_order_visit(function.body, visit)
    return found


class Map:
    """Arguments of cuTensorMapEncodeTiled; `tensor` is the name of the tensor."""

    def __init__(self, data_type, rank, tensor, *numbers):
        self.data_type, self.tensor = data_type, tensor
        sizes, strides, box, _, rest = (numbers[i * rank:(i + 1) * rank] for i in range(5))
        rest = numbers[4 * rank:]
        if any(not isinstance(each, int) for each in numbers):
            raise EmulatorError("a tensor map depends on sizes that are not constant")
        # TileLang has the innermost dimension first, with the size of an element as its stride.
        self.shape, self.strides, self.box = sizes[::-1], strides[::-1], box[::-1]
        self.swizzle, self.fill = SWIZZLES.get(rest[1]), rest[3]
        if rest[0] or self.swizzle is None:
            raise EmulatorError("interleaved tensor maps are not supported")

    def of(self, array):
        return TensorMap(array, self.box, self.swizzle, self.fill, self.data_type, self.shape, self.strides)


class Compiled:
    """PTX, and how the host code launches it. `cluster` is None without clusters."""

    def __init__(self, ptx, name, parameters, grid, block, shared, cluster=None):
        self.ptx, self.name, self.parameters = ptx, name, parameters
        self.grid, self.block, self.shared, self.cluster = grid, block, shared, cluster


@functools.lru_cache(maxsize=256)
def ptx_of(source, arch):
    """Compiles CUDA C++ of TileLang with nvcc, of PENSTOCK_NVCC or on the path."""
    package = pathlib.Path(tilelang.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        code, ptx = pathlib.Path(folder) / "kernel.cu", pathlib.Path(folder) / "kernel.ptx"
        code.write_text(source)
        command = [os.environ.get("PENSTOCK_NVCC", "nvcc"), "-std=c++17", "-O3", f"-arch={arch}", "-ptx", "-lineinfo",
                   f"-I{package}/src", f"-I{package}/3rdparty/cutlass/include", code, "-o", ptx]
        try:
            result = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise EmulatorError(f"nvcc cannot be started: {error}") from error
        if result.returncode:
            raise EmulatorError("nvcc: " + result.stderr)
        return ptx.read_text()


def cluster_of(attributes, extents):
    """Sizes of a kernel's clusters, or None."""
    if "cluster_dims" in attributes:
        sizes = tuple(int(size) for size in attributes["cluster_dims"])
    else:
        sizes = tuple(extents.get(f"clusterIdx.{axis}", 1) for axis in "xyz")
    return sizes if any(size > 1 for size in sizes) else None


def lowered(function, arch="sm_90a", pass_configs=None):
    """TileLang's host and device code of a function of T.prim_func."""
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with tvm.transform.PassContext(config=pass_configs or {}), target:
        return tilelang.lower(function, target=target)


def compile_kernels(function, arch="sm_90a", pass_configs=None):
    """Compiles a function of T.prim_func, whose sizes must be constant; returns its launches in their order."""
    artifact = lowered(function, arch, pass_configs)
    kernels = {str(variable.name_hint): kernel for variable, kernel in artifact.device_mod.functions.items()}
    maps, launches = {}, []
    for name, *arguments in calls_of(artifact.host_mod):
        if name == "__tvm_tensormap_create_tiled":
            maps[arguments[0]] = Map(*arguments[1:])
        elif name in kernels:
            launches.append((name, arguments))
    made = []
    for name, arguments in launches:
        attributes = kernels[name].attrs
        extents = {str(key): int(value) for key, value in attributes["thread_extent"].items()}
        tags = [str(tag) for tag in attributes["tirx.kernel_launch_params" if "tirx.kernel_launch_params" in attributes
                                                else "tir.kernel_launch_params"]]
        sizes = [[extents.get(f"{kind}.{axis}", 1) for axis in "xyz"] for kind in ("blockIdx", "threadIdx")]
        shared = int(attributes["dyn_shared_memory_buf"]) if "dyn_shared_memory_buf" in attributes else 0
        parameters = [maps.get(argument, argument) for argument in arguments[:len(arguments) - len(tags)]]
        made.append(Compiled(ptx_of(artifact.kernel_source, arch), name, parameters, *sizes, shared,
                             cluster_of(attributes, extents)))
    return made


def compile_kernel(function, arch="sm_90a", pass_configs=None):
    """Compiles a function that launches one kernel."""
    launches = compile_kernels(function, arch, pass_configs)
    if len(launches) != 1:
        raise EmulatorError(f"the function launches {len(launches)} kernels; only one is supported")
    return launches[0]


def launch_of(kernel, args, arch):
    """The PTX of a kernel with the arguments of a launch."""
    if not isinstance(kernel, Compiled):
        kernel = compile_kernel(kernel, arch)
    expected = [parameter.tensor if isinstance(parameter, Map) else parameter for parameter in kernel.parameters]
    for name in args:
        if name not in expected:
            raise EmulatorError(f"the kernel has no argument `{name}`; " + known_names(name, list(dict.fromkeys(map(str, expected)))))
    values, names = [], []
    for parameter in kernel.parameters:
        name = parameter.tensor if isinstance(parameter, Map) else parameter
        if name not in args:
            raise EmulatorError(f"there is no argument for `{name}`")
        value = args[name]
        values.append(parameter.of(getattr(value, "array", value)) if isinstance(parameter, Map) else value)
        names.append(name)
    return dict(ptx=kernel.ptx, kernel=kernel.name, grid=kernel.grid, block=kernel.block, args=values,
                shared=kernel.shared, cluster=kernel.cluster, name=kernel.name + ".ptx", names=names)


def check(kernel, args, arch="sm_90a", timings=4, threads=0, max_instructions=0):
    """Runs a kernel in several timings and returns the findings.

    `kernel` is a function of T.prim_func, or what compile_kernel returned. `args` maps names of its tensors to numpy
    arrays. Arrays have the results afterwards.
    """
    return check_ptx(**launch_of(kernel, args, arch), timings=timings, threads=threads,
                     max_instructions=max_instructions)


def mutate(kernel, args, arch="sm_90a", timings=4):
    """Runs the mutants of a kernel; arguments are those of `check`."""
    return mutate_ptx(**launch_of(kernel, args, arch), timings=timings)
