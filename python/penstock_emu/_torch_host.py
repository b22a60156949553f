# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of torch with `device='cuda'` in host memory.

Every tensor lives on the CPU, where torch's operators run. A function mode removes `cuda` from the arguments of torch's
functions. Tensors that a program creates on the CPU, or copies there, are marked by an attribute of their storage; all
others say that they are on `cuda:0`. So views, parameters and gradients need no class of their own.
"""

import contextlib
import functools
import math
import types

import torch
import torch.utils._device
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from ._host_memory import Range
from ._launches import Unsupported

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")
MARK = "_penstock_on_host"

RAW_DEVICE = torch._C.TensorBase.device.__get__
untyped_storage = torch.Tensor.untyped_storage


def is_gpu(device):
    """Whether a device argument names a GPU."""
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, str) and device.split(":")[0] == "cuda"


def as_device(value):
    """The device that an argument names, or None."""
    if isinstance(value, torch.device):
        return value
    if isinstance(value, str):
        try:
            return torch.device(value)
        except RuntimeError:
            return None
    return None


def raw_device(tensor):
    with torch._C.DisableTorchFunction():
        return RAW_DEVICE(tensor)


def storage_of(tensor):
    with torch._C.DisableTorchFunction():
        try:
            return untyped_storage(tensor)
        except (NotImplementedError, RuntimeError):
            return None  # sparse and meta tensors


def on_gpu(tensor):
    """Whether a tensor counts as one of the GPU."""
    if raw_device(tensor).type != "cpu":
        return False
    storage = storage_of(tensor)
    return storage is not None and not getattr(storage, MARK, False)


def mark(tensor, gpu):
    storage = storage_of(tensor)
    if storage is not None and getattr(storage, MARK, False) == gpu:
        setattr(storage, MARK, not gpu)
    return tensor


def tensors_in(values):
    """Tensors of arguments or results, in lists and dictionaries, too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from tensors_in(value)
        elif isinstance(value, dict):
            yield from tensors_in(value.values())


def bytes_of(args, kwargs):
    """Bytes of the tensor that torch.empty, torch.randn and the like make of these arguments, or 0."""
    sizes = next((each for each in [kwargs.get("size"), *args] if isinstance(each, (tuple, list))), args)
    if not sizes or not all(isinstance(each, int) for each in sizes):
        return 0
    dtype = kwargs.get("dtype") or torch.get_default_dtype()
    return math.prod(sizes) * dtype.itemsize


class Known:
    """Allocations whose addresses the program has seen."""

    def __init__(self, ranges):
        self.ranges = ranges

    def note(self, tensor):
        from torch.multiprocessing.reductions import StorageWeakRef
        storage = storage_of(tensor)
        if storage is not None and storage.nbytes():
            self.ranges.add(Range(storage.data_ptr(), storage.nbytes(), StorageWeakRef(storage).expired))


def moved(tensor, device, *arguments, **options):
    """`tensor.to(device, ..)`: a copy between host and GPU, which share the memory."""
    if device is None or device.type == "meta":
        return tensor.to(*([device] if device else []), *arguments, **options)
    gpu = device.type == "cuda"
    if raw_device(tensor).type == "cpu" and on_gpu(tensor) != gpu:
        options["copy"] = True
    return mark(tensor.to(CPU, *arguments, **options), gpu)


def to(tensor, *arguments, **options):
    """Tensor.to, whose arguments may be a device, a type or another tensor."""
    options.pop("non_blocking", None)
    arguments = list(arguments)
    device = as_device(options.pop("device", None))
    if arguments and isinstance(arguments[0], torch.Tensor):
        other = arguments.pop(0)
        return moved(tensor, GPU if on_gpu(other) else raw_device(other), other.dtype, *arguments[1:2], **options)
    if arguments and not isinstance(arguments[0], torch.dtype):
        first = arguments.pop(0)
        device = GPU if isinstance(first, int) else as_device(first)
    # The remaining positions are: dtype, non_blocking, copy.
    if len(arguments) > 2:
        options["copy"] = arguments[2]
    if arguments and arguments[0] is not None:
        options["dtype"] = arguments[0]
    return moved(tensor, device, **options)


def cuda(tensor, *arguments, **options):
    return moved(tensor, GPU)


def cpu(tensor, *arguments, **options):
    return moved(tensor, CPU)


def same(tensor, *arguments, **options):
    return tensor


def nothing(*arguments, **options):
    return None


GRADIENT = torch.Tensor.grad.__get__


def gradient(tensor, *owner):
    """Tensor.grad: autograd allocates it, on the device of the tensor."""
    made = GRADIENT(tensor, *owner)
    return made if made is None else mark(made, on_gpu(tensor))


