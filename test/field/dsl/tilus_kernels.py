# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tilus: products for Hopper and Blackwell. Tilus writes CUDA C++ with a launch for its own runtime; nvcc makes PTX of it,
and the arguments here are those of that launch."""

import pathlib
import re
import subprocess
import tempfile

import numpy
import tilus
import tilus.drivers
import tilus.target
import tvm_ffi.libinfo
from tilus import float16, float32, int32, uint32
from tilus.hidet.libinfo import get_include_dirs
from tilus.lang.instantiated_script import CallParameters, JitInstance
from tilus.utils import cdiv

import common
from penstock_emu import Output, TensorMap
from penstock_emu import check as check_ptx
from penstock_emu import mutate as mutate_ptx

ROWS, COLUMNS, STEP = 128, 64, 64
check = common.runner(check_ptx, mutate_ptx)


class HopperProduct(tilus.Script):
    def __call__(self, m: int32, n: int, k: int, a: ~float16, b: ~float16, c: ~float16):
        self.attrs.blocks = [cdiv(m, ROWS), cdiv(n, COLUMNS)]
        self.attrs.warps = 4
        row: int32 = ROWS * self.blockIdx.x
        column: int32 = COLUMNS * self.blockIdx.y
        of_a = self.global_view(a, dtype=float16, shape=[m, k])
        of_b = self.global_view(b, dtype=float16, shape=[n, k])
        of_c = self.global_view(c, dtype=float16, shape=[m, n])
        tile_a = self.shared_tensor(dtype=float16, shape=[ROWS, STEP])
        tile_b = self.shared_tensor(dtype=float16, shape=[COLUMNS, STEP])
        sums = self.register_tensor(dtype=float32, shape=[ROWS, COLUMNS], init=0.0)
        for at in range(0, k, STEP):
            self.copy_async(src=of_a, dst=tile_a, offsets=[row, at])
            self.copy_async(src=of_b, dst=tile_b, offsets=[column, at])
            self.copy_async_wait_all()
            self.fence.proxy_async(space="shared")
            self.sync()
            self.wgmma.fence()
            self.wgmma.mma(tile_a, tile_b.transpose(), sums)
            self.wgmma.commit_group()
            self.wgmma.wait_group(0)
            self.sync()
        self.store_global(of_c, self.cast(sums, dtype=float16), offsets=[row, column])


class BlackwellProduct(tilus.Script):
    def __call__(self, m: int32, n: int, k: int, a: ~float16, b: ~float16, c: ~float16):
        self.attrs.blocks = [cdiv(m, ROWS), cdiv(n, COLUMNS)]
        self.attrs.warps = 4
        row: int32 = ROWS * self.blockIdx.x
        column: int32 = COLUMNS * self.blockIdx.y
        of_a = self.global_view(a, dtype=float16, shape=[m, k])
        of_b = self.global_view(b, dtype=float16, shape=[n, k])
        of_c = self.global_view(c, dtype=float16, shape=[m, n])
        tile_a = self.shared_tensor(dtype=float16, shape=[ROWS, STEP])
        tile_b = self.shared_tensor(dtype=float16, shape=[COLUMNS, STEP])
        sums = self.tcgen05.alloc(dtype=float32, shape=[ROWS, COLUMNS])
        loaded, multiplied = self.mbarrier.alloc(counts=[1, 1]).tolist()
        phase: uint32 = 0
        self.sync()
        for at in range(0, k, STEP):
            with self.single_warp():
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(loaded, transaction_bytes=tile_a.nbytes + tile_b.nbytes)
                self.tma.global_to_shared(src=of_a, dst=tile_a, offsets=[row, at], mbarrier=loaded)
                self.tma.global_to_shared(src=of_b, dst=tile_b, offsets=[column, at], mbarrier=loaded)
                self.mbarrier.wait(loaded, phase=phase)
                self.tcgen05.mma(tile_a, tile_b.transpose(), sums, enable_input_d=at != 0)
                self.tcgen05.commit(mbarrier=multiplied)
            self.mbarrier.wait(multiplied, phase=phase)
            self.sync()
            phase ^= 1
        result = self.tcgen05.load(sums)
        self.tcgen05.wait_load()
        self.store_global(of_c, result.to(float16), offsets=[row, column])
        self.sync()
        self.tcgen05.dealloc(sums)


SCRIPTS = {"90": (HopperProduct, tilus.target.nvgpu_sm90a), "100": (BlackwellProduct, tilus.target.nvgpu_sm100a)}


def compiled(script, target, **sizes):
    """PTX of a script, and the bytes of dynamic shared memory that its launch asks for."""
    tilus.target.set_current_target(target)
    folder = pathlib.Path(tempfile.mkdtemp())
    tilus.option.cache_dir(str(folder))
    program = JitInstance._instantiate_schedule((script, CallParameters(script), {}, sizes, {"m": ROWS}))
    if isinstance(program, str):
        raise RuntimeError(program)
    program = tilus.drivers.optimize_program(program, options=tilus.drivers.BuildOptions(), cache_dir=folder)
    module = tilus.drivers.optimize_ir_module(tilus.drivers.generate_ir_module(program), folder)
    source, ptx = folder / "source.cu", folder / "kernel.ptx"
    tilus.drivers.codegen(module, src_out_path=str(source), target="cuda")
    folders = [*get_include_dirs(), tvm_ffi.libinfo.find_include_path(), tvm_ffi.libinfo.find_dlpack_include_path()]
    subprocess.run(["nvcc", "-ptx", "-std=c++17", "-O3", "-lineinfo", "-arch", target.arch.replace("sm", "sm_"),
                    *(f"-I{each}" for each in folders), source, "-o", ptx], check=True, capture_output=True)
    shared = re.search(r"<<<.*?dim3\(128, 1, 1\), (\d+),", source.read_text())
    return ptx.read_text(), int(shared.group(1))


def cases(name, M=256, N=128, K=512):
    blackwell = name.endswith("100")
    ptx, shared = compiled(*SCRIPTS[name.split("sm_")[1]], n=N, k=K)

    def run(timing):
        a, b, c = common.values(M, K), common.values(N, K), numpy.zeros((M, N), numpy.float16)
        # Tilus 0.2.0 writes copies by TMA with `.cta_group::1`, which ptxas refuses on Hopper.
        maps = [TensorMap(a, (ROWS, STEP), 128), TensorMap(b, (COLUMNS, STEP), 128)] if blackwell else []
        report = check(ptx, None, (M // ROWS, N // COLUMNS), 128, [M, a, b, Output(c), *maps], shared, timings=timing)
        return report, common.matches(c, a.astype(float) @ b.astype(float).T)

    return run


if __name__ == "__main__":
    common.main(cases)
