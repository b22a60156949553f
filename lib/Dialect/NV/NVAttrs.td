//===- NVAttrs.td - Attributes of nv -----------------------*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes that GPU passes exchange. NVAttributes.def lists the names, the operations
// that carry them and the phases in which they exist.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_NV_ATTRS
#define PENSTOCK_NV_ATTRS

include "Dialect/NV/NVDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def NV_Phase : I32EnumAttr<"Phase", "how far a kernel has been compiled", [
    I32EnumAttrCase<"Tile", 0, "tile">, I32EnumAttrCase<"Bound", 1, "bound">,
    I32EnumAttrCase<"Pipelined", 2, "pipelined">, I32EnumAttrCase<"Ordered", 3, "ordered">,
    I32EnumAttrCase<"Placed", 4, "placed">, I32EnumAttrCase<"Threaded", 5, "threaded">]> {
  let cppNamespace = "::penstock::nv";
  let genSpecializedAttr = 0;
}

def NV_PhaseAttr : EnumAttr<NV_Dialect, NV_Phase, "phase"> {
  let summary = "Phase of a kernel's compilation";
  let description = [{
    Passes for GPUs require a phase and produce one. `nv-verify-phase` checks the invariants of
    a phase (docs/contributing/gpu-phases.md):

    - `tile`: a sequential tile program.
    - `bound`: each MMA and each pipelined copy has its engine, each tile its memory space.
    - `pipelined`: pipelined loops are written out, with all synchronization, from verified plans.
    - `ordered`: nothing of the tile dialect is asynchronous any more. Explicit kernels start here.
    - `placed`: register layouts, offsets in shared memory and barriers are final.
    - `threaded`: the code of one thread.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def NV_EngineAttr : AttrDef<NV_Dialect, "Engine"> {
  let mnemonic = "engine";
  let summary = "Hardware unit that executes a copy or an MMA";
  let parameters = (ins "::penstock::sched::Engine":$value);
  let assemblyFormat = "`<` custom<Engine>($value) `>`";
}

def NV_RoleAttr : AttrDef<NV_Dialect, "Role"> {
  let mnemonic = "role";
  let summary = "Warp role that issues a statement";
  let description = [{
    `load`, `mma` and `request` are roles that the compiler assigns. Others are named by users,
    which is why this is a name and not an enumeration.
  }];
  let parameters = (ins StringRefParameter<>:$name);
  let assemblyFormat = "`<` custom<RoleName>($name) `>`";
  let genVerifyDecl = 1;
}

def NV_LayoutAttr : AttrDef<NV_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "Distribution of a tile over the registers of threads";
  let parameters = (ins AttrParameter<"::penstock::layout::Distribution", "the distribution",
                                     "const ::penstock::layout::Distribution &">:$value);
  let assemblyFormat = "`<` custom<Distribution>($value) `>`";
}

#endif // PENSTOCK_NV_ATTRS
