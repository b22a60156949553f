//===- GemmSurroundings.cpp - Statements around a product -----------------===//
//
// Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Target/X86/Gemm/GemmSurroundings.h"
#include "Target/X86/Gemm/GemmBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock;

static bool isZero(Value value) {
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

/// Moves a value, with what it is computed from, before an operation of its block. False if
/// it depends on memory.
static bool hoist(Value value, Operation *before) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != before->getBlock() || op->isBeforeInBlock(before))
    return true;
  if (op->getNumRegions() || !isMemoryEffectFree(op) ||
      !llvm::all_of(op->getOperands(), [&](Value operand) { return hoist(operand, before); }))
    return false;
  op->moveBefore(before);
  return true;
}

/// Returns whether a copy is the only operation that accesses its tensor, apart from its sizes.
static bool isOnlyAccess(tile::CopyOp copy) {
  return isa<BlockArgument>(copy.getTarget()) &&
         llvm::all_of(copy.getTarget().getUsers(),
                      [&](Operation *user) { return user == copy || isa<memref::DimOp>(user); });
}

Surroundings penstock::surroundingsOf(tile::GemmOp gemm) {
  Surroundings found;
  Value acc = gemm.getAcc();
  if (!acc.getDefiningOp<tile::AllocOp>())
    return {};
  found.loop = dyn_cast<scf::ForOp>(gemm->getParentOp());
  Operation *whole = found.loop ? found.loop.getOperation() : gemm.getOperation();
  unsigned behind = 0;
  tile::CopyOp store;
  for (Operation *user : acc.getUsers()) {
    if (user == gemm)
      continue;
    Operation *outside = whole->getBlock()->findAncestorOpInBlock(*user);
    if (!outside || outside == whole)
      return {};
    if (whole->isBeforeInBlock(outside)) {
      ++behind;
      if (auto copy = dyn_cast<tile::CopyOp>(user); copy && copy == outside)
        store = copy;
      continue;
    }
    auto fill = dyn_cast<tile::FillOp>(user);
    if (!fill || found.fill || fill != outside || !isZero(fill.getValue()))
      return {};
    found.fill = fill;
  }
  // Or a loop around all of this may add to what was stored.
  bool startsAnew = found.fill || gemm.getOverwrite() || isa<func::FuncOp>(whole->getParentOp());
  if (!found.loop || gemm.getOverwrite())
    found.fill = {};
  if (startsAnew && behind == 1 && store && store.writesTensor() && !store.readsTensor() &&
      !store.getAsyncAttr() && isPlain(store) && isOnlyAccess(store) &&
      llvm::all_of(store.getTargetOffsets(), [&](Value offset) { return hoist(offset, whole); }))
    found.store = store;
  return found;
}

Iterations penstock::iterationsOf(tile::GemmOp gemm, const Surroundings &around,
                                  const GemmCaches &caches) {
  scf::ForOp loop = around.loop;
  if (!loop)
    return {};
  OpBuilder b(gemm);
  Location loc = gemm.getLoc();
  Iterations result;
  // Unsigned: the distance of two signed numbers may need one bit more.
  Value left = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getInductionVar());
  result.isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, left, loop.getStep());
  if (!around.fill)
    return result;
  result.isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, loop.getInductionVar(),
                                         loop.getLowerBound());
  auto type = cast<MemRefType>(gemm.getB().getType());
  if (type.getNumElements() * type.getElementTypeBitWidth() / 8 <= caches.mostInL2())
    result.isOnly = arith::AndIOp::create(b, loc, result.isFirst, result.isLast);
  return result;
}

void penstock::startWithZero(const Surroundings &around) {
  scf::ForOp loop = around.loop;
  OpBuilder outside(loop);
  Location loc = loop.getLoc();
  Value none = arith::CmpIOp::create(outside, loc, arith::CmpIPredicate::sge, loop.getLowerBound(),
                                     loop.getUpperBound());
  auto branch = scf::IfOp::create(outside, loc, none, /*withElseRegion=*/false);
  tile::FillOp fill = around.fill;
  fill->moveBefore(branch.thenBlock()->getTerminator());
}

GemmBuilder::Target GemmBuilder::endInTensor(const Surroundings &around, Value isLast) {
  tile::CopyOp store = around.store;
  scf::ForOp loop = around.loop;
  OpBuilder::InsertionGuard guard(b);
  if (loop)
    b.setInsertionPoint(loop);
  Value inside = isInside(store);
  Operand box = boxOf(store);
  Value done = inside;
  if (loop) {
    Value runs = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                       loop.getUpperBound());
    done = arith::AndIOp::create(b, loc, inside, runs);
    b.setInsertionPoint(gemm);
    inside = arith::AndIOp::create(b, loc, inside, isLast);
  }
  Operand memory = operandOf(gemm.getAcc());
  auto select = [&](Value x, Value y) -> Value {
    return arith::SelectOp::create(b, loc, inside, x, y);
  };
  int64_t size = elementTypeOf(gemm.getAcc()).getIntOrFloatBitWidth() / 8;
  Address target = {toPointer(select(box.address, memory.address)),
                    product(select(box.strides[0], memory.strides[0]), index(size))};
  b.setInsertionPoint(store);
  Value copied = arith::XOrIOp::create(b, loc, done, arith::ConstantIntOp::create(b, loc, 1, 1));
  auto branch = scf::IfOp::create(b, loc, copied, /*withElseRegion=*/false);
  store->moveBefore(branch.thenBlock()->getTerminator());
  return {target, inside};
}
