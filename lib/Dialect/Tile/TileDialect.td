//===- TileDialect.td - The tile dialect -------------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TILE_DIALECT
#define PENSTOCK_TILE_DIALECT

include "mlir/IR/DialectBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::penstock::tile";
  let summary = "Operations on tiles, with sequential semantics";
  let description = [{
    A tile program is a `func.func` with the unit attribute `tile.kernel`. It is the
    program of one thread block, written as operations on whole tiles: copy a tile to
    shared memory, multiply, reduce, store. Its semantics is sequential, and every
    later form of the program, on every target, must compute the same results.

    Tiles are `memref`s whose memory space is a `#tile.space` attribute. A
    kernel's tensor arguments are in the `global` space, have run-time sizes and
    are contiguous in their last dimension; `tile.alloc` allocates tiles of constant
    shape in the `shared` or `local` space. Slices and transposes of tiles are
    `memref.subview` and `memref.transpose`. Loops and conditionals are
    `scf.for` and `scf.if`; scalars are computed with `arith` and `math`.

    A loop can have attributes of this dialect:

    - `tile.schedule = #tile.schedule<...>`: the requested pipeline schedule;
    - `tile.scheduled = #tile.scheduled<...>`: on its statements, the resolved schedule;
    - `tile.unroll = 4 : i64`: unroll by this factor (1 disables unrolling, 0
      unrolls fully).

    A kernel's arguments can have `tile.name` (for diagnostics), `tile.access`
    (`"in"`, `"out"` or `"inout"`, tensors only) and `tile.overlaps` (a unit
    attribute: this tensor may share memory with others that carry it).
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();

    static constexpr ::llvm::StringLiteral kernelAttr = "tile.kernel";
    static constexpr ::llvm::StringLiteral signatureAttr = "tile.signature";
    /// On a kernel: the architecture that it is compiled for, e.g. "sm_80" (targetOf).
    static constexpr ::llvm::StringLiteral targetAttr = "tile.target";
    /// On a pipelined loop: the schedule that is requested.
    static constexpr ::llvm::StringLiteral scheduleAttr = "tile.schedule";
    /// On a statement of a pipelined loop: its position in the schedule.
    static constexpr ::llvm::StringLiteral scheduledAttr = "tile.scheduled";
    /// On a pipelined loop: how warps share it.
    static constexpr ::llvm::StringLiteral formAttr = "tile.form";
    static constexpr ::llvm::StringLiteral skewedForm = "skewed";
    static constexpr ::llvm::StringLiteral warpSpecializedForm = "warp_specialized";
    /// On a statement of a pipelined loop: the name of the warps that execute it.
    static constexpr ::llvm::StringLiteral roleAttr = "tile.role";
    static bool isRoleName(::llvm::StringRef name);
    static constexpr ::llvm::StringLiteral unrollAttr = "tile.unroll";
    /// On a sum: its terms may be fused with products.
    static constexpr ::llvm::StringLiteral contractAttr = "tile.contract";
    static constexpr ::llvm::StringLiteral nameAttr = "tile.name";
    static constexpr ::llvm::StringLiteral accessAttr = "tile.access";
    static constexpr ::llvm::StringLiteral overlapsAttr = "tile.overlaps";
    /// On a tensor or a tile of i8: the packed element that the bytes are (PackedElements.h).
    static constexpr ::llvm::StringLiteral packedAttr = "tile.packed";
  }];
}

#endif // PENSTOCK_TILE_DIALECT
