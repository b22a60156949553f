//===- Passes.td - From tile programs to NVPTX -------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_PASSES
#define PENSTOCK_TARGET_NVPTX_PASSES

include "mlir/Pass/PassBase.td"

def Specialise : Pass<"nv-specialise", "::mlir::func::FuncOp"> {
  let summary = "Divide a pipelined loop into roles around a ring of slots";
  let description = [{
    A kernel that loads tiles, multiplies them in a pipelined loop and stores the
    result becomes an explicit one: a warp that loads by TMA, a warp (Blackwell)
    or warpgroups (Hopper) that multiply, and threads that store the result
    through shared memory and TMA. The ring has as many slots as the schedule
    needs versions; barriers, their counts and bytes, phases, fences and the end
    of the kernel follow from it. A loop without iterations gives zeros.

    With `plain` all threads load and store by themselves, for tensors whose rows
    TMA cannot copy. Kernels that already say what threads do are left alone;
    other forms are refused with PS1601. Runs after `tile-resolve-schedules`.

    Example: test/Target/NVPTX/specialise.mlir
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_90a or sm_100a">,
    Option<"plain", "plain", "bool", "false", "without TMA">
  ];
  let dependentDialects = ["::penstock::nv::NVDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def ExecuteInOrder : Pass<"nv-execute-in-order", "::mlir::func::FuncOp"> {
  let summary = "Let all threads of a block execute a tile program in order";
  let description = [{
    The form that every tile program has on a GPU. Asynchronous operations complete
    at once, waits and schedules are dropped, named statements are inlined, and the
    kernel gets as many threads (`nv.threads`) as its local tiles need registers.
    Kernels that already have threads are left alone. Runs after
    `tile-resolve-schedules`, which has checked what is dropped here.

    Example: test/Target/NVPTX/execute-in-order.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def AssignLayouts : Pass<"nv-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose which thread holds which element of each local tile";
  let description = [{
    Instructions dictate the layouts of accumulators and of tensor memory; tiles
    that are used together follow them, the uses in the innermost loops first, and
    the rest is distributed so that memory accesses coalesce. A vector lies as a
    slice of the tiles that it is broadcast to or reduced from. Each layout is
    written to its `tile.alloc` as `nv.layout`. Where an operation needs another
    layout, a `tile.copy` into a tile that has it is inserted. Tiles whose elements
    are addressed at run time, transposed or sliced move to shared memory.

    Refuses tiles that take more registers than a thread has (PS1603).

    Example: test/Target/NVPTX/assign-layouts.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def InsertSyncs : Pass<"nv-insert-syncs", "::mlir::func::FuncOp"> {
  let summary = "Insert barriers between conflicting accesses of a block's threads";
  let description = [{
    In a kernel that all threads execute in order (`nv.in_order`), an `nv.sync` is
    inserted in front of each operation that reads memory written since the last
    barrier, or writes memory read or written since then. What the end of a loop's
    body leaves behind meets the beginning of the next iteration.

    Example: test/Target/NVPTX/insert-syncs.mlir
  }];
  let dependentDialects = ["::penstock::nv::NVDialect"];
}

def CheckBarriers : Pass<"nv-check-barriers", "::mlir::func::FuncOp"> {
  let summary = "Follow what roles do with barriers, before any code exists";
  let description = [{
    The slots, phases and trip counts of an explicit kernel depend on sizes of
    tensors. For sizes that give 0, 1, 2, .. iterations, up to two rounds of every
    ring and two more, and for combinations of the sizes that decide about nested
    loops, each role's steps are listed. One run of them is followed, and its
    happens-before order shows whether it stands for all timings; otherwise all
    orders are searched. Refused are: a role that waits for ever in some timing
    (PS1611), a tile that is touched without an order (PS1612), bytes that do not
    match the copies (PS1613), arrivals beyond a barrier's count (PS1614), copies
    that nobody waits for (PS1615), tiles that are read before anything was
    written (PS1616) and phases that depend on the timing where the search gives
    up (PS1233). Where the steps have the shape of rings, the event graph answers
    for every number of iterations.

    A kernel whose use of barriers depends on data, or that takes too many steps,
    is left to the emulator, with a warning (PS1617). Nothing is changed.

    Example: test/Target/NVPTX/check-barriers.mlir
  }];
  let options = [
    Option<"report", "report", "bool", "false", "say what was found to be right, as remarks">
  ];
}

def AdvanceSlots : Pass<"nv-advance-slots", "::mlir::func::FuncOp"> {
  let summary = "Advance slots of rings without a division";
  let description = [{
    `slot = (slot + 1) % stages` is how a slot is advanced, and a division in the
    shortest loops that there are. Where every value of the variable lies in 0 to
    `stages` - 1, a comparison and a selection do the same.

    Example: test/Target/NVPTX/advance-slots.mlir
  }];
}

def LowerThreads : Pass<"nv-lower-threads", "::mlir::ModuleOp"> {
  let summary = "Say what each thread of an explicit kernel does";
  let description = [{
    Places tiles and barriers in shared memory, tensor memory and registers, and
    replaces the operations of `nv` and `tile` by PTX instructions and scalar
    code. The kernel is left with one parameter that holds all of its arguments
    and tensor maps; how it is laid out, the sizes of block and shared memory and
    the grid are returned as data (`DeviceKernel`). Runs after
    `tile-lower-launch`.

    Refuses tiles that do not fit the target's memories (PS1603), tiles in
    registers whose uses need different layouts (PS1606) and operations that
    explicit kernels do not have (PS1601).

    Example: test/Target/NVPTX/lower-threads.mlir
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_100a\"",
           "sm_90a or sm_100a">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def LowerThreadsToLLVM : Pass<"nv-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert what threads do to the LLVM dialect for NVPTX";
  let description = [{
    Upstream's patterns with indices of 32 bits; addresses are computed in 64
    where they can be large.

    Example: test/Target/NVPTX/lower-threads.mlir
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

#endif // PENSTOCK_TARGET_NVPTX_PASSES