def type_of(tensor, dtype=None, **options):
    if dtype is None:
        name = torch._C.TensorBase.type(tensor)
        return name.replace("torch.", "torch.cuda.", 1) if on_gpu(tensor) else name
    if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
        return moved(tensor, GPU).type("torch." + dtype[len("torch.cuda."):])
    return tensor.type(dtype)


def with_result_type(func):
    """A function of torch that multiplies matrices: with `out_dtype`, which the CPU does not have, in that type."""
    def multiply(*arguments, out_dtype=None, out=None, **options):
        arguments = list(arguments)
        # The type may be a position, too: that after the matrices.
        if arguments and isinstance(arguments[-1], torch.dtype):
            out_dtype = arguments.pop()
        if out_dtype is not None:
            arguments = [each.to(out_dtype) for each in arguments]
        made = func(*arguments, **options)
        return made if out is None else out.copy_(made)
    return multiply


class HostMode(TorchFunctionMode):
    """Removes `cuda` from the arguments of torch's functions, and marks results."""

    def __init__(self, known, max_bytes):
        super().__init__()
        self.known, self.max_bytes = known, max_bytes
        self.default = None  # of torch.set_default_tensor_type
        tensor = torch.Tensor
        self.special = {
            tensor.to: to, tensor.cuda: cuda, tensor.cpu: cpu, tensor.pin_memory: same, tensor.type: type_of,
            tensor.record_stream: nothing, tensor.is_pinned: lambda *_, **__: False,
            tensor.backward: self.backward, tensor.grad.__get__: gradient, tensor.get_device: lambda x: 0 if on_gpu(x) else -1, tensor.data_ptr: self.data_ptr,
        }
        self.products = {each: with_result_type(each) for each in (torch.mm, torch.bmm, torch.addmm, torch.baddbmm)}
        self.plain = {tensor.untyped_storage, tensor.size, tensor.stride, tensor.dim, tensor.numel,
                      tensor.is_contiguous, tensor.element_size, tensor.storage_offset}

    def default_device(self):
        from torch.utils import _device
        current = _device.CURRENT_DEVICE or self.default or CPU
        return GPU if current.type == "cuda" else current

    @contextlib.contextmanager
    def active(self):
        """Code of the program that torch calls from within a function runs in this mode, too."""
        if self in _get_current_function_mode_stack():
            yield
        else:
            with self:
                yield

    def backward(self, tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        with self.active():
            torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)

    def data_ptr(self, tensor):
        self.known.note(tensor)
        return tensor.data_ptr()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs) if kwargs else {}
        special = self.special.get(func)
        if special is not None:
            return special(*args, **kwargs)
        if func in self.products and (kwargs.get("out_dtype") or any(isinstance(each, torch.dtype) for each in args)):
            func = self.products[func]
        if func in self.plain or getattr(func, "__name__", "") in ("__get__", "__set__"):
            return func(*args, **kwargs)
        requested = as_device(kwargs.get("device")) if "device" in kwargs else None
        if isinstance(kwargs.get("device"), int):
            requested = GPU
        if requested is not None and requested.type == "cuda":
            kwargs["device"] = CPU
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if any(isinstance(each, torch.device) and each.type == "cuda" for each in args):
            requested = GPU
            args = tuple(CPU if isinstance(each, torch.device) else each for each in args)
        inputs = list(tensors_in(args)) + list(tensors_in(kwargs.values()))
        if requested is None and not inputs:
            requested = self.default_device()
        if not inputs and requested.type == "cuda" and bytes_of(args, kwargs) > self.max_bytes:
            # No launch may refer to it, and the CPU would be busy for long.
            raise Unsupported(f"a tensor of {bytes_of(args, kwargs) >> 20} MiB is larger than --kernel-sanitizer-max-memory")
        result = func(*args, **kwargs)
        gpu = requested.type == "cuda" if requested is not None else any(on_gpu(each) for each in inputs)
        if requested is None and gpu:
            return result  # new storages count as the GPU's
        if isinstance(result, torch.Tensor):
            return self.placed(result, gpu, inputs)
        for each in tensors_in([result] if isinstance(result, (tuple, list)) else []):
            self.placed(each, gpu, inputs)
        return result

    def placed(self, tensor, gpu, inputs):
        """A result on its device; one that shares memory with an argument of the other device becomes a copy."""
        if raw_device(tensor).type != "cpu" or on_gpu(tensor) == gpu:
            return tensor
        storage = storage_of(tensor)
        if storage is not None and any(storage_of(each) is storage for each in inputs):
            tensor = tensor.clone()
        return mark(tensor, gpu)


