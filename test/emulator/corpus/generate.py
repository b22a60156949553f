#!/usr/bin/env python3
# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the PTX of this folder: what compilers make of kernels of ours, so that a test sees that all of it is read.

    generate.py     with the packages of test/field/requirements.txt, PENSTOCK_EMU_LIBRARY, and nvcc on the path
"""

import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "field" / "dsl")]
os.environ.setdefault("FIELD_WORK", str(ROOT / "build-field"))

import numpy

import cute_dsl_kernels
import tilelang_kernels
import triton_kernels
from penstock_emu.cute import ptx_of
from penstock_emu.tilelang import compile_kernel
from penstock_emu.triton import Descriptor, launch_of


def array(*shape):
    return numpy.zeros(shape, numpy.float16)


def product(kernel, target, **more):
    args = dict(a=Descriptor(array(256, 512), [128, 64]), b=Descriptor(array(512, 256), [64, 128]),
                c=Descriptor(array(256, 256), [128, 128]), K=512, BM=128, BN=128, BK=64)
    return launch_of(kernel, 1, args, target, **more)["ptx"]


def attention(target):
    args = {name: Descriptor(array(384, 128), [64 if name in "kv" else 128, 128]) for name in "qkvo"}
    return launch_of(triton_kernels.attention, 1, dict(args, LENGTH=384, scale=0.1, BM=128, BN=64, D=128), target,
                     num_warps=8)["ptx"]


def persistent(target):
    args = dict(a=array(256, 512), b=array(256, 512), c=array(256, 256), M=256, N=256, K=512, BM=128, BN=128, BK=64,
                BLOCKS=2)
    return launch_of(triton_kernels.matmul_persistent, 2, args, target)["ptx"]


def pointers(target):
    args = dict(a=array(256, 512), b=array(512, 256), c=array(256, 256), N=256, K=512, BM=128, BN=128, BK=64)
    return launch_of(triton_kernels.matmul_pointers, 2, args, target, num_warps=8)["ptx"]


TEXTS = {
    "triton-pointers-sm_90": lambda: pointers(90),
    "triton-pointers-sm_100": lambda: pointers(100),
    "triton-descriptors-sm_90": lambda: product(triton_kernels.matmul_descriptors, 90),
    "triton-specialized-sm_100": lambda: product(triton_kernels.matmul_specialized, 100),
    "triton-persistent-sm_100": lambda: persistent(100),
    "triton-attention-sm_100": lambda: attention(100),
    "tilelang-gemm-sm_90": lambda: compile_kernel(tilelang_kernels.gemm(K=128)).ptx,
    "tilelang-softmax-sm_100": lambda: compile_kernel(tilelang_kernels.softmax(), arch="sm_100a").ptx,
    "cute-reverse-sm_90": lambda: ptx_of(cute_dsl_kernels.compiled_reverse()).rstrip("\0"),
}


def without_paths(text):
    """File names without folders, which differ between machines, and no debug information but lines."""
    text = re.sub(r'^(\s*\.file\s+\d+\s+")(?:[^"]*/)?([^"/]*")', r"\1\2", text, flags=re.M)
    return re.sub(r"^\s*\.section\s.*", "", text, flags=re.M | re.S).rstrip() + "\n"


for name, make in TEXTS.items():
    (HERE / f"{name}.ptx").write_text(without_paths(make()))
    print(name)
