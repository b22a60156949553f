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
  let summary = "extents of the grid and coordinates of this block";
  let description = [{
    Sets the number of blocks of the launch, one extent for each of one to three
    dimensions, and returns the coordinates of this block. The extents may only depend
    on the kernel's arguments. A kernel has at most one `tile.grid`, outside loops and
    conditionals; without it the launch has one block.

    Blocks are numbered with the first dimension fastest. With `swizzle g`, for two
    dimensions, consecutive blocks form groups that are `g` wide in the second
    dimension and span the first; the last group may be narrower. Inside a group the
    second dimension is fastest. Blocks that run at the same time then share rows and
    columns.

    `cluster` is the preferred number of blocks of a cluster along each extent (nv-share-copies),
    at most 8 blocks in total. With `pair`, its two blocks form a CTA pair if possible. With
    `launch_control`, a finished block of a Blackwell GPU claims a pending block, and a cluster
    claims whole clusters (nv-take-over-blocks).

    ```mlir
    func.func @k(%m: index, %n: index) attributes {tile.kernel} {
      %bm, %bn = tile.grid %m, %n swizzle 8 cluster [2, 1] pair : index, index
      tile.print "block {} {}" %bm, %bn : index, index
      return
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents,
                       OptionalAttr<I64Attr>:$swizzle,
                       OptionalAttr<DenseI64ArrayAttr>:$cluster,
                       UnitAttr:$pair,
                       UnitAttr:$launch_control);
  let results = (outs Variadic<Index>:$coordinates);
  let assemblyFormat = [{
    $extents (`swizzle` $swizzle^)? (`cluster` $cluster^)? (`pair` $pair^)?
    (`launch_control` $launch_control^)? attr-dict `:` type($coordinates)
  }];
  let extraClassDeclaration = [{
    /// The number of blocks of a cluster along an extent.
    int64_t clusterAlong(unsigned dim) { return getCluster() ? (*getCluster())[dim] : 1; }
  }];
  let hasVerifier = 1;
}

def Tile_DivModOp : Tile_Op<"divmod", [Pure]> {
  let summary = "quotient and remainder by a launch constant";
  let description = [{
    Divides an index by a launch constant: the divisor may only depend on the kernel's
    arguments. It computes `arith.divsi` and `arith.remsi`: the quotient is
    rounded toward zero. A zero divisor and a quotient that does not fit are faults, and
    both results are 0 then. A constant divisor must be positive.

    The multiplier that replaces the division is computed once per launch. Numbers that
    are known to be from 0 to 2^31 - 1 are multiplied in 32 bits.

    ```mlir
    func.func @k(%n: index) attributes {tile.kernel} {
      %i = tile.grid %n : index
      %q, %r = tile.divmod %i, %n
      tile.print "{} {}" %q, %r : index, index
      return
    }
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
  let summary = "allocates a tile of the block";
  let description = [{
    Allocates a tile in the `shared` or `local` space. It lives as long as the block;
    its contents are undefined until they are written. A tile without dimensions is a
    mutable scalar. `versions` sets the number of buffers in a pipeline; without it the
    number is computed.

    ```mlir
    func.func @k() attributes {tile.kernel} {
      %As = tile.alloc "As" versions 3 : memref<128x64xf16, #tile.space<shared>>
      %count = tile.alloc "count" : memref<i32, #tile.space<local>>
      return
    }
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
  let summary = "copies a tile, to or from a slice of a tensor";
  let description = [{
    Copies elements between two tiles of the same shape, or between a tile and the
    slice of a tensor that starts at the given offsets. The slice has the tile's shape
    along the tensor's last dimensions, or along `dims`, and extent one along the
    others. Floating-point elements are converted with rounding to nearest even.
    With `rows`, the tile is a matrix whose rows are those of a box: the slice has
    these extents along all of its dimensions but the last, and the tile's rows are
    its elements along them, in row-major order.

    Elements outside the tensor read as zero, or as `fill`, and are not written.
    Between two views of one tile, all elements are read before any is written. With
    `async` the copy may complete at any time up to the `tile.wait` that names it, or
    the end of the kernel.

    GPU passes add two attributes, which programs must not have. With `padding`, the tensor's
    densely packed values are padded to a byte each, and the last offset counts values
    (`nv-pad-operands`). With `halved`, each block of a pair copies half of the rows
    (`nv-share-copies`).

    ```mlir
    !A = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<128x64xf16, #tile.space<shared>>
    func.func @k(%A: !A, %r: index, %c: index) attributes {tile.kernel} {
      %As = tile.alloc "As" : !s
      tile.copy %A[%r, %c] to %As async "load" : !A to !s
      tile.wait ["load"]
      return
    }
    ```

    A box of 2 x 64 pixels with 64 channels each:

    ```mlir
    !X = memref<?x?x?x?xf16, strided<[?, ?, ?, 1]>, #tile.space<global>>
    !s = memref<128x64xf16, #tile.space<shared>>
    func.func @k(%X: !X, %b: index, %y: index, %x: index, %c: index) attributes {tile.kernel} {
      %Xs = tile.alloc "Xs" : !s
      tile.copy %X[%b, %y, %x, %c] to %Xs rows [2, 64] : !X to !s
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$source_offsets,
                       AnyMemRef:$target, Variadic<Index>:$target_offsets,
                       Optional<Tile_Scalar>:$fill, Optional<Index>:$instance,
                       OptionalAttr<DenseI64ArrayAttr>:$dims,
                       OptionalAttr<StrAttr>:$async,
                       OptionalAttr<DenseI64ArrayAttr>:$rows,
                       OptionalAttr<Tile_Packing>:$padding, UnitAttr:$halved);
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::ValueRange":$sourceOffsets,
                                 "::mlir::Value":$target, "::mlir::ValueRange":$targetOffsets,
                                 "::mlir::Value":$fill, "::mlir::Value":$instance,
                                 "::mlir::DenseI64ArrayAttr":$dims,
                                 "::mlir::StringAttr":$async), [{
    build($_builder, $_state, source, sourceOffsets, target, targetOffsets, fill, instance, dims,
          async, /*rows=*/::mlir::DenseI64ArrayAttr(), /*padding=*/PackingAttr(), /*halved=*/false);
  }]>];
  let assemblyFormat = [{
    $source (`[` $source_offsets^ `]`)? `to` $target (`[` $target_offsets^ `]`)?
    (`dims` $dims^)? (`rows` $rows^)? (`fill` $fill^ `:` type($fill))? (`async` $async^)?
    (`instance` $instance^)? (`padding` $padding^)? (`halved` $halved^)?
    attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The shape of what is copied: that of the side without offsets.
    ::llvm::ArrayRef<int64_t> getTileShape();
    /// The shape of the slice of a tensor: that of the tile, or `rows` and its columns.
    ::llvm::SmallVector<int64_t> getBoxShape();
    /// For each dimension of the slice, the tensor's dimension it runs along.
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
    func.func @k(%zero: f32) attributes {tile.kernel} {
      %acc = tile.alloc "acc" : memref<128x128xf32, #tile.space<local>>
      tile.fill %acc, %zero : memref<128x128xf32, #tile.space<local>>, f32
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$target, Tile_Scalar:$value);
  let assemblyFormat = "$target `,` $value attr-dict `:` type($target) `,` type($value)";
  let hasVerifier = 1;
}

def Tile_GemmOp : Tile_AccessOp<"gemm", [AttrSizedOperandSegments]> {
  let summary = "multiplies two tiles and adds to a third";
  let description = [{
    `acc += a * b` for an M x K tile, a K x N tile and an M x N accumulator; with
    `overwrite`, `acc = a * b`. A transposed operand is a `memref.transpose` of its
    tile. f16, bf16, f8 and f32 operands are accumulated in f32, i8 operands in i32;
    with `unsigned_a`, the elements of `a` are 0 to 255. `precision
    tf32` rounds f32 operands to TF32 first. The order of summation is undefined.

    A packed second operand has rank 4, for operands of bf16 (p = 2) and i8 (p = 4):
    element (k, n) is element [n / 16, k / p, n mod 16, k mod p] of its tile, whose
    shape is N / 16 x K / p x 16 x p. Packed and unsigned operands are for CPUs only.

    With scales, `acc += sum over k of (a * scale_a) * (b * scale_b)`. The operands are f8, or i8 as
    bytes of packed values, whose K then counts bytes: two f4e2m1 values in each, or with
    `packing_a` and `packing_b` f6e2m3 or f6e3m2, of which four take three bytes. Padded packings
    hold 16 values in the first bytes of every 16. K is the last dimension of both operands. There is
    one scale for each row of `a` or column of `b` and each 32 values of k (f8E8M0FNU, a power of
    two) or, with two f4 operands, each 16 values (f8E4M3FN, whose sign is ignored). Scales have the
    blocked layout of cuBLAS: a tile of rows / 128 x K / (4 * block) x 32 x 16, where the scale of
    row r and block j of k is element [r / 128, j / 4, r mod 32, r / 32 mod 4 * 4 + j mod 4]. If a
    scaled operand exceeds the range of f32, the result is undefined.

    With `starts`, which only GPU passes add, the first iteration of the innermost enclosing loop
    overwrites the accumulator. With `async` the operation may read its operands and complete at
    any time up to the `tile.wait` that names it; `tile.gemm`s into one accumulator take effect in
    issue order.

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !t = memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
    !l = memref<128x128xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel} {
      %As = tile.alloc "As" : !s
      %Bs = tile.alloc "Bs" : !s
      %acc = tile.alloc "acc" : !l
      %Bt = memref.transpose %Bs (i, j) -> (j, i) : !s to !t
      tile.gemm %As, %Bt into %acc : !s, !t, !l
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$a, AnyMemRef:$b, AnyMemRef:$acc,
                       Optional<Index>:$instance, Optional<AnyMemRef>:$scale_a,
                       Optional<AnyMemRef>:$scale_b, UnitAttr:$overwrite,
                       DefaultValuedAttr<Tile_Precision, "Precision::Full">:$precision,
                       UnitAttr:$unsigned_a, OptionalAttr<StrAttr>:$async,
                       OptionalAttr<Tile_Packing>:$packing_a, OptionalAttr<Tile_Packing>:$packing_b,
                       UnitAttr:$starts);
  let assemblyFormat = [{
    $a `,` $b `into` $acc (`overwrite` $overwrite^)? (`starts` $starts^)? (`precision` $precision^)?
    (`unsigned_a` $unsigned_a^)? (`async` $async^)? (`instance` $instance^)?
    (`scales` `(` $scale_a^ `,` $scale_b `)`)? (`packing_a` $packing_a^)?
    (`packing_b` $packing_b^)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc) (`scales` `(` type($scale_a)^ `,` type($scale_b) `)`)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::StringAttr getAsyncName() { return getAsyncAttr(); }
    /// Columns in a panel of a packed operand.
    static constexpr int64_t panelColumns = 16;
    bool isPacked() {
      return ::llvm::cast<::mlir::MemRefType>(getB().getType()).getRank() == 4;
    }
    bool isScaled() { return getScaleA() || getScaleB(); }
    /// Of a product with scales: how the bytes of an operand hold values; none if each element is
    /// one.
    ::std::optional<Packing> packingOfA();
    ::std::optional<Packing> packingOfB();
    /// Of a product with scales: the number of values of k, and those that share a scale.
    int64_t valuesOfK();
    int64_t scaleBlock() {
      auto type = ::llvm::cast<::mlir::MemRefType>(getScaleA().getType());
      return ::llvm::isa<::mlir::Float8E4M3FNType>(type.getElementType()) ? 16 : 32;
    }
  }];
}

def Tile_ReduceOp : Tile_AccessOp<"reduce"> {
  let summary = "combines the elements of a tile along one dimension";
  let description = [{
    The result has the source's shape without the reduced dimension. With `accumulate`
    the old elements of the target are combined as well. Elements are converted to the
    target's type first, integers only to wider ones. `max` and `min` return NaN if any element is NaN. The order
    of the combination is undefined.

    ```mlir
    !t = memref<64x32xf32, #tile.space<local>>
    !v = memref<64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel} {
      %S = tile.alloc "S" : !t
      %top = tile.alloc "top" : !v
      tile.reduce max %S along 1 into %top accumulate : !t, !v
      return
    }
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
    Sets each element of the target to the value that the region yields. The region's
    arguments are the corresponding elements of the inputs: `dims` holds, for each
    input, the dimension of the target for each of the input's dimensions, so that an
    input of lower rank is broadcast. `tile.element_index` returns the coordinates of
    the element. An input may be the target itself: each element is read before it is
    written.

    ```mlir
    !t = memref<64x32xf32, #tile.space<local>>
    !v = memref<64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel} {
      %S = tile.alloc "S" : !t
      %top = tile.alloc "top" : !v
      tile.map %S ins(%S, %top) dims [[0, 1], [0]] {
      ^bb0(%s: f32, %t: f32):
        %d = arith.subf %s, %t : f32
        %e = math.exp2 %d : f32
        tile.yield %e : f32
      } : !t ins(!t, !v)
      return
    }
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
  let summary = "coordinate of the current element of a tile.map";
  let description = [{
    ```mlir
    !v = memref<64xi32, #tile.space<local>>
    func.func @k() attributes {tile.kernel} {
      %v = tile.alloc "v" : !v
      tile.map %v dims [] {
        %i = tile.element_index 0
        %n = arith.index_cast %i : index to i32
        tile.yield %n : i32
      } : !v
      return
    }
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["MapOp", "ParallelOp", "StatementOp"]>]> {
  let summary = "terminates the region of a tile operation";
  let description = [{
    ```mlir
    !v = memref<64xf32, #tile.space<local>>
    func.func @k(%x: f32) attributes {tile.kernel} {
      %v = tile.alloc "v" : !v
      tile.map %v dims [] {
        tile.yield %x : f32
      } : !v
      return
    }
    ```
  }];
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
    An out-of-bounds read is a fault: it is reported with its source location when the
    kernel ends, and returns zero.

    ```mlir
    !I = memref<?xi32, strided<[1]>, #tile.space<global>>
    func.func @k(%ids: !I, %i: index) attributes {tile.kernel} {
      %id = tile.load %ids[%i] : !I -> i32
      tile.print "{}" %id : i32
      return
    }
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
    An out-of-bounds write is a fault: it is reported with its source location when
    the kernel ends, and nothing is written.

    ```mlir
    !I = memref<?xi32, strided<[1]>, #tile.space<global>>
    func.func @k(%out: !I, %i: index, %x: i32) attributes {tile.kernel} {
      tile.store %x, %out[%i] : i32, !I
      return
    }
    ```
  }];
  let arguments = (ins Tile_Scalar:$value, AnyMemRef:$target, Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $target `[` $indices `]` attr-dict `:` type($value) `,` type($target)";
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_AccessOp<"atomic"> {
  let summary = "updates one element atomically and returns its old value";
  let description = [{
    Atomic with respect to all blocks of the launch, with relaxed ordering. Elements
    are i32, i64, f32 or f64. Integers compare signed; `max` and `min` return NaN if
    either side is NaN. Faults are those of `tile.store`; the result is then zero.

    ```mlir
    !H = memref<?xi32, strided<[1]>, #tile.space<global>>
    func.func @k(%H: !H, %bin: index) attributes {tile.kernel} {
      %one = arith.constant 1 : i32
      %old = tile.atomic add %one, %H[%bin] : i32, !H -> i32
      return
    }
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
    The region's arguments are the element's indices. The bodies may run in any order
    and concurrently, so an element that one body writes must not be accessed by
    another, except by `tile.atomic`. On a GPU the elements are distributed over the
    threads of the block.

    ```mlir
    !H = memref<?xi32, strided<[1]>, #tile.space<global>>
    func.func @k(%H: !H) attributes {tile.kernel} {
      %one = arith.constant 1 : i32
      tile.parallel [256] {
      ^bb0(%i: index):
        %old = tile.atomic add %one, %H[%i] : i32, !H -> i32
        tile.yield
      }
      return
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
  let summary = "names a scalar";
  let description = [{
    Gives a value a user-visible name, for diagnostics, and for schedules in the older
    form that have an entry for it.

    ```mlir
    func.func @k(%k: index) attributes {tile.kernel} {
      %base = tile.bind "base" %k : index
      tile.print "{}" %base : index
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$label, Tile_Scalar:$value);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$label $value attr-dict `:` type($value)";
}

def Tile_StatementOp : Tile_Op<"statement", [SingleBlock, RecursiveMemoryEffects,
    NoRegionArguments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "groups operations as one statement of a schedule";
  let description = [{
    ```mlir
    !v = memref<64xf32, #tile.space<local>>
    func.func @k(%zero: f32) attributes {tile.kernel} {
      %sum = tile.alloc "sum" : !v
      %top = tile.alloc "top" : !v
      tile.statement "clear" {
        tile.fill %sum, %zero : !v, f32
        tile.fill %top, %zero : !v, f32
      }
      return
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
    In a loop, the wait of iteration k completes the operations of these names that
    were issued up to iteration k - `lag` of the same loop; elsewhere it completes all
    of them. If the loop runs again, iterations continue to count, so a lag reaches
    back into its previous run.

    After expansion of a pipelined loop, iterations are explicit: operations carry
    their number as `instance`, and a wait `through` a number completes all up to it,
    and those issued under its names without a number.

    ```mlir
    !A = memref<?xf32, strided<[1]>, #tile.space<global>>
    !r = memref<3x8xf32, #tile.space<shared>>
    !s = memref<8xf32, strided<[1], offset: ?>, #tile.space<shared>>
    func.func @k(%A: !A, %n: index) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %ring = tile.alloc "ring" : !r
      scf.for %k = %c0 to %n step %c1 {
        %slot = arith.remsi %k, %c3 : index
        %t = memref.subview %ring[%slot, 0] [1, 8] [1, 1] : !r to !s
        tile.copy %A[%k] to %t async "load" : !A to !s
        tile.wait ["load"] lag 1
      }
      tile.wait ["load"]
      return
    }
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
  let summary = "prints a text with scalars or whole tiles";
  let description = [{
    Each `{}` of the text is replaced by one operand. Lines of one block are in order;
    blocks are not ordered.

    ```mlir
    func.func @k(%i: index, %x: f32) attributes {tile.kernel} {
      tile.print "element {}: {}" %i, %x : index, f32
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$text,
    Variadic<AnyTypeOf<[Tile_Scalar, AnyMemRef], "a scalar or a tile">>:$operands_);
  let assemblyFormat = "$text ($operands_^ `:` type($operands_))? attr-dict";
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "asserts a condition at run time";
  let description = [{
    A false condition is a fault: the launch reports the first one with its source
    location and message. The block continues.

    ```mlir
    func.func @k(%n: index) attributes {tile.kernel} {
      %c4096 = arith.constant 4096 : index
      %ok = arith.cmpi sle, %n, %c4096 : index
      tile.assert %ok, "n is at most 4096"
      return
    }
    ```
  }];
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

/// Programmatic dependent launch: GPUs start a kernel before the previous one completes.
class Tile_GridDependencyOp<string mnemonic>
    : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_WaitForPreviousOp : Tile_GridDependencyOp<"wait_for_previous"> {
  let summary = "waits for the previous kernel of the stream";
  let description = [{
    A kernel that is launched to overlap the previous kernel in its stream may start before
    that kernel completes. This operation waits until the previous kernel has completed and its
    writes are visible. Accesses to its tensors must follow. In all other launches the operation
    returns immediately; on CPUs and on GPUs before Hopper, which do not overlap kernels, it has
    no effect.

    It must not be inside loops or conditions. In a tile program all warps execute it, including
    those of warp-specialized loops; in an explicit kernel the threads of its scope.

    ```mlir
    !x = memref<?xf32, strided<[1]>, #tile.space<global>>
    !t = memref<128xf32, #tile.space<local>>
    func.func @k(%x: !x) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %t = tile.alloc "t" : !t
      tile.wait_for_previous
      tile.copy %x[%c0] to %t : !x to !t
      return
    }
    ```
  }];
}

def Tile_LaunchDependentsOp : Tile_GridDependencyOp<"launch_dependents"> {
  let summary = "lets the next kernel of the stream start";
  let description = [{
    A kernel that is launched to overlap this one may start as soon as all blocks have
    executed this operation or exited. It does not make writes visible: the next kernel waits
    until this one completes before it reads them. On CPUs and on GPUs before Hopper it has no
    effect.

    ```mlir
    func.func @k() attributes {tile.kernel} {
      tile.launch_dependents
      return
    }
    ```
  }];
}

#endif // PENSTOCK_TILE_OPS
