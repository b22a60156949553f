//===- TileInterfaces.td - What an operation does to tiles -*- tablegen -*-===//
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
    Says which regions of which tiles an operation reads and writes and how it
    completes. Hazard analysis, the interpreter's checks and `explain` all ask
    here, so that an operation describes its effects in one place.
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
