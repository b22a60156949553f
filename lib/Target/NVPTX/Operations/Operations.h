//===- Operations.h - Families of operations --------------------*- C++ -*-===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PENSTOCK_TARGET_NVPTX_OPERATIONS_OPERATIONS_H
#define PENSTOCK_TARGET_NVPTX_OPERATIONS_OPERATIONS_H

#include "Target/NVPTX/Threads/LoweringTable.h"

namespace penstock::nvptx {

/// Each adds the operations of one file, Lower*.cpp, to a table.
void addAsyncCopies(LoweringTable &table);
void addBarriers(LoweringTable &table);
void addCopies(LoweringTable &table);
void addElements(LoweringTable &table);
void addElementwise(LoweringTable &table);
void addMmaSync(LoweringTable &table);
void addPrint(LoweringTable &table);
void addReductions(LoweringTable &table);
void addScalars(LoweringTable &table);
void addScopes(LoweringTable &table);
void addTcgen05(LoweringTable &table);
void addTensorMemory(LoweringTable &table);
void addWgmma(LoweringTable &table);

/// Returns the lowerings of all operations.
LoweringTable allLowerings();

} // namespace penstock::nvptx

#endif // PENSTOCK_TARGET_NVPTX_OPERATIONS_OPERATIONS_H
