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
    `nv.elect`. One thread of the scope, always the same, issues TMA copies, MMAs and
    commits. docs/reference/explicit.md has a table of operations with their executing
    threads and completion.

    With `nv.cluster = n` on the kernel, n adjacent blocks run concurrently and can
    access each other's shared memory: TMA copies can arrive in several of them, and
    threads can arrive on barriers of other blocks.

    With `nv.pair` on the kernel, two adjacent blocks form a cluster and execute
    common MMAs: each holds half of the rows of A, half of the columns of B and its
    rows of the accumulator. The first block issues the MMAs; copies of both arrive on
    the first block's barriers, and commits on the barriers of both.
  }];
  let dependentDialects = ["::penstock::tile::TileDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();

    // Names of discardable attributes, e.g. `engineAttr`.
#define NV_ATTRIBUTE(constant, name, ...) \
    static constexpr ::llvm::StringLiteral constant##Attr = name;
#include "Dialect/NV/NVAttributes.def"
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
