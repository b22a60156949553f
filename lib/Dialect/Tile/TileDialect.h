//===- TileDialect.h - The tile dialect in C++ ------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_TILEDIALECT_H
#define PENSTOCK_DIALECT_TILE_TILEDIALECT_H

#include "Dialect/Tile/TileAccess.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Dialect/Tile/TileDialect.h.inc"
#include "Dialect/Tile/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "Dialect/Tile/TileAttrs.h.inc"
#include "Dialect/Tile/TileInterfaces.h.inc"
#define GET_OP_CLASSES
#include "Dialect/Tile/TileOps.h.inc"

#endif // PENSTOCK_DIALECT_TILE_TILEDIALECT_H
