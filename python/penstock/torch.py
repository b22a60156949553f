"""Kernels as operators of PyTorch, which torch.compile and export understand.

    softmax = penstock.torch.register("mylib::softmax", kernels["Softmax"])
    y = softmax(x)                            # or torch.ops.mylib.softmax(x)
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import torch

from ._errors import refuse
from ._kernels import CompiledKernel, Kernel
from ._results import Plan, answer

_DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "i1": torch.bool, "i8": torch.int8,
    "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "i4x2": torch.uint8,
    "f6e2m3_packed": torch.uint8, "f6e3m2_packed": torch.uint8,
}
_BYTES = [torch.float8_e4m3fn, torch.float8_e5m2]
for _element, _dtype in (("f8e8m0", "float8_e8m0fnu"), ("f4e2m1x2", "float4_e2m1fn_x2")):
    # Older versions of torch do not have them; tensors of bytes are taken, too.
    _DTYPES[_element] = getattr(torch, _dtype, torch.uint8)
    if hasattr(torch, _dtype):
        _BYTES.append(getattr(torch, _dtype))
_libraries: dict[str, torch.library.Library] = {}  # operators live as long as their library


class Operator:
    """A registered operator. Call it like a function; ``op`` is torch's own object."""

    def __init__(self, name: str, source: Kernel | CompiledKernel, mutates: Sequence[str], fields: Mapping[str, Any]):
        self.name = name
        self._source = source
        self._fields = dict(fields)
        self._compiled: dict[str, CompiledKernel] = {}
        self.plan = Plan(self._for_device("cpu"), mutates)
        self._dtypes = [_DTYPES[p.element] for p in self.plan.results]
        self._tensors = [(i, p.written) for i, p in enumerate(self.plan.parameters) if p.tensor]
        namespace, _, operator = name.partition("::")
        if namespace not in _libraries:
            _libraries[namespace] = torch.library.Library(namespace, "FRAGMENT")
        self._library = _libraries[namespace]
        self._library.define(self.schema(operator), tags=(torch.Tag.pt2_compliant_tag,))
        for key in ("CPU", "CUDA"):
            self._library.impl(operator, self._run, key)
        torch.library.register_fake(name, self._fake, lib=self._library)
        self.op = getattr(getattr(torch.ops, namespace), operator)

    def schema(self, operator: str) -> str:
        """The operator in torch's notation, from the kernel's signature."""
        arguments = []
        for i, p in enumerate(self.plan.inputs):
            if p.tensor:
                arguments.append(f"Tensor({chr(ord('a') + i)}!) {p.name}" if p.written else f"Tensor {p.name}")
            else:
                kind = "float" if p.element[0] in "fb" else "bool" if p.element == "i1" else "int"
                arguments.append(f"{kind} {p.name}")
        arguments += [f"SymInt {size}" for size in self.plan.sizes]
        results = ", ".join(["Tensor"] * len(self.plan.results))
        return f"{operator}({', '.join(arguments)}) -> " + (results if len(self.plan.results) == 1 else f"({results})")

    def _for_device(self, device: str) -> CompiledKernel:
        if isinstance(self._source, CompiledKernel):
            return self._source
        if device not in self._compiled:
            self._compiled[device] = self._source.compile("native" if device == "cpu" else "gpu", **self._fields)
        return self._compiled[device]

    def _allocate(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        self.plan.check(arguments)
        device = next((a.device for a in arguments if isinstance(a, torch.Tensor)), "cpu")
        return [torch.empty(shape, dtype=dtype, device=device)
                for dtype, shape in zip(self._dtypes, self.plan.shapes(arguments))]

    def _fake(self, *arguments: Any) -> Any:
        return answer(self._allocate(arguments))

    def _run(self, *arguments: Any) -> Any:
        made = self._allocate(arguments)
        device = next((a.device.type for a in arguments if isinstance(a, torch.Tensor)), "cpu")
        passed = self.plan.ordered(arguments, made)
        for i, written in self._tensors:
            passed[i] = _passable(passed[i], written)
        self._for_device(device)(*passed)
        return answer(made)

    def set_backward(self, backward: Callable[..., Any], setup_context: Callable[..., Any] | None = None) -> None:
        """Gradients, as torch.library.register_autograd takes them."""
        torch.library.register_autograd(self.name, backward, setup_context=setup_context, lib=self._library)

    def __call__(self, *arguments: Any) -> Any:
        return self.op(*arguments)


def _passable(tensor: torch.Tensor, written: bool) -> torch.Tensor:
    """Rows of a kernel's tensors are contiguous, and DLPack of torch has no 8-bit floats."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if not written and tensor.dim() and tensor.stride(-1) != 1:
        tensor = tensor.contiguous()
    return tensor.view(torch.uint8) if tensor.dtype in _BYTES else tensor


def register(name: str, kernel: Kernel | CompiledKernel, *, mutates: Sequence[str] | str = (),
             **fields: Any) -> Operator:
    """Registers a kernel as the operator ``name`` ("namespace::operator").

    Tensors that the kernel only writes are results, allocated from the sizes of its signature;
    those in ``mutates`` are arguments. A Kernel is compiled for the device of its tensors with the
    given fields; a CompiledKernel is used as it is.
    """
    if "::" not in name:
        raise refuse("PS1768", f"`{name}` is not the name of an operator", "write `namespace::operator`")
    return Operator(name, kernel, (mutates,) if isinstance(mutates, str) else tuple(mutates), fields)
