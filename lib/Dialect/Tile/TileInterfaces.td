//===- TileInterfaces.td - Accesses of operations to tiles -*- tablegen -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TILE_INTERFACES
#define PENSTOCK_TILE_INTERFACES

include "mlir/IR/OpBase.td"

def Tile_AccessOpInterface : OpInterface<"TileAccessOpInterface"> {
  let cppNamespace = "::penstock::tile";
  let description = [{
    Lists the regions of tiles that an operation reads and writes, and how it
    completes. Dependence analysis, the interpreter's checks and `explain` use it, so
    that an operation has one description of its effects.
  }];
  let methods = [
    InterfaceMethod<
      "Appends the accesses of this operation alone, nested regions excluded.",
      "void", "getAccesses",
      (ins "::llvm::SmallVectorImpl<::penstock::tile::TileAccess> &":$accesses)>,
    InterfaceMethod<
      "The name under which the operation completes asynchronously, or null if "
      "it is complete when it returns.",
      "::mlir::StringAttr", "getAsyncName", (ins), "", "return nullptr;">
  ];
}

#endif // PENSTOCK_TILE_INTERFACES
