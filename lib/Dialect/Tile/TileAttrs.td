//===- TileAttrs.td - Attributes of the tile dialect -------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TILE_ATTRS
#define PENSTOCK_TILE_ATTRS

include "Dialect/Tile/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Tile_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Memory spaces
//===----------------------------------------------------------------------===//

def Tile_Space : I32EnumAttr<"Space", "memory space of a tile", [
    I32EnumAttrCase<"Global", 0, "global">,
    I32EnumAttrCase<"Shared", 1, "shared">,
    I32EnumAttrCase<"Local", 2, "local">,
    I32EnumAttrCase<"Tensor", 3, "tensor">]> {
  let cppNamespace = "::penstock::tile";
  let genSpecializedAttr = 0;
}

def Tile_SpaceAttr : EnumAttr<Tile_Dialect, Tile_Space, "space"> {
  let summary = "Memory space of a tile";
  let description = [{
    `global` is the memory of a kernel's arguments; `shared` is visible to all
    threads of a block; `local` is distributed over the threads of a block or held in
    the target's accumulators (registers, TMEM). `tensor` is Blackwell's TMEM; such
    tiles are allocated by `nv.tcgen05.alloc`.
  }];
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Kinds of operations
//===----------------------------------------------------------------------===//

class Tile_Enum<string name, string what, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::penstock::tile";
}

def Tile_ReduceKind : Tile_Enum<"ReduceKind", "reduction of elements", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]>;

def Tile_AtomicKind : Tile_Enum<"AtomicKind", "an atomic update", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Exchange", 3, "exchange">]>;

def Tile_Precision : Tile_Enum<"Precision", "precision of products of f32 operands", [
    I32EnumAttrCase<"Full", 0, "full">, I32EnumAttrCase<"TF32", 1, "tf32">]>;

def Tile_Packing : Tile_Enum<"Packing", "how bytes hold values of fewer bits", [
    I32EnumAttrCase<"F4E2M1", 0, "f4e2m1">, I32EnumAttrCase<"I4", 1, "i4">,
    I32EnumAttrCase<"F6E2M3", 2, "f6e2m3">, I32EnumAttrCase<"F6E3M2", 3, "f6e3m2">,
    I32EnumAttrCase<"PaddedF4E2M1", 4, "padded_f4e2m1">,
    I32EnumAttrCase<"PaddedF6E2M3", 5, "padded_f6e2m3">,
    I32EnumAttrCase<"PaddedF6E3M2", 6, "padded_f6e3m2">]>;

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def Tile_ScheduleAttr : Tile_Attr<"Schedule", "schedule"> {
  let summary = "Requested schedule of a pipelined loop";
  let description = [{
    What the user requests of a loop. `tile-resolve-schedules` checks or infers the schedule and
    gives each statement its position, `#tile.scheduled`; the request stays as it is.

    Either a number of stages, from which stage and order are inferred, or one
    stage and one order for each scheduled statement of the body, in source
    order:

    ```mlir
    #tile.schedule<num_stages = 3>
    #tile.schedule<stage = [0, 0, 1], order = [0, 1, 2]>
    ```

    `num_stages = auto` stands for the largest number that fits on the target. It is replaced
    before schedules are resolved.

    With `solver_seconds`, an exact solver finds the schedule with the minimal interval
    within that time. `num_stages` is then the largest number of versions of
    a tile:

    ```mlir
    #tile.schedule<num_stages = 3, solver_seconds = 10>
    #tile.schedule<solver_seconds = 10>
    ```

    The lists may also have an entry for each `tile.bind` of the body that can be
    rematerialized for any iteration; such entries are ignored, with a warning if the
    scalar is used from several stages.

    An explicit schedule can mark copies from tensors as asynchronous although they
    name no wait: all copies of some stages, or individual ones with a 1 each. Copies
    with the same group, a number of 0 or more, are awaited together; -1 means none.
    The compiler inserts the waits:

    ```mlir
    #tile.schedule<stage = [0, 1], order = [1, 0], async_stages = [0]>
    #tile.schedule<stage = [0, 0, 1], order = [0, 1, 2], async_producers = [1, 1, 0],
                   async_producer_groups = [0, 0, -1]>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "0">:$num_stages,
    OptionalArrayRefParameter<"int64_t">:$stage,
    OptionalArrayRefParameter<"int64_t">:$order,
    OptionalArrayRefParameter<"int64_t">:$async_stages,
    OptionalArrayRefParameter<"int64_t">:$async_producers,
    OptionalArrayRefParameter<"int64_t">:$async_producer_groups,
    DefaultValuedParameter<"int64_t", "0">:$solver_seconds);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `num_stages = auto`.
    static constexpr int64_t autoStages = INT32_MIN;
    bool isAuto() const { return getNumStages() == autoStages; }
    /// Returns whether the compiler infers the schedule from a number of stages, and so may choose
    /// another form of the loop. The schedule of the exact solver keeps its stages and order in
    /// any form.
    bool isInferred() const { return getNumStages() != 0 && getSolverSeconds() == 0; }
  }];
}

def Tile_ScheduledAttr : Tile_Attr<"Scheduled", "scheduled"> {
  let summary = "Position of a statement in the schedule of its pipelined loop";
  let description = [{
    Each statement of a pipelined loop gets one from `tile-resolve-schedules`. A step of the loop
    executes, by increasing `order`, the iteration of each statement that its `stage` selects;
    statements of equal order keep that of the source. A pass that inserts a statement gives it
    the position of the statement beside it.

    ```mlir
    tile.fill %acc, %zero {tile.scheduled = #tile.scheduled<stage = 0, order = 1>} : ..
    ```

    `async` marks a copy that names no wait, and that the schedule makes asynchronous. Copies of
    one `group`, 0 or more, are awaited together.
  }];
  let parameters = (ins
    "int64_t":$stage,
    "int64_t":$order,
    DefaultValuedParameter<"bool", "false">:$async,
    DefaultValuedParameter<"int64_t", "-1">:$group);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // PENSTOCK_TILE_ATTRS
