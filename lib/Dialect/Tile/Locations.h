//===- Locations.h - From MLIR's locations to source locations -----*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_DIALECT_TILE_LOCATIONS_H
#define PENSTOCK_DIALECT_TILE_LOCATIONS_H

#include "Diagnostics/Diagnostic.h"
#include "mlir/IR/Location.h"

namespace penstock::tile {

/// The location that a message about \p loc shows first; unknown if the location
/// names no file. Of a call site it is the outermost caller, because that line
/// is the user's own; of a fused location the first that is known.
SourceLocation sourceLocationOf(mlir::Location loc);

} // namespace penstock::tile

#endif // PENSTOCK_DIALECT_TILE_LOCATIONS_H
