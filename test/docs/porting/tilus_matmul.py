# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The matmul of docs/how-to/porting.md in Tilus."""

import tilus
from tilus import float16, float32, int32, uint32
from tilus.utils import cdiv


class Matmul(tilus.Script):
    def __init__(self, bm=128, bn=128, bk=64, stages=3):
        super().__init__()
        self.bm, self.bn, self.bk, self.stages = bm, bn, bk, stages

    def __call__(self, m: int32, n: int, k: int, a: ~float16, b: ~float16, c: ~float16):
        self.attrs.blocks = [cdiv(m, self.bm), cdiv(n, self.bn)]
        self.attrs.warps = 4
        row: int32 = self.bm * self.blockIdx.x
        column: int32 = self.bn * self.blockIdx.y
        ga = self.global_view(a, dtype=float16, shape=[m, k])
        gb = self.global_view(b, dtype=float16, shape=[n, k])
        gc = self.global_view(c, dtype=float16, shape=[m, n])
        x = self.shared_tensor(dtype=float16, shape=[self.stages, self.bm, self.bk])
        y = self.shared_tensor(dtype=float16, shape=[self.stages, self.bn, self.bk])
        acc = self.tcgen05.alloc(dtype=float32, shape=[self.bm, self.bn])
        full = self.mbarrier.alloc(counts=[1 for _ in range(self.stages)])
        empty = self.mbarrier.alloc(counts=[1 for _ in range(self.stages)])
        done = self.mbarrier.alloc(counts=[1])
        self.sync()
        with self.single_warp(0):  # loads
            slot: int32 = 0
            phase: uint32 = 1
            for at in self.range(0, k, self.bk, unroll=self.stages):
                self.mbarrier.wait(empty[slot], phase=phase)
                with self.single_thread():
                    self.mbarrier.arrive_and_expect_tx(full[slot], transaction_bytes=x[0].nbytes + y[0].nbytes)
                self.tma.global_to_shared(src=ga, dst=x[slot], offsets=[row, at], mbarrier=full[slot])
                self.tma.global_to_shared(src=gb, dst=y[slot], offsets=[column, at], mbarrier=full[slot])
                slot = (slot + 1) % self.stages
                phase ^= slot == 0
        with self.single_warp(1):  # multiplies
            slot: int32 = 0
            phase: uint32 = 0
            for at in self.range(0, k, self.bk, unroll=self.stages):
                self.mbarrier.wait(full[slot], phase=phase)
                self.tcgen05.mma(x[slot], y[slot].transpose(), acc, enable_input_d=at != 0)
                self.tcgen05.commit(mbarrier=empty[slot])
                slot = (slot + 1) % self.stages
                phase ^= slot == 0
            self.tcgen05.commit(mbarrier=done[0])
        self.mbarrier.wait(done[0], phase=0)
        result = self.tcgen05.load(acc)
        self.tcgen05.wait_load()
        self.store_global(gc, result.to(float16), offsets=[row, column])
        self.sync()
        self.tcgen05.dealloc(acc)
