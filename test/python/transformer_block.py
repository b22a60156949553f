"""A transformer block of PyTorch, with kernels of the gallery or with torch's own functions."""

import torch


def half(*shape):
    return torch.rand(shape).mul(2).sub(1).half()


class Block(torch.nn.Module):
    """A transformer block; `ours` selects the kernels."""

    def __init__(self, width=128, heads=2, ours=True):
        super().__init__()
        self.heads, self.ours = heads, ours
        self.first, self.second = (torch.nn.Parameter(half(width) + 1) for _ in range(2))
        self.qkv = torch.nn.Parameter(half(3 * width, width) / width**0.5)
        self.out = torch.nn.Parameter(half(width, width) / width**0.5)
        self.up = torch.nn.Parameter(half(4 * width, width) / width**0.5)
        self.down = torch.nn.Parameter(half(width, 2 * width) / width**0.5)

    def norm(self, x, weight):
        if self.ours:
            return torch.ops.penstock.rms_norm(x, weight, 1e-5)
        return torch.nn.functional.rms_norm(x.float(), (x.shape[-1],), weight.float(), 1e-5).half()

    def attend(self, q, k, v):
        scale = q.shape[-1] ** -0.5
        if self.ours:
            return torch.ops.penstock.attention_forward(q, k, v, scale)
        return torch.nn.functional.scaled_dot_product_attention(
            q.float()[None], k.float()[None], v.float()[None], is_causal=True, scale=scale)[0].half()

    def activate(self, gate, up):
        if self.ours:
            return torch.ops.penstock.swiglu(gate, up)
        return (torch.nn.functional.silu(gate.float()) * up.float()).half()

    def forward(self, x):
        q, k, v = (self.norm(x, self.first) @ self.qkv.T).view(x.shape[0], 3, self.heads, -1).permute(1, 2, 0, 3)
        x = x + self.attend(q, k, v).transpose(0, 1).reshape(x.shape) @ self.out.T
        gate, up = (self.norm(x, self.second) @ self.up.T).chunk(2, -1)
        return x + self.activate(gate, up) @ self.down.T
