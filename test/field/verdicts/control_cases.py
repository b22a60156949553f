# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Correct kernels that are widely used: Triton kernels of `liger-kernel` and `sageattention` from PyPI.

Only their kernels are loaded, not the functions that launch them, so that torch is not needed.
"""

import importlib
import importlib.util
import pathlib
import sys
import types

import numpy
import triton.language as tl

from penstock_emu import Output
from penstock_emu.triton import check

random = numpy.random.default_rng(11)


def stand_in(name, **values):
    """A module with these values, and a function that returns its argument for every other name."""
    module = types.ModuleType(name)
    module.__path__ = []
    module.__getattr__ = lambda key: (lambda *arguments, **_: arguments[0] if arguments else None)
    vars(module).update(values)
    sys.modules[name] = module


def kernels_of(package, file):
    """The module with kernels in one file of a package, without its imports of launchers."""
    if package == "liger_kernel":
        stand_in("liger_kernel")
        stand_in("liger_kernel.ops")
        stand_in("liger_kernel.functional")
        stand_in("liger_kernel.backends")
        stand_in("liger_kernel.ops.utils", compare_version=lambda *_: True, infer_device=lambda: "cuda", is_hip=lambda: False,
                 get_npu_core_count=lambda: 0)
        stand_in("liger_kernel.utils", infer_device=lambda: "cuda", infer_device_arch=lambda: "", is_npu_available=lambda: False)
    folder = next(pathlib.Path(path) / package for path in sys.path if (pathlib.Path(path) / package / file).exists())
    spec = importlib.util.spec_from_file_location(file.replace("/", "_")[:-3], folder / file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def normal(*shape):
    return random.normal(size=shape).astype(numpy.float32)


def zeros(*shape):
    return numpy.zeros(shape, numpy.float32)


def near(*pairs):
    return all(bool(abs(result - expected).max() <= 2e-3 * max(1, abs(expected).max())) for result, expected in pairs)


ROWS, COLUMNS = 4, 200
BLOCK = 256


def run(file, kernel, grid, args, capability, timings):
    found = getattr(kernels_of("liger_kernel", f"ops/{file}.py"), kernel)
    while hasattr(found, "configs"):  # autotuned
        found = found.fn
    return check(found, grid, args, capability, timings=timings)


def rms_norm(timings, capability):
    x, w, y, rstd = normal(ROWS, COLUMNS), normal(COLUMNS), zeros(ROWS, COLUMNS), zeros(ROWS)
    report = run("rms_norm", "_rms_norm_forward_kernel", ROWS,
                 dict(Y_ptr=Output(y), Y_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS, W_ptr=w, W_row_stride=1, RSTD_ptr=Output(rstd),
                      RSTD_row_stride=1, n_cols=COLUMNS, eps=1e-6, offset=0.0, casting_mode=0, elementwise_affine=True,
                      BLOCK_SIZE=BLOCK), capability, timings)
    return report, near((y, x / numpy.sqrt((x * x).mean(1) + 1e-6)[:, None] * w))


def rms_norm_backward(timings, capability):
    x, w, dy, dx, dw = normal(ROWS, COLUMNS), normal(COLUMNS), normal(ROWS, COLUMNS), zeros(ROWS, COLUMNS), zeros(2, COLUMNS)
    rstd = (1 / numpy.sqrt((x * x).mean(1) + 1e-6)).astype(numpy.float32)
    report = run("rms_norm", "_rms_norm_backward_kernel", 2,
                 dict(dY_ptr=dy, dY_row_stride=COLUMNS, dX_ptr=Output(dx), dX_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS,
                      X_dtype=tl.float32, W_ptr=w, W_row_stride=1, RSTD_ptr=rstd, RSTD_row_stride=1, dW_ptr=Output(dw),
                      dW_row_stride=COLUMNS, n_rows=ROWS, n_cols=COLUMNS, offset=0.0, rows_per_program=ROWS // 2, casting_mode=0,
                      elementwise_affine=True, BLOCK_SIZE=BLOCK), capability, timings)
    return report, near((dw.sum(0), (dy * x * rstd[:, None]).sum(0)))


def layer_norm(timings, capability):
    x, w, b, y = normal(ROWS, COLUMNS), normal(COLUMNS), normal(COLUMNS), zeros(ROWS, COLUMNS)
    report = run("layer_norm", "_layer_norm_forward_kernel", ROWS,
                 dict(Y_ptr=Output(y), Y_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS, W_ptr=w, W_row_stride=1, B_ptr=b,
                      B_row_stride=1, Mean_ptr=Output(zeros(ROWS)), Mean_row_stride=1, RSTD_ptr=Output(zeros(ROWS)), RSTD_row_stride=1,
                      n_cols=COLUMNS, eps=1e-6, BLOCK_SIZE=BLOCK), capability, timings)
    centered = x - x.mean(1)[:, None]
    return report, near((y, centered / numpy.sqrt((centered**2).mean(1) + 1e-6)[:, None] * w + b))


def layer_norm_backward(timings, capability):
    x, w, dy = normal(ROWS, COLUMNS), normal(COLUMNS), normal(ROWS, COLUMNS)
    dw, db, mean = zeros(2, COLUMNS), zeros(2, COLUMNS), x.mean(1).astype(numpy.float32)
    rstd = (1 / numpy.sqrt(((x - mean[:, None])**2).mean(1) + 1e-6)).astype(numpy.float32)
    report = run("layer_norm", "_layer_norm_backward_kernel", 2,
                 dict(X_ptr=x, stride_x=COLUMNS, W_ptr=w, Mean_ptr=mean, stride_mean=1, RSTD_ptr=rstd, stride_rstd=1,
                      DX_ptr=Output(zeros(ROWS, COLUMNS)), stride_dx=COLUMNS, DW_ptr=Output(dw), stride_dw=COLUMNS, DB_ptr=Output(db),
                      stride_db=COLUMNS, DY_ptr=dy, stride_dy=COLUMNS, n_rows=ROWS, n_cols=COLUMNS, rows_per_program=ROWS // 2,
                      BLOCK_SIZE=BLOCK), capability, timings)
    return report, near((db.sum(0), dy.sum(0)), (dw.sum(0), (dy * (x - mean[:, None]) * rstd[:, None]).sum(0)))


def softmax(timings, capability):
    x, y = normal(ROWS, COLUMNS), zeros(ROWS, COLUMNS)
    report = run("softmax", "_softmax_single_block_forward_kernel", ROWS,
                 dict(Y_ptr=Output(y), Y_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS, n_cols=COLUMNS,
                      BLOCK_SIZE=BLOCK), capability, timings)
    e = numpy.exp(x - x.max(1)[:, None])
    return report, near((y, e / e.sum(1)[:, None]))


def softmax_backward(timings, capability):
    y, dy, dx = abs(normal(ROWS, COLUMNS)), normal(ROWS, COLUMNS), zeros(ROWS, COLUMNS)
    report = run("softmax", "_softmax_single_block_backward_kernel", ROWS,
                 dict(dy_ptr=dy, dy_stride=COLUMNS, y_ptr=y, y_stride=COLUMNS, dx_ptr=Output(dx), dx_stride=COLUMNS, n_cols=COLUMNS,
                      BLOCK_SIZE=BLOCK), capability, timings)
    return report, near((dx, y * (dy - (dy * y).sum(1)[:, None])))


def swiglu(timings, capability):
    a, b, c = normal(ROWS, COLUMNS), normal(ROWS, COLUMNS), zeros(ROWS, COLUMNS)
    report = run("swiglu", "_swiglu_forward_kernel_tiled", (ROWS, 1),
                 dict(a_ptr=a, b_ptr=b, c_ptr=Output(c), stride=COLUMNS, gate_multiplier=1.0, n_cols=COLUMNS, BLOCK_SIZE=BLOCK),
                 capability, timings)
    return report, near((c, a / (1 + numpy.exp(-a)) * b))


def swiglu_backward(timings, capability):
    a, b, dc = normal(ROWS, COLUMNS), normal(ROWS, COLUMNS), normal(ROWS, COLUMNS)
    report = run("swiglu", "_swiglu_backward_kernel_tiled", (ROWS, 1),
                 dict(dc_ptr=dc, a_ptr=a, b_ptr=b, stride=COLUMNS, gate_multiplier=1.0, n_cols=COLUMNS, BLOCK_SIZE=BLOCK), capability,
                 timings)
    return report, None


def geglu(timings, capability):
    a, b, c = normal(ROWS, COLUMNS), normal(ROWS, COLUMNS), zeros(ROWS, COLUMNS)
    report = run("geglu", "_geglu_tanh_forward_kernel", ROWS,
                 dict(a=a, b=b, c=Output(c), stride=COLUMNS, n_cols=COLUMNS, BLOCK_SIZE=BLOCK), capability, timings)
    gate = 0.5 * a * (1 + numpy.tanh(0.7978845608028654 * (a + 0.044715 * a**3)))
    return report, near((c, gate * b))


def dyt(timings, capability):
    x, gamma, beta, y = normal(ROWS, COLUMNS), normal(COLUMNS), normal(COLUMNS), zeros(ROWS, COLUMNS)
    report = run("dyt", "_dyt_fwd_kernel", (1, ROWS),
                 dict(X=x, Y=Output(y), Alpha=numpy.full(1, 0.5, numpy.float32), Gamma=gamma, Beta=beta, HAVE_BETA=True, N=COLUMNS,
                      BLOCK_N=BLOCK), capability, timings)
    return report, near((y, gamma * numpy.tanh(0.5 * x) + beta))


def kl_divergence(timings, capability):
    y, target, loss = normal(ROWS, COLUMNS), abs(normal(ROWS, COLUMNS)), zeros(ROWS, COLUMNS)
    report = run("kl_div", "_kldiv_kernel_forward", ROWS,
                 dict(y_ptr=y, y_stride=COLUMNS, gt_ptr=target, gt_stride=COLUMNS, loss_ptr=Output(loss), loss_stride=COLUMNS,
                      n_cols=COLUMNS, eps=1e-10, BLOCK_SIZE=64, reduction=0, log_target=False), capability, timings)
    return report, near((loss, target * (numpy.log(target) - y)))


def fused_add_rms_norm(timings, capability):
    x, r, w, y, s = normal(ROWS, COLUMNS), normal(ROWS, COLUMNS), normal(COLUMNS), zeros(ROWS, COLUMNS), zeros(ROWS, COLUMNS)
    report = run("fused_add_rms_norm", "_fused_add_rms_norm_forward_kernel", ROWS,
                 dict(Y_ptr=Output(y), Y_row_stride=COLUMNS, S_ptr=Output(s), S_row_stride=COLUMNS, X_ptr=x, X_row_stride=COLUMNS, R_ptr=r,
                      R_row_stride=COLUMNS, W_ptr=w, W_row_stride=1, RSTD_ptr=Output(zeros(ROWS)), RSTD_row_stride=1, n_cols=COLUMNS,
                      eps=1e-6, offset=0.0, casting_mode=0, BLOCK_SIZE=BLOCK), capability, timings)
    total = x + r
    return report, near((s, total), (y, total / numpy.sqrt((total**2).mean(1) + 1e-6)[:, None] * w))


def relu_squared(timings, capability):
    x, y = normal(ROWS, COLUMNS), zeros(ROWS, COLUMNS)
    report = run("relu_squared", "_relu_squared_forward_kernel", ROWS,
                 dict(Y_ptr=Output(y), Y_stride=COLUMNS, X_ptr=x, X_stride=COLUMNS, n_cols=COLUMNS, BLOCK_SIZE=BLOCK), capability, timings)
    return report, near((y, numpy.maximum(x, 0)**2))


def total_variation(timings, capability):
    p, q, loss, grads = abs(normal(ROWS, COLUMNS)), abs(normal(ROWS, COLUMNS)), zeros(ROWS, COLUMNS), zeros(ROWS, COLUMNS)
    report = run("tvd", "_tv_distance_kernel", ROWS,
                 dict(p_ptr=p, p_stride=COLUMNS, q_ptr=q, q_stride=COLUMNS, loss_ptr=Output(loss), loss_stride=COLUMNS,
                      grads_ptr=Output(grads), grads_stride=COLUMNS, label_ptr=numpy.zeros(ROWS, numpy.int64), ignore_index=-100,
                      n_cols=COLUMNS, scale=1.0, BLOCK_SIZE=64, HAS_LABEL=False, reduction=0), capability, timings)
    return report, near((loss, 0.5 * abs(p - q)))


def sage_attention(timings, capability, width=64, length=192, causal=False):
    """INT8 products of Q and K, a loop with pipelined loads, and two products in each iteration."""
    queries, block_m, block_n = 128, 128, 64
    q, k = (random.integers(-60, 60, (1, 1, n, width)).astype(numpy.int8) for n in (length if causal else queries, length))
    v = random.normal(size=(1, 1, length, width)).astype(numpy.float16)
    rows = q.shape[2]
    q_scale = numpy.full(-(-rows // block_m), 0.02, numpy.float32)
    k_scale = numpy.full(-(-length // block_n), 0.01, numpy.float32)
    out = numpy.zeros((1, 1, rows, width), numpy.float16)
    file = "attn_qk_int8_per_block_causal.py" if causal else "attn_qk_int8_per_block.py"
    strides = {f"stride_{x}{d}": n * width if d in "zh" else width
               for x, n in (("q", rows), ("k", length), ("v", length), ("o", rows)) for d in "zhn"}
    report = check(kernels_of("sageattention", file)._attn_fwd, (-(-rows // block_m), 1, 1),
                   dict(Q=q, K=k, V=v, Q_scale=q_scale, K_scale=k_scale, Out=Output(out), **strides, qo_len=rows, kv_len=length, H=1,
                        num_kv_groups=1, HEAD_DIM=width, BLOCK_M=block_m, BLOCK_N=block_n, STAGE=3 if causal else 1),
                   capability, num_warps=4 if width == 64 else 8, num_stages=3 if width == 64 else 4, timings=timings)
    scores = q[0, 0].astype(numpy.float32) @ k[0, 0].astype(numpy.float32).T * 0.0002
    if causal:
        scores = numpy.where(numpy.tril(numpy.ones(scores.shape, bool)), scores, -numpy.inf)
    weights = numpy.exp2(scores - scores.max(1)[:, None])
    expected = weights / weights.sum(1)[:, None] @ v[0, 0].astype(numpy.float32)
    return report, bool(abs(out[0, 0].astype(numpy.float32) - expected).max() < 0.02)


def sage_quantize(timings, capability):
    """Quantization of rows, with the maximum of a block."""
    rows, width, block = 192, 64, 64
    x, out = normal(1, 1, rows, width).astype(numpy.float16), numpy.zeros((1, 1, rows, width), numpy.int8)
    scale = zeros(rows // block)
    report = check(kernels_of("sageattention", "quant_per_block.py").quant_per_block_int8_kernel, (rows // block, 1, 1),
                   dict(Input=x, Output=Output(out), Scale=Output(scale), L=rows, stride_iz=rows * width, stride_ih=rows * width,
                        stride_in=width, stride_oz=rows * width, stride_oh=rows * width, stride_on=width, stride_sz=rows // block,
                        stride_sh=rows // block, sm_scale=1.0, C=width, BLK=block), capability, timings=timings)
    expected = abs(x.astype(numpy.float32)).reshape(rows // block, -1).max(1) / 127
    return report, near((scale, expected))
