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
  let summary = "What the threads and engines of a Hopper or Blackwell GPU do with tiles";
  let description = [{
    The level at which a user has barriers, phases and roles in their own hands.
    Its operations stand in tile programs, beside those of `tile`, and name the
    same tiles: `shared` tiles lie in shared memory, with a swizzle that follows
    from their uses; `local` tiles are spread over the registers of the threads
    around an operation; `tensor` tiles lie in Blackwell's tensor memory.

    An operation is executed by all threads of the scope it stands in: the block
    (`nv.threads` on the kernel says how many), the warps of an `nv.warps`, or
    one thread inside of `nv.elect`. Copies by TMA, products and commits are
    issued by one thread of the scope, always the same; the table in
    docs/explicit.md says for each operation who executes it and how it
    completes.

    With `nv.cluster = n` on the kernel n neighbouring blocks run at the same time
    and reach each other's shared memory: copies by TMA arrive in several of them,
    and threads arrive on barriers of the others.

    With `nv.pair` on the kernel two neighbouring blocks form a cluster and
    multiply as one: each holds its half of the rows of A, its half of the columns
    of B and its rows of the accumulator. The first of them issues the products;
    copies of both arrive on the first one's barriers, and commits on those of
    both.
  }];
  let dependentDialects = ["::penstock::tile::TileDialect"];
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    /// On a kernel: the number of threads of a block.
    static constexpr ::llvm::StringLiteral threadsAttr = "nv.threads";
    /// On a kernel: how many neighbouring blocks form a cluster.
    static constexpr ::llvm::StringLiteral clusterAttr = "nv.cluster";
    /// On a kernel: two neighbouring blocks multiply as one.
    static constexpr ::llvm::StringLiteral pairAttr = "nv.pair";
    /// On a kernel: a tile program that all threads execute in program order.
    static constexpr ::llvm::StringLiteral inOrderAttr = "nv.in_order";
    /// On a local tile: how threads hold it (layout::Distribution as text).
    static constexpr ::llvm::StringLiteral layoutAttr = "nv.layout";
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
  let summary = "a named barrier of the block, for so many threads";
  let parameters = (ins "int64_t":$threads);
  let assemblyFormat = "`<` $threads `>`";
}

#endif // PENSTOCK_NV_DIALECT
