# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of TileLang, called with tensors of torch in host memory.

A compiled kernel is replaced when it is made: its function is lowered and compiled to PTX at its first call, when the
sizes of its tensors are known.
"""

import functools

from ._launches import Launch, Map, Pointer, Unsupported
from ._triton_driver import range_of


def target_of(arch):
    return f"sm_{arch}a" if arch >= 90 else f"sm_{arch}"


class Adapter:
    """In place of TileLang's adapters: `func` takes the tensors that are not results, and returns the results."""

    def __init__(self, function, results, arch, configurations, launched):
        self.function, self.arch, self.configurations, self.launched = function, arch, configurations, launched
        self.compiled = {}
        count = len(function.params)
        results = [] if results is None else [results] if isinstance(results, int) else list(results)
        self.result_idx = [index % count for index in results]
        self.func = self.__call__

    @functools.cached_property
    def artifact(self):
        from . import tilelang as adapter
        return adapter.lowered(self.function, target_of(self.arch), self.configurations)

    @property
    def params(self):
        return self.artifact.params

    def get_kernel_source(self, *arguments, **options):
        return self.artifact.kernel_source

    get_device_source = get_kernel_source

    def get_host_source(self, *arguments, **options):
        return str(self.artifact.host_mod)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(f"{name} of a TileLang kernel is not emulated")

    def buffers(self):
        """The name, the buffer (or None) of each parameter."""
        return [(str(self.function.buffer_map[each].name) if each in self.function.buffer_map else str(each.name),
                 self.function.buffer_map.get(each, None), each) for each in self.function.params]

    def sizes(self, values):
        """Values of scalar arguments and of the variables in the shapes and strides of tensors, by variable."""
        bound = {}
        for (name, buffer, variable), value in zip(self.buffers(), values):
            if value is None:
                continue
            if buffer is None:
                bound[variable] = value
                continue
            known = [*zip(buffer.shape, value.shape), *zip(buffer.strides, value.stride())]
            for extent, size in known:
                if hasattr(extent, "name"):
                    bound[extent] = size
        return bound

    def constants(self, bound, tir):
        """Constants for the scalar parameters, and buffers of constant sizes for tensors whose sizes are variables.

        TVM substitutes these variables in the sizes of other tensors, such as `24 * n`.
        """
        numbers = {variable: tir.const(int(value), variable.dtype) for variable, value in bound.items()}
        made, found = {}, set()
        for _, buffer, parameter in self.buffers():
            if buffer is None:
                if parameter in numbers:
                    made[parameter] = numbers[parameter]
                    found.add(parameter)
                continue
            variables = [extent for extent in [*buffer.shape, *buffer.strides] if isinstance(extent, tir.Var) and extent in numbers]
            if variables:
                shape, strides = ([numbers.get(extent, extent) if isinstance(extent, tir.Var) else extent for extent in extents]
                                  for extents in (buffer.shape, buffer.strides))
                made[parameter] = tir.decl_buffer(shape, buffer.dtype, buffer.name, buffer.data, strides or None,
                                                  buffer.elem_offset, buffer.scope(), buffer.data_alignment,
                                                  buffer.offset_factor)
                found.update(variables)
        for variable in numbers:
            if variable not in found:
                raise Unsupported(f"the size `{variable}` of a TileLang kernel only occurs in expressions")
        return made

    def launches(self, bound):
        from . import tilelang as adapter
        key = tuple(sorted((str(variable), value) for variable, value in bound.items()))
        if key not in self.compiled:
            function = self.function
            if bound:
                function = function.specialize(self.constants(bound, adapter.tir))
            self.compiled[key] = adapter.compile_kernels(function, target_of(self.arch), self.configurations)
        return self.compiled[key]

    def results(self, values, bound):
        """Tensors for the results, whose shapes follow from those of other tensors."""
        import torch
        for index in self.result_idx:
            _, buffer, _ = self.buffers()[index]
            by_name = {str(variable.name): value for variable, value in bound.items()}
            shape = []
            for extent in buffer.shape:
                name = str(getattr(extent, "name", ""))
                if not hasattr(extent, "value") and name not in by_name:
                    raise Unsupported("the shape of a result is an expression")
                shape.append(int(extent) if hasattr(extent, "value") else by_name[name])
            dtype = str(buffer.dtype)
            values[index] = torch.empty(shape, dtype=getattr(torch, {"float8_e4m3": "float8_e4m3fn"}.get(dtype, dtype)),
                                        device="cuda")
        return values

    def __call__(self, *arguments, **options):
        from . import tilelang as adapter
        values, given = [], iter(arguments)
        for index in range(len(self.function.params)):
            values.append(None if index in self.result_idx and len(arguments) < len(self.function.params)
                          else next(given))
        bound = self.sizes(values)
        allocated = len(arguments) < len(self.function.params)
        if allocated:
            values = self.results(values, bound)
        scalars = {variable: value for variable, value in bound.items()}
        by_name = {name: value for (name, _, _), value in zip(self.buffers(), values)}
        for launch in self.launches(scalars):
            self.launched(launch_of(launch, by_name, adapter))
        if allocated and self.result_idx:
            results = [values[index] for index in self.result_idx]
            return results[0] if len(results) == 1 else results
        return None


