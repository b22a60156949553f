# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The matmul of docs/how-to/porting.md in CuTe DSL. M, N and K are multiples of the tile."""

import os

os.environ.setdefault("CUTE_DSL_ARCH", "sm_100a")

import cutlass
import cutlass.cute as cute
from cutlass import memory, pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.utils import blackwell_helpers

BM, BN, BK, STAGES = 128, 128, 64, 3


@cute.struct
class Storage:
    ring: cute.struct.MemRange[cutlass.Int64, 2 * STAGES]
    done: cute.struct.MemRange[cutlass.Int64, 2]
    tmem: cutlass.Int32


def make_mma():
    return cute.make_tiled_mma(tcgen05.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (BM, BN, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM,
        OperandMajorMode.K, OperandMajorMode.K))


@cute.kernel
def kernel(load_a: cute.CopyAtom, a: cute.Tensor, load_b: cute.CopyAtom, b: cute.Tensor, c: cute.Tensor,
           layout_x: cute.ComposedLayout, layout_y: cute.ComposedLayout):
    mma = make_mma()
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    m, n, _ = cute.arch.block_idx()
    smem = memory.SmemAllocator()
    storage = smem.allocate(Storage)
    x = smem.allocate_tensor(cutlass.Float16, layout_x.outer, 128, layout_x.inner)
    y = smem.allocate_tensor(cutlass.Float16, layout_y.outer, 128, layout_y.inner)
    tmem = memory.TmemAllocator(storage.tmem, barrier_for_retrieve=pipeline.NamedBarrier(1, 128))
    tmem.allocate(BN)

    one = pipeline.CooperativeGroup(pipeline.Agent.Thread)
    tile_bytes = 2 * (BM + BN) * BK
    producer, consumer = pipeline.PipelineTmaUmma.create(
        num_stages=STAGES, producer_group=one, consumer_group=one, tx_count=tile_bytes,
        barrier_storage=storage.ring.data_ptr()).make_participants()
    result, reader = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=one, consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 128),
        barrier_storage=storage.done.data_ptr()).make_participants()

    part = mma.get_slice(0)
    ga = part.partition_A(cute.local_tile(a, (BM, BK), (m, None)))
    gb = part.partition_B(cute.local_tile(b, (BN, BK), (n, None)))
    gc = part.partition_C(cute.local_tile(c, (BM, BN), (m, n)))
    sx, tile_a = cpasync.tma_partition(load_a, 0, cute.make_layout(1), cute.group_modes(x, 0, 3), cute.group_modes(ga, 0, 3))
    sy, tile_b = cpasync.tma_partition(load_b, 0, cute.make_layout(1), cute.group_modes(y, 0, 3), cute.group_modes(gb, 0, 3))
    rx, ry = mma.make_fragment_A(x), mma.make_fragment_B(y)
    tmem.wait_for_alloc()
    columns = tmem.retrieve_ptr(cutlass.Float32)
    acc = cute.make_tensor(columns, mma.make_fragment_C(mma.partition_shape_C((BM, BN))).layout)
    steps = cute.size(ga, mode=[3])

    if warp == 0:  # loads
        for _ in cutlass.range(steps):
            slot = producer.acquire_and_advance()
            cute.copy(load_a, tile_a[None, slot.count], sx[None, slot.index], tma_bar_ptr=slot.barrier)
            cute.copy(load_b, tile_b[None, slot.count], sy[None, slot.index], tma_bar_ptr=slot.barrier)
        producer.tail()
    elif warp == 1:  # multiplies
        finished = result.acquire_and_advance()
        for _ in cutlass.range(steps):
            slot = consumer.wait_and_advance()
            for k in cutlass.range_constexpr(cute.size(rx, mode=[2])):
                cute.gemm(mma, acc, rx[None, None, k, slot.index], ry[None, None, k, slot.index], acc)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            slot.release()
        finished.commit()

    tmem.relinquish_alloc_permit()
    available = reader.wait_and_advance()
    read = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), cutlass.Float32),
                                  acc[(None, None), 0, 0])
    mine = read.get_slice(thread)
    source, target = mine.partition_S(acc[(None, None), 0, 0]), mine.partition_D(gc[(None, None), 0, 0])
    sums = cute.make_rmem_tensor(target.shape, cutlass.Float32)
    cute.copy(read, source, sums)
    halves = cute.make_rmem_tensor(target.shape, cutlass.Float16)
    halves.store(sums.load().to(cutlass.Float16))
    cute.autovec_copy(halves, target)
    available.release()
    pipeline.sync(barrier_id=1)
    tmem.free(columns)


@cute.jit
def matmul(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    mma = make_mma()
    layout_x = blackwell_helpers.make_smem_layout_a(mma, (BM, BN, BK), cutlass.Float16, STAGES)
    layout_y = blackwell_helpers.make_smem_layout_b(mma, (BM, BN, BK), cutlass.Float16, STAGES)
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    load_a, a = cute.nvgpu.make_tiled_tma_atom_A(load, a, cute.select(layout_x, mode=[0, 1, 2]), (BM, BN, BK), mma)
    load_b, b = cute.nvgpu.make_tiled_tma_atom_B(load, b, cute.select(layout_y, mode=[0, 1, 2]), (BM, BN, BK), mma)
    kernel(load_a, a, load_b, b, c, layout_x, layout_y).launch(
        grid=(cute.size(c, mode=[0]) // BM, cute.size(c, mode=[1]) // BN, 1), block=(128, 1, 1))
