"""What torch does for tests on the host: gradients, and matrix products with a type of the result."""

import torch


def test_gradients_are_on_the_device_of_their_tensor():
    on_host, on_gpu = torch.randn(3, requires_grad=True), torch.randn(3, device="cuda", requires_grad=True)
    (on_host * 2).sum().backward()
    (on_gpu * 2).sum().backward()
    torch.testing.assert_close(on_host.grad, torch.full((3,), 2.0))
    torch.testing.assert_close(on_gpu.grad, torch.full((3,), 2.0, device="cuda"))


def test_products_with_a_type_of_the_result():
    a, b = (torch.randn(shape, device="cuda").bfloat16() for shape in ((3, 4), (4, 5)))
    expected = a.float() @ b.float()
    torch.testing.assert_close(torch.mm(a, b, out_dtype=torch.float32), expected)
    torch.testing.assert_close(torch.mm(a, b, torch.float32), expected)
    torch.testing.assert_close(torch.bmm(a[None], b[None], out_dtype=torch.float32), expected[None])
    sums = torch.ones(3, 5, device="cuda")
    torch.addmm(sums, a, b, out_dtype=torch.float32, out=sums)
    torch.testing.assert_close(sums, expected + 1)
    out = torch.empty(3, 5, device="cuda", dtype=torch.bfloat16)
    torch.mm(a, b, out=out)
    torch.testing.assert_close(out, expected.bfloat16())
