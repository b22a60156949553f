//===- TileOps.td - Operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TILE_OPS
#define PENSTOCK_TILE_OPS

include "Dialect/Tile/TileAttrs.td"
include "Dialect/Tile/TileInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

/// An operation whose effects on memory are those of its tile accesses.
class Tile_AccessOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<Tile_AccessOpInterface>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])>;

def Tile_Scalar : AnyTypeOf<[AnySignlessInteger, Index, AnyFloat], "a scalar">;

//===----------------------------------------------------------------------===//
// The grid and its blocks
//===----------------------------------------------------------------------===//

// Not pure: a kernel may ignore its coordinates, and removing the operation as
// dead would change how many blocks are launched.
def Tile_GridOp : Tile_Op<"grid", [MemoryEffects<[MemWrite]>]> {
  let summary = "the extents of the grid and this block's place in it";
  let description = [{
    States how many blocks the kernel is launched with, one extent for each of
    one to three dimensions, and gives this block's coordinates. The extents
    must follow from the kernel's arguments alone. At most one `tile.grid`
    stands in a kernel, outside of loops and conditionals; without it the kernel
    is launched with one block.

    Blocks are numbered with the first dimension fastest. With `swizzle g`, for
    two dimensions, consecutive blocks walk through groups that are `g` wide in
    the second dimension and as high as the grid in the first; the last group
    may be narrower. Inside a group the second dimension runs fastest. Blocks
    that run at the same time then share rows and columns.

    ```mlir
    %bm, %bn = tile.grid %gm, %gn swizzle 8
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents,
                       OptionalAttr<I64Attr>:$swizzle);
  let results = (outs Variadic<Index>:$coordinates);
  let assemblyFormat = "$extents (`swizzle` $swizzle^)? attr-dict `:` type($coordinates)";
  let hasVerifier = 1;
}

def Tile_DivModOp : Tile_Op<"divmod", [Pure]> {
  let summary = "quotient and remainder by a launch constant";
  let description = [{
    Divides a non-negative index by a positive one that is the same for the
    whole launch: it must follow from the kernel's arguments alone. The
    multiplier that replaces the division is computed once per launch.

    ```mlir
    %q, %r = tile.divmod %i, %n
    ```
  }];
  let arguments = (ins Index:$dividend, Index:$divisor);
  let results = (outs Index:$quotient, Index:$remainder);
  let assemblyFormat = "$dividend `,` $divisor attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

def Tile_AllocOp : Tile_Op<"alloc", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a tile of the block";
  let description = [{
    Makes a tile in the `shared` or `local` space. It lives as long as the
    block; its contents are undefined until they are written. A tile without
    dimensions is a mutable scalar. `versions` states how many copies a pipeline
    keeps of the tile; without it the number is computed.

    ```mlir
    %As = tile.alloc "As" versions 3 : memref<128x64xf16, #tile.space<shared>>
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$label, OptionalAttr<I64Attr>:$versions);
  let results = (outs Res<AnyMemRef, "", [MemAlloc<DefaultResource>]>:$result);
  let assemblyFormat = "($label^)? (`versions` $versions^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Operations on whole tiles
//===----------------------------------------------------------------------===//

def Tile_CopyOp : Tile_AccessOp<"copy", [AttrSizedOperandSegments]> {
  let summary = "copies a tile, to or from a place in a tensor";
  let description = [{
    Copies elements between two tiles of the same shape, or between a tile and
    the box of a tensor that starts at the given offsets. The box has the tile's
    shape along the tensor's last dimensions, or along `dims`, and extent one
    along the others. Floating-point elements are converted with rounding to
    nearest even.

    What lies outside of the tensor reads as zero, or as `fill`, and is not
    written. Between two views of one tile, all is read before anything is
    written. With `async` the copy may complete at any time up to the
    `tile.wait` that names it, or the end of the kernel.

    ```mlir
    tile.copy %A[%r, %c] to %As async "loadA"
      : memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
      to memref<128x64xf16, #tile.space<shared>>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$source_offsets,
                       AnyMemRef:$target, Variadic<Index>:$target_offsets,
                       Optional<Tile_Scalar>:$fill, Optional<Index>:$instance,
                       OptionalAttr<DenseI64ArrayAttr>:$dims,
                       OptionalAttr<StrAttr>:$async);
  let assemblyFormat = [{
    $source (`[` $source_offsets^ `]`)? `to` $target (`[` $target_offsets^ `]`)?
    (`dims` $dims^)? (`fill` $fill^ `:` type($fill))? (`async` $async^)?
    (`instance` $instance^)? attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The shape of what is copied: that of the side without offsets.
    ::llvm::ArrayRef<int64_t> getTileShape();
    /// For each dimension of the tile, the tensor's dimension it runs along.
    ::llvm::SmallVector<int64_t> getTensorDims();
    bool readsTensor() { return !getSourceOffsets().empty(); }
    bool writesTensor() { return !getTargetOffsets().empty(); }
    ::mlir::StringAttr getAsyncName() { return getAsyncAttr(); }
  }];
}

def Tile_FillOp : Tile_AccessOp<"fill"> {
  let summary = "sets every element of a tile to one value";
  let description = [{
    ```mlir
    tile.fill %acc, %zero : memref<128x128xf32, #tile.space<local>>, f32
    ```
  }];
  let arguments = (ins AnyMemRef:$target, Tile_Scalar:$value);
  let assemblyFormat = "$target `,` $value attr-dict `:` type($target) `,` type($value)";
  let hasVerifier = 1;
}

def Tile_GemmOp : Tile_AccessOp<"gemm"> {
  let summary = "multiplies two tiles and adds to a third";
  let description = [{
    `acc += a * b` for an M x K tile, a K x N tile and an M x N accumulator;
    with `overwrite`, `acc = a * b`. A transposed operand is a
    `memref.transpose` of its tile. Products of f16, bf16, f8 and f32 elements
    are summed in f32, of i8 elements in i32. `precision tf32` rounds f32
    operands to TF32 first. The order of the sum is not defined. With `async`
    the product may complete, and read its operands, at any time up to the
    `tile.wait` that names it; products into one accumulator take effect in the
    order in which they were issued.

    ```mlir
    tile.gemm %As, %Bt into %acc : memref<128x64xf16, #tile.space<shared>>,
      memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>,
      memref<128x128xf32, #tile.space<local>>
    ```
  }];
  let arguments = (ins AnyMemRef:$a, AnyMemRef:$b, AnyMemRef:$acc,
                       Optional<Index>:$instance, UnitAttr:$overwrite,
                       DefaultValuedAttr<Tile_Precision, "Precision::Full">:$precision,
                       OptionalAttr<StrAttr>:$async);
  let assemblyFormat = [{
    $a `,` $b `into` $acc (`overwrite` $overwrite^)? (`precision` $precision^)?
    (`async` $async^)? (`instance` $instance^)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::StringAttr getAsyncName() { return getAsyncAttr(); }
  }];
}

def Tile_ReduceOp : Tile_AccessOp<"reduce"> {
  let summary = "combines the elements of a tile along one dimension";
  let description = [{
    The result has the source's shape without the reduced dimension. With
    `accumulate` the target's old elements are combined too. Elements are
    converted to the target's type first. `max` and `min` give NaN if any
    element is NaN. The order of the combination is not defined.

    ```mlir
    tile.reduce max %S along 1 into %top accumulate
      : memref<64x64xf32, #tile.space<local>>, memref<64xf32, #tile.space<local>>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, AnyMemRef:$source, I64Attr:$dim,
                       AnyMemRef:$target, UnitAttr:$accumulate);
  let assemblyFormat = [{
    $kind $source `along` $dim `into` $target (`accumulate` $accumulate^)?
    attr-dict `:` type($source) `,` type($target)
  }];
  let hasVerifier = 1;
}

def Tile_MapOp : Tile_AccessOp<"map", [SingleBlock, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "computes every element of a tile";
  let description = [{
    Sets each element of the target to the value that the region yields. The
    region's arguments are the elements of the inputs that belong to it: `dims`
    holds, for each input, the dimension of the target along which each of the
    input's dimensions runs, so that an input of lower rank is broadcast.
    `tile.element_index` gives the element's place. An input may be the target
    itself: each element is read before it is written.

    ```mlir
    tile.map %P ins(%S, %top) dims [[0, 1], [0]] {
    ^bb0(%s: f32, %t: f32):
      %d = arith.subf %s, %t : f32
      %e = math.exp2 %d : f32
      tile.yield %e : f32
    } : memref<64x64xf32, #tile.space<local>>
      ins(memref<64x64xf32, #tile.space<local>>, memref<64xf32, #tile.space<local>>)
    ```
  }];
  let arguments = (ins AnyMemRef:$target, Variadic<AnyMemRef>:$inputs,
                       ArrayAttr:$dims);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $target (`ins` `(` $inputs^ `)`)? `dims` $dims $body attr-dict
    `:` type($target) (`ins` `(` type($inputs)^ `)`)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The target's dimensions along which input \p i runs.
    ::llvm::SmallVector<int64_t> getInputDims(unsigned i);
  }];
}

def Tile_ElementIndexOp : Tile_Op<"element_index", [Pure]> {
  let summary = "the place of the current element of a tile.map";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["MapOp", "ParallelOp", "StatementOp"]>]> {
  let summary = "ends the region of a tile operation";
  let arguments = (ins Optional<Tile_Scalar>:$value);
  let assemblyFormat = "attr-dict ($value^ `:` type($value))?";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::Value());">];
}