class Properties(types.SimpleNamespace):
    """What torch.cuda.get_device_properties returns."""


class Stream:
    """A stream: launches run when they are made, so that it orders nothing."""
    cuda_stream = 0
    stream_id = 0
    device = GPU
    device_index = 0

    def __init__(self, *arguments, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def query(self):
        return True

    def record_event(self, event=None):
        return event or Event()

    wait_event = wait_stream = synchronize = nothing


class Event:
    """An event: it has always happened. Times between events are a millisecond."""

    def __init__(self, *arguments, **options):
        pass

    def elapsed_time(self, other):
        return 1.0

    def query(self):
        return True

    record = wait = synchronize = nothing


def unsupported(name):
    """A class that cannot be constructed; programs use it in annotations, too."""
    def refuse(self, *arguments, **options):
        raise Unsupported(f"torch.cuda.{name} is not emulated")
    return type(name, (), {"__init__": refuse})


def patch_cuda(patch, properties):
    """Replaces the functions of torch.cuda. `patch` is called with an object, a name and a value."""
    cuda = torch.cuda
    major, minor = divmod(properties["arch"], 10)
    described = Properties(name=properties["name"], major=major, minor=minor, multi_processor_count=properties["multiprocessor_count"],
                           total_memory=80 << 30, warp_size=32, max_threads_per_multi_processor=2048,
                           max_threads_per_block=1024, regs_per_multiprocessor=65536, L2_cache_size=50 << 20,
                           shared_memory_per_block=49152, shared_memory_per_block_optin=properties["max_shared_mem"],
                           shared_memory_per_multiprocessor=properties["max_shared_mem"] + 1024, is_integrated=0,
                           is_multi_gpu_board=0, gcnArchName="", uuid="")
    constants = {
        "is_available": True, "device_count": 1, "current_device": 0, "is_initialized": True, "init": None,
        "_lazy_init": None, "synchronize": None, "set_device": None, "empty_cache": None, "ipc_collect": None,
        "get_device_capability": (major, minor), "get_device_name": properties["name"],
        "get_device_properties": described, "_get_device_properties": described, "is_bf16_supported": True,
        "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0, "max_memory_reserved": 0,
        "memory_cached": 0, "reset_peak_memory_stats": None, "reset_max_memory_allocated": None,
        "reset_max_memory_cached": None, "mem_get_info": (80 << 30, 80 << 30), "set_stream": None,
        "get_arch_list": [f"sm_{properties['arch']}"], "is_current_stream_capturing": False,
        "is_tf32_supported": True, "utilization": 0, "device_memory_used": 0, "can_device_access_peer": False,
        "set_per_process_memory_fraction": None, "_sleep": None,
    }
    for name, value in constants.items():
        if hasattr(cuda, name):
            patch(cuda, name, lambda *_, value=value, **__: value)
    stream = Stream()
    for name in ("current_stream", "default_stream"):
        patch(cuda, name, lambda *_, **__: stream)
    patch(cuda, "Stream", Stream)
    patch(cuda, "ExternalStream", Stream)
    patch(cuda, "Event", Event)
    patch(torch, "Stream", Stream)
    patch(torch, "Event", Event)
    patch(cuda, "stream", lambda stream: contextlib.nullcontext(stream))
    for name in ("device", "device_of", "_DeviceGuard"):
        patch(cuda, name, lambda *_, **__: contextlib.nullcontext())
    def manual_seed(seed):
        torch.default_generator.manual_seed(int(seed))
    patch(cuda, "manual_seed", manual_seed)
    patch(cuda, "manual_seed_all", manual_seed)
    patch(cuda, "get_rng_state", lambda *_, **__: torch.get_rng_state())
    patch(cuda, "set_rng_state", lambda state, *_, **__: torch.set_rng_state(state))
    for name in ("CUDAGraph", "graph", "make_graphed_callables", "MemPool", "memory_snapshot"):
        if hasattr(cuda, name):
            patch(cuda, name, unsupported(name))
    patch(torch._C, "_cuda_getCurrentRawStream", lambda *_: 0)
    patch(torch._C, "_cuda_getDeviceCount", lambda *_: 1)
    if hasattr(cuda, "nvtx"):
        for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
            patch(cuda.nvtx, name, nothing)
        patch(cuda.nvtx, "range", lambda *_, **__: contextlib.nullcontext())


def patch_devices(patch, mode):
    """Replaces what tells a tensor's device, and what creates tensors outside of functions."""
    raw = torch._C.TensorBase

    def device(self):
        return GPU if on_gpu(self) else raw_device(self)

    def is_cuda(self):
        return on_gpu(self)

    def is_cpu(self):
        return raw_device(self).type == "cpu" and not on_gpu(self)

    for function in (device, is_cuda, is_cpu):
        patch(torch.Tensor, function.__name__, property(function, doc=getattr(raw, function.__name__).__doc__))

    for module, name in ((torch, "from_numpy"), (torch, "frombuffer"), (torch, "load")):
        original = getattr(module, name)

        @functools.wraps(original)
        def on_host(*arguments, original=original, **options):
            gpu = is_gpu(options.get("map_location"))
            if gpu:
                options["map_location"] = CPU
            made = original(*arguments, **options)
            for each in tensors_in([made]):
                mark(each, gpu)
            return made
        patch(module, name, on_host)

    class Generator(torch._C.Generator):
        def __new__(cls, device="cpu"):
            made = super().__new__(cls, CPU)
            made.named = as_device(device)
            return made

        device = property(lambda self: GPU if is_gpu(self.named) else CPU)
    patch(torch, "Generator", Generator)

    # `with torch.device('cuda')` and torch.set_default_device add an argument after this mode has run.
    context = torch.utils._device.DeviceContext
    add_device = context.__torch_function__

    def unless_cuda(self, func, types, args=(), kwargs=None):
        if self.device.type == "cuda":
            return func(*args, **(kwargs or {}))
        return add_device(self, func, types, args, kwargs)
    patch(context, "__torch_function__", unless_cuda)
    patch(torch, "get_default_device", mode.default_device)

    tensor_type = torch.set_default_tensor_type

    def set_default_tensor_type(type):
        name = type if isinstance(type, str) else f"{type.__module__}.{type.__name__}"
        mode.default = GPU if ".cuda." in name else None
        tensor_type(name.replace(".cuda.", "."))
    patch(torch, "set_default_tensor_type", set_default_tensor_type)


def patch_rest(patch, mode):
    """Gradients, autocast, compilation, versions and accelerators."""
    node = torch.autograd.function.BackwardCFunction
    apply = node.apply

    def apply_in_mode(self, *arguments):
        with mode.active():
            return apply(self, *arguments)
    patch(node, "apply", apply_in_mode)

    if torch.version.cuda is None:
        patch(torch.version, "cuda", "12.8")

    def compile(model=None, *arguments, **options):
        return model if model is not None else lambda function: function
    patch(torch, "compile", compile)

    init = torch.amp.autocast_mode.autocast.__init__

    def on_cpu(self, device_type, *arguments, **options):
        if device_type == "cuda":
            device_type = "cpu"
            if not arguments and options.get("dtype") is None:
                options["dtype"] = torch.float16
        init(self, device_type, *arguments, **options)
    patch(torch.amp.autocast_mode.autocast, "__init__", on_cpu)
    for name in ("is_autocast_enabled", "get_autocast_dtype", "set_autocast_enabled", "set_autocast_dtype"):
        if original := getattr(torch, name, None):
            def of_cpu(device_type="cuda", *arguments, original=original):
                return original("cpu" if device_type == "cuda" else device_type, *arguments)
            patch(torch, name, of_cpu)
    if hasattr(torch, "get_autocast_gpu_dtype"):
        patch(torch, "get_autocast_gpu_dtype", lambda: torch.get_autocast_dtype("cpu"))

    accelerator = getattr(torch, "accelerator", None)
    for name, value in {"is_available": True, "device_count": 1, "current_accelerator": torch.device("cuda"),
                        "current_device_index": 0, "current_device_idx": 0, "set_device_index": None,
                        "set_device_idx": None, "synchronize": None, "empty_cache": None}.items():
        if accelerator is not None and hasattr(accelerator, name):
            patch(accelerator, name, lambda *_, value=value, **__: value)
    patch(torch.backends.cuda, "is_built", lambda: True)


class Host:
    """The patches of a session."""

    def __init__(self, properties, ranges, max_bytes=1 << 40):
        self.saved = []
        self.mode = HostMode(Known(ranges), max_bytes)
        patch_cuda(self.patch, properties)
        patch_devices(self.patch, self.mode)
        patch_rest(self.patch, self.mode)
        self.mode.__enter__()

    def patch(self, target, name, value):
        self.saved.append((target, name, target.__dict__.get(name, self)))
        setattr(target, name, value)

    def ensure(self):
        """Enters the mode in this thread, if it is not: modes are those of a thread."""
        if self.mode not in _get_current_function_mode_stack():
            self.mode.__enter__()

    def restore(self):
        self.mode.__exit__(None, None, None)
        for target, name, value in reversed(self.saved):
            if value is self:
                delattr(target, name)
            else:
                setattr(target, name, value)
        self.saved.clear()
