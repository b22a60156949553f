//===- Passes.td - Passes on tile programs -----------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order in which the native pipeline runs them. Each names the test whose
// input and output serve as its example.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TRANSFORMS_PASSES
#define PENSTOCK_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def NarrowIndexCasts : Pass<"tile-narrow-index-casts", "::mlir::func::FuncOp"> {
  let summary = "Narrow indices by way of i64";
  let description = [{
    Rewrites a cast of an index to an integer of less than 64 bits as a cast to i64
    and a truncation. Upstream folds a cast to a narrow integer and back to the index
    that it started from, which loses the wrap-around; it folds truncations right.
    Runs before the first pass that folds.

    Example: test/Transforms/narrow-index-casts.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def UnrollLoops : Pass<"tile-unroll-loops", "::mlir::func::FuncOp"> {
  let summary = "Unroll loops as their tile.unroll attribute asks";
  let description = [{
    A factor of N makes N copies of the body and a second loop for the remaining
    iterations; 0 asks for a full unroll and is refused with PS1113 unless the
    trip count is a constant of at most 1024; 1 only forbids unrolling. A loop
    whose step is not a constant stays as it is, with a warning (PS1113). The
    attribute is removed. The rewriting itself is upstream's.

    Example: test/Transforms/unroll-loops.mlir
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def ResolveSchedules : Pass<"tile-resolve-schedules", "::mlir::func::FuncOp"> {
  let summary = "Check or choose the schedule of every pipelined loop";
  let description = [{
    Describes each loop that carries `tile.schedule` as a problem of
    lib/Scheduling. A stated `stage` and `order` is checked against every
    conflict of the body; `num_stages` is turned into a plan. A schedule that
    breaks a rule is an error (PS12xx) that names both statements, the buffer,
    the iterations and the cure. What was decided replaces the attribute, marked
    `resolved`.

    With `arch`, the tiles must fit that architecture's memory: all of the
    kernel's with one version each (PS1119), and those of each loop with the
    versions that its schedule needs (PS1218, which names the largest
    `num_stages` that fits).

    Example: test/Transforms/resolve-schedules.mlir
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"\"",
           "the architecture whose memory the tiles must fit; empty: any">];
}

def ExpandPipelines : Pass<"tile-expand-pipelines", "::mlir::func::FuncOp"> {
  let summary = "Write pipelined loops out in the order of their schedule";
  let description = [{
    For a loop of n iterations and a deepest stage S, step t runs statement i for
    iteration t - stage(i), statements in the order of the schedule. The first S
    steps are peeled, or a loop if there are more than 8, and the last S form a loop
    of their own, both with each statement under the condition that its iteration
    exists; the steady loop between them has no conditions. This is exact for every n, 0 and anything
    below S included. Buffers with several versions become rings, of which
    iteration k uses slot k mod V; if a buffer is read after the loop, its last
    slot is copied out. Replayable scalars are recomputed where they are used,
    for that statement's iteration. Waits that nobody wrote are added before the
    first conflicting statement. `scf::pipelineForLoop` is not used: it moves
    values through loop arguments and knows neither buffers nor waits.

    All loops of a kernel are analyzed and verified before the first is expanded. Inner
    loops go first and stay one statement of the loop around them.

    Example: test/Transforms/expand-pipelines.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerLaunch : Pass<"tile-lower-launch", "::mlir::ModuleOp"> {
  let summary = "Split a kernel into what is computed per launch and per block";
  let description = [{
    For each kernel `@k`, makes a function `@k.launch` that stores the grid's
    extents and all launch constants into an array of i64, and extends the
    kernel's arguments by the number of the block, that array, the block's
    scratch memory and a handle of the runtime. `tile.grid` becomes arithmetic on
    the block's number; `tile.divmod` becomes a multiplication by a number from
    the array, with a division where operands are out of its range.

    With `requirements`, each `tile.assert` outside of everything else whose
    condition follows from the kernel's arguments, by integer arithmetic, moves to
    `@k.launch`, so that a launch is refused before it starts.

    Example: test/Transforms/lower-launch.mlir
  }];
  let options = [Option<"requirements", "requirements", "bool", "false",
                        "check assertions at the launch">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def OutlineAsync : Pass<"tile-outline-async", "::mlir::ModuleOp"> {
  let summary = "Decide how asynchronous operations complete on a CPU";
  let description = [{
    A CPU has no copy engine. With `late=false` asynchronous operations become
    ordinary ones and waits disappear. With `late=true` each becomes a function
    of its own; the call that stands in its place is marked `penstock.async` with
    the number of its name and is turned into a request to the runtime by
    `pack-arguments`. The runtime then runs it as late as the waits allow, or at
    a random moment before that, so that a missing wait is seen.

    Example: test/Transforms/outline-async.mlir
  }];
  let options = [Option<"late", "late", "bool", "false",
                        "let asynchronous operations complete late">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def LowerGemm : Pass<"tile-lower-gemm", "::mlir::func::FuncOp"> {
  let summary = "Turn products of tiles into register-blocked loops";
  let description = [{
    Keeps a block of the accumulator in vector registers while it runs through K:
    per step one row of B is loaded and each element of a column of A is
    broadcast and multiplied. Operands that are not f32 (or i32 for i8), or whose
    rows of B are not contiguous, are first packed into a tile of that form;
    transposed operands are packed by the runtime.
    Remaining rows and columns get blocks of their own.

    Example: test/Transforms/lower-gemm.mlir
  }];
  let options = [Option<"vectorBits", "vector-bits", "unsigned", "512",
                        "width of the target's vector registers">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

def LowerToLoops : Pass<"tile-lower-to-loops", "::mlir::ModuleOp"> {
  let summary = "Turn the remaining tile operations into loops over elements";
  let description = [{
    Copies, fills, reductions, maps and parallel bodies become loops whose
    innermost level runs along the last dimension, in a form that LLVM's
    vectoriser takes. A copy that lies wholly inside its tensor has loops of
    constant length; at an edge it fills first and then copies what exists. Sums
    may be reassociated, as their order is not defined.

    Example: test/Transforms/lower-to-loops.mlir
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def GuardFaults : Pass<"tile-guard-faults", "::mlir::ModuleOp"> {
  let summary = "Make every index, slice, division and assertion safe";
  let description = [{
    Nothing a kernel computes may touch foreign memory or stop the process. Where
    an index, a slice's offset, a divisor or a loop's step is not a constant, a
    check is inserted that reports a fault to the runtime and goes on with a
    harmless value: an element outside reads as zero and is not written, a
    slice is moved inside, a division by zero gives zero. `tile.assert` becomes
    such a check. The module's attribute `penstock.faults` lists all checks with
    code, place and message. Runs on loops over elements: the bodies of maps may
    only compute values.

    Example: test/Transforms/guard-faults.mlir
  }];
  let options = [
    Option<"keepElements", "keep-elements", "bool", "false",
           "keep `tile.load`, `tile.store` and `tile.atomic`, with indices moved inside">,
    Option<"memoryIn", "memory-in", "std::string", "\"\"",
           "guard elements and slices only in kernels with this attribute">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def PlaceTiles : Pass<"tile-place-tiles", "::mlir::func::FuncOp"> {
  let summary = "Give every tile its place in the block's scratch memory";
  let description = [{
    Each `tile.alloc` becomes a view of the scratch memory at a constant offset
    that is a multiple of 64 bytes; mutable scalars become stack slots, so that
    LLVM keeps them in registers. The bytes needed are the kernel's attribute
    `penstock.scratch`. Memory spaces, which mean nothing on a CPU, are dropped.

    Example: test/Transforms/place-tiles.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def ExpandNarrowFloats : Pass<"expand-narrow-floats", "::mlir::ModuleOp"> {
  let summary = "Convert f8 and bf16 by integer arithmetic";
  let description = [{
    No x86 instruction converts f8, and the one for bf16 flushes subnormal
    numbers. Extensions and truncations of these types become exact integer
    arithmetic, rounding to nearest even; other arithmetic on them is done in
    f32 and rounded.

    Example: test/Transforms/expand-narrow-floats.mlir
  }];
  let options = [
    Option<"convertsBf16", "converts-bf16", "bool", "false",
           "the target has exact instructions that convert bf16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // PENSTOCK_TRANSFORMS_PASSES
