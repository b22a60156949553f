"""Operators of PyTorch on the CPU: opcheck, torch.compile without graph breaks, gradients."""

import unittest

import torch

import penstock
from penstock import kernels
from transformer_block import Block, half

torch.manual_seed(1)


def eighth(*shape):
    return half(*shape).to(torch.float8_e4m3fn)


def samples():
    """Arguments of every operator of the gallery."""
    lengths = torch.tensor([5, 64], dtype=torch.int32)
    yield kernels.rms_norm, (half(6, 100), half(100), 1e-5)
    yield kernels.swiglu, (half(6, 100), half(6, 100))
    yield kernels.rotary, (half(9, 2, 64), torch.rand(9, 32), torch.rand(9, 32))
    yield kernels.attention_forward, (half(4, 20, 64), half(2, 20, 64), half(2, 20, 64), 0.125)
    yield kernels.attention_decode, (half(2, 1, 4, 64), half(2, 1, 64, 64), half(2, 1, 64, 64), lengths, 0.125)
    yield kernels.moe_matmul, (half(70, 32), half(3, 16, 32), torch.tensor([2, 0], dtype=torch.int32))
    # The bits: opcheck itself cannot compare tensors of 8-bit floats.
    yield kernels.fp8_linear, (eighth(8, 32).view(torch.uint8), eighth(16, 32).view(torch.uint8), torch.ones(8),
                               torch.ones(16))
    yield kernels.int4_linear, (half(8, 64), torch.randint(-128, 128, (16, 32), dtype=torch.int8), half(16, 1))
    yield kernels.top_k, (torch.rand(5, 50), 4)
    yield kernels.cross_entropy, (torch.rand(5, 50), torch.randint(0, 50, (5,), dtype=torch.int32))


class Torch(unittest.TestCase):
    def test_opcheck(self):
        tested = set()
        for function, arguments in samples():
            with self.subTest(function.name):
                torch.library.opcheck(function.operator.op, arguments)
            tested.add(function)
        self.assertEqual(tested, set(kernels.ALL))

    def test_transformer_block(self):
        kernels.register_all()
        ours = Block()
        theirs = Block(ours=False)
        theirs.load_state_dict(ours.state_dict())
        x = half(50, 128)
        compiled = torch.compile(ours, fullgraph=True)
        with torch.no_grad():
            result, expected = compiled(x), theirs(x)
        torch.testing.assert_close(result, expected, rtol=1e-2, atol=1e-2)
        self.assertEqual(torch._dynamo.explain(ours)(x).graph_break_count, 0)
        with torch.no_grad():
            exported = torch.export.export(ours, (x,)).module()
            # The compiled block is fused, and rounds otherwise; the exported one is not.
            torch.testing.assert_close(exported(x), ours(x), rtol=0, atol=0)

    def test_gradients(self):
        operator = penstock.torch.register("penstock_test::swiglu", kernels.library["SwiGlu"])

        def backward(context, gradient):
            gate, up = (t.float() for t in context.saved_tensors)
            sigmoid = torch.sigmoid(gate)
            slope = sigmoid * (1 + gate * (1 - sigmoid))
            return (gradient * up * slope).half(), (gradient * gate * sigmoid).half()

        operator.set_backward(backward, lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
        gate, up = (half(4, 30).requires_grad_() for _ in range(2))
        operator(gate, up).float().sum().backward()
        plain = [t.detach().float().requires_grad_() for t in (gate, up)]
        (torch.nn.functional.silu(plain[0]) * plain[1]).sum().backward()
        for ours, theirs in zip((gate, up), plain):
            torch.testing.assert_close(ours.grad.float(), theirs.grad, rtol=1e-2, atol=1e-2)

    def test_mutated_arguments(self):
        operator = penstock.torch.register("penstock_test::swiglu_out", kernels.library["SwiGlu"], mutates="y")
        gate, up, y = half(4, 30), half(4, 30), torch.zeros(4, 30).half()
        self.assertIsNone(operator(gate, up, y))
        torch.testing.assert_close(y, kernels.swiglu(gate, up), rtol=0, atol=0)
        torch.library.opcheck(operator.op, (gate, up, y))
        with self.assertRaises(penstock.Error):
            penstock.torch.register("penstock_test::wrong", kernels.library["SwiGlu"], mutates="gate")

    def test_eight_bits(self):
        x, weight = eighth(8, 32), eighth(16, 32)
        result = kernels.fp8_linear(x, weight, torch.ones(8), torch.ones(16))
        torch.testing.assert_close(result.float(), x.float() @ weight.float().T, rtol=2e-3, atol=2e-3)

    def test_plain_calls(self):
        kernel = kernels.library["RmsNorm"].compile()
        x, weight, y = half(4, 100), half(100), torch.empty(4, 100).half()
        kernel(x, weight, 1e-5, y)
        torch.testing.assert_close(y, kernels.rms_norm(x, weight, 1e-5), rtol=0, atol=0)
        bf16 = torch.zeros(4, 100, dtype=torch.bfloat16)
        with self.assertRaises(penstock.Error):
            kernel(bf16, weight, 1e-5, y)


if __name__ == "__main__":
    unittest.main()
