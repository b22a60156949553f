//===- NVDialect.td - The nv dialect -----------------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_DIALECT
#define PENSTOCK_NV_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"

def NV_Dialect : Dialect {
  let name = "nv";
  let cppNamespace = "::penstock::nv";
  let summary = "Threads and engines of Hopper and Blackwell GPUs, on tiles";
  let description = [{
    The explicit level: barriers, phases and warp roles. Its operations are used in
    tile programs, together with those of `tile`, on the same tiles: `shared` tiles
    are in shared memory, with a swizzle that follows from their uses; `local` tiles
    are distributed over the registers of the executing threads; `tensor` tiles are
    in Blackwell's TMEM.

    An operation is executed by all threads of its scope: the block (`nv.threads` of
    the kernel is their number), the warps of an `nv.warps`, or one thread inside
    `nv.elect`. TMA copies, products and commits are issued by one thread of the
    scope, always the same. docs/reference/explicit.md has a table of operations with their
    executing threads and completion.

    With `nv.cluster = n` on the kernel, n adjacent blocks run concurrently and can
    access each other's shared memory: TMA copies can arrive in several of them, and
    threads can arrive on barriers of other blocks.

    With `nv.pair` on the kernel, two adjacent blocks form a cluster and multiply
    together: each holds half of the rows of A, half of the columns of B and its rows
    of the accumulator. The first block issues the products; copies of both arrive on
    the first block's barriers, and commits on those of both.
  }];
  let dependentDialects = ["::penstock::tile::TileDialect"];
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    /// On a kernel: number of threads of a block.
    static constexpr ::llvm::StringLiteral threadsAttr = "nv.threads";
    /// On a kernel: number of adjacent blocks of a cluster.
    static constexpr ::llvm::StringLiteral clusterAttr = "nv.cluster";
    /// On a kernel: why it has no clusters although its grid prefers them.
    static constexpr ::llvm::StringLiteral noClusterAttr = "nv.no_cluster";
    /// On a copy of a pipelined loop: the extents of the grid along which the blocks of a cluster
    /// divide it.
    static constexpr ::llvm::StringLiteral sharedAlongAttr = "nv.shared_along";
    /// On a copy of densely packed values: the padded packing of the tile (tile::Packing), whose
    /// offset along k then counts values.
    static constexpr ::llvm::StringLiteral paddingAttr = "nv.padding";
    /// On a kernel: two adjacent blocks multiply together.
    static constexpr ::llvm::StringLiteral pairAttr = "nv.pair";
    /// On a kernel: why blocks are not paired although that is preferred.
    static constexpr ::llvm::StringLiteral noPairAttr = "nv.no_pair";
    /// On a kernel: why blocks do not use launch control although that is preferred.
    static constexpr ::llvm::StringLiteral noLaunchControlAttr = "nv.no_launch_control";
    /// On a copy: each block of a pair copies half of its rows.
    static constexpr ::llvm::StringLiteral halvedAttr = "nv.halved";
    /// On a kernel: a tile program that one group of warps executes.
    static constexpr ::llvm::StringLiteral inOrderAttr = "nv.in_order";
    /// On a function: the architecture that it is compiled for, e.g. "sm_80".
    static constexpr ::llvm::StringLiteral architectureAttr = "nv.architecture";
    /// On a local tile: how threads hold it (layout::Distribution as text).
    static constexpr ::llvm::StringLiteral layoutAttr = "nv.layout";
    /// On a shared tile: its first byte in the block's shared memory.
    static constexpr ::llvm::StringLiteral offsetAttr = "nv.offset";
    /// On a deallocation: threads have met since the last access.
    static constexpr ::llvm::StringLiteral syncedAttr = "nv.synced";
    /// On a deallocation: each thread that computes knows that all accesses have ended.
    static constexpr ::llvm::StringLiteral endedAttr = "nv.ended";
    /// On a tile.copy or tile.gemm: the engine that executes it (sched::engineName).
    static constexpr ::llvm::StringLiteral engineAttr = "nv.engine";
    /// On a statement of a pipelined loop, and on the `nv.warps` that execute it: the role
    /// that issues it, e.g. "load". The others are the compute warps'.
    static constexpr ::llvm::StringLiteral roleAttr = "nv.role";
    /// On a product of a loop: its first iteration overwrites the accumulator.
    static constexpr ::llvm::StringLiteral startsAttr = "nv.starts";
    /// On a loop: its rounds are the block itself and those that it takes over.
    static constexpr ::llvm::StringLiteral takesOverAttr = "nv.takes_over";
    /// On a statement of a pipelined loop: the number of the loop, whose plan orders it.
    static constexpr ::llvm::StringLiteral plannedAttr = "nv.planned";
    /// On operations that were one statement of a pipelined loop: a number. Its plan does not
    /// order them among each other.
    static constexpr ::llvm::StringLiteral groupAttr = "nv.group";
    /// On a product with scales, and on the two tiles of tensor memory that they are copied to: the
    /// number of the product, and twice that number plus the number of the operand.
    static constexpr ::llvm::StringLiteral scalesAttr = "nv.scales";
    /// On a reduction: it ends before the wait that follows, under a product in flight.
    static constexpr ::llvm::StringLiteral beforeWaitAttr = "nv.before_wait";
    /// On a comparison in a map: its left side is a sum of coordinates with these factors, one
    /// for each dimension, and the number of neighbors with the same result.
    static constexpr ::llvm::StringLiteral coordinatesAttr = "nv.coordinates";
    /// On the main loop of a pipeline: its plan (sched::printPlan).
    static constexpr ::llvm::StringLiteral planAttr = "nv.plan";
    /// On a kernel: rows of tensors that are accessed by vectors are whole vectors. Its launch
    /// checks that, and takes another kernel where it is not so.
    static constexpr ::llvm::StringLiteral alignedRowsAttr = "nv.aligned_rows";
    /// On a tensor of a kernel: the number of bytes that divides its rows. Launches check it.
    static constexpr ::llvm::StringLiteral rowBytesAttr = "nv.row_bytes";
    /// On a module: what launching its kernel needs (Target/NVPTX/LaunchAttribute.h).
    static constexpr ::llvm::StringLiteral launchAttr = "nv.launch";
  }];
}

def NV_Barriers : TypeDef<NV_Dialect, "Barriers"> {
  let mnemonic = "barriers";
  let summary = "mbarrier objects in shared memory";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
}

def NV_NamedBarrier : TypeDef<NV_Dialect, "NamedBarrier"> {
  let mnemonic = "named_barrier";
  let summary = "a named barrier of the block for a number of threads";
  let parameters = (ins "int64_t":$threads);
  let assemblyFormat = "`<` $threads `>`";
}

#endif // PENSTOCK_NV_DIALECT
