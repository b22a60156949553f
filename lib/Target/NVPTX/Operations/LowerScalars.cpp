//===- LowerScalars.cpp - Sizes and scalars of a launch -------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dialect/Tile/TileDialect.h"
#include "Target/NVPTX/Operations/Operations.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Tensors.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

static void lowerBind(LoweringContext &, tile::BindOp op) { op.replaceAllUsesWith(op.getValue()); }

static void lowerDim(LoweringContext &c, memref::DimOp op) { op.replaceAllUsesWith(sizeOf(c, op)); }

/// Constants of a launch are in memory of the kernel's function.
static void lowerConstant(LoweringContext &c, memref::LoadOp op) {
  int64_t number = *getConstantIntValue(op.getIndices()[0]);
  op.replaceAllUsesWith(parameter(c, ParameterField::Constant, unsigned(number)));
}

void nvptx::addScalars(LoweringTable &table) {
  table.keep<tile::AllocOp>();
  table.add<lowerBind>();
  table.add<lowerDim>();
  table.add<lowerConstant>();
}
