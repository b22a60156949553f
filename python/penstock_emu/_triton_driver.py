# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A driver and a backend of Triton that launch kernels on the emulator.

Triton's own code binds, specializes and compiles: `kernel[grid](..)`, heuristics, autotuned kernels, tensor descriptors
and Gluon work as on a GPU. The backend ends with PTX, so that neither ptxas nor a GPU is needed. Kernels are cached
apart from those that are compiled for a GPU.
"""

import ctypes
import inspect
import struct

from ._host_memory import Range
from ._launches import Launch, Map, Pointer, Unsupported

FORMATS = {"i1": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u1": "?", "u8": "B", "u16": "H", "u32": "I",
           "u64": "Q", "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}


def bytes_of(type, value):
    """A number as the bytes of a parameter."""
    if type == "bf16":
        return struct.pack("<f", value)[2:]
    format = FORMATS[type]
    if format in "bhiqBHIQ":
        size = struct.calcsize(format)
        return (int(value) % (1 << 8 * size)).to_bytes(size, "little")
    return struct.pack("<" + format, value)


def range_of(value):
    """The allocation that a tensor lies in, or None."""
    storage = getattr(value, "untyped_storage", None)
    if storage is not None:
        storage = storage()
        return Range(storage.data_ptr(), storage.nbytes())
    base = getattr(value, "base", None)  # triton.TensorWrapper
    return range_of(base) if base is not None else None


def expand(type, value, descriptors):
    """Pairs of a type and a value for the parameters of one argument."""
    if isinstance(type, tuple):
        fields = value if isinstance(value, (tuple, list)) else tuple(value)
        for each, part in zip(type, fields):
            yield from expand(each, part, descriptors)
    elif type == "constexpr":
        return
    elif type.startswith("tensordesc"):
        yield from descriptors(type, value)
    else:
        yield type, value


class Utilities:
    """What Triton expects of `driver.utils`: modules are their PTX."""

    def __init__(self, properties):
        self.properties = properties

    def load_binary(self, name, kernel, shared, device):
        return kernel, kernel, 0, 0, 1024

    def unload_module(self, module):
        pass

    def get_device_properties(self, device):
        return dict(self.properties)

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_default_stream(self, device):
        return 0

    def get_device_capability(self, device):
        return divmod(self.properties["arch"], 10)

    def is_stream_capturing(self, stream):
        return False

    def set_printf_fifo_size(self, size):
        pass

    def cuOccupancyMaxActiveClusters(self, *arguments):
        return self.properties["multiprocessor_count"]

    def fill_tma_descriptor_tiled(self, address, swizzle, element_bytes, data_type, box, shape, strides, padding=0):
        """A tensor map, whose address is replaced by the device's when it is launched."""
        return Map(address, data_type, list(shape)[::-1],
                   [stride * element_bytes for stride in list(strides)[:-1]][::-1], list(box)[::-1], swizzle, padding)

    fill_tma_descriptor = fill_tma_descriptor_tiled

    def __getattr__(self, name):
        def unsupported(*arguments):
            raise Unsupported(f"triton's driver call {name} is not emulated")
        if name.startswith("__"):
            raise AttributeError(name)
        return unsupported


def decomposed(value):
    """Arguments of a descriptor on targets without TMA."""
    import triton.backends.nvidia.driver as nvidia
    for module in (nvidia, __import__("triton.backends.driver", fromlist=["driver"])):
        if hasattr(module, "decompose_descriptor"):
            return module.decompose_descriptor(value)
    return [value.base, *value.shape, *value.strides, *value.shape, *value.strides]


