//===- EnginePasses.td - Memory and engines ----------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first phase: the passes decide which memory holds a tile and which engine
// executes a copy or a product. The program stays sequential.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_ENGINEPASSES
#define PENSTOCK_TARGET_NVPTX_ENGINEPASSES

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"nv-attach-target", "::mlir::func::FuncOp"> {
  let summary = "Name the GPU that kernels are compiled for";
  let description = [{
    Writes the architecture on each kernel, where lowering looks up which instructions
    it has, and what its launch guarantees about rows of tensors. Comes first for every
    GPU.

    Example (`--nv-attach-target=architecture=sm_89`):

    ```mlir
    func.func @k() attributes {tile.kernel} {
      return
    }
    ```

    becomes

    ```mlir
    func.func @k() attributes {nv.architecture = "sm_89", tile.kernel} {
      return
    }
    ```

    Tests: test/Target/NVPTX/gpu-pipeline.mlir
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_80 to sm_120a">,
    Option<"alignedRows", "aligned-rows", "bool", "false",
           "launches with other rows take another kernel">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def ChooseThreads : Pass<"nv-choose-threads", "::mlir::func::FuncOp"> {
  let summary = "Choose how many threads execute a tile program";
  let description = [{
    A kernel without threads gets the fewest warps whose registers hold its local tiles
    (`nv.threads`): 4, 8 or 16, on sm_90a also 12 or 20 if warpgroups can share the rows
    of all products then. One group of warps executes all of it (`nv.in_order`). Kernels
    that already have threads are left alone.

    Example (`--nv-choose-threads`):

    ```mlir
    func.func @k() attributes {tile.kernel} {
      %a = tile.alloc : memref<128x128xf32, #tile.space<local>>
      %b = tile.alloc : memref<128x128xf32, #tile.space<local>>
      return
    }
    ```

    becomes

    ```mlir
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 256 : i64} {
      %a = tile.alloc : memref<128x128xf32, #tile.space<local>>
      %b = tile.alloc : memref<128x128xf32, #tile.space<local>>
      return
    }
    ```

    Tests: test/Target/NVPTX/execute-in-order.mlir
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_90a or sm_100a">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def AssignSpaces : Pass<"nv-assign-spaces", "::mlir::func::FuncOp"> {
  let summary = "Move tiles that registers cannot hold to shared memory";
  let description = [{
    Registers cannot be indexed at run time, and tensor cores do not read operands from
    local tiles, but for the left operand of wgmma, which stays where threads have computed
    it. Another local tile that is sliced, transposed, indexed or multiplied becomes a
    shared one. Of an accumulator whose elements are read one by one, a copy is read.

    Example (`--nv-assign-spaces`):

    ```mlir
    !l = memref<64x64xf16, #tile.space<local>>
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %P = tile.alloc "P" : !l
      %V = tile.alloc "V" : !s
      %out = tile.alloc "out" : !c
      tile.gemm %P, %V into %out : !l, !s, !c
      return
    }
    ```

    becomes

    ```mlir
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %P = tile.alloc "P" : !s
      %V = tile.alloc "V" : !s
      %out = tile.alloc "out" : !c
      tile.gemm %P, %V into %out : !s, !s, !c
      return
    }
    ```

    Tests: test/Target/NVPTX/assign-spaces.mlir
  }];
}

def PadOperands : Pass<"nv-pad-operands", "::mlir::func::FuncOp"> {
  let summary = "Pad 6-bit operands of products with scales, and 4-bit ones beside others";
  let description = [{
    tcgen05 reads values of 6 bits, and of 4 bits beside wider ones, from bytes of which 16 hold 16
    values in their first ones; TMA copies densely packed values there. The operand's tile gets a
    byte for each value, its copies `nv.padding` and an offset that counts values, and the product
    the padded packing. `tile-expand-scaled-products` takes the products of a kernel in which some
    operand is not written by copies of whole tiles alone, in pipelined loops, from tensors that the
    kernel does not write, at multiples of 128 values.

    Example (`--nv-pad-operands`):

    ```mlir
    !A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
    !S = memref<?x?x?x?xf8E8M0FNU, strided<[?, ?, ?, 1]>, #tile.space<global>>
    !a = memref<128x96xi8, #tile.space<shared>>
    !b = memref<128x128xf8E4M3FN, #tile.space<shared>>
    !t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
    !s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
    !d = memref<128x128xf32, #tile.space<local>>
    func.func @k(%A: !A, %n: index) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c96 = arith.constant 96 : index
      %As = tile.alloc "As" : !a
      %Bs = tile.alloc "Bs" : !b
      %SA = tile.alloc "SA" : !s
      %acc = tile.alloc "acc" : !d
      %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
      scf.for %k = %c0 to %n step %c1 {
        %at = arith.muli %k, %c96 : index
        tile.copy %A[%c0, %at] to %As : !A to !a
        tile.gemm %As, %Bt into %acc scales(%SA, %SA) packing_a f6e2m3 : !a, !t, !d scales(!s, !s)
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      return
    }
    ```

    becomes

    ```mlir
    !A = memref<?x?xi8, strided<[?, 1]>, #tile.space<global>>
    !S = memref<?x?x?x?xf8E8M0FNU, strided<[?, ?, ?, 1]>, #tile.space<global>>
    !a = memref<128x128xi8, #tile.space<shared>>
    !b = memref<128x128xf8E4M3FN, #tile.space<shared>>
    !t = memref<128x128xf8E4M3FN, strided<[1, 128]>, #tile.space<shared>>
    !s = memref<1x1x32x16xf8E8M0FNU, #tile.space<shared>>
    !d = memref<128x128xf32, #tile.space<local>>
    func.func @k(%A: !A, %n: index) attributes {tile.kernel} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c96 = arith.constant 96 : index
      %As = tile.alloc "As" : !a
      %Bs = tile.alloc "Bs" : !b
      %SA = tile.alloc "SA" : !s
      %acc = tile.alloc "acc" : !d
      %Bt = memref.transpose %Bs (i, j) -> (j, i) : !b to !t
      scf.for %k = %c0 to %n step %c1 {
        %at = arith.muli %k, %c96 : index
        %c128 = arith.constant 128 : index
        %0 = arith.muli %k, %c128 : index
        tile.copy %A[%c0, %0] to %As {nv.padding = 5 : i32} : !A to !a
        tile.gemm %As, %Bt into %acc scales(%SA, %SA) packing_a padded_f6e2m3 : !a, !t, !d scales(!s, !s)
      } {tile.schedule = #tile.schedule<num_stages = 2>}
      return
    }
    ```

    Tests: test/Target/NVPTX/pad-operands.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def BindEngines : Pass<"nv-bind-engines", "::mlir::func::FuncOp"> {
  let summary = "Choose the engine of each product and each pipelined copy";
  let description = [{
    Writes `nv.engine` on each product, and on each copy that is a statement of a
    pipelined loop: the first that is legal of TMA and cp.async for copies from tensors
    to shared tiles, and of tcgen05, wgmma and mma.sync for products; otherwise threads. The
    verifiers of the `nv` operations decide what is legal. With `plain`, threads copy, for
    tensors whose rows are not multiples of 16 bytes.

    Example (`--nv-bind-engines=architecture=sm_90a`):

    ```mlir
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !s
      %acc = tile.alloc "acc" : !c
      tile.gemm %A, %B into %acc : !s, !s, !c
      return
    }
    ```

    becomes

    ```mlir
    !s = memref<64x64xf16, #tile.space<shared>>
    !c = memref<64x64xf32, #tile.space<local>>
    func.func @k() attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !s
      %acc = tile.alloc "acc" : !c
      tile.gemm %A, %B into %acc {nv.engine = "wgmma"} : !s, !s, !c
      return
    }
    ```

    Tests: test/Target/NVPTX/write-plans.mlir
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_90a or sm_100a">,
    Option<"plain", "plain", "bool", "false", "threads copy">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::arith::ArithDialect"];
}

def OverlapProducts : Pass<"nv-overlap-products", "::mlir::func::FuncOp"> {
  let summary = "Run products ahead of what threads compute from them";
  let description = [{
    In a pipelined loop with several products by tcgen05, a product that needs nothing but
    copies runs one iteration ahead of everything else, like the scores of attention: the
    tensor core then multiplies while threads compute. Its accumulator gets a second version, or
    where tensor memory has no room for that, the product waits until threads have loaded the one.
    Statements that were grouped become statements of their own, so that each waits for what
    it needs.

    By wgmma a second accumulator would take registers that threads do not have. There the last
    product, which adds what threads computed for it, runs one iteration later: it multiplies
    while threads compute its next left operand, in a tile of its own.

    Only schedules that the compiler inferred change, and only if registers, tensor memory and
    shared memory have room.

    Example (`--nv-overlap-products`): the first product moves from the stage of the reduction to
    the one before. The second product is by tcgen05, too.

    ```mlir
    !T = memref<?x?xf16, strided<[?, 1]>, #tile.space<global>>
    !s = memref<128x64xf16, #tile.space<shared>>
    !c = memref<128x128xf32, #tile.space<local>>
    !v = memref<128xf32, #tile.space<local>>
    func.func @k(%x: !T, %n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64,
                                                nv.architecture = "sm_100a"} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %X = tile.alloc "X" : !s
      %Y = tile.alloc "Y" : !s
      %S = tile.alloc "S" : !c
      %O = tile.alloc "O" : !c
      %sum = tile.alloc "sum" : !v
      scf.for %k = %c0 to %n step %c1 {
        tile.copy %x[%k, %c0] to %X {nv.engine = "tma.load"} : !T to !s
        %Xt = memref.transpose %X (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
        tile.gemm %X, %Xt into %S overwrite {nv.engine = "tcgen05.mma"} : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !c
        tile.reduce sum %S along 1 into %sum accumulate : !c, !v
        tile.copy %x[%k, %c0] to %Y {nv.engine = "tma.load"} : !T to !s
        %Yt = memref.transpose %Y (i, j) -> (j, i) : !s to memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>
        tile.gemm %Y, %Yt into %O {nv.engine = "tcgen05.mma"} : !s, memref<64x128xf16, strided<[1, 64]>, #tile.space<shared>>, !c
      } {tile.schedule = #tile.schedule<stage = [0, 1, 1, 0, 1], order = [0, 1, 2, 3, 4], resolved, inferred>}
      return
    }
    ```

    becomes

    ```mlir
    ...
    tile.schedule = #tile.schedule<stage = [0, 1, 2, 1, 2], order = [0, 1, 2, 3, 4], resolved, inferred>
    ...
    ```

    Tests: test/Target/NVPTX/overlap-products.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def PlaceAccumulators : Pass<"nv-place-accumulators", "::mlir::func::FuncOp"> {
  let summary = "Give the accumulators of tcgen05 tiles in tensor memory";
  let description = [{
    Products by tcgen05 accumulate in a tensor tile. Copies to and from the accumulator's
    registers are inserted around the largest loop in which only products use it. In a loop
    that computes with the accumulator before it adds a product, they are inserted around what
    computes, else around each product. Schedules of pipelined loops get entries for them.

    Example (`--nv-place-accumulators`):

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !c = memref<128x64xf32, #tile.space<local>>
    func.func @k(%n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !b
      %acc = tile.alloc "acc" : !c
      scf.for %k = %c0 to %n step %c1 {
        tile.gemm %A, %B into %acc {nv.engine = "tcgen05.mma"} : !s, !b, !c
      }
      return
    }
    ```

    becomes

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !c = memref<128x64xf32, #tile.space<local>>
    !t = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%n: index) attributes {tile.kernel, nv.in_order, nv.threads = 128 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %A = tile.alloc "A" : !s
      %B = tile.alloc "B" : !b
      %acc_0 = nv.tcgen05.alloc "acc" : !t
      %acc = tile.alloc "acc" : !c
      tile.copy %acc to %acc_0 {nv.engine = "tcgen05.st"} : !c to !t
      scf.for %k = %c0 to %n step %c1 {
        tile.gemm %A, %B into %acc_0 {nv.engine = "tcgen05.mma"} : !s, !b, !t
      }
      tile.copy %acc_0 to %acc {nv.engine = "tcgen05.ld"} : !t to !c
      return
    }
    ```

    Tests: test/Target/NVPTX/place-accumulators.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def PlaceOperands : Pass<"nv-place-operands", "::mlir::func::FuncOp"> {
  let summary = "Give left operands that threads compute tiles in tensor memory";
  let description = [{
    A shared tile of 128 rows and 16-bit elements that threads write, and that tcgen05 reads as
    the left operand of products only, moves to registers and tensor memory: a copy to a tensor
    tile follows the last statement that writes it before each product, if there are columns
    for it. Schedules of pipelined loops get entries for the copies.

    Example (`--nv-place-operands`):

    ```mlir
    !s = memref<128x64xf16, #tile.space<shared>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !t = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%one: f16) attributes {tile.kernel, nv.architecture = "sm_100a", nv.in_order, nv.threads = 128 : i64} {
      %P = tile.alloc "P" : !s
      %B = tile.alloc "B" : !b
      %acc = nv.tcgen05.alloc "acc" : !t
      tile.fill %P, %one : !s, f16
      tile.gemm %P, %B into %acc {nv.engine = "tcgen05.mma"} : !s, !b, !t
      return
    }
    ```

    becomes

    ```mlir
    !p = memref<128x64xf16, #tile.space<tensor>>
    !l = memref<128x64xf16, #tile.space<local>>
    !b = memref<64x64xf16, #tile.space<shared>>
    !t = memref<128x64xf32, #tile.space<tensor>>
    func.func @k(%one: f16) attributes {tile.kernel, nv.architecture = "sm_100a", nv.in_order, nv.threads = 128 : i64} {
      %P_0 = nv.tcgen05.alloc "P" : !p
      %P = tile.alloc "P" : !l
      %B = tile.alloc "B" : !b
      %acc = nv.tcgen05.alloc "acc" : !t
      tile.fill %P, %one : !l, f16
      tile.copy %P to %P_0 {nv.engine = "tcgen05.st"} : !l to !p
      tile.gemm %P_0, %B into %acc {nv.engine = "tcgen05.mma"} : !p, !b, !t
      return
    }
    ```

    Tests: test/Target/NVPTX/place-operands.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

#endif // PENSTOCK_TARGET_NVPTX_ENGINEPASSES
