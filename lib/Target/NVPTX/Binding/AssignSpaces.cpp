//===- AssignSpaces.cpp - Tiles that registers cannot hold ----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A local tile lies in the registers of threads, which cannot be indexed at run
// time, and which tensor cores do not read, but for the left operand of wgmma. Other
// tiles that are sliced, transposed, indexed or multiplied move to shared memory,
// before engines are chosen for them.
//
//===----------------------------------------------------------------------===//
#include "Dialect/NV/NVDialect.h"
#include "Dialect/Tile/TileAccess.h"
#include "Dialect/Tile/TileTypes.h"
#include "Target/NVPTX/Binding/Engines.h"
#include "Target/NVPTX/Operations/MmaSync.h"
#include "Target/NVPTX/Passes.h"
#include "Target/NVPTX/Phases/KernelArchitecture.h"
#include "llvm/ADT/MapVector.h"

namespace penstock {
#define GEN_PASS_DEF_ASSIGNSPACES
#include "Target/NVPTX/Passes.h.inc"
} // namespace penstock

using namespace mlir;
using namespace penstock;
using namespace penstock::nvptx;

namespace {

MemRefType typeOf(Value memref) { return cast<MemRefType>(memref.getType()); }

bool isIncreasing(ArrayRef<int64_t> dims) {
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i] <= dims[i - 1])
      return false;
  return true;
}

bool isAccumulator(tile::AllocOp alloc) {
  return llvm::any_of(alloc->getUsers(), [&](Operation *user) {
    auto gemm = dyn_cast<tile::GemmOp>(user);
    return gemm && gemm.getAcc() == alloc.getResult() && mmaShapeOf(gemm);
  });
}

/// The outermost operation with a region of elements around a use.
Operation *regionAround(Operation *op) {
  Operation *outermost = nullptr;
  for (; op; op = op->getParentOp())
    if (isa<tile::ParallelOp, tile::MapOp>(op))
      outermost = op;
  return outermost;
}

bool isLeftOperand(tile::AllocOp alloc) {
  return tile::spaceOf(typeOf(alloc.getResult())) == tile::Space::Local &&
         llvm::any_of(alloc->getUsers(), [&](Operation *user) {
           auto gemm = dyn_cast<tile::GemmOp>(user);
           return gemm && gemm.getA() == alloc.getResult();
         });
}

/// Returns whether threads compute a tile from register tiles, e.g. probabilities from scores.
bool isComputedFromRegisters(tile::AllocOp alloc) {
  return llvm::all_of(alloc->getUsers(), [&](Operation *user) {
    auto map = dyn_cast<tile::MapOp>(user);
    if (!map || map.getTarget() != alloc.getResult())
      return true;
    bool fromRegisters = false;
    for (Value input : map.getInputs()) {
      bool isWhole = typeOf(input).getRank() == typeOf(alloc.getResult()).getRank();
      if (isWhole && tile::spaceOf(typeOf(input)) != tile::Space::Local)
        return false;
      fromRegisters |= isWhole;
    }
    return fromRegisters;
  });
}

/// Returns whether a matmul reads its left operand from registers. wgmma can read any
/// register-computed operand. With mma.sync, each warp then has whole rows of the accumulator and
/// loads all columns of the right operand. That pays off if it avoids a store to shared memory and
/// a barrier, but not if the operand is computed from shared memory.
bool takesFromRegisters(tile::GemmOp gemm, tile::AllocOp left,
                        const hw::Architecture &architecture) {
  if (isWgmmaProduct(gemm, architecture))
    return true;
  return isMmaSyncProduct(gemm, architecture) && isComputedFromRegisters(left) &&
         mmaLeftLayoutOf(gemm, nv::scopeOf(gemm).warps);
}

/// Returns whether a left operand stays in registers. That avoids a store to shared memory and a
/// barrier. Operands that are copied from global memory do not stay, because async engines only
/// write shared memory.
bool staysInRegisters(tile::AllocOp alloc, const hw::Architecture &architecture) {
  return llvm::all_of(alloc->getUsers(), [&](Operation *user) {
    if (auto copy = dyn_cast<tile::CopyOp>(user))
      return copy.getTarget() != alloc.getResult() || isCopyOfRegisters(copy);
    auto gemm = dyn_cast<tile::GemmOp>(user);
    return !gemm || gemm.getA() != alloc.getResult() ||
           (gemm.getAcc() != alloc.getResult() && takesFromRegisters(gemm, alloc, architecture));
  });
}