class Launcher:
    """Of one compiled kernel, in place of the C function that Triton generates."""

    def __init__(self, source, metadata):
        self.metadata = metadata
        self.names = list(getattr(getattr(source, "fn", None), "arg_names", None) or source.signature)
        self.types = list(source.signature.values())
        self.language = "Gluon" if "gluon" in type(source).__module__ else "Triton"

    def descriptors(self):
        """Expands the descriptors of a launch, in their order."""
        import triton.backends.nvidia.driver as nvidia
        metadata = iter(getattr(self.metadata, "tensordesc_meta", None) or [])

        def pairs(type, value):
            meta = next(metadata, None)
            if meta is None:
                parts, rank = decomposed(value), len(value.shape)
                for i, part in enumerate(parts):
                    # Sizes after descriptors have 32 bits, all other numbers 64.
                    narrow = len(parts) - 2 * rank <= i < len(parts) - rank
                    yield ("*" if hasattr(part, "data_ptr") else "i1" if isinstance(part, bool) else
                           "i32" if narrow else "i64"), part
                return
            make = nvidia.make_tensordesc_arg
            count = len(inspect.signature(make).parameters)
            made, *rest = make(*(value, meta, None)[:count])
            rank = len(value.shape)
            yield "map", made
            yield from (("i32", size) for size in rest[:rank])
            yield from (("i64", stride) for stride in rest[rank:])
        return pairs

    def launch(self, grid, ptx, arguments):
        values, names, ranges = [], [], []
        descriptors = self.descriptors()
        for name, type, argument in zip(self.names, self.types, arguments):
            for kind, value in expand(type, argument, descriptors):
                names.append(name)
                if kind == "map":
                    values.append(value)
                    ranges.append(range_of(argument.base))
                elif kind[0] == "*" or kind == "nvTmaDesc":
                    address = value.data_ptr() if hasattr(value, "data_ptr") else int(value or 0)
                    values.append(Pointer(address))
                    ranges.append(range_of(value))
                else:
                    values.append(bytes_of(kind, value))
        meta = self.metadata
        ctas = getattr(meta, "num_ctas", 1) or 1
        blocks = grid[0] * grid[1] * grid[2] * ctas
        scratch = [max(128, (getattr(meta, name, 0) or 0) * blocks) for name in ("global_scratch_size",
                                                                                  "profile_scratch_size")]
        cluster = tuple(getattr(meta, "cluster_dims", None) or ()) or (ctas, 1, 1)
        clustered = any(size > 1 for size in cluster)
        return Launch(self.language, ptx.decode() if isinstance(ptx, bytes) else ptx, meta.name,
                      (grid[0] * (ctas if clustered else 1), *grid[1:]), None, values, names,
                      [each for each in ranges if each and each.bytes], meta.shared, cluster if clustered else None,
                      scratch_values=scratch, overlaps=bool(getattr(meta, "launch_pdl", False)))

    def __call__(self, x, y, z, stream, function, packed, launch_metadata, enter, exit, *arguments):
        from triton.runtime.driver import driver
        if enter is not None:
            enter(launch_metadata)
        driver.active.launched(self.launch((x, y, z), function, arguments))
        if exit is not None:
            exit(launch_metadata)


def install(arch, properties, launched):
    """Makes the emulator the active driver of Triton. `launched` receives each Launch."""
    import triton
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.runtime.driver import driver

    class EmulatedBackend(CUDABackend):

        def __init__(self, target):
            super().__init__(target)
            self.binary_ext = "ptx"

        def add_stages(self, stages, options, *language):
            super().add_stages(stages, options, *language)
            del stages["cubin"]

        def hash(self):
            return super().hash() + "-penstock"

    class EmulatedDriver(DriverBase):

        def __init__(self):
            self.utils = Utilities(dict(properties, arch=arch))
            self.launcher_cls = Launcher
            self.launched = launched

        @classmethod
        def is_active(cls):
            return True

        def map_python_to_cpp_type(self, type):
            return "void *" if type[0] == "*" else type

        def get_current_target(self):
            return GPUTarget("cuda", arch, 32)

        def get_current_device(self):
            return 0

        def set_current_device(self, device):
            pass

        def get_current_stream(self, device=None):
            return 0

        def get_device_capability(self, device=None):
            return divmod(arch, 10)

        def get_active_torch_device(self):
            import torch
            return torch.device("cuda", 0)

        def get_device_interface(self):
            import torch
            return torch.cuda

        def get_benchmarker(self):
            return run_once

        def get_empty_cache_for_benchmark(self):
            import torch
            return torch.empty(1, dtype=torch.int, device="cuda")

        def clear_cache(self, cache):
            pass

        def allocate_default_profile_scratch(self, size, align, stream):
            return None

    def run_once(function, *arguments, quantiles=None, return_mode="mean", **options):
        """In place of a benchmark: one launch, as if it took a millisecond."""
        function()
        if quantiles is not None:
            return [1.0] * len(quantiles)
        return [1.0] if return_mode == "all" else 1.0

    backends["nvidia"] = type(backends["nvidia"])(compiler=EmulatedBackend, driver=EmulatedDriver)
    for name in [name for name in backends if name != "nvidia"]:
        del backends[name]
    made = EmulatedDriver()
    driver._default = made
    driver.set_active(made)
    tune_without_runs()
    import triton.testing
    for name in ("do_bench", "do_bench_cudagraph"):
        if hasattr(triton.testing, name):
            setattr(triton.testing, name, run_once)


def tune_without_runs():
    """Autotuned kernels use their first configuration that compiles and fits. None is benchmarked."""
    from triton.runtime import autotuner
    first = {}  # the first that fits, of the kernel that is being tuned

    def bench(self, *arguments, config, **meta):
        token = id(self), tuple(map(id, arguments))
        if first.get("token") == token and first.get("found"):
            return [float("inf")] * 3
        current = dict(meta, **config.all_kwargs())
        full = {**self.nargs, **current}
        if config.pre_hook:
            config.pre_hook(full)
        try:
            kernel = self.fn.run(*arguments, **dict(current, warmup=True))
            if hasattr(kernel, "result"):
                kernel = kernel.result()
            if kernel is not None:
                kernel._init_handles()
        except Exception as error:
            if type(error).__name__ not in ("OutOfResources", "CompileTimeAssertionFailure", "PTXASError"):
                raise
            first.update(token=token, found=False)
            return [float("inf")] * 3
        first.update(token=token, found=True)
        return [1.0] * 3

    autotuner.Autotuner._bench = bench