//===----------------------------------------------------------------------===//
// Operations on single elements
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_AccessOp<"load"> {
  let summary = "reads one element";
  let description = [{
    Reading outside of the tensor or tile is a fault: it is reported with its
    place when the kernel ends, and gives zero.

    ```mlir
    %id = tile.load %Ids[%k] : memref<?xi32, strided<[1]>, #tile.space<global>>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$indices);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_AccessOp<"store"> {
  let summary = "writes one element";
  let description = [{
    Writing outside of the tensor or tile is a fault: it is reported with its
    place when the kernel ends, and nothing is written.
  }];
  let arguments = (ins Tile_Scalar:$value, AnyMemRef:$target, Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $target `[` $indices `]` attr-dict `:` type($value) `,` type($target)";
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_AccessOp<"atomic"> {
  let summary = "updates one element atomically and gives its old value";
  let description = [{
    Atomic with respect to all blocks of the launch, without further order.
    Elements are i32, i64, f32 or f64. Integers compare signed; `max` and `min`
    give NaN if either side is NaN. Faults are those of `tile.store`; one gives
    zero.

    ```mlir
    %old = tile.atomic add %one, %H[%bin] : i32, memref<?xi32, strided<[1]>, #tile.space<global>>
    ```
  }];
  let arguments = (ins Tile_AtomicKind:$kind, Tile_Scalar:$value,
                       AnyMemRef:$target, Variadic<Index>:$indices);
  let results = (outs Tile_Scalar:$old);
  let assemblyFormat = [{
    $kind $value `,` $target `[` $indices `]` attr-dict
    `:` type($value) `,` type($target) `->` type($old)
  }];
  let hasVerifier = 1;
}

def Tile_ParallelOp : Tile_Op<"parallel", [SingleBlock, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "runs a body for every element of a shape";
  let description = [{
    The region's arguments are the element's indices. The bodies may run in any
    order and at the same time, so what one writes no other may touch, except by
    `tile.atomic`. On a GPU the elements are spread over the block's threads.

    ```mlir
    tile.parallel [256] {
    ^bb0(%i: index):
      ...
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$extents);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$extents $body attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Statements, names and waits
//===----------------------------------------------------------------------===//

def Tile_BindOp : Tile_Op<"bind", [Pure, AllTypesMatch<["value", "result"]>,
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "gives a scalar a name";
  let description = [{
    The value under a name of the user's, for messages, and for schedules in the
    older form that hold an entry for it.

    ```mlir
    %base = tile.bind "base" %0 : index
    ```
  }];
  let arguments = (ins StrAttr:$label, Tile_Scalar:$value);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$label $value attr-dict `:` type($value)";
}

def Tile_StatementOp : Tile_Op<"statement", [SingleBlock, RecursiveMemoryEffects,
    NoRegionArguments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "several operations as one statement of a schedule";
  let description = [{
    ```mlir
    tile.statement "softmax" {
      ...
    }
    ```
  }];
  let arguments = (ins StrAttr:$label);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$label $body attr-dict";
  let hasVerifier = 1;
}

def Tile_WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for asynchronous operations by name";
  let description = [{
    In a loop, the wait of iteration k completes what the operations of these
    names issued up to iteration k - `lag`, in the same loop; elsewhere it
    completes all that they issued. Iterations are counted on when the loop runs
    again, so that a lag reaches back into its previous run.

    A pipelined loop that has been written out says which iteration it means:
    operations carry their number as `instance`, and a wait `through` a number
    completes all up to it, and what was issued under its names without a number.

    ```mlir
    tile.wait ["loadA", "loadB"] lag 1
    ```
  }];
  let arguments = (ins StrArrayAttr:$names,
                       DefaultValuedAttr<I64Attr, "0">:$lag,
                       Optional<Index>:$through);
  let assemblyFormat = "$names (`lag` $lag^)? (`through` $through^)? attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Looking inside
//===----------------------------------------------------------------------===//

def Tile_PrintOp : Tile_Op<"print", [DeclareOpInterfaceMethods<Tile_AccessOpInterface>,
                                     MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "prints a text with scalars or a whole tile";
  let description = [{
    Each `{}` of the text stands for one operand. The lines of one block come
    out in order; blocks are not ordered.
  }];
  let arguments = (ins StrAttr:$text,
    Variadic<AnyTypeOf<[Tile_Scalar, AnyMemRef], "a scalar or a tile">>:$operands_);
  let assemblyFormat = "$text ($operands_^ `:` type($operands_))? attr-dict";
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a condition that must hold while the kernel runs";
  let description = [{
    A false condition is a fault: the launch reports the first one with its
    place and message. The block runs on.
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

#endif // PENSTOCK_TILE_OPS
