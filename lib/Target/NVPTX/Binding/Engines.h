//===- Engines.h - Engines of copies and products ---------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to passes between nv-bind-engines, which writes the attribute, and those
// that read it.
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_BINDING_ENGINES_H
#define PENSTOCK_TARGET_NVPTX_BINDING_ENGINES_H

#include "Dialect/Tile/TileDialect.h"
#include "Hardware/Architecture.h"
#include "Scheduling/Problem/Problem.h"

namespace penstock::nvptx {

/// Returns whether an operation is a statement of a pipelined loop, maybe under conditions.
bool isPipelinedStatement(mlir::Operation *op);

/// The engine of a copy or a product; threads unless nv-bind-engines says otherwise.
sched::Engine engineOf(mlir::Operation *op);
void setEngine(mlir::Operation *op, sched::Engine engine);

/// Returns whether an operation is a TMA load that precedes the pipelined loops (nv-load-tiles). In
/// CTA pairs, threads copy instead, because the two blocks count the bytes of loads together.
bool isLoadBeforeLoops(mlir::Operation *op);

/// Returns whether an operation is a gemm that nv-bind-engines assigned to tcgen05.
bool multipliesByTcgen05(mlir::Operation *op);

/// Columns of tensor memory that a tile takes, where tiles are allocated together: a multiple
/// of 32.
int64_t takenColumns(mlir::Value tile);
int64_t takenColumns(mlir::MemRefType type);

/// The first statement of the product's block after it that uses a tile; null if there is none.
mlir::Operation *firstUserAfter(tile::GemmOp gemm, mlir::Value tile);

/// Returns whether wgmma supports a gemm.
bool isWgmmaProduct(tile::GemmOp gemm, const hw::Architecture &architecture);

/// Returns whether mma.sync multiplies a gemm on an architecture, whatever else the kernel does.
bool isMmaSyncProduct(tile::GemmOp gemm, const hw::Architecture &architecture);

/// Returns whether an operation may take an operand from registers.
bool takesRegisters(mlir::OpOperand &use);
/// Returns whether threads copy what they hold.
bool isCopyOfRegisters(tile::CopyOp copy);
/// Moves a tile, and all views of it.
void setSpace(mlir::Value tile, tile::Space space);

/// Returns whether an index is known to be a multiple of \p factor.
bool isMultipleOf(mlir::Value value, int64_t factor);

/// Returns the number of bytes that cp.async copies at a time: 16, 8 or 4, of which the rows of the
/// tile and the offset along rows are multiples; 0 if there is no such number.
int64_t asyncCopyBytes(tile::CopyOp copy);

/// The tensor's dimensions along which a box lies, as `nv.tma.load` takes them; null for
/// the last ones.
mlir::DenseI64ArrayAttr boxDims(tile::CopyOp copy);

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_BINDING_ENGINES_H