/// Wraps an operation in a statement, so that operations inserted before it belong to the same
/// statement: the schedule of a loop has one entry for each statement.
void makeStatement(Operation *op) {
  if (op->getParentOfType<tile::StatementOp>())
    return;
  OpBuilder b(op);
  auto statement = tile::StatementOp::create(b, op->getLoc(), op->getName().stripDialect());
  statement.getBody().emplaceBlock();
  tile::StatementOp::ensureTerminator(statement.getBody(), b, op->getLoc());
  op->moveBefore(&statement.getBody().front(), statement.getBody().front().begin());
}

void moveToMemory(func::FuncOp kernel, const hw::Architecture &architecture) {
  SmallVector<tile::AllocOp> allocs;
  kernel.walk([&](tile::AllocOp op) { allocs.push_back(op); });
  for (tile::AllocOp op : allocs) {
    auto type = typeOf(op.getResult());
    if (tile::spaceOf(type) != tile::Space::Local || type.getRank() == 0)
      continue;
    // Of an accumulator that single elements are read from, a copy is read.
    if (isAccumulator(op)) {
      llvm::MapVector<Operation *, SmallVector<OpOperand *>> reads;
      for (OpOperand &use : op->getUses())
        if (isa<tile::LoadOp>(use.getOwner()))
          if (Operation *around = regionAround(use.getOwner()))
            reads[around].push_back(&use);
      for (auto &[around, uses] : reads) {
        OpBuilder b(op);
        Value copied = tile::AllocOp::create(
            b, around->getLoc(),
            tile::tileType(type.getShape(), type.getElementType(), tile::Space::Shared),
            op.getLabelAttr(), IntegerAttr());
        makeStatement(around);
        b.setInsertionPoint(around);
        tile::CopyOp::create(b, around->getLoc(), op.getResult(), ValueRange{}, copied,
                             ValueRange{}, Value(), Value(), DenseI64ArrayAttr(), StringAttr());
        for (OpOperand *use : uses)
          use->set(copied);
      }
    }
    if (!llvm::all_of(op->getUses(), takesRegisters))
      setSpace(op.getResult(), tile::Space::Shared);
  }
  // The other operands of products have their spaces now.
  for (tile::AllocOp op : allocs)
    if (isLeftOperand(op) && !staysInRegisters(op, architecture))
      setSpace(op.getResult(), tile::Space::Shared);
}

struct AssignSpaces : penstock::impl::AssignSpacesBase<AssignSpaces> {
  void runOnKernel() override {
    moveToMemory(getOperation(), nvptx::architectureOf(getOperation()));
  }
};

} // namespace

bool nvptx::isCopyOfRegisters(tile::CopyOp copy) {
  return tile::spaceOf(typeOf(copy.getSource())) == tile::Space::Local;
}

bool nvptx::takesRegisters(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto map = dyn_cast<tile::MapOp>(op))
    return use.getOperandNumber() == 0 ||
           isIncreasing(map.getInputDims(use.getOperandNumber() - 1));
  if (auto gemm = dyn_cast<tile::GemmOp>(op))
    return &use == &gemm.getAccMutable() || &use == &gemm.getAMutable();
  return isa<tile::CopyOp, tile::FillOp, tile::ReduceOp, tile::PrintOp>(op) ||
         isa<nv::NVDialect>(op->getDialect());
}

void nvptx::setSpace(Value memref, tile::Space space) {
  auto type = typeOf(memref);
  auto attr = tile::SpaceAttr::get(memref.getContext(), space);
  memref.setType(MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(), attr));
  for (Operation *user : memref.getUsers())
    if (isa<memref::CastOp, memref::SubViewOp, memref::TransposeOp>(user))
      setSpace(user->getResult(0), space);
}
