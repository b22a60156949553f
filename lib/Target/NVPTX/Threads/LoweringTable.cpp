//===- LoweringTable.cpp - Lowerings of operations by their names ---------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/LoweringTable.h"
#include "Dialect/Tile/TileDialect.h"
#include "Target/NVPTX/Threads/LoweringContext.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

const LoweringTable::Entry *LoweringTable::find(Operation *op) const {
  auto found = entries.find(op->getName().getTypeID());
  return found == entries.end() || !found->second.lower ? nullptr : &found->second;
}

void LoweringTable::prepare(LoweringContext &c) const {
  for (auto *preparation : preparations)
    preparation(c);
}

LoweringTable::Function LoweringTable::instruction(std::string text) {
  return [text = std::move(text)](LoweringContext &c, Operation *, const ExecutionScope &) {
    c.ptx(text);
    return success();
  };
}

/// Lowers an operation of nv for the threads that issue it.
static LogicalResult lowerHardware(LoweringContext &c, nv::HardwareOpInterface op,
                                   const LoweringTable::Entry &entry, const ExecutionScope &by) {
  if (op.getIssuer() != nv::Issuer::OneThread || by.scope.oneThread)
    return entry.lower(c, op, by);
  if (entry.electsIssuer && entry.electsIssuer(op) && by.scope.warps == 1) {
    // A warp executes these once, and the assembler leaves the election out. A branch around
    // them it keeps.
    ExecutionScope electing = by;
    electing.electsIssuer = true;
    return entry.lower(c, op, electing);
  }
  LogicalResult lowered = success();
  c.when(by.leader, [&] { lowered = entry.lower(c, op, by); });
  return lowered;
}

LogicalResult nvptx::lowerOp(LoweringContext &c, Operation *op, const ExecutionScope &by) {
  c.builder.setInsertionPoint(op);
  c.loc = op->getLoc();
  const LoweringTable::Entry *entry = c.table.find(op);
  if (!entry) {
    if (isa<nv::HardwareOpInterface>(op) || isa<tile::TileDialect>(op->getDialect()))
      return c.refuse(op, "is not supported");
    return success(); // scalars and views
  }
  if (entry->isStructure)
    return entry->lower(c, op, by);
  auto hardware = dyn_cast<nv::HardwareOpInterface>(op);
  LogicalResult lowered =
      hardware ? lowerHardware(c, hardware, *entry, by) : entry->lower(c, op, by);
  if (succeeded(lowered))
    op->erase();
  return lowered;
}

LogicalResult nvptx::lowerBlock(LoweringContext &c, mlir::Block &block, const ExecutionScope &by) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(lowerOp(c, op, by)))
      return failure();
  return success();
}
