//===- TensorMemory.cpp - Contents of Blackwell's tensor memory -----------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/NVPTX/Threads/TensorMemory.h"
#include "Dialect/NV/Operands.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Threads/LoweringContext.h"
#include "Target/NVPTX/Threads/Views.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

/// An allocation has a power of two of columns. Tiles have one each, which other blocks can use
/// better, unless these are too many: then all of a tile program are allocated at once.
void nvptx::divideTensorMemory(LoweringContext &c) {
  auto allocatedColumns = [](int64_t columns) {
    return int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(32, columns))));
  };
  TensorAllocation all{0, {}};
  int64_t sum = 0;
  c.kernel.walk([&](nv::TensorAllocOp op) {
    auto type = cast<MemRefType>(op.getResult().getType());
    int64_t columns = allocatedColumns(nv::tensorColumns(type));
    // The hardware forbids an allocation that is larger than the one before it.
    auto *behind = llvm::find_if(c.tensorMemory.allocations, [&](const TensorAllocation &other) {
      return other.columns < columns;
    });
    c.tensorMemory.allocations.insert(behind, {columns, {op}});
    sum += columns;
    all.tiles.push_back(op);
    all.columns += takenColumns(type);
  });
  if (c.mode.tileProgram && sum > c.architecture.limits.tensorColumns) {
    all.columns = allocatedColumns(all.columns);
    c.tensorMemory.allocations = {all};
  }
}

void nvptx::nameTensorTiles(LoweringContext &c) {
  // Each gets the first columns that are free.
  int64_t column = 0;
  for (TensorAllocation &allocation : c.tensorMemory.allocations) {
    int64_t offset = column;
    for (nv::TensorAllocOp op : allocation.tiles) {
      bool alone = allocation.tiles.size() == 1;
      int64_t columns = alone ? allocation.columns : takenColumns(op.getResult());
      nameStorage(c, op, StorageName::Tensor, offset, columns, 0);
      offset += columns;
    }
    column += allocation.columns;
  }
}

void nvptx::allocateTensorMemory(LoweringContext &c) {
  if (c.tensorMemory.allocations.empty())
    return;
  c.when(c.cmp(arith::CmpIPredicate::ult, c.thread, c.i32(nv::warpSize)), [&] {
    for (TensorAllocation &allocation : c.tensorMemory.allocations) {
      // A leak is reported at the allocation.
      llvm::SaveAndRestore<Location> here(c.loc, allocation.tiles.front().getLoc());
      c.ptx("tcgen05.alloc" + c.mode.ctaGroup() + ".sync.aligned.shared::cta.b32 [$0], $1;",
            {sharedAddress(c, c.i32(allocation.slot)), c.i32(allocation.columns)});
    }
    c.ptx("tcgen05.relinquish_alloc_permit" + c.mode.ctaGroup() + ".sync.aligned;");
  });
}

void nvptx::loadTensorBases(LoweringContext &c) {
  for (TensorAllocation &allocation : c.tensorMemory.allocations) {
    Value base = LLVM::LoadOp::create(c.builder, c.loc, c.builder.getI32Type(),
                                      sharedPointer(c, c.i32(allocation.slot)));
    int64_t offset = 0;
    for (nv::TensorAllocOp op : allocation.tiles) {
      c.tensorMemory.bases[op.getResult()] = c.add(base, offset);
      offset += takenColumns(op.getResult());
    }
  }
}

Value nvptx::tensorAddress(LoweringContext &c, Value tile) {
  View view = viewOf(c, tile);
  int64_t elementsOfCell = 32 / cast<MemRefType>(tile.getType()).getElementTypeBitWidth();
  Value column =
      c.builder.createOrFold<arith::DivUIOp>(c.loc, view.offsets[1], c.i32(elementsOfCell));
  return c.add(c.tensorMemory.bases.lookup(view.root), column);
}

int64_t nvptx::columnsOfPart(Value tile) {
  auto type = cast<MemRefType>(tile::rootOf(tile).getType());
  return type.getDimSize(1) * type.getElementTypeBitWidth() / 32;
}
