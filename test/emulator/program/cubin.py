#!/usr/bin/env python3
# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a kernel to a cubin at run time, loads and launches it through libcuda: cubin.py NVCC SOURCE FOLDER

Run by `penstock-emu run`, with and without the PTX that penstock-nvcc keeps.
"""

import ctypes
import os
import pathlib
import subprocess
import sys

NO_BINARY_FOR_GPU = 209


def call(function, *arguments):
    result = function(*arguments)
    if result:
        sys.exit(f"{function.__name__}: error {result}")


def main():
    nvcc, source, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    cubin = folder / "made.cubin"
    os.environ["PENSTOCK_EMU_PTX"] = str(folder / "ptx")
    subprocess.run([nvcc, "-arch=sm_90a", "-cubin", source, "-o", cubin], check=True)
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function, x = (ctypes.c_void_p() for _ in range(4))
    image = cubin.read_bytes()
    call(cuda.cuInit, 0)
    call(cuda.cuDevicePrimaryCtxRetain, ctypes.byref(context), 0)
    call(cuda.cuCtxSetCurrent, context)
    # Another cubin is refused.
    other = image[:-1] + bytes([image[-1] ^ 1])
    if cuda.cuModuleLoadData(ctypes.byref(module), other) != NO_BINARY_FOR_GPU:
        sys.exit("a cubin without PTX is loaded")
    call(cuda.cuModuleLoadData, ctypes.byref(module), image)
    call(cuda.cuModuleGetFunction, ctypes.byref(function), module, b"scale")
    values = (ctypes.c_float * 64)(*range(64))
    call(cuda.cuMemAlloc_v2, ctypes.byref(x), ctypes.c_size_t(256))
    call(cuda.cuMemcpyHtoD_v2, x, values, ctypes.c_size_t(256))
    factor = ctypes.c_float(3)
    parameters = (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(factor))
    call(cuda.cuLaunchKernel, function, 2, 1, 1, 32, 1, 1, 0, None, parameters, None)
    call(cuda.cuMemcpyDtoH_v2, values, x, ctypes.c_size_t(256))
    if list(values) != [3.0 * i for i in range(64)]:
        sys.exit("wrong values")
    print("verified")


main()
