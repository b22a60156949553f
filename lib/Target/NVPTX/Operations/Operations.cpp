//===- Operations.cpp - Families of operations ----------------------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Operations/Operations.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

LoweringTable nvptx::allLowerings() {
  LoweringTable table;
  for (auto *add :
       {addAsyncCopies, addBarriers, addCopies, addElements, addElementwise, addMmaSync, addPrint,
        addReductions, addScalars, addScopes, addTcgen05, addTensorMemory, addWgmma})
    add(table);
  return table;
}