def launch_of(compiled, tensors, adapter):
    """A launch with the addresses of tensors."""
    values, names, ranges = [], [], []
    for parameter in compiled.parameters:
        name = parameter.tensor if isinstance(parameter, adapter.Map) else parameter
        if name not in tensors:
            raise Unsupported(f"argument `{name}` of {compiled.name} is computed by the host")
        tensor = tensors[name]
        if not hasattr(tensor, "data_ptr"):
            raise Unsupported(f"argument `{name}` of {compiled.name} is a number")
        names.append(str(name))
        ranges.append(range_of(tensor))
        if isinstance(parameter, adapter.Map):
            values.append(Map(tensor.data_ptr(), parameter.data_type, list(parameter.shape[::-1]),
                              list(parameter.strides[::-1])[1:], list(parameter.box[::-1]),
                              {0: 0, 32: 1, 64: 2, 128: 3}[parameter.swizzle], parameter.fill))
        else:
            values.append(Pointer(tensor.data_ptr()))
    return Launch("TileLang", compiled.ptx, compiled.name, tuple(compiled.grid), tuple(compiled.block), values, names,
                  [each for each in ranges if each and each.bytes], compiled.shared, compiled.cluster)


def describe_device(device_class, arch, properties):
    """TVM's questions about a CUDA device, by the numbers of its device attributes."""
    original = device_class._GetDeviceAttr
    answers = {0: 1, 1: 1024, 2: 32, 3: properties["max_shared_mem"], 4: f"{arch // 10}.{arch % 10}",
               5: properties["name"], 6: properties["sm_clock_rate"], 7: properties["multiprocessor_count"]}

    def attribute(self, device_type, index, number):
        if device_type == 2 and number in answers:
            return answers[number] if index == 0 else 0
        return original(self, device_type, index, number)
    device_class._GetDeviceAttr = attribute


def install(arch, properties, launched):
    """Replaces the compilation of kernels. `launched` receives each Launch."""
    import importlib

    import tilelang
    describe_device(tilelang.tvm.runtime.Device, arch, properties)
    kernel = importlib.import_module("tilelang.jit.kernel")  # tilelang.jit is a function, too

    def adapter_of(self, function, results):
        if not hasattr(function, "params"):
            raise Unsupported("a TileLang function that is not a T.prim_func is not emulated")
        return Adapter(function, results, arch, self.pass_configs, launched)
    kernel.JITKernel._compile_and_create_adapter = adapter_of
    tilelang.disable_cache()
    for name in ("get_kernel_source", "get_host_source"):
        setattr(kernel.JITKernel, name, lambda self, *_, name=name, **__: getattr(self.adapter, name)())
